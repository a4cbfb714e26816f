// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/conservation.h"

#include <fmt/format.h>

#include "libtrace/analysis/counters.h"

namespace acceltrace::analysis {
namespace {

// Counts cases of one law; the first broken one becomes its note.
class Tally {
 public:
  Tally(std::string name, std::string text, std::string device) {
    law_.name = std::move(name);
    law_.text = std::move(text);
    law_.device = std::move(device);
  }

  template <typename Describe>
  void Case(uint64_t left, uint64_t right, const Describe& describe) {
    ++law_.checked;
    law_.left += left;
    law_.right += right;
    if (left != right && law_.broken++ == 0) law_.note = describe();
  }

  void Unknown(std::string why) { why_ = std::move(why); }

  Law Done() {
    if (law_.broken > 0) {
      law_.state = Law::State::kBroken;
    } else if (law_.checked > 0 && why_.empty()) {
      law_.state = Law::State::kHolds;
    } else {
      law_.note = why_.empty() ? "nothing to compare" : why_;
    }
    return law_;
  }

 private:
  Law law_;
  std::string why_;
};

std::string JobText(const model::Model& model, size_t job) {
  return fmt::format("{} job {}", model.devices[model.jobs.device[job]].about.name(),
                     model.jobs.job[job]);
}

void JobLaws(const model::Model& model, bool complete, std::vector<Law>* laws) {
  const model::Jobs& jobs = model.jobs;
  Tally both("jobs_on_both_sides", "jobs submitted = jobs completed by the device", "");
  Tally consumed("completions_consumed", "completions written = completions consumed", "");
  Tally counts("commands_per_job", "commands submitted = commands retired = command records", "");
  Tally identity("correlation", "correlation of driver = job record = command records", "");
  Tally bytes("copy_bytes", "bytes the driver was asked to copy = bytes the device copied", "");
  for (size_t j = 0; j < jobs.size(); ++j) {
    const auto where = [&](const char* what, uint64_t left, uint64_t right) {
      return [&model, j, what, left, right] {
        return fmt::format("{}: {} {} against {}", JobText(model, j), what, left, right);
      };
    };
    // What was under way when the recording began or ended was seen in part.
    const bool begun_before = jobs.submit_ns[j] == model::kNoTime;
    if (!begun_before) {
      both.Case(1, jobs.on_device[j], where("seen by driver, by device:", 1, jobs.on_device[j]));
    }
    if (jobs.on_device[j] && !begun_before) {
      const uint64_t seen = jobs.complete_ns[j] != model::kNoTime;
      consumed.Case(1, seen, where("written, consumed:", 1, seen));
      counts.Case(
          jobs.commands_submitted[j], jobs.commands_retired[j],
          where("commands submitted", jobs.commands_submitted[j], jobs.commands_retired[j]));
      counts.Case(jobs.commands_retired[j], jobs.num_commands[j],
                  where("commands retired", jobs.commands_retired[j], jobs.num_commands[j]));
      identity.Case(jobs.host_correlation[j], jobs.correlation[j],
                    where("correlation", jobs.host_correlation[j], jobs.correlation[j]));
    }
    uint64_t copied = 0;
    bool failed = false;
    for (uint32_t c = 0; c < jobs.num_commands[j]; ++c) {
      const size_t row = jobs.first_command[j] + c;
      identity.Case(jobs.correlation[j], model.commands.correlation[row],
                    where("correlation", jobs.correlation[j], model.commands.correlation[row]));
      failed |= model.commands.status[row] != 0;
      if (model.devices[jobs.device[j]].IsDma(model.commands.unit[row])) {
        copied += model.commands.bytes[row];
      }
    }
    if (!begun_before && jobs.on_device[j] && !failed) {
      bytes.Case(jobs.copy_bytes[j], copied, where("bytes", jobs.copy_bytes[j], copied));
    }
  }
  for (Tally* tally : {&both, &consumed, &counts, &identity, &bytes}) {
    // With rows missing, a difference is explained: it is told as a loss.
    Law law = tally->Done();
    if (!complete && law.state == Law::State::kBroken && law.name != "correlation") {
      law.state = Law::State::kUnknown;
      law.note = "events were lost; " + law.note;
    }
    laws->push_back(std::move(law));
  }
}

void CounterLaws(const model::Model& model, const DeviceUse& use, bool complete,
                 std::vector<Law>* laws) {
  const model::Device& device = model.devices[use.device];
  const std::string& name = device.about.name();
  Tally elapsed("unit_time", "busy + stalls + idle = elapsed, of the counters of each unit", name);
  Tally ticks("counters_and_commands", "counters of each unit = sums over its commands", name);
  Tally bytes("dma_bytes", "DMA byte counters = bytes of the DMA commands", name);
  if (device.counters.size() < 2) {
    for (Tally* tally : {&elapsed, &ticks, &bytes}) {
      tally->Unknown("fewer than two counter snapshots");
      laws->push_back(tally->Done());
    }
    return;
  }
  const size_t last = device.counters.size() - 1;
  for (const UnitUse& unit : use.units) {
    const CounterCheck& check = unit.check;
    const auto where = [&](const char* what, uint64_t left, uint64_t right) {
      return [&unit, what, left, right] {
        return fmt::format("{}: {} {} against {}", unit.name, what, left, right);
      };
    };
    if (check.has_law) {
      const auto total = Grown(device.counters, FindCounter(device, "elapsed_ticks"), 0, last);
      const uint64_t sum = *total + static_cast<uint64_t>(check.law_error_ticks);
      elapsed.Case(sum, *total, where("ticks", sum, *total));
    }
    if (!check.available) continue;
    if (!complete) {
      ticks.Unknown("events were lost");
      bytes.Unknown("events were lost");
      continue;
    }
    if (check.straddling > 0) {
      ticks.Unknown("commands ran across the first or the last snapshot");
      bytes.Unknown("commands ran across the first or the last snapshot");
      continue;
    }
    ticks.Case(check.commands, check.commands_seen,
               where("commands", check.commands, check.commands_seen));
    ticks.Case(check.busy_ticks, check.commands_busy_ticks,
               where("busy ticks", check.busy_ticks, check.commands_busy_ticks));
    for (size_t s = 0; s < check.stall_ticks.size(); ++s) {
      ticks.Case(check.stall_ticks[s], check.commands_stall_ticks[s],
                 where("stall ticks", check.stall_ticks[s], check.commands_stall_ticks[s]));
    }
    const auto counted = Grown(device.counters, FindCounter(device, unit.name + "_bytes"), 0, last);
    if (!counted || !device.IsDma(unit.unit)) continue;
    uint64_t copied = 0;
    for (size_t i = 0; i < model.commands.size(); ++i) {
      if (model.commands.device[i] == use.device && model.commands.unit[i] == unit.unit &&
          static_cast<int64_t>(model.commands.end.ticks[i] - device.counters.time.ticks[0]) > 0 &&
          static_cast<int64_t>(device.counters.time.ticks[last] - model.commands.end.ticks[i]) >=
              0) {
        copied += model.commands.bytes[i];
      }
    }
    bytes.Case(*counted, copied, where("bytes", *counted, copied));
  }
  for (Tally* tally : {&elapsed, &ticks, &bytes}) laws->push_back(tally->Done());
}

}  // namespace

std::vector<Law> ComputeConservation(const model::Model& model, const Losses& losses,
                                     const std::vector<DeviceUse>& use) {
  std::vector<Law> laws;
  // A recording that did not end in order may have lost its last events.
  const bool complete = losses.None() && losses.has_accounts && model.read.has_footer;
  JobLaws(model, complete, &laws);
  for (const DeviceUse& device : use) CounterLaws(model, device, complete, &laws);
  Tally books("books", "in = out + lost + bad, at every hop of the tracer", "");
  for (const HopUse& hop : losses.hops) {
    books.Case(hop.in, hop.out + hop.lost + hop.bad, [&] {
      return fmt::format("{}: {} in, {} out, {} lost, {} bad", hop.name, hop.in, hop.out, hop.lost,
                         hop.bad);
    });
  }
  if (!losses.has_accounts) books.Unknown("the recording has no end: its books are missing");
  laws.push_back(books.Done());
  return laws;
}

}  // namespace acceltrace::analysis
