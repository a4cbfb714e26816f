# SPDX-License-Identifier: Apache-2.0
#
# Part of libaxl.so (libtrace/runtime); its tests link the objects themselves.
$(eval $(call program,$(BUILD)/test/unit-ring,$(wildcard libtrace/ring/*_test.cc) tests/catch_main.cc $(call folder-srcs,libtrace/ring),-lpthread))
UNIT_TESTS += $(BUILD)/test/unit-ring
$(eval $(call program,$(BUILD)/test/axl-ring-cost,libtrace/ring/writer_bench.cc $(call folder-srcs,libtrace/ring),-lpthread))
TESTS += $(BUILD)/test/axl-ring-cost
