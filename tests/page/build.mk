# SPDX-License-Identifier: Apache-2.0
$(eval $(call program,$(BUILD)/test/make-page-trace,tests/page/make-page-trace.cc $(wildcard tests/golden/trace_builder*.cc),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
TESTS += $(BUILD)/test/make-page-trace
