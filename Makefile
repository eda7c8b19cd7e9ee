# `make` lists what can be done. Stamp files in .venv make a repeated call instant.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install -qq --disable-pip-version-check
JOBS   ?= 2

PYTHON_STAMP  := $(VENV)/.stamp-python
RUN_STAMP     := $(VENV)/.stamp-run
DEV_STAMP     := $(VENV)/.stamp-dev
BROWSER_STAMP := $(VENV)/.stamp-browser

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test check pictures lint format-check types floors format browser clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(RUN_STAMP) ## try Seconder in the browser: no accounts needed, everything in ./seconder-demo
	@$(BIN)/seconder demo

test: $(DEV_STAMP) $(BROWSER_STAMP) ## run every test, on SQLite and on PostgreSQL
	@echo "==> pytest"
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

check: $(DEV_STAMP) ## lint, formatting, types and floors; all are shown even when one fails
	@$(MAKE) --no-print-directory --keep-going lint format-check types floors
	@echo "==> all checks passed"

lint: $(DEV_STAMP) ## ruff check
	@echo "==> ruff check"
	@$(BIN)/ruff check

format-check: $(DEV_STAMP)
	@echo "==> ruff format --check"
	@$(BIN)/ruff format --check

types: $(DEV_STAMP) ## mypy --strict
	@echo "==> mypy --strict"
	@$(BIN)/mypy

floors: $(DEV_STAMP) ## import-linter
	@echo "==> lint-imports"
	@$(BIN)/lint-imports --no-logo

pictures: $(DEV_STAMP) $(BROWSER_STAMP) ## take the pictures of README and docs anew, from the running demo
	@$(BIN)/python docs/pictures/take.py

format: $(DEV_STAMP) ## rewrite the files as the formatter wants them
	@$(BIN)/ruff check --fix --quiet || true
	@$(BIN)/ruff format

browser: $(BROWSER_STAMP) ## install the Chromium that the browser tests need

clean: ## forget the environment and the caches; data in ./seconder-demo stays
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist *.egg-info

$(PYTHON_STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Seconder needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@if [ ! -x $(BIN)/python ] || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		echo "==> making $(VENV)"; \
		$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
			rm -rf $(VENV); \
			echo "    this Python has no venv; trying virtualenv"; \
			$(PYTHON) -m virtualenv --version >/dev/null 2>&1 || \
			$(PYTHON) -m pip install --quiet --user virtualenv 2>/dev/null || \
			$(PYTHON) -m pip install --quiet --user --break-system-packages virtualenv || true; \
			$(PYTHON) -m virtualenv --quiet $(VENV); } || \
		{ echo "No virtual environment can be made: install python3-venv (apt-get install python3-venv)" \
			"or virtualenv (pip install --user virtualenv), then run make again." >&2; exit 1; }; \
	fi
	@touch $@

$(RUN_STAMP): $(PYTHON_STAMP) pyproject.toml
	@echo "==> installing Seconder into $(VENV) (about a minute, once)"
	@$(PIP) --editable '.[openai]'
	@touch $@

$(DEV_STAMP): $(PYTHON_STAMP) pyproject.toml
	@echo "==> installing Seconder and what its tests need into $(VENV) (about a minute, once)"
	@$(PIP) --editable '.[dev,openai]'
	@touch $@ $(RUN_STAMP)

$(BROWSER_STAMP): $(PYTHON_STAMP)
	@if ! command -v chromium chromium-browser google-chrome >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "==> installing Chromium for the browser tests"; \
			export DEBIAN_FRONTEND=noninteractive; \
			apt-get update -qq; \
			apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core fonts-noto-color-emoji >/dev/null; \
		else \
			echo "The browser tests need Chromium: install the package chromium, then run make again." >&2; exit 1; \
		fi; \
	fi
	@touch $@
