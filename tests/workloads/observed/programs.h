// SPDX-License-Identifier: Apache-2.0
//
// Programs to be run with and without a tracer.
#ifndef TESTS_WORKLOADS_OBSERVED_PROGRAMS_H_
#define TESTS_WORKLOADS_OBSERVED_PROGRAMS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "libtrace/base/result.h"
#include "tests/workloads/common/region.h"

namespace acceltrace::workloads {

struct ObservedOptions {
  uint32_t count = 0;     // launches, copies, rounds or tiles; 0 = the program's own
  uint32_t repeat = 1;    // measure so many times in one process
  bool stepwise = false;  // wait for a line on stdin before each
};

// Measures and prints: one JSON object for each repetition.
class Meter {
 public:
  Meter(const char* program, const ObservedOptions& options)
      : program_(program), options_(options) {}

  uint32_t CountOr(uint32_t own) const { return options_.count ? options_.count : own; }
  uint64_t repeat() const { return options_.repeat; }
  // Measures `work` from an idle device until it is idle again; `prepare` is not measured.
  Status Measure(const std::function<Status()>& prepare, const std::function<Status()>& body);
  // Adds to the number of wrong results.
  void AddWrong(uint64_t wrong) { wrong_ += wrong; }
  uint64_t wrong() const { return wrong_; }

 private:
  const char* program_;
  const ObservedOptions& options_;
  uint64_t wrong_ = 0;
};

struct ObservedProgram {
  const char* name;
  const char* text;
  Status (*run)(Meter* meter);
};

std::span<const ObservedProgram> CallPrograms();     // one call after the other
std::span<const ObservedProgram> OverlapPrograms();  // several things at once
// Returns null if there is no program with that name.
const ObservedProgram* FindObserved(const std::string& name);

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_OBSERVED_PROGRAMS_H_
