# Two commands do all the set-up on a machine with python3.11 (or newer) and nothing else:  make demo,  make test
SHELL = /bin/sh
PYTHON ?= python3
UV = .tools/bin/uv
BIN = .venv/bin
export UV_PYTHON_DOWNLOADS = never
# Trust what the machine trusts, as pip does: behind a company proxy that is more than a built-in list.
export UV_SYSTEM_CERTS = 1
export PYTHONUTF8 = 1
# A root shell opened by `su` has no sbin on its path, and PostgreSQL for tests and demo needs useradd, since it refuses root.
export PATH := $(PATH):/usr/sbin:/sbin
# Compiled files are kept, whatever the machine's habit: tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE =

# The browser of tests/browser: Debian's chromium, without its windows where there is a choice, or the one that DISCREET_TEST_CHROMIUM names.
HAS_BROWSER = { test -n "$$DISCREET_TEST_CHROMIUM" || command -v chromium-headless-shell || command -v chromium || command -v chromium-browser; } >/dev/null 2>&1

.PHONY: help demo setup test check lint types layers suite bench docs reference pins clean browser package oldest newest

help:
	@echo "make demo    the main job on generated people: installs what it needs, tells the story, writes demo/report.html"
	@echo "make test    installs everything and runs all tests"
	@echo "make setup   installs everything into .venv"
	@echo "make check   lint, types, layers"
	@echo "make bench   the benchmarks; each prints its ratio against a peer or a floor"
	@echo "make docs    the documentation as a site, in build/docs"
	@echo "make pins    renews the hashed requirement files"
	@echo "make package builds the wheel and the source archive into dist"
	@echo "make oldest  the tests that dependencies matter to, with the oldest versions that pyproject.toml allows"
	@echo "make newest  the same with the newest versions there are"

demo: .venv/.core
	@$(BIN)/discreet demo --out demo

setup: .venv/.all

# Types are looked at while the first tests run.
test: .venv/.all browser
	@$(MAKE) --no-print-directory --jobs=4 check suite

suite: .venv/.all
	@if $(HAS_BROWSER); then exec $(BIN)/python -m pytest -n 2; fi; \
	$(BIN)/python -m pytest -n 2 -m 'not slow and not browser'; code=$$?; \
	echo "*** NOT RUN: tests/browser. There is no chromium and no right to install it. As root: apt-get install chromium ***" >&2; exit $$code

# Installs chromium where we may: as root, or with a sudo that asks for no password.
browser:
	@$(HAS_BROWSER) || ! command -v apt-get >/dev/null 2>&1 || { \
	if [ "$$(id -u)" = 0 ]; then as=env; elif sudo -n true 2>/dev/null; then as="sudo -n"; else exit 0; fi; \
	echo "Installing Debian's chromium for the tests of the web application" >&2; export DEBIAN_FRONTEND=noninteractive; \
	get="$$as apt-get install -y -qq --no-install-recommends"; \
	for try in now updated; do for name in chromium-headless-shell chromium; do \
	$$get $$name >/dev/null 2>&1 && exit 0; done; $$as apt-get update -qq >/dev/null 2>&1 || exit 0; done; }

check: lint types layers

lint: .venv/.all
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: .venv/.all
	@$(BIN)/mypy

layers: .venv/.all
	@$(BIN)/lint-imports --no-logo

docs: .venv/.all
	@$(BIN)/properdocs --quiet build --config-file handbook/properdocs.yml
	@echo "build/docs/index.html"

# The tables of docs/reference that come from code; a test fails where they are stale.
reference: .venv/.all
	@$(BIN)/python -m handbook.reference

bench: .venv/.all .peers/.ready
	@$(BIN)/python -m benchmarks

pins: $(UV)
	echo uv | $(UV) pip compile - --generate-hashes --no-header --no-annotate --universal -q -o requirements-tools.txt
	$(UV) pip compile pyproject.toml --extra demo --group build --generate-hashes --no-header --no-annotate --universal -q -o requirements.txt
	$(UV) pip compile pyproject.toml --all-extras --group dev --generate-hashes --no-header --no-annotate --universal -q -c requirements.txt -o requirements-dev.txt
	$(UV) pip compile pyproject.toml --extra web --extra sso --extra passkeys --extra gateway --extra postgres --extra formats --extra linkage --group build --generate-hashes --no-header --no-annotate --universal -q -c requirements-dev.txt -o deploy/requirements.txt
	$(UV) pip compile benchmarks/peers.in --generate-hashes --no-header --no-annotate --universal -q -o benchmarks/peers.txt

package: .venv/.all
	@rm -rf dist
	@$(BIN)/python -m hatchling build

# What the dependencies matter to; without properties of pure rooms, Spark, the browser and what takes minutes.
OTHERS = tests/sources tests/policy tests/store tests/ledger tests/contract tests/misuse tests/linkage tests/anonymity tests/cli \
	tests/web tests/gateway/enforcement/test_governor.py tests/gateway/net/test_server.py --ignore tests/web/test_fuzzing.py
WORKERS ?= 2

oldest: TAKE = lowest-direct
newest: TAKE = highest
oldest newest: $(UV)
	@mkdir -p build
	@$(UV) venv --quiet --clear --python $(PYTHON) .venv-$@
	@$(UV) pip compile pyproject.toml --all-extras --resolution $(TAKE) --python .venv-$@ --upgrade --no-header --no-annotate -q -o build/$@.txt
	@$(UV) pip install --quiet --python .venv-$@ -r build/$@.txt
	@mkdir -p build/tools && grep -v '"schemathesis"' pyproject.toml > build/tools/pyproject.toml  # it holds back pytest
	@$(UV) pip install --quiet --python .venv-$@ --group build/tools/pyproject.toml:dev -c build/$@.txt
	@$(UV) pip install --quiet --python .venv-$@ --no-deps --no-build-isolation --editable .
	@.venv-$@/bin/python -m pytest -n $(WORKERS) -m 'not slow and not browser and not spark' $(OTHERS)

# uv lives in .tools, put there with nothing but python3 and pip; requirements-tools.txt pins it.
$(UV): requirements-tools.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Discreet needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.11" >&2; exit 2; }
	@$(PYTHON) -m venv .tools || { echo "python3 cannot make virtual environments. On Debian: apt-get install python3-venv" >&2; exit 2; }
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-tools.txt
	@touch $(UV)

.venv/bin/python: $(UV)
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	@touch $@

# Installing also compiles the search engine where there is a C compiler (hatch_build.py).
ENGINE = hatch_build.py src/discreet/anonymity/lattice/engine.c

.venv/.core: .venv/bin/python requirements.txt pyproject.toml src/discreet/__init__.py $(ENGINE)
	@test -e .venv/.all || $(UV) pip install --quiet --python .venv --require-hashes -r requirements.txt
	@$(UV) pip install --quiet --python .venv --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.all: .venv/bin/python requirements-dev.txt pyproject.toml src/discreet/__init__.py $(ENGINE)
	@$(UV) pip install --quiet --python .venv --require-hashes -r requirements-dev.txt
	@$(UV) pip install --quiet --python .venv --no-deps --no-build-isolation --editable .
	@touch $@ .venv/.core

# Peers of the benchmarks have pins of their own that do not go with ours.
.peers/.ready: $(UV) benchmarks/peers.txt
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .peers
	@$(UV) pip install --quiet --python .peers --require-hashes -r benchmarks/peers.txt
	@touch $@

clean:
	rm -rf .venv .venv-oldest .venv-newest .tools .peers demo build dist
