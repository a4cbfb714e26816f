// SPDX-License-Identifier: Apache-2.0
#include "tests/scoring/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "libtrace/analysis/rows/names.h"
#include "tests/scoring/true_breakdown.h"

namespace acceltrace::scoring {
namespace {

using nlohmann::json;

class Scorer {
 public:
  Scorer(const model::Model& model, const json& report, const RunTruth& truth)
      : model_(model), report_(report), truth_(truth) {}

  FigureScore Run() {
    for (const json& device : report_["utilisation"]) Utilisation(device);
    for (const json& device : report_["transfers"]) Transfers(device);
    for (const json& device : report_["memory"]) Memory(device);
    Ops("ops", false);
    Ops("op_groups", true);
    Latency();
    Breakdown();
    return std::move(score_);
  }

 private:
  // Keys {"NAME": mid, "NAME_lo", "NAME_hi"}; without bounds the value is exact.
  void Check(const std::string& what, const json& in, const std::string& name, double truth,
             double unit, uint64_t edges = 0) {
    ++score_.figures;
    const std::string lo_name = name == "ns" ? "lo_ns" : name + "_lo";
    const std::string hi_name = name == "ns" ? "hi_ns" : name + "_hi";
    const bool has = in.contains(name) && in[name].is_number();
    const double mid = has ? in[name].get<double>() : NAN;
    const double lo = in.contains(lo_name) ? in[lo_name].get<double>() : mid;
    const double hi = !in.contains(hi_name)   ? mid
                      : in[hi_name].is_null() ? INFINITY
                                              : in[hi_name].get<double>();
    // unit is the last printed digit. The uncertainty of the truth itself is tolerated.
    const double slack = unit + std::abs(truth) * truth_.scale_error +
                         (name == "ns" ? static_cast<double>(edges + 2) * truth_.accuracy_ns : 0);
    if (has && lo <= mid && mid <= hi && truth >= lo - slack && truth <= hi + slack) return;
    ++score_.outside;
    if (score_.worst.size() < 20) {
      score_.worst.push_back(
          fmt::format("{} {}: {:.9g} not in [{:.9g}, {:.9g}]", what, name, truth, lo, hi));
    }
  }
  void Span(const std::string& what, const json& in, double truth_ns, uint64_t edges = 0) {
    Check(what, in, "ns", truth_ns, 1, edges);
    if (in.contains("lo_ns") && in["lo_ns"].get<double>() < 0) {
      ++score_.outside;
      score_.worst.push_back(what + ": a lower bound below zero");
    }
  }

  uint32_t Row(const std::string& device) const {
    uint32_t row = 0;
    while (row + 1 < model_.devices.size() && model_.devices[row].about.name() != device) ++row;
    return row;
  }

  double Window(uint32_t device) const {
    double begin = INFINITY, end = -INFINITY;
    for (size_t i = 0; i < model_.commands.size(); ++i) {
      if (model_.commands.device[i] != device) continue;
      begin = std::min(begin, truth_.commands[i].fetched);
      end = std::max(end, truth_.commands[i].end);
    }
    for (size_t j = 0; j < model_.jobs.size(); ++j) {
      if (model_.jobs.device[j] != device || !model_.jobs.on_device[j]) continue;
      begin = std::min(begin, truth_.jobs[j].fetched);
      end = std::max(end, truth_.jobs[j].completion);
    }
    return end - begin;
  }

  template <typename Visit>
  void EachCommand(uint32_t device, const std::string& unit, const Visit& visit) const {
    for (size_t i = 0; i < model_.commands.size(); ++i) {
      if (model_.commands.device[i] == device &&
          model_.devices[device].UnitName(model_.commands.unit[i]) == unit) {
        visit(i, truth_.commands[i]);
      }
    }
  }

  void Utilisation(const json& use) {
    const std::string name = use["device"];
    const uint32_t device = Row(name);
    const proto::Device& about = model_.devices[device].about;
    const double window = Window(device);
    Span(name + " window", use["window"], window);
    for (const json& unit : use["units"]) {
      const std::string what = name + " " + unit["unit"].get<std::string>();
      double busy = 0, held = 0, work = 0;
      std::vector<double> stalls(static_cast<size_t>(about.stalls_size()));
      EachCommand(device, unit["unit"], [&](size_t i, const CommandTruth& c) {
        busy += c.busy, held += c.end - c.head;
        work += static_cast<double>(model_.commands.work[i]);
        for (size_t s = 0; s < stalls.size(); ++s) stalls[s] += c.stalls[s];
      });
      const auto part = [&](const std::string& of, const json& in, double ns) {
        Span(what + " " + of, in, ns);
        Check(what + " " + of, in, "share", ns / window, 1e-6);
      };
      part("busy", unit["busy"], busy);
      part("idle", unit["idle"], window - held);
      part("stalled", unit["stalled"], std::accumulate(stalls.begin(), stalls.end(), 0.0));
      for (size_t s = 0; s < stalls.size(); ++s) {
        const std::string& cause = about.stalls(static_cast<int>(s));
        part("stall " + cause, unit["stalls"][cause], stalls[s]);
      }
      if (work > 0 && busy > 0) {
        Check(what, unit, "busy_work_per_s", work * 1e9 / busy, 1);
        if (unit["peak_work_per_s"].get<double>() > 0) {
          Check(what, unit, "busy_peak_share",
                work * 1e9 / busy / unit["peak_work_per_s"].get<double>(), 1e-6);
        }
      }
    }
  }

  void Transfers(const json& transfers) {
    const uint32_t device = Row(transfers["device"]);
    for (const json& direction : transfers["directions"]) {
      const std::string what = "transfers " + direction["unit"].get<std::string>();
      double all = 0, bytes = 0, best = 0;
      std::map<uint64_t, std::pair<double, double>> sizes;  // by largest: time, bytes
      EachCommand(device, direction["unit"], [&](size_t i, const CommandTruth& c) {
        const uint64_t size = model_.commands.bytes[i];
        if (size == 0) return;
        all += c.end - c.start, bytes += static_cast<double>(size);
        if (size >= 4096)
          best = std::max(best, static_cast<double>(size) * 1e9 / (c.end - c.start));
        for (const json& entry : direction["sizes"]) {
          const uint64_t most = entry.value("up_to_bytes", UINT64_MAX);
          if (size > most) continue;
          sizes[most].first += c.end - c.start, sizes[most].second += static_cast<double>(size);
          break;
        }
      });
      Span(what, direction["time"], all);
      if (all > 0) {
        Check(what, direction, "bytes_per_s", bytes * 1e9 / all, 1);
        const double link = direction["link_bytes_per_s"].get<double>();
        if (link > 0) Check(what, direction, "of_link", bytes * 1e9 / all / link, 1e-6);
      }
      if (best > 0) Check(what, direction, "best_bytes_per_s", best, 1);
      for (const json& entry : direction["sizes"]) {
        const auto& [ns, of] = sizes[entry.value("up_to_bytes", UINT64_MAX)];
        Span(what + " of a size", entry["time"], ns);
        if (ns > 0) Check(what + " of a size", entry, "bytes_per_s", of * 1e9 / ns, 1);
      }
    }
  }

  void Memory(const json& memory) {
    const uint32_t device = Row(memory["device"]);
    double moved = 0;
    for (const json& unit : memory["units"]) {
      double ns = 0, bytes = 0;
      EachCommand(device, unit["by"], [&](size_t i, const CommandTruth& c) {
        if (model_.commands.memory_bytes[i] == 0) return;
        ns += c.end - c.start, bytes += static_cast<double>(model_.commands.memory_bytes[i]);
      });
      if (ns > 0) {
        Check("memory " + unit["by"].get<std::string>(), unit, "bytes_per_s", bytes * 1e9 / ns, 1);
      }
      moved += bytes;
    }
    if (moved > 0) {
      Check("memory", memory["all"], "bytes_per_s", moved * 1e9 / Window(device), 1);
    }
  }

  void Ops(const std::string& list, bool fold) {
    const model::Commands& commands = model_.commands;
    std::vector<std::string> names;
    for (size_t i = 0; i < commands.size(); ++i) {
      const std::string& op = model_.strings.Get(commands.op[i]);
      names.push_back(op.empty() ? model_.devices[commands.device[i]].OpcodeName(commands.opcode[i])
                                 : op);
    }
    const analysis::NameGroups groups(fold, {names.begin(), names.end()});
    struct Sum {
      double time = 0, longest = 0, held = 0, busy = 0, work = 0, limited = 0;
    };
    std::map<std::string, Sum> sums;
    std::map<std::string, double> of_device;
    const auto key = [](const std::string& device, const std::string& unit, const std::string& op) {
      return device + "/" + unit + "/" + op;
    };
    std::map<std::string, std::string> limiters;
    for (const json& op : report_[list])
      limiters[key(op["device"], op["unit"], op["op"])] = op["limiter"];
    for (size_t i = 0; i < commands.size(); ++i) {
      const model::Device& device = model_.devices[commands.device[i]];
      const CommandTruth& c = truth_.commands[i];
      const std::string k =
          key(device.about.name(), device.UnitName(commands.unit[i]), groups.Of(names[i]));
      Sum& sum = sums[k];
      sum.time += c.end - c.start, sum.held += c.end - c.head, sum.busy += c.busy;
      sum.longest = std::max(sum.longest, c.end - c.start);
      sum.work += static_cast<double>(commands.work[i]);
      if (device.LimiterName(commands.limiter[i]) == limiters[k]) sum.limited += c.end - c.head;
      of_device[device.about.name()] += c.end - c.start;
    }
    for (const json& op : report_[list]) {
      const std::string what = list + " " + key(op["device"], op["unit"], op["op"]);
      const Sum& sum = sums[key(op["device"], op["unit"], op["op"])];
      Span(what + " time", op["time"], sum.time);
      Span(what + " longest", op["longest"], sum.longest);
      Span(what + " held", op["held"], sum.held);
      Span(what + " limiter", op["limiter_time"], sum.limited);
      if (sum.held > 0) Check(what, op, "busy_share", sum.busy / sum.held, 1e-6);
      Check(what, op, "share", sum.time / of_device[op["device"]], 1e-6);
      if (sum.time <= 0 || sum.work <= 0) continue;
      Check(what, op, "work_per_s", sum.work * 1e9 / sum.time, 1);
    }
  }

  void Latency() {
    const model::Jobs& jobs = model_.jobs;
    std::map<std::string, std::vector<double>> stages;
    for (size_t j = 0; j < jobs.size(); ++j) {
      if (!jobs.on_device[j]) continue;
      const JobTruth& job = truth_.jobs[j];
      if (jobs.doorbell_ns[j] != model::kNoTime) {
        stages["doorbell_to_device"].push_back(job.doorbell -
                                               static_cast<double>(jobs.doorbell_ns[j]));
      }
      stages["doorbell_to_fetch"].push_back(job.fetched - job.doorbell);
      stages["fetch_to_start"].push_back(job.start - job.fetched);
      stages["start_to_end"].push_back(job.end - job.start);
      stages["end_to_completion"].push_back(job.completion - job.end);
      if (!jobs.has_irq[j]) continue;
      stages["completion_to_interrupt"].push_back(job.irq - job.completion);
      if (jobs.irq_ns[j] != model::kNoTime) {
        stages["interrupt_to_handler"].push_back(static_cast<double>(jobs.irq_ns[j]) - job.irq);
      }
    }
    for (auto& [name, values] : stages) {
      std::sort(values.begin(), values.end());
      const json& stage = report_["latency"]["stages"][name];
      const size_t n = values.size();
      if (stage["count"] != n) {
        ++score_.outside;
        score_.worst.push_back("latency " + name + ": another number of jobs");
        continue;
      }
      const uint64_t edges = name == "doorbell_to_device" || name == "interrupt_to_handler";
      // A named capture, since clang 14 cannot capture a structured binding.
      const auto check = [&, &name = name](const char* statistic, double truth, uint64_t of) {
        Span("latency " + name + " " + statistic, stage[statistic], truth, edges * of);
      };
      const double total = std::accumulate(values.begin(), values.end(), 0.0);
      check("min", values.front(), 1);
      check("p50", values[(n * 50 + 99) / 100 - 1], 1);
      check("p90", values[(n * 90 + 99) / 100 - 1], 1);
      check("p99", values[(n * 99 + 99) / 100 - 1], 1);
      check("max", values.back(), 1);
      check("mean", total / static_cast<double>(n), 1);
      check("total", total, n);
    }
  }

  void Breakdown() {
    const TrueBreakdown truth = BreakDown(model_, truth_);
    const json& breakdown = report_["breakdown"];
    const uint64_t edges = 2 * (model_.jobs.size() + 1);
    for (const auto& [name, ns] : truth.classes) {
      const json& in = breakdown["classes"][name];
      Span("breakdown " + name, in, ns, edges);
      Check("breakdown " + name, in, "share", ns / truth.run,
            1e-6 + truth_.accuracy_ns * static_cast<double>(edges) / truth.run);
    }
    Span("overlap", breakdown["overlap"], truth.overlap, model_.devices.size() > 1 ? edges : 0);
    Span("gaps", breakdown["gaps"]["total"], truth.gap_total,
         model_.devices.size() > 1 ? edges : 0);
    Span("longest gap", breakdown["gaps"]["longest"], truth.gap_longest,
         model_.devices.size() > 1 ? 2 : 0);
    const uint64_t gaps = breakdown["gaps"]["count_lo"], most = breakdown["gaps"]["count_hi"];
    ++score_.figures;
    if (truth.gaps < gaps || truth.gaps > most) {
      ++score_.outside;
      score_.worst.push_back(fmt::format("gaps: {} not in [{}, {}]", truth.gaps, gaps, most));
    }
    std::map<std::string, double> limiters;
    for (size_t i = 0; i < model_.commands.size(); ++i) {
      limiters[model_.devices[model_.commands.device[i]].LimiterName(model_.commands.limiter[i])] +=
          truth_.commands[i].end - truth_.commands[i].start;
    }
    for (const auto& [name, ns] : limiters) {
      Span("time by limiter " + name, breakdown["command_time_by_limiter"][name], ns);
    }
  }

  const model::Model& model_;
  const json& report_;
  const RunTruth& truth_;
  FigureScore score_;
};

}  // namespace

FigureScore ScoreFigures(const model::Model& model, const nlohmann::json& report,
                         const RunTruth& truth) {
  return Scorer(model, report, truth).Run();
}

}  // namespace acceltrace::scoring
