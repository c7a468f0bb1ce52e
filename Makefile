# `make grade` grades the example class; `make test` checks everything. Both make .venv first.

PYTHON ?= python3
# The CPU build of torch; the plain one on Linux brings gigabytes of CUDA along.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

.PHONY: grade test build benchmark

grade: .venv/installed
	@.venv/bin/python tools/grade_example_class.py

test: .venv/installed
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/python -m pytest

build: .venv/installed
	.venv/bin/grader build

.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' || { echo "Python's venv module is missing: on Debian and Ubuntu, sudo apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv
	@torch=$$(grep '^torch==' requirements.lock); \
	.venv/bin/pip install --quiet --retries 0 --index-url $(TORCH_INDEX) "$$torch" 2>/dev/null \
	  || .venv/bin/pip install --quiet "$$torch"
	.venv/bin/pip install --quiet --requirement requirements.lock
	.venv/bin/pip install --quiet --no-deps --editable .
	@touch $@
