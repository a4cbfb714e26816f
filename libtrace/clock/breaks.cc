// SPDX-License-Identifier: Apache-2.0
//
// Breaks curves between two samples where orders of events require it.
#include <algorithm>
#include <utility>

#include "libtrace/clock/fit.h"
#include "libtrace/clock/pieces.h"

namespace acceltrace::clock::internal {

namespace {

Draft Empty(const Draft& draft) {
  Draft empty;
  empty.count = draft.count;
  empty.base_ticks = draft.base_ticks;
  empty.base_host_ns = draft.base_host_ns;
  empty.smooth_front = empty.smooth_back = false;
  return empty;
}

// Removes the nodes outside of the brackets, except at ends that are kept.
void Trim(bool keep_front, bool keep_back, std::vector<Node>* nodes) {
  if (!keep_back) {
    while (!nodes->empty() && !IsBracket(nodes->back())) nodes->pop_back();
  }
  if (!keep_front) {
    const auto first = std::find_if(nodes->begin(), nodes->end(), IsBracket);
    nodes->erase(nodes->begin(), first);
  }
}

}  // namespace

std::vector<Draft> BreakAt(Draft draft, std::span<const double> positions, bool* before,
                           bool* after) {
  const auto within = [&](double from, double to) {
    return static_cast<size_t>(std::upper_bound(positions.begin(), positions.end(), to) -
                               std::lower_bound(positions.begin(), positions.end(), from));
  };
  std::vector<Draft> drafts;
  Draft current = Empty(draft);
  current.smooth_front = draft.smooth_front;
  current.step_front = draft.step_front;
  double last = -kInfinity;
  for (Stretch& stretch : draft.stretches) {
    Stretch part = stretch;
    part.nodes.clear();
    for (const Node& node : stretch.nodes) {
      if (IsBracket(node)) {
        const bool broken = within(last, node.position_ns) >= kWrongOrders;
        if (broken && last == -kInfinity) {
          *before = true;
          current.smooth_front = false;
          part.nodes.clear();
        } else if (broken) {
          Trim(true, false, &part.nodes);
          if (!part.nodes.empty()) current.stretches.push_back(part);
          if (!current.stretches.empty()) drafts.push_back(std::move(current));
          current = Empty(draft);
          part.nodes.clear();
        }
        last = node.position_ns;
      }
      part.nodes.push_back(node);
    }
    if (!part.nodes.empty()) current.stretches.push_back(std::move(part));
  }
  current.smooth_back = draft.smooth_back;
  if (within(last, kInfinity) >= kWrongOrders && !current.stretches.empty()) {
    *after = true;
    current.smooth_back = false;
    Trim(true, false, &current.stretches.back().nodes);
    if (current.stretches.back().nodes.empty()) current.stretches.pop_back();
  }
  if (!current.stretches.empty()) drafts.push_back(std::move(current));
  // A part without a bracket has no information.
  for (Draft& part : drafts) {
    std::erase_if(part.stretches, [](const Stretch& stretch) {
      return std::none_of(stretch.nodes.begin(), stretch.nodes.end(), IsBracket);
    });
  }
  std::erase_if(drafts, [](const Draft& part) { return part.stretches.empty(); });
  return drafts;
}

}  // namespace acceltrace::clock::internal
