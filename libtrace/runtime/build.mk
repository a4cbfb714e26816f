# SPDX-License-Identifier: Apache-2.0
#
# libaxl.so. Its unit tests link the objects themselves, since they replace the system calls, which
# the library does not export.
RUNTIME_OBJS := $(call objs,$(call folder-srcs,libtrace/runtime) $(call folder-srcs,libtrace/ring))
RUNTIME_TEST_OBJS := $(call objs,$(wildcard libtrace/runtime/*_test.cc) \
                                 $(wildcard libtrace/runtime/testing/*.cc) tests/catch_main.cc)
# Must be increased when programs that were linked earlier would no longer run.
AXL_INTERFACE := 0
AXL_EXPORTS := -Wl,--version-script=libtrace/runtime/libaxl.map -Wl,-z,defs
$(RUNTIME_OBJS): CXXFLAGS += -fvisibility=hidden
# User stacks of API calls (record --stacks) follow frame pointers, and a probe must not precede the
# point where a function has set up its own.
$(RUNTIME_OBJS): private CXXFLAGS += -fno-omit-frame-pointer \
	$(if $(findstring clang,$(CXX)),-mllvm -enable-shrink-wrap=false,-fno-shrink-wrap)
$(RUNTIME_OBJS): PCH_FLAGS :=
$(RUNTIME_OBJS): libtrace/runtime/build.mk

$(BUILD)/lib/libaxl.so: $(RUNTIME_OBJS) libtrace/runtime/libaxl.map
	$(call say,LINK,$@)$(call anew,$(CXX) -shared $(LDFLAGS) $(call soname,$(AXL_INTERFACE)) \
	  $(AXL_EXPORTS) $(linked) -o $$t $(filter %.o,$^) -lpthread) $(call soname-link,$(AXL_INTERFACE))

$(BUILD)/test/unit-runtime: $(RUNTIME_OBJS) $(RUNTIME_TEST_OBJS)
	$(call say,LINK,$@)$(call anew,$(CXX) $(LDFLAGS) $(linked) -o $$t $^ -lpthread)

OBJS += $(RUNTIME_OBJS) $(RUNTIME_TEST_OBJS)
ALL += $(BUILD)/lib/libaxl.so
UNIT_TESTS += $(BUILD)/test/unit-runtime
