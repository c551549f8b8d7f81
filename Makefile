# Variables: PYTHON makes the virtual environment VENV; ARGS goes to the command behind a target.
#   make test PYTHON=python3.13 VENV=.venv-3.13
#   make test-unit ARGS="-k tracker"
PYTHON ?= python3
VENV ?= .venv
ARGS ?=
UV ?= uv
ACCEPTANCE ?= ../shared/acceptance

BIN := $(VENV)/bin
PARTS := lint types imports generated coverage
LOCK := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock"

.DEFAULT_GOAL := help
.PHONY: acceptance bench bench-quick clean coverage demo example-outage format generate generated help imports kafka lint lock test test-shelves test-unit types venv

acceptance: venv ## Run the black-box suite at ACCEPTANCE on a real broker; ARGS="--jobs 3 clean killed" and the like
	@test -f $(ACCEPTANCE)/acceptance.py || { echo "no acceptance suite at $(ACCEPTANCE): set ACCEPTANCE=path"; exit 1; }
	$(BIN)/python -m tests.support.kafka -- $(BIN)/python -B $(ACCEPTANCE)/acceptance.py --hookline $(abspath $(BIN))/hookline $(ARGS)

bench: venv ## Measure everything against the bare client, the ceilings and all peers (30 minutes); ARGS="--only B1"
	@$(BIN)/python -m benchmarks $(ARGS)

bench-quick: venv ## Measure B0, B1, B2 and B4 against the bare client and the ceilings (3 minutes)
	@$(BIN)/python -m benchmarks --quick $(ARGS)

clean: ## Remove caches, coverage data and built files; virtual environments stay
	rm -rf .coverage* htmlcov dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests examples benchmarks proto -name __pycache__ -prune -exec rm -rf {} +

coverage: venv ## Run every shelf of tests, the pure ones beside the others, and report the lines that none reached
	@$(BIN)/coverage erase
	@code=0; log=$$(mktemp); \
	$(BIN)/coverage run -m pytest tests/unit $(ARGS) >"$$log" 2>&1 & pure=$$!; \
	trap 'kill $$pure; exit 130' INT TERM; \
	$(BIN)/coverage run -m pytest --ignore=tests/unit $(ARGS) || code=$$?; \
	wait $$pure || code=$$?; cat "$$log"; rm "$$log"; \
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report || [ $$code -ne 0 ] || code=$$?; exit $$code

demo: $(VENV)/.run-installed ## Watch the whole story on a broker inside the process: needs Python and make only
	$(BIN)/hookline demo $(ARGS)

example-outage: venv ## Play an outage of one dependency of three, in each way of keeping hooks apart (15 minutes); ARGS="--mode own"
	@$(BIN)/python -m tests.support.kafka -- $(BIN)/python -m examples.outage $(ARGS)

format: venv ## Format the code and repair what ruff can
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

generate: venv ## Write the Python code of the contract from proto/
	$(BIN)/python proto/generate.py

generated: venv ## Check that the generated code is what protoc makes of proto/
	$(BIN)/python proto/generate.py --check

help: ## Show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

imports: venv ## Check that imports go down the stair of docs/design.md
	$(BIN)/lint-imports

kafka: venv ## Offer a real Kafka on loopback until Ctrl-C
	@$(BIN)/python -m tests.support.kafka

lint: venv ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lock: ## Pin the dependencies of pyproject.toml again (needs uv; ARGS=--upgrade takes newer ones)
	$(LOCK) $(ARGS) pyproject.toml -o requirements/run.txt
	$(LOCK) $(ARGS) pyproject.toml --group dev -c requirements/run.txt -o requirements/dev.txt
	$(LOCK:3.11=3.12) $(ARGS) pyproject.toml requirements/bench.in -c requirements/run.txt -o requirements/bench.txt

test: venv ## Check everything: lint, types, imports, generated code, and all shelves of tests with coverage
	@failed=; for part in $(PARTS); do \
		printf '\n== %s\n' $$part; $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
	done; \
	if [ -n "$$failed" ]; then printf '\nmake test: FAILED:%s\n' "$$failed"; exit 1; fi; \
	printf '\nmake test: all passed: %s\n' "$(PARTS)"

test-shelves: venv ## Run every shelf of tests, or those in ARGS
	$(BIN)/pytest $(ARGS)

test-unit: venv ## Run the pure tests: seconds, no broker
	$(BIN)/pytest tests/unit $(ARGS)

types: venv ## Check the types, also of tests and examples
	$(BIN)/mypy

venv: $(VENV)/.dev-installed ## Make the virtual environment VENV with everything that development needs

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "hookline needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run-installed: requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "installing the locked dependencies into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@

$(VENV)/.dev-installed: requirements/dev.txt requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "installing the locked dependencies for development into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@ $(VENV)/.run-installed
