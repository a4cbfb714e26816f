# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call folder-srcs,libtrace/clock)
$(eval $(call unit-test,clock,libtrace/clock))
$(eval $(call fuzzer,clock-estimator,libtrace/clock/estimator_fuzz.cc $(call folder-srcs,libtrace/clock)))
