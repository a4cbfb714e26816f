# SPDX-License-Identifier: Apache-2.0
#
# Programs that use libaxl. Their unit tests link the runtime's objects and run
# on its driver in memory.
TRANSFORMER_SRCS := $(filter-out %/main.cc,$(call room-srcs,tests/workloads/transformer))
AXL_LIBS := -L$(BUILD)/lib -laxl

$(eval $(call program,$(BUILD)/bin/axl-transformer,$(TRANSFORMER_SRCS) \
  tests/workloads/transformer/main.cc,$(AXL_LIBS),$(BUILD)/lib/libaxl.so))
ALL += $(BUILD)/bin/axl-transformer

$(eval $(call program,$(BUILD)/test/unit-workloads,$(wildcard tests/workloads/*/*_test.cc) \
  $(TRANSFORMER_SRCS) tests/catch_main.cc $(call room-srcs,libtrace/runtime) \
  $(wildcard libtrace/runtime/testing/*.cc),-lpthread))
UNIT_TESTS += $(BUILD)/test/unit-workloads
