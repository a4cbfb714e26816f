# SPDX-License-Identifier: Apache-2.0
#
# The front door: `make help`. Each folder describes itself in its build.mk; this
# file holds what they share. Nothing is written outside build/.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
ifneq ($(words $(subst :, ,$(CURDIR)))$(findstring :,$(CURDIR)),1)
$(error the builds of the kernel and of QEMU take no folder with a space or a colon in its name: move '$(CURDIR)')
endif

BUILD := build
# 1: C++ files are compiled some at a time, see scripts/lib/jumbo. A build folder stays as it began.
JUMBO ?= $(if $(wildcard $(BUILD)/jumbo/plan.mk),1)
OBJ := $(BUILD)/obj$(if $(JUMBO),-jumbo)
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-8s %s\n' $(1) $(2);)

CXX ?= g++
ifeq ($(origin CXX),default)
CXX := g++
endif
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
CLANGXX ?= clang++
PROTOC ?= protoc
PKG_CONFIG ?= pkg-config

DEFINES := -D_GNU_SOURCE
CPPFLAGS += -I. -I$(BUILD)/gen $(DEFINES)
# WERROR=1, for developers and CI: warnings are errors with the compilers that both Debians have. Others
# warn of other things, which must not keep a user from building.
WERROR ?=
compiler-version = $(firstword $(subst ., ,$(shell $(1) -dumpversion)))
werror = $(if $(WERROR),$(if $(filter $(if $(findstring clang,$(1)),14 19,12 14),$(call compiler-version,$(1))),-Werror))
WERROR_CC := $(call werror,$(CC))
WERROR_CLANG := $(call werror,$(CLANG))
WARNINGS := -Wall -Wextra $(call werror,$(CXX))
# g++ 12 to 14 give these falsely where strings are joined (GCC bug 105651): warnings, not errors.
FALSE_ALARMS := $(if $(findstring clang,$(CXX)),,-Wno-error=array-bounds -Wno-error=restrict \
  -Wno-error=stringop-overflow)
OPT ?= -O2 -g
CXXFLAGS += -std=c++20 $(OPT) $(WARNINGS) $(FALSE_ALARMS) -fPIC -fvisibility-inlines-hidden
CFLAGS += -std=gnu11 $(OPT) -Wall -Wextra $(WERROR_CC) -fPIC
LDFLAGS += -Wl,-rpath,'$$ORIGIN/../lib'

# $(call anew,COMMAND): COMMAND makes $$t, which becomes the target in one step and is as old as its
# making. So two makes at once do not mix, and what was edited meanwhile is made again.
anew = mkdir -p $(@D) $(OBJ)/links && t=$@.$$$$ && trap 'rm -f $$t $$t.*' EXIT && touch $$t.start && $(1) && \
	touch -r $$t.start $$t && mv -f $$t $@
# $(call compile,COMPILER AND FLAGS): the first prerequisite to an object and what it includes, headers of
# packages too: they are made anew with the package, and `scripts/lint packages` asks where they are from.
compile = $(call anew,$(1) -MD -MP -MF $$t.d -MT $@ -c $< -o $$t && mv -f $$t.d $(@:.o=.d))
depends = -MD -MP -MF $(1) -MT $@
# Of a linker, for the same check: what it took, libraries included.
linked = -Wl,--dependency-file=$(OBJ)/links/$(subst /,-,$@).d
# One number for everything: programs, libraries, module, packages.
VERSION := $(shell sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' libtrace/stream/version.h)
# $(call soname,INTERFACE): a library's name with the number of its interface, by which programs find it.
soname = -Wl,-soname,$(@F).$(1)
soname-link = && ln -sf $(@F) $@.$(1)
LIB_INTERFACE := $(basename $(VERSION))

# The sources of a folder that go into its product: no tests, no fuzzers.
folder-srcs = $(sort $(filter-out %_test.cc %_fuzz.cc %_bench.cc,$(wildcard $(1)/*.cc)))
objs = $(patsubst %.cc,$(OBJ)/%.o,$(patsubst %.c,$(OBJ)/%.o,$(1)))

# Filled by the build.mk files.
ALL :=            # what `make` builds
LIB_SRCS :=       # libacceltrace.so
UNIT_TESTS :=     # Catch2 binaries, build/test/unit-*
TESTS :=          # other executables that must be built before `make check`
FUZZERS :=        # libFuzzer binaries, build/fuzz/*

.PHONY: all
all:

PROTOS := libtrace/proto/trace libtrace/proto/host
PROTO_H := $(PROTOS:%=$(BUILD)/gen/%.pb.h)
PROTO_O := $(PROTOS:%=$(OBJ)/gen/%.pb.o)
PROTO_FUZZ_O := $(PROTOS:%=$(OBJ)/fuzz/gen/%.pb.o)

# What only pattern rules name is kept. Not .SECONDARY: an object that is missing would then not be
# made, were its source older than the program.
.PRECIOUS: $(BUILD)/gen/%.pb.stamp $(BUILD)/gen/%.pb.h $(BUILD)/gen/%.pb.cc $(OBJ)/gen/%.pb.o \
  $(OBJ)/%.o $(OBJ)/fuzz/gen/%.pb.o $(OBJ)/fuzz/%.o

# What comes out the same keeps its age: a comment in a schema is no reason to compile everything.
$(BUILD)/gen/%.pb.stamp: %.proto
	$(call say,PROTOC,$<)mkdir -p $(@D) && t=$(BUILD)/gen/new.$$$$ && mkdir $$t && trap 'rm -rf $$t' EXIT && \
	  touch $$t/start && $(PROTOC) --cpp_out=$$t -I. $< && for file in $*.pb.cc $*.pb.h; do \
	    cmp -s $$t/$$file $(BUILD)/gen/$$file || mv -f $$t/$$file $(BUILD)/gen/$$file || exit 1; \
	  done && touch -r $$t/start $@
$(BUILD)/gen/%.pb.h $(BUILD)/gen/%.pb.cc: $(BUILD)/gen/%.pb.stamp ;

# It includes the other one, which objects with a precompiled header do not list.
$(BUILD)/gen/libtrace/proto/trace.pb.h: $(BUILD)/gen/libtrace/proto/trace.pb.stamp \
  $(BUILD)/gen/libtrace/proto/host.pb.h
	@test $@ -nt $(BUILD)/gen/libtrace/proto/host.pb.h || touch $@

# Compiled with the same flags as the objects that use it, or g++ takes the header as text.
PCH ?= 1
# Another one for each optimisation: g++ 12 may crash on one of another.
PCH_HEADER := $(BUILD)/pch/cc$(subst $() ,,$(OPT))/precompiled.h
PCH_BUILT := $(if $(PCH),$(PCH_HEADER).gch)
PCH_FLAGS = $(if $(PCH),-include $(PCH_HEADER))
$(PCH_HEADER).gch: scripts/lib/precompiled.h $(PROTO_H)
	$(call say,PCH,$<)mkdir -p $(@D) && cp $< $(PCH_HEADER) && \
	  $(call anew,$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(call depends,$(@:.gch=.d)) -x c++-header $< -o $$t)

# Generated code is not ours to warn about.
$(OBJ)/gen/%.pb.o: $(BUILD)/gen/%.pb.cc | $(PROTO_H)
	$(call say,CXX,$<)$(call compile,$(CXX) $(CPPFLAGS) $(filter-out $(WARNINGS),$(CXXFLAGS)) -w)

# Of what a joined source stands for: of two rules that fit, make takes the first.
$(OBJ)/%.o: $(BUILD)/jumbo/%.cc | $(PROTO_H) $(PCH_BUILT)
	$(call say,CXX,$<)$(call compile,scripts/lib/jumbo compile $(CXX) $(CPPFLAGS) $(CXXFLAGS) $(PCH_FLAGS))

$(OBJ)/%.o: %.cc | $(PROTO_H) $(PCH_BUILT)
	$(call say,CXX,$<)$(call compile,$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(PCH_FLAGS))

$(OBJ)/%.o: %.c
	$(call say,CC,$<)$(call compile,$(CC) $(CPPFLAGS) $(CFLAGS))

# Compiled into each file that uses it, as its headers can be, it doubles the build's time.
FMT_LIB := -Wl,--as-needed -lfmt

# $(call program,TARGET,SOURCES,LIBS,EXTRA PREREQUISITES)
define program
$(1): $(call objs,$(2)) $(4)
	$$(call say,LINK,$$@)$$(call anew,$$(CXX) $$(LDFLAGS) $$(linked) -o $$$$t $$(filter %.o,$$^) $(3) $$(FMT_LIB))
OBJS += $(call objs,$(2))
endef

# $(call unit-test,NAME,FOLDER,EXTRA SOURCES,LIBS): every *_test.cc of a folder.
define unit-test
UNIT_TESTS += $(BUILD)/test/unit-$(1)
$(call program,$(BUILD)/test/unit-$(1),$(wildcard $(2)/*_test.cc) tests/catch_main.cc $(3),-L$(BUILD)/lib -lacceltrace $(4) -lprotobuf,$(BUILD)/lib/libacceltrace.so)
endef

# $(call fuzzer,NAME,SOURCES,LIBS): built by clang with ASan and UBSan, objects of its own.
define fuzzer
FUZZERS += $(BUILD)/fuzz/$(1)
$(BUILD)/fuzz/$(1): $(patsubst %.cc,$(OBJ)/fuzz/%.o,$(2)) $(PROTO_FUZZ_O)
	$$(call say,LINK,$$@)$$(call anew,$$(CLANGXX) $$(FUZZ_LINK) $$(linked) -o $$$$t $$^ $(3) -lprotobuf $$(FMT_LIB))
OBJS += $(patsubst %.cc,$(OBJ)/fuzz/%.o,$(2))
endef

FUZZ_LINK := -fsanitize=fuzzer,address,undefined
FUZZ_OPT ?= -O1 -g
FUZZ_FLAGS := -std=c++20 $(FUZZ_OPT) -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
$(OBJ)/fuzz/gen/%.pb.o: $(BUILD)/gen/%.pb.cc | $(PROTO_H)
	$(call say,FUZZCXX,$<)$(call compile,$(CLANGXX) $(CPPFLAGS) $(FUZZ_FLAGS) -w)
# As PCH, for clang; another one for each optimisation, which it must share with what uses it.
FUZZ_PCH := $(if $(PCH),$(BUILD)/pch/fuzz$(subst $() ,,$(FUZZ_OPT)).pch)
# No pattern: what another pattern makes is looked for last, after the rules of ordinary objects.
$(FUZZ_PCH): scripts/lib/precompiled.h $(PROTO_H)
	$(call say,PCH,$< for fuzzers)mkdir -p $(@D) && \
	  $(call anew,$(CLANGXX) $(CPPFLAGS) $(FUZZ_FLAGS) -fpch-instantiate-templates \
	    $(call depends,$(@:.pch=.d)) -x c++-header $< -o $$t)
FUZZ_COMPILE = $(CLANGXX) $(CPPFLAGS) $(FUZZ_FLAGS) $(if $(FUZZ_PCH),-include-pch $(FUZZ_PCH)) \
  -Wall -Wextra $(WERROR_CLANG)
$(OBJ)/fuzz/%.o: $(BUILD)/jumbo/fuzz/%.cc | $(PROTO_H) $(FUZZ_PCH)
	$(call say,FUZZCXX,$<)$(call compile,scripts/lib/jumbo compile $(FUZZ_COMPILE))
$(OBJ)/fuzz/%.o: %.cc | $(PROTO_H) $(FUZZ_PCH)
	$(call say,FUZZCXX,$<)$(call compile,$(FUZZ_COMPILE))

# After the templates that it calls.
include $(sort $(wildcard libtrace/*/build.mk libtrace/build.mk daemon/build.mk \
                          kmod/build.mk qemu-device/build.mk tests/build.mk scripts/build.mk))

# Which files are joined: by what links them, so anew where files or rules have come or gone.
ifneq ($(filter-out plan,$(JUMBO)),)
JUMBO_NEEDS := scripts/lib/jumbo $(MAKEFILE_LIST) $(sort $(dir $(wildcard $(foreach folder, \
  libtrace daemon tests,$(folder)/*.cc $(folder)/*/*.cc $(folder)/*/*/*.cc))))
include $(BUILD)/jumbo/plan.mk
$(BUILD)/jumbo/plan.mk: $(JUMBO_NEEDS)
	$(call say,JUMBO,$(@D))scripts/lib/jumbo plan $(@D)
$(JUMBO_EMPTY): $(BUILD)/jumbo/empty.o
	$(Q)mkdir -p $(@D) && cp $< $@
$(BUILD)/jumbo/empty.o:
	$(Q)mkdir -p $(@D) && echo '' | $(CC) -x c -c - -o $@
endif

all: $(ALL)
# What needs neither a kernel's headers nor QEMU's source.
.PHONY: programs
programs: $(filter-out $(KMOD_KO) $(AXL_SO),$(ALL))

# libacceltrace.so: everything of libtrace but the runtime and the CLI.
LIB_EXPORTS := -Wl,--version-script=libtrace/libacceltrace.map
LIB_OBJS = $(call objs,$(LIB_SRCS)) $(PROTO_O)
$(BUILD)/lib/libacceltrace.so: $(LIB_OBJS) libtrace/libacceltrace.map
	$(call say,LINK,$@)$(call anew,$(CXX) -shared $(LDFLAGS) $(call soname,$(LIB_INTERFACE)) \
	  $(LIB_EXPORTS) $(linked) -o $$t $(filter %.o,$^) -lprotobuf $(LIB_LIBS) $(FMT_LIB)) \
	  $(call soname-link,$(LIB_INTERFACE))
OBJS += $(LIB_OBJS)

# Not for a plan, which takes what a rule names for a reason to compile a file alone.
ifneq ($(JUMBO),plan)
-include $(patsubst %.o,%.d,$(filter %.o,$(OBJS))) $(PCH_HEADER).d $(FUZZ_PCH:.pch=.d)
endif

include scripts/targets.mk
