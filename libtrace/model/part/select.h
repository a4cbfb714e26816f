// SPDX-License-Identifier: Apache-2.0
//
// A part of a trace: everything that was requested, and what belongs to it.
//
// A job is selected as a whole: it keeps its commands, its events in the driver and the calls that
// submitted it and waited for it. Therefore, a part can be analysed like the whole. Comparisons of
// independent counts of the same thing (laws, counters) need the whole.
#ifndef LIBTRACE_MODEL_PART_SELECT_H_
#define LIBTRACE_MODEL_PART_SELECT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

struct Selection {
  // A row must match any entry of one kind, and all kinds.
  std::vector<std::string> processes;  // by id, or by name with * and ?
  // Only processes that were ever in one of these containers: by id, by at least the first 4 digits
  // of an id, or by name (container.h).
  std::vector<std::string> containers;
  std::vector<std::string> devices;  // by name with * and ?, or by PCI address
  std::vector<std::string> ranges;   // by name with * and ?: selects the calls inside
  std::vector<uint32_t> streams;     // of the calls that submitted
  // Relative to the trace's first event; selects what overlaps the period.
  std::optional<int64_t> from_ns, to_ns;
  std::optional<int64_t> origin_ns;  // for a model that is a part: the trace's first event

  bool by_process() const { return !processes.empty() || !containers.empty(); }
  bool any() const {
    return by_process() || !devices.empty() || !ranges.empty() || !streams.empty() || from_ns ||
           to_ns;
  }
};

struct Wanted;

// Further information about a model that is a part.
struct AboutPart {
  bool part = false;               // the whole trace may have more information about its rows
  const Wanted* wanted = nullptr;  // nullptr: all
  const std::vector<uint8_t>* jobs = nullptr;  // which are selected, if their times do not tell
};

// Removes all other rows and describes the selection in model->cut. Fails if there is no such
// process, container, device or range; the message lists the existing ones. For a part, also fails
// if processes are selected and the process of one of its jobs can only be found in the whole
// trace.
Status Select(const Selection& selection, Model* model, const AboutPart& about = {});

// * matches any text, ? any character.
bool MatchesGlob(std::string_view text, std::string_view pattern);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_PART_SELECT_H_
