# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call room-srcs,libtrace/analysis)
$(eval $(call unit-test,analysis,libtrace/analysis))
