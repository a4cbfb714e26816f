# SPDX-License-Identifier: Apache-2.0
#
# Libraries with the names that providers use, for daemon/testing/functions_test.py.
STANDIN := $(BUILD)/test/standin
define standin
TESTS += $(STANDIN)/$(1)
$(STANDIN)/$(1): tests/standin/library.c
	$$(call say,CC,$$@)$$(call anew,$$(CC) $$(CPPFLAGS) $$(CFLAGS) -shared -fvisibility=hidden -DSTANDIN_$(2) -Wl$$(comma)-soname$$(comma)$(1) -o $$$$t $$<)
endef
comma := ,
$(eval $(call standin,libcuda.so.1,CUDA))
$(eval $(call standin,libamdhip64.so.6,HIP))
$(eval $(call standin,libze_loader.so.1,ZE))
$(eval $(call program,$(BUILD)/test/standin-calls,tests/standin/calls.c,-ldl -lpthread))
TESTS += $(BUILD)/test/standin-calls
