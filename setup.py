"""The part of the package's metadata that depends on where the project is kept: its addresses, and the README's links.

A workflow on GitHub says which repository it runs in. Elsewhere, set the environment variable GITHUB_REPOSITORY.
"""

import os
import re
from pathlib import Path

from setuptools import setup

SERVER = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
ADDRESS = f"{SERVER}/{os.environ.get('GITHUB_REPOSITORY', 'OWNER/attention-from-scratch')}"
VERSION = re.findall(
    r'^__version__ = "(.+)"$', Path("grader", "__init__.py").read_text(encoding="utf-8"), re.MULTILINE
)[0]


def absolute(link: re.Match[str]) -> str:
    """Return a link of the README as one to the files of this version, or to a picture there."""
    kind = "raw" if link[1] else "blob"
    return f"{link[1]}{link[2]}({ADDRESS}/{kind}/v{VERSION}/{link[3]})"


setup(
    project_urls={
        "Repository": ADDRESS,
        "Documentation": f"{ADDRESS}/blob/v{VERSION}/docs/index.md",
        "Changelog": f"{ADDRESS}/blob/v{VERSION}/CHANGELOG.md",
        "Issues": f"{ADDRESS}/issues",
    },
    long_description=re.sub(
        r"(!?)(\[[^\]]*\])\((?!\w+:|#)([^)\s]+)\)", absolute, Path("README.md").read_text(encoding="utf-8")
    ),
    long_description_content_type="text/markdown",
)
