PYTHON ?= python3
VENV := .venv
VENV_MIN := .venv-min
PYTEST_OPTIONS := -n 2 --dist worksteal
KILLS := 50

# One thread per worker: two processes that use every core slow each other down.
test test-min corpora fuzz kill: export OMP_NUM_THREADS := 1
kill: export CLOZEFORMERS_KILLS := $(KILLS)
corpora: export CLOZEFORMERS_CORPORA := $(CORPORA)
fuzz: export CLOZEFORMERS_FUZZ := 100000

.DEFAULT_GOAL := help
.PHONY: help demo test test-min corpora fuzz kill check bench results build wordnet clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' $(MAKEFILE_LIST) | expand -t 10

demo: $(VENV)/ready ## train a small model from scratch in about a minute and print the scopes it predicts
	$(VENV)/bin/python -m clozeformers.demo

test: $(VENV)/ready ## run the tests
	$(VENV)/bin/python -m pytest $(PYTEST_OPTIONS)

test-min: $(VENV_MIN)/ready ## run the tests with the lowest versions that pyproject.toml allows
	$(VENV_MIN)/bin/python -m pytest $(PYTEST_OPTIONS)

wordnet: $(VENV)/ready ## install WordNet from the system's package or by download
	$(VENV)/bin/clozeformers wordnet install || { apt-get update -qq; apt-get install -y --no-install-recommends wordnet-base \
		wordnet-sense-index && $(VENV)/bin/clozeformers wordnet install; }

corpora: $(VENV)/ready ## run the tests that read real corpora: make corpora CORPORA=folder
	@test -d "$(CORPORA)" || { echo "make corpora CORPORA=folder: '$(CORPORA)' is not a folder" >&2; exit 2; }
	@$(MAKE) --no-print-directory wordnet || echo "WordNet could not be installed; its tests are skipped" >&2
	$(VENV)/bin/python -m pytest $(PYTEST_OPTIONS) -m corpora

fuzz: $(VENV)/ready ## try 100,000 hostile inputs on pipelines, readers of files and configs, in about ten minutes
	$(VENV)/bin/python -m pytest $(PYTEST_OPTIONS) -rP tests/test_fuzz.py

kill: $(VENV)/ready ## kill each training and each command that writes at 50 random moments: make kill KILLS=number
	$(VENV)/bin/python -m pytest $(PYTEST_OPTIONS) --durations=0 --durations-min=1 tests/training/test_killed.py

check: $(VENV)/ready ## lint, check the format, check the types
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

bench: $(VENV)/ready ## measure speed and memory
	for name in orthogonal_attention extractive_qa; do \
		$(VENV)/bin/python benchmarks/$$name.py --output benchmarks/$$name.json || exit; done
	@$(MAKE) --no-print-directory results

results: $(VENV)/ready ## write the tables of RESULTS.md and benchmarks/README.md
	$(VENV)/bin/python benchmarks/update_tables.py

build: $(VENV)/ready ## build the source distribution and the wheel into dist
	$(VENV)/bin/python -m build --no-isolation

clean: ## remove the environments and all build products
	rm -rf $(VENV) $(VENV_MIN) build dist .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/ready: constraints.txt pyproject.toml
$(VENV_MIN)/ready: constraints-min.txt pyproject.toml
%/ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "clozeformers needs Python 3.10 or newer, as python3 or named with make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $*
	$*/bin/python -m pip install --quiet -c $< -e '.[test]'
	touch $@
