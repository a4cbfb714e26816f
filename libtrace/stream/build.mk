# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call room-srcs,libtrace/stream)
$(eval $(call unit-test,stream,libtrace/stream))
