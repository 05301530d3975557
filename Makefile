# `make` and `make help` print the targets: the text behind `##` is what help says.
.PHONY: help run quick docs figures site site-env reference test test-rust build-tests used-by-suites python-tests tables-tests doctests tools web python wheel binary golden instructions records tables interop apps paths qos lab pacing soak bench lint audit faults fuzz comparison release deb try-deb
.DEFAULT_GOAL := help

TARGET := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
# The Python that the tests of the package run in.
PYTHON_ENV := $(TARGET)/python
# The binary that the suites in Python and the browser run: WEIR=path, or else the release, which is built for them.
ifdef WEIR
binary:
else
WEIR := $(TARGET)/release/weir
binary:
	cargo build --release -p weir
endif
export WEIR

help: ## print the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | sort | while IFS="$$(printf '\t')" read -r target what; do \
	  printf '%-11s %s\n' "$$target" "$$what"; done

run: ## run a first simulation, qsccp/dumbbell, and write its report
	cargo run --release -- run qsccp/dumbbell

# For daily work: target/debug/weir, soon built again after a change, from what the tests are built with. Its runs take a
# quarter longer than those of the release.
quick: ## build target/debug/weir for daily work
	cargo build --profile test

# Everything that is tested, with what the tests need. The suites run the binary that the tests in Rust were built with:
# that checks more than a release does, and nothing is compiled twice.
test: test-rust doctests tools ## run every test
	$(MAKE) site tables python web interop apps qos lab WEIR=$(TARGET)/debug/weir

# The programs of the tests; `make lint` compiles the other examples and the benchmarks.
RUST_TESTS = --workspace --all-features --tests
# What the suites in Python and in the browser use besides the command: the Python module, and programs that write samples.
# With the packages and features of the tests, so that nothing is compiled twice.
USED_BY_SUITES = --profile test --workspace --all-features --lib --example sample_report --example sample_study

# More threads than processors: half of the tests wait for timeouts and peers most of the time.
test-rust: used-by-suites ## run the tests in Rust
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-4} cargo test $(RUST_TESTS)

# MESSAGES=--message-format=json tells where the programs are.
build-tests: used-by-suites
	cargo test $(RUST_TESTS) --no-run $(MESSAGES)

used-by-suites:
	cargo build $(USED_BY_SUITES)
	ln -sf $(TARGET)/debug/lib_native.so python/weir/_native.abi3.so

# The examples in the documentation of the code.
doctests:
	cargo test --workspace --all-features --doc

# Other people's software that the tests need.
tools: $(PYTHON_ENV)/installed site-env ## install the other software that the tests need
	sh web/install-test-tools.sh
	sh tests/interop/install.sh
	sh tests/tables/install.sh

# The pages, in a browser.
web: binary ## test the pages in a browser
	sh web/install-test-tools.sh
	cd web && npm run check && npm run check-bundle
	$(WEIR) run qsccp/dumbbell --out target/report-under-test
	cd web && WEIR_REPORT=../target/report-under-test/report.html WEIR_SAMPLE_REPORT=$(abspath $(dir $(WEIR))examples/sample_report) npm test

# The Python package, around the module that is built from what the tests in Rust are built with.
$(PYTHON_ENV)/installed: python/requirements-test.txt
	python3 -m venv $(PYTHON_ENV)
	$(PYTHON_ENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

python: used-by-suites $(PYTHON_ENV)/installed python-tests ## test the Python package; installs what it needs in target/python

python-tests:
	PYTHONPATH=$(CURDIR)/python $(PYTHON_ENV)/bin/python -m pytest

# For all Linux systems of the last ten years, and all versions of Python from 3.10 on. Zig links it with their old C library.
wheel: ## build a Python wheel for Linux in target/wheels
	python3 -m venv $(TARGET)/wheel-env
	$(TARGET)/wheel-env/bin/pip install --quiet --disable-pip-version-check 'maturin[zig]>=1.9,<2'
	PATH=$(TARGET)/wheel-env/bin:$$PATH maturin build --release --zig --compatibility manylinux2014 --out $(TARGET)/wheels

# The parts of documents that the code has, and the table of the interoperability tests.
reference: ## write the parts of documents that are generated
	cargo xtask docs
	sh tests/interop/install.sh
	tests/interop/peers/python/bin/python tests/interop/run.py --write-table

# The documentation as pages that open from a folder: target/site/index.html. It fails at a link or a file that leads nowhere.
# `make site` leaves out the documentation of the code in Rust, which takes minutes to compile.
SITE := $(TARGET)/site
SITE_ENV := $(TARGET)/site-env
docs: used-by-suites site ## build the site of the documentation in target/site
	cargo doc --workspace --no-deps --all-features --quiet
	rm -rf $(SITE)/api/rust
	cp -r $(TARGET)/doc $(SITE)/api/rust
	@# What the page about the API in Rust leads to.
	grep -o 'rust/[a-z_]*/index.html' docs/api/rust.md | while read -r page; do test -f $(SITE)/api/$$page || { echo "docs/api/rust.md: no $$page"; exit 1; }; done
	@echo $(SITE)/index.html

site: site-env
	PATH=$(SITE_ENV)/bin:$$PATH NO_MKDOCS_2_WARNING=1 SITE_LIBRARIES=$(SITE_ENV)/libraries mkdocs build --clean --site-dir $(SITE)

# The figures of results in the documentation, drawn by Weir.
FIGURES = docs/figures
figures: binary ## draw the figures of the documentation again
	rm -rf $(TARGET)/figures && mkdir -p $(TARGET)/figures
	awk '/<!-- file: home.toml -->/ { found = 1 } found && /^```$$/ { exit } found && n++ > 1' docs/guide/scenario.md > $(TARGET)/figures/home.toml
	cd $(TARGET)/figures && $(abspath $(WEIR)) run qsccp/dumbbell --out dumbbell > run.txt && $(abspath $(WEIR)) run home.toml --out home > home.txt
	cd $(TARGET)/figures && $(abspath $(WEIR)) sweep examples/minimal --vary link.alice-bob.loss=0.0001,0.001,0.01,0.05 \
	  --schemes reno,cubic,bbr,pcon --seeds 5 --out sweep > sweep.txt
	cd $(TARGET)/figures && $(abspath $(WEIR)) compare qsccp/dumbbell --schemes qsccp,sluice,pcon,cubic,bbr --seeds 5 \
	  --set defaults.flow.start_jitter=20ms --set duration=30s --out compare > compare.txt
	$(WEIR) plot $(TARGET)/figures/dumbbell --metric goodput --columns 2 -o $(FIGURES)/dumbbell-goodput.svg
	$(WEIR) plot $(TARGET)/figures/dumbbell --what topology -o $(FIGURES)/topology.svg
	$(WEIR) plot $(TARGET)/figures/home --metric goodput --columns 2 -o $(FIGURES)/home-goodput.svg
	$(WEIR) plot $(TARGET)/figures/sweep --log x -o $(FIGURES)/sweep.svg
	$(WEIR) plot $(TARGET)/figures/compare --columns 2 -o $(FIGURES)/compare.svg

# The generator of the site, and the libraries that its pages load: without npm, browsers load these from the network.
LIBRARIES = mermaid@11.17.0 iframe-worker@1.0.4
site-env: $(SITE_ENV)/installed
$(SITE_ENV)/installed: docs/site/requirements.txt
	python3 -m venv $(SITE_ENV)
	$(SITE_ENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	for library in $(LIBRARIES); do \
	  folder=$(SITE_ENV)/libraries/$${library%@*} && mkdir -p $$folder && \
	  npm pack --silent --pack-destination $$folder $$library && tar xzf $$folder/*.tgz -C $$folder --strip-components 1 || true; done
	touch $@

# The main figures of every scheme on every built-in scenario; half a minute.
golden: ## write the golden tables anew
	cargo xtask golden

# The gate of speed: instructions of a packet-hop, in the build of .ci/run. WEIR=path is such a build.
instructions: ## count the instructions of a packet-hop into their golden table
ifeq ($(origin WEIR),command line)
	cargo xtask instructions
else
	. .ci/flags && CARGO_TARGET_DIR=$(TARGET)/instructions cargo build --profile test --package weir --all-features
	WEIR=$(TARGET)/instructions/debug/weir cargo xtask instructions
endif

# What weir reproduce says of QSCCP, into a table that its page is made of; takes some minutes.
SEEDS = 10
RECORDED = dumbbell tree diamond-bandwidth diamond-latency cache multiaccess abilene-single abilene-multipath geant
records: ## write the table of weir reproduce qsccp anew; takes minutes
	cargo run --release -- reproduce $(RECORDED:%=qsccp/%) --scheme qsccp --seeds $(SEEDS) --json > target/reproduce.json
	cargo xtask records target/reproduce.json

# The tables of a study in other people's software.
tables: used-by-suites ## read the tables of a study in polars and DuckDB
	sh tests/tables/install.sh
	$(MAKE) tables-tests

tables-tests:
	tests/tables/python/bin/python tests/tables/test_tables.py $(TARGET)/debug/examples/sample_study

# The forwarder among other people's software.
interop: binary ## test the forwarder with other NDN software
	sh tests/interop/install.sh
	tests/interop/peers/python/bin/python tests/interop/run.py
	python3 tests/lab/test_mixed.py

# Files over bad, slow and fast links; APPS=test_robust is a part of them. WEIR_FULL=1 has a gigabyte, and half a minute without a link.
apps: binary ## test fetching and publishing over bad, slow and fast links
	python3 tests/apps/run.py $(APPS)

# What schemes and other software get of paths as the Internet has them: the table of docs/reference/paths.md, at most 15
# minutes. CASE="1 % lost: bbr" prints the rows whose names have all these words. RUNS=3 has the median of three runs.
RUNS = 1
paths: binary ## measure schemes on paths of the Internet; takes 15 minutes
	python3 tests/apps/paths.py --runs $(RUNS) $(if $(CASE),--case "$(CASE)",--write)

# Networks of forwarders in namespaces, however they end; says SKIP where it may not make them. LAB=test_ends is a part.
lab: binary ## test weir lab: results, and that nothing stays behind
	python3 tests/lab/run.py $(LAB)

# Classes on real forwarders in network namespaces beside the simulator; says SKIP where it may not make them.
qos: binary ## compare classes on real forwarders with the simulator
	python3 tests/qos/qos.py
	python3 tests/qos/sluice.py

# How well faces keep their rates, and window laws on real sockets: what docs/reference/forwarding.md says of them. It wants the
# processors to itself, and the release.
pacing: binary ## measure how well faces keep their rates
	python3 tests/qos/pacing.py
	python3 tests/qos/windows.py

# Mixed load on forwarders for ten minutes, or FOR=3600 seconds: nothing may grow, get lost or stay behind.
soak: FOR = 600
soak: binary ## load forwarders for ten minutes, or FOR=3600 seconds
	python3 tests/soak/soak.py $(FOR)

lint: ## check format, lints and documentation of the code
	cargo fmt --all --check
	@# Two workspaces of their own, whose lock files are taken as they are.
	cargo metadata --manifest-path fuzz/Cargo.toml --locked --format-version 1 > /dev/null
	cargo metadata --manifest-path web/figure/Cargo.toml --locked --format-version 1 > /dev/null
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features --quiet

# Licences, sources and known vulnerabilities of all that Weir is built with; needs the network.
audit: ## check licences and known vulnerabilities; needs the network
	command -v cargo-deny > /dev/null || cargo install --locked cargo-deny
	cargo deny --manifest-path Cargo.toml check
	cargo deny --manifest-path fuzz/Cargo.toml --config deny.toml check
	cd web && npm audit

# Static programs for x86-64 and aarch64, Python wheels, the Debian package, the container file and checksums, in target/dist.
release: ## make everything of a release in target/dist; takes half an hour
	sh packaging/release.sh

# A Debian package, in target/dist. try-deb installs it into a clean Debian, which it makes as root with mmdebstrap.
deb: ## make a Debian package in target/dist; installs cargo-deb if it is missing
	command -v cargo-deb > /dev/null || cargo install --locked cargo-deb
	sh packaging/deb.sh
try-deb: deb ## try the package in a clean Debian; needs root and mmdebstrap
	sh packaging/try-deb.sh target/dist/weir_*.deb

# Every scheme on every experiment: of QSCCP's paper with more seeds and in detail, then of every paper, into the data of the two
# pages that show it; about half an hour on two processors. What was stopped goes on where it was. `cargo xtask publish` takes
# parts of it too, such as one scheme or two scenarios: the page is the one that has these seeds.
comparison: ## run every scheme on every experiment; takes half an hour
	cargo run --release -- compare qsccp --schemes all --seeds 10 --out target/comparison > target/comparison.txt
	cargo run --release -- compare --all --seeds 3 --out target/matrix > target/matrix.txt
	cargo xtask publish target/comparison target/matrix

bench: ## run the benchmarks
	cargo bench -p weir-core --bench tables
	cargo bench -p weir-schemes --bench scheduler
	cargo bench -p weir-sim --bench engine
	cargo build --release
	cargo build --release -p weir-forwarder --example latency
	python3 tests/bench/forwarder.py --weir target/release/weir --latency target/release/examples/latency --ndnbench ../shared/tools/ndnbench.c $(if $(NDND),--ndnd $(NDND))
	python3 tests/bench/memory.py --weir target/release/weir
	python3 tests/bench/routes.py --weir target/release/weir
	python3 tests/bench/publish.py --weir target/release/weir
	python3 tests/bench/fetch.py --weir target/release/weir $(if $(NDND),--ndnd $(NDND))

# Whole forwarders under faults, on simulated sockets and time: a thousand seeds, or SEEDS=n.
faults: SEEDS = 1000
faults: ## run forwarders under faults: a thousand seeds, or SEEDS=n
	WEIR_SEEDS=$(SEEDS) cargo test -p weir-forwarder --test suite faults::

# A minute of each fuzz target, or FOR=3600 seconds; fuzz/run says what it needs and what it keeps.
fuzz: FOR = 60
fuzz: ## fuzz for a minute each target, or FOR=3600 seconds
	fuzz/run -t $(FOR)
