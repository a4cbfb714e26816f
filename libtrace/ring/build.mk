# SPDX-License-Identifier: Apache-2.0
#
# The sources are part of libaxl.so (libtrace/runtime); the tests link the objects themselves.
$(eval $(call program,$(BUILD)/test/unit-ring,$(wildcard libtrace/ring/*_test.cc) tests/catch_main.cc $(call folder-srcs,libtrace/ring),-lpthread))
UNIT_TESTS += $(BUILD)/test/unit-ring
# Linked with the probes with which a library announces its rings and wakes their reader.
$(eval $(call program,$(BUILD)/test/axl-ring-cost,libtrace/ring/writer_bench.cc libtrace/runtime/probes.cc libtrace/runtime/copies.cc $(call folder-srcs,libtrace/ring),-lpthread))
TESTS += $(BUILD)/test/axl-ring-cost
