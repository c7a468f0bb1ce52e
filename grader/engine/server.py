"""The trusted process that runs the suites: imports torch once, forks the server, then one grader a submission.

Started by `grader.engine.client`, which sends submissions as lines of JSON and reads the results as lines of JSON. The
fork server is forked first of all, so that no student's process ever holds a suite, a solution or a path: nothing more
than it needs is imported up here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from grader.sandbox.processes import ForkServer

SETTINGS = Path(__file__).with_name("pytest.ini")
# They come with pytest and have a hand in every test, for things that no suite does.
IDLE_PLUGINS = (
    "logging", "warnings", "unraisableexception", "threadexception", "faulthandler", "skipping", "unittest",
    "subtests", "tmpdir", "setuponly", "setupplan",
)  # fmt: skip
PYTEST_OPTIONS = [
    *(f"-pno:{plugin}" for plugin in IDLE_PLUGINS),
    "-c", str(SETTINGS), "--noconftest", "-p", "grader.engine.plugin", "--capture=no", "--tb=native", "-qq",
    "-p", "pytest_metadata.plugin", "-p", "pytest_jsonreport.plugin", "--assert=plain",
    "--json-report", "--json-report-file=none", "--json-report-omit", "collectors", "keywords", "streams", "log",
]  # fmt: skip


def main() -> int:
    """Serve requests on standard input, until it ends, and return pytest's exit code.

    Its arguments: the course's folder; which tests, `hidden` or `visible`; `--practice` where there is no fork; and the
    modules that answers may import.
    """
    root, suites, *modules = sys.argv[1:]
    is_practice = "--practice" in modules
    requests, replies = os.dup(0), os.dup(1)
    # Whatever pytest prints goes with the errors: standard output carries results and nothing else.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    server = None if is_practice else ForkServer.forked(modules)
    # Only the plugins that are named above: others may be installed, and have a say in what passes.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

    import pytest

    from grader.course.model import load_course
    from grader.engine.session import Engine

    course = load_course(Path(root))
    # The visible tests are the course's own, whatever a student made of theirs.
    tests = course.exercises if suites == "visible" else course.suites
    engine = Engine(course, suites == "hidden", server, requests, replies)
    try:
        return int(pytest.main([str(tests), "--course", root, *PYTEST_OPTIONS], plugins=[engine]))
    finally:
        if engine.server:
            engine.server.close()


if __name__ == "__main__":
    exit_code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)  # spares the half second that Python takes to clear torch away
