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

.PHONY: demo test faults test-browser test-notebooks compat fuzz sanitize lint format bench bench-all bench-check results models docs notebooks wheel clean

demo: .venv/.built
	$(BIN)/adaptag demo

# The tests of clusters run by themselves, since they start processes on all cores. The numeric tests
# run with the variant for any processor too, which is compiled after the others.
test: .venv/.test
	$(BIN)/python -m pytest -n auto --ignore=tests/ray --ignore=tests/browser --ignore=tests/notebooks
	$(BIN)/python -m pytest tests/ray
	$(MAKE) .venv/.generic
	ADAPTAG_CORE=generic $(BIN)/python -m pytest -n auto $(NUMERIC_TESTS)

# Kills commands at random moments and starts them again; tests/faults has a short part of that.
faults: .venv/.test
	$(BIN)/python -m tests.faults.long $(ARGS)

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

# The test suites and models of projects that use CRFsuite, with adaptag in its place;
# ARGS="usaddress models" runs a part.
compat: .venv-compat/.installed
	.venv-compat/bin/python -m compat $(ARGS)

# Coverage-guided fuzzing, a minute for each target: ARGS="model segmenter --seconds 3600 --jobs 2".
fuzz: .venv/.test .venv/.fuzz
	$(BIN)/python -m tests.fuzz $(ARGS)

# The tests with a core that is built with sanitizers (GCC, Linux), beside the usual one: all fast
# tests with AddressSanitizer and UndefinedBehaviorSanitizer, those of threads with
# ThreadSanitizer. The core takes some minutes to compile; JOBS=1 and TESTS=… make less of it.
# Reports are in build/asan/reports and build/tsan/reports; any of them is a failure.
ASAN := -fsanitize=address,undefined -fno-omit-frame-pointer
TSAN := -fsanitize=thread -fno-omit-frame-pointer
JOBS ?= 2
TESTS ?= tests --ignore=tests/ray --ignore=tests/browser --ignore=tests/notebooks
THREAD_TESTS := tests/unit/test_threads.py tests/unit/test_parallel_training.py \
    tests/unit/test_parallel.py tests/unit/test_sharing.py tests/unit/test_segmenter.py \
    tests/property/test_threads.py
GCC_FILE = $(shell gcc -print-file-name=$(1))

sanitize: .venv-asan/.built .venv-tsan/.built
	rm -rf build/asan/reports build/tsan/reports && mkdir -p build/asan/reports build/tsan/reports
	LD_PRELOAD="$(call GCC_FILE,libasan.so) $(call GCC_FILE,libstdc++.so)" ADAPTAG_CORE=generic \
	    ADAPTAG_SANITIZED=1 ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path=$(CURDIR)/build/asan/reports/a \
	    UBSAN_OPTIONS=print_stacktrace=1:log_path=$(CURDIR)/build/asan/reports/u \
	    .venv-asan/bin/python -m pytest -n $(JOBS) $(TESTS)
	LD_PRELOAD="$(call GCC_FILE,libtsan.so) $(call GCC_FILE,libstdc++.so)" ADAPTAG_CORE=generic \
	    ADAPTAG_SANITIZED=1 TSAN_OPTIONS=exitcode=0:log_path=$(CURDIR)/build/tsan/reports/t \
	    setarch -R .venv-tsan/bin/python -m pytest $(THREAD_TESTS)
	@if grep -lE "ERROR: AddressSanitizer|runtime error:|WARNING: ThreadSanitizer" build/?san/reports/* \
	    2>/dev/null; then echo "Sanitizers have found something."; exit 1; fi

# An environment that is the usual one, but for the core. Paths of a .pth file are searched without
# the .pth files in them, so the editable install of the usual one is not seen.
.venv-asan/.built .venv-tsan/.built: .venv-%/.built: .venv/.test $(SOURCES)
	@echo "Compiling the C++ core with sanitizers: some minutes."
	$(BIN)/cmake -S . -B build/$* -G Ninja -DADAPTAG_VARIANTS=generic \
	    -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" \
	    -DADAPTAG_OPTIONS="-O1;-g1" -DCMAKE_CXX_FLAGS="$(if $(filter asan,$*),$(ASAN),$(TSAN))"
	$(BIN)/cmake --build build/$* -j $(JOBS)
	rm -rf .venv-$* && $(BIN)/python -m venv --without-pip .venv-$*
	mkdir -p build/$*/package && rm -rf build/$*/package/adaptag
	cp -as $(CURDIR)/src/adaptag build/$*/package/
	cp build/$*/*.so build/$*/package/adaptag/_native/
	printf '%s\n' $(CURDIR)/build/$*/package $(CURDIR)/models $$($(BIN)/python -c \
	    'import sysconfig; print(sysconfig.get_path("platlib"))') > $$(.venv-$*/bin/python -c \
	    'import sysconfig; print(sysconfig.get_path("platlib"))')/adaptag.pth
	touch $@

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

# Trains the ready models, two minutes, and writes them and their cards into models/adaptag_models.
models: .venv/.models
	$(BIN)/python -m models.make $(ARGS)

docs: .venv/.docs
	$(BIN)/mkdocs build --strict

# Executes the notebooks of the documentation, and stores them with their outputs.
notebooks: .venv/.notebooks
	$(BIN)/python docs/hooks/notebooks.py

# The wheels of the package and of the ready models, and the source distribution; what they hold is
# used in an empty environment.
wheel: .venv/.made
	@echo "Compiling the C++ core for all processors, four variants: about four minutes."
	rm -rf dist
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist . ./models
	$(BIN)/pip install --quiet abi3audit build twine
	$(BIN)/python -m build --sdist --no-isolation --outdir dist .
	$(BIN)/twine check --strict dist/*
	ls dist | grep abi3 | sed s:^:dist/: | xargs -r $(BIN)/abi3audit --strict
	$(BIN)/python packaging/try_wheels.py dist

clean:
	rm -rf .venv .venv-bench .venv-compat .venv-asan .venv-tsan build dist site

.venv/.made:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade "pip>=25.1" "scikit-build-core>=0.11" "nanobind>=2.4" \
	    "hatch-fancy-pypi-readme>=24" cmake ninja
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
.venv/.test .venv/.browser .venv/.fuzz .venv/.lint .venv/.docs .venv/.notebooks .venv/.models .venv/.reproduction: .venv/.%: .venv/.built pyproject.toml
	$(BIN)/pip install --quiet --group $*
	[ ! -d models ] || $(BIN)/pip install --quiet --no-deps --editable ./models
	touch $@

# Another environment, since the projects need their own versions of what they use.
.venv-compat/.installed: compat/requirements.txt $(SOURCES)
	$(PYTHON) -m venv .venv-compat
	.venv-compat/bin/pip install --quiet --upgrade "pip>=25.1" "scikit-build-core>=0.11" "nanobind>=2.4" \
	    "hatch-fancy-pypi-readme>=24" cmake ninja
	.venv-compat/bin/pip install --quiet --no-build-isolation -C build-dir=build/compat --editable ".[sklearn]"
	.venv-compat/bin/pip install --quiet --requirement compat/requirements.txt
	touch $@
