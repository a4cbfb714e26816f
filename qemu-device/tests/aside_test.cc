// SPDX-License-Identifier: Apache-2.0
//
// Large commands, which another thread computes: results and times are the same, the monitor
// answers meanwhile, and the device survives anything that happens during one.
#include <random>

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

constexpr uint64_t kA = 0x1000000, kB = 0x4000000, kC = 0x8000000;
// m * n * k = AXL_MAX_MACS.
constexpr uint32_t kRows = 2048, kCols = 2048, kDepth = 1024;
constexpr int64_t kBeyond = 10'000'000'000;  // any command's end

std::vector<std::string> Arguments(uint64_t work) {
  return {"-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off", "-device",
          "axl,id=axl0,bus=rp0,aside-work=" + std::to_string(work)};
}

void SetUp(Device* dev, unsigned context = 0, unsigned queue = 0) {
  dev->Enable();
  dev->EnableContext(context);
  dev->SetUpQueue(queue, context);
}

std::string Get(Device* dev, const std::string& property) {
  return dev->machine().Qmp("{\"execute\":\"qom-get\",\"arguments\":{\"path\":\"" + dev->path() +
                            "\",\"property\":\"" + property + "\"}}");
}

bool UnderWay(Device* dev) { return Get(dev, "aside-now").find("true") != std::string::npos; }

bool Has(const std::string& text, const char* what) { return text.find(what) != std::string::npos; }

// Starts the largest possible matmul and steps past its modelled end, where the device waits for
// the host's computation. On a busy host the computation may already be done when the test looks;
// then it starts another one.
void Begin(Device* dev, uint32_t* job) {
  for (int tries = 0; tries < 20; tries++) {
    dev->Push(0, Matmul(kA, kB, kC, kRows, kCols, kDepth, ++*job, 0, kLast));
    dev->Ring(0);
    dev->machine().Step(kBeyond);
    if (UnderWay(dev)) return;
    axl_cqe cqe = {};
    dev->R32(AXL_REG_ID);  // waits for the end
    dev->machine().Step(kBeyond);
    REQUIRE(dev->Poll(0, &cqe));
  }
  FAIL("no large command is computed aside");
}

// The times, results and records of a job.
struct Outcome {
  std::vector<uint64_t> ticks;
  std::vector<uint32_t> words, status;
  std::vector<uint8_t> records;
  Counters counters;
};

std::vector<axl_desc> Commands() {
  std::vector<axl_desc> all;
  uint32_t job = 10;
  auto vector = [&](unsigned op, uint32_t rows, uint32_t cols) {
    axl_desc d = Command(AXL_ENGINE_VECTOR, op, job++, 0, kLast);
    d.vector.src0 = kA;
    d.vector.src1 = kB;
    d.vector.dst = kC;
    d.vector.rows = rows;
    d.vector.cols = cols;
    d.vector.src0_stride = d.vector.src1_stride = d.vector.dst_stride = cols;
    d.vector.alpha_f32 = Bits(1.5f);
    d.vector.arg0 = op == AXL_OP_VEC_GATHER ? 4 : 3;
    d.vector.arg1 = cols;
    return d;
  };
  all.push_back(Matmul(kA, kB, kC, 33, 70, 129, job++, 0, kLast));
  all.push_back(Matmul(kA, kB, kC, 1, 300, 600, job++, 0, kLast));
  all.push_back(Matmul(kA, kB, kC, 5, 1, 77, job++, 0, kLast));
  all.back().matmul.batch = 3;
  all.back().matmul.batch_stride_a = 400;
  all.back().matmul.batch_stride_c = 10;
  for (unsigned op = AXL_OP_VEC_FILL; op <= AXL_OP_VEC_SUM; op++) {
    if (op != AXL_OP_VEC_GATHER) all.push_back(vector(op, 9, 62));
  }
  // Last, because its indices are out of range, so it fails and halts the context.
  all.push_back(vector(AXL_OP_VEC_GATHER, 9, 62));
  return all;
}

Outcome Go(uint64_t work) {
  Machine machine(Arguments(work));
  Device dev(&machine);
  Outcome out;
  SetUp(&dev);
  dev.SetUpTrace(0, 10, AXL_REC_CLASSES_ALL);
  std::mt19937 rng(7);
  std::vector<float> data(1 << 18);
  for (float& x : data) x = static_cast<float>(static_cast<int32_t>(rng())) * 1e-9f;
  uint64_t host = dev.Alloc(data.size() * sizeof(float));
  dev.Put(host, data);
  dev.Push(0, CopyIn(host, kA, data.size() * 4, 1, 0));
  dev.Push(0, CopyIn(host, kB, data.size() * 4, 1, 1, kLast));
  dev.Ring(0);
  axl_cqe copied = {};
  REQUIRE(dev.Await(0, &copied));
  auto run = [&](std::span<const axl_desc> commands) {
    for (const axl_desc& d : commands) dev.Push(0, d);
    dev.Ring(0);
    for (int step = 0; step < 100; step++) {
      machine.Step(20000);
      dev.R32(AXL_REG_ID);  // if it stands: until it goes on
      axl_cqe cqe = {};
      while (dev.Poll(0, &cqe)) {
        out.ticks.push_back(cqe.time);
        out.status.push_back(cqe.status);
      }
    }
  };
  std::vector<axl_desc> commands = Commands();
  run(std::span(commands).first(commands.size() - 1));
  run(std::span(commands).last(1));  // fails, and takes with it what has not ended
  for (const axl_record& r : dev.Records(0)) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&r);
    out.records.insert(out.records.end(), bytes, bytes + sizeof(r));
  }
  out.counters = dev.Latch();
  out.words.resize(1 << 14);
  for (size_t i = 0; i < out.words.size(); i++) {
    out.words[i] = machine.Read32(dev.window() + kC + 4 * i);
  }
  std::string aside = Get(&dev, "aside-commands");
  CHECK(Has(aside, work ? ": 17" : ": 0"));
  return out;
}

}  // namespace

TEST_CASE("numbers computed aside change neither results nor times", "[aside]") {
  Outcome at_once = Go(0), aside = Go(1);
  REQUIRE(at_once.ticks.size() == 17);
  CHECK(at_once.status.back() == AXL_ST_BAD_ADDRESS);
  CHECK(at_once.ticks == aside.ticks);
  CHECK(at_once.status == aside.status);
  CHECK(at_once.words == aside.words);
  CHECK(at_once.records == aside.records);
  CHECK(at_once.counters == aside.counters);
}

TEST_CASE("the monitor answers while the largest command is computed", "[aside]") {
  Machine machine(Arguments(1 << 24));
  Device dev(&machine);
  SetUp(&dev);
  uint32_t job = 0;
  int answers = 0;
  for (int tries = 0; tries < 5 && answers < 3; tries++) {
    Begin(&dev, &job);
    for (answers = 0; UnderWay(&dev); answers++) {
      REQUIRE(Has(machine.Qmp("{\"execute\":\"query-status\"}"), "running"));
    }
    axl_cqe cqe = {};
    dev.R32(AXL_REG_ID);
    machine.Step(kBeyond);
    REQUIRE(dev.Poll(0, &cqe));
    CHECK(cqe.job == job);
    CHECK(cqe.status == AXL_ST_OK);
  }
  CHECK(answers >= 3);
}

TEST_CASE("whatever comes in the middle of a large command is safe", "[aside]") {
  Machine machine(Arguments(1 << 24));
  Device dev(&machine);
  axl_cqe cqe = {};
  uint32_t job = 0;
  SetUp(&dev);
  Begin(&dev, &job);
  SECTION("a device reset") {
    dev.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
    CHECK_FALSE(UnderWay(&dev));
  }
  SECTION("a context reset") { dev.W32(AXL_REG_CTX_CTRL(0), AXL_CTX_RESET); }
  SECTION("its queue is disabled") { dev.W32(AXL_REG_Q_CTRL(0), 0); }
  SECTION("a bus reset") { REQUIRE(Has(machine.Qmp("{\"execute\":\"system_reset\"}"), "return")); }
  SECTION("migration") {
    CHECK(
        Has(machine.Qmp("{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"exec:cat>/dev/null\"}}"),
            "error"));
  }
  SECTION("stop and cont") {
    REQUIRE(Has(machine.Qmp("{\"execute\":\"stop\"}"), "return"));
    REQUIRE(Has(machine.Qmp("{\"execute\":\"query-status\"}"), "paused"));
    REQUIRE(Has(machine.Qmp("{\"execute\":\"cont\"}"), "return"));
    dev.R32(AXL_REG_ID);
    machine.Step(kBeyond);
    REQUIRE(dev.Poll(0, &cqe));
    CHECK(cqe.status == AXL_ST_OK);
  }
  SECTION("a property") {
    CHECK(dev.Set("matrix-rate", 500));
    CHECK_FALSE(UnderWay(&dev));
  }
  SECTION("it is pulled out") { CHECK(dev.Set("fault-removed", 1)); }
  SECTION("the machine ends") {}
  SECTION("it is unplugged") {
    // The guest powers the slot off: indicator and power controller. The results are not waited
    // for.
    constexpr unsigned kPort = 4 << 3;
    unsigned cap = machine.ConfigRead32(0, kPort, 0x34) & 0xff;
    while ((machine.ConfigRead32(0, kPort, cap) & 0xff) != 0x10) {
      cap = machine.ConfigRead32(0, kPort, cap) >> 8 & 0xff;
    }
    machine.ForgetEvents();
    REQUIRE(
        Has(machine.Qmp("{\"execute\":\"device_del\",\"arguments\":{\"id\":\"axl0\"}}"), "return"));
    unsigned slot = cap + 0x18;
    machine.ConfigWrite32(0, kPort, slot, (machine.ConfigRead32(0, kPort, slot) & 0xf8ff) | 0x0700);
    machine.AwaitEvent("DEVICE_DELETED");
    machine.Step(kBeyond);
  }
  CHECK(machine.Alive());
  CHECK(machine.Quit() == 0);
}

}  // namespace acceltrace::device
