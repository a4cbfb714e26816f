# SPDX-License-Identifier: Apache-2.0
SCORING_SRCS := tests/scoring/simulator.cc tests/scoring/baselines.cc tests/scoring/score.cc
HISTORY_SRCS := $(addprefix tests/scoring/history,.cc _packets.cc _clock.cc _check.cc _figures.cc)
FIGURE_SRCS := tests/scoring/figures.cc tests/scoring/true_breakdown.cc
$(eval $(call unit-test,scoring,tests/scoring,$(SCORING_SRCS) $(HISTORY_SRCS) $(FIGURE_SRCS) $(wildcard tests/golden/trace_builder*.cc)))
$(eval $(call program,$(BUILD)/test/clock-histories,tests/scoring/histories.cc $(HISTORY_SRCS) $(FIGURE_SRCS),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
$(eval $(call program,$(BUILD)/test/clock-matrix,tests/scoring/matrix.cc $(SCORING_SRCS),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
$(eval $(call program,$(BUILD)/test/clock-score,tests/scoring/score_trace.cc tests/scoring/truth.cc $(SCORING_SRCS),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
$(eval $(call program,$(BUILD)/test/axl-pulse,tests/scoring/pulse.cc,-L$(BUILD)/lib -laxl,$(BUILD)/lib/libaxl.so))
$(eval $(call program,$(BUILD)/test/clock-speed,tests/scoring/speed.cc $(SCORING_SRCS),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
$(eval $(call program,$(BUILD)/test/report-score,tests/scoring/score_report.cc tests/scoring/truth.cc $(FIGURE_SRCS),-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
TESTS += $(BUILD)/test/clock-histories $(BUILD)/test/clock-speed $(BUILD)/test/axl-pulse $(BUILD)/test/clock-matrix $(BUILD)/test/clock-score $(BUILD)/test/report-score
