# make grade      grades the example class
# make test       runs linters, type checks and all quick tests; about ten minutes on two cores
# make prove      runs the slow tests: all attacks, nbgrader, GitHub; PART=attacks runs one part, PART=full the longest
# make bench      measures speed and memory beside other graders, for docs/speed.md; COMPARE=1 compares one ratio only
# make docs       builds the documentation in build/site, and fails if a link leads nowhere
# make breakages  breaks the code on purpose, and reports which tests notice
# make size       counts the repository's lines by part
# Each first makes .venv, with uv if it is installed and with pip otherwise.

PYTHON ?= python3
# The CPU build of torch. The default build on Linux includes gigabytes of CUDA.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
TORCH ?= $(shell grep '^torch==' requirements.lock)
PART ?=
COMPARE ?=

CLASS := build/class
HOSTILE := $(CLASS)/mallory
# The order of the folders starts the audit early. By default, files with few tests come last.
PYTEST := .venv/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --durations 20

.PHONY: grade test prove bench docs breakages size

# On a machine that cannot isolate student code, the hostile student is left out and the others are graded.
grade: .venv/installed
	@echo "Grading the example class: eight made-up students."
	@.venv/bin/python examples/make_class.py $(CLASS)
	@if .venv/bin/grader doctor >/dev/null; then \
	  .venv/bin/grader grade $(CLASS) --out reports; \
	else \
	  .venv/bin/grader doctor | tail -n +11; \
	  echo "So $(HOSTILE), the hostile example, is left out; the others are graded without isolation."; \
	  .venv/bin/grader grade $$(find $(CLASS) -mindepth 1 -maxdepth 1 ! -path $(HOSTILE)) --out reports --allow-unisolated; \
	fi

# mypy runs at the same time as the tests, which do not always use both cores.
test: .venv/installed
	@begun=$$(date +%s); \
	.venv/bin/ruff check && .venv/bin/ruff format --check || exit 1; \
	.venv/bin/mypy & types=$$!; \
	$(PYTEST) -m "not proof"; tests=$$?; \
	wait $$types || { echo "make test: mypy found the errors above"; exit 1; }; \
	echo "make test: ruff, mypy and the tests above took $$(($$(date +%s) - begun)) s"; exit $$tests

prove: .venv/installed
	@begun=$$(date +%s); \
	$(PYTEST) -m "$(if $(PART),proof(part='$(PART)'),proof and not proof(part='full'))"; tests=$$?; \
	[ $$tests != 5 ] || echo "make prove: there is no part '$(PART)'; CONTRIBUTING.md lists the parts"; \
	echo "make prove: $(if $(PART),the part $(PART),all parts but full) took $$(($$(date +%s) - begun)) s"; exit $$tests

bench: .venv/installed
	.venv/bin/python benchmarks/bench.py $(if $(COMPARE),--compare)

docs: .venv/installed
	.venv/bin/mkdocs build --strict

breakages: .venv/installed
	.venv/bin/python tests/breakages.py

size:
	@$(PYTHON) tests/size.py

.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) grader/machine.py || { echo "To use another Python: make PYTHON=python3.13"; exit 1; }
	@$(PYTHON) install.py "$(TORCH)" "$(TORCH_INDEX)"
	@touch $@
