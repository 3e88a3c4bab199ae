# Everything a fresh Debian or Ubuntu with Python 3.11+ needs. `make crawl` and `make test` set up by themselves.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SEEDS ?=

.PHONY: setup crawl test check proof bench deploy clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "crawlerproj needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 setup"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
	  echo "The venv module is missing; trying to install it..."; \
	  { apt-get install -y python3-venv || { apt-get update && apt-get install -y python3-venv; }; } && \
	  $(PYTHON) -m venv $(VENV); } || { \
	  echo "Could not make a virtual environment: install python3-venv (apt-get install python3-venv) and try again."; \
	  rm -rf $(VENV); exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,bench]'
	$(BIN)/python -m crawlerproj.graph.warm
	@# pywb, which replays archives in a test, wants an old Redis client: it has an environment of its own.
	@$(BIN)/python -m venv $(VENV)/pywb && \
	  $(VENV)/pywb/bin/python -m pip install --quiet --disable-pip-version-check 'pywb>=2.10,<3' 'setuptools<81' || \
	  echo "pywb could not be installed: its tests will be skipped"
	@# Many workers share a crawl through Redis: without the program those tests are skipped.
	@command -v redis-server >/dev/null || command -v valkey-server >/dev/null || \
	  apt-get install -y redis-server >/dev/null 2>&1 || \
	  { apt-get update && apt-get install -y redis-server; } >/dev/null 2>&1 || \
	  echo "redis-server could not be installed: \`scrapy fleet\` needs it (apt-get install redis-server); its tests will be skipped"
	@# Java WebGraph reads our exports in a test, where there are Java and Maven.
	@! { command -v java && command -v mvn; } >/dev/null || \
	  mvn -q -B dependency:get -Dartifact=it.unimi.dsi:webgraph:3.6.10 >/dev/null 2>&1 || \
	  echo "Java WebGraph could not be fetched: its tests will be skipped"
	@touch $@

crawl: setup
ifeq ($(SEEDS),)
	$(BIN)/scrapy demo
else
	$(BIN)/scrapy crawl web -a seeds=$(SEEDS)
endif

check: setup
	$(BIN)/ruff check crawlerproj tests benchmarks
	$(BIN)/mypy

# Whole crawls mostly wait: three files of tests at a time, and the long ones, which have few tests, not last.
test: check
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

proof: setup
	$(BIN)/python benchmarks/proof $(if $(ONLY),--only $(ONLY))

bench: setup
	@for script in benchmarks/[a-z]*.py; do \
	  case $$script in */stock_scrapy.py) continue;; esac; \
	  echo "== $$script"; $(BIN)/python $$script --quick || exit 1; done

# Where to, and as whom: make deploy SCRAPYD_URL=... SCRAPYD_USERNAME=... SCRAPYD_PASSWORD=...
deploy: export SCRAPYD_URL ?= http://127.0.0.1:6800/
deploy: export SCRAPYD_USERNAME ?=
deploy: export SCRAPYD_PASSWORD ?=
deploy: setup
	@test -x $(BIN)/scrapyd-deploy || $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  'scrapyd-client>=2.0.3,<3' 'setuptools<81'
	@# Built in a copy: building leaves files behind, and an earlier build's files would end up in the egg.
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && \
	  cp -R crawlerproj seeds pyproject.toml scrapy.cfg README.md "$$copy" && \
	  cd "$$copy" && $(abspath $(BIN))/scrapyd-deploy

clean:
	rm -rf $(VENV) crawls build *.egg-info
