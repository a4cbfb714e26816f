# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call folder-srcs,libtrace/query)
LIB_LIBS += -lsqlite3
TRACE_BUILDER := $(wildcard tests/golden/trace_builder*.cc)
$(eval $(call unit-test,query,libtrace/query,$(TRACE_BUILDER),-lsqlite3))
