# make demo   fit a small table, sample from it, show real and new rows side by side
# make test   lint, types, layers and all tests
#             (installs nothing outside of .venv; without chromium the browser tests are skipped)
# make docs   the documentation site, into out/site
# make package   wheel and sdist, installed into an empty environment and tried out
# make test-long   what takes minutes: hundreds of random tables, thousands of damaged and hostile model files
# Both set up .venv first; nothing else is needed but Python 3.10 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q install -c constraints.txt
# Steps of small models lose badly to thread contention: one thread per process, two processes.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: audit-pins demo docs locked package test test-long test-pandas2 sdmetrics anonymeter lint format clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

# Every warning is an error: a broken link, a page that is missing.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q
	@echo "open out/site/index.html"

# Wheel and sdist, checked, installed into an empty environment and tried out there.
package: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python scripts/check_package.py

test: $(VENV)/.dev $(VENV)/.sdmetrics $(VENV)/.anonymeter lint
	@scripts/install-browser --check
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal
	@$(MAKE) --no-print-directory test-pandas2

# Four hundred random tables of all kinds instead of a dozen, and thousands of damaged and hostile model files.
test-long: $(VENV)/.dev
	$(ONE_THREAD) TABLES=400 $(BIN)/python -m pytest -n 2 tests/test_any_table.py
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal -m long

# The oldest pandas that is supported, put in front of the installed one (the constraints pin a newer one).
test-pandas2: $(VENV)/.pandas2
	$(ONE_THREAD) PYTHONPATH=$(VENV)/pandas2 $(BIN)/python -m pytest -q -n 2 -p no:cacheprovider tests/test_pandas.py \
		tests/data tests/test_any_table.py tests/fitting/out_of_core tests/tokens \
		tests/test_synthesizer.py tests/learning/test_auto.py tests/cli tests/evaluation/report tests/privacy/test_card.py tests/privacy/audit \
		tests/evaluation/test_encoding.py tests/evaluation/test_evaluate.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e ".[eval,report]"
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e ".[dev]"
	touch $@ $(VENV)/.demo

# The same versions, every file compared with its hash; then `make test` finds nothing left to install.
locked: $(VENV)/.locked

$(VENV)/.locked: requirements.lock constraints.txt | $(BIN)/python
	$(PIP) torch
	$(BIN)/python -m pip --disable-pip-version-check -q install --no-deps --require-hashes -r requirements.lock
	touch $@

# Known vulnerabilities of the pinned versions; needs the internet.
audit-pins: | $(BIN)/python
	$(BIN)/python -m pip --disable-pip-version-check -q install --target $(VENV)/pip-audit pip-audit==2.10.1
	PYTHONPATH=$(VENV)/pip-audit $(BIN)/python -m pip_audit --require-hashes --disable-pip -r requirements.lock

$(VENV)/.pandas2: $(VENV)/.dev Makefile
	rm -rf $(VENV)/pandas2
	$(BIN)/python -m pip --disable-pip-version-check -q install --no-deps --target $(VENV)/pandas2 pandas==2.2.3 pytz==2026.6
	touch $@

# SDMetrics, which our Shape and Trend are compared with, caps pandas below 3: it lives in an environment of its own.
sdmetrics: $(VENV)/.sdmetrics

$(VENV)/.sdmetrics: Makefile | $(BIN)/python
	rm -rf $(VENV)/sdmetrics
	$(PYTHON) -m venv $(VENV)/sdmetrics
	$(VENV)/sdmetrics/bin/python -m pip --disable-pip-version-check -q install sdmetrics==0.32.0
	touch $@

# Anonymeter, which our attacks are compared with, caps numpy below 1.27: it lives in an environment of its own too.
anonymeter: $(VENV)/.anonymeter

$(VENV)/.anonymeter: Makefile | $(BIN)/python
	rm -rf $(VENV)/anonymeter
	$(PYTHON) -m venv $(VENV)/anonymeter
	$(VENV)/anonymeter/bin/python -m pip --disable-pip-version-check -q install anonymeter==1.1.0
	touch $@

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis
