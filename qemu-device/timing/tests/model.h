// SPDX-License-Identifier: Apache-2.0
//
// Drives the timing model alone, as the device's front end does: no QEMU, no rings, no
// registers. Each engine runs at most one command.
#ifndef QEMU_DEVICE_TIMING_TESTS_MODEL_H_
#define QEMU_DEVICE_TIMING_TESTS_MODEL_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "qemu-device/tests/cases.h"
#include "qemu-device/timing/timing.h"

namespace acceltrace::device {

class Model {
 public:
  explicit Model(const std::string& properties = "");
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model();

  AxlTiming& timing() { return timing_; }
  AxlKnobs& knob() { return knob_; }
  AxlFaults& fault() { return fault_; }
  int64_t now() const { return now_; }
  AxlRun& run(unsigned engine) { return run_[engine]; }

  // Sets a property of the device by its name; returns false if it does not exist.
  bool Set(const std::string& property, int64_t value);
  // Starts a command now, on its engine. Returns false if the decoder refuses it.
  bool Start(const axl_desc& d, const std::vector<axl_sg>& list = {}, unsigned priority = 0);
  // Runs until the next phase of any command ends, or `until_ns`. Returns false when
  // idle.
  bool Step(int64_t until_ns = AXL_NEVER);
  // Runs until everything has ended.
  void Finish();
  // Models a small transfer, such as descriptors and records.
  void Traffic(uint64_t wire_bytes, bool rx);

  struct Ended {
    bool done = false;
    int64_t start_ns = 0, end_ns = 0;
    AxlWork work = {};
    std::array<uint64_t, AXL_NUM_CAUSES> ticks = {};      // charged, a tick a ns
    std::array<uint64_t, AXL_NUM_TALLIES> amounts = {};  // counted
    double life_ns() const { return static_cast<double>(end_ns - start_ns); }
  };
  const Ended& ended(unsigned engine) const { return ended_[engine]; }

 private:
  void Elapse(int64_t to_ns);
  void Count(unsigned engine, const AxlCharge& charge);
  void Share();
  void UpdateLink();

  AxlKnobs knob_;
  AxlFaults fault_;
  AxlMemory memory_ = {};
  AxlTiming timing_ = {};
  int64_t now_ = 0;
  std::array<AxlRun, AXL_NUM_ENGINES> run_ = {};
  std::array<AxlWork, AXL_NUM_ENGINES> work_ = {};
  std::array<int64_t, AXL_NUM_ENGINES> due_;
  std::array<Ended, AXL_NUM_ENGINES> ended_;
};

std::unique_ptr<Bench> MakeModelBench(const std::string& properties);

}  // namespace acceltrace::device

#endif  // QEMU_DEVICE_TIMING_TESTS_MODEL_H_
