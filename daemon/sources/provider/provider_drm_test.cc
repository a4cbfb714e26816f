// SPDX-License-Identifier: Apache-2.0
//
// The shipped provider of GPUs with simulated scheduler tracepoints in the record layouts of two
// kernels: formats, filters, perf rings and matching, as in a recording.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "daemon/sources/provider/provider_devices.h"
#include "daemon/testing/fake_perf_ring.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

namespace fs = std::filesystem;

constexpr char kCommon[] =
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
// Linux 6.17 identifies a job by its fence's context and number, and records name the device.
constexpr char kJob[] =
    "\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:u32 job_count;\toffset:12;\tsize:4;\tsigned:0;\n"
    "\tfield:int hw_job_count;\toffset:16;\tsize:4;\tsigned:1;\n"
    "\tfield:__data_loc char[] dev;\toffset:20;\tsize:4;\tsigned:0;\n"
    "\tfield:u64 fence_context;\toffset:24;\tsize:8;\tsigned:0;\n"
    "\tfield:u64 fence_seqno;\toffset:32;\tsize:8;\tsigned:0;\n"
    "\tfield:u64 client_id;\toffset:40;\tsize:8;\tsigned:0;\n";
constexpr char kDone[] =
    "\tfield:u64 fence_context;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:u64 fence_seqno;\toffset:16;\tsize:8;\tsigned:0;\n";
constexpr char kDependency[] =
    "\tfield:u64 fence_context;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:u64 fence_seqno;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:u64 ctx;\toffset:24;\tsize:8;\tsigned:0;\n"
    "\tfield:u64 seqno;\toffset:32;\tsize:8;\tsigned:0;\n";
// Linux 6.1 identifies it by the address of its fence.
constexpr char kOldJob[] =
    "\tfield:struct drm_sched_entity * entity;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:struct dma_fence * fence;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"
    "\tfield:uint64_t id;\toffset:32;\tsize:8;\tsigned:0;\n"
    "\tfield:u32 job_count;\toffset:40;\tsize:4;\tsigned:0;\n"
    "\tfield:int hw_job_count;\toffset:44;\tsize:4;\tsigned:1;\n";
constexpr char kOldDone[] = "\tfield:struct dma_fence * fence;\toffset:8;\tsize:8;\tsigned:0;\n";

constexpr char kGpu[] = "0000:03:00.0", kOther[] = "0000:04:00.0";
constexpr uint16_t kQueueId = 500, kRunId = 501, kDoneId = 502, kDependencyId = 503;

std::string Head(uint16_t id) {
  std::string raw;
  FakePerfRing::Add(&raw, id);
  FakePerfRing::Add(&raw, uint16_t{0});
  FakePerfRing::Add(&raw, int32_t{1});
  return raw;
}

std::string Job(uint16_t id, uint64_t context, uint64_t seqno, const std::string& device) {
  std::string raw = Head(id);
  FakePerfRing::Add(&raw, uint32_t{5 << 16 | 48});  // "gfx0"
  FakePerfRing::Add(&raw, uint64_t{0});             // counts
  FakePerfRing::Add(&raw, static_cast<uint32_t>((device.size() + 1) << 16 | 53));
  for (const uint64_t value : {context, seqno, uint64_t{9}}) FakePerfRing::Add(&raw, value);
  return raw + "gfx0" + '\0' + device + '\0';
}

std::string Numbers(uint16_t id, std::initializer_list<uint64_t> values) {
  std::string raw = Head(id);
  for (const uint64_t value : values) FakePerfRing::Add(&raw, value);
  return raw;
}

// A machine with two GPUs and the shipped provider.
class World : public ProviderSink {
 public:
  World() : top_(fs::temp_directory_path() / ("drm-" + std::to_string(getpid()))) {
    fs::remove_all(top_);
    for (const char* address : {kGpu, kOther}) {
      const std::string folder = std::string("sys/bus/pci/devices/") + address;
      Write(folder + "/class", "0x030000\n");
      Write("drivers/amdgpu/x", "");
      fs::create_symlink("../../../../../drivers/amdgpu", top_ / folder / "driver");
    }
  }
  ~World() override { fs::remove_all(top_); }

  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((top_ / path).parent_path());
    std::ofstream(top_ / path) << text;
  }
  void AddTracepoint(const std::string& name, uint16_t id, const std::string& fields) const {
    Write("sys/kernel/tracing/events/gpu_scheduler/" + name + "/format",
          "name: " + name + "\nID: " + std::to_string(id) + "\nformat:\n" + kCommon + fields);
  }
  void Find() {
    provider::Machine machine(top_);
    machine.set_kernel(6u << 16 | 1);
    const auto found =
        FindProviderDevices({kGpu}, provider::LoadProviders({"daemon/providers"}), machine, 16);
    INFO(found.message());
    REQUIRE(found.ok());
    REQUIRE(found->devices.size() == 1);
    for (const TracepointRole& role : found->devices[0].roles)
      matcher.AddRole(role.id, role.config);
    lacks = found->devices[0].lacks;
  }
  // Writes a sample to a CPU's ring and reads it.
  void Write(uint32_t cpu, int64_t time_ns, const std::string& raw) {
    struct Taker : PerfRing::Sink {
      void OnSample(const PerfSample& sample) override { CHECK(world->matcher.Take(sample, cpu)); }
      void OnLost(uint64_t, int64_t) override { FAIL("nothing was lost"); }
      void OnBad() override { FAIL("a sample is taken for none"); }
      World* world = nullptr;
      uint32_t cpu = 0;
    } taker;
    taker.world = this;
    taker.cpu = cpu;
    FakePerfRing& ring = rings_[cpu];
    ring.Sample(time_ns, {7, 7}, raw);
    ring.tail =
        PerfRing(ring.data(), FakePerfRing::kBytes).Read(ring.tail, ring.head, SIZE_MAX, &taker);
  }

  bool IsTracked(uint32_t) override { return true; }
  bool IsKernelThread(uint32_t) override { return false; }
  bool WasTracked(uint32_t, int64_t, bool now) override { return now; }
  void OnProviderEvent(const HostEvent& event) override { rows.push_back(event); }
  void OnProviderLoss(uint64_t count, int64_t, int64_t) override { lost += count; }

  ProviderMatcher matcher{true, true, this};
  std::vector<HostEvent> rows;
  std::vector<std::string> lacks;
  uint64_t lost = 0;

 private:
  fs::path top_;
  std::map<uint32_t, FakePerfRing> rings_;
};

struct Counts {
  uint64_t submits = 0, starts = 0, completions = 0, dependencies = 0;
};

// Checks that each job's rows are in order and complete.
Counts Check(const World& world) {
  Counts counts;
  std::map<uint32_t, int> state;  // submitted, started, completed
  for (const HostEvent& row : world.rows) {
    int& now = state[row.job];
    switch (row.kind) {
      case proto::HostBatch::KIND_SUBMIT:
        CHECK(now == 0);
        now = 1, ++counts.submits;
        break;
      case proto::HostBatch::KIND_DEPENDENCY:
        CHECK(now == 1);
        ++counts.dependencies;
        CHECK(state.at(static_cast<uint32_t>(row.arg0)) < 3);
        break;
      case proto::HostBatch::KIND_DOORBELL:
        CHECK(now == 1);
        now = 2, ++counts.starts;
        break;
      default:
        CHECK(now == 2);
        now = 3, ++counts.completions;
    }
  }
  CHECK(std::all_of(state.begin(), state.end(), [](const auto& one) { return one.second == 3; }));
  CHECK(world.matcher.unfinished() == 0);
  CHECK(world.lost == 0);
  return counts;
}

TEST_CASE("jobs of a GPU's scheduler: 100 % are paired, with queues and dependencies") {
  World world;
  world.AddTracepoint("drm_sched_job_queue", kQueueId, kJob);
  world.AddTracepoint("drm_sched_job_run", kRunId, kJob);
  world.AddTracepoint("drm_sched_job_done", kDoneId, kDone);
  world.AddTracepoint("drm_sched_job_add_dep", kDependencyId, kDependency);
  world.Find();
  CHECK(world.lacks.empty());
  // Three queues have a job every 10 us, each of which depends on the previous queue's job; they
  // are completed by interrupts on other CPUs, which are read first. Another GPU does the same.
  constexpr uint64_t kJobs = 2000;
  std::mt19937 random(1);
  for (uint64_t i = 0; i < kJobs; ++i) {
    const auto at = static_cast<int64_t>(10'000 * i);
    const uint64_t context = 100 + i % 3, seqno = i / 3 + 1;
    const auto cpu = static_cast<uint32_t>(random() % 4);
    world.Write((cpu + 1) % 4, at + 25'000, Numbers(kDoneId, {context, seqno}));
    world.Write(cpu, at, Job(kQueueId, context, seqno, kGpu));
    world.Write(cpu, at, Job(kQueueId, context + 1000, seqno, kOther));
    if (i > 0) {
      world.Write(cpu, at + 100,
                  Numbers(kDependencyId, {context, seqno, 100 + (i - 1) % 3, (i - 1) / 3 + 1}));
      world.Write(cpu, at + 150, Numbers(kDependencyId, {context, seqno, 77, 1}));  // a display's
    }
    world.Write((cpu + 2) % 4, at + 5'000, Job(kRunId, context, seqno, kGpu));
    world.Write((cpu + 3) % 4, at + 26'000, Numbers(kDoneId, {context + 1000, seqno}));
    if (i % 64 == 0) world.matcher.Match(at - 100'000);
  }
  world.matcher.Match(INT64_MAX);
  const Counts counts = Check(world);
  CHECK(counts.submits == kJobs);
  CHECK(counts.starts == kJobs);
  CHECK(counts.completions == kJobs);
  CHECK(counts.dependencies == kJobs - 1);
  std::set<uint32_t> queues;
  for (const HostEvent& row : world.rows) queues.insert(row.queue);
  CHECK(queues == std::set<uint32_t>{100, 101, 102});
  CHECK(world.matcher.late() == 0);
}

TEST_CASE("jobs of an older scheduler are known by their fences' addresses, used again and again") {
  World world;
  world.AddTracepoint("drm_sched_job", kQueueId, kOldJob);
  world.AddTracepoint("drm_run_job", kRunId, kOldJob);
  world.AddTracepoint("drm_sched_process_job", kDoneId, kOldDone);
  world.Find();
  CHECK(world.lacks.size() == 1);  // the dependencies
  const auto job = [](uint16_t id, uint64_t fence, uint64_t number) {
    std::string raw = Numbers(id, {0xffff888000001000, fence});
    FakePerfRing::Add(&raw, uint32_t{5 << 16 | 48});
    FakePerfRing::Add(&raw, uint32_t{0});
    FakePerfRing::Add(&raw, number);
    FakePerfRing::Add(&raw, uint64_t{0});
    return raw + "gfx0" + '\0';
  };
  constexpr uint64_t kJobs = 2000;
  for (uint64_t i = 0; i < kJobs; ++i) {
    const auto at = static_cast<int64_t>(10'000 * i);
    const uint64_t fence = 0xffff888012340000 + 256 * (i % 4);
    world.Write(1, at + 35'000, Numbers(kDoneId, {fence}));
    world.Write(0, at, job(kQueueId, fence, i));
    world.Write(2, at + 3'000, job(kRunId, fence, i));
    if (i % 64 == 0) world.matcher.Match(at - 100'000);
  }
  world.matcher.Match(INT64_MAX);
  const Counts counts = Check(world);
  CHECK(counts.submits == kJobs);
  CHECK(counts.completions == kJobs);
  CHECK(counts.dependencies == 0);
}

}  // namespace
}  // namespace acceltrace::daemon
