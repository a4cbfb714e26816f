# SPDX-License-Identifier: Apache-2.0
#
# axl.so, the device for the distribution's own QEMU. Its headers come from
# qemu-device/prepare, once for each installed QEMU version.
AXL_QEMU := $(BUILD)/qemu-device/qemu
AXL_SO := $(BUILD)/qemu-device/axl.so
AXL_SRCS := $(sort $(wildcard qemu-device/*/*.c))
AXL_OBJS := $(patsubst %.c,$(OBJ)/%.o,$(AXL_SRCS))
ALL += $(AXL_SO)

AXL_TREE := $(AXL_QEMU)/src
AXL_EVENTS := $(BUILD)/qemu-device/gen/trace
AXL_CPPFLAGS := -I. -I$(BUILD)/qemu-device/gen -I$(AXL_EVENTS) -I$(AXL_TREE)/build-axl -I$(AXL_TREE)/build-axl/qapi \
  -I$(AXL_TREE)/include -I$(AXL_TREE) -isystem $(AXL_TREE)/linux-headers -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_LARGEFILE_SOURCE
AXL_CFLAGS := -std=gnu11 -O3 -g -fPIC -Wall -Wextra $(WERROR_CC) -Wno-unused-parameter \
  -Wno-sign-compare -Wno-missing-field-initializers -Wno-cast-function-type -Wmissing-prototypes \
  -Wstrict-prototypes -Wold-style-definition -fno-strict-aliasing -fno-common -fwrapv -ffp-contract=off -fvisibility=hidden
# Plain C without QEMU headers; the tests link the same objects.
AXL_PLAIN_SRCS := $(sort $(wildcard qemu-device/timing/*.c qemu-device/memory/*.c qemu-device/knobs/knobs.c \
  qemu-device/frontend/decode.c))
AXL_PLAIN_OBJS := $(patsubst %.c,$(OBJ)/%.o,$(AXL_PLAIN_SRCS))
AXL_GLIB = $(shell $(PKG_CONFIG) --cflags glib-2.0)

# The build depends on the installed QEMU, which is not a source file: prepare checks it
# every time and touches the stamp only if it changed.
AXL_READY := $(BUILD)/qemu-device/ready
.PHONY: axl-qemu
axl-qemu: ;
$(AXL_READY): axl-qemu
	@mkdir -p $(@D) && qemu-device/prepare $(AXL_QEMU) && \
	  { cmp -s $(AXL_QEMU)/version $@ || cp $(AXL_QEMU)/version $@; }

# QEMU's trace events, by QEMU's own generator: -trace 'axl_*'.
AXL_TRACETOOL = python3 $(AXL_TREE)/scripts/tracetool.py --backend=log --group=hw_misc_axl
.PRECIOUS: $(AXL_EVENTS)/trace-hw_misc_axl.%
$(AXL_EVENTS)/trace-hw_misc_axl.%: qemu-device/trace-events $(AXL_READY)
	$(call say,GEN,$@)$(call anew,$(AXL_TRACETOOL) --format=$* $< $$t)
$(AXL_EVENTS)/trace-hw_misc_axl.o: $(AXL_EVENTS)/trace-hw_misc_axl.c $(AXL_EVENTS)/trace-hw_misc_axl.h
	$(call say,CC,$<)$(call anew,$(CC) $(AXL_CPPFLAGS) $(AXL_GLIB) $(AXL_CFLAGS) -c $< -o $$t)

$(AXL_PLAIN_OBJS): $(OBJ)/%.o: %.c
	$(call say,CC,$<)$(call compile,$(CC) -I. $(AXL_CFLAGS))

$(filter-out $(AXL_PLAIN_OBJS),$(AXL_OBJS)): $(OBJ)/%.o: %.c $(AXL_READY) $(AXL_EVENTS)/trace-hw_misc_axl.h
	$(call say,CC,$<)$(call compile,$(CC) $(AXL_CPPFLAGS) $(AXL_GLIB) $(AXL_CFLAGS))

$(AXL_SO): $(AXL_OBJS) $(AXL_EVENTS)/trace-hw_misc_axl.o
	$(call say,LINK,$@)$(call anew,$(CC) -shared $(linked) -o $$t $^ -lm)
OBJS += $(AXL_OBJS)

# QEMU's own accelerator for tests, which Debian builds but does not ship.
AXL_QTEST_SO := $(BUILD)/qemu-device/qtest-accel.so
$(AXL_QTEST_SO): $(AXL_READY)
	$(call say,CC,accel/qtest/qtest.c)$(CC) $(AXL_CPPFLAGS) $(AXL_GLIB) $(filter-out -W%,$(AXL_CFLAGS)) -w \
	  -DNEED_CPU_H -DCOMPILING_PER_TARGET '-DCONFIG_TARGET="x86_64-softmmu-config-target.h"' \
	  '-DCONFIG_DEVICES="x86_64-softmmu-config-devices.h"' -shared $(AXL_TREE)/accel/qtest/qtest.c -o $@

# Tests by the qtest protocol, without a guest: the test acts as CPU and clock.
AXL_QTEST := $(BUILD)/test/unit-qtest-axl
AXL_QTEST_SRCS := $(call folder-srcs,qemu-device/tests) $(wildcard qemu-device/tests/*_test.cc) tests/catch_main.cc
UNIT_TESTS += $(AXL_QTEST)
$(eval $(call program,$(AXL_QTEST),$(AXL_QTEST_SRCS),,$(AXL_SO) $(AXL_QTEST_SO)))

# The timing model alone, without QEMU.
AXL_TIMING := $(BUILD)/test/unit-axl-timing
AXL_TIMING_SRCS := $(wildcard qemu-device/timing/tests/*.cc) tests/catch_main.cc \
  $(patsubst %,qemu-device/tests/%.cc,cases descriptors expect)
UNIT_TESTS += $(AXL_TIMING)
$(eval $(call program,$(AXL_TIMING),$(AXL_TIMING_SRCS),,$(AXL_PLAIN_OBJS)))

# tests/bench/model runs this program.
AXL_MODEL_BENCH := $(BUILD)/test/axl-model-bench
TESTS += $(AXL_MODEL_BENCH)
$(eval $(call program,$(AXL_MODEL_BENCH),$(call folder-srcs,qemu-device/tests) qemu-device/tests/model_bench.cc,,$(AXL_SO) $(AXL_QTEST_SO)))

# The device with ASan and UBSan, and its fuzzer, which sends structured traffic by the
# qtest protocol. The sanitizer's library must be loaded before everything else that QEMU
# loads.
AXL_ASAN_SO := $(BUILD)/qemu-device/axl-asan.so
AXL_ASAN_OBJS := $(patsubst %.c,$(OBJ)/asan/%.o,$(AXL_SRCS))
AXL_ASAN_FLAGS := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
  -DAXL_NO_CLONES
$(AXL_ASAN_OBJS): $(OBJ)/asan/%.o: %.c $(AXL_READY) $(AXL_EVENTS)/trace-hw_misc_axl.h
	$(call say,ASANCC,$<)mkdir -p $(@D) && \
	  $(CC) $(AXL_CPPFLAGS) $(AXL_GLIB) $(filter-out -O3,$(AXL_CFLAGS)) $(AXL_ASAN_FLAGS) -MMD -MP -c $< -o $@
$(AXL_ASAN_SO): $(AXL_ASAN_OBJS) $(AXL_EVENTS)/trace-hw_misc_axl.o
	$(call say,LINK,$@)mkdir -p $(@D) && $(CC) -shared -fsanitize=address,undefined -o $@ $^ -lm
OBJS += $(AXL_ASAN_OBJS)

AXL_FUZZ := $(BUILD)/fuzz/device
FUZZERS += $(AXL_FUZZ)
$(OBJ)/qemu-device/tests/device_fuzz.o: CPPFLAGS += \
  -DAXL_LIBASAN='"$(shell $(CC) -print-file-name=libasan.so)"'
$(eval $(call program,$(AXL_FUZZ),$(call folder-srcs,qemu-device/tests) qemu-device/tests/device_fuzz.cc,,$(AXL_ASAN_SO) $(AXL_QTEST_SO)))

# Runs in the guest with the trace unit on and without a reader.
AXL_RING_RUN := $(BUILD)/test/axl-ring-run
TESTS += $(AXL_RING_RUN)
$(eval $(call program,$(AXL_RING_RUN),qemu-device/tests/ring_run_bench.cc,,))
