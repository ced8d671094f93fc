# `make` lists the targets. Everything is installed into folders of this checkout: .venv, .engine, .redline.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
FORGE ?= github

.DEFAULT_GOAL := help
.PHONY: help setup test test-engine check lint types imports migrations-check bench exactness tables demo engine engine-install lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: $(READY) ## make the virtual environment

$(READY): requirements/dev.txt pyproject.toml
	@deploy/setup/venv.sh "$(PYTHON)" .venv
	@echo "Installing pinned packages into .venv (about a minute) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test: setup ## run the fast suite: units, flows on SQLite and Postgres, real broker and workers
	$(BIN)/pytest -n auto -m "not engine"

test-engine: setup engine-install ## run the tests against the real vLLM
	$(BIN)/pytest tests/engine -m engine --timeout 900

check: lint types imports migrations-check ## run linters, types, import rules and the migrations check

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/deptry bot workers deploy

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports --no-cache

migrations-check: setup
	$(BIN)/pytest tests/migrations -q

bench: setup ## measure the receiver, our own overhead and the diff code, each beside something known
	$(BIN)/python -m deploy.bench

exactness: setup ## post 10,000 random comments on each forge, and count those that stand elsewhere than they should
	EXAMPLES=1000 $(BIN)/pytest tests/unit/diff/test_parse_against_git.py -q --timeout 1800
	$(BIN)/python -m deploy.exactness $(if $(SEED),--seed "$(SEED)")

tables: setup ## write the tables of README.md and docs/cases.md anew, from the settings and the tests
	$(BIN)/python deploy/setup/settings_table.py
	$(BIN)/python deploy/setup/cases_table.py

demo: setup ## review a pull request before your eyes; FORGE=gitlab; REPO=path BASE=rev HEAD=rev for a range of your own
	$(BIN)/python -m deploy.demo --forge $(FORGE) $(if $(REPO),--repo "$(REPO)") $(if $(BASE),--base "$(BASE)") $(if $(HEAD),--head "$(HEAD)")

engine: setup engine-install ## install vLLM with a small model and serve it here; MODEL=path-or-name for another
	$(PYTHON) deploy/vllm/engine.py serve

engine-install:
	$(PYTHON) deploy/vllm/engine.py install

lock: setup ## pin the dependencies of pyproject.toml anew
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements/run.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml --group dev -o requirements/dev.txt

clean: ## remove what the targets made
	rm -rf .venv .engine .redline .mypy_cache .ruff_cache .pytest_cache .hypothesis
