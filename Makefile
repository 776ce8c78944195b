PYTHON ?= python3
VENV := .venv
VENV_MIN := .venv-min
PYTEST_OPTIONS := -n 2 --dist worksteal

# One thread a worker: two test processes that each start a thread for every core slow each other down.
test test-min corpora: export OMP_NUM_THREADS := 1
corpora: export CLOZEFORMERS_CORPORA := $(CORPORA)

.DEFAULT_GOAL := help
.PHONY: help demo test test-min corpora check bench build wordnet clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' $(MAKEFILE_LIST) | expand -t 10

demo: $(VENV)/ready ## train a small model from nothing in about a minute, and show the scopes it reads
	$(VENV)/bin/python -m clozeformers.demo

test: $(VENV)/ready ## run the tests
	$(VENV)/bin/python -m pytest $(PYTEST_OPTIONS)

test-min: $(VENV_MIN)/ready ## run the tests with the lowest versions that pyproject.toml allows
	$(VENV_MIN)/bin/python -m pytest $(PYTEST_OPTIONS)

wordnet: $(VENV)/ready ## put WordNet where it is found: from the system's package, or downloaded
	$(VENV)/bin/clozeformers wordnet install || { apt-get update -qq; apt-get install -y --no-install-recommends wordnet-base \
		wordnet-sense-index && $(VENV)/bin/clozeformers wordnet install; }

corpora: $(VENV)/ready ## run the tests that read real corpora: make corpora CORPORA=folder
	@test -d "$(CORPORA)" || { echo "make corpora CORPORA=folder: '$(CORPORA)' is no folder" >&2; exit 2; }
	@$(MAKE) --no-print-directory wordnet || echo "no WordNet is to be had here: its tests are skipped" >&2
	$(VENV)/bin/python -m pytest $(PYTEST_OPTIONS) -m corpora

check: $(VENV)/ready ## lint, check the format, check the types
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

bench: $(VENV)/ready ## measure speed and memory
	set -e; for script in benchmarks/*.py; do $(VENV)/bin/python $$script; done

build: $(VENV)/ready ## build the source distribution and the wheel into dist
	$(VENV)/bin/python -m build --no-isolation

clean: ## remove the environments and all that was built
	rm -rf $(VENV) $(VENV_MIN) build dist .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/ready: constraints.txt pyproject.toml
$(VENV_MIN)/ready: constraints-min.txt pyproject.toml
%/ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "clozeformers needs Python 3.10 or newer, as python3 or named: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $*
	$*/bin/python -m pip install --quiet -c $< -e '.[test]'
	touch $@
