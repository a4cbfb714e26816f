// SPDX-License-Identifier: Apache-2.0
//
// A part of a trace: everything that was asked for, and what belongs to it.
//
// A job is in or out as a whole: one that is in keeps its commands, its events in the driver and
// the calls that submitted it and waited for it. So the same analyses fit a part as fit the whole;
// what compares independent counts of the same thing (laws, counters) belongs to the whole.
#ifndef LIBTRACE_MODEL_SELECT_H_
#define LIBTRACE_MODEL_SELECT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/model/model.h"
#include "libtrace/stream/result.h"

namespace acceltrace::model {

struct Selection {
  // Of several of one kind any; of several kinds all.
  std::vector<std::string> processes;  // by id, or by name with * and ?
  // Of the processes those that ever were in one of these: by id, by at least 4 digits that an
  // id begins with, or by name (container.h).
  std::vector<std::string> containers;
  std::vector<std::string> devices;  // by name with * and ?, or by PCI address
  std::vector<std::string> ranges;   // by name with * and ?: what was called inside
  std::vector<uint32_t> streams;     // of the calls that submitted
  // From the trace's first event on; what overlaps the time is in.
  std::optional<int64_t> from_ns, to_ns;
  std::optional<int64_t> origin_ns;  // of a model that is a part: the trace's first event

  bool by_process() const { return !processes.empty() || !containers.empty(); }
  bool any() const {
    return by_process() || !devices.empty() || !ranges.empty() || !streams.empty() || from_ns ||
           to_ns;
  }
};

struct Wanted;

// What else is known of a model that is a part.
struct AboutPart {
  bool part = false;               // it is one: the rest of the trace may know more of its rows
  const Wanted* wanted = nullptr;  // all
  const std::vector<uint8_t>* jobs = nullptr;  // which are in, if their times do not say so
};

// Removes all other rows, and says so in model->cut. An error if there is no such process,
// container, device or range: the message names those that there are. Of a part also if processes
// are asked for, and it has a job that only the whole can tell the process of.
Status Select(const Selection& selection, Model* model, const AboutPart& about = {});

// * is any text, ? any character.
bool MatchesGlob(std::string_view text, std::string_view pattern);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_SELECT_H_
