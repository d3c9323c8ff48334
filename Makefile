# `make run` and `make test` do their own set-up on a fresh machine, in a local .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The CPU build where there is no GPU; any torch >= 2.4 that is already in the environment is kept.
TORCH ?= torch==2.13.0

PARTS := test-rooms team test-sources test-server test-pages
# Tests wait for processes more than they compute: three parts at once fill two cores.
TOGETHER := --jobs=3 --output-sync=target

.PHONY: run test $(PARTS) test-floors test-frameworks test-frameworks-all postgres nginx check fmt bench docs pictures docs-check setup chromium clean

run: $(VENV)/.core
	$(BIN)/rollscope demo

# In parts, each of which is said when it is over. CI runs the other tests beside them.
test:
	$(MAKE) --jobs=1 chromium postgres nginx
	@echo "The tests run in $(words $(PARTS)) parts. Each says what it found when it is over."
	$(MAKE) --keep-going $(if $(filter -j%,$(MAKEFLAGS)),,$(TOGETHER)) $(PARTS)

test-rooms: $(VENV)/.test
	$(BIN)/python -m pytest --ignore=tests/web --ignore=tests/server --ignore=tests/sources --ignore=tests/sinks --ignore=tests/guides

test-sources: $(VENV)/.test
	$(BIN)/python -m pytest tests/sources tests/sinks tests/guides

test-server: $(VENV)/.test
	$(BIN)/python -m pytest tests/server

test-pages: $(VENV)/.test $(VENV)/.web chromium
	$(BIN)/python -m pytest tests/web

test-floors: $(VENV)/.test
	$(BIN)/python tests/floors/run.py

test-frameworks: $(VENV)/.test
	$(BIN)/python tests/frameworks/run.py

# More frameworks write dumps with their own code; what they write is kept in tests/golden/dumps.
test-frameworks-all: $(VENV)/.test
	$(BIN)/python tests/frameworks/run_all.py

# The lake, with a real PostgreSQL and a real S3 server, in an environment of its own.
team: $(VENV)/.test postgres nginx
	$(BIN)/python tests/lake/run.py

check: $(VENV)/.test
	$(BIN)/ruff check src tests bench scripts examples
	$(BIN)/ruff format --check src tests bench scripts examples
	$(BIN)/mypy

fmt: $(VENV)/.test $(VENV)/.web
	$(BIN)/ruff check --fix src tests bench scripts examples
	$(BIN)/ruff format src tests bench scripts examples
	cd tests/web && node_modules/.bin/prettier --config prettier.json --ignore-path /dev/null --write \
	  $$(find ../../src/rollscope/web base -name '*.js' -not -path '*/vendor/*')

bench: $(VENV)/.test
	$(BIN)/python -m bench

docs: $(VENV)/.test
	$(BIN)/python scripts/docs.py

pictures: $(VENV)/.test chromium
	$(BIN)/python scripts/screenshots.py

docs-check: $(VENV)/.test
	$(BIN)/python scripts/docs.py --check

setup: $(VENV)/.test

$(VENV)/.core: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[train,host]"
	touch $@

$(VENV)/.test: $(VENV)/.core requirements-test.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-test.txt
	touch $@

# TypeScript checks the dashboard's types; node comes with the machine or the check is skipped (never in CI).
$(VENV)/.web: tests/web/package-lock.json $(VENV)/.test
	if command -v npm >/dev/null; then cd tests/web && npm ci --silent --no-audit --no-fund; else echo "npm is not installed: the dashboard's types are not checked."; fi
	touch $@

# The journeys need a browser. Where we may, we install it; else we say so and the browser tests are skipped (never in CI).
chromium:
	@command -v chromium >/dev/null || (test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq chromium >/dev/null) \
	  || echo "Chromium is not installed: browser tests are skipped. Install it with: apt-get install chromium"

# As with Chromium: installed where we may; else the tests that need it are skipped (never in CI).
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || (test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq postgresql >/dev/null) \
	  || echo "PostgreSQL is not installed: its tests are skipped. Install it with: apt-get install postgresql"

nginx:
	@command -v nginx >/dev/null || test -x /usr/sbin/nginx || (test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq --no-install-recommends nginx-light >/dev/null) \
	  || echo "nginx is not installed: its test fails. Install it with: apt-get install nginx-light"

clean:
	rm -rf $(VENV) .venvs .mypy_cache .ruff_cache .pytest_cache
