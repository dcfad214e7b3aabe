# Each target sets up all it needs: a virtual environment in .venv with adaptag built into it.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml CMakeLists.txt $(wildcard cpp/* cpp/trainers/*)

.PHONY: demo test lint format bench bench-all results docs wheel clean

demo: .venv/.built
	$(BIN)/adaptag demo

test: .venv/.test
	$(BIN)/python -m pytest

lint: .venv/.lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(wildcard cpp/*.?pp cpp/trainers/*.hpp)
	$(BIN)/lint-imports

format: .venv/.lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(wildcard cpp/*.?pp cpp/trainers/*.hpp)

bench: .venv/.built
	$(BIN)/python benchmarks/conll2000.py
	$(BIN)/python benchmarks/scaling.py

bench-all: bench .venv/.batch
	$(BIN)/python benchmarks/per_pass.py
	$(BIN)/python benchmarks/pos.py
	$(BIN)/python benchmarks/segmentation_speed.py
	$(BIN)/python benchmarks/documents.py
	$(BIN)/python benchmarks/sentiment.py
	$(BIN)/python benchmarks/dictionaries.py
	$(BIN)/python benchmarks/streams.py

results: .venv/.experiments
	$(BIN)/python -m reproduction $(ARGS)

docs: .venv/.docs
	$(BIN)/mkdocs build --strict

wheel: .venv/.built
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf .venv .venv-bench build dist site

.venv/.made:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip "scikit-build-core>=0.11" "nanobind>=2.4" cmake ninja
	touch $@

.venv/.built: .venv/.made $(SOURCES)
	$(BIN)/pip install --quiet --no-build-isolation --editable .
	touch $@

.venv/.batch: .venv/.built
	$(BIN)/pip install --quiet --no-build-isolation --editable ".[batch,sklearn]"
	touch $@

.venv/.experiments: .venv/.built
	$(BIN)/pip install --quiet --no-build-isolation --editable ".[experiments]"
	touch $@

.venv/.test: .venv/.built
	$(BIN)/pip install --quiet --no-build-isolation --editable ".[test]"
	touch $@

.venv/.lint: .venv/.built
	$(BIN)/pip install --quiet --no-build-isolation --editable ".[lint]"
	touch $@

.venv/.docs: .venv/.built
	$(BIN)/pip install --quiet --no-build-isolation --editable ".[docs]"
	touch $@
