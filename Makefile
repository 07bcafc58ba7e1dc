# Two commands do all their own set-up: `make demo` and `make test`.
.PHONY: demo test test-rust lint docs reference readme python bench fuzz reproduce validate clean

PYTHON := .venv/bin/python
# The checks of a change; CI runs the same.
test: lint docs test-rust reference readme python

# Builds the command line and runs the whole job on embedded data.
demo: | toolchain
	cargo run --quiet --locked --profile demo --package consilience-cli -- demo

.PHONY: toolchain
toolchain:
	scripts/setup.sh

# The libraries also compile where addresses have 32 bits.
WITH_32_BITS := test -d "$$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown"
lint: | toolchain
	cargo fmt --all --check
	cargo fetch --locked --quiet
	python3 scripts/check_dependencies.py
	python3 scripts/check_links.py
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --package consilience --no-default-features --locked -- -D warnings
	$(WITH_32_BITS) || rustup target add wasm32-unknown-unknown
	cargo check --package consilience --no-default-features --target wasm32-unknown-unknown --locked

docs: | toolchain
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

test-rust: | toolchain
	cargo test --workspace --locked

# With the tests' features, so that nothing is compiled twice.
PROGRAM := cargo test --quiet --workspace --locked --no-run

# Reference tables and the demo's data are what their recipes make; README outputs are current.
reference: $(PYTHON)
	$(PROGRAM)
	$(PYTHON) scripts/check_generated.py

readme: $(PYTHON)
	$(PROGRAM)
	$(PYTHON) scripts/check_readme.py

# The wheel in a fresh environment, with the two newest minor versions of scikit-learn.
FRESH := .venv-wheel/bin/python
BUILD := $(abspath $(or $(CARGO_TARGET_DIR),target))
CHECK = cd bindings/python && CONSILIENCE_PROGRAM=$(BUILD)/debug/consilience \
	$(abspath $(FRESH)) -m pytest -p no:cacheprovider
# What scikit-learn has no part in is tested once.
APART := $(foreach name,command_line distributions plots,--ignore=tests/test_$(name).py)
python: | toolchain
	$(PROGRAM)
	rm -rf .venv-wheel $(BUILD)/wheels
	python3 -m venv .venv-wheel
	$(FRESH) -m pip install --quiet --requirement bindings/python/requirements.txt
	$(FRESH) -m maturin build --quiet --locked --profile dev --interpreter $(abspath $(FRESH)) \
		--manifest-path bindings/python/Cargo.toml --out $(BUILD)/wheels
	$(FRESH) -m pip install --quiet $(BUILD)/wheels/*.whl
	$(CHECK)
	$(FRESH) -m pip install --quiet "scikit-learn==1.8.*"
	$(CHECK) -k "not TiledCorrelated and not stubs and not terminal" $(APART)

bench: $(PYTHON)
	cargo bench --package consilience
	$(PYTHON) -m pip install --quiet --requirement benches/requirements.txt
	$(PYTHON) benches/fuse_vs_numpy.py
	$(PYTHON) benches/whole_command.py

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
	rm -rf .venv .venv-wheel .venv-validate consilience-demo
