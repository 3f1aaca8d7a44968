# The two commands to know: `make chat` and `make test`. Everything they need is installed into .venv.

.PHONY: chat demo test test-long fuzz check format bench live conformance clean
.DEFAULT_GOAL := chat

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
ARGS ?=

chat: .venv/.chat
	@$(BIN)/mcp-chat $(ARGS); code=$$?; [ $$code -eq 130 ] || exit $$code

demo: .venv/.chat
	@$(BIN)/mcp-chat demo; code=$$?; [ $$code -eq 130 ] || exit $$code

# With bytecode on disk, also where the environment would have none: the tests start the program a hundred times.
test: .venv/.dev
	$(BIN)/python -m compileall -q agent servers
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 4 --dist worksteal -m "not long and not live" $(ARGS)

test-long: .venv/.dev
	$(BIN)/python -m pytest -m long --timeout=900 $(ARGS)

# About ten minutes of anything that a peer may send.
fuzz: .venv/.dev
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -n 2 --dist worksteal --timeout=1800 tests/mcp/test_*fuzz.py $(ARGS)

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_floors.py

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

live: .venv/.dev
	$(BIN)/python -m pytest -m live --timeout=900 $(ARGS)

bench: .venv/.dev
	$(BIN)/python -m benchmarks $(ARGS)

conformance: .venv/.dev
	$(BIN)/python -m tests.conformance.run $(ARGS)

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build

$(BIN)/python:
	@[ -n "$(PYTHON)" ] || { echo "mcp-chat needs Python 3.11 or newer; install it, or name one: make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "Setting up .venv with $(PYTHON) (once)…" >&2
	@$(PYTHON) -m venv .venv

.venv/.chat: $(BIN)/python pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[http,oauth,prices]'
	@$(BIN)/python -m compileall -q agent servers
	@touch $@

.venv/.dev: $(BIN)/python pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ .venv/.chat
