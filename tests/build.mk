# SPDX-License-Identifier: Apache-2.0
include $(sort $(wildcard tests/*/build.mk))

# Catch2 3 is a library, 2 is only headers. The object with main() links the library in, so that
# every unit test links in the same way with either.
CATCH_LIB := $(if $(wildcard /usr/include/catch2/catch_all.hpp),-lCatch2)
CATCH_ALL := -Wl,--whole-archive $(CATCH_LIB) -Wl,--no-whole-archive
$(OBJ)/tests/catch_main.o: tests/catch_main.cc | $(PROTO_H)
	$(call say,CXX,$<)$(call compile,$(CXX) $(CPPFLAGS) $(CXXFLAGS))$(if $(CATCH_LIB), && \
	  t=$@.$$$$ && $(CXX) -r -nostdlib -o $$t $@ $(CATCH_ALL) && touch -r $@ $$t && mv -f $$t $@)

# A driver of another version, for tests/vm/bad-input.sh.
OTHER_VERSION := $(BUILD)/test/other-version/axl.ko
TESTS += $(OTHER_VERSION)
$(OTHER_VERSION): tests/vm/lib/make-other-version $(KMOD_SRCS)
	$(call say,KMOD,$@)tests/vm/lib/make-other-version $(KMOD_HEADERS) $(@D)
