# One command per intent; `make` lists them.
PYTHON ?= python
BUILD ?= build/dev

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

build:  ## compile the core in place (src/committee/_core*.so)
	cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE=$$(which $(PYTHON)) -DSKBUILD_PROJECT_VERSION=dev >/dev/null
	cmake --build $(BUILD)
	cp $(BUILD)/_core*.so src/committee/ && cp $(BUILD)/_core.pyi src/committee/

.PHONY: help build
