# SPDX-License-Identifier: Apache-2.0
$(eval $(call program,$(BUILD)/bin/acceltrace,$(call folder-srcs,libtrace/cli),-L$(BUILD)/lib -lacceltrace -lprotobuf -lpci -ldl -ljemalloc,$(BUILD)/lib/libacceltrace.so))
ALL += $(BUILD)/bin/acceltrace
$(eval $(call unit-test,cli,libtrace/cli,libtrace/cli/daemon_client.cc))
TESTS += $(BUILD)/test/tap-spill
$(eval $(call program,$(BUILD)/test/tap-spill,libtrace/cli/spill_test.cc libtrace/cli/spill.cc libtrace/cli/allocator.cc,-L$(BUILD)/lib -lacceltrace -ljemalloc,$(BUILD)/lib/libacceltrace.so))
