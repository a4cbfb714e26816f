# SPDX-License-Identifier: Apache-2.0
$(eval $(call program,$(BUILD)/bin/acceltrace,$(call folder-srcs,libtrace/cli),-L$(BUILD)/lib -lacceltrace -lprotobuf -lpci -ldl -ljemalloc,$(BUILD)/lib/libacceltrace.so))
ALL += $(BUILD)/bin/acceltrace
$(eval $(call unit-test,cli,libtrace/cli,$(addprefix libtrace/cli/,daemon_client.cc spill.cc allocator.cc),-ljemalloc))
