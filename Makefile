# Every target makes its own virtual environment and installs what it needs: `make demo` and `make test` on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
STAMP := $(VENV)/installed

.PHONY: demo test coverage slow fuzz check format bench peers docs site pages release clean

demo: $(STAMP)-all
	$(BIN)/plefka demo --out demo --force

# One process more than the two cores that there are at least: many tests wait for a browser or a service.
test: $(STAMP)-test
	$(BIN)/python -m pytest -n 3 --ignore docs/tutorials --ignore tests/documentation

# Which lines of src the tests run, those of commands and workers in other processes too; below 96 % it fails.
coverage: $(STAMP)-coverage
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term --ignore docs/tutorials --ignore tests/documentation

# What is left out of `make test` for time.
slow: $(STAMP)-test
	$(BIN)/python -m pytest -n 2 -m slow tests

# Random networks, evidence and methods beside the truth, with a new seed unless SEED is given; docs/fuzz.md.
SECONDS ?= 60
fuzz: $(STAMP)-test
	XLA_FLAGS="$$($(BIN)/python -c 'from plefka.runtime.program_cache import COMPILE_FAST; print(COMPILE_FAST)')" \
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(CASES),--cases $(CASES)) $(if $(OUT),--out $(OUT))

check: $(STAMP)-check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

format: $(STAMP)-check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)-check
	$(BIN)/python -m benchmarks --out benchmarks/results

# Other libraries, which are large, in an environment of their own.
peers:
	test -x $(VENV)-peers/bin/python || $(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --editable ".[all]" --requirement benchmarks/peers/requirements.txt
	$(VENV)-peers/bin/python -m benchmarks peers --out benchmarks/results

# Everything that the documentation claims to do: the tutorials, which train networks, and the site.
docs: site
	$(BIN)/python -m pytest -n 2 docs/tutorials

# Runs the notebooks, builds the pages, where a warning is an error, and tests them in a browser, if there is one.
site: $(STAMP)-test $(STAMP)-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	PLEFKA_SITE=site $(BIN)/python -m pytest -n 2 tests/documentation

pages: $(STAMP)-check
	$(BIN)/plefka reproduce --redraw --out results
	$(BIN)/python -m plefka.paper.pages results README.md docs/reproduction.md docs/series.md docs/misprints.md docs/learning.md
	$(BIN)/python -m plefka.paper.pages results/methods docs/choosing.md

# The source distribution and the wheel in dist/; the wheel is installed in an empty environment, and the demo run from there.
release: $(STAMP)-release
	rm -rf dist $(VENV)-wheel
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m tests.wheel dist
	$(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$$(ls dist/*.whl)[all]"
	cd dist && $(abspath $(VENV))-wheel/bin/plefka demo --out demo

clean:
	rm -rf $(VENV) $(VENV)-peers $(VENV)-wheel dist demo site .pytest_cache .hypothesis .ruff_cache

$(STAMP)-%: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[$*]"
	touch $@
