// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/tests/laws.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "qemu-device/tests/workload.h"

namespace acceltrace::device {
namespace {

constexpr unsigned kQueues = 5, kContexts = 3, kBusy = 0, kStall = 1, kIdle = 7;
constexpr uint64_t kHostBytes = 1 << 20, kSgStep = 16384;

#define CTX true
#define DEV false
#define AXL_NAME_(NAME, name, unit, scope, text) #name,
#define AXL_SCOPE_(NAME, name, unit, scope, text) scope,
const char* const kName[] = {AXL_COUNTERS(AXL_NAME_)};
const bool kPerContext[] = {AXL_COUNTERS(AXL_SCOPE_)};
#undef CTX
#undef DEV

std::string FixedProperties(uint32_t seed) {
  static const char* const kSets[] = {
      "",
      ",dram-banks=8,dram-row-bytes=1024,dram-burst-bytes=32,clock-hz=123456789",
      ",matrix-rows=8,matrix-cols=16,vector-lanes=4,clock-ppm=-500,clock-bits=40",
      ",pcie-gen=1,pcie-width=1,pcie-tags=2,clock-hz=50000000",
      ",pcie-gen=6,pcie-width=16,dram-burst-bytes=128,clock-hz=4000000000,link-retrain-ns=777",
  };
  return kSets[seed / 50 % std::size(kSets)];
}

class Seed {
 public:
  Seed(Device* dev, uint32_t seed, uint64_t host, uint64_t lists)
      : dev_(*dev), seed_(seed), work_(seed, host, kHostBytes), lists_(lists) {}

  std::vector<std::string> Run() {
    SetUp();
    uint32_t rounds = 2 + work_.Below(4);
    for (uint32_t r = 0; r < rounds; r++) {
      for (unsigned q = 0; q < kQueues; q++) Submit(q);
      for (uint32_t i = 0; i < 3; i++) {
        dev_.machine().Step(1 + work_.Below(work_.Chance(20) ? 200000 : 8000));
        Disturb();
        CheckCounters(dev_.Latch());
      }
    }
    Drain();
    dev_.machine().Step(2000);  // trace indexes are reported
    Counters c = dev_.Latch();
    CheckCounters(c);
    CheckEnd(c);
    return broken_;
  }

 private:
  void Expect(bool ok, const std::string& law, uint64_t a = 0, uint64_t b = 0) {
    if (ok || broken_.size() > 5) return;
    broken_.push_back("seed " + std::to_string(seed_) + ": " + law + ": " + std::to_string(a) +
                      " against " + std::to_string(b));
  }

  void SetUp() {
    dev_.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
    dev_.Set("dram-bandwidth", 1000 + work_.Below(60000));
    dev_.Set("dispatch-ns", work_.Below(300));
    dev_.Set("clock-mhz", 200 + work_.Below(2000));
    dev_.Enable();
    for (unsigned c = 0; c < kContexts; c++) {
      dev_.EnableContext(c);
      dev_.W32(AXL_REG_CTX_PRIORITY(c), work_.Below(4));
    }
    for (unsigned q = 0; q < kQueues; q++) dev_.Resume(q);
    trace_ = work_.Chance(60);
    sg_ = work_.Chance(50);
    if (trace_) dev_.ResumeTrace(0);
    if (trace_) dev_.ResumeTrace(2);
  }

  void Submit(unsigned q) {
    uint32_t job = ++job_, count = 1 + work_.Below(6);
    unsigned context = q % kContexts;
    uint16_t sem = static_cast<uint16_t>(context * AXL_SEMS_PER_CONTEXT + q);
    for (uint32_t i = 0; i < count; i++) {
      std::vector<axl_sg> entries;
      uint64_t list = sg_ ? lists_ + kSgStep * (next_list_++ % 512) : 0;
      axl_desc d = work_.Next(list, &entries);
      if (!entries.empty()) {
        if (entries.size() * sizeof(axl_sg) > kSgStep) continue;
        dev_.Put(list, entries);
        sg_used_ = true;
      }
      d.job = job;
      d.index = i;
      d.correlation = job * 1000 + i;
      if (work_.Chance(40) && signaled_[q]) {
        d.wait_sem[0] = sem;
        d.wait_value[0] = signaled_[q];
      }
      if (work_.Chance(50)) {
        d.signal_sem = sem;
        d.signal_value = ++signaled_[q];
      }
      if (d.opcode == AXL_OP_COPY_H2D) h2d_ += d.copy.bytes * d.copy.rows;
      if (d.opcode == AXL_OP_COPY_D2H) d2h_ += d.copy.bytes * d.copy.rows;
      commands_++;
      dev_.Push(q, d);
    }
    axl_desc last = Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, job, count, kLast);
    commands_++;
    dev_.Push(q, last);
    dev_.Ring(q);
    jobs_++;
  }

  void Disturb() {
    switch (work_.Below(12)) {
      case 0:
        dev_.Set("link-speed", 1 + work_.Below(6));
        break;
      case 1:
        dev_.Set("throttle-permille", 100 + work_.Below(901));
        break;
      case 2:
        dev_.Set("clock-ppb", static_cast<int64_t>(work_.Below(100000)));
        break;
      case 3:
        if (!work_.Chance(30)) break;
        dev_.W32(AXL_REG_CTX_CTRL(work_.Below(kContexts)), AXL_CTX_RESET | AXL_CTX_ENABLE);
        canceled_ = true;
        break;
      case 4:
        if (work_.Chance(20)) canceled_ |= dev_.Set("fault-poison", 1);
        break;
      case 5:
        dev_.W32(AXL_REG_CTR_CTRL, AXL_CTR_CTRL_FREEZE);
        dev_.machine().Step(work_.Below(3000));
        dev_.W32(AXL_REG_CTR_CTRL, 0);
        frozen_ = true;
        break;
      default:
        break;
    }
  }

  void Drain() {
    dev_.Set("throttle-permille", 1000);
    dev_.Set("fault-poison", 0);
    for (int i = 0; i < 2000; i++) {
      bool busy = false;
      for (unsigned q = 0; q < kQueues; q++) {
        axl_cqe cqe;
        while (dev_.Poll(q, &cqe)) completed_++;
      }
      for (unsigned c = 0; c < kContexts; c++) {
        uint32_t status = dev_.R32(AXL_REG_CTX_STATUS(c));
        // Semaphores of a context that halted or was reset are never signalled.
        busy |= (status & AXL_CTX_BUSY) && !canceled_;
      }
      if (!busy) break;
      dev_.machine().Step(50000);
    }
    if (canceled_) dev_.machine().Step(5000000);
  }

  void CheckCounters(const Counters& c) {
    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
      uint64_t sum = 0;
      for (unsigned i = 0; i <= kIdle; i++) sum += c[AXL_CTR_ENGINE(e) + i];
      Expect(sum == c[AXL_CTR_ELAPSED], "busy + stalls + idle = elapsed", sum, c[AXL_CTR_ELAPSED]);
    }
    std::array<Counters, kContexts> ctx;
    for (unsigned i = 0; i < kContexts; i++) ctx[i] = dev_.ContextCounters(i);
    for (unsigned i = 0; i < AXL_NUM_COUNTERS; i++) {
      uint64_t sum = 0;
      for (const Counters& one : ctx) sum += one[i];
      Expect(sum == (kPerContext[i] ? c[i] : 0), std::string("contexts' sum of ") + kName[i], sum,
             c[i]);
    }
    uint64_t bursts =
        c[AXL_CTR_DRAM_ROW_HITS] + c[AXL_CTR_DRAM_ROW_MISSES] + c[AXL_CTR_DRAM_ROW_CONFLICTS];
    Expect(bursts == c[AXL_CTR_DRAM_BURSTS], "hits + misses + conflicts = bursts", bursts,
           c[AXL_CTR_DRAM_BURSTS]);
    Expect(c[AXL_CTR_PCIE_TAG_STALL] == c[AXL_CTR_H2D_STALL_TAG] + c[AXL_CTR_D2H_STALL_TAG],
           "tag stalls", c[AXL_CTR_PCIE_TAG_STALL], c[AXL_CTR_H2D_STALL_TAG]);
    uint64_t rx = c[AXL_CTR_H2D_BYTES] + 128 * c[AXL_CTR_DESC_FETCHED];
    if (!sg_used_ && !trace_) {
      Expect(rx == c[AXL_CTR_PCIE_RX_PAYLOAD], "rx payload", rx, c[AXL_CTR_PCIE_RX_PAYLOAD]);
    } else {
      Expect(rx <= c[AXL_CTR_PCIE_RX_PAYLOAD] && (c[AXL_CTR_PCIE_RX_PAYLOAD] - rx) % 8 == 0,
             "rx payload with lists and consumer reads", rx, c[AXL_CTR_PCIE_RX_PAYLOAD]);
    }
    uint64_t tx = c[AXL_CTR_D2H_BYTES] + 32 * c[AXL_CTR_JOBS];
    if (!trace_) {
      Expect(tx == c[AXL_CTR_PCIE_TX_PAYLOAD], "tx payload", tx, c[AXL_CTR_PCIE_TX_PAYLOAD]);
    } else if (!frozen_) {
      tx += 128 * (c[AXL_CTR_TRACE_RECORDS] + 2);  // two ring headers
      uint64_t indexes = c[AXL_CTR_PCIE_TX_PAYLOAD] - tx;
      Expect(c[AXL_CTR_PCIE_TX_PAYLOAD] >= tx && indexes % 16 == 0 &&
                 indexes <= 16 * (c[AXL_CTR_TRACE_RECORDS] + c[AXL_CTR_TRACE_LOST]),
             "tx payload with records", tx, c[AXL_CTR_PCIE_TX_PAYLOAD]);
    }
    Expect(c[AXL_CTR_PCIE_RX_WIRE] >= c[AXL_CTR_PCIE_RX_PAYLOAD], "rx wire");
    Expect(c[AXL_CTR_PCIE_TX_WIRE] >= c[AXL_CTR_PCIE_TX_PAYLOAD], "tx wire");
  }

  // Final check: sums over the records, and the driver's own sums.
  void CheckEnd(const Counters& c) {
    unsigned burst_bytes = static_cast<unsigned>(burst_bytes_);
    uint64_t moved = c[AXL_CTR_DRAM_READ_BYTES] + c[AXL_CTR_DRAM_WRITE_BYTES];
    if (!canceled_ && !frozen_) {
      Expect(moved % burst_bytes == 0 && moved >= c[AXL_CTR_DRAM_USEFUL_BYTES], "DRAM bytes", moved,
             c[AXL_CTR_DRAM_USEFUL_BYTES]);
      Expect(moved == c[AXL_CTR_DRAM_BURSTS] * burst_bytes, "bytes = bursts", moved,
             c[AXL_CTR_DRAM_BURSTS]);
      Expect(c[AXL_CTR_H2D_BYTES] == h2d_, "driver's bytes in", c[AXL_CTR_H2D_BYTES], h2d_);
      Expect(c[AXL_CTR_D2H_BYTES] == d2h_, "driver's bytes out", c[AXL_CTR_D2H_BYTES], d2h_);
      Expect(c[AXL_CTR_JOBS] == jobs_ && completed_ == jobs_, "jobs", c[AXL_CTR_JOBS], jobs_);
      Expect(c[AXL_CTR_DESC_FETCHED] == commands_, "commands", c[AXL_CTR_DESC_FETCHED], commands_);
    }
    if (!trace_) return;
    uint64_t rings = 0;
    for (unsigned r : {0u, 2u}) {
      rings += dev_.R64(AXL_REG_TR_PRODUCED(r)) + dev_.R64(AXL_REG_TR_LOST(r));
    }
    if (!frozen_) {
      Expect(rings == c[AXL_CTR_TRACE_RECORDS] + c[AXL_CTR_TRACE_LOST], "records made", rings,
             c[AXL_CTR_TRACE_RECORDS]);
    }
    if (dev_.R64(AXL_REG_TR_LOST(0)) || frozen_) return;
    CheckRecords(c);
  }

  void CheckRecords(const Counters& c) {
    Counters sum = {};
    uint64_t commands = 0;
    for (const axl_record& r : dev_.Records(0)) {
      if (r.h.type != AXL_REC_CMD) continue;
      unsigned base = AXL_CTR_ENGINE(r.h.engine);
      uint64_t mask = dev_.R32(AXL_REG_CLOCK_BITS) == 40 ? (1ull << 40) - 1 : UINT64_MAX;
      uint64_t life = (r.cmd.end - r.cmd.head) & mask, stalls = 0;
      for (unsigned i = 0; i < AXL_NUM_STALLS; i++) {
        sum[base + kStall + i] += r.cmd.stall[i];
        stalls += r.cmd.stall[i];
      }
      Expect(life >= stalls, "a record's stalls fit its life", stalls, life);
      sum[base + kBusy] += life - stalls;
      commands++;
      (r.h.engine == AXL_ENGINE_H2D ? sum[AXL_CTR_H2D_BYTES] : sum[AXL_CTR_D2H_BYTES]) +=
          r.h.engine <= AXL_ENGINE_D2H ? r.cmd.bytes : 0;
      sum[AXL_CTR_MATRIX_MACS] += r.h.engine == AXL_ENGINE_MATRIX ? r.cmd.work : 0;
      sum[AXL_CTR_VECTOR_ELEMENTS] += r.h.engine == AXL_ENGINE_VECTOR ? r.cmd.work : 0;
      sum[AXL_CTR_DRAM_READ_BYTES] += r.cmd.dram_bytes;
    }
    Expect(commands == c[AXL_CTR_DESC_FETCHED], "a record for each command", commands,
           c[AXL_CTR_DESC_FETCHED]);
    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
      for (unsigned i = 0; i < kIdle; i++) {
        unsigned n = AXL_CTR_ENGINE(e) + i;
        Expect(sum[n] == c[n], std::string("records' sum of ") + kName[n], sum[n], c[n]);
      }
    }
    for (unsigned n :
         {AXL_CTR_H2D_BYTES, AXL_CTR_D2H_BYTES, AXL_CTR_MATRIX_MACS, AXL_CTR_VECTOR_ELEMENTS}) {
      Expect(sum[n] == c[n], std::string("records' sum of ") + kName[n], sum[n], c[n]);
    }
    uint64_t moved = c[AXL_CTR_DRAM_READ_BYTES] + c[AXL_CTR_DRAM_WRITE_BYTES];
    Expect(sum[AXL_CTR_DRAM_READ_BYTES] == moved, "records' DRAM bytes",
           sum[AXL_CTR_DRAM_READ_BYTES], moved);
  }

 public:
  void set_burst_bytes(uint64_t bytes) { burst_bytes_ = bytes; }

 private:
  Device& dev_;
  uint32_t seed_;
  Workload work_;
  uint64_t lists_, burst_bytes_ = 64;
  uint32_t job_ = 0, next_list_ = 0;
  bool trace_ = false, sg_ = false, sg_used_ = false, canceled_ = false, frozen_ = false;
  uint64_t h2d_ = 0, d2h_ = 0, jobs_ = 0, completed_ = 0, commands_ = 0;
  std::array<uint64_t, kQueues> signaled_ = {};
  std::vector<std::string> broken_;
};

uint64_t BurstBytes(const std::string& properties) {
  if (properties.find("dram-burst-bytes=32") != std::string::npos) return 32;
  if (properties.find("dram-burst-bytes=128") != std::string::npos) return 128;
  return 64;
}

}  // namespace

std::vector<std::string> RunLaws(uint32_t first, uint32_t count) {
  std::string properties = FixedProperties(first);
  Machine machine({"-device", "axl,id=axl0,bus=rp0" + properties});
  Device dev(&machine);
  uint64_t host = dev.Alloc(kHostBytes), lists = dev.Alloc(512 * kSgStep);
  for (unsigned q = 0; q < kQueues; q++) dev.SetUpQueue(q, q % kContexts, 9, 9);
  // Ring 0 holds all records of a seed; ring 2 overflows.
  dev.SetUpTrace(0, 12, AXL_REC_CLASSES_ALL);
  dev.SetUpTrace(2, 5, AXL_REC_CLASSES_ALL, 7, 20000);
  std::vector<std::string> broken;
  for (uint32_t s = first; s < first + count; s++) {
    Seed seed(&dev, s, host, lists);
    seed.set_burst_bytes(BurstBytes(properties));
    std::vector<std::string> found = seed.Run();
    broken.insert(broken.end(), found.begin(), found.end());
  }
  return broken;
}

}  // namespace acceltrace::device
