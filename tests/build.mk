# SPDX-License-Identifier: Apache-2.0
include $(sort $(wildcard tests/*/build.mk))

# Catch2 3 is a library, 2 is only headers: the object with main() takes the library in, so that
# every unit test links alike with either.
, := ,
CATCH_LIB := $(if $(wildcard /usr/include/catch2/catch_all.hpp),-lCatch2)
$(BUILD)/obj/tests/catch_main.o: tests/catch_main.cc | $(PROTO_H)
	$(call say,CXX,$<)mkdir -p $(@D) && $(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@$(if $(CATCH_LIB),.main && \
	  $(CXX) -r -nostdlib -o $@ $@.main -Wl$(,)--whole-archive $(CATCH_LIB) -Wl$(,)--no-whole-archive)
