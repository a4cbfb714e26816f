# SPDX-License-Identifier: Apache-2.0
TRACE_BUILDER := $(wildcard tests/golden/trace_builder*.cc)
LIB_SRCS += $(call folder-srcs,libtrace/view)
LIB_LIBS += -lisal
# The Perfetto format has a separate schema, which is generated before this folder is compiled.
$(call objs,$(call folder-srcs,libtrace/view) $(wildcard libtrace/view/*_test.cc)): | $(BUILD)/gen/libtrace/view/perfetto.pb.h
$(BUILD)/lib/libacceltrace.so: $(OBJ)/gen/libtrace/view/perfetto.pb.o
# The page of `acceltrace html` is compiled in as text.
PAGE_PARTS := $(wildcard libtrace/view/page/*.js libtrace/view/page/*.css libtrace/view/page/*.html)
$(BUILD)/gen/libtrace/view/page.inc: libtrace/view/page/bundle $(PAGE_PARTS)
	$(call say,BUNDLE,$(@F))$(call anew,$< libtrace/view/page $$t)
$(OBJ)/libtrace/view/page_head.o: $(BUILD)/gen/libtrace/view/page.inc
$(eval $(call unit-test,view,libtrace/view,$(TRACE_BUILDER),-lz))
$(eval $(call program,$(BUILD)/test/bench-pyramid,libtrace/view/pyramid_bench.cc,-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
TESTS += $(BUILD)/test/bench-pyramid
