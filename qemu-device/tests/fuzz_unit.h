// SPDX-License-Identifier: Apache-2.0
//
// The fuzzer's state of one device. Part of fuzz.h's implementation.
//
#ifndef QEMU_DEVICE_TESTS_FUZZ_UNIT_H_
#define QEMU_DEVICE_TESTS_FUZZ_UNIT_H_

#include <string>

#include "qemu-device/tests/fuzz.h"

namespace acceltrace::device {

// Host memory of a device: rings of each kind at fixed places, then space for data and
// lists.
struct Fuzz::Unit {
  static constexpr uint64_t kHostBytes = 0x1000000;
  static constexpr unsigned kMaxLog2 = 6;

  Unit(Machine* machine, unsigned port_number, uint32_t seed)
      : dev(machine, port_number, "axl" + std::to_string(port_number)),
        port(port_number),
        host(dev.Alloc(kHostBytes)),
        data(host + 0x400000),
        workload(seed + port_number, data, 0x800000) {}

  uint64_t Sq(unsigned q) const { return host + 0x10000 * q; }
  uint64_t Cq(unsigned q) const { return host + 0x10000 * q + 0x8000; }
  uint64_t Ring(unsigned r) const { return host + 0x100000 + 0x10000 * r; }
  uint64_t List() const { return host + 0x200000; }

  Device dev;
  unsigned port;
  uint64_t host, data;
  Workload workload;
  uint32_t tail[AXL_MAX_QUEUES] = {}, seen[AXL_MAX_QUEUES] = {};
  unsigned sq_log2[AXL_MAX_QUEUES] = {}, cq_log2[AXL_MAX_QUEUES] = {};
  uint32_t lists = 0;
  uint32_t job = 1;
};

}  // namespace acceltrace::device

#endif  // QEMU_DEVICE_TESTS_FUZZ_UNIT_H_
