# SPDX-License-Identifier: Apache-2.0
TRACE_BUILDER := $(wildcard tests/golden/trace_builder*.cc)
LIB_SRCS += $(call folder-srcs,libtrace/analysis)
$(eval $(call unit-test,analysis,libtrace/analysis,$(TRACE_BUILDER)))
