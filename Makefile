# `make grade` grades the example class; `make test` checks everything. Both make .venv first.

PYTHON ?= python3
# The CPU build of torch; the plain one on Linux brings gigabytes of CUDA along.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

CLASS := build/class
HOSTILE := $(CLASS)/mallory

.PHONY: grade test

# Where nothing locks student code in, the hostile student stays out and the others are still graded.
grade: .venv/installed
	@.venv/bin/python examples/make_class.py $(CLASS)
	@if .venv/bin/grader doctor >/dev/null; then \
	  .venv/bin/grader grade $(CLASS) --out reports; \
	else \
	  .venv/bin/grader doctor | tail -n +11; \
	  echo "So $(HOSTILE), the hostile example, is left out; the others are graded without protection."; \
	  .venv/bin/grader grade $$(find $(CLASS) -mindepth 1 -maxdepth 1 ! -path $(HOSTILE)) --out reports --allow-unisolated; \
	fi

test: .venv/installed
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/python -m pytest -n auto --dist loadfile

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
