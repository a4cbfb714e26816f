// SPDX-License-Identifier: Apache-2.0
//
// clock-histories [--seed N] [--count N] [--harsh] [--json] [--verbose]: random histories of device
// clocks, each loaded as a trace and every time compared with the truth. Exit 1 when one is
// outside its interval.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/scoring/history_figures.h"

namespace acceltrace::scoring {
namespace {

double AtFraction(std::vector<double>* values, double fraction) {
  if (values->empty()) return 0;
  const auto rank = static_cast<ptrdiff_t>(fraction * static_cast<double>(values->size() - 1));
  std::nth_element(values->begin(), values->begin() + rank, values->end());
  return (*values)[static_cast<size_t>(rank)];
}

int Main(int argc, char** argv) {
  uint64_t seed = 1, count = 200;
  bool verbose = false, json = false, harsh = false;
  for (int i = 1; i < argc; ++i) {
    const bool more = i + 1 < argc;
    if (std::strcmp(argv[i], "--seed") == 0 && more) {
      seed = std::strtoull(argv[++i], nullptr, 0);
    } else if (std::strcmp(argv[i], "--count") == 0 && more) {
      count = std::strtoull(argv[++i], nullptr, 0);
    } else if (std::strcmp(argv[i], "--verbose") == 0) {
      verbose = true;
    } else if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (std::strcmp(argv[i], "--harsh") == 0) {
      harsh = true;
    } else {
      std::fprintf(
          stderr, "usage: clock-histories [--seed N] [--count N] [--harsh] [--json] [--verbose]\n");
      return 2;
    }
  }
  Verdict all;
  uint64_t bad = 0, refused = 0, figures = 0, figures_outside = 0;
  for (uint64_t s = seed; s < seed + count; ++s) {
    const History history = MakeHistory(s, harsh);
    const auto model = LoadHistory(history);
    if (model == nullptr) {
      std::fprintf(stderr, "seed %llu: cannot be loaded\n", static_cast<unsigned long long>(s));
      return 1;
    }
    for (const model::Device& device : model->devices) refused += !device.clock.valid();
    const Verdict verdict = CheckTimes(*model, history);
    all.times += verdict.times, all.outside += verdict.outside, all.open += verdict.open;
    all.long_times += verdict.long_times, all.long_open += verdict.long_open;
    all.durations += verdict.durations, all.durations_outside += verdict.durations_outside;
    all.widths.insert(all.widths.end(), verdict.widths.begin(), verdict.widths.end());
    const FigureScore score = CheckFigures(*model, history);
    figures += score.figures, figures_outside += score.outside;
    const bool failed = verdict.outside + verdict.durations_outside + score.outside > 0;
    bad += failed;
    if (verbose || failed) {
      std::fprintf(json ? stderr : stdout,
                   "seed %llu: %llu of %llu times outside, %llu of %llu durations, %llu of %llu "
                   "figures, %llu open; %s\n  %s\n",
                   static_cast<unsigned long long>(s),
                   static_cast<unsigned long long>(verdict.outside),
                   static_cast<unsigned long long>(verdict.times),
                   static_cast<unsigned long long>(verdict.durations_outside),
                   static_cast<unsigned long long>(verdict.durations),
                   static_cast<unsigned long long>(score.outside),
                   static_cast<unsigned long long>(score.figures),
                   static_cast<unsigned long long>(verdict.open), history.text.c_str(),
                   verdict.worst.c_str());
      for (const std::string& figure : score.worst) {
        std::fprintf(json ? stderr : stdout, "  %s\n", figure.c_str());
      }
    }
  }
  const auto percent = [](uint64_t part, uint64_t of) {
    return of == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(of);
  };
  const double open = percent(all.open, all.times);
  const double long_open = percent(all.long_open, all.long_times);
  const double p50 = AtFraction(&all.widths, 0.5), p99 = AtFraction(&all.widths, 0.99);
  if (json) {
    const nlohmann::json line = {{"seed", seed},
                                 {"histories", count},
                                 {"times", all.times},
                                 {"outside", all.outside},
                                 {"durations", all.durations},
                                 {"durations_outside", all.durations_outside},
                                 {"figures", figures},
                                 {"figures_outside", figures_outside},
                                 {"histories_outside", bad},
                                 {"clocks_refused", refused},
                                 {"open_percent", open},
                                 {"long_open_percent", long_open},
                                 {"width_p50", p50},
                                 {"width_p99", p99}};
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf(
        "%llu histories: %llu of %llu times, %llu of %llu durations and %llu of %llu figures "
        "outside, in %llu histories; %llu clocks refused; %.2f %% of times between two counts or "
        "open, %.2f %% of clocks that wrap once a second or less often; width of the others, round "
        "trip and tick = 1: %.2f p50, %.2f p99\n",
        static_cast<unsigned long long>(count), static_cast<unsigned long long>(all.outside),
        static_cast<unsigned long long>(all.times),
        static_cast<unsigned long long>(all.durations_outside),
        static_cast<unsigned long long>(all.durations),
        static_cast<unsigned long long>(figures_outside), static_cast<unsigned long long>(figures),
        static_cast<unsigned long long>(bad), static_cast<unsigned long long>(refused), open,
        long_open, p50, p99);
  }
  return bad > 0 ? 1 : 0;
}

}  // namespace
}  // namespace acceltrace::scoring

int main(int argc, char** argv) { return acceltrace::scoring::Main(argc, argv); }
