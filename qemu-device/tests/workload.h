// SPDX-License-Identifier: Apache-2.0
//
// Random workloads for the conservation tests: valid commands of every kind on
// several queues and contexts, with semaphores between them.
//
#ifndef QEMU_DEVICE_TESTS_WORKLOAD_H_
#define QEMU_DEVICE_TESTS_WORKLOAD_H_

#include <cstdint>
#include <random>
#include <vector>

#include "qemu-device/tests/device.h"

namespace acceltrace::device {

class Workload {
 public:
  Workload(uint32_t seed, uint64_t host, uint64_t host_bytes)
      : rng_(seed), host_(host), host_bytes_(host_bytes) {}

  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(rng_() % n); }
  bool Chance(unsigned percent) { return Below(100) < percent; }

  // Returns a random command that the device accepts. `sg_list` is the address for a
  // scatter list, whose entries are returned; 0 = no list.
  axl_desc Next(uint64_t sg_list, std::vector<axl_sg>* entries);

 private:
  axl_desc Copy(uint64_t sg_list, std::vector<axl_sg>* entries);
  axl_desc Mul();
  axl_desc Vec();
  uint64_t Memory(uint64_t bytes);  // allocates device memory

  std::mt19937 rng_;
  uint64_t host_, host_bytes_;
};

}  // namespace acceltrace::device

#endif  // QEMU_DEVICE_TESTS_WORKLOAD_H_
