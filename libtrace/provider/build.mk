# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call folder-srcs,libtrace/provider)
$(eval $(call unit-test,provider,libtrace/provider))
$(eval $(call fuzzer,provider,$(call folder-srcs,libtrace/provider) libtrace/provider/provider_fuzz.cc))
# Programs look for providers here, in the same place as after `make install`.
PROVIDER_FILES := $(patsubst daemon/providers/%,$(BUILD)/share/acceltrace/providers/%,$(wildcard daemon/providers/*.provider))
$(BUILD)/share/acceltrace/providers/%.provider: daemon/providers/%.provider
	$(call say,COPY,$(@F))$(call anew,cp $< $$t)
ALL += $(PROVIDER_FILES)
