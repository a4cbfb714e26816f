# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call folder-srcs,libtrace/control)
$(eval $(call unit-test,control,libtrace/control))
