// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html/page_select.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libtrace/view/html/page_bins.h"

namespace acceltrace::view {
namespace {

constexpr size_t kMostStretches = 4096, kFewestStretches = 16;
constexpr size_t kCoverageStretches = 1024, kMostCovered = 64, kMostCounted = 1 << 16;
// Limits events that other tracks show as well, if not everything fits.
constexpr size_t kMostMinor = 40'000;

// The rows of a table as events on tracks.
struct Events {
  size_t rows = 0;
  double bytes_each = 0;  // approximate size of an event in a page
  std::function<uint64_t(uint32_t row)> track;
  std::function<std::pair<int64_t, int64_t>(uint32_t row)> span;
  // Returns the id of the track in page/tracks.js, or an empty string if it has none of its own.
  std::function<std::string(uint32_t row)> name;
};

class Thinner {
 public:
  Thinner(const Events& events, std::array<Bins, 2> windows, size_t most)
      : events_(events), windows_(std::move(windows)), most_(most), kept_(events.rows) {}

  std::vector<bool> Run() {
    NumberTracks();
    // Each track has intervals in two windows.
    stretches_ = windows_[0].size();
    while (stretches_ > kFewestStretches && stretches_ * tracks_ * 2 > most_ / 2) stretches_ /= 2;
    if (stretches_ * tracks_ * 2 <= most_ / 2) {
      KeepLongestOfEach();
      KeepLong();
      KeepNeighbours();
    } else {
      KeepLongestOfAll(most_);
    }
    return std::move(kept_);
  }

 private:
  int64_t Length(uint32_t row) const {
    const auto [from, to] = events_.span(row);
    return Less(to, from);
  }
  void Keep(uint32_t row) {
    if (row == model::kNoRow || kept_[row]) return;
    kept_[row] = true;
    ++count_;
  }

  void NumberTracks() {
    std::unordered_map<uint64_t, uint32_t> numbers;
    track_of_.resize(events_.rows);
    uint64_t last_key = 0;
    for (uint32_t i = 0; i < events_.rows; ++i) {
      const uint64_t key = events_.track(i);
      if (i > 0 && key == last_key) {
        track_of_[i] = track_of_[i - 1];
      } else {
        track_of_[i] = numbers.emplace(key, static_cast<uint32_t>(numbers.size())).first->second;
      }
      last_key = key;
    }
    tracks_ = std::max<size_t>(1, numbers.size());
  }

  void KeepLongestOfEach() {
    const size_t each = kMostStretches / stretches_;  // of the windows' own per interval here
    std::vector<uint32_t> best(tracks_ * stretches_, model::kNoRow);
    for (const Bins& window : windows_) {
      std::fill(best.begin(), best.end(), model::kNoRow);
      for (uint32_t i = 0; i < events_.rows; ++i) {
        const auto [from, to] = events_.span(i);
        const size_t stretch = window.Of(from, to);
        if (stretch == window.size()) continue;
        uint32_t& longest = best[track_of_[i] * stretches_ + stretch / each];
        if (longest == model::kNoRow || Length(i) > Length(longest)) longest = i;
      }
      for (uint32_t row : best) Keep(row);
    }
  }

  // Keeps events that cover a whole interval, which are visible at any scale.
  void KeepLong() {
    const double width = windows_[0].width_ns() * static_cast<double>(kMostStretches / stretches_);
    std::vector<uint32_t> rows;
    for (uint32_t i = 0; i < events_.rows; ++i) {
      if (!kept_[i] && static_cast<double>(Length(i)) >= width) rows.push_back(i);
    }
    KeepLongest(&rows, most_ / 4);
  }

  void KeepLongestOfAll(size_t most) {
    std::vector<uint32_t> rows(events_.rows);
    for (uint32_t i = 0; i < events_.rows; ++i) rows[i] = i;
    KeepLongest(&rows, most);
  }

  void KeepLongest(std::vector<uint32_t>* rows, size_t most) {
    if (rows->size() > most) {
      const auto longer = [this](uint32_t a, uint32_t b) {
        const int64_t length_a = Length(a), length_b = Length(b);
        return length_a != length_b ? length_a > length_b : a < b;
      };
      std::nth_element(rows->begin(), rows->begin() + static_cast<ptrdiff_t>(most), rows->end(),
                       longer);
      rows->resize(most);
    }
    for (uint32_t row : *rows) Keep(row);
  }

  // Keeps events everywhere, so that there is something to see after zooming in.
  void KeepNeighbours() {
    if (count_ + tracks_ >= most_) return;
    const size_t left = most_ - count_ - tracks_;
    const size_t group = (events_.rows - count_) / std::max<size_t>(1, left) + 1;
    struct Group {
      size_t count = 0;
      uint32_t longest = model::kNoRow;
    };
    std::vector<Group> groups(tracks_);
    for (uint32_t i = 0; i < events_.rows; ++i) {
      if (kept_[i]) continue;
      Group& mine = groups[track_of_[i]];
      if (mine.longest == model::kNoRow || Length(i) > Length(mine.longest)) mine.longest = i;
      if (++mine.count < group) continue;
      Keep(mine.longest);
      mine = {};
    }
  }

  const Events& events_;
  std::array<Bins, 2> windows_;
  size_t most_, count_ = 0, tracks_ = 1, stretches_ = 0;
  std::vector<bool> kept_;
  std::vector<uint32_t> track_of_;
};

std::vector<uint32_t> ListOf(const std::vector<bool>& kept) {
  std::vector<uint32_t> rows;
  for (uint32_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) rows.push_back(i);
  }
  return rows;
}

enum Name {
  kLosses,
  kJobs,
  kCommands,
  kApi,
  kRanges,
  kHost,
  kDeviceEvents,
  kPieces,
  kRecorder,
  kPath,
  kNumTables
};

class Selector {
 public:
  Selector(const analysis::Report& report, const analysis::TracerWork& work, const PagePath& path,
           int64_t base_ns)
      : report_(report), model_(*report.model), work_(work), path_(path), base_ns_(base_ns) {
    Describe();
  }

  PageSelection Run(uint64_t max_bytes) {
    PageSelection selection;
    std::array<std::vector<bool>, kNumTables> kept;
    std::string coverage;
    const std::array<size_t, kNumTables> most = Budget(max_bytes);
    for (int t = 0; t < kNumTables; ++t) {
      if (most[t] >= tables_[t].rows) {
        kept[t].assign(tables_[t].rows, true);
        continue;
      }
      selection.thinned = true;
      kept[t] = Thinner(tables_[t], Windows(kMostStretches), most[t]).Run();
      coverage += Coverage(tables_[t], coverage.empty());
    }
    BringAlong(kept[kJobs], &kept[kApi], &kept[kCommands]);
    PageRows& rows = selection.rows;
    for (const auto& [t, list] : {std::pair{kLosses, &rows.losses},
                                  {kJobs, &rows.jobs},
                                  {kCommands, &rows.commands},
                                  {kApi, &rows.api},
                                  {kRanges, &rows.ranges},
                                  {kHost, &rows.host},
                                  {kDeviceEvents, &rows.device_events},
                                  {kPieces, &rows.pieces},
                                  {kRecorder, &rows.recorder},
                                  {kPath, &rows.path}}) {
      *list = ListOf(kept[t]);
    }
    selection.coverage = "{" + coverage + "}";
    return selection;
  }

 private:
  std::array<Bins, 2> Windows(size_t n) const {
    const analysis::Breakdown& run = report_.breakdown;
    const bool used = run.end_ns > run.begin_ns;
    return {Bins(model_.begin_ns, model_.end_ns, n),
            Bins(used ? run.begin_ns : model_.begin_ns, used ? run.end_ns : model_.end_ns, n)};
  }

  // Returns how many rows each table may have: losses first, then all others, beginning with the
  // one that needs least.
  std::array<size_t, kNumTables> Budget(uint64_t max_bytes) const {
    std::array<size_t, kNumTables> most{};
    auto left = static_cast<double>(max_bytes);
    const auto need = [this](int t) {
      return static_cast<double>(tables_[t].rows) * tables_[t].bytes_each;
    };
    const auto give = [&](int t, double bytes) {
      most[t] = static_cast<size_t>(std::min(bytes, need(t) + 1) / tables_[t].bytes_each);
      most[t] = std::max<size_t>(most[t], need(t) <= bytes ? tables_[t].rows : 0);
      left -= std::min(bytes, need(t));
    };
    double all = 0;
    for (int t = 0; t < kNumTables; ++t) all += need(t);
    if (all <= left) {
      for (int t = 0; t < kNumTables; ++t) most[t] = tables_[t].rows;
      return most;
    }
    give(kLosses, left / 3);
    for (int t : {kPieces, kHost, kPath}) {
      give(t, std::min(left / 8, static_cast<double>(kMostMinor) * tables_[t].bytes_each));
    }
    std::vector<int> others;
    for (int t : {kJobs, kCommands, kApi, kRanges, kDeviceEvents, kRecorder}) others.push_back(t);
    std::sort(others.begin(), others.end(), [&](int a, int b) { return need(a) < need(b); });
    for (size_t i = 0; i < others.size(); ++i) {
      give(others[i], left / static_cast<double>(others.size() - i));
    }
    return most;
  }

  // A job is shown with the calls that submitted it and waited for it, and with the commands with
  // which it began and ended.
  void BringAlong(const std::vector<bool>& jobs, std::vector<bool>* api,
                  std::vector<bool>* commands) const {
    const model::Jobs& all = model_.jobs;
    for (size_t j = 0; j < jobs.size(); ++j) {
      if (!jobs[j]) continue;
      for (uint32_t row : {all.api_row[j], all.wait_api_row[j]}) {
        if (row != model::kNoRow) (*api)[row] = true;
      }
      if (all.num_commands[j] == 0) continue;
      uint32_t first = all.first_command[j], last = first;
      for (uint32_t c = first; c < all.first_command[j] + all.num_commands[j]; ++c) {
        if (model_.commands.start.ticks[c] < model_.commands.start.ticks[first]) first = c;
        if (model_.commands.end.ticks[c] > model_.commands.end.ticks[last]) last = c;
      }
      (*commands)[first] = (*commands)[last] = true;
    }
  }

  // Returns the tracks with the most rows and their number of rows. If there are excessively many
  // tracks, only the first ones are counted.
  static std::vector<std::pair<size_t, uint64_t>> Fullest(const Events& events) {
    std::unordered_map<uint64_t, size_t> counts;
    for (uint32_t i = 0; i < events.rows; ++i) {
      const uint64_t key = events.track(i);
      const auto found = counts.find(key);
      if (found != counts.end()) {
        ++found->second;
      } else if (counts.size() < kMostCounted) {
        counts.emplace(key, 1);
      }
    }
    std::vector<std::pair<size_t, uint64_t>> order;
    for (const auto& [key, count] : counts) order.emplace_back(count, key);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    order.resize(std::min(order.size(), kMostCovered));
    return order;
  }

  std::string Coverage(const Events& events, bool first) const {
    const std::vector<std::pair<size_t, uint64_t>> order = Fullest(events);
    struct Sums {
      uint32_t any = model::kNoRow;  // one of its rows
      std::array<std::vector<float>, 2> taken{};
    };
    std::unordered_map<uint64_t, Sums> tracks;
    const std::array<Bins, 2> windows = Windows(kCoverageStretches);
    for (const auto& [count, key] : order) {
      for (auto& taken : tracks[key].taken) taken.resize(kCoverageStretches);
    }
    for (uint32_t i = 0; i < events.rows; ++i) {
      const auto track = tracks.find(events.track(i));
      if (track == tracks.end()) continue;
      Sums& sums = track->second;
      sums.any = std::min(sums.any, i);
      const auto [from, to] = events.span(i);
      for (size_t w = 0; w < 2; ++w) {
        windows[w].Add(from, to, LengthNs(from, to), &sums.taken[w]);
      }
    }
    const analysis::Breakdown& run = report_.breakdown;
    const std::array<std::pair<int64_t, int64_t>, 2> spans = {
        std::pair{model_.begin_ns, model_.end_ns}, {run.begin_ns, run.end_ns}};
    std::string json;
    for (const auto& [count, key] : order) {
      const Sums& sums = tracks.at(key);
      const std::string name = events.name(sums.any);
      if (name.empty()) continue;
      json += fmt::format("{}\"{}\":[", first && json.empty() ? "" : ",", name);
      for (size_t w = 0; w < (run.end_ns > run.begin_ns ? 2u : 1u); ++w) {
        json += fmt::format("{}{{\"from\":{},\"to\":{},\"shares\":\"{}\"}}", w == 0 ? "" : ",",
                            Less(spans[w].first, base_ns_), Less(spans[w].second, base_ns_),
                            SharesText(sums.taken[w], windows[w].width_ns()));
      }
      json += "]";
    }
    return json;
  }

  static uint64_t Pair(uint32_t a, uint32_t b) { return uint64_t{a} << 32 | b; }
  static int64_t Later(int64_t a, int64_t b) { return a == model::kNoTime ? b : a; }

  void Describe() {
    DescribeHost();
    DescribeDevices();
    const std::vector<analysis::Piece>& pieces = report_.breakdown.pieces;
    tables_[kPieces] = {pieces.size(), 9, [&pieces](uint32_t i) { return pieces[i].of; },
                        [this, &pieces](uint32_t i) {
                          return std::pair{
                              i == 0 ? report_.breakdown.begin_ns : pieces[i - 1].end_ns,
                              pieces[i].end_ns};
                        },
                        [](uint32_t) { return std::string(); }};
    const auto& recorder = work_.recorder();
    tables_[kRecorder] = {recorder.size(), 12, [](uint32_t) { return 0; },
                          [&recorder](uint32_t i) {
                            return std::pair{recorder[i].begin_ns, recorder[i].end_ns};
                          },
                          [](uint32_t) { return std::string("tracer"); }};
    const std::vector<PathStep>& steps = path_.steps;
    tables_[kPath] = {steps.size(), 14, [](uint32_t) { return 0; },
                      [&steps](uint32_t i) {
                        return std::pair{steps[i].begin_ns, steps[i].end_ns};
                      },
                      [](uint32_t) { return std::string("path"); }};
    const std::vector<model::Loss>& losses = model_.losses;
    tables_[kLosses] = {
        losses.size(), 16, [&losses](uint32_t i) { return losses[i].hop; },
        [&losses](uint32_t i) {
          return std::pair{losses[i].first_ns, Later(losses[i].last_ns, losses[i].first_ns)};
        },
        [](uint32_t) { return std::string("losses"); }};
  }

  void DescribeHost() {
    const model::ApiCalls& api = model_.api;
    tables_[kApi] = {
        api.size(), 14, [&api](uint32_t i) { return Pair(api.pid[i], api.tid[i]); },
        [&api](uint32_t i) {
          return std::pair{api.begin_ns[i], api.end_ns[i]};
        },
        [&api](uint32_t i) { return fmt::format("t{}.{}.a", api.pid[i], api.tid[i]); }};
    const model::Ranges& ranges = model_.ranges;
    tables_[kRanges] = {
        ranges.size(), 12, [&ranges](uint32_t i) { return Pair(ranges.pid[i], ranges.tid[i]); },
        [&ranges](uint32_t i) {
          return std::pair{ranges.begin_ns[i], ranges.end_ns[i]};
        },
        [&ranges](uint32_t i) { return fmt::format("t{}.{}.r", ranges.pid[i], ranges.tid[i]); }};
    const model::HostEvents& host = model_.host;
    tables_[kHost] = {host.size(), 22,
                      [&host](uint32_t i) { return Pair(host.device[i], host.kind[i]); },
                      [&host](uint32_t i) {
                        return std::pair{host.time_ns[i], host.time_ns[i]};
                      },
                      [](uint32_t) { return std::string(); }};
  }

  void DescribeDevices() {
    const model::Jobs& jobs = model_.jobs;
    // A job is counted as three times its size, since it includes other rows.
    tables_[kJobs] = {
        jobs.size(), 3 * 105, [&jobs](uint32_t i) { return Pair(jobs.device[i], jobs.queue[i]); },
        [&jobs](uint32_t i) {
          if (jobs.on_device[i] != 0) {
            return std::pair{jobs.doorbell.host[i].mid_ns, jobs.completion.host[i].mid_ns};
          }
          return std::pair{jobs.submit_ns[i], Later(jobs.complete_ns[i], jobs.submit_ns[i])};
        },
        [&jobs](uint32_t i) { return fmt::format("q{}.{}", jobs.device[i], jobs.queue[i]); }};
    const model::Commands& commands = model_.commands;
    tables_[kCommands] = {
        commands.size(), 70,
        [&commands](uint32_t i) { return Pair(commands.device[i], commands.unit[i]); },
        [&commands](uint32_t i) {
          return std::pair{commands.start.host[i].mid_ns, commands.end.host[i].mid_ns};
        },
        [&commands](uint32_t i) {
          return fmt::format("u{}.{}", commands.device[i], commands.unit[i]);
        }};
    const model::DeviceEvents& events = model_.device_events;
    tables_[kDeviceEvents] = {
        events.size(), 20, [&events](uint32_t i) { return Pair(events.device[i], events.kind[i]); },
        [&events](uint32_t i) {
          return std::pair{events.time.host[i].mid_ns, events.time.host[i].mid_ns};
        },
        [](uint32_t) { return std::string(); }};
  }

  const analysis::Report& report_;
  const model::Model& model_;
  const analysis::TracerWork& work_;
  const PagePath& path_;
  int64_t base_ns_;
  std::array<Events, kNumTables> tables_;
};

}  // namespace

PageSelection SelectRows(const analysis::Report& report, const analysis::TracerWork& work,
                         const PagePath& path, int64_t base_ns, uint64_t max_bytes) {
  return Selector(report, work, path, base_ns).Run(max_bytes);
}

}  // namespace acceltrace::view
