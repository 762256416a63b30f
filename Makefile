# Basalt's commands. Each one installs what it needs first.
#
#   make run         build everything (release) and serve it
#   make dev         the same with hot reload: debug build, Vite's dev server behind the same port
#   make test        every test: Rust, client, integration, browser; PARTS="server client" for some (scripts/test)
#   make lint        rustfmt, clippy, what documents name, files of deploy/, eslint, prettier, tsc;
#                    lint-server is the first two, lint-files the others; lint-docs is rustdoc
#   make audit       the dependencies: unused ones, licences, sources, and known vulnerabilities, which needs github.com
#   make soak        longer checks: the differential run against PostgREST, five minutes of fuzzing
#   make cluster     the production shape on this machine: Postgres with two standbys, NATS, an S3 store, two nodes, HAProxy
#   make test-cluster  its tests, and how it responds while each part of it is killed
#   make test-backup  the drill of backups: writes while everything is killed, and restores that are compared with them; then
#                    what backups cost. PARTS="folder s3 disks silent figures" for some
#   make conformance  the conformance kit, with a report in target/conformance.html; BINARY=... for another program
#   make upstream    the conformance kit against upstream's own services, as far as they are there
#   make bench       the load tests; needs a quiet machine
#   make packages    what is released, in target/packages: an archive, npm packages, on Debian a Debian package
#   make test-packages  from an empty folder to the first row with them; BINARY=... for another program
#   make image       the container images basalt and terrace, with docker, podman or buildah
#   make extensions  pgvector, pgmq, PostGIS, pgTAP and more for the embedded Postgres, as far as they are available for
#                    this machine; run, dev and test add the small ones, too, and continue without them

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO_TARGET_DIR ?= target
RELEASE := $(CARGO_TARGET_DIR)/release/basalt
# As it is published: with the profile dist of Cargo.toml.
DIST := $(CARGO_TARGET_DIR)/dist/basalt
DEBUG := $(CARGO_TARGET_DIR)/debug/basalt
PACKAGES := $(CARGO_TARGET_DIR)/packages
# The program for test-packages, if not a release, and for conformance, if not a debug build.
BINARY ?=
# The parts of the tests to run, all by default.
PARTS ?=
SERVE ?=
CLIPPY ?= cargo clippy --locked --workspace --all-targets -- -D warnings

client_sources := $(shell find client functions/_shared -type f -not -path '*/node_modules/*' -not -path '*/dist/*' 2>/dev/null)

.PHONY: help run dev test lint lint-server lint-files lint-docs audit soak cluster test-cluster cluster-tools test-backup conformance \
        upstream bench image packages test-packages extensions optional-extensions tools test-tools

help:
	@sed -n 's/^#   //p' Makefile

tools:
	@scripts/require cargo node npm

test-tools: tools
	@scripts/require-test-tools

node_modules/.package-lock.json: package.json package-lock.json client/package.json tests/package.json | tools
	@echo "Installing the npm packages …"
	@npm ci --no-fund --no-audit --ignore-scripts
	@touch $@

tests/python/.venv/pyvenv.cfg: tests/python/requirements.txt | test-tools
	@echo "Installing the Python clients …"
	@python3 -m venv --clear tests/python/.venv
	@tests/python/.venv/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

image:
	@scripts/image

extensions: node_modules/.package-lock.json
	@scripts/extensions

optional-extensions: node_modules/.package-lock.json
	@scripts/extensions --optional

client/dist/index.html: node_modules/.package-lock.json $(client_sources)
	@echo "Building the client …"
	@npm run --silent build -w client

run: client/dist/index.html optional-extensions
	@echo "Building the server (release) …"
	@cargo build --locked --release -p basalt
	@exec $(RELEASE) serve --any-port $(SERVE)

dev: node_modules/.package-lock.json optional-extensions
	@cargo build --locked -p basalt
	@scripts/dev $(DEBUG) $(SERVE)

test: test-tools client/dist/index.html tests/python/.venv/pyvenv.cfg optional-extensions
	@scripts/test $(PARTS)

lint: lint-server lint-files

lint-server: tools
	cargo fmt --all --check
	$(CLIPPY)

lint-files: node_modules/.package-lock.json
	node scripts/check-test-names.mjs docs/security.md
	node scripts/check-links.mjs
	node scripts/check-deploy.mjs
	npm run --silent lint

# It compiles the dependencies for this alone.
lint-docs: tools
	RUSTDOCFLAGS='-D warnings -A rustdoc::private_intra_doc_links' cargo doc --locked --workspace --no-deps --document-private-items

audit: tools
	@scripts/check-dependencies

soak: test-tools
	@cargo build --locked -p basalt
	@scripts/soak $(DEBUG)

cluster-tools: tools node_modules/.package-lock.json
	@scripts/require-test-tools cluster

cluster: cluster-tools client/dist/index.html
	@cargo build --locked -p basalt
	@BASALT_BINARY=$(DEBUG) exec node tests/cluster/run.mjs

test-cluster: cluster-tools client/dist/index.html
	@cargo build --locked -p basalt
	@BASALT_BINARY=$(realpath .)/$(DEBUG) npm run --silent cluster -w @basalt/tests

test-backup: tools node_modules/.package-lock.json
	@scripts/require-test-tools backup
	@cargo build --locked -p basalt
	@BASALT_BINARY=$(realpath .)/$(DEBUG) npm run --silent backup -w @basalt/tests -- $(PARTS)

conformance: optional-extensions
	@$(if $(BINARY),,cargo build --locked -p basalt)
	@mkdir -p target
	@BASALT_BINARY=$$(realpath $(or $(BINARY),$(DEBUG))) \
	  npm run --silent conformance -w @basalt/tests -- --html ../target/conformance.html

upstream: node_modules/.package-lock.json
	@tests/upstream/run

bench: test-tools client/dist/index.html
	@cargo build --locked --profile dist -p basalt -p load -p bare -p sockets
	@bench/run $(DIST)

# Without the site of this repository, which is no part of others' projects.
packages: tools
	@echo "Building the server (dist) …"
	@BASALT_EMBED_SITE=0 cargo build --locked --profile dist -p basalt
	@scripts/package $(DIST) $(PACKAGES)

test-packages: $(if $(BINARY),,packages)
	@$(if $(BINARY),scripts/package $(BINARY) $(PACKAGES))
	@node packages/first-row.mjs $(PACKAGES)
