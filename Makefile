# SPDX-License-Identifier: Apache-2.0
#
# Start with `make help`. Each folder describes itself in its build.mk; this file has the common
# rules. Nothing is written outside build/.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
ifneq ($(words $(subst :, ,$(CURDIR)))$(findstring :,$(CURDIR)),1)
$(error the builds of the kernel and of QEMU take no folder with a space or a colon in its name: move '$(CURDIR)')
endif

BUILD := build
# 1: C++ files are compiled in groups, see scripts/lib/jumbo. A build folder keeps its first
# setting.
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
# WERROR=1, for developers and CI: warnings are errors with the compilers that both Debians have.
# Other compilers have other warnings, which must not prevent a user's build.
WERROR ?=
compiler-version = $(firstword $(subst ., ,$(shell $(1) -dumpversion)))
werror = $(if $(WERROR),$(if $(filter $(if $(findstring clang,$(1)),14 19,12 14),$(call compiler-version,$(1))),-Werror))
WERROR_CC := $(call werror,$(CC))
WERROR_CLANG := $(call werror,$(CLANG))
WARNINGS := -Wall -Wextra $(call werror,$(CXX))
# g++ 12 to 14 report these falsely for joined strings (GCC bug 105651): warnings, not errors.
FALSE_ALARMS := $(if $(findstring clang,$(CXX)),,-Wno-error=array-bounds -Wno-error=restrict \
  -Wno-error=stringop-overflow)
OPT ?= -O2 -g
CXXFLAGS += -std=c++20 $(OPT) $(WARNINGS) $(FALSE_ALARMS) -fPIC -fvisibility-inlines-hidden
CFLAGS += -std=gnu11 $(OPT) -Wall -Wextra $(WERROR_CC) -fPIC
LDFLAGS += -Wl,-rpath,'$$ORIGIN/../lib'

# $(call anew,COMMAND): COMMAND makes $$t, which atomically becomes the target and has the time of
# its start. So two concurrent makes do not mix, and a file that was edited meanwhile is compiled
# again.
anew = mkdir -p $(@D) $(OBJ)/links && t=$@.$$$$ && trap 'rm -f $$t $$t.*' EXIT && touch $$t.start && $(1) && \
	touch -r $$t.start $$t && mv -f $$t $@
# $(call compile,COMPILER AND FLAGS): compiles the first prerequisite to an object and lists its
# includes, also headers of packages, so that it is compiled again with a new package and
# `scripts/lint packages` can check their origin.
compile = $(call anew,$(1) -MD -MP -MF $$t.d -MT $@ -c $< -o $$t && mv -f $$t.d $(@:.o=.d))
depends = -MD -MP -MF $(1) -MT $@
# The linker's inputs, including libraries, for the same check.
linked = -Wl,--dependency-file=$(OBJ)/links/$(subst /,-,$@).d
# The version of everything: programs, libraries, module, packages.
VERSION := $(shell sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' libtrace/base/version.h)
# $(call soname,INTERFACE): a library's name with its interface number, by which programs find it.
soname = -Wl,-soname,$(@F).$(1)
soname-link = && ln -sf $(@F) $@.$(1)
LIB_INTERFACE := $(basename $(VERSION))

# The sources of a folder that go into its product: no tests, no fuzzers.
folder-srcs = $(sort $(filter-out %_test.cc %_fuzz.cc %_bench.cc,$(wildcard $(1)/*.cc)))
# The same with the folders in it.
tree-srcs = $(foreach d,$(1) $(patsubst %/,%,$(wildcard $(1)/*/)),$(call folder-srcs,$(d)))
objs = $(patsubst %.cc,$(OBJ)/%.o,$(patsubst %.c,$(OBJ)/%.o,$(1)))

# Filled by the build.mk files.
ALL :=            # what `make` builds
LIB_SRCS :=       # libacceltrace.so
UNIT_TESTS :=     # Catch2 binaries, build/test/unit-*
TESTS :=          # other executables that must be built before `make check`
FUZZERS :=        # libFuzzer binaries, build/fuzz/*

.PHONY: all
all:

PROTOS := $(addprefix libtrace/proto/,trace host control)
PROTO_H := $(PROTOS:%=$(BUILD)/gen/%.pb.h)
PROTO_O := $(PROTOS:%=$(OBJ)/gen/%.pb.o)
PROTO_FUZZ_O := $(PROTOS:%=$(OBJ)/fuzz/gen/%.pb.o)

# Keeps intermediate files of pattern rules. Not .SECONDARY, which would not make a missing object
# whose source is older than the program.
.PRECIOUS: $(BUILD)/gen/%.pb.stamp $(BUILD)/gen/%.pb.h $(BUILD)/gen/%.pb.cc $(OBJ)/gen/%.pb.o \
  $(OBJ)/%.o $(OBJ)/fuzz/gen/%.pb.o $(OBJ)/fuzz/%.o

# Unchanged output keeps its time, so that a comment in a schema does not recompile everything.
$(BUILD)/gen/%.pb.stamp: %.proto
	$(call say,PROTOC,$<)mkdir -p $(@D) && t=$(BUILD)/gen/new.$$$$ && mkdir $$t && trap 'rm -rf $$t' EXIT && \
	  touch $$t/start && $(PROTOC) --cpp_out=$$t -I. $< && for file in $*.pb.cc $*.pb.h; do \
	    cmp -s $$t/$$file $(BUILD)/gen/$$file || mv -f $$t/$$file $(BUILD)/gen/$$file || exit 1; \
	  done && touch -r $$t/start $@
$(BUILD)/gen/%.pb.h $(BUILD)/gen/%.pb.cc: $(BUILD)/gen/%.pb.stamp ;

# It includes the other header, which objects with a precompiled header do not list.
$(BUILD)/gen/libtrace/proto/trace.pb.h: $(BUILD)/gen/libtrace/proto/trace.pb.stamp \
  $(BUILD)/gen/libtrace/proto/host.pb.h
	@test $@ -nt $(BUILD)/gen/libtrace/proto/host.pb.h || touch $@

# Compiled with the same flags as the objects that use it; otherwise g++ reads the header as text.
PCH ?= 1
# One for each optimisation, since g++ 12 may crash on one of another.
PCH_HEADER := $(BUILD)/pch/cc$(subst $() ,,$(OPT))/precompiled.h
PCH_BUILT := $(if $(PCH),$(PCH_HEADER).gch)
# The precompiled header includes only this one.
PCH_PROTO_H := $(BUILD)/gen/libtrace/proto/trace.pb.h
PCH_FLAGS = $(if $(PCH),-include $(PCH_HEADER))
$(PCH_HEADER).gch: scripts/lib/precompiled.h $(PCH_PROTO_H)
	$(call say,PCH,$<)mkdir -p $(@D) && cp $< $(PCH_HEADER) && \
	  $(call anew,$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(call depends,$(@:.gch=.d)) -x c++-header $< -o $$t)

# Warnings in generated code are not ours to fix.
$(OBJ)/gen/%.pb.o: $(BUILD)/gen/%.pb.cc | $(PROTO_H)
	$(call say,CXX,$<)$(call compile,$(CXX) $(CPPFLAGS) $(filter-out $(WARNINGS),$(CXXFLAGS)) -w)

# First the objects of joined sources: make uses the first of two matching pattern rules.
$(OBJ)/%.o: $(BUILD)/jumbo/%.cc | $(PROTO_H) $(PCH_BUILT)
	$(call say,CXX,$<)$(call compile,scripts/lib/jumbo compile $(CXX) $(CPPFLAGS) $(CXXFLAGS) $(PCH_FLAGS))

$(OBJ)/%.o: %.cc | $(PROTO_H) $(PCH_BUILT)
	$(call say,CXX,$<)$(call compile,$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(PCH_FLAGS))

$(OBJ)/%.o: %.c
	$(call say,CC,$<)$(call compile,$(CC) $(CPPFLAGS) $(CFLAGS))

# Used as a library: compiled into each user by its headers, it would double the build's time.
FMT_LIB := -Wl,--as-needed -lfmt

# $(call program,TARGET,SOURCES,LIBS,EXTRA PREREQUISITES)
define program
$(1): $(call objs,$(2)) $(4)
	$$(call say,LINK,$$@)$$(call anew,$$(CXX) $$(LDFLAGS) $$(linked) -o $$$$t $$(filter %.o,$$^) $(3) $$(FMT_LIB))
OBJS += $(call objs,$(2))
endef

# $(call unit-test,NAME,FOLDER,EXTRA SOURCES,LIBS): every *_test.cc of a folder and of those in it.
define unit-test
UNIT_TESTS += $(BUILD)/test/unit-$(1)
$(call program,$(BUILD)/test/unit-$(1),$(wildcard $(2)/*_test.cc $(2)/*/*_test.cc) tests/catch_main.cc $(3),-L$(BUILD)/lib -lacceltrace $(4) -lprotobuf,$(BUILD)/lib/libacceltrace.so)
endef

# $(call fuzzer,NAME,SOURCES,LIBS): built by clang with ASan and UBSan, with separate objects.
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
# Like PCH, for clang; one for each optimisation, which must equal that of its users.
FUZZ_PCH := $(if $(PCH),$(BUILD)/pch/fuzz$(subst $() ,,$(FUZZ_OPT)).pch)
# Not a pattern rule, because make tries those of intermediate files last, after the rules of
# ordinary objects.
$(FUZZ_PCH): scripts/lib/precompiled.h $(PCH_PROTO_H)
	$(call say,PCH,$< for fuzzers)mkdir -p $(@D) && \
	  $(call anew,$(CLANGXX) $(CPPFLAGS) $(FUZZ_FLAGS) -fpch-instantiate-templates \
	    $(call depends,$(@:.pch=.d)) -x c++-header $< -o $$t)
FUZZ_COMPILE = $(CLANGXX) $(CPPFLAGS) $(FUZZ_FLAGS) $(if $(FUZZ_PCH),-include-pch $(FUZZ_PCH)) \
  -Wall -Wextra $(WERROR_CLANG)
$(OBJ)/fuzz/%.o: $(BUILD)/jumbo/fuzz/%.cc | $(PROTO_H) $(FUZZ_PCH)
	$(call say,FUZZCXX,$<)$(call compile,scripts/lib/jumbo compile $(FUZZ_COMPILE))
$(OBJ)/fuzz/%.o: %.cc | $(PROTO_H) $(FUZZ_PCH)
	$(call say,FUZZCXX,$<)$(call compile,$(FUZZ_COMPILE))

# Included after the templates that they call.
include $(sort $(wildcard libtrace/*/build.mk libtrace/build.mk daemon/build.mk \
                          kmod/build.mk qemu-device/build.mk tests/build.mk scripts/build.mk))

# The plan of joined files depends on what links them, so it is made again when files or rules
# change.
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
# Programs that need neither kernel headers nor QEMU's source.
.PHONY: programs
programs: $(filter-out $(KMOD_KO) $(AXL_SO),$(ALL))

# libacceltrace.so: everything of libtrace except the runtime and the CLI.
LIB_EXPORTS := -Wl,--version-script=libtrace/libacceltrace.map
LIB_OBJS = $(call objs,$(LIB_SRCS)) $(PROTO_O)
$(BUILD)/lib/libacceltrace.so: $(LIB_OBJS) libtrace/libacceltrace.map
	$(call say,LINK,$@)$(call anew,$(CXX) -shared $(LDFLAGS) $(call soname,$(LIB_INTERFACE)) \
	  $(LIB_EXPORTS) $(linked) -o $$t $(filter %.o,$^) -lprotobuf $(LIB_LIBS) $(FMT_LIB)) \
	  $(call soname-link,$(LIB_INTERFACE))
OBJS += $(LIB_OBJS)

# Not for a plan, which would compile files alone that a rule names.
ifneq ($(JUMBO),plan)
-include $(patsubst %.o,%.d,$(filter %.o,$(OBJS))) $(PCH_HEADER).d $(FUZZ_PCH:.pch=.d)
endif

include scripts/targets.mk
