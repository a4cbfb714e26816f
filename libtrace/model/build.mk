# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call room-srcs,libtrace/model)
$(eval $(call unit-test,model,libtrace/model))
