# Two commands do all their own set-up: `make demo` and `make test`.
.PHONY: demo test test-rust lint docs reference readme bench clean

PYTHON := .venv/bin/python
# The checks of a change; CI runs the same.
test: lint docs test-rust reference readme

# Builds the command line and runs the whole job on embedded data.
demo: | toolchain
	cargo run --quiet --locked --profile demo --package consilience-cli -- demo

.PHONY: toolchain
toolchain:
	scripts/setup.sh

lint: | toolchain
	cargo fmt --all --check
	cargo fetch --locked --quiet
	python3 scripts/check_dependencies.py
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --package consilience --no-default-features --locked -- -D warnings

docs: | toolchain
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

test-rust: | toolchain
	cargo test --workspace --locked

# Reference tables and the demo's data are what their recipes make; README outputs are current.
reference: $(PYTHON)
	$(PYTHON) scripts/check_generated.py

readme: $(PYTHON)
	cargo build --quiet --locked --package consilience-cli
	$(PYTHON) scripts/check_readme.py

bench: $(PYTHON)
	cargo bench --package consilience
	$(PYTHON) -m pip install --quiet --requirement benches/requirements.txt
	$(PYTHON) benches/fuse_vs_numpy.py
	$(PYTHON) benches/whole_command.py

$(PYTHON): reference/requirements.txt | toolchain
	python3 -m venv .venv
	$(PYTHON) -m pip install --quiet --requirement reference/requirements.txt
	@touch $(PYTHON)

clean:
	cargo clean
	rm -rf .venv consilience-demo
