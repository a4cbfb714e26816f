# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call room-srcs,libtrace/view)
$(eval $(call unit-test,view,libtrace/view))
