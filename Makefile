# Everything a contributor or CI runs. `make demo` and `make test` need Python 3.11 or newer, make and a C++ compiler;
# both fill the same .venv, in any order, each only with what it lacks.

VENV   := .venv
BIN    := $(VENV)/bin
# Versions come from the constraints file. PIP_CONSTRAINT reaches the build's own environment in older pips,
# PIP_BUILD_CONSTRAINT in newer ones. (Relative, because pip splits the value at spaces.)
PIP    := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=constraints.txt \
          PIP_BUILD_CONSTRAINT=constraints.txt $(BIN)/python -m pip
PYTEST := $(BIN)/python -m pytest
JOBS   ?= 2
NATIVE := $(wildcard native/*)

# For wheels for 64-bit ARM: a cross compiler, and what runs its programs here. (On Debian the packages
# g++-aarch64-linux-gnu and qemu-user; other compilers name a sysroot: ARM_CXX='clang++ --target=... --sysroot=...'.)
ARM_CXX    ?= aarch64-linux-gnu-g++
ARM_RUNNER ?= qemu-aarch64 -L /usr/aarch64-linux-gnu

# The first Python on the path that is new enough; `make PYTHON=/path/to/python3` chooses another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test smoke lint format types examples docs docs-check bench native sanitize wheel wheel-arm check-arm \
	constraints clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.stamp-demo ## Train the digits network; ARGS="..." go to examples/digits.py
	$(BIN)/penstock run examples/digits.py $(ARGS)

test: $(VENV)/.stamp-dev ## Run the tests; ARGS="..." go to pytest
	$(PYTEST) -n $(JOBS) $(ARGS)

smoke: $(VENV)/.stamp-dev ## The check of a few seconds that runs before a commit
	tools/pre_commit.sh

lint: $(VENV)/.stamp-dev ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.stamp-dev ## Mend style and format where a tool can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.stamp-dev ## Check the types
	$(BIN)/mypy

examples: $(VENV)/.stamp-dev ## Run the quick examples, each with a time budget
	$(BIN)/python tools/run_examples.py

docs: $(VENV)/.stamp-dev ## Write the generated pages anew
	$(BIN)/python tools/make_env_docs.py
	$(BIN)/python tools/make_coverage.py

docs-check: $(VENV)/.stamp-dev ## Fail where a generated page is out of date
	$(BIN)/python tools/make_env_docs.py --check
	$(BIN)/python tools/make_coverage.py --check

bench: $(VENV)/.stamp-demo ## Measure the latency of a step; ARGS="..." go to it
	$(BIN)/python benchmarks/step_latency.py $(ARGS)

native: $(VENV)/.stamp-dev ## Compile the native kernels anew
	$(BIN)/python native/build.py

sanitize: $(VENV)/.stamp-dev ## Check the native libraries under the sanitizers for memory, behaviour and threads
	$(BIN)/python native/build.py --check address,undefined
	$(BIN)/python native/build.py --check thread --rounds 15
	$(BIN)/python native/sanitize.py address,undefined
	$(BIN)/python native/sanitize.py thread

wheel: $(VENV)/.stamp-dev ## Build the wheel and the source distribution into dist/
	$(BIN)/python -m build --no-isolation

wheel-arm: $(VENV)/.stamp-dev ## Build the wheel for 64-bit ARM with a cross compiler, ARM_CXX
	CXX='$(ARM_CXX)' $(BIN)/python -m build --no-isolation --wheel

wheel wheel-arm: export PENSTOCK_BUILD_NATIVE ?= require

check-arm: $(BIN)/python ## Check the native libraries for 64-bit ARM under an emulator, ARM_RUNNER
	CXX='$(ARM_CXX)' $(BIN)/python native/build.py --check '' --rounds 25 --runner '$(ARM_RUNNER)'

constraints: $(VENV)/.stamp-dev ## Pin what .venv holds now
	$(BIN)/python tools/make_constraints.py

clean: ## Remove what was built, and .venv
	rm -rf $(VENV) build dist src/penstock/_native .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp says that .venv holds this set of packages in these versions. A .venv without stamps is filled, not replaced.
$(VENV)/.stamp-demo: pyproject.toml constraints.txt hatch_build.py $(NATIVE) | $(BIN)/python
	$(call install,demo)

$(VENV)/.stamp-dev: pyproject.toml constraints.txt hatch_build.py $(NATIVE) | $(BIN)/python
	$(call install,dev)
	@touch $(VENV)/.stamp-demo  # the set "dev" holds the set "demo"

# pip compiles what it installs; compileall covers what was there before or came without bytecode, because imports
# without it take three to five times as long. (-x: test data and templates that are not valid Python.)
define install
	$(PIP) install --quiet --editable '.[$(1)]'
	-@$(BIN)/python -m compileall -qq -j $(JOBS) -x '/(tests?|templates)/' $(VENV)/lib/python3*/site-packages
	@touch $@
endef

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "make: Penstock needs Python 3.11 or newer; none found on the path." \
		"Install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
