# SPDX-License-Identifier: Apache-2.0
TRACE_BUILDER := $(wildcard tests/golden/trace_builder*.cc)
LIB_SRCS += $(call tree-srcs,libtrace/analysis)
$(eval $(call unit-test,analysis,libtrace/analysis,$(TRACE_BUILDER)))
$(eval $(call program,$(BUILD)/test/graph-rate,libtrace/analysis/whatif/graph_bench.cc,-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
