# SPDX-License-Identifier: GPL-2.0-only
# dm-ioband.  "make" builds for the running kernel; "make test" and "make demo"
# set themselves up on a fresh Debian machine and need no kernel module of it.

PYTHON := /usr/bin/python3
CACHE := $(or $(IOBAND_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/dm-ioband)
RUFF := $(CACHE)/venv/bin/ruff
# Kernel of the laboratory: 6.1, 6.12, newest or all; none is the running kernel.
KERNEL ?=
RELEASE := $(shell uname -r)
HEADERS ?= /lib/modules/$(RELEASE)/build
# A kernel that clang has built needs it for its modules too.  DKMS looks for itself.
LLVM ?= $(shell sed -n 's/^CONFIG_CC_IS_CLANG=y/1/p' $(HEADERS)/include/config/auto.conf 2>/dev/null)
TESTS ?= tests
# tests/scheduling.py says which process runs which tests.
PYTEST_ARGS ?= --numprocesses auto --dist loadgroup
PYTEST = $(PYTHON) -m pytest --junitxml=build/$@.xml

export PYTHONPATH := $(CURDIR)/tests/vm:$(CURDIR)/tests/lab
export PYTHONDONTWRITEBYTECODE := 1
export RUFF_NO_CACHE := true

all: modules tools ## Build the module for the running kernel, and iobandctl

modules: ## Build the module (KERNEL=6.1, 6.12, newest or all: for a kernel of the laboratory)
ifeq ($(KERNEL),)
	@test -d $(HEADERS) || { echo "No headers of the running kernel: install linux-headers-$(RELEASE)," \
		"set HEADERS=, or choose KERNEL=6.1, 6.12 or newest" >&2; exit 1; }
	@mkdir -p build/$(RELEASE)
	@cp -ru drivers/md/dm-ioband/. build/$(RELEASE)/
	$(MAKE) -C $(HEADERS) $(LLVM:%=LLVM=%) M=$(CURDIR)/build/$(RELEASE) modules
else
	@scripts/setup vm
	@$(PYTHON) -m harness.module $(KERNEL)
endif

tools: ## Build iobandctl
	@scripts/setup build
	$(MAKE) -C tools/iobandctl O=$(CURDIR)/build/iobandctl

# Nothing of the machine is in the program, so that it is the same from every machine.
GO_FLAGS := -trimpath -buildvcs=false -ldflags='-s -w'

ioband-node: ## Build ioband-node, for the nodes of Kubernetes, into build/ (statically linked)
	@scripts/setup node
	go=$$($(PYTHON) -m harness.golang) && cd tools/ioband-node && \
		CGO_ENABLED=0 GOTOOLCHAIN=local $$go build $(GO_FLAGS) -o $(CURDIR)/build/ioband-node ./cmd/ioband-node

# The name of the image, the program that builds it, and arguments of it and of its build, such as
# IMAGE_ARGS='--build-arg BASE=registry.example.org/debian:trixie-slim'.
IMAGE ?= localhost/ioband-node
IMAGE_TOOL ?= $(firstword $(notdir $(wildcard $(addsuffix /podman,$(subst :, ,$(PATH))) $(addsuffix /buildah,$(subst :, ,$(PATH))))))

node-image: ## Build the image of the DaemonSet (IMAGE=localhost/ioband-node), with podman or buildah
	@test -n "$(IMAGE_TOOL)" || { echo "Install podman or buildah first" >&2; exit 1; }
	$(IMAGE_TOOL) $(IMAGE_TOOL_ARGS) build $(IMAGE_ARGS) --ignorefile packaging/kubernetes/containerignore \
		-f packaging/kubernetes/Containerfile -t $(IMAGE) .

# A kernel's own modules lie in a root, but not where a package is put together, which must
# not bring an index of modules.
DEPMOD = $(if $(or $(if $(DESTDIR),,yes),$(wildcard $(DESTDIR)/lib/modules/$(RELEASE)/kernel)),depmod $(addprefix -b ,$(DESTDIR)) $(RELEASE))

# Headers have no System.map, without which Kbuild runs no depmod, and no key to sign with.
install: all ## Install the module for the running kernel, iobandctl and udev's rules (DESTDIR=, PREFIX=)
	$(MAKE) -C $(HEADERS) $(LLVM:%=LLVM=%) M=$(CURDIR)/build/$(RELEASE) INSTALL_MOD_PATH=$(DESTDIR) \
		INSTALL_MOD_DIR=updates DEPMOD=true CONFIG_MODULE_SIG_ALL= modules_install
	$(DEPMOD)
	$(MAKE) -C tools/iobandctl O=$(CURDIR)/build/iobandctl install
	$(MAKE) -C udev install

VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
# What git, Python and builds leave in a checkout, also those of the module, of iobandctl and of
# packages that were built where the sources are.
LEFT_OUT := ./build .git __pycache__ .*_cache *.o *.ko dm-ioband.mod *.mod.c .*.cmd modules.order \
	Module.symvers ./tools/iobandctl/*.d ./tools/iobandctl/iobandctl \
	./tools/iobandctl/completion.* ./tools/iobandctl/iobandctl-*.8 ./packaging/src \
	./packaging/pkg *.pkg.tar* ./debian/.debhelper ./debian/build ./debian/files \
	./debian/*debhelper* ./debian/*.substvars ./debian/dm-ioband-dkms ./debian/dm-ioband-doc \
	./debian/iobandctl
SOURCES = tar $(LEFT_OUT:%=--exclude='%') --transform='s,^\.,dm-ioband-$(VERSION),'

deb: ## Build the Debian packages, into build/
	@scripts/setup deb
	rm -rf build/deb build/*.deb
	mkdir -p build/deb
	$(SOURCES) -c . | tar -x -C build/deb
	cd build/deb/dm-ioband-$(VERSION) && dpkg-buildpackage -us -uc
	ln -f $(foreach name,dm-ioband-dkms dm-ioband-doc iobandctl,build/deb/$(name)_*.deb) build/

RPMBUILD_ARGS ?=

rpm: ## Build RPM packages, into build/rpm (with rpmbuild, and what the spec file asks for)
	rm -rf build/rpm
	mkdir -p build/rpm/SOURCES
	$(SOURCES) -czf build/rpm/SOURCES/dm-ioband-$(VERSION).tar.gz .
	rpmbuild -ba $(RPMBUILD_ARGS) --define '_topdir $(CURDIR)/build/rpm' packaging/dm-ioband.spec

uninstall: ## Remove what install installed
	rm -f $(DESTDIR)/lib/modules/$(RELEASE)/updates/dm-ioband.ko*
	$(DEPMOD)
	$(MAKE) -C tools/iobandctl O=$(CURDIR)/build/iobandctl uninstall
	$(MAKE) -C udev uninstall

setup: ## Install what all targets need, and fetch the kernels
	@scripts/setup all

setup-vm setup-lab setup-bench setup-debug setup-rt setup-test: setup-%:
	@scripts/setup $*

test-fast: setup-test ## An answer in minutes: unit tests, style, and a few tests in one kernel
	IOBAND_UNIT_SCALE=0.1 $(PYTEST) --tier fast $(PYTEST_ARGS) $(TESTS)

# The other kernels are fetched and built meanwhile; a test that needs one waits for it.
test: setup-test ## Run everything that shows that the product works
	@setsid nice -n 19 sh -c '{ echo 19 >/proc/self/autogroup; } 2>/dev/null; \
		exec scripts/setup kernels' & trap "kill -- -$$! 2>/dev/null" EXIT; \
		IOBAND_UNIT_SCALE=0.25 $(PYTEST) --tier usual $(PYTEST_ARGS) $(TESTS)

test-all: setup setup-debug setup-rt ## Run what takes hours too: all kernels, mutants, packages, tutorial, how-tos, detectors
	@status=0; \
	$(PYTEST) --tier all $(PYTEST_ARGS) $(TESTS) || status=1; \
	for kernel in debug rt; do $(MAKE) --no-print-directory test-$$kernel || status=1; done; \
	$(PYTHON) tests/parts.py table build/test-all.xml build/test-debug.xml build/test-rt.xml; \
	exit $$status

test-unit: ## Run the unit tests only
	@scripts/setup unit
	$(PYTEST) --tier usual $(PYTEST_ARGS) tests/unit

fuzz: ## Fuzz the parsers by coverage, and keep the texts found (SECONDS=600 for each of nine)
	@scripts/setup fuzz
	$(PYTHON) tests/unit/iobandctl/coverage_fuzz.py $(addprefix --seconds ,$(SECONDS))

test-vm: setup-vm ## Run the tests in virtual machines only
	$(PYTEST) --tier usual $(PYTEST_ARGS) tests/vm

FUNCTIONAL := detectors abi groups presets data pieces suspend passthrough owner wishes flush \
	stacks max min latency io_latency submit gather below swap journal discard idle
# $(call with_detectors,KERNEL,NAMES): tests in a kernel with detectors
with_detectors = IOBAND_KERNEL=$(1) $(PYTEST) \
	$(if $(filter tests,$(TESTS)),$(patsubst %,tests/vm/test_%.py,$(2)),$(TESTS))

test-debug: setup-debug ## Run functional tests under KASAN, lockdep, kmemleak and the kernel's other detectors
	$(call with_detectors,debug,nomem lab_disk $(FUNCTIONAL))

test-rt: setup-rt ## Run functional tests in a kernel with PREEMPT_RT, where spinlocks sleep
	$(call with_detectors,rt,$(FUNCTIONAL))

check: check-c check-checkpatch check-checkpatch-tests check-python check-shell check-words ## Check style and warnings only

check-c: setup-vm check-c-6.1 check-c-6.12 check-c-newest

# Debian's sparse does not understand the headers of the newest kernel.
check-c-%:
	@$(PYTHON) -m harness.module --strict $(if $(filter newest,$*),,--flag C=2) $*

check-checkpatch: setup-test
	@$(PYTHON) -m harness.checkpatch $(shell find drivers tools -name '*.[ch]')

check-checkpatch-tests: setup-test
	@$(PYTHON) -m harness.checkpatch $(shell find tests -name '*.[ch]' -not -path '*/shim/*')

check-python: setup-test
	@$(RUFF) check --quiet .
	@$(RUFF) format --quiet --diff .

check-shell: setup-test
	@shellcheck $(shell grep -rlE '^#!/bin/(ba)?sh' .ci debian packaging scripts tests tools udev 2>/dev/null)

check-words: ## Check the language of comments, messages, documentation and commit subjects only
	@$(PYTHON) scripts/words.py

demo: setup-vm ## Show proportional sharing on a stock kernel, in a minute or two
	$(PYTHON) tests/demo/demo.py

bench: setup-bench ## Measure instructions, locks, cache lines and throughput against the kernel's own schedulers
	@for program in cost locks lines; do for later in 0 10; do \
		$(PYTHON) tests/bench/$$program.py --json build/$$program-$$later.json \
			--later-us $$later $(addprefix --kernel ,$(KERNEL)) || exit 1; done; done
	$(PYTHON) tests/bench/cost.py --json build/cost-shared.json --later-us 2000 --limit 64 \
		$(addprefix --kernel ,$(KERNEL))
	$(PYTHON) tests/bench/speed.py --json build/speed.json

lab: setup-lab ## Run all scenarios in virtual time, and write Documentation/results (S=S5,S6 PEERS=bfq,ioband)
	$(PYTHON) -m lab $(if $(S),--scenarios $(S)) $(if $(PEERS),--peers $(PEERS)) $(LAB_ARGS)

lab-check: setup-lab ## Run all scenarios, and say what is not as published in Documentation/results
	$(PYTHON) -m lab --check $(if $(S),--scenarios $(S)) $(if $(PEERS),--peers $(PEERS)) $(LAB_ARGS)

search: ## Judge the scheduler with random loads in the simulator (N=10000 SEED=1), write Documentation/results/search.md
	@scripts/setup unit
	$(PYTHON) tests/unit/search.py $(if $(N),--count $(N)) $(if $(SEED),--seed $(SEED)) $(SEARCH_ARGS)

vm: setup-vm ## Run CMD='...' in a virtual machine (KERNEL=, default: of this Debian)
	@$(PYTHON) -m harness.guest $(addprefix --kernel ,$(KERNEL)) '$(CMD)'

release: ## Tag the version of this tree, if NEWS and everything else agree (see CONTRIBUTING.md)
	@$(PYTHON) scripts/release.py

clean: ## Remove what was built in the tree; the cache stays
	rm -rf build

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

CHECKS := check-c check-checkpatch check-checkpatch-tests check-python check-shell check-words
.PHONY: check $(CHECKS) all modules tools ioband-node node-image install deb rpm uninstall setup setup-vm setup-lab setup-bench setup-debug setup-rt setup-test test-fast test test-all test-unit fuzz test-vm test-debug test-rt demo bench lab lab-check search vm release clean help
