# SPDX-License-Identifier: Apache-2.0
# Damaged traces: damage.cc checks the answers, bombs.cc the memory, trace_fuzz.cc finds crashes.
MUTATOR_SRCS := tests/damage/mutator.cc tests/damage/blocks.cc
BUILDER_SRCS := $(wildcard tests/golden/trace_builder*.cc)
DAMAGE_SRCS := $(MUTATOR_SRCS) tests/damage/recordings.cc $(BUILDER_SRCS)
$(eval $(call program,$(BUILD)/test/tap-damage,tests/damage/damage.cc $(DAMAGE_SRCS),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
$(eval $(call program,$(BUILD)/test/tap-verify-ways,tests/damage/verify_ways.cc tests/damage/random_trace.cc $(DAMAGE_SRCS),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
$(eval $(call program,$(BUILD)/test/tap-bombs,tests/damage/bombs.cc tests/damage/whole_way.cc libtrace/cli/allocator.cc $(DAMAGE_SRCS),-L$(BUILD)/lib -lacceltrace -lprotobuf -ljemalloc,$(BUILD)/lib/libacceltrace.so))
$(eval $(call program,$(BUILD)/test/decode-rate,tests/damage/decode_rate.cc $(MUTATOR_SRCS),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
$(eval $(call program,$(BUILD)/test/load-trace,libtrace/model/load/load_bench.cc,-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
TESTS += $(BUILD)/test/decode-rate $(BUILD)/test/load-trace
TESTS += $(BUILD)/test/tap-damage $(BUILD)/test/tap-bombs $(BUILD)/test/tap-verify-ways
$(eval $(call fuzzer,trace,tests/damage/trace_fuzz.cc tests/damage/random_trace.cc tests/damage/whole_way.cc $(MUTATOR_SRCS) $(BUILDER_SRCS) $(filter libtrace/%,$(LIB_SRCS)),$(LIB_LIBS)))
$(BUILD)/fuzz/trace: $(OBJ)/fuzz/gen/libtrace/view/timeline/perfetto.pb.o
$(OBJ)/fuzz/libtrace/view/html/page_head.o: $(BUILD)/gen/libtrace/view/html/page.inc
$(patsubst %.cc,$(OBJ)/fuzz/%.o,$(call tree-srcs,libtrace/view)): | $(BUILD)/gen/libtrace/view/timeline/perfetto.pb.h

# 200,000 mutants take minutes. Tracing comparisons is useless for doubles, times and sums.
FUZZ_FAST := $(patsubst %.cc,$(OBJ)/fuzz/%.o,$(wildcard $(addsuffix .cc,libtrace/clock/* libtrace/model/*/* \
  libtrace/analysis/*/* libtrace/view/*/* tests/damage/* tests/golden/*)) libtrace/stream/columns/block.cc)
FUZZ_FAST_OPT ?= -O2
$(FUZZ_FAST): FUZZ_FLAGS += $(FUZZ_FAST_OPT) -fno-sanitize-coverage=trace-cmp
# Parsing and printing of protobuf itself is checked, but its coverage is not of interest.
$(OBJ)/fuzz/gen/%.pb.o: FUZZ_FLAGS += $(FUZZ_FAST_OPT) -fno-sanitize-coverage=edge,indirect-calls,trace-cmp,inline-8bit-counters,pc-table
