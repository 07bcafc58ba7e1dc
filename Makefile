# Two commands do all their own set-up: `make demo` and `make test`.
.PHONY: demo test instructions test-rust lint docs rustdoc site wheel reference readme python package test-reach test-spark playground test-pages bench fuzz reproduce validate clean

PYTHON := .venv/bin/python
# The checks of a change; CI runs the same. The playground is optimised less, which saves minutes.
test: export PLAYGROUND_PROFILE := demo
test: lint docs test-rust instructions reference readme python package test-reach test-pages

# Builds the command line and runs the whole job on embedded data.
demo: | toolchain
	cargo run --quiet --locked --profile demo --package consilience-cli --no-default-features -- demo

.PHONY: toolchain
toolchain:
	scripts/setup.sh

.PHONY: wasm
wasm: | toolchain
	test -d "$$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" || rustup target add wasm32-unknown-unknown

# The libraries also compile without threads, and where addresses have 32 bits.
lint: | wasm
	cargo fmt --all --check
	cargo fetch --locked --quiet
	python3 scripts/check_dependencies.py
	python3 scripts/check_links.py
	python3 scripts/check_versions.py
	python3 scripts/check_constants.py --list > /dev/null
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --package consilience --package consilience-report --no-default-features \
		--target wasm32-unknown-unknown --locked -- -D warnings

# The Rust pages, and the documentation site with all its code executed: target/site/html/index.html.
docs: rustdoc site

rustdoc: | toolchain
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

SITE := .venv-docs/bin/python
site: rustdoc wheel playground $(SITE)
	$(PROGRAM)
	$(SITE) -m pip install --quiet --force-reinstall --no-deps $(BUILD)/wheels/*.whl
	$(SITE) -m sphinx -W --keep-going -q -E -j auto -d $(BUILD)/site/doctrees docs $(BUILD)/site/html
	@echo "the site is in $(BUILD)/site/html/index.html"

$(SITE): docs/requirements.txt | toolchain
	python3 -m venv .venv-docs
	$(SITE) -m pip install --quiet --requirement docs/requirements.txt
	@touch $(SITE)

test-rust: | toolchain
	cargo test --workspace --locked

# With the tests' features, so that nothing is compiled twice.
PROGRAM := cargo test --quiet --workspace --locked --no-run

# The core computations have not become slower; counts do not depend on what else the machine does.
instructions: | toolchain
	scripts/setup.sh instructions
	$(PROGRAM)
	python3 scripts/check_instructions.py

# Reference tables and the demo's data are what their recipes make; README outputs are current.
reference: $(PYTHON)
	$(PROGRAM)
	$(PYTHON) scripts/check_generated.py

readme: $(PYTHON)
	$(PROGRAM)
	$(PYTHON) scripts/check_readme.py

# The Python package, unoptimised, in target/wheels.
BUILDER := .venv-build/bin/python
wheel: $(BUILDER)
	rm -rf $(BUILD)/wheels
	$(BUILDER) -m maturin build --quiet --locked --profile dev --interpreter $(abspath $(BUILDER)) \
		--manifest-path bindings/python/Cargo.toml --out $(BUILD)/wheels

$(BUILDER): bindings/python/requirements.txt | toolchain
	python3 -m venv .venv-build
	$(BUILDER) -m pip install --quiet "$$(grep maturin bindings/python/requirements.txt)"
	@touch $(BUILDER)

# The wheel in a fresh environment, with the two newest minor versions of scikit-learn.
FRESH := .venv-wheel/bin/python
BUILD := $(abspath $(or $(CARGO_TARGET_DIR),target))
CHECK = cd bindings/python && CONSILIENCE_PROGRAM=$(BUILD)/debug/consilience \
	$(abspath $(FRESH)) -m pytest -p no:cacheprovider
# What scikit-learn has no part in is tested once.
APART := $(foreach name,command_line distributions plots,--ignore=tests/test_$(name).py)
.PHONY: fresh
fresh: wheel
	$(PROGRAM)
	rm -rf .venv-wheel
	python3 -m venv .venv-wheel
	$(FRESH) -m pip install --quiet --requirement bindings/python/requirements.txt
	$(FRESH) -m pip install --quiet $(BUILD)/wheels/*.whl

python: fresh
	$(CHECK)
	$(FRESH) -m pip install --quiet "scikit-learn==1.8.*"
	$(CHECK) -k "not TiledCorrelated and not stubs and not terminal" $(APART)

# Exported models and model stores of other projects: ONNX Runtime, skops and MLflow, with the wheel.
REACH := .venv-reach/bin/python
test-reach: wheel $(REACH)
	$(REACH) -m pip install --quiet --force-reinstall --no-deps $(BUILD)/wheels/*.whl
	cd bindings/python && $(abspath $(REACH)) -m pytest -p no:cacheprovider tests/test_export.py tests/test_registries.py

$(REACH): bindings/python/requirements-reach.txt | toolchain
	python3 -m venv .venv-reach
	$(REACH) -m pip install --quiet --requirement bindings/python/requirements-reach.txt
	@touch $(REACH)

# What a release does: checks of the workflows, crates that compile from what is published, and a source package that
# installs. Dependencies are those that the other targets have compiled. The source package's lock file also names crates
# that are not in it, so that `--locked` would fail; the versions of the others stay as they are. It is unpacked outside
# of the target folder: cargo would take what it compiled from files in there as up to date after any change.
SOURCE := $(abspath .sdist)
package: | toolchain
	test -x $(FRESH) || python3 -m venv .venv-wheel
	$(FRESH) -m pip install --quiet --requirement bindings/python/requirements.txt "zizmor==1.32.*"
	$(FRESH) scripts/check_workflows.py
	python3 scripts/release.py crates
	rm -rf $(SOURCE)
	$(FRESH) -m maturin sdist --manifest-path bindings/python/Cargo.toml --out $(SOURCE)
	mkdir $(SOURCE)/unpacked && tar xzf $(SOURCE)/*.tar.gz --touch --strip-components=1 -C $(SOURCE)/unpacked
	PATH="$(abspath .venv-wheel/bin):$$PATH" CARGO_TARGET_DIR=$(BUILD) $(FRESH) -m pip install --quiet \
		--no-build-isolation --no-deps --force-reinstall --config-settings=build-args="--profile dev" $(SOURCE)/unpacked
	rm -f $(BUILD)/wheels/*-linux_*.whl # which pip has made on its way
	cd $(SOURCE) && $(abspath $(FRESH)) -c "import consilience as cs; \
		X, y = cs.simulate('sim2', correlation=0.5, items_per_class=50, random_state=1); cs.AutoFusion().fit(X, y)"

# The package on Spark (Java is installed if it is missing) and on Sail, with the wheel and the program of `make python`:
# local mode, a master with two workers of which one is killed, and Sail. ROWS=2000000 takes more rows.
ON_SPARK = cd bindings/python && CONSILIENCE_PROGRAM=$(BUILD)/debug/consilience CONSILIENCE_ROWS=$(or $(ROWS),200000)
# The engines' own warnings are no failures.
WITH_ENGINE = -m pytest -p no:cacheprovider -W default tests_spark
test-spark: | toolchain
	scripts/setup.sh java
	$(PROGRAM)
	test -e $(BUILD)/wheels/*.whl || $(MAKE) wheel
	for engine in spark sail; do \
		test -x .venv-$$engine/bin/python || python3 -m venv .venv-$$engine && \
		.venv-$$engine/bin/python -m pip install --quiet --requirement bindings/python/tests_spark/$$engine.txt && \
		.venv-$$engine/bin/python -m pip install --quiet --force-reinstall --no-deps $(BUILD)/wheels/*.whl || exit 1; \
	done
	$(ON_SPARK) CONSILIENCE_ENGINE=sail $(abspath .venv-sail/bin/python) $(WITH_ENGINE)
	$(ON_SPARK) CONSILIENCE_ENGINE=local $(abspath .venv-spark/bin/python) $(WITH_ENGINE)
	$(ON_SPARK) CONSILIENCE_ENGINE=cluster $(abspath .venv-spark/bin/python) $(WITH_ENGINE)

# The library in a page that runs in the browser: playground/dist/index.html.
playground: | wasm
	python3 playground/build.py

# The playground and the report in headless Chromium, with the wheel of `make python`.
test-pages: playground | toolchain
	scripts/setup.sh pages
	test -x $(FRESH) || $(MAKE) fresh
	$(FRESH) -m pip install --quiet --requirement playground/requirements.txt
	CONSILIENCE_PROGRAM=$(BUILD)/debug/consilience $(FRESH) -m pytest -p no:cacheprovider playground
	$(CHECK) tests/test_report_page.py

# Every figure of speed that the documentation claims, into experiments/speed; `make bench PART="rows memory"` runs parts,
# and `make bench BASE=main~5` measures the program of that commit beside this one.
BENCH := .venv-bench/bin/python
bench: $(BUILDER) | toolchain
	scripts/setup.sh instructions
	cargo build --release --locked --package consilience-cli
	cargo build --locked --package consilience-lab
	rm -rf $(BUILD)/wheels-release
	$(BUILDER) -m maturin build --quiet --locked --release --interpreter $(abspath $(BUILDER)) \
		--manifest-path bindings/python/Cargo.toml --out $(BUILD)/wheels-release
	test -x $(BENCH) || python3 -m venv .venv-bench
	$(BENCH) -m pip install --quiet --requirement benches/requirements.txt
	$(BENCH) -m pip install --quiet --force-reinstall --no-deps $(BUILD)/wheels-release/*.whl
	BASE=$(BASE) $(BENCH) benches/bench.py $(PART)

# Arbitrary bytes as tables and models, SECONDS for each target: `make fuzz SECONDS=600 TARGET=csv`, or all targets.
fuzz: | toolchain
	scripts/fuzz.sh $(or $(SECONDS),600) $(TARGET)

# The paper's evaluation, about 12 minutes of processor time. The real data sets come from CONSILIENCE_DATA; without them
# only the simulated sets are run. `make validate PART=reproduce` updates experiments/reproduce.
reproduce: | toolchain
	cargo run --release --locked --package consilience-lab -- reproduce \
		--output $(BUILD)/reproduce/$$(git rev-parse --short HEAD)

# The slow tests, and every committed table that depends on slow computations: about seven hours of processor time.
# `make validate PART=cost` runs one part, `scripts/validate.py --list` lists them with their times.
validate: | toolchain
	python3 scripts/validate.py $(PART)

$(PYTHON): reference/requirements.txt | toolchain
	python3 -m venv .venv
	$(PYTHON) -m pip install --quiet --requirement reference/requirements.txt
	@touch $(PYTHON)

clean:
	cargo clean
	rm -rf .venv .venv-* .sdist docs/reference/api consilience-demo
