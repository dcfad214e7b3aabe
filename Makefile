# Each target sets up all it needs: a virtual environment in .venv with adaptag built into it.
PYTHON ?= python3
BIN := .venv/bin
CPP := $(wildcard cpp/*.?pp cpp/*/*.?pp benchmarks/*.cpp tests/fuzz/core/*.?pp)
SOURCES := pyproject.toml CMakeLists.txt $(wildcard cpp/* cpp/*/*)

NUMERIC_TESTS := tests/contract tests/property $(patsubst %,tests/unit/test_%.py, \
    batch character_features compact lattice maxent objective partial_labels rich_edges \
    segment_predictor single_tokens trainers trainers_oracles trainers_state)

# Modules are compiled to bytecode when they are first imported, not when they are installed.
export PIP_NO_COMPILE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-browser test-notebooks fuzz lint format bench bench-all bench-check results docs notebooks wheel clean

demo: .venv/.built
	$(BIN)/adaptag demo

# The tests of clusters run by themselves, since they start processes on all cores. The numeric tests
# run with the variant for any processor too, which is compiled after the others.
test: .venv/.test
	$(BIN)/python -m pytest -n auto --ignore=tests/ray --ignore=tests/browser --ignore=tests/notebooks
	$(BIN)/python -m pytest tests/ray
	$(MAKE) .venv/.generic
	ADAPTAG_CORE=generic $(BIN)/python -m pytest -n auto $(NUMERIC_TESTS)

# Pages in a real browser: Chromium, where one is installed. With REQUIRE_BROWSER set, it must be.
BROWSER := $(firstword $(foreach name,chromium chromium-browser google-chrome google-chrome-stable,\
    $(shell command -v $(name))))

ifneq ($(BROWSER)$(REQUIRE_BROWSER),)
test-browser: .venv/.test .venv/.browser
	$(BIN)/python -m pytest tests/browser
else
test-browser:
	@echo "No browser is installed (apt-get install chromium): the tests of pages are left out."
endif

# The notebooks of the documentation are executed again.
test-notebooks: .venv/.test .venv/.notebooks
	$(BIN)/python -m pytest tests/notebooks

# Coverage-guided fuzzing, a minute for each target: ARGS="model segmenter --seconds 3600 --jobs 2".
fuzz: .venv/.test .venv/.fuzz
	$(BIN)/python -m tests.fuzz $(ARGS)

lint: .venv/.lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/lint-imports

format: .venv/.lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CPP)

# One run of the benchmark suite, about fifteen minutes, appended to benchmarks/results/history.json;
# ARGS="--only pku" measures a part. The pages show accepted runs: ARGS=--accept.
bench: .venv/.sklearn .venv/.experiments
	$(BIN)/python benchmarks/run.py $(ARGS)
	$(BIN)/python benchmarks/page.py

# Fails where a figure is more than a tenth worse beside its peer than in the accepted run.
bench-check: .venv/.sklearn
	$(BIN)/python benchmarks/run.py --check $(ARGS)

bench-all: .venv/.sklearn .venv/.experiments
	$(BIN)/python benchmarks/run.py --all $(ARGS)
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/pos.py
	$(BIN)/python benchmarks/segmentation_speed.py
	$(BIN)/python benchmarks/documents.py
	$(BIN)/python benchmarks/sentiment.py
	$(BIN)/python benchmarks/dictionaries.py
	$(BIN)/python benchmarks/streams.py

results: .venv/.experiments .venv/.reproduction
	$(BIN)/python -m reproduction $(ARGS)

docs: .venv/.docs
	$(BIN)/mkdocs build --strict

# Executes the notebooks of the documentation, and stores them with their outputs.
notebooks: .venv/.notebooks
	$(BIN)/python docs/hooks/notebooks.py

wheel: .venv/.made
	@echo "Compiling the C++ core for all processors, four variants: about four minutes."
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf .venv .venv-bench build dist site

.venv/.made:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade "pip>=25.1" "scikit-build-core>=0.11" "nanobind>=2.4" cmake ninja
	touch $@

.venv/.built: .venv/.made $(SOURCES)
	@echo "Compiling the C++ core for this processor: about a minute, later only what has changed."
	rm -f .venv/.generic .venv/lib/python3*/site-packages/adaptag/_native/generic.*
	$(BIN)/pip install --quiet --no-build-isolation --editable .
	touch $@

# The variant for any processor, which the tests cover too.
.venv/.generic: .venv/.built
	@echo "Compiling the C++ core for any processor, for its tests: about half a minute."
	$(BIN)/cmake --build build/editable --target generic
	$(BIN)/cmake --install build/editable --component generic --prefix "$$($(BIN)/python -c \
	    'import sysconfig; print(sysconfig.get_path("platlib"))')"
	touch $@

.venv/.sklearn: .venv/.built
	$(BIN)/pip install --quiet --no-build-isolation --editable ".[sklearn]"
	touch $@

.venv/.experiments: .venv/.built
	$(BIN)/pip install --quiet --no-build-isolation --editable ".[experiments]"
	touch $@

# Groups of development tools, see pyproject.toml.
.venv/.test .venv/.browser .venv/.fuzz .venv/.lint .venv/.docs .venv/.notebooks .venv/.reproduction: .venv/.%: .venv/.built pyproject.toml
	$(BIN)/pip install --quiet --group $*
	touch $@
