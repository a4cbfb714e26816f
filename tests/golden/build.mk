# SPDX-License-Identifier: Apache-2.0
# make-trace writes the synthetic traces in this folder; golden_test.sh reads them.
$(eval $(call program,$(BUILD)/test/make-trace,$(wildcard tests/golden/*.cc),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
TESTS += $(BUILD)/test/make-trace
