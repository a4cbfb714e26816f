# SPDX-License-Identifier: Apache-2.0
LIB_SRCS += $(call folder-srcs,libtrace/symbols)
$(eval $(call unit-test,symbols,libtrace/symbols))
$(eval $(call fuzzer,elf-symbols,libtrace/symbols/elf_symbols_fuzz.cc libtrace/symbols/elf_symbols.cc libtrace/symbols/demangle.cc))
