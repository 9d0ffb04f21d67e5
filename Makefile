# Each target makes its own virtual environment, so that Python 3.11+, pip and make are enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: demo test coverage check bench docs uncache clean

demo: $(VENV)/.core ## train, evaluate and explain on an embedded real data set
	@$(BIN)/sureline demo

test: $(VENV)/.test ## the default test run
	$(BIN)/python -m pytest -n auto

coverage: $(VENV)/.test ## the same tests with nothing compiled, so that every line is seen
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto --cov --cov-report=term

check: $(VENV)/.test $(VENV)/.check ## lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench ## how fast the loops are, and how they grow, beside scikit-learn's
	$(BIN)/python benchmarks/speed/run.py
	$(BIN)/python benchmarks/speed/growth.py
	$(BIN)/python benchmarks/speed/words.py
	$(BIN)/python benchmarks/speed/text.py
	$(BIN)/python benchmarks/speed/threads.py

docs: $(VENV)/.docs ## the documentation, in docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "docs/_build/html/index.html"

$(VENV)/.core: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "sureline needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || echo "setting up $(VENV), once"
	@# Debian's Python has pip but, without a package of its own, no venv that brings pip along.
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
		$(PYTHON) -m venv --clear --without-pip $(VENV) \
		&& $(PYTHON) -m pip --quiet --python $(BIN)/python install pip; }
	@$(PIP) install -e .
	@touch $@

# One environment, one extra a stamp: $(VENV)/.test installs sureline[test], and so on.
$(VENV)/.%: $(VENV)/.core
	@$(PIP) install -e ".[$*]"
	@touch $@

uncache: ## forget compiled code; Numba does not notice changes in functions of other files
	find src tests -name '*.nb[ic]' -delete

clean: ## forget the environment and everything built
	rm -rf $(VENV) build dist docs/_build docs/rules .coverage* .mypy_cache .pytest_cache .ruff_cache
