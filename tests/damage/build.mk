# SPDX-License-Identifier: Apache-2.0
# Damaged traces: damage.cc judges the answers, bombs.cc the memory, trace_fuzz.cc finds crashes.
DAMAGE_SRCS := tests/damage/mutator.cc tests/damage/recordings.cc $(wildcard tests/golden/trace_builder*.cc)
$(eval $(call program,$(BUILD)/test/tap-damage,tests/damage/damage.cc $(DAMAGE_SRCS),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
$(eval $(call program,$(BUILD)/test/tap-bombs,tests/damage/bombs.cc tests/damage/whole_way.cc $(DAMAGE_SRCS),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
TESTS += $(BUILD)/test/tap-damage $(BUILD)/test/tap-bombs
$(eval $(call fuzzer,trace,tests/damage/trace_fuzz.cc tests/damage/mutator.cc tests/damage/whole_way.cc $(filter libtrace/%,$(LIB_SRCS))))
$(BUILD)/fuzz/trace: $(BUILD)/obj/fuzz/gen/libtrace/view/perfetto.pb.o
$(patsubst %.cc,$(BUILD)/obj/fuzz/%.o,$(wildcard libtrace/view/*.cc)): | $(BUILD)/gen/libtrace/view/perfetto.pb.h
