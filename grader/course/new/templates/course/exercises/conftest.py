"""Plain `pytest` in this folder runs the tests on your files beside them. They need the course's grader."""

try:
    from grader.engine.visible import (
        pytest_collection_modifyitems,
        pytest_configure,
        pytest_runtest_makereport,
        student,
    )
except ImportError as error:
    raise SystemExit(f"The tests need the course's grader ({error}): pip install -r requirements.txt") from None
