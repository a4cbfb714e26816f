# SPDX-License-Identifier: Apache-2.0
TRACE_BUILDER := $(wildcard tests/golden/trace_builder*.cc)
LIB_SRCS += $(call tree-srcs,libtrace/model)
$(eval $(call unit-test,model,libtrace/model,$(TRACE_BUILDER)))
