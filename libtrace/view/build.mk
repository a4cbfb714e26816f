# SPDX-License-Identifier: Apache-2.0
TRACE_BUILDER := $(wildcard tests/golden/trace_builder*.cc)
LIB_SRCS += $(call tree-srcs,libtrace/view)
LIB_LIBS += -lisal
# The Perfetto format has a separate schema, which is generated before this folder is compiled.
$(call objs,$(call tree-srcs,libtrace/view) $(wildcard libtrace/view/*/*_test.cc)): | $(BUILD)/gen/libtrace/view/timeline/perfetto.pb.h
$(BUILD)/lib/libacceltrace.so: $(OBJ)/gen/libtrace/view/timeline/perfetto.pb.o
# The page of `acceltrace html` is compiled in as text.
PAGE_PARTS := $(wildcard libtrace/view/page/*.js libtrace/view/page/*.css libtrace/view/page/*.html)
$(BUILD)/gen/libtrace/view/html/page.inc: libtrace/view/page/bundle $(PAGE_PARTS)
	$(call say,BUNDLE,$(@F))$(call anew,$< libtrace/view/page $$t)
$(OBJ)/libtrace/view/html/page_head.o: $(BUILD)/gen/libtrace/view/html/page.inc
$(eval $(call unit-test,view,libtrace/view,$(TRACE_BUILDER),-lz))
$(eval $(call program,$(BUILD)/test/bench-pyramid,libtrace/view/html/pyramid_bench.cc,-L$(BUILD)/lib -lacceltrace -lprotobuf,$(BUILD)/lib/libacceltrace.so))
TESTS += $(BUILD)/test/bench-pyramid
