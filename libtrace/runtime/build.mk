# SPDX-License-Identifier: Apache-2.0
#
# libaxl.so. Its unit tests link the objects themselves: they replace the system
# calls, which the library does not show.
RUNTIME_OBJS := $(call objs,$(call room-srcs,libtrace/runtime))
RUNTIME_TEST_OBJS := $(call objs,$(wildcard libtrace/runtime/*_test.cc) \
                                 $(wildcard libtrace/runtime/testing/*.cc) tests/catch_main.cc)
$(RUNTIME_OBJS): CXXFLAGS += -fvisibility=hidden

$(BUILD)/lib/libaxl.so: $(RUNTIME_OBJS) libtrace/runtime/libaxl.map
	$(call say,LINK,$@)mkdir -p $(@D) && $(CXX) -shared $(LDFLAGS) -Wl,-soname,libaxl.so \
	  -Wl,--version-script=libtrace/runtime/libaxl.map -Wl,-z,defs -o $@ $(filter %.o,$^) -lpthread

$(BUILD)/test/unit-runtime: $(RUNTIME_OBJS) $(RUNTIME_TEST_OBJS)
	$(call say,LINK,$@)mkdir -p $(@D) && $(CXX) $(LDFLAGS) -o $@ $^ -lpthread

OBJS += $(RUNTIME_OBJS) $(RUNTIME_TEST_OBJS)
ALL += $(BUILD)/lib/libaxl.so
UNIT_TESTS += $(BUILD)/test/unit-runtime
