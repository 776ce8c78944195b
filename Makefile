PYTHON ?= python3
VENV := .venv
VENV_MIN := .venv-min
PYTEST_OPTIONS := -n 2 --dist worksteal
KILLS := 50

# One thread per worker: two processes that use every core slow each other down.
test test-min test-slow test-page corpora fuzz kill: export OMP_NUM_THREADS := 1
kill: export CLOZEFORMERS_KILLS := $(KILLS)
# The theme's notice that it is maintained until May 2027.
docs: export NO_MKDOCS_2_WARNING := 1
corpora: export CLOZEFORMERS_CORPORA := $(CORPORA)
fuzz: export CLOZEFORMERS_FUZZ := 100000

.DEFAULT_GOAL := help
.PHONY: help demo test test-min test-slow test-page corpora fuzz kill check bench results models build docs pictures release wordnet \
	clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' $(MAKEFILE_LIST) | expand -t 10

demo: $(VENV)/ready ## read text with the packaged models, then fine-tune one on clinical notes, in about a minute
	$(VENV)/bin/clozeformers demo

test: $(VENV)/ready ## run the tests
	$(VENV)/bin/python -m pytest $(PYTEST_OPTIONS)

test-slow: $(VENV)/docs-ready ## run the tests that `make test` leaves out, because shorter ones check nearly the same
	$(VENV)/bin/python -m pytest $(PYTEST_OPTIONS) -m slow

test-min: $(VENV_MIN)/ready ## run the tests with the lowest versions that pyproject.toml allows
	$(VENV_MIN)/bin/python -m pytest $(PYTEST_OPTIONS)

test-page: $(VENV)/browser-ready ## run the tests of the page in Chromium, which CONTRIBUTING.md says how to install
	$(VENV)/bin/python -m pytest -m browser -rs tests/page

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
	$(VENV)/bin/python -m pytest $(PYTEST_OPTIONS) -m "" --durations=0 --durations-min=1 tests/training/test_killed.py

check: $(VENV)/ready ## lint, check the format, check the types
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

bench: $(VENV)/ready ## measure speed and memory
	for name in orthogonal_attention extractive_qa; do \
		$(VENV)/bin/python benchmarks/$$name.py --output benchmarks/$$name.json || exit; done
	@$(MAKE) --no-print-directory results

results: $(VENV)/ready ## write the tables of RESULTS.md and benchmarks/README.md, and the model cards
	$(VENV)/bin/python benchmarks/update_tables.py

# The data folder is laid out as in CONTRIBUTING.md. Trainings resume where they were interrupted.
MODELS := runs/models
PY := $(VENV)/bin/python
CD_SCO = $(CORPORA)/cd-sco/SEM-2012-SharedTask-CD-SCO
SCOPES = $(PY) run_glue_style/run_negation_scope.py
FOLD := --num_folds 10 --folds 1
RESUME := --resume_from_checkpoint true
ENCODER := sentence-transformers/all-MiniLM-L6-v2
SQUAD = $(CORPORA)/squad
QUESTIONS = $(PY) run_glue_style/run_extractive_qa.py
READ = --train_file $(SQUAD)/train-v1.1-part.json $(SQUAD)/new-wiki-v1.0.json $(RESUME)

models: $(VENV)/ready ## train models for the package: make models CORPORA=folder [ENCODER=folder]
	@test -d "$(CORPORA)" || { echo "make models CORPORA=folder: '$(CORPORA)' is not a folder" >&2; exit 2; }
	$(SCOPES) minilm-cues-and-scopes --model_name_or_path $(ENCODER) --num_seeds 3 \
		--train_file $(CD_SCO)-training-09032012.txt --output_dir $(MODELS)/cd-sco $(RESUME)
	$(SCOPES) minilm-oa-c-augment --model_name_or_path $(ENCODER) \
		--train_file $(CD_SCO)-training-09032012.txt --output_dir $(MODELS)/cd-sco-oa-c $(RESUME)
	for variant in baseline oa-ca oa-emb; do $(SCOPES) minilm-$$variant-augment --model_name_or_path $(ENCODER) $(FOLD) \
		--num_train_epochs 8 --train_file $(CORPORA)/bioscope --output_dir $(MODELS)/bioscope-$$variant $(RESUME) || exit; done
	for variant in baseline oa-emb; do $(SCOPES) minilm-$$variant-augment --model_name_or_path $(ENCODER) $(FOLD) \
		--num_train_epochs 5 --train_file $(CORPORA)/sfu --output_dir $(MODELS)/sfu-$$variant $(RESUME) || exit; done
	$(PY) -m clozeformers.corpus_texts --squad $(SQUAD)/train-v1.1-part.json $(SQUAD)/new-wiki-v1.0.json \
		--recam $(CORPORA)/recam/Task_1_Imperceptibility.jsonl $(CORPORA)/recam/Task_1_test_with_labels.jsonl \
		$(CORPORA)/recam/Task_2_Nonspecificity.jsonl --output $(MODELS)/texts.txt
	head -2000 $(MODELS)/texts.txt > $(MODELS)/unlabelled.txt
	$(PY) -m clozeformers.corpus_texts --negation $(CD_SCO)-training-09032012.txt $(CORPORA)/bioscope $(CORPORA)/sfu \
		--output $(MODELS)/sentences.txt
	$(PY) -m clozeformers.training.small_encoder $(ENCODER) --vocab_size 16000 --texts $(MODELS)/texts.txt \
		$(MODELS)/sentences.txt $(MODELS)/sentences.txt $(MODELS)/sentences.txt --output_dir $(MODELS)/minilm-16k
	$(PY) -m tests.negation_scope.hard_sentences $(MODELS)/hard-sentences.jsonl
	$(SCOPES) minilm-small-cues-and-scopes --model_name_or_path $(MODELS)/minilm-16k $(FOLD) --run_name negation \
		--train_file $(CORPORA)/bioscope $(CORPORA)/sfu --extra_train_file $(CD_SCO)-training-09032012.txt \
		--unlabelled_file $(MODELS)/unlabelled.txt --teachers $(MODELS)/cd-sco/seed-0 $(MODELS)/cd-sco/seed-1 \
		$(MODELS)/cd-sco/seed-2 $(MODELS)/cd-sco-oa-c $(foreach variant,baseline oa-ca oa-emb,$(MODELS)/bioscope-$(variant)/fold-1) \
		$(foreach variant,baseline oa-emb,$(MODELS)/sfu-$(variant)/fold-1) \
		--test_file $(CD_SCO)-dev-09032012.txt $(MODELS)/hard-sentences.jsonl --output_dir $(MODELS)/negation-scope $(RESUME)
	$(QUESTIONS) minilm-qa --model_name_or_path $(ENCODER) --validation_fraction 0.1 $(READ) --output_dir $(MODELS)/minilm-qa
	$(PY) -m clozeformers.training.small_encoder $(MODELS)/minilm-qa --vocab_size 7500 --texts $(MODELS)/texts.txt \
		--output_dir $(MODELS)/minilm-qa-small
	$(QUESTIONS) minilm-small-qa --model_name_or_path $(MODELS)/minilm-qa-small --validation_fraction 0.05 $(READ) \
		--test_file $(SQUAD)/dev-v1.1-part.json $(SQUAD)/dev-v2.0-part.json tests/data/questions.json --output_dir $(MODELS)/reader
	$(PY) -m clozeformers.packaged $(MODELS)/negation-scope $(MODELS)/reader

build: $(VENV)/ready ## build the source distribution and the wheel into dist
	$(VENV)/bin/python -m build --no-isolation

docs: $(VENV)/docs-ready ## build the site of the documentation into site, without network
	$(VENV)/bin/mkdocs build --strict

pictures: $(VENV)/browser-ready ## take the README's pictures in Chromium: make pictures [CLOZE=model]
	$(VENV)/bin/python docs/pictures.py $(if $(CLOZE),--cloze $(CLOZE))

release: $(VENV)/docs-ready ## build and check what is published, and print how to publish it
	rm -rf dist
	@$(MAKE) --no-print-directory build
	$(VENV)/bin/twine check --strict dist/*
	$(VENV)/bin/python .github/release.py

clean: ## remove the environments and all build products
	rm -rf $(VENV) $(VENV_MIN) build dist site .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/ready: constraints.txt pyproject.toml
$(VENV_MIN)/ready: constraints-min.txt pyproject.toml
$(VENV)/docs-ready $(VENV)/browser-ready: $(VENV)/%-ready: $(VENV)/ready
	$(VENV)/bin/python -m pip install --quiet --no-compile -c constraints.txt -e '.[$*]'
	touch $@
%/ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "clozeformers needs Python 3.10 or newer, as python3 or named with make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $*
	$*/bin/python -m pip install --quiet --no-compile -c $< -e '.[test]'
	touch $@
