// SPDX-License-Identifier: Apache-2.0
//
// clock-histories [--seed N] [--count N] [--harsh] [--parts] [--wrong] [--json] [--verbose]: random
// histories of device clocks, each loaded as a trace, with every time compared with the truth.
// Exits 1 if a time is outside its interval. --parts: of three parts of each, without the figures.
// --wrong: with one clock sample that is off by 2 to 50 us, where a finding is as good as correct
// times.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/scoring/history_figures.h"

namespace acceltrace::scoring {
namespace {

double AtFraction(std::vector<double>* values, double fraction) {
  if (values->empty()) return 0;
  const auto rank = static_cast<ptrdiff_t>(fraction * static_cast<double>(values->size() - 1));
  std::nth_element(values->begin(), values->begin() + rank, values->end());
  return (*values)[static_cast<size_t>(rank)];
}

struct Options {
  uint64_t seed = 1, count = 200;
  bool verbose = false, json = false, harsh = false, parts = false, wrong = false;
};

// Totals of all histories.
struct Total {
  Verdict times;
  uint64_t bad = 0, refused = 0, figures = 0, figures_outside = 0, found = 0;
};

bool ReadOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const bool more = i + 1 < argc;
    if (std::strcmp(argv[i], "--seed") == 0 && more) {
      options->seed = std::strtoull(argv[++i], nullptr, 0);
    } else if (std::strcmp(argv[i], "--count") == 0 && more) {
      options->count = std::strtoull(argv[++i], nullptr, 0);
    } else if (std::strcmp(argv[i], "--verbose") == 0) {
      options->verbose = true;
    } else if (std::strcmp(argv[i], "--json") == 0) {
      options->json = true;
    } else if (std::strcmp(argv[i], "--harsh") == 0) {
      options->harsh = true;
    } else if (std::strcmp(argv[i], "--parts") == 0) {
      options->parts = true;
    } else if (std::strcmp(argv[i], "--wrong") == 0) {
      options->wrong = true;
    } else {
      std::fprintf(stderr,
                   "usage: clock-histories [--seed N] [--count N] [--harsh] [--parts] [--wrong] "
                   "[--json] [--verbose]\n");
      return false;
    }
  }
  return true;
}

void PrintHistory(FILE* file, uint64_t seed, const History& history, const Verdict& verdict,
                  const FigureScore& score) {
  std::fprintf(
      file,
      "seed %llu: %llu of %llu times outside, %llu of %llu durations, %llu of %llu "
      "figures, %llu open; %s\n  %s\n",
      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(verdict.outside),
      static_cast<unsigned long long>(verdict.times),
      static_cast<unsigned long long>(verdict.durations_outside),
      static_cast<unsigned long long>(verdict.durations),
      static_cast<unsigned long long>(score.outside),
      static_cast<unsigned long long>(score.figures), static_cast<unsigned long long>(verdict.open),
      history.text.c_str(), verdict.worst.c_str());
  for (const std::string& figure : score.worst) {
    std::fprintf(file, "  %s\n", figure.c_str());
  }
}

void AddTo(Verdict* all, const Verdict& verdict) {
  all->times += verdict.times, all->outside += verdict.outside, all->open += verdict.open;
  all->long_times += verdict.long_times, all->long_open += verdict.long_open;
  all->durations += verdict.durations, all->durations_outside += verdict.durations_outside;
  all->widths.insert(all->widths.end(), verdict.widths.begin(), verdict.widths.end());
}

void ScoreParts(uint64_t seed, const Options& options, const History& history, Total* total) {
  constexpr std::pair<double, double> kParts[] = {{0, 0.2}, {0.3, 0.35}, {0.6, 1}};
  for (const auto& [from, to] : kParts) {
    const auto model = LoadHistoryPart(history, from, to);
    if (model == nullptr) continue;
    const Verdict verdict = CheckTimes(*model, history);
    AddTo(&total->times, verdict);
    const bool failed = verdict.outside + verdict.durations_outside > 0;
    total->bad += failed;
    if (options.verbose || failed) {
      std::fprintf(options.json ? stderr : stdout, "from %.2f to %.2f of ", from, to);
      PrintHistory(options.json ? stderr : stdout, seed, history, verdict, {});
    }
  }
}

// Returns whether the history could be loaded at all.
bool Score(uint64_t seed, const Options& options, Total* total) {
  History history = MakeHistory(seed, options.harsh);
  if (options.wrong && !PlantWrongSample(&history)) return true;
  if (options.parts) {
    ScoreParts(seed, options, history, total);
    return true;
  }
  const auto model = LoadHistory(history);
  if (model == nullptr) {
    std::fprintf(stderr, "seed %llu: cannot be loaded\n", static_cast<unsigned long long>(seed));
    return false;
  }
  for (const model::Device& device : model->devices) total->refused += !device.clock.valid();
  const Verdict verdict = CheckTimes(*model, history);
  AddTo(&total->times, verdict);
  const FigureScore score = CheckFigures(*model, history);
  total->figures += score.figures, total->figures_outside += score.outside;
  const bool found = IsWrongSampleFound(*model);
  total->found += found;
  const bool failed =
      verdict.outside + verdict.durations_outside + score.outside > 0 && !(options.wrong && found);
  total->bad += failed;
  if (options.verbose || failed) {
    PrintHistory(options.json ? stderr : stdout, seed, history, verdict, score);
  }
  return true;
}

double Percent(uint64_t part, uint64_t of) {
  return of == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(of);
}

void PrintTotal(const Options& options, Total total) {
  const double open = Percent(total.times.open, total.times.times);
  const double long_open = Percent(total.times.long_open, total.times.long_times);
  const double p50 = AtFraction(&total.times.widths, 0.5),
               p99 = AtFraction(&total.times.widths, 0.99);
  if (options.json) {
    const nlohmann::json line = {{"seed", options.seed},
                                 {"histories", options.count},
                                 {"times", total.times.times},
                                 {"outside", total.times.outside},
                                 {"durations", total.times.durations},
                                 {"durations_outside", total.times.durations_outside},
                                 {"figures", total.figures},
                                 {"figures_outside", total.figures_outside},
                                 {"histories_outside", total.bad},
                                 {"clocks_refused", total.refused},
                                 {"histories_with_wrong_samples", total.found},
                                 {"open_percent", open},
                                 {"long_open_percent", long_open},
                                 {"width_p50", p50},
                                 {"width_p99", p99}};
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf(
        "%llu histories: %llu of %llu times, %llu of %llu durations and %llu of %llu figures "
        "outside, in %llu histories; %llu clocks refused; wrong samples found in %llu; %.2f %% of "
        "times between two counts or "
        "open, %.2f %% of clocks that wrap once a second or less often; width of the others, round "
        "trip and tick = 1: %.2f p50, %.2f p99\n",
        static_cast<unsigned long long>(options.count),
        static_cast<unsigned long long>(total.times.outside),
        static_cast<unsigned long long>(total.times.times),
        static_cast<unsigned long long>(total.times.durations_outside),
        static_cast<unsigned long long>(total.times.durations),
        static_cast<unsigned long long>(total.figures_outside),
        static_cast<unsigned long long>(total.figures), static_cast<unsigned long long>(total.bad),
        static_cast<unsigned long long>(total.refused),
        static_cast<unsigned long long>(total.found), open, long_open, p50, p99);
  }
}

int Main(int argc, char** argv) {
  Options options;
  if (!ReadOptions(argc, argv, &options)) return 2;
  Total total;
  for (uint64_t seed = options.seed; seed < options.seed + options.count; ++seed) {
    if (!Score(seed, options, &total)) return 1;
  }
  const bool good = total.bad == 0;
  PrintTotal(options, std::move(total));
  return good ? 0 : 1;
}

}  // namespace
}  // namespace acceltrace::scoring

int main(int argc, char** argv) { return acceltrace::scoring::Main(argc, argv); }
