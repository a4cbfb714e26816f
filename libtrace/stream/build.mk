# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call folder-srcs,libtrace/stream)
LIB_LIBS += -lzstd
$(eval $(call unit-test,stream,libtrace/stream))
$(eval $(call fuzzer,stream-reader,libtrace/stream/reader_fuzz.cc $(call folder-srcs,libtrace/stream),-lzstd))
