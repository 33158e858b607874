# Two commands are all a newcomer needs: `make run` and `make test`. `make help` lists the rest.

SHELL := /bin/sh
.DEFAULT_GOAL := help

BIND ?= 127.0.0.1:8080
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
CARGO ?= cargo
# Cargo's own variable is honoured, so that several checkouts can share one.
TARGET := $(or $(CARGO_TARGET_DIR),target)
RELEASE := $(TARGET)/release
MSRV := $(shell sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)

# Tests open ten thousand connections to a server in their own process.
FILES := ulimit -n "$$(ulimit -Hn)" 2>/dev/null || true;

.PHONY: help
help: ## Show this list
	@echo "make TARGET [NAME=value]"
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) \
	  | awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'

.PHONY: tools
tools:
	@scripts/need --toolchain
	@scripts/need cc

.PHONY: build
build: tools ## Build the stepwell command, optimised
	$(CARGO) build --release --locked -p stepwell-cli

.PHONY: run
run: build ## Build and start the demo application on http://127.0.0.1:8080 (BIND=)
	@$(FILES) exec $(RELEASE)/stepwell demo --bind $(BIND)

.PHONY: check
check: tools fmt clippy tidy ## Format, clippy with warnings denied, tidy

.PHONY: fmt
fmt:
	$(CARGO) fmt --all --check

.PHONY: clippy
clippy:
	$(CARGO) clippy --workspace --all-targets --locked --quiet -- -D warnings

.PHONY: tidy
tidy:
	$(CARGO) xtask tidy

.PHONY: test
test: tools clients check ## Everything that CI checks
	@$(MAKE) --no-print-directory unit doc loom conformance interop msrv
	@echo "make test: all of it passed"

# The interop and browser tests use these, and leave out what cannot be had.
.PHONY: clients
clients:
	@scripts/need --optional curl python3 node go chromedriver

.PHONY: unit
unit: tools ## Only the tests of the workspace
	@$(FILES) $(CARGO) test --workspace --locked

.PHONY: doc
doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet \
	  --exclude stepwell-cli --exclude xtask

.PHONY: loom
loom: tools ## Model-check the hand-off slot and the mailbox
	@if [ -e crates/reactor/tests/loom.rs ]; then \
	  RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$(TARGET)/loom \
	  $(CARGO) test --locked -p stepwell-reactor --release --test loom; \
	else echo "loom: crates/reactor/tests/loom.rs is missing" >&2; exit 1; fi

.PHONY: conformance
conformance: tools ## Probe a running server with the HTTP/1.1 conformance suite
	@scripts/need python3
	$(CARGO) build --locked --quiet -p stepwell --example conformance
	python3 conformance/http11/run.py $(TARGET)/debug/examples/conformance

.PHONY: interop
interop: tools clients ## Let curl, Python, Node and Go talk to the examples
	tests/interop/run

# The oldest Rust we promise to build with; left out, loudly, where it cannot be installed.
.PHONY: msrv
msrv: tools
	@if rustup run $(MSRV) cargo --version >/dev/null 2>&1 \
	  || rustup toolchain install $(MSRV) --profile minimal </dev/null; then \
	  echo "msrv: cargo check with Rust $(MSRV)"; \
	  CARGO_TARGET_DIR=$(TARGET)/msrv RUSTUP_TOOLCHAIN=$(MSRV) \
	  $(CARGO) check --workspace --locked --quiet; \
	else echo "msrv: NO Rust $(MSRV): this check is left out" >&2; fi

.PHONY: bench
bench: tools ## Measure against the peers, side by side (a few minutes)
	bench/run

.PHONY: fuzz
fuzz: tools ## Fuzz every target for SECONDS=60 (installs cargo-fuzz and nightly Rust)
	scripts/fuzz $(SECONDS)

.PHONY: soak
soak: tools ## Mixed handlers and misbehaving clients for SECONDS=60
	@$(FILES) STEPWELL_SOAK_SECONDS=$(SECONDS) CARGO_PROFILE_RELEASE_LTO=off \
	  $(CARGO) test --locked --release -p stepwell-reactor -p stepwell soak \
	  -- --nocapture --test-threads=1

.PHONY: install
install: build ## Install the command below PREFIX=/usr/local (DESTDIR= for packaging)
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/doc/stepwell"
	install -m 755 $(RELEASE)/stepwell "$(DESTDIR)$(PREFIX)/bin/stepwell"
	install -m 644 README.md CHANGELOG.md LICENSE LICENSE-MIT LICENSE-APACHE \
	  "$(DESTDIR)$(PREFIX)/share/doc/stepwell"

.PHONY: clean
clean: ## Remove what was built
	$(CARGO) clean
	rm -rf fuzz/target bench/target
