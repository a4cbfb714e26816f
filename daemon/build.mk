# SPDX-License-Identifier: Apache-2.0
#
# acceltraced: BPF object, its skeleton, the daemon, its tests.
DAEMON_SOURCES := $(addprefix daemon/sources/,common api axl system provider bpf)
DAEMON_SRCS := $(foreach d,daemon daemon/base $(DAEMON_SOURCES) daemon/session daemon/sink daemon/service,$(call folder-srcs,$(d)))
DAEMON_LIBS := -lbpf -lpci -luring -lcap -lzstd -lpthread
# A privileged process should have as little code as possible: libtrace/stream's objects instead of
# the whole library.
DAEMON_STREAM := $(foreach d,base stream ring provider control,$(call tree-srcs,libtrace/$d))

BPFTOOL ?= bpftool
BPF_ARCH := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(shell uname -m)))
# The multiarch folder has asm/types.h, which clang does not search by default.
BPF_CFLAGS := -g -O2 -Wall $(WERROR_CLANG) -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -I. \
	-idirafter /usr/include/$(shell $(CC) -dumpmachine)
# One object for calls, drivers and processes, another for each source on the kernel's tracepoints.
.PRECIOUS: $(OBJ)/daemon/bpf/%.bpf.o $(BUILD)/gen/daemon/bpf/%.skel.h
$(OBJ)/daemon/bpf/%.bpf.o: daemon/bpf/%.bpf.c $(wildcard daemon/bpf/*.h)
	$(call say,BPFCC,$<)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) $(call depends,$(@:.o=.d)) -c $< -o $@
$(BUILD)/gen/daemon/bpf/%.skel.h: $(OBJ)/daemon/bpf/%.bpf.o
	$(call say,SKEL,$@)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name $*_bpf >$@
# $(call skeletons,FOLDER OF OBJECTS): declares which of the objects include a skeleton.
define skeletons
$(patsubst %,$(1)/daemon/sources/bpf/%.o,api_source bpf_source bpf_sources function_source provider_source tracer tracked_processes): $(BUILD)/gen/daemon/bpf/tracer.skel.h
$(1)/daemon/sources/system/sched_source.o: $(BUILD)/gen/daemon/bpf/sched.skel.h
$(1)/daemon/sources/system/irq_source.o: $(BUILD)/gen/daemon/bpf/irq.skel.h
endef
$(eval $(call skeletons,$(OBJ)))

$(eval $(call program,$(BUILD)/bin/acceltraced,$(DAEMON_SRCS) $(DAEMON_STREAM),-lprotobuf $(DAEMON_LIBS),$(PROTO_O)))
ALL += $(BUILD)/bin/acceltraced

# The *_test.cc of some folders are one binary; they need no device and no privileges, or skip what
# does.
DAEMON_PARTS := $(filter-out daemon/main.cc,$(DAEMON_SRCS)) $(DAEMON_STREAM)
define daemon-test
UNIT_TESTS += $(BUILD)/test/unit-$(1)
$(call program,$(BUILD)/test/unit-$(1),$(wildcard $(addsuffix /*_test.cc,$(2))) tests/catch_main.cc $(DAEMON_PARTS),-lprotobuf $(DAEMON_LIBS),$(PROTO_O))
endef
$(eval $(call daemon-test,daemon,daemon daemon/base))
$(eval $(call daemon-test,daemon-sources,$(DAEMON_SOURCES)))
$(eval $(call daemon-test,daemon-session,daemon/session))
$(eval $(call daemon-test,daemon-sink,daemon/sink))
$(eval $(call daemon-test,daemon-service,daemon/service))

# The path from the ring to blocks.
DAEMON_RING_PARTS := $(patsubst %,daemon/sources/axl/%.cc,ring_reader record_check record_rows record_intake transpose) \
	daemon/base/host_info.cc
DAEMON_FUZZ_PARTS := $(DAEMON_RING_PARTS) $(patsubst %,daemon/sources/axl/%.cc,driver_record device_description) \
	$(call folder-srcs,daemon/session) $(DAEMON_STREAM)
$(eval $(call fuzzer,device_ring,daemon/sources/axl/device_ring_fuzz.cc $(DAEMON_FUZZ_PARTS),-lzstd))
$(eval $(call fuzzer,provider_ring,daemon/sources/provider/provider_ring_fuzz.cc daemon/sources/provider/provider_events.cc))
$(eval $(call fuzzer,control,daemon/service/control_fuzz.cc daemon/service/control.cc libtrace/base/utf8.cc $(call folder-srcs,libtrace/control)))
$(eval $(call fuzzer,config,daemon/service/config_fuzz.cc daemon/service/config.cc libtrace/control/quantities.cc))
$(eval $(call fuzzer,metrics,daemon/service/metrics_fuzz.cc daemon/service/metrics_server.cc daemon/service/config.cc libtrace/control/quantities.cc))

# For daemon/testing/private_test.py and the scenarios in the VM.
$(eval $(call program,$(BUILD)/test/axl-probe-app,daemon/testing/probe_app.cc,-lpthread))
$(eval $(call program,$(BUILD)/test/axl-trace-summary,daemon/testing/trace_summary.cc $(DAEMON_STREAM),-lprotobuf -lzstd,$(PROTO_O)))
TESTS += $(BUILD)/test/axl-probe-app $(BUILD)/test/axl-trace-summary
# For tests/bench/rings: fills the daemon's ring.
$(OBJ)/daemon/testing/bpf_flood.o: $(BUILD)/gen/daemon/bpf/flood.skel.h
$(eval $(call program,$(BUILD)/test/axl-bpf-flood,daemon/testing/bpf_flood.cc,-lbpf))
TESTS += $(BUILD)/test/axl-bpf-flood
# For tests/bench/collection: an event of a tracepoint with each way of attaching to it.
$(OBJ)/daemon/testing/tracepoint_cost.o: $(BUILD)/gen/daemon/bpf/ways.skel.h
$(eval $(call program,$(BUILD)/test/axl-tracepoint-cost,daemon/testing/tracepoint_cost.cc,-lbpf))
TESTS += $(BUILD)/test/axl-tracepoint-cost
# For daemon/testing/sched_test.py and system_test.py.
$(eval $(call program,$(BUILD)/test/axl-sched-app,daemon/testing/sched_app.cc,-lpthread))
TESTS += $(BUILD)/test/axl-sched-app
$(BUILD)/test/axl-api-app: $(call objs,daemon/testing/api_app.cc) $(BUILD)/lib/libaxl.so
	$(call say,LINK,$@)$(call anew,$(CXX) $(LDFLAGS) $(linked) -o $$t $(filter %.o,$^) -L$(BUILD)/lib -laxl -lpthread)
OBJS += $(call objs,daemon/testing/api_app.cc)
TESTS += $(BUILD)/test/axl-api-app
# For tests/vm/identity.sh.
$(BUILD)/test/axl-identity-app: $(call objs,daemon/testing/axl/identity_app.cc) $(BUILD)/lib/libaxl.so
	$(call say,LINK,$@)$(call anew,$(CXX) $(LDFLAGS) $(linked) -o $$t $(filter %.o,$^) -L$(BUILD)/lib -laxl -lpthread)
OBJS += $(call objs,daemon/testing/axl/identity_app.cc)
TESTS += $(BUILD)/test/axl-identity-app
# For daemon/testing/stacks_test.py.
build-id := -Wl,--build-id=sha1
$(call objs,daemon/testing/stack_app.cc): private CXXFLAGS += -fno-omit-frame-pointer -fno-optimize-sibling-calls
$(BUILD)/test/axl-stack-app: $(call objs,daemon/testing/stack_app.cc) $(BUILD)/lib/libaxl.so
	$(call say,LINK,$@)$(call anew,$(CXX) $(LDFLAGS) $(build-id) $(linked) -o $$t $(filter %.o,$^) -L$(BUILD)/lib -laxl -lpthread)
OBJS += $(call objs,daemon/testing/stack_app.cc)
TESTS += $(BUILD)/test/axl-stack-app

# The rings of API events: reader and writer under the thread sanitizer, and the reader with hostile
# memory.
RING_STRESS := daemon/testing/ring_stress.cc daemon/sources/api/api_ring_reader.cc $(call folder-srcs,libtrace/ring)
RING_STRESS_OBJS := $(patsubst %.cc,$(OBJ)/tsan/%.o,$(RING_STRESS))
# With that macro, protobuf's messages would have other members than in its library.
$(OBJ)/tsan/%.o: %.cc | $(PROTO_H)
	$(call say,TSANCXX,$<)$(call compile,$(CXX) $(CPPFLAGS) $(CXXFLAGS) -O1 -fsanitize=thread -U__SANITIZE_THREAD__)
$(BUILD)/test/host-ring-stress: $(RING_STRESS_OBJS)
	$(call say,LINK,$@)$(call anew,$(CXX) -fsanitize=thread -o $$t $^ -lpthread $(FMT_LIB))
OBJS += $(RING_STRESS_OBJS)
TESTS += $(BUILD)/test/host-ring-stress
# The service with its recordings, sessions and sinks, and clients of all kinds.
SERVICE_STRESS_OBJS := $(patsubst %.cc,$(OBJ)/tsan/%.o,$(sort daemon/testing/service_stress.cc $(DAEMON_PARTS)))
$(eval $(call skeletons,$(OBJ)/tsan))
$(BUILD)/test/host-service-stress: $(SERVICE_STRESS_OBJS) $(PROTO_O)
	$(call say,LINK,$@)$(call anew,$(CXX) -fsanitize=thread -o $$t $^ -lprotobuf $(DAEMON_LIBS) $(FMT_LIB))
OBJS += $(SERVICE_STRESS_OBJS)
# This compiles the whole daemon again, so it is a target of its own and not part of the tests.
.PHONY: check-tsan
check-tsan: $(BUILD)/test/host-service-stress
	$(Q)$<
$(eval $(call fuzzer,api_ring,daemon/sources/api/api_ring_fuzz.cc daemon/sources/api/api_ring_reader.cc))
# For tests/bench/collection: instructions from ring to block.
$(eval $(call program,$(BUILD)/test/axl-drain-cost,daemon/testing/axl/drain_cost.cc $(DAEMON_RING_PARTS) $(DAEMON_STREAM),-lprotobuf -lzstd,$(PROTO_O)))
TESTS += $(BUILD)/test/axl-drain-cost
# For tests/bench/service: the cost of a block on its way to the file.
$(eval $(call program,$(BUILD)/test/axl-write-cost,daemon/testing/write_cost.cc,-luring))
TESTS += $(BUILD)/test/axl-write-cost
# For tests/bench/collection: the cost of one reading of each source that reads /proc and /sys.
$(eval $(call program,$(BUILD)/test/axl-look-cost,daemon/testing/look_cost.cc daemon/sources/system/system_readers.cc daemon/base/text_files.cc))
TESTS += $(BUILD)/test/axl-look-cost
