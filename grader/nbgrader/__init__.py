"""The name of `grader.integrations.nbgrader` before December 2026: stops nbgrader, which would grade without it."""

import sys

sys.exit(
    "nbgrader_config.py: `grader.nbgrader` is `grader.integrations.nbgrader` now. Run this in the course's folder: "
    "sed -i.bak s/grader.nbgrader/grader.integrations.nbgrader/ nbgrader_config.py"
)
