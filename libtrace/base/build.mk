# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call folder-srcs,libtrace/base)
$(eval $(call unit-test,base,libtrace/base))
