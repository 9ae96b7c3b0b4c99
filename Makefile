# The commands of this repository; `make help` lists them.

VENV := .venv
# SAM finds cargo-lambda and zig in the environment of the first python3.
SAM := PATH="$(CURDIR)/$(VENV)/bin:$$PATH" SAM_CLI_TELEMETRY=0 $(VENV)/bin/sam
ARCHITECTURES ?= x86_64 arm64
BROWSER := tests/browser
ROTATION := tests/rotation

.DEFAULT_GOAL := help
.PHONY: help run check test bench soak fuzz build engine python-is-there browser-is-there receivers-are-there

help: ## this list
	@echo "make <target>:"
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

run: python-is-there ## the whole service on this machine, until Ctrl-C (PORT=9000 for other ports)
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust with rustup (https://rustup.rs)."; exit 1; }
	@cargo build --locked --workspace --bins
	@exec target/debug/local run --no-build

check: python-is-there ## format, lints and the tests of the crates
	@python3 tests/run.py check

test: browser-is-there receivers-are-there $(VENV)/installed $(BROWSER)/node_modules/installed $(ROTATION)/node_modules/installed ## everything: also the whole stack, a browser, the template, SAM
	@python3 tests/run.py test

bench: ## what functions, reads and deliveries cost, as tables (builds first; then about ten minutes)
	@for function in floor $(notdir $(wildcard functions/*)); do \
	  echo "=== $$function, as it is shipped"; \
	  cargo build --quiet --locked --release --package $$function || exit 1; \
	done
	@cargo build --quiet --locked --profile measuring --package bench --examples
	@for table in reads functions deliveries; do "$${CARGO_TARGET_DIR:-target}"/measuring/examples/$$table || exit 1; done

soak: $(VENV)/installed ## a thousand leads while senders are killed, and tasks lost and repeated
	@cargo build --workspace --all-targets --locked
	@SOAK_LEADS=1000 cargo test --locked --package stack-tests --test whole leads_outlive

fuzz: $(VENV)/installed ## the API asked at random against openapi.yaml for a while (MINUTES=15, SEED=... for the same again)
	@cargo build --workspace --bins --locked
	@$(VENV)/bin/python tests/contract/run.py fuzz $(or $(MINUTES),15) $(SEED)

build: $(VENV)/installed ## all functions as they are shipped, for both processors (ARCHITECTURES=arm64 for one)
	@for architecture in $(ARCHITECTURES); do \
	  echo "=== $$architecture into .aws-sam/$$architecture"; \
	  $(SAM) build --build-dir .aws-sam/$$architecture --parameter-overrides Architecture=$$architecture || exit 1; \
	done
	@echo "Deploy with: sam deploy --guided --template .aws-sam/<processor>/template.yaml --parameter-overrides Architecture=<processor>"

engine: $(VENV)/installed ## containers for sam local where Docker is not (root; until Ctrl-C)
	@$(VENV)/bin/python tests/sam/engine.py

$(VENV)/installed: tests/requirements.txt tests/constraints.txt | python-is-there
	@echo "Installing SAM, cargo-lambda and the test tools into $(VENV) (about a minute, once)"
	@python3 -m venv --clear $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/requirements.txt --constraint tests/constraints.txt
	@touch $@

$(BROWSER)/node_modules/installed: $(BROWSER)/package.json $(BROWSER)/package-lock.json | browser-is-there
	@npm ci --prefix $(BROWSER) --no-audit --no-fund --loglevel=error
	@touch $@

$(ROTATION)/node_modules/installed: $(ROTATION)/package.json $(ROTATION)/package-lock.json | browser-is-there
	@npm ci --prefix $(ROTATION) --no-audit --no-fund --loglevel=error
	@touch $@

browser-is-there:
	@node -e 'process.exit(Number(parseInt(process.versions.node) < 18))' 2>/dev/null \
	  || { echo "node is missing or too old: install Node.js 18 or later (Debian: apt-get install nodejs)."; exit 1; }
	@command -v npm >/dev/null || { echo "npm is missing: install it (Debian: apt-get install npm)."; exit 1; }
	@node $(BROWSER)/chromium.js >/dev/null

receivers-are-there:
	@php -r 'exit((int) (PHP_VERSION_ID < 80000));' 2>/dev/null \
	  || { echo "php is missing or too old: install PHP 8.0 or later (Debian: apt-get install php-cli)."; exit 1; }
	@ruby -e 'exit RUBY_VERSION.to_i >= 3' 2>/dev/null \
	  || { echo "ruby is missing or too old: install Ruby 3.0 or later (Debian: apt-get install ruby)."; exit 1; }

python-is-there:
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "python3 is missing or too old: install Python 3.11 or later."; exit 1; }
	@python3 -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "python3 cannot make virtual environments: install its venv module (Debian: apt-get install python3-venv)."; exit 1; }
