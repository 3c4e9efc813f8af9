# STACK names the stack file to use: Pulumi.<STACK>.yaml here or in examples/.
# SANDBOX=1 tries a stack for a cluster or a cloud account of your own on the sandbox instead.
# PREBUILT=1 downloads releases of the vendors in the place of the sandbox's builds, PREBUILT=FILE those of a release of
# this project (docs/sandbox.md).
# YES=1 leaves out the question before a cluster or account of your own is changed: in CI, or in a pipe.
STACK  ?= dev
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
TRIED  := $(if $(SANDBOX),--sandbox)
AGREED := $(if $(YES),--yes)
# Written when what `up` and the command need is installed, and when what tests and checks need is, too.
READY  := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
# Two more than a small machine has processors: tests of the sandbox wait for others' processes half of the time, and
# what another worker costs is to collect the tests once more (12 s of a processor).
WORKERS ?= 4
SHARED := --dist loadfile --no-loadscope-reorder
# Folders of tests/unit whose tests tell most of what is wrong with a plan or a rule, and take a minute.
QUICK := base catalog k8s live nccl nccl_topology plan rules spec
# What tests need is built before them, since two processors have no time left while tests run: of all
# controllers, `make test` needs those of the stacks that it brings up.
TESTED := core helm cni lint kueue spiderpool sriov-network-operator sriov-network-operator-1.3 mpi-operator ipam alarms
EVERY  := core helm cni lint node controllers ipam claims discovery languages alarms images
LINT := $(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check . && $(VENV)/bin/mypy && \
    $(VENV)/bin/mypy .ci/*.py hatch_build.py editable/*.py
# Which part of all tests `make test-all` runs, and by what hypothesis draws.
PART ?= 1/1
ifndef SEED
SEED := $(shell date +%Y%m%d%H%M)
endif
# Every command imports the whole program, which would be compiled each time where this is set.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev up preview refresh destroy outputs kubeconfig plan status test test-all test-fast test-node test-replacement upstream lint docs generated lines bench

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## create the virtual environment

# Output of uv on a terminal has its progress; elsewhere it would be a line a package. It does not read pip's settings.
define install
@$(VENV)/bin/uv pip install $$([ -t 2 ] || echo --quiet) --python $(PY) $(1) --default-index \
    "$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(PY) -m pip config get global.index-url 2>/dev/null)}}" || $(NOT_INSTALLED)
endef
NOT_INSTALLED = { echo "Packages come from PyPI, or from the index that PIP_INDEX_URL names. Then repeat the command." >&2; exit 1; }

$(READY): requirements-uv.lock requirements.lock pyproject.toml sandbox/pyproject.toml $(wildcard editable/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one: make PYTHON=python3.12")'
	@echo "installing Python packages into $(VENV) (250 MB)"
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements-uv.lock || $(NOT_INSTALLED)
	$(call install,--require-hashes -r requirements.lock)
	$(call install,--no-deps --editable . --editable ./sandbox)
	@$(PY) -c 'import sandbox.cli, stacks.program' # compiles what commands import, once
	@touch $@

setup-dev: $(READY_DEV) ## install what the tests and checks need, too

$(READY_DEV): $(READY) requirements-dev.txt
	@echo "installing what the tests and checks need (270 MB more)"
	$(call install,-r requirements-dev.txt)
	@touch $@

up: setup ## start the sandbox if the stack needs it, and bring the stack up
	@$(PY) -m sandbox pulumi up -s $(STACK) $(TRIED) $(AGREED) --start

preview: setup ## show what `up` would change
	@$(PY) -m sandbox pulumi preview -s $(STACK) $(TRIED) --start

refresh: setup ## update the state from what exists; renews a kubeconfig that has expired
	@$(PY) -m sandbox pulumi refresh -s $(STACK) $(TRIED) $(AGREED) --start

destroy: setup ## take the stack down; for a sandbox stack, the sandbox's processes too
	@$(PY) -m sandbox pulumi destroy -s $(STACK) $(TRIED) $(AGREED)
	@$(PY) -m sandbox down -s $(STACK) $(TRIED)

outputs: setup ## print the stack's outputs as JSON, secrets masked
	@$(PY) -m sandbox pulumi outputs -s $(STACK) $(TRIED)

kubeconfig: setup ## print the stack's kubeconfig: make kubeconfig > FILE
	@$(PY) -m sandbox pulumi kubeconfig -s $(STACK) $(TRIED)

plan: setup ## print everything the stack would create; needs no cluster
	@$(PY) -m gpu_fabric plan -s $(STACK)

status: setup ## show the sandbox's processes
	@$(PY) -m sandbox status

test-fast: setup-dev ## a minute: plans and NCCL's files, with every rule and every kind of mistake
	@$(PY) -m pytest $(SHARED) -n 2 -m "not slow and not night" $(QUICK:%=tests/unit/%)

# Types take a minute of one processor: they are checked while the tests run, and what is wrong is said at once.
test: setup-dev ## under 20 minutes: what a change must pass; the first time builds the toolchain
	@log=$$(mktemp); { { $(LINT); } >$$log 2>&1 || { cat $$log >&2; exit 1; }; } & lint=$$!; \
	    $(PY) -m sandbox build $(TESTED) && \
	    $(PY) -m pytest $(SHARED) -n $(WORKERS) -m "not night" --durations=15 tests; tested=$$?; \
	    wait $$lint; linted=$$?; tail -n 4 $$log; rm -f $$log; exit $$((tested | linted))

# The tier that boots a machine runs only if it is asked for.
test-all: export NODE := 1
test-all: setup-dev lint ## everything, hours: in parts by PART=1/3, 2/3 and 3/3; SEED=N draws as another run did
	@$(PY) -m sandbox build $(EVERY)
	@echo "draws by SEED=$(SEED)"
	@$(PY) -m pytest $(SHARED) -n $(WORKERS) --part $(PART) --hypothesis-seed=$(SEED) tests

test-replacement: setup-dev ## lose and replace 200 nodes in the sandbox with each stack, with random kills in between
	@REPLACEMENTS=200 $(PY) -m pytest -q -s --timeout=0 tests/sandbox/test_replacement.py

test-node: setup-dev ## run the tier that boots a machine with SR-IOV in QEMU (170 MB of Debian's packages)
	@$(PY) -m sandbox build cni node
	@NODE=1 $(PY) -m pytest --durations=15 tests/node

upstream: setup-dev ## fetch the vendors' published files that tests/upstream reads (13 MB), and read the charts' values
	@$(PY) -m tests.support.upstream_definitions
	@$(PY) tests/support/chart_values.py

lint: setup-dev ## check style and types
	@$(LINT)

docs: setup-dev ## write the generated pages, schemas and types again
	@$(PY) tests/unit/rules/examples.py > .examples.yaml && mv .examples.yaml gpu_fabric/rules/examples.yaml
	@$(PY) tests/support/examples_index.py > .examples.md && mv .examples.md examples/README.md
	@$(PY) tests/support/fabrics_page.py > .fabrics.md && mv .fabrics.md docs/fabrics.md
	@$(PY) -m gpu_fabric schema stack > docs/schema/stack.json
	@$(PY) -m gpu_fabric schema contract > docs/schema/contract.json
	@$(PY) -m gpu_fabric schema cluster > docs/schema/cluster.json
	@$(PY) -m gpu_fabric reference configuration > docs/configuration.md
	@$(PY) -m gpu_fabric reference rules > docs/rules.md
	@$(PY) -m gpu_fabric reference support > docs/support.md
	@$(PY) -m gpu_fabric reference nccl > docs/nccl-settings.md
	@$(PY) -m gpu_fabric reference libraries > docs/libraries.md
	@$(PY) -m gpu_fabric reference clouds > docs/clouds.md
	@$(PY) -m gpu_fabric reference alarms > docs/alarms.md
	@$(PY) -m gpu_fabric reference symptoms > docs/symptoms.md
	@$(PY) -m gpu_fabric.report.pages.component_types args > .types.py && mv .types.py components/args.py
	@$(PY) -m gpu_fabric.report.pages.component_types outputs > .types.py && mv .types.py components/outputs.py
	@$(PY) -m components schema > docs/schema/components.json
	@$(PY) -m components reference > docs/components.md
	@$(PY) tests/support/readme_picture.py > .picture.svg && mv .picture.svg docs/fabric.svg

site: setup-dev ## build the pages with search into .site
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict --config-file site/mkdocs.yml

generated: setup-dev ## check that each committed file that a program writes is what it writes today
	@$(PY) -m pytest -q tests/unit/repository/test_generated.py

lines: setup-dev ## write the ledger of lines in docs/architecture.md; REASON="why a folder grew"
	@$(PY) tests/support/ledger.py "$(REASON)"

bench: setup-dev ## measure the budgets, as ratios within one run; LONG=1 for more rounds, JSON=FILE to keep the figures
	@$(PY) -m sandbox build core helm
	@$(PY) -m tests.bench $(if $(LONG),--long) $(if $(JSON),--json $(JSON))
