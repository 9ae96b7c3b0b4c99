# The commands of this repository. `make help` lists them.

VENV := .venv
# SAM finds cargo-lambda and zig in the environment of the first `python3` on the PATH.
SAM := PATH="$(CURDIR)/$(VENV)/bin:$$PATH" SAM_CLI_TELEMETRY=0 $(VENV)/bin/sam
ARCHITECTURES ?= x86_64 arm64
BROWSER := tests/browser
PORTAL := functions/portal/web
ROTATION := tests/rotation
CLIENTS := tests/contract/clients
FUNCTIONS := $(notdir $(wildcard functions/*))

.DEFAULT_GOAL := help
.PHONY: help run check test bench bench-portal figures soak simulate fuzz fuzz-api rust-client sam mutations mutants smoke build release portal engine numbering hooks machine-runs machine-tests machine-fuzzes machine-containers
# Every target is a sequence. With -j, two targets would install the same programs at the same time.
.NOTPARALLEL:

help: ## list the targets
	@echo "make <target>:"
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F '|' '{ printf "  %-14s%s\n", $$1, $$2 }'

run: machine-runs ## run the whole service on this machine until Ctrl-C (PORT=9000 selects other ports, VALIDATE=1 holds its calls against AWS's rules)
	@cargo build --locked --workspace --bins
	@exec target/debug/local run --no-build $(if $(VALIDATE),--validate)

check: machine-runs $(VENV)/bin/typos ## check spelling, format and lints, and run the tests of the crates
	@python3 tests/run.py check

test: machine-tests $(VENV)/installed $(BROWSER)/node_modules/installed $(PORTAL)/node_modules/installed $(ROTATION)/node_modules/installed $(CLIENTS)/node_modules/installed ## run all tests: also the whole stack, a browser and the template
	@python3 tests/run.py test

bench: machine-runs ## measure the cost of functions, reads and deliveries, as tables (builds first; then about ten minutes)
	@echo "Building all functions as they are shipped (some minutes)"
	@CARGO_PROFILE_RELEASE_STRIP=none cargo build --quiet --locked --release --package floor
	@CARGO_PROFILE_RELEASE_STRIP=none cargo build --quiet --locked --release $(addprefix --package ,$(FUNCTIONS))
	@cargo build --quiet --locked --profile measuring --package bench --examples
	@for table in reads functions deliveries; do "$${CARGO_TARGET_DIR:-target}"/measuring/examples/$$table || exit 1; done

bench-portal: machine-tests $(VENV)/installed $(BROWSER)/node_modules/installed ## measure the first paint of the portal and pages of its log of deliveries (three minutes once built)
	@cargo build --workspace --bins --locked
	@$(VENV)/bin/python tests/browser/run.py speed

figures: machine-runs ## compare instructions, calls and size of each function with tests/bench/figures.json (UPDATE=1 rewrites it; CASES="contacts leads")
	@if command -v valgrind >/dev/null; then \
	  cargo build --quiet --locked --profile measuring --package floor $(addprefix --package ,$(FUNCTIONS)) && \
	  cargo build --quiet --locked --workspace --example functions && \
	  "$${CARGO_TARGET_DIR:-target}"/debug/examples/functions figures $(CASES); \
	else \
	  echo "Skipped: valgrind, which counts the instructions, is missing (Debian: apt-get install valgrind)"; \
	fi

soak: $(VENV)/installed ## process a thousand leads while senders are killed and tasks are lost and repeated, a thousand whose template is paused, and 100,000 generated webhooks of the provider
	@cargo build --workspace --all-targets --locked
	@SOAK_LEADS=1000 cargo test --locked --workspace --test whole leads_outlive
	@SOAK_LEADS=1000 cargo test --locked --workspace --test whole leads_wait_while
	@SOAK_WEBHOOKS=100000 cargo test --locked --workspace --test it bodies::

simulate: machine-runs ## run simulated worlds of 10,000 seeds (FROM=4000 SEEDS=6000 runs others, SEED=... replays one step by step, SAFEGUARDS=1 removes safeguards)
	@cargo build --workspace --all-targets --locked
	@SEEDS="$(or $(SEEDS),10000)" FROM="$(FROM)" SEED="$(SEED)" SAFEGUARDS="$(SAFEGUARDS)" cargo test --locked --workspace --test seeds simulate -- --ignored --nocapture

fuzz: machine-fuzzes ## run each target of tests/fuzz for a minute, guided by coverage (MINUTES=60; TARGET=urls runs one)
	@python3 tests/fuzz/run.py $(TARGET)

fuzz-api: $(VENV)/installed ## send random API requests and check them against openapi.yaml (MINUTES=15; SEED=... repeats a run)
	@cargo build --workspace --bins --locked
	@$(VENV)/bin/python tests/contract/run.py fuzz $(or $(MINUTES),15) $(SEED)

rust-client: $(VENV)/installed ## let the client that progenitor makes from openapi-3.0.yaml call every operation (minutes the first time)
	@cargo build --workspace --bins --locked
	@$(VENV)/bin/python tests/contract/run.py rust

sam: machine-containers $(VENV)/installed ## build a function with SAM for both processors, and run it by `sam local` (ten minutes the first time)
	@$(VENV)/bin/python -m pytest --quiet -p no:cacheprovider tests/sam

mutations: machine-runs ## remove each condition of the store's writes in turn, and list those that no test misses (half an hour; ONLY=leads takes some)
	@cargo build --workspace --all-targets --locked
	@python3 tests/mutations.py $(ONLY)

mutants: machine-runs ## change the rules of shared/domain in small ways, and list the changes that no test finds (hours; needs cargo-mutants)
	@cargo mutants --version >/dev/null 2>&1 || { echo "cargo-mutants is missing: cargo install cargo-mutants --version 27.1.0 --locked"; exit 1; }
	@cargo mutants --package domain --jobs 1 --output "$${CARGO_TARGET_DIR:-target}" $(if $(ONLY),--file "$(ONLY)")

smoke: $(VENV)/installed ## run a deployed stack through its main job and print a verdict (STACK=messaging URL=https://...)
	@$(VENV)/bin/python tests/smoke/smoke.py $(if $(LOCAL),--local "$(LOCAL)",--stack "$(STACK)" --url "$(URL)")

build: $(VENV)/installed ## build all functions as they are shipped, for both processors (ARCHITECTURES=arm64 builds one)
	@for architecture in $(ARCHITECTURES); do \
	  echo "=== $$architecture into .aws-sam/$$architecture"; \
	  $(SAM) build --build-dir .aws-sam/$$architecture --parameter-overrides Architecture=$$architecture || exit 1; \
	done
	@echo "Deploy arm64 with: sam deploy --config-env dev --config-file $(CURDIR)/samconfig.toml --template .aws-sam/arm64/template.yaml"
	@echo "samconfig.toml names the stages. For x86_64, change Architecture in it; otherwise \`sam build\` and \`sam deploy\` disagree."

release: build ## make the files of a release from a build for both processors: zips, templates, checksums, a bill of materials (into release/)
	@$(VENV)/bin/python .ci/release.py

portal: $(PORTAL)/node_modules/installed ## build the document of the portal, functions/portal/pages/index.html, from functions/portal/web (commit both)
	@node $(PORTAL)/build.mjs

engine: $(VENV)/installed ## provide containers for `sam local` without Docker (as root, until Ctrl-C)
	@$(VENV)/bin/python tests/sam/engine.py

numbering: $(VENV)/installed ## write the numbering plans of the newest package; then pin it in tests/requirements.txt and make tests/requirements.lock anew, as that file says
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade phonenumbers
	@$(VENV)/bin/python functions/leads/numbering.py
	@$(VENV)/bin/python functions/leads/numbering.py --check

hooks: $(VENV)/bin/typos ## check format, spelling and message of each commit (prints how to undo it)
	@sh .githooks/install

$(VENV)/installed: tests/requirements.lock | machine-runs
	@echo "Installing SAM, cargo-lambda and the test tools into $(VENV) (about a minute, once)"
	@python3 -m venv --clear $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement tests/requirements.lock
	@touch $@

# Installs only the spelling check, for `make check`. This takes seconds instead of the minute above.
$(VENV)/bin/typos: tests/requirements.lock | machine-runs
	@test -x $(VENV)/bin/python || python3 -m venv $(VENV)
	@awk '/^[a-z]/ {wanted = /^typos==/} wanted' tests/requirements.lock | \
	  $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement /dev/stdin
	@touch $@

$(BROWSER)/node_modules/installed: $(BROWSER)/package.json $(BROWSER)/package-lock.json | machine-tests
	@npm ci --prefix $(BROWSER) --no-audit --no-fund --loglevel=error
	@touch $@

$(PORTAL)/node_modules/installed: $(PORTAL)/package.json $(PORTAL)/package-lock.json | machine-tests
	@npm ci --prefix $(PORTAL) --no-audit --no-fund --loglevel=error
	@touch $@

$(ROTATION)/node_modules/installed: $(ROTATION)/package.json $(ROTATION)/package-lock.json | machine-tests
	@npm ci --prefix $(ROTATION) --no-audit --no-fund --loglevel=error
	@touch $@

$(CLIENTS)/node_modules/installed: $(CLIENTS)/package.json $(CLIENTS)/package-lock.json | machine-tests
	@npm ci --prefix $(CLIENTS) --no-audit --no-fund --loglevel=error
	@touch $@

machine-runs:
	@sh tests/machine/check.sh run

machine-tests:
	@sh tests/machine/check.sh test

machine-fuzzes:
	@sh tests/machine/check.sh fuzz

machine-containers:
	@sh tests/machine/check.sh containers
