# `make` lists the targets.
PYTHON ?= python
BUILD ?= build/dev
CPP = $(shell git ls-files 'cpp/*.hpp' 'cpp/*.cpp')
# Tests that run the kernels; code rules, public API and import time need no sanitizer.
SANITIZED_TESTS ?= tests/core tests/learners tests/contract --deselect tests/contract/test_source_rules.py \
  --deselect tests/contract/test_imports.py --deselect tests/contract/test_stub.py -m 'not slow'
# Tests that run with the oldest dependencies; scikit-learn's own tests and the pages belong to the newest.
OLDEST_TESTS ?= tests --ignore=tests/dropin --ignore=tests/cluster --ignore=tests/gpu --ignore=tests/benchmarks
comma := ,
# Where `make docs` finds the package; nothing: the installed one.
SOURCES ?= $(CURDIR)/src

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

setup:  ## install the development dependencies into the active environment, and the commit hooks
	$(PYTHON) -m pip install nanobind scikit-build-core cmake ninja
	$(PYTHON) -m pip install --no-build-isolation '.[dev,bench,docs]'
	$(PYTHON) -m pip uninstall -y committee
	pre-commit install

build:  ## compile the core in place (src/committee/_core*.so)
	cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE=$$(which $(PYTHON)) -DSKBUILD_PROJECT_VERSION=dev >/dev/null
	cmake --build $(BUILD)
	for built in $(BUILD)/_core*.so $(BUILD)/_core.pyi; do \
	  cp $$built src/committee/$$(basename $$built).new && mv src/committee/$$(basename $$built).new src/committee/$$(basename $$built); done

test: build  ## run the tests on the source tree
	PYTHONPATH=$(CURDIR)/src $(PYTHON) -m pytest

test-gpu: build  ## run the tests of the GPU engine on a machine with a GPU, the same kernels on the CPU beside it
	COMMITTEE_TEST_GPU=1 PYTHONPATH=$(CURDIR)/src $(PYTHON) -m pytest tests/gpu -n 0 -rs
	COMMITTEE_TEST_GPU=1 PYTHONPATH=$(CURDIR)/src compute-sanitizer --error-exitcode 1 $(PYTHON) -m pytest -n 0 -q \
	  tests/gpu/test_prediction.py tests/gpu/test_explanation.py tests/gpu/test_device_tables.py -k cuda

test-times: build  ## run the tests and list the slowest twenty (all output in build/test-times.txt)
	PYTHONPATH=$(CURDIR)/src $(PYTHON) -m pytest --durations=20 >build/test-times.txt; passed=$$?; \
	  sed -n '/slowest 20 durations/,$$p' build/test-times.txt; exit $$passed

lint:  ## check style, types, import layers and C++ formatting (run `make build` once before)
	ruff check
	ruff format --check
	mypy
	PYTHONPATH=$(CURDIR)/src lint-imports
	clang-format --dry-run -Werror $(CPP)

format:  ## format Python and C++ code
	ruff check --fix
	ruff format
	clang-format -i $(CPP)

sanitize: sanitize-address sanitize-thread  ## run the tests of the core under ASan and UBSan, then under TSan

# The interpreter is not instrumented, so the sanitizer runtime is preloaded. Python's own allocator would hide overruns.
# Leak detection is off, because the interpreter does not free all memory at exit. Reports go to the file of
# stderr, which pytest must not capture: it would be lost with the process. Kernels of the GPU engine find their headers
# beside the package.
define run_sanitized
	cmake -S . -B build/$@ -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPython_EXECUTABLE=$$(which $(PYTHON)) \
	  -DSKBUILD_PROJECT_VERSION=dev -DCOMMITTEE_SANITIZE=$(1) >/dev/null
	cmake --build build/$@
	rm -rf build/$@/package && mkdir build/$@/package && cp -r src/committee build/$@/package/
	rm -f build/$@/package/committee/_core*.so && cp build/$@/_core*.so build/$@/package/committee/
	ln -sfn $(CURDIR)/cpp build/$@/cpp
	env $(3) PYTHONMALLOC=malloc PYTHONPATH=$(CURDIR)/build/$@/package \
	  LD_PRELOAD="$(foreach lib,$(2) libstdc++.so.6,$(shell $(CXX) -print-file-name=$(lib)))" \
	  $(PYTHON) -m pytest --capture=sys $(SANITIZED_TESTS)
endef

# Frames on the heap, which find variables that are used after their function has returned, are not aligned for AVX-512
# (GCC's bug 110027).
sanitize-address:  ## run the tests of the core under ASan and UBSan
	$(call run_sanitized,address$(comma)undefined,libasan.so libubsan.so,ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1)

# Threads of other libraries (scikit-learn's OpenMP) are not instrumented, so their locks are not seen. A process forked
# from a multi-threaded one cannot start threads under this sanitizer.
sanitize-thread: SANITIZED_TESTS += -k 'not fork'
sanitize-thread:  ## run the tests of the core under TSan
	$(call run_sanitized,thread,libtsan.so,TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1)

CASES ?= 10000
SEED ?= 0
fuzz: build  ## try hostile input: CASES=10000 SEED=0 SECONDS=60 ONLY=word (a kind of case or an estimator)
	PYTHONPATH=$(CURDIR)/src $(PYTHON) -m fuzz --cases $(CASES) --seed $(SEED) $(if $(SECONDS),--seconds $(SECONDS)) \
	  $(if $(ONLY),--only $(ONLY))

fuzz-files:  ## changed trees of model files under ASan and UBSan, in a program without Python: CASES=10000 SEED=0
	PYTHONPATH=$(CURDIR)/src $(PYTHON) -m fuzz.sanitized trees --cases $(CASES) --seed $(SEED)

fuzz-core:  ## inputs chosen by the paths they take, for the readers of trees and bins and for the compiled module, under ASan and UBSan: SECONDS=60 SEED=0
	PYTHONPATH=$(CURDIR)/src $(PYTHON) -m fuzz.guided --seconds $(or $(SECONDS),60) --seed $(SEED)

fuzz-pool:  ## many callers of the thread pool under TSan, in a program without Python: CASES=10000 SEED=0
	PYTHONPATH=$(CURDIR)/src $(PYTHON) -m fuzz.sanitized pool --cases $(CASES) --seed $(SEED)

fuzz-memory: build  ## let every request of the core for memory fail once
	PYTHONPATH=$(CURDIR)/src $(PYTHON) -m fuzz.faults

stops: build  ## kill, fail and interrupt: saves at every step, calls at polls of the core, signals in long calls
	PYTHONPATH=$(CURDIR)/src $(PYTHON) -m fuzz.stops

protections: build  ## take each protection out once, in a copy, and see its test fail
	PYTHONPATH=$(CURDIR)/src $(PYTHON) -m fuzz.protections

test-oldest: build  ## run the tests with the oldest supported versions of the dependencies
	$(PYTHON) packaging/oldest.py build/oldest
	PYTHONPATH=$(CURDIR)/src build/oldest/bin/python -m pytest $(OLDEST_TESTS)

wheels:  ## build the wheel of this machine into dist, twice, and try it where there is no compiler
	$(PYTHON) packaging/wheels.py --twice

sbom:  ## write the software bill of materials of this environment into dist/sbom.json
	$(PYTHON) packaging/sbom.py

cross:  ## build the module for Windows, macOS and x86-64 Linux with the cross-compiler of the ziglang wheel: CROSS_TARGETS=aarch64-macos
	$(PYTHON) packaging/cross.py $(CROSS_TARGETS)

emulate:  ## build the core for aarch64 on x86-64, for x86-64 elsewhere, and run digests and kernels under qemu-user: EMULATED_TESTS=tests/core EMULATED_ROOT=folder
	$(PYTHON) packaging/emulated.py $(if $(EMULATED_ROOT),--root $(EMULATED_ROOT)) $(EMULATED_TESTS)

bench:  ## run the benchmarks against other libraries (benchmarks/README.md)
	PYTHONPATH=$(CURDIR)/src $(PYTHON) -m benchmarks

readme:  ## update the README's table of times from benchmarks/results
	PYTHONPATH=$(CURDIR)/src $(PYTHON) -m benchmarks.readme

# Code on the pages and the gallery's scripts are run; results are kept in docs/runs and docs/gallery until the library
# or the code changes. A warning, a broken link or a request to another host fails the build.
docs:  ## build the documentation into build/docs
	PYTHONPATH=$(SOURCES) sphinx-build -j auto -W --keep-going -b html docs build/docs

SITES ?= build/sites
versions:  ## list the sites of versions in SITES (build/sites/0.2.0, build/sites/latest, ...) for the menu of their pages
	$(PYTHON) docs/versions.py $(SITES)

clean:  ## remove all build products
	rm -rf build dist src/committee/_core*.so src/committee/_core.pyi docs/runs docs/gallery docs/reference docs/scenes
	find . -name __pycache__ -not -path './.venv/*' -type d -prune -exec rm -rf {} +

.PHONY: help setup build test fuzz fuzz-core fuzz-files fuzz-pool fuzz-memory stops protections test-oldest wheels sbom cross emulate test-times lint format sanitize sanitize-address sanitize-thread bench readme docs versions clean
