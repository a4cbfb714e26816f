// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/tests/expect.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace acceltrace::device::expect {
namespace {

constexpr unsigned kRequestHeader = 16, kCompletionHeader = 12, kFraming = 8;
constexpr double kDllpPerTlp = 16.0 / 4;  // an ACK and an UpdateFC for every 4 TLPs

unsigned Framing(const Link& l) { return l.Flits() ? 0 : kFraming; }
double Dllp(const Link& l) { return l.Flits() ? 0 : kDllpPerTlp; }

}  // namespace

double Link::BytesPerNs() const {
  // GT/s of one lane, and the fraction of its bits that carries TLPs and DLLPs.
  static const double kRaw[] = {0, 2.5, 5, 8, 16, 32, 64};
  static const double kShare[] = {0, 0.8, 0.8, 128.0 / 130, 128.0 / 130, 128.0 / 130, 236.0 / 256};
  return kRaw[gen] * kShare[gen] * width / 8;
}

Traffic Read(const Link& l, const Runs& runs) {
  Traffic t;
  std::deque<double> outstanding;  // when each tag comes free
  double finished = 0;
  for (auto [addr, bytes] : runs) {
    uint64_t end = addr + bytes;
    while (addr < end) {
      // A request ends at the next multiple of MRRS.
      uint64_t request_end = std::min(end, (addr / l.mrrs + 1) * l.mrrs);
      double issue = 0;
      if (outstanding.size() == l.tags) {
        issue = outstanding.front();
        outstanding.pop_front();
      }
      t.mrd++;
      double wire = Dllp(l);
      while (addr < request_end) {
        // A completion carries up to MPS and, unless it is the last, ends on the RCB.
        uint64_t cut = (addr + l.mps) / l.rcb * l.rcb;
        uint64_t n = std::min(request_end, cut) - addr;
        wire += static_cast<double>(n) + kCompletionHeader + Framing(l);
        t.cpld++;
        addr += n;
      }
      finished = std::max(finished, issue + l.latency_ns) + wire / l.BytesPerNs();
      outstanding.push_back(finished);
      t.rx_wire += static_cast<uint64_t>(wire);
    }
  }
  t.tx_wire = t.mrd * (kRequestHeader + Framing(l)) +
              static_cast<uint64_t>(static_cast<double>(t.cpld) * Dllp(l));
  t.ns = finished;
  return t;
}

Traffic Write(const Link& l, const Runs& runs) {
  Traffic t;
  for (auto [addr, bytes] : runs) {
    uint64_t end = addr + bytes;
    while (addr < end) {
      uint64_t n = std::min(end, (addr / l.mps + 1) * l.mps) - addr;
      t.mwr++;
      t.tx_wire += n + kRequestHeader + Framing(l);
      t.rx_wire += static_cast<uint64_t>(Dllp(l));
      addr += n;
    }
  }
  t.ns = static_cast<double>(t.tx_wire) / l.BytesPerNs();
  return t;
}

Bursts Stream(const Dram& d, const std::vector<Operand>& operands) {
  Bursts b;
  std::vector<int64_t> open(d.banks, -1);
  std::vector<double> bank_ns(d.banks, 0);
  double burst_ns = d.burst_bytes / d.bytes_per_ns, bus = 0, activations = 0;
  auto burst = [&](uint64_t addr) {
    uint64_t row = addr / d.row_bytes;
    unsigned bank = static_cast<unsigned>(row % d.banks);
    auto in_bank = static_cast<int64_t>(row / d.banks);
    bus += burst_ns;
    bank_ns[bank] += burst_ns;
    if (open[bank] == in_bank) {
      b.hits++;
      return;
    }
    bool conflict = open[bank] >= 0;
    (conflict ? b.conflicts : b.misses)++;
    bank_ns[bank] += conflict ? d.conflict_ns : d.miss_ns;
    activations += d.rrd_ns;
    open[bank] = in_bank;
  };
  auto run = [&](uint64_t addr, uint64_t bytes) {
    uint64_t at = addr / d.burst_bytes * d.burst_bytes;
    for (; at < addr + bytes; at += d.burst_bytes) burst(at);
  };
  for (const Operand& o : operands) {
    for (unsigned pass = 0; pass < o.passes; pass++) {
      for (unsigned i = 0; i < o.batch; i++) {
        uint64_t base = o.addr + i * o.batch_pitch;
        if (o.rows == 1 || o.pitch == o.row_bytes) {
          run(base, o.rows * o.row_bytes);  // rows that touch are one run
        } else {
          for (uint64_t r = 0; r < o.rows; r++) run(base + r * o.pitch, o.row_bytes);
        }
      }
    }
  }
  b.ns = std::max({bus, activations, *std::max_element(bank_ns.begin(), bank_ns.end())});
  return b;
}

double MatmulCycles(unsigned array_rows, unsigned array_cols, uint64_t m, uint64_t n, uint64_t k,
                    uint64_t batch) {
  // Load the first tile, stream each tile while the next is loaded, then drain the last results
  // from the array.
  double cycles = array_rows;
  for (uint64_t i = 0; i < batch; i++) {
    for (uint64_t k0 = 0; k0 < k; k0 += array_rows) {
      for (uint64_t n0 = 0; n0 < n; n0 += array_cols) {
        cycles += static_cast<double>(std::max<uint64_t>(m, array_rows));
      }
    }
  }
  return cycles + array_rows + array_cols - 2;
}

}  // namespace acceltrace::device::expect
