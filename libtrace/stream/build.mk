# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call tree-srcs,libtrace/stream)
LIB_LIBS += -lzstd
$(eval $(call unit-test,stream,libtrace/stream))
$(eval $(call fuzzer,stream-reader,libtrace/stream/file/stream_reader_fuzz.cc $(foreach d,base stream,$(call tree-srcs,libtrace/$d)),-lzstd))
