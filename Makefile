# The tasks of a contributor. `make` alone lists them.
# ARGS is passed on: make serve ARGS='--port 9000', make test ARGS='tests/search -k words'.

.DEFAULT_GOAL := help
.PHONY: help install serve registry test test-fast endurance test-clients check lint format bench docs constraints site wheel vendor-check clean programs

BIN := .venv/bin
ARGS ?=
PACKAGE ?= search
# Several processes compile the tests, and rewrite their assertions, unless they find that done.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/pytest -q --numprocesses auto --maxprocesses 4 --no-loadscope-reorder --durations 20

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: .venv/installed ## create .venv with the command and the default local model

serve: install ## serve the example skills at http://localhost:8080
	$(BIN)/skill-registry serve --skills-dir examples/skills $(ARGS)

registry: $(or $(wildcard .venv/installed-dev),.venv/installed-registry) ## run a registry with S3 storage and an index on this machine, in .registry/
	$(BIN)/python examples/registry.py $(ARGS)

# A file's tests stay together, because they share servers. The files keep their order, the longest first.
test: .venv/installed-dev programs ## run the tests, without the long ones
	$(PYTEST) --dist loadfile -m "not endurance" $(ARGS)

test-fast: $(or $(wildcard .venv/installed-dev),.venv/installed-test) ## run the tests that start no process, in two minutes: no browser, server, git or torch
	$(PYTEST) --dist loadfile --fast $(ARGS)

endurance: .venv/installed-dev programs ## run the tests that kill, damage and draw; ENDURANCE=10 runs ten times as many
	$(PYTEST) --dist load --maxschedchunk 1 -m endurance $(ARGS)

test-clients: .venv/installed-dev ## install agents and libraries of other people in .clients and run them against the service
	$(PYTEST) --dist loadfile $$($(BIN)/python tests/clients/table.py) $(ARGS)

check: .venv/installed-dev ## check style and types, and run the tests of one package: make check PACKAGE=search
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) --dist loadfile -m "not endurance" $(or $(shell find tests -type d -name '$(PACKAGE)'),$(error no folder of tests is called $(PACKAGE))) $(ARGS)

lint: .venv/installed-dev vendor-check ## check style, types and vendored files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/installed-dev ## format the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed-dev ## measure search latency and its lower bound
	$(BIN)/python benchmarks/latency.py $(ARGS)

docs: .venv/installed-dev ## regenerate the generated parts of the documentation
	$(BIN)/cog -I tests -r $$(grep --recursive --files-with-matches --fixed-strings --include='*.md' '[[[cog' docs deploy)

constraints: .venv/installed-dev ## renew the constraints files; ARGS=--upgrade takes the newest versions
	$(BIN)/python constraints/renew.py $(ARGS)

site: .venv/installed-dev ## build the documentation site in site/; it fails on a link that leads nowhere
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict $(ARGS)

wheel: install ## build the wheel, with the local model in it, in dist/
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

vendor-check: ## check the checksums of vendored files
	@cd ui/vendor && sha256sum --check --strict --quiet checksums.txt
	@cd tests/ui && sha256sum --check --strict --quiet checksums.txt

clean: ## remove .venv and caches; keep data and indexes
	rm -rf .venv dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamp files: install once, and again when pyproject.toml or a constraints file changes. Serving never needs the
# development stamp. The constraints name exactly one version of each package, with its hashes.

INSTALL := @$(BIN)/python constraints/install.py
LOCKED := $(wildcard constraints/*.txt)

.venv/bin/pip:
	@for python in python3.11 python3.12 python3.13 python3; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    exec $$python -m venv .venv; \
	  fi; \
	done; echo "Python 3.11 or newer is required, and none was found on the PATH." >&2; exit 1

.venv/installed: pyproject.toml $(LOCKED) | .venv/bin/pip
	@echo "Installing Skill Registry into .venv, with about 90 MB of model. This happens once."
	$(INSTALL) core languages build model
	@$(BIN)/pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# What `make registry` needs besides, which a newcomer waits for: no development tools.
.venv/installed-registry: .venv/installed
	@echo "Installing the S3 service of the example registry. This happens once."
	$(INSTALL) server demo
	@touch $@

# What a contributor's first tests need: pytest, xdist and Hypothesis.
.venv/installed-test: .venv/installed
	@echo "Installing pytest, xdist and Hypothesis. This happens once."
	$(INSTALL) test
	@touch $@

# torch has a build for each accelerator, so no file has its hash.
.venv/installed-dev: .venv/installed
	@echo "Installing what the tests need, with about 800 MB of torch. This happens once."
	$(INSTALL) server demo test dev
	$(INSTALL) tools
	@$(BIN)/pip install --disable-pip-version-check --quiet torch==2.13.0
	@touch $@

# The tests need: a browser for the web page, nginx to serve it below a path, strace to make disk calls fail, curl for
# the tours, openssl for certificates, zip to build packages, unzip, bsdtar and 7z to compare what is unpacked, and a
# PostgreSQL with amcheck.
programs:
	@missing=; \
	for name in chromium-headless-shell chromium chromium-browser google-chrome; do \
	  command -v $$name >/dev/null && break; \
	done || missing=" chromium-headless-shell"; \
	for name in curl nginx openssl strace unzip zip; do command -v $$name >/dev/null || missing="$$missing $$name"; done; \
	command -v bsdtar >/dev/null || missing="$$missing libarchive-tools"; \
	command -v 7z >/dev/null || missing="$$missing p7zip-full"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$$missing postgresql"; \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ]; then as_root=env; else as_root=sudo; fi; \
	for name in apt-get $$as_root; do command -v $$name >/dev/null && continue; \
	  echo "The tests need$$missing on the PATH. Install it and run this again." >&2; exit 1; \
	done; \
	$$as_root apt-get update -qq && $$as_root apt-get install -qq -y --no-install-recommends $$missing
