// SPDX-License-Identifier: Apache-2.0
//
// The host may leave the device alone for a while (foresight.c) if that is not visible outside. The
// same random workload runs on a device that wakes for every event and on one that uses foresight.
// Truth logs, counters, rings and, at every step and without register access, host memory and
// messages must be identical, also across whole-device resets. Some workloads have two devices that
// copy from and to a region of each other's memory; readers of results there must wait for
// completion, so nothing else uses it. The device itself aborts under qtest if a bus access comes
// before the wake-up that it promised.
// wake-up that it promised.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "qemu-device/tests/workload.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

constexpr unsigned kQueues = 4, kContexts = 3;
constexpr uint64_t kHostBytes = 1 << 16, kListBytes = 16384, kLists = 64;
// In device memory, beyond the range of random commands.
constexpr uint64_t kShared = 64 << 20, kSharedBytes = 1 << 17;

const char* Properties(uint32_t seed) {
  static const char* const kSets[] = {
      "",
      ",dispatch-ns=0,pcie-latency-ns=0,dram-latency-ns=0",
      ",dispatch-ns=10,pcie-gen=6,pcie-width=16",
      ",pcie-gen=1,pcie-width=1,pcie-tags=2,clock-ppm=-500,clock-bits=40",
      ",model=functional",
      ",matrix-rows=8,matrix-cols=16,vector-lanes=4,dram-banks=8,link-retrain-ns=777",
  };
  return kSets[seed % std::size(kSets)];
}

uint64_t Mix(uint64_t hash, const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

template <typename T>
uint64_t Hash(const T* v, size_t count) {
  return Mix(0xcbf29ce484222325, reinterpret_cast<const uint8_t*>(v), count * sizeof(T));
}

struct Seen {
  std::vector<uint64_t> trail;  // what each step showed
  std::string truth;
  uint64_t jobs = 0, records = 0, lost = 0, interrupts = 0, peer_copies = 0, resets = 0;
};

unsigned Devices(uint32_t seed) { return seed % 3 == 1 ? 2 : 1; }

std::string Truth(const std::string& truth, unsigned i) { return truth + std::to_string(i); }

std::vector<std::string> Arguments(uint32_t seed, bool eager, const std::string& truth) {
  std::vector<std::string> out;
  for (unsigned i = 0; i < Devices(seed); i++) {
    std::string n = std::to_string(i);
    out.insert(out.end(),
               {"-device", "axl,id=axl" + n + ",bus=rp" + n + ",truth=" + Truth(truth, i) +
                               Properties(seed + i) + (eager ? ",eager=on" : "")});
  }
  return out;
}

// One device and its workload.
class Unit {
 public:
  Unit(Machine* machine, unsigned index, uint32_t seed)
      : dev_(machine, index, "axl" + std::to_string(index)),
        host_(dev_.Alloc(kHostBytes)),
        lists_(dev_.Alloc(kLists * kListBytes)),
        work_(seed + 1000 * index, host_, kHostBytes) {
    bool small = work_.Chance(50), watermark = work_.Chance(50);
    for (unsigned c = 0; c < kContexts; c++) priority_[c] = work_.Below(4);
    SetUpContexts();
    for (unsigned q = 0; q < kQueues; q++) {
      dev_.SetUpQueue(q, q % kContexts, 9, 9);
      cq_[q] = dev_.R64(AXL_REG_Q_CQ_BASE(q));
    }
    dev_.SetUpTrace(0, small ? 6 : 13, AXL_REC_CLASSES_ALL, watermark ? 5 + work_.Below(200) : 0,
                    work_.Chance(30) ? 3000 + work_.Below(300000) : 0);
    uint32_t without = work_.Chance(30) ? AXL_REC_CLASS(AXL_REC_CMD) : 0;
    dev_.SetUpTrace(2, 5, AXL_REC_CLASSES_ALL & ~without, work_.Chance(30) ? 4 : 0, 0);
  }

  void SetPeer(const Unit& peer) { peer_ = peer.dev_.window() + kShared; }
  Workload* work() { return &work_; }

  void SubmitSome() {
    for (unsigned q = 0; q < kQueues; q++) {
      if (work_.Chance(80)) Submit(q);
    }
  }

  // Reads memory only, so that the device does not notice.
  uint64_t Look() {
    uint64_t hash = Hash(dev_.Get<uint8_t>(host_, kHostBytes).data(), kHostBytes);
    for (unsigned q = 0; q < kQueues; q++) {
      auto cq = dev_.Get<axl_cqe>(cq_[q], 512);
      hash = hash * 31 + Hash(cq.data(), cq.size());
    }
    for (unsigned v = 0; v <= kQueues; v++) hash = hash * 31 + dev_.Messages(v);
    if (peer_) hash = hash * 31 + Hash(dev_.Get<uint8_t>(peer_, 8192).data(), 8192);
    return hash;
  }

  void End(Seen* seen) {
    Counters c = dev_.Latch();
    seen->trail.push_back(Hash(c.data(), c.size()));
    seen->interrupts += c[AXL_CTR_INTERRUPTS];
    for (unsigned i = 0; i < kContexts; i++) {
      c = dev_.ContextCounters(i);
      seen->trail.push_back(Hash(c.data(), c.size()));
    }
    seen->lost += dev_.R64(AXL_REG_TR_LOST(0)) + dev_.R64(AXL_REG_TR_LOST(2));
    seen->peer_copies += peer_copies_;
    seen->resets += resets_;
    Consume(seen);
  }

  // As the driver's poll does; by then all records of the past are visible.
  void Consume(Seen* seen) {
    for (unsigned r : {0u, 2u}) {
      auto records = dev_.Records(r, work_.Chance(60));
      seen->records += records.size();
      seen->trail.push_back(Hash(records.data(), records.size()));
    }
  }

  void Disturb() {
    static const char* const kKnobs[] = {"dram-bandwidth", "clock-mhz", "dispatch-ns",
                                         "matrix-rate"};
    static const uint32_t kLeast[] = {1000, 200, 0, 100}, kMost[] = {60000, 3000, 300, 3000};
    unsigned k = work_.Below(4);
    switch (work_.Below(11)) {
      case 0:
        dev_.Set("link-speed", 1 + work_.Below(6));
        break;
      case 1:
        dev_.Set("throttle-permille", 100 + work_.Below(901));
        break;
      case 2:
        dev_.Set("fault-poison", 1);
        break;
      case 3: {
        unsigned c = work_.Below(kContexts);
        dev_.W32(AXL_REG_CTX_CTRL(c), AXL_CTX_RESET | AXL_CTX_ENABLE);
        for (unsigned q = c; q < kQueues; q += kContexts) dev_.Resume(q);
        break;
      }
      case 4:
        dev_.Set("fault-late-irq-ns", work_.Below(20000));
        dev_.Set("fault-late-irqs", 2);
        break;
      case 5:
        dev_.W32(AXL_REG_INT_STATUS, ~0u);
        break;
      case 6:
        dev_.Set("clock-ramp-ns", work_.Below(9000));
        dev_.Set("clock-ppb", work_.Below(100000));
        break;
      case 7:
        dev_.R32(AXL_REG_CTX_STATUS(0));
        break;
      case 8:
        Reset();
        break;
      default:
        dev_.Set(kKnobs[k], kLeast[k] + work_.Below(kMost[k] - kLeast[k]));
        break;
    }
  }

 private:
  void SetUpContexts() {
    dev_.Enable();
    for (unsigned c = 0; c < kContexts; c++) {
      dev_.EnableContext(c);
      dev_.W32(AXL_REG_CTX_PRIORITY(c), priority_[c]);
    }
  }

  // Resets the whole device with everything in flight.
  void Reset() {
    dev_.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
    SetUpContexts();
    for (unsigned q = 0; q < kQueues; q++) dev_.Resume(q);
    for (unsigned r : {0u, 2u}) dev_.ResumeTrace(r);
    for (uint64_t& value : signaled_) value = 0;
    resets_++;
  }

  void Submit(unsigned q) {
    uint32_t job = ++job_, count = 1 + work_.Below(work_.Chance(20) ? 80 : 12);
    for (uint32_t i = 0; i < count; i++) {
      std::vector<axl_sg> entries;
      uint64_t list = work_.Chance(20) ? lists_ + kListBytes * (list_++ % kLists) : 0;
      axl_desc d = work_.Next(list, &entries);
      if (entries.size() * sizeof(axl_sg) > kListBytes) continue;
      if (!entries.empty()) dev_.Put(list, entries);
      if (peer_ && work_.Chance(50)) Redirect(&d);
      d.job = job;
      d.index = i;
      // Chains across queues; a semaphore not signalled yet waits for a later round.
      auto sem = static_cast<uint16_t>(work_.Below(6));
      if (work_.Chance(35) && signaled_[sem]) {
        d.wait_sem[work_.Below(2)] = sem;
        d.wait_value[d.wait_sem[0] == sem ? 0 : 1] = signaled_[sem] + (work_.Chance(3) ? 1 : 0);
      }
      if (work_.Chance(40)) {
        d.signal_sem = static_cast<uint16_t>(work_.Below(6));
        d.signal_value = ++signaled_[d.signal_sem];
      }
      if (work_.Chance(2)) d.reserved = 1;            // a bad descriptor
      if (work_.Chance(2)) d.copy.host = 0xfffff0000;  // or a bus error, if it is a copy
      if (work_.Chance(10)) d.flags |= AXL_DESC_F_COMPLETE;
      dev_.Push(q, d);
    }
    dev_.Push(q, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, job, count, kLast));
    dev_.Ring(q);
  }

  // Redirects a plain copy to or from the peer, or the region that the peer uses.
  void Redirect(axl_desc* d) {
    if ((d->opcode != AXL_OP_COPY_H2D && d->opcode != AXL_OP_COPY_D2H) ||
        (d->flags & AXL_DESC_F_SG)) {
      return;
    }
    bool to_peer = work_.Chance(70);
    uint64_t pitch = to_peer ? d->copy.host_pitch : d->copy.device_pitch;
    uint64_t bytes = pitch * d->copy.rows;
    if (bytes >= kSharedBytes) return;
    uint64_t at = work_.Below(static_cast<uint32_t>(kSharedBytes - bytes));
    if (to_peer) {
      d->copy.host = peer_ + at;
    } else {
      d->copy.device = kShared + at;
    }
    peer_copies_++;
  }

  Device dev_;
  uint64_t host_, lists_, peer_ = 0;
  Workload work_;
  uint64_t cq_[kQueues] = {}, signaled_[6] = {};
  uint32_t priority_[kContexts] = {};
  uint32_t job_ = 0, list_ = 0, peer_copies_ = 0, resets_ = 0;
};

Seen Go(uint32_t seed, bool eager, const std::string& truth) {
  Machine machine(Arguments(seed, eager, truth));
  std::vector<Unit> units;
  Seen seen;
  for (unsigned i = 0; i < Devices(seed); i++) units.emplace_back(&machine, i, seed);
  if (units.size() == 2) {
    units[0].SetPeer(units[1]);
    units[1].SetPeer(units[0]);
  }
  Workload* chance = units[0].work();
  auto look = [&] {
    for (Unit& unit : units) seen.trail.push_back(unit.Look());
  };
  for (unsigned round = 0; round < 3; round++) {
    for (Unit& unit : units) unit.SubmitSome();
    for (unsigned i = 0; i < 40; i++) {
      machine.Step(1 + chance->Below(chance->Chance(20) ? 30000 : 600));
      look();
      for (Unit& unit : units) {
        if (unit.work()->Chance(12)) unit.Disturb();
        if (unit.work()->Chance(15)) unit.Consume(&seen);
      }
    }
  }
  for (unsigned i = 0; i < 30; i++) {
    machine.Step(20000);
    look();
  }
  for (Unit& unit : units) unit.End(&seen);
  machine.Quit();
  for (unsigned i = 0; i < units.size(); i++) {
    std::ifstream in(Truth(truth, i));
    std::ostringstream all;
    all << in.rdbuf();
    seen.truth += all.str();
  }
  // A reset clears the counters.
  for (size_t at = 0; (at = seen.truth.find("\"t\":\"job\"", at)) != std::string::npos; at++) {
    seen.jobs++;
  }
  return seen;
}

uint32_t First() {
  const char* env = std::getenv("AXL_LATENCY_FIRST");
  return env ? static_cast<uint32_t>(std::atoi(env)) : 0;
}

uint32_t Seeds() {
  const char* env = std::getenv("AXL_LATENCY_SEEDS");
  return env ? static_cast<uint32_t>(std::atoi(env)) : 12;
}

}  // namespace

TEST_CASE("waking seldom shows nowhere", "[latency]") {
  auto dir = std::filesystem::temp_directory_path() / ("axl-latency." + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  Seen sum;
  for (uint32_t seed = First(); seed < First() + Seeds(); seed++) {
    INFO("seed " << seed << ", properties " << Properties(seed));
    Seen eager = Go(seed, true, dir / "eager");
    Seen lazy = Go(seed, false, dir / "lazy");
    REQUIRE(eager.trail.size() == lazy.trail.size());
    size_t step = 0;
    while (step < eager.trail.size() && eager.trail[step] == lazy.trail[step]) step++;
    CHECK(step == eager.trail.size());
    CHECK((eager.truth == lazy.truth));
    REQUIRE(eager.truth.size() > 1000);
    sum.jobs += eager.jobs;
    sum.records += eager.records;
    sum.lost += eager.lost;
    sum.interrupts += eager.interrupts;
    sum.peer_copies += eager.peer_copies;
    sum.resets += eager.resets;
  }
  // The workloads must be large enough to compare.
  CHECK(sum.jobs > 3 * Seeds());
  CHECK(sum.records > 100 * Seeds());
  CHECK(sum.lost > 0);
  CHECK(sum.interrupts > 3 * Seeds());
  CHECK((sum.peer_copies > 10 * Seeds() || Seeds() < 3));
  CHECK((sum.resets > Seeds() || Seeds() < 3));
  std::filesystem::remove_all(dir);
}

}  // namespace acceltrace::device
