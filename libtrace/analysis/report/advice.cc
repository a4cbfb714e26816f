// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "libtrace/analysis/rows/names.h"
#include "libtrace/analysis/whatif/edit.h"
#include "libtrace/analysis/whatif/replays.h"
#include "libtrace/analysis/whatif/whatif.h"

namespace acceltrace::analysis {
namespace {

struct Kind {
  const char* kind;
  const char* what;  // {count} is their number, {each} the bytes of each
  const char* change;
  const char* whatif;
  Edited (Editor::*edit)();
};

const Kind kKinds[] = {
    {"copies", "{count} small copies of {each} each take longer to set up than to move",
     "gather what is copied, and copy it at once", "--merge-copies", &Editor::MergeCopies},
    {"waits", "the program waits {count} times for work that it then adds to",
     "wait once at the end; order work by events, or submit it as a graph", "--async",
     &Editor::RemoveWaits},
    {"overlap", "{count} copies of {each} each wait for the computing before them, or it for them",
     "use two buffers in turn, and a stream of its own for the copies", "--overlap",
     &Editor::OverlapCopies},
    {"allocation", "{count} calls create, destroy or map memory during the run",
     "allocate and register once, before the loop", "--no-allocation", &Editor::RemoveAllocations},
    {"pageable", "{count} copies of {each} each go through the CPU, since their memory is pageable",
     "allocate or register the host's memory for the device", "--pinned", &Editor::PinCopies},
    {"host", "the program does other things between {count} of its calls",
     "do it while the device works: submit first, or in another thread", "--no-program",
     &Editor::RemoveProgram},
    {"batch", "{count} jobs of a command or two are submitted one after the other",
     "submit them as a batch, or as a graph", "--batch", &Editor::BatchJobs},
    {"launch", "{count} commands take longer to start than to run",
     "do more in each: larger tiles, or several in one", "--merge-commands",
     &Editor::MergeCommands},
    {"rows", "{count} commands open rows of the memory more than streaming would",
     "lay data out in the order in which it is read", "--ordered-rows", &Editor::OrderRows},
    {"fusion", "{count} ops read what the op before them just wrote to memory",
     "fuse them, or keep what lies between in the scratchpad", "--fuse-all", &Editor::FuseAll},
    {"wake-up", "{count} waits slept, and went on late after their completion",
     "poll for short waits", "--poll", &Editor::WakeAtOnce},
};

class Adviser {
 public:
  Adviser(const model::Model& model, Graph* graph, Replays* replays)
      : model_(model), graph_(*graph), replays_(*replays) {
    without_.without_tracer = true;
    base_ns_ = replays_.RunAll(without_);
    recorded_ns_ = replays_.Run({});
    SortRanges();
  }
  bool valid() const { return recorded_ns_ > 0 && base_ns_[0] > 0; }

  std::vector<Advice> Run() {
    std::vector<Advice> all;
    Editor editor(model_, &graph_);
    for (const Kind& kind : kKinds) {
      const Edited edited = (editor.*kind.edit)();
      Advice advice;
      if (edited.count > 0 && Gain(without_, &advice)) {
        Describe(kind, edited, &advice);
        all.push_back(std::move(advice));
      }
      editor.Undo();
    }
    SlowLinks(&all);
    std::stable_sort(all.begin(), all.end(), [](const Advice& a, const Advice& b) {
      return std::tie(a.lo_ns, a.gain_ns) > std::tie(b.lo_ns, b.gain_ns);
    });
    return all;
  }

 private:
  // Computes the gain of the graph's current state. Returns false if it is too small to be
  // reported.
  bool Gain(const Scales& scales, Advice* advice) const {
    const double run_ns = graph_.RunNs() * base_ns_[0] / recorded_ns_;
    for (size_t i = 0; i < Readings().size(); ++i) {
      if (base_ns_[i] <= 0) continue;
      const double ns = replays_.Run(scales, Readings()[i]);
      if (ns < 0) return false;
      const double share = 1 - ns / base_ns_[i];
      if (i == 0) {
        if (share < Advice::kLeast) return false;
        advice->share = advice->lo_share = advice->hi_share = share;
      }
      advice->lo_share = std::min(advice->lo_share, share);
      advice->hi_share = std::max(advice->hi_share, share);
    }
    // As in whatif.h, add a part of the change and the replay's own error.
    const double wider = 0.1 * advice->share + std::abs(recorded_ns_ / graph_.RunNs() - 1);
    advice->lo_share = std::max(0.0, advice->lo_share - wider);
    advice->hi_share = std::min(1.0, advice->hi_share + wider);
    advice->gain_ns = advice->share * run_ns;
    advice->lo_ns = advice->lo_share * run_ns, advice->hi_ns = advice->hi_share * run_ns;
    return true;
  }

  static std::string Bytes(double bytes) {
    static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
    return unit == 0 ? fmt::format("{:.0f} B", bytes)
                     : fmt::format("{:.2f} {}", bytes, kUnits[unit]);
  }

  // Counts names. As names do not move in memory, each is looked up by its text only once.
  struct Names {
    std::map<std::string, uint64_t> counts;
    std::unordered_map<const std::string*, uint64_t*> known;  // nullptr: beyond the limit

    void Count(const std::string& name) {
      const auto [place, fresh] = known.try_emplace(&name, nullptr);
      if (fresh && !name.empty() && (counts.size() < kMaxNamedRows || counts.contains(name))) {
        place->second = &counts[name];
      }
      if (place->second != nullptr) ++*place->second;
    }
  };

  void Describe(const Kind& kind, const Edited& edited, Advice* advice) const {
    advice->kind = kind.kind;
    advice->count = edited.count, advice->bytes = edited.bytes, advice->ns = edited.ns;
    const double each = static_cast<double>(edited.bytes) / static_cast<double>(edited.count);
    advice->text = fmt::format(fmt::runtime(kind.what), fmt::arg("count", edited.count),
                               fmt::arg("each", Bytes(each)));
    advice->change = kind.change, advice->whatif = kind.whatif;
    if (kind.edit == &Editor::RemoveProgram && !graph_.sleep_known) {
      // A program that waits for a request could not do anything earlier.
      advice->lo_ns = advice->lo_share = 0;
      advice->text = fmt::format(
          "the program computes, or sleeps (--sources sched tells), between {} of its calls",
          edited.count);
    }
    if (graph_.crowded && kind.edit != &Editor::RemoveProgram) {
      // Time that was taken by another thread is not saved.
      advice->lo_ns = advice->lo_share = 0;
      advice->text += ", unless its threads wait for a CPU (--sources sched tells)";
    }
    Names ops, calls, ranges;
    for (const uint32_t row : edited.rows) ops.Count(model_.OpName(row));
    for (const uint32_t call : edited.calls) Call(call, &calls, &ranges);
    if (edited.calls.empty()) {
      for (const uint32_t row : edited.rows) {
        const uint32_t job = model_.commands.job_row[row];
        if (job != model::kNoRow && model_.jobs.api_row[job] != model::kNoRow) {
          Call(model_.jobs.api_row[job], &calls, &ranges);
        }
      }
    }
    advice->ops = edited.ops_fused.empty() ? Most(ops.counts) : edited.ops_fused;
    if (advice->ops.size() > Advice::kMaxNames) advice->ops.resize(Advice::kMaxNames);
    advice->calls = Most(calls.counts), advice->ranges = Most(ranges.counts);
  }

  void Call(uint32_t call, Names* calls, Names* ranges) const {
    calls->Count(model_.strings.Get(model_.api.name[call]));
    const uint32_t range = RangeOf(call);
    if (range != model::kNoRow) ranges->Count(model_.strings.Get(model_.ranges.name[range]));
  }
  static std::vector<std::string> Most(const std::map<std::string, uint64_t>& names) {
    std::vector<std::pair<uint64_t, std::string>> sorted;
    for (const auto& [name, count] : names) sorted.emplace_back(count, name);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> most;
    for (size_t i = 0; i < std::min(sorted.size(), Advice::kMaxNames); ++i) {
      most.push_back(std::move(sorted[i].second));
    }
    return most;
  }

  void SortRanges() {
    for (uint32_t r = 0; r < model_.ranges.size(); ++r) {
      if (!model_.ranges.mark[r]) ranges_.push_back(r);
    }
    std::sort(ranges_.begin(), ranges_.end(),
              [this](uint32_t a, uint32_t b) { return RangeKey(a) < RangeKey(b); });
  }
  std::pair<uint32_t, int64_t> RangeKey(uint32_t r) const {
    return {model_.ranges.tid[r], model_.ranges.begin_ns[r]};
  }
  // Finds the innermost range in which a call began. Only this many ranges that began before it are
  // examined.
  static constexpr int kLookBack = 64;
  uint32_t RangeOf(uint32_t call) const {
    const std::pair<uint32_t, int64_t> at{model_.api.tid[call], model_.api.begin_ns[call]};
    auto range = std::upper_bound(ranges_.begin(), ranges_.end(), at,
                                  [this](const auto& a, uint32_t r) { return a < RangeKey(r); });
    for (int i = 0; i < kLookBack && range != ranges_.begin(); ++i) {
      --range;
      if (model_.ranges.tid[*range] != at.first) break;
      if (model_.ranges.open[*range] || model_.ranges.end_ns[*range] >= at.second) return *range;
    }
    return model::kNoRow;
  }

  // Reports links that are slower than both of their ends support.
  void SlowLinks(std::vector<Advice>* all) const {
    if (model_.devices.size() != 1) return;
    const proto::Pci& pci = model_.devices[0].about.pci();
    static constexpr double kGts[] = {0, 2, 4, 7.88, 15.75, 31.5, 59};
    const auto rate = [&](uint32_t speed, uint32_t width) {
      return kGts[std::min<uint32_t>(speed, 6)] * width;
    };
    const double now = rate(pci.link_speed(), pci.link_width());
    const double most = rate(pci.link_speed_max(), pci.link_width_max());
    if (now <= 0 || most <= 1.01 * now) return;
    Advice advice;
    advice.kind = "link";
    advice.count = 1;
    advice.text =
        fmt::format("the link runs at gen {} x{}, and could at gen {} x{}", pci.link_speed(),
                    pci.link_width(), pci.link_speed_max(), pci.link_width_max());
    advice.change = "look for the slot, cable or power setting that holds it down";
    advice.whatif = fmt::format("--set pcie.bandwidth=x{:.3g}", most / now);
    Scales scales = Scales::Faster(kPcieBandwidth, most / now);
    scales.without_tracer = true;
    if (Gain(scales, &advice)) all->push_back(std::move(advice));
  }

  const model::Model& model_;
  Graph& graph_;
  Replays& replays_;
  Scales without_;
  std::vector<double> base_ns_;
  double recorded_ns_ = 0;
  std::vector<uint32_t> ranges_;  // sorted by thread and begin
};

}  // namespace

std::span<const EditOption> EditOptions() {
  static constexpr EditOption kOptions[] = {
      {"--merge-copies", "small copies that follow each other are one", &Editor::MergeCopies},
      {"--async", "nobody waits for work but at the end", &Editor::RemoveWaits},
      {"--overlap", "copies and computing wait for each other's data only", &Editor::OverlapCopies},
      {"--no-allocation", "no memory is created, destroyed or mapped", &Editor::RemoveAllocations},
      {"--pinned", "copies need no CPU", &Editor::PinCopies},
      {"--no-program", "the program does nothing between its calls", &Editor::RemoveProgram},
      {"--batch", "jobs that are submitted one after the other are one", &Editor::BatchJobs},
      {"--merge-commands", "small commands of one op that follow each other are one",
       &Editor::MergeCommands},
      {"--ordered-rows", "no rows are opened beyond what streaming takes", &Editor::OrderRows},
      {"--fuse-all", "ops that read what the op before them wrote do so without the memory",
       &Editor::FuseAll},
      {"--poll", "waits go on at their completion", &Editor::WakeAtOnce},
  };
  return kOptions;
}

std::vector<Advice> ComputeAdvice(const model::Model& model, const Verdict& verdict, Graph* graph,
                                  Replays* replays) {
  if (!verdict.predicts() || graph->demands.empty() || graph->RunNs() <= 0) return {};
  Adviser adviser(model, graph, replays);
  return adviser.valid() ? adviser.Run() : std::vector<Advice>();
}

}  // namespace acceltrace::analysis
