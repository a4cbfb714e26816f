# SPDX-License-Identifier: GPL-2.0
#
# axl.ko for KERNELRELEASE_TARGET (default: the newest kernel whose headers are
# installed) in build/kmod/<release>/axl.ko. Sources are copied there first, so
# that the kernel's build leaves nothing in kmod/.
KMOD_HEADERS = /lib/modules/$(KERNELRELEASE_TARGET)/build
KERNELRELEASE_TARGET ?= $(or $(shell ls -d /lib/modules/*/build 2>/dev/null | cut -d/ -f4 | sort -V | tail -n 1),$(shell uname -r))
KERNELRELEASE_TARGET := $(KERNELRELEASE_TARGET)

KMOD_DIR := $(BUILD)/kmod/$(KERNELRELEASE_TARGET)
KMOD_KO := $(KMOD_DIR)/axl.ko
KMOD_SRCS := $(wildcard kmod/*.c kmod/*.h kmod/uapi/*.h) kmod/Kbuild
# Any file that contains the target kernel: add-btf builds the module's BTF on the BTF in it.
KMOD_IMAGE ?= $(firstword $(wildcard $(addsuffix $(KERNELRELEASE_TARGET),\
	/usr/lib/debug/boot/vmlinux- /usr/lib/debug/lib/modules/ /boot/vmlinuz-)))

ALL += $(KMOD_KO)
.PHONY: kmod
kmod: $(KMOD_KO)

$(KMOD_KO): $(KMOD_SRCS) kmod/add-btf kmod/build.mk
	$(call say,KMOD,$@)test -e $(KMOD_HEADERS)/Makefile || { echo "kmod: no headers for Linux $(KERNELRELEASE_TARGET): install linux-headers-$(KERNELRELEASE_TARGET), or set KERNELRELEASE_TARGET" >&2; exit 1; }
	$(Q)mkdir -p $(KMOD_DIR)/src/uapi && cp -pu $(filter kmod/Kbuild kmod/%.c kmod/%.h,$(filter-out kmod/uapi/%,$^)) $(KMOD_DIR)/src/ && cp -pu kmod/uapi/*.h $(KMOD_DIR)/src/uapi/
	$(Q)flock $(KMOD_DIR)/lock env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL $(MAKE) --no-print-directory -j2 -C $(KMOD_HEADERS) M=$(abspath $(KMOD_DIR)/src) W=1 modules >$(KMOD_DIR)/build.log 2>&1 || { grep -A5 -E 'error:|Error' $(KMOD_DIR)/build.log | head -n 40 >&2; exit 1; }
	$(Q)grep -E 'warning:|WARNING:' $(KMOD_DIR)/build.log >&2 || true
	$(Q)t=$@.$$$$ && trap 'rm -f $$t' EXIT && cp $(KMOD_DIR)/src/axl.ko $$t && \
	if readelf -S $$t | grep -q '\.BTF'; then :; \
	elif ! command -v pahole >/dev/null; then echo "kmod: no BTF in axl.ko: pahole is not installed (package pahole); BPF programs on its tracepoints will not load" >&2; \
	elif [ -z "$(KMOD_IMAGE)" ]; then echo "kmod: no BTF in axl.ko: no kernel image for $(KERNELRELEASE_TARGET) in /boot; BPF programs on its tracepoints will not load" >&2; \
	else kmod/add-btf $$t $(KMOD_IMAGE); fi && strip -g $$t && mv $$t $@

# Test programs for the guest, build/test/driver-*; tests/vm/driver-*.sh run them.
DRIVER_TESTS := $(patsubst tests/driver/%_test.c,%,$(wildcard tests/driver/*_test.c))
define driver-test
TESTS += $(BUILD)/test/driver-$(1)
$(call program,$(BUILD)/test/driver-$(1),$(sort $(wildcard tests/driver/$(1)_*.c)) tests/driver/harness.c tests/driver/axl_user.c tests/driver/qmp.c tests/driver/world.c,-lpthread)
endef
$(foreach test,$(DRIVER_TESTS),$(eval $(call driver-test,$(test))))
# Some of the tests are also built as 32-bit programs where a 32-bit C library is installed (package
# libc6-dev-i386). They are built with clang because gcc would need gcc-multilib, which conflicts
# with the cross compilers.
DRIVER32_TESTS := uapi context buffer submit wait observe hostring client
DRIVER32_FLAGS := -m32 -idirafter /usr/include/x86_64-linux-gnu --rtlib=compiler-rt --unwindlib=none -D_FILE_OFFSET_BITS=64 -D_GNU_SOURCE -I. \
	-O2 -g -std=gnu11 -Wall -Wextra $(WERROR_CLANG)
define driver-test32
TESTS += $(BUILD)/test/driver32-$(1)
$(BUILD)/test/driver32-$(1): $(sort $(wildcard tests/driver/$(1)_*.c)) tests/driver/harness.c tests/driver/axl_user.c tests/driver/qmp.c $(wildcard tests/driver/*.h kmod/uapi/*.h)
	$$(call say,CC32,$$@)$$(call anew,clang $$(DRIVER32_FLAGS) -o $$$$t $$(filter %.c,$$^) -lpthread)
endef
ifneq ($(wildcard /usr/lib32/crt1.o),)
$(foreach test,$(DRIVER32_TESTS),$(eval $(call driver-test32,$(test))))
driver-tests: $(addprefix $(BUILD)/test/driver32-,$(DRIVER32_TESTS))
endif
# tests/bench/driver runs this program.
TESTS += $(BUILD)/test/driver-call-cost
$(eval $(call program,$(BUILD)/test/driver-call-cost,tests/driver/call_cost.c tests/driver/harness.c tests/driver/axl_user.c,))
.PHONY: driver-tests
driver-tests: $(addprefix $(BUILD)/test/driver-,$(DRIVER_TESTS))

# The debug kernel, which finds driver bugs, and the tests that run on it. The results go to
# build/check-debug/results.json.
.PHONY: debug-kernel check-debug provoke
debug-kernel:
	$(Q)dir=$$(tests/driver/build-debug-kernel | tail -n 1) && [ -n "$$dir" ] && \
	make --no-print-directory kmod provoke KMOD_HEADERS=$$dir KERNELRELEASE_TARGET=$$(cat $$dir/include/config/kernel.release)
provoke:
	$(Q)d=$(abspath $(KMOD_DIR))/provoke && mkdir -p $$d && cp -pu kmod/provoke/* $$d/ && \
	{ env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL $(MAKE) --no-print-directory -C $(KMOD_HEADERS) M=$$d W=1 modules >$$d/build.log 2>&1 || { cat $$d/build.log >&2; exit 1; }; }
check-debug: debug-kernel driver-tests $(BUILD)/qemu-device/axl.so
	$(Q)QUICK=$(QUICK) tests/driver/check-debug $(PARTS)

# scripts/lint runs sparse over the same sources.
.PHONY: kmod-sparse
kmod-sparse: $(KMOD_KO)
	$(Q)mkdir -p $(KMOD_DIR) && t=$(abspath $(KMOD_DIR))/sparse.$$$$ && trap 'rm -rf $$t $$t.log' EXIT && mkdir $$t && cp -r $(KMOD_SRCS) kmod/uapi $$t/ && \
	{ env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL $(MAKE) --no-print-directory -j2 -C $(KMOD_HEADERS) M=$$t C=2 modules >$$t.log 2>&1 || { cat $$t.log >&2; exit 1; }; } && \
	! grep -E 'sparse[^ ]*: (warning|error):' $$t.log
