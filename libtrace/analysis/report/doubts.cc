// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/doubts.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "libtrace/analysis/checks/findings.h"
#include "libtrace/analysis/rows/cursor.h"

namespace acceltrace::analysis {
namespace {

using model::kNoRow;
using model::kNoTime;
using proto::Packet;

// Returns the rows that a hop of the tracer carries; an unknown hop may carry any.
uint32_t RowsOfHop(std::string_view hop) {
  constexpr struct {
    std::string_view prefix;
    uint32_t rows;
  } kHops[] = {{"device-ring", kCommandRows | kJobRows},
               {"session-queue", kCommandRows | kJobRows},
               {"bpf-api", kCallRows},
               {"bpf-driver", kHostRows},
               {"driver-ring", kHostRows},
               {"provider-", kHostRows},
               {"bpf-recursion", kHostRows | kCallRows},
               {"api-ring", kCallRows},
               {"bpf-process", 0},
               {"bpf-stacks", 0},
               {"samples", 0},
               {"sched", 0},
               {"irq", 0},
               {"system", 0}};
  for (const auto& [prefix, rows] : kHops) {
    if (hop.substr(0, prefix.size()) == prefix) return rows;
  }
  return kAllRows;
}

uint32_t RowsOfBody(uint32_t body) {
  switch (body) {
    case Packet::kStrings:
    case Packet::kProcesses:
    case Packet::kOpNames:
    case Packet::kRanges:
    case Packet::kCounters:
    case Packet::kClocks:
    case Packet::kDeviceEvents:
    case Packet::kThreadRuns:
    case Packet::kInterrupts:
    case Packet::kSystemCounters:
    case Packet::kSystemSamples:
    case Packet::kProcessGroups:
    case Packet::kStackFrames:
    case Packet::kCallStacks:
    case Packet::kLosses:  // the accounts have their sums
      return 0;
    case Packet::kApi:
      return kCallRows;
    case Packet::kHost:
      return kHostRows;
    case Packet::kCommands:
      return kCommandRows;
    case Packet::kJobs:
      return kJobRows;
    default:
      return kAllRows;
  }
}

// Returns which of the rows that determine where time went are recorded by a probe.
uint32_t RowsOfProbe(std::string_view name) {
  const auto begins = [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  };
  if (begins("device:")) return kCommandRows | kJobRows;
  if (begins("tp:sched_") || begins("tp:task_")) return 0;
  if (begins("tp:")) return kHostRows;
  if (!begins("usdt:")) return 0;
  for (const std::string_view other : {":range_push", ":range_pop", ":mark", ":op_name"}) {
    if (name.ends_with(other)) return 0;
  }
  return kCallRows;
}

constexpr char kTimeCaveat[] = "time";

class Finder {
 public:
  explicit Finder(const Evidence& evidence) : evidence_(evidence), model_(*evidence.model) {}

  Doubts Run() {
    FromFindings();
    for (const auto& part : model_.missing.parts) doubts_.unplaced |= RowsOfBody(part.body);
    if (model_.missing.anything || !model_.has_accounts) doubts_.unplaced |= kAllRows;
    FromHops();
    FromHostWaits();
    FromProbes();
    FromJobs();
    PlaceDeviceRows();
    return std::move(doubts_);
  }

 private:
  void Add(const char* kind, std::string text, bool fault) {
    doubts_.caveats.push_back({kind, std::move(text), fault});
  }

  // Adds a caveat for each kind of finding of verify.
  void FromFindings() {
    std::vector<std::pair<std::string, std::pair<std::string, size_t>>> kinds;
    for (const Finding& finding : FindProblems(evidence_)) {
      auto known = kinds.begin();
      while (known != kinds.end() && known->first != finding.kind) ++known;
      if (known == kinds.end()) {
        kinds.push_back({finding.kind, {finding.text, 1}});
      } else {
        ++known->second.second;
      }
    }
    for (const auto& [kind, found] : kinds) {
      const auto& [text, count] = found;
      Add(kind.c_str(), count == 1 ? text : fmt::format("{}, and {} more", text, count - 1), true);
      doubts_.contradiction |= kind == "order" || kind == "law" || kind == "clock";
    }
    const model::LoadStats& load = model_.load;
    if (load.unknown_device_rows + load.bad_rows > 0) doubts_.unplaced |= kAllRows;
    // It is not known which one of the two is the true one.
    doubts_.contradiction |= load.duplicate_commands + load.duplicate_jobs > 0;
    doubts_.contradiction |= model_.missing.unknown_packets > 0;
    // The contents are not what was written, or not what the index lists.
    const stream::ReadStats& read = model_.read;
    const bool torn = read.gap_count + read.missing_packets + read.bad_packets > 0;
    doubts_.contradiction |= read.index_differences > 0 || (!model_.missing.parts.empty() && !torn);
    doubts_.contradiction |= load.long_stalls > 0;
    doubts_.contradiction |= load.unconverted_times > 0 && model_.commands.size() > 0;
  }

  void FromHops() {
    for (const HopUse& hop : evidence_.losses.hops) {
      if (hop.lost + hop.bad > 0) doubts_.unplaced |= RowsOfHop(hop.name);
    }
    for (const LossSpan& span : evidence_.losses.spans) doubts_.unplaced |= RowsOfHop(span.hop);
    if (evidence_.losses.more_spans > 0) doubts_.unplaced |= kAllRows;
  }

  // In this case nothing is missing, but the run would have been different without the recording.
  void FromHostWaits() {
    for (const HopUse& hop : evidence_.losses.hops) {
      if (hop.name != "host-file-waits" || hop.in == 0) continue;
      Add(kTimeCaveat,
          fmt::format("the guest waited {} time{} for files of its host, so that its time was not "
                      "its own: another run has other times (scripts/vm --sealed has none of that)",
                      hop.in, hop.in == 1 ? "" : "s"),
          false);
    }
  }

  // Adds sources that were not requested or could not be attached.
  void FromProbes() {
    const auto& probes = model_.info.probes();
    if (probes.empty()) return;
    uint32_t seen = 0, part = 0;
    std::string first;
    for (const proto::Probe& probe : probes) {
      const uint32_t rows = RowsOfProbe(probe.name());
      (probe.attached() ? seen : part) |= rows;
      if (!probe.attached() && rows != 0 && first.empty()) {
        first = probe.reason().empty() ? probe.name() : probe.name() + ": " + probe.reason();
      }
    }
    absent_ = kAllRows & ~(seen | Held());
    FromDevicesWithoutInside();
    constexpr std::pair<uint32_t, const char*> kSources[] = {
        {kCallRows, "API calls"}, {kHostRows, "the driver"}, {kJobRows, "devices"}};
    std::string names;
    for (const auto& [rows, name] : kSources) {
      if (absent_ & rows) names += (names.empty() ? "" : " and ") + std::string(name);
    }
    if (!names.empty()) {
      Add("source", names + " were not recorded" + (first.empty() ? "" : " (" + first + ")"),
          false);
    } else if (part != 0) {
      Add("source", "not all probes are attached (" + first + ")", false);
    }
    doubts_.unattached = !first.empty();
    doubts_.unplaced |= absent_ | part;
  }

  // Devices that write no records have none missing: the time of their jobs is a class of its own.
  void FromDevicesWithoutInside() {
    constexpr uint32_t kDeviceRows = kCommandRows | kJobRows;
    if ((absent_ & kDeviceRows) != kDeviceRows || model_.devices.empty() ||
        model_.jobs.size() == 0) {
      return;
    }
    std::string names;
    for (const model::Device& device : model_.devices) {
      if (HasInside(device)) return;
      names += (names.empty() ? "" : ", ") + device.about.name();
    }
    absent_ &= ~kDeviceRows;
    doubts_.outside_only = true;
    Add("source", fmt::format("what {} did with its jobs is not recorded", names), false);
  }

  // Returns the kinds of rows that the trace has, whatever its probes are called.
  uint32_t Held() const {
    uint32_t held = 0;
    if (model_.api.size() > 0) held |= kCallRows;
    if (model_.host.size() > 0) held |= kHostRows;
    if (model_.commands.size() > 0) held |= kCommandRows | kJobRows;
    for (uint8_t on_device : model_.jobs.on_device) {
      if (on_device) return held | kCommandRows | kJobRows;
    }
    return held;
  }

  // Finds jobs that lack a side that should be recorded.
  void FromJobs() {
    const model::Jobs& jobs = model_.jobs;
    int64_t first_submit_ns = std::numeric_limits<int64_t>::max();
    // The begin of the call in which a thread was when the recording began is not recorded.
    std::map<uint32_t, std::pair<int64_t, uint64_t>> first_of_thread;  // time, correlation
    uint64_t unseen = 0, uncalled = 0, unfollowed = 0;
    Cursor<int64_t> submit_ns(jobs.submit_ns), wake_ns(jobs.wake_ns);
    Cursor<uint32_t> tids(jobs.tid), api_row(jobs.api_row), waiters(jobs.wait_api_row);
    Cursor<uint64_t> correlation(jobs.correlation);
    std::pair<int64_t, uint64_t>* first = nullptr;
    uint32_t last_tid = 0;  // the thread that `first` belongs to
    for (size_t j = 0; j < jobs.size(); ++j) {
      const int64_t at_ns = submit_ns[j];
      if (at_ns == kNoTime) continue;
      first_submit_ns = std::min(first_submit_ns, at_ns);
      if (first == nullptr || tids[j] != last_tid) {
        first = &first_of_thread.try_emplace(tids[j], at_ns, correlation[j]).first->second;
      }
      last_tid = tids[j];
      if (at_ns < first->first) *first = {at_ns, correlation[j]};
    }
    for (size_t j = 0; j < jobs.size(); ++j) {
      if (submit_ns[j] == kNoTime) {
        // Jobs before the first submission were under way when the recording began.
        unseen += jobs.on_device[j] && jobs.doorbell.host[j].lo_ns > first_submit_ns;
        continue;
      }
      if (api_row[j] == kNoRow && correlation[j] != 0) {
        doubts_.begin_open = true;
        uncalled += first_of_thread[tids[j]].second != correlation[j];
      }
      if (wake_ns[j] != kNoTime && waiters[j] == kNoRow) ++unfollowed;
    }
    doubts_.end_open = unfollowed > 0;
    if (unseen > 0 && !(absent_ & kHostRows)) {
      Add("loss", fmt::format("{} of the device were never seen to be submitted", Jobs(unseen)),
          true);
      doubts_.unplaced |= kHostRows;
    }
    const bool all = model_.api.size() == 0 && doubts_.begin_open;
    if ((uncalled > 0 || all) && !(absent_ & kCallRows)) {
      Add("loss",
          all ? "the jobs carry ids of API calls of which none was recorded"
              : fmt::format("the API calls of {} were not recorded", Jobs(uncalled)),
          !model_.info.probes().empty() || !all);
      doubts_.unplaced |= kCallRows;
    } else if (doubts_.begin_open || doubts_.end_open) {
      doubts_.unplaced |= kCallRows;
    }
  }

  static std::string Jobs(uint64_t count) {
    return fmt::format("{} job{}", count, count == 1 ? "" : "s");
  }

  // The driver knows all jobs and when the device had each of them, so that the device's rows can
  // only be missing within these times.
  void PlaceDeviceRows() {
    constexpr uint32_t kDeviceRows = kCommandRows | kJobRows;
    const uint32_t missing = doubts_.unplaced & kDeviceRows;
    if (missing == 0 || (doubts_.unplaced & kHostRows) || !model_.has_accounts) return;
    if (absent_ & kDeviceRows) return;
    doubts_.unplaced &= ~kDeviceRows;
    const model::Jobs& jobs = model_.jobs;
    for (size_t j = 0; j < jobs.size(); ++j) {
      const bool whole =
          jobs.on_device[j] && jobs.commands_retired[j] == jobs.num_commands[j] &&
          (jobs.submit_ns[j] == kNoTime || jobs.commands_submitted[j] == jobs.num_commands[j]);
      if (whole) continue;
      const int64_t from_ns =
          jobs.submit_ns[j] != kNoTime ? jobs.submit_ns[j] : model_.info.start_ns();
      const int64_t to_ns =
          jobs.complete_ns[j] != kNoTime ? jobs.complete_ns[j] : model_.accounts.stop_ns();
      doubts_.places.push_back({kDeviceRows, from_ns, std::max(from_ns, to_ns)});
    }
  }

  const Evidence& evidence_;
  const model::Model& model_;
  Doubts doubts_;
  uint32_t absent_ = 0;  // kinds of rows for which no source was recorded
};

// Returns the classes, as bits, that an instant of class `seen` may really belong to if rows of
// these kinds are missing.
uint32_t Reach(Class seen, uint32_t rows) {
  uint32_t reach = 0;
  if (rows & kCommandRows) reach |= 1u << kComputing | 1u << kTransferring;
  if (rows & kJobRows) reach |= 1u << kHolding | 1u << kNotifying | 1u << kRinging;
  if (rows & kHostRows) reach |= 1u << kUnseen | 1u << kNotifying | 1u << kRinging | 1u << kDriver;
  if (rows & kCallRows) reach |= 1u << kRuntime;
  reach &= (1u << seen) - 1;  // only classes that come first can replace it
  // The thread that was seen waiting need not be the one that mattered.
  if (seen == kNotifying && (rows & kHostRows)) {
    reach |= 1u << kRinging | 1u << kDriver | 1u << kRuntime | 1u << kApplication;
  }
  return reach;
}

}  // namespace

const Caveat* DisturbedTime(const Verdict& verdict) {
  for (const Caveat& caveat : verdict.caveats) {
    if (caveat.kind == kTimeCaveat) return &caveat;
  }
  return nullptr;
}

Doubts FindDoubts(const Evidence& evidence) { return Finder(evidence).Run(); }

bool BoundClasses(const Evidence& evidence, const Doubts& doubts,
                  std::array<Span, kNumClasses>* possible) {
  const Breakdown& breakdown = evidence.breakdown;
  *possible = breakdown.time;
  if (doubts.none()) return true;
  if (doubts.contradiction) return false;
  const auto give = [&](uint32_t reach, int64_t ns) {
    for (int c = 0; c < kNumClasses; ++c) {
      if (reach >> c & 1) (*possible)[c] += {0, 0, ns};
    }
  };
  // Time outside of the visible run: a longer run may have any class there, but if only calls are
  // missing, these are the only addition.
  const int64_t start_ns = evidence.model->info.start_ns(),
                stop_ns = evidence.model->accounts.stop_ns();
  const bool known = evidence.model->has_info && evidence.model->has_accounts &&
                     start_ns <= breakdown.begin_ns && breakdown.end_ns <= stop_ns;
  if (!known) return false;
  if (doubts.unplaced & ~kCallRows) {
    give((1u << kNumClasses) - 1, breakdown.begin_ns - start_ns + stop_ns - breakdown.end_ns);
  } else if (doubts.unplaced & kCallRows) {
    if (doubts.begin_open) give(1u << kRuntime, breakdown.begin_ns - start_ns);
    if (doubts.end_open) give(1u << kRuntime, stop_ns - breakdown.end_ns);
  }
  std::map<int64_t, std::array<int, 2>> changes;  // changes in the number of open places
  int64_t before_ns = 0, after_ns = 0;
  for (const Doubts::Place& place : doubts.places) {
    changes[place.from_ns][0] += 1, changes[place.to_ns][0] -= 1;
    before_ns = std::max(before_ns, breakdown.begin_ns - place.from_ns);
    after_ns = std::max(after_ns, place.to_ns - breakdown.end_ns);
  }
  give((1u << kNumClasses) - 1, before_ns + after_ns);
  // Determine for each interval of the run what else it may be.
  int open = 0;
  auto change = changes.begin();
  int64_t at_ns = breakdown.begin_ns;
  for (const Piece& piece : breakdown.pieces) {
    while (at_ns < piece.end_ns) {
      for (; change != changes.end() && change->first <= at_ns; ++change) open += change->second[0];
      const int64_t until_ns =
          change == changes.end() ? piece.end_ns : std::min(piece.end_ns, change->first);
      const uint32_t rows = doubts.unplaced | (open > 0 ? kCommandRows | kJobRows : 0u);
      const uint32_t reach = Reach(piece.of, rows);
      give(reach, until_ns - at_ns);
      if (reach != 0) {
        Span& seen = (*possible)[piece.of];
        seen.lo_ns = std::max<int64_t>(0, seen.lo_ns - (until_ns - at_ns));
      }
      at_ns = until_ns;
    }
  }
  return true;
}

}  // namespace acceltrace::analysis
