# The two that matter to a newcomer: `make run` and `make test`. Everything below writes only into this checkout,
# except `make run`, which keeps its data in HALO_HOME (~/.halo).
PY := .venv/bin/python
ARGS ?=
WORKERS ?= 2
REPEAT ?= 20
HISTORIES ?= 10000

.PHONY: help run web fast test browser crash histories bench lint types contracts migrations web-test api-types check lock audit real-model setup dev
help:
	@echo "run         start Halo (ARGS='-p 9600' for another port)"
	@echo "test        the suite on SQLite; with DATABASE_URL and REDIS_URL set: on PostgreSQL and Redis"
	@echo "fast        pure tests only, under 10 s"
	@echo "browser     drive Chromium against a real server"
	@echo "crash       kill real servers at every named point, REPEAT=20 times each"
	@echo "histories   HISTORIES=10000 conversations cut anywhere, against the strict checks of every model family"
	@echo "bench       measure; writes docs/benchmarks.md"
	@echo "web         Vite's development server for the browser app"
	@echo "web-test    TypeScript and vitest"
	@echo "api-types   the browser app's types of the JSON API, from its OpenAPI description"
	@echo "lint types contracts migrations   the checks, one by one"
	@echo "check       all of it, as CI runs it (.ci/run)"
	@echo "lock        write the hashed locks anew; audit asks for known faults in them"
	@echo "real-model  one chat with a real local model server (slow, not in CI)"

setup:
	@scripts/setup run
dev:
	@scripts/setup dev

run: setup
	@exec $(PY) manage.py serve $(ARGS)

web: setup
	@scripts/setup web
	cd static/app && PATH="$$(../../scripts/setup node):$$PATH" npm run dev

test: dev
	$(PY) -m pytest -n $(WORKERS) -m "not browser and not crash" $(ARGS)

fast: dev
	$(PY) -m pytest -m "not browser and not crash and not server and not django_db" $(ARGS)

browser: dev
	$(PY) -m pytest tests/e2e -m browser -n $(WORKERS) --dist loadfile $(ARGS)

crash: dev
	HALO_CRASH_REPEAT=$(REPEAT) $(PY) -m pytest tests/crash -n $(WORKERS) $(ARGS)

histories: dev
	HALO_HISTORIES=$(HISTORIES) $(PY) -m pytest tests/sessions_app/engine/test_cut_histories.py -n $(WORKERS) $(ARGS)

bench: dev
	$(PY) -m bench.run $(ARGS)

lint: dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

types: dev
	.venv/bin/mypy .

contracts: dev
	.venv/bin/lint-imports
	$(PY) -m pytest tests/contracts

migrations: dev
	HALO_HOME=$(CURDIR)/.cache/check-home $(PY) manage.py makemigrations --check --dry-run

web-test: dev
	@scripts/setup web
	cd static/app && PATH="$$(../../scripts/setup node):$$PATH" && npx --no-install tsc --noEmit && npx --no-install vitest run

api-types: dev
	@scripts/setup web
	$(PY) scripts/export_openapi.py >.cache/openapi.json
	cd static/app && PATH="$$(../../scripts/setup node):$$PATH" && npm run api

check:
	.ci/run

COMPILE := uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header
lock:
	$(COMPILE) requirements.in -o requirements.lock
	$(COMPILE) requirements-dev.in -o requirements-dev.lock
	$(COMPILE) requirements-node.in -o requirements-node.lock

audit: dev
	.venv/bin/pip-audit --require-hashes --disable-pip -r requirements.lock

real-model: dev
	scripts/real-model
