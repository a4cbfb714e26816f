# SPDX-License-Identifier: Apache-2.0
$(eval $(call program,$(BUILD)/bin/acceltrace,$(call folder-srcs,libtrace/cli),-L$(BUILD)/lib -lacceltrace -lprotobuf -lpci -ldl -ljemalloc,$(BUILD)/lib/libacceltrace.so))
ALL += $(BUILD)/bin/acceltrace
$(eval $(call unit-test,cli,libtrace/cli,$(addprefix libtrace/cli/,daemon_client.cc spill.cc allocator.cc record_options.cc trace_files.cc verb.cc),-ljemalloc))
# The descriptions of tables in docs/query.md are compiled in as text.
$(BUILD)/gen/libtrace/query/table_texts.inc: libtrace/query/table-texts docs/query.md
	$(call say,TEXTS,$(@F))$(call anew,$< docs/query.md $$t)
$(OBJ)/libtrace/cli/query_runner.o: $(BUILD)/gen/libtrace/query/table_texts.inc
