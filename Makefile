# Lethe. `make help` lists the targets.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := shared/lethe local/lethe_local client/lethe_client functions
RUN := PYTHONUNBUFFERED=1 $(BIN)/python

.DEFAULT_GOAL := help
.PHONY: help demo dev test check lint fmt lock clean bench-erasure bench-quality bench-scale bench-speed

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# OPENSEARCH=1 or the address of a node: the search index is a real OpenSearch, whose client is installed besides.
LAPTOP := $(VENV)/.laptop $(if $(filter-out 0 no,$(OPENSEARCH)),$(VENV)/.opensearch)

demo: $(LAPTOP) ## set everything up and watch an agent's memory work on a real conversation (OPENSEARCH=1)
	@$(RUN) -m lethe_local.demo

dev: $(LAPTOP) ## serve the API on localhost (PORT=8700; FRESH=1 starts empty; OPENSEARCH=1 with a search index)
	@exec env $(RUN) -m lethe_local.dev

# In groups, each in one process and the longest first: tests/support/spreading.py.
JOBS ?= 2
SPREAD := $(if $(filter-out 0 1,$(JOBS)),--numprocesses=$(JOBS) --dist=loadscope --no-loadscope-reorder)

test: $(VENV)/.development ## all tests, in two processes (JOBS=1: in one); PYTEST= takes more arguments
	$(BIN)/python -m pytest $(SPREAD) $(PYTEST)

check: lint ## lint, types, import rules
	$(BIN)/python -m pytest -q tests/unit/test_imports.py

lint: $(VENV)/.development ## lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(SOURCES) tests bench

fmt: $(VENV)/.development ## format and mend what can be mended
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

bench-erasure: $(VENV)/.development ## time of erasures of 50 to 100,000 records, beside bare deletion (ten minutes)
	$(RUN) -m bench.erasure --docs docs/erasure.md

bench-quality: $(VENV)/.development ## retrieval quality over the four sets in ../shared/data
	$(RUN) -m bench.quality --data ../shared/data

bench-scale: $(VENV)/.development ## the search index from 10,000 to a million memories, on a real node (half an hour)
	$(RUN) -m bench.scale --docs docs/scale.md

bench-speed: $(VENV)/.development ## latency by step, round trips, cold start, and mem0 beside it
	$(RUN) -m bench.speed

lock: $(VENV)/.development ## resolve requirements/*.in again, with hashes
	$(BIN)/python -m pip --disable-pip-version-check install --quiet uv
	for name in pip laptop opensearch development; do \
		$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
			--no-emit-index-url --no-emit-find-links requirements/$$name.in -o requirements/$$name.txt; done

clean: ## remove the virtual environments and all state
	rm -rf $(VENV) .venv-sam .lethe .aws-sam .mypy_cache .ruff_cache .pytest_cache .hypothesis build \
		local/opensearch/target

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Lethe needs Python 3.11 or newer with venv"; exit 1; }
	@echo "Setting up $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes --requirement requirements/pip.txt

$(VENV)/.laptop: requirements/laptop.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing what the laptop needs (pinned, with hashes): some 140 MB, in silence, half a minute or more"
	@$(PIP) install --require-hashes --requirement requirements/laptop.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.opensearch: requirements/opensearch.txt $(VENV)/.laptop
	@echo "Installing the client of OpenSearch (pinned, with hashes)"
	@$(PIP) install --require-hashes --requirement requirements/opensearch.txt
	@touch $@

$(VENV)/.development: requirements/development.txt $(VENV)/.laptop
	@echo "Installing what development needs (pinned, with hashes)"
	@$(PIP) install --require-hashes --requirement requirements/development.txt
	@touch $@

-include make/*.mk
