# Each target makes its own virtual environment, so that Python 3.11+, pip and make are enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
MINUTES ?= 10
SEED ?= $(shell date +%s)
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup
# Tests start many processes, each of which would compile the same sources to bytecode.
unexport PYTHONDONTWRITEBYTECODE
UNCOMPILED := tests/kernels tests/rules tests/features tests/data/formats tests/estimators/box \
	tests/estimators/parallel tests/estimators/test_adaptive_r.py tests/estimators/test_forgetting.py \
	tests/estimators/text/test_merge.py tests/estimators/text/test_weighting.py

.PHONY: help demo serve-demo test test-all test-oldest coverage fuzz check bench trend reproduce docs clean

help: ## list these targets
	@awk '/^[a-z-]+:.*## / {name = $$1; sub(/:.*/, "", name); sub(/^.*## /, ""); printf "make %-12s %s\n", name, $$0}' \
		$(MAKEFILE_LIST)

demo: $(VENV)/.core ## train, evaluate and explain on an embedded real data set
	@$(BIN)/sureline demo

serve-demo: $(VENV)/.serve ## serve a spam filter that learns, and send it messages
	@$(BIN)/python -m sureline.serve.demo $(ARGS)

test: $(VENV)/.test $(VENV)/.browser ## the tests to run after every change: minutes
	$(PYTEST) $(ARGS)

test-all: $(VENV)/.test $(VENV)/.browser ## all tests: slow ones too, every seed, every class
	$(PYTEST) --all $(ARGS)

# Coverage does not see lines that are compiled, so tests that use every kernel run again as Python.
coverage: ## all tests, and how many lines of the source they run
	$(MAKE) test-all ARGS="--cov --cov-report= --cov-fail-under=0"
	NUMBA_DISABLE_JIT=1 $(PYTEST) --cov --cov-append --cov-report=term $(UNCOMPILED) \
		-k "not scikit_learn_checks and not one_word_of_a_script"

test-oldest: ## the default tests with the oldest dependencies that pyproject.toml allows
	@mkdir -p build
	@$(PYTHON) -c 'import tomllib; \
		project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*(each.replace(">=", "==") for each in project["dependencies"]), sep="\n")' > build/oldest.txt
	PIP_CONSTRAINT=$(abspath build/oldest.txt) NUMBA_CACHE_DIR=$(abspath .venv-oldest)/numba \
		$(MAKE) VENV=.venv-oldest test

# Bounds are checked in compiled code, which is slower, and kept apart.
fuzz: $(VENV)/.test ## hostile model files, input, signals and kills, for each of them: make fuzz MINUTES=60
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(abspath build/bounds) \
		$(BIN)/python tests/fuzz/model_files.py --minutes $(MINUTES) --seed $(SEED)
	$(BIN)/python tests/fuzz/input_files.py --minutes $(MINUTES) --seed $(SEED)
	$(BIN)/python tests/support/interrupt_storm.py lock $$((5000 * $(MINUTES)))
	$(BIN)/python tests/support/interrupt_storm.py model $$((5000 * $(MINUTES)))
	$(BIN)/python tests/support/interrupt_storm.py learning $$((2000 * $(MINUTES)))
	SURELINE_KILLS=$$((60 * $(MINUTES))) $(BIN)/python -m pytest -q --all tests/cli/test_checkpoints.py -k killed

check: $(VENV)/.test $(VENV)/.check ## lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench $(VENV)/.rivals ## rivals on the same work, and how our own loops grow
	$(BIN)/python -m benchmarks.rivals.run --output benchmarks/results.md $(ARGS)
	$(BIN)/python benchmarks/speed/run.py
	$(BIN)/python benchmarks/speed/growth.py
	$(BIN)/python benchmarks/speed/words.py
	$(BIN)/python benchmarks/speed/text.py
	$(BIN)/python benchmarks/speed/csv_splitter.py
	$(BIN)/python benchmarks/speed/threads.py
	$(BIN)/python benchmarks/speed/drift.py
	$(BIN)/python benchmarks/speed/roofline.py
	$(BIN)/python benchmarks/speed/slopes.py

trend: $(VENV)/.bench ## how fast this commit is, kept beside others; `asv publish` draws it
	cd benchmarks && $(abspath $(BIN))/asv machine --yes >/dev/null
	cd benchmarks && $(abspath $(BIN))/asv run -E existing:$(abspath $(BIN))/python \
		--set-commit-hash $$(git rev-parse HEAD) $(ARGS)

reproduce: $(VENV)/.plots ## a paper's tables and figures: make reproduce PAPER=crammer2012cw
	@$(BIN)/sureline reproduce $(PAPER) $(ARGS)

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

# One environment, one stamp per extra: $(VENV)/.test installs sureline[test], and so on.
$(VENV)/.%: $(VENV)/.core
	@$(PIP) install -e ".[$*]"
	@touch $@

# For the test that opens a report: Debian's chromium, if it can be had without asking. Without it
# that test is skipped, so a failure here is none.
$(VENV)/.browser: $(VENV)/.core
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null \
		|| ! command -v apt-get >/dev/null || { \
		test "$$(id -u)" = 0 && as= || as="sudo -n"; \
		$$as true 2>/dev/null || exit 0; \
		echo "installing chromium, to open a report in, once"; \
		{ $$as apt-get update && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y \
			--no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 || true; }
	@touch $@

# For `make bench`: Debian's fastText and LIBLINEAR, if they can be had without asking. Without them
# the tables say that they are missing, so a failure here is none.
$(VENV)/.rivals: $(VENV)/.core
	@{ command -v fasttext && command -v liblinear-train; } >/dev/null \
		|| ! command -v apt-get >/dev/null || { \
		test "$$(id -u)" = 0 && as= || as="sudo -n"; \
		$$as true 2>/dev/null || exit 0; \
		echo "installing fasttext and liblinear-tools, to compare with, once"; \
		{ $$as apt-get update && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y \
			--no-install-recommends fasttext liblinear-tools; } >/dev/null 2>&1 || true; }
	@touch $@

clean: ## forget the environment and everything built
	rm -rf $(VENV) .venv-oldest build dist docs/_build docs/rules .coverage* .mypy_cache .pytest_cache .ruff_cache
