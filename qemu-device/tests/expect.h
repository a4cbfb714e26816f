// SPDX-License-Identifier: Apache-2.0
//
// The equations of docs/device.md again, written from the document and not from the
// model: TLP by TLP, burst by burst, without the model's closed forms. The tests compare
// the two.
//
#ifndef QEMU_DEVICE_TESTS_EXPECT_H_
#define QEMU_DEVICE_TESTS_EXPECT_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace acceltrace::device::expect {

struct Link {
  unsigned gen = 4, width = 8, mps = 256, mrrs = 512, rcb = 64, tags = 64;
  double latency_ns = 600;

  double BytesPerNs() const;  // what a direction carries of TLPs and DLLPs
  bool Flits() const { return gen >= 6; }
};

struct Traffic {
  uint64_t mrd = 0, cpld = 0, mwr = 0;
  uint64_t rx_wire = 0, tx_wire = 0;
  double ns = 0;  // from the first request (write) to the last completion (write)
};

// Host memory by address and length, in order.
using Runs = std::vector<std::pair<uint64_t, uint64_t>>;
Traffic Read(const Link& link, const Runs& runs);
Traffic Write(const Link& link, const Runs& runs);

struct Dram {
  double bytes_per_ns = 32;
  unsigned banks = 16, row_bytes = 2048, burst_bytes = 64;
  double miss_ns = 28, conflict_ns = 45, rrd_ns = 5, latency_ns = 60;
};

// Rectangles of device memory, streamed in order.
struct Operand {
  uint64_t addr = 0, rows = 1, row_bytes = 0, pitch = 0;
  unsigned passes = 1;
  unsigned batch = 1;
  uint64_t batch_pitch = 0;
};

struct Bursts {
  uint64_t hits = 0, misses = 0, conflicts = 0;
  double ns = 0;
  uint64_t total() const { return hits + misses + conflicts; }
};

// All banks are closed before the stream.
Bursts Stream(const Dram& dram, const std::vector<Operand>& operands);

// Cycles of a weight-stationary array.
double MatmulCycles(unsigned array_rows, unsigned array_cols, uint64_t m, uint64_t n, uint64_t k,
                    uint64_t batch);

}  // namespace acceltrace::device::expect

#endif  // QEMU_DEVICE_TESTS_EXPECT_H_
