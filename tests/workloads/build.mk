# SPDX-License-Identifier: Apache-2.0
#
# Programs that use libaxl: build/bin/axl-NAME from the folder NAME. Their unit tests
# link the runtime's objects and run on its driver in memory.
WORKLOADS := transformer bandwidth calibrate matmul stress patterns observed synth
WORKLOAD_LIBS := -L$(BUILD)/lib -laxl -lpthread
workload-srcs = $(filter-out %/main.cc,$(call folder-srcs,tests/workloads/$(1)))

define workload
$(call program,$(BUILD)/bin/axl-$(1),$(call workload-srcs,$(1)) tests/workloads/$(1)/main.cc,$(WORKLOAD_LIBS),$(BUILD)/lib/libaxl.so)
ALL += $(BUILD)/bin/axl-$(1)
endef
$(foreach name,$(WORKLOADS),$(eval $(call workload,$(name))))

# Compiled as C, which the header supports.
$(eval $(call program,$(BUILD)/bin/axl-hello,tests/workloads/hello/hello.c,$(WORKLOAD_LIBS),$(BUILD)/lib/libaxl.so))
ALL += $(BUILD)/bin/axl-hello

# The example again, as a function of the unit test.
HELLO_TEST_OBJ := $(OBJ)/tests/workloads/hello/hello_test_main.o
$(HELLO_TEST_OBJ): tests/workloads/hello/hello.c
	$(call say,CC,$<)$(call compile,$(CC) $(CPPFLAGS) $(CFLAGS) -Dmain=HelloMain)

$(eval $(call program,$(BUILD)/test/unit-workloads,$(wildcard tests/workloads/*/*_test.cc) \
  $(foreach name,$(WORKLOADS),$(call workload-srcs,$(name))) tests/catch_main.cc \
  $(call folder-srcs,libtrace/runtime) $(call folder-srcs,libtrace/ring) $(wildcard libtrace/runtime/testing/*.cc),-lpthread,$(HELLO_TEST_OBJ)))
OBJS += $(HELLO_TEST_OBJ)
UNIT_TESTS += $(BUILD)/test/unit-workloads
