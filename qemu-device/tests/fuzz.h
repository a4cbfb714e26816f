// SPDX-License-Identifier: Apache-2.0
//
// Structured random traffic against one machine with up to three devices: registers,
// rings, descriptors with corrupted fields, lists, messages, configuration space, knobs
// and faults, time, resets, plugging. Most of it is valid. The same seed makes the same
// traffic.
//
#ifndef QEMU_DEVICE_TESTS_FUZZ_H_
#define QEMU_DEVICE_TESTS_FUZZ_H_

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "qemu-device/tests/device.h"
#include "qemu-device/tests/workload.h"

namespace acceltrace::device {

class Fuzz {
 public:
  explicit Fuzz(uint64_t seed);
  ~Fuzz();

  // Makes at least `operations` accesses, steps and commands; returns their number.
  uint64_t Run(uint64_t operations);
  // Whether each device still present answers after a reset, and does work.
  bool StillWorks();
  // The largest resident size of QEMU so far.
  uint64_t PeakBytes();
  uint64_t completions() const { return completions_; }
  int Quit() { return machine_->Quit(); }
  pid_t pid() const { return machine_->pid(); }

 private:
  struct Unit;  // a device and what the fuzzer remembers of it

  uint64_t Below(uint64_t n) { return n ? rng_() % n : 0; }
  bool Chance(unsigned permille) { return Below(1000) < permille; }
  template <typename T>
  const T& Pick(const std::vector<T>& v) {
    return v[Below(v.size())];
  }

  std::vector<std::string> Arguments();
  void Attach(unsigned port);
  bool Present(unsigned port);
  void SetUp(Unit* u);
  void Read(uint64_t address, unsigned bytes);
  void Write(uint64_t address, uint64_t value, unsigned bytes);
  void Reg(Unit* u, uint64_t reg, uint64_t value, unsigned bytes = 4);
  void Memory(uint64_t address, const void* data, size_t bytes);

  uint64_t Number();          // one that tends to matter
  uint64_t Address(Unit* u);  // a bus address, mostly one to avoid
  uint64_t Register(unsigned* bytes);

  void Step(Unit* u);
  void ReadSomething(Unit* u);
  void WriteSomething(Unit* u);
  void SetUpQueue(Unit* u, unsigned q);
  void SetUpRing(Unit* u, unsigned r);
  void Submit(Unit* u);
  void Spoil(Unit* u, axl_desc* d);
  void Doorbell(Unit* u);
  void Consume(Unit* u);
  void ConsumeTrace(Unit* u);
  void Property(Unit* u);
  void Config(Unit* u);
  void Msix(Unit* u);
  void Scribble(Unit* u);
  void Window(Unit* u);
  void Reset(Unit* u);
  void Plug(unsigned port);

  std::mt19937_64 rng_;
  uint32_t workload_seed_;
  std::unique_ptr<Machine> machine_;
  std::array<std::unique_ptr<Unit>, 3> unit_;
  uint64_t ops_ = 0;
  uint64_t completions_ = 0;
};

}  // namespace acceltrace::device

#endif  // QEMU_DEVICE_TESTS_FUZZ_H_
