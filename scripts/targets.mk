# SPDX-License-Identifier: Apache-2.0
#
# The user-visible targets. The Makefile includes this last; the tests come from the folders'
# UNIT_TESTS, TESTS and FUZZERS.
PREFIX ?= /usr
DESTDIR ?=
FUZZ_TIME ?= 60
QUICK ?=
BENCH ?=
RUN_TESTS = tests/run $(if $(JOBS),--jobs $(JOBS))

.PHONY: help tests fuzzers check check-vm check-all fuzz bench lint install uninstall package qemu-in-tree clean
help:
	@echo 'make                           build everything into build/'
	@echo 'make check                     unit tests, programs, scripts, lint: all but the VM'
	@echo 'make check-vm                  the scenarios that need the VM'
	@echo 'make check-all                 both, and a few seconds of each fuzzer'
	@echo 'make debug-kernel              the kernel and axl.ko that find driver bugs; cached'
	@echo 'make check-debug [QUICK=1]     the driver on it: tests, fuzzer, failures, unplug, reloads'
	@echo 'make check-tsan                the service under the thread sanitizer, with clients of all kinds'
	@echo 'make fuzz [FUZZ_TIME=S]        each fuzzer for S seconds (60)'
	@echo 'make bench [BENCH=NAME] [QUICK=1]  benchmarks; results in build/bench/NAME.json'
	@echo 'make lint                      style, licences, include direction, sizes'
	@echo 'make install DESTDIR= PREFIX=  install what has been built'
	@echo 'make uninstall DESTDIR= PREFIX=  take it away again'
	@echo 'make package                   Debian packages in build/package/'
	@echo 'make qemu-in-tree              a QEMU with the device compiled in, where preloading it fails'
	@echo 'make clean                     remove build/'
	@echo 'Variables: V=1 shows commands; KERNELRELEASE_TARGET=RELEASE builds the module for'
	@echo 'that kernel; OPT= compiler optimisation; JOBS= tests at a time;'
	@echo 'WERROR=1 makes warnings errors, for who develops here;'
	@echo 'JUMBO=1 joins files: less work from nothing, more after an edit.'

# Everything that the build makes for tests: tests/run runs exactly these, and a missing one fails.
tests: $(UNIT_TESTS) $(TESTS)
	@mkdir -p $(BUILD)/test
	@printf '%s\n' $(UNIT_TESTS:%='unit %') $(TESTS:%='program %') $(FUZZERS:%='fuzz %') \
		>$(BUILD)/test/manifest
fuzzers: $(FUZZERS)

check: all tests
	$(Q)$(RUN_TESTS) --kind lint --kind unit --kind program --kind script
check-vm: all tests
	$(Q)$(RUN_TESTS) --kind vm
check-all: all tests fuzzers
	$(Q)$(RUN_TESTS)
fuzz: tests fuzzers
	$(Q)$(RUN_TESTS) --kind fuzz --fuzz-time $(FUZZ_TIME)
bench:
	$(Q)mkdir -p $(BUILD)
	$(Q)QUICK=$(QUICK) MAKE='$(MAKE)' scripts/bench $(BENCH)
lint:
	$(Q)scripts/lint

install: all
	$(Q)scripts/lib/install '$(DESTDIR)' '$(PREFIX)'
uninstall:
	$(Q)scripts/lib/install '$(DESTDIR)' '$(PREFIX)' --uninstall
package: all
	$(Q)scripts/lib/package

qemu-in-tree:
	$(Q)qemu-device/build-in-tree

clean:
	rm -rf $(BUILD)
