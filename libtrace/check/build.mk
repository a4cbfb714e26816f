# SPDX-License-Identifier: Apache-2.0
TRACE_BUILDER := $(wildcard tests/golden/trace_builder*.cc)
LIB_SRCS += $(call folder-srcs,libtrace/check)
$(eval $(call unit-test,check,libtrace/check,$(TRACE_BUILDER)))
$(eval $(call fuzzer,rules,$(foreach folder,check query analysis symbols model clock stream base,$(call tree-srcs,libtrace/$(folder))) libtrace/check/rules_fuzz.cc $(TRACE_BUILDER),-lsqlite3 -lzstd))
