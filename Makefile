# `make` without a target prints the help. Everything is installed into .venv and a cache of binaries;
# nothing needs root or Docker, unless its help says so.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := libs/goyaml libs/kubecel libs/gotemplate libs/kubeio libs/kudo libs/harness libs/serving libs/workers services/webhook services/reconciler cli tools/cluster
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
PYTEST_ARGS ?=
SLOWEST := --durations=20
# Each worker has a cluster of its own. Tests wait more than they compute, so there is one worker
# more than processors. Bytecode is always written: without it, every process that tests start would
# compile all modules again.
WORKERS := $(shell n=$$(nproc 2>/dev/null || echo 3); [ $$n -lt 3 ] && echo $$((n + 1)) || echo 4)
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadfile

.DEFAULT_GOAL := help
.PHONY: help check-tools setup demo test unit properties coverage integration campaigns lint format crds reference manifests record golden fuzz lock images compose cli e2e e2e-galera faults bench chart docs clean

help: ## print this help
	@echo "KUDO: operators for Kubernetes, written as YAML runbooks"
	@echo
	@echo "  make demo    see it work on a real Kubernetes API server on this machine"
	@echo "  make test    run the tests that every change needs, in about five minutes"
	@echo
	@grep -hE '^[a-z0-9 -]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-26s %s\n", $$1, $$2}'

check-tools:
	@sh tools/check-tools.sh $(PYTHON)

$(STAMP): requirements/dev.txt $(addsuffix /pyproject.toml,$(PACKAGES))
	@$(MAKE) --no-print-directory check-tools
	@echo "==> installing the Python packages into $(VENV) (once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(addprefix --editable ,$(PACKAGES))
	@touch $(STAMP)

$(DOCS_STAMP): $(STAMP) requirements/docs.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt
	@touch $(DOCS_STAMP)

setup: $(STAMP) ## create .venv and build the local control plane (cached)
	@$(BIN)/kudo-cluster build

demo: $(STAMP) ## run the demo on a local control plane (KEEP=1 leaves it running; CONTEXT=name uses your cluster)
	@$(BIN)/python tools/demo/demo.py $(if $(KEEP),--keep) $(if $(CONTEXT),--context "$(CONTEXT)") \
		$(if $(ADDRESS),--address $(ADDRESS)) $(if $(YES),--yes)

# What each tier is for: tests/README.md.
test: $(STAMP) ## run the tests: units, scenarios in memory, a smoke set on one real cluster (6 min)
	@$(BIN)/python -m tools.needs test
	@$(BIN)/kudo-cluster build
	@$(PYTEST) $(SLOWEST) --tier=test tests/unit tests/scenarios tests/integration $(PYTEST_ARGS)

unit: $(STAMP) ## run only the unit tests
	@$(BIN)/python -m tools.needs unit
	@$(PYTEST) tests/unit $(PYTEST_ARGS)

properties: $(STAMP) ## test properties with more and other random examples than make test (30 min)
	@$(BIN)/python -m tools.campaigns properties

# Costs 2.4 times the CPU time on Python 3.11, so it is not part of `make test`, and has no threshold.
# Worker processes start with an empty environment and open no files: lines run there do not count.
coverage: $(STAMP) ## show which lines the unit tests run (slow)
	@mkdir -p .kudo
	@$(BIN)/coverage run -m pytest tests/unit --numprocesses=0 -q $(PYTEST_ARGS)
	@$(BIN)/coverage report

integration: $(STAMP) ## run all tests on a real API server but those of make campaigns (15 min)
	@$(BIN)/python -m tools.needs integration
	@$(BIN)/kudo-cluster build
	@$(PYTEST) $(SLOWEST) --tier=integration tests/integration $(PYTEST_ARGS)

campaigns: $(STAMP) ## run what a release needs and a change does not, in some hours (ONLY="faults bench")
	@$(BIN)/python -m tools.needs campaigns
	@$(BIN)/kudo-cluster build
	@$(BIN)/python -m tools.campaigns $(ONLY)

lint: $(STAMP) ## check style, types, layers and generated files
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tools.layout
	@$(BIN)/python -m kudo.api.crds crds charts/kudo/files/crds --check
	@$(BIN)/python -m tools.package_files --check
	@$(BIN)/python -m tools.command_pages --check
	@$(BIN)/python -m tools.chart.manifests --check
	@$(BIN)/python -m tools.chart.rbac --check

format: $(STAMP) ## format the code
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format --quiet .

crds: $(STAMP) ## write the CRDs from the models: crds/, the chart's and those of `init` (needs Go)
	@$(BIN)/python -m kudo.api.crds crds charts/kudo/files/crds
	@$(BIN)/python -m tools.chart.manifests

reference: $(STAMP) ## write docs/cli/, docs/package-files.md and docs/schemas/ from the code
	@$(BIN)/python -m tools.package_files
	@$(BIN)/python -m tools.command_pages

manifests: $(STAMP) ## write what is rendered from the chart: manifests of `init`, RBAC (needs Go)
	@$(BIN)/python -m tools.chart.manifests
	@$(BIN)/python -m tools.chart.rbac

record: $(STAMP) ## write tests/record/files/: what users and scripts see today
	@$(BIN)/python -m tests.record

golden: $(STAMP) ## compare the golden data with real Go (needs Go)
	@$(BIN)/python -m tests.golden.generate --check

fuzz: $(STAMP) ## test the template engine with random and broken templates (FUZZ_SECONDS=300)
	@$(BIN)/python -m tests.golden.fuzz --seconds $(or $(FUZZ_SECONDS),300)

lock: $(STAMP) ## write requirements/*.txt with the hashes of every file
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --universal \
		--python-version 3.11 requirements/dev.in -o requirements/dev.txt
	@for name in webhook reconciler cli build docs; do \
		$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --universal \
			--python-version 3.11 --constraint requirements/dev.txt \
			requirements/$$name.in -o requirements/$$name.txt || exit 1; \
	done

images: $(STAMP) ## build the container images, measure and test them (root; INTO=dir BASE=image)
	@$(BIN)/python -m tools.needs images
	@$(BIN)/python -m tools.images --into $(or $(INTO),.kudo/images) $(if $(BASE),--base $(BASE))
	@KUDO_IMAGES=$(or $(INTO),.kudo/images) $(BIN)/python -m pytest tests/images -q $(PYTEST_ARGS)

# A Docker engine of its own runs the file; nothing of it stays.
compose: $(STAMP) ## start docker-compose.yml with stand-ins for k3s and Grafana, and use it (root; COMPOSE=program)
	@$(BIN)/python -m tools.compose --archives $(or $(INTO),.kudo/images) $(if $(COMPOSE),--program "$(COMPOSE)")

cli: $(STAMP) ## write the wheels and the single file of kubectl kudo to dist/, and test them
	@$(BIN)/python -m tools.images.plugin --into dist
	@$(BIN)/python -m pytest tests/plugin -q $(PYTEST_ARGS)

faults: $(STAMP) ## send hostile inputs; measure slow steps; break every write and watch of the reconciler (30 min; FAULTS_SEED=n)
	@$(BIN)/kudo-cluster build
	@$(BIN)/python -m tools.campaigns matrix faults

bench: $(STAMP) ## measure speed and memory against the figures to reach (BENCH=name; BENCH_ARGS=--json=file)
	@$(BIN)/kudo-cluster build
	@$(BIN)/python -m tests.bench $(BENCH) $(BENCH_ARGS)

chart: $(STAMP) ## check the Helm chart: renders, values, alerts, and a release on a real API server
	@$(BIN)/python -m tools.needs chart
	@$(BIN)/kudo-cluster build
	@$(BIN)/python -m tools.chart.helm >/dev/null
	@$(PYTEST) tests/chart $(PYTEST_ARGS)

e2e: $(STAMP) ## run the end-to-end tests on a real node (needs root: docs/local-cluster.md)
	@$(BIN)/python -m tools.needs e2e
	@$(BIN)/kudo-cluster build --profile node
	@$(BIN)/python -m tools.images
	@$(BIN)/python -m tools.images galera
	@$(BIN)/python -m pytest --tier=test tests/e2e --numprocesses=0 --durations=5 $(PYTEST_ARGS)

# Deploys, scales, updates, restores and breaks a database; the short variant is a test of `make e2e`.
e2e-galera: $(STAMP) ## run a database for its life on a real node, with rows counted (root, 15 min)
	@$(BIN)/python -m tools.needs e2e-galera
	@$(BIN)/kudo-cluster build --profile node
	@$(BIN)/python -m tools.images galera
	@$(BIN)/python -m tests.galera

docs: $(DOCS_STAMP) ## build the pages of docs/ with Sphinx, in .kudo/site
	@$(BIN)/python -m tools.docs

clean: ## remove .venv and the files that tools wrote here (the cache of binaries stays)
	@rm -rf $(VENV) .kudo .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
