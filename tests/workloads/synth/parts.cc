// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tests/workloads/synth/synth.h"

namespace acceltrace::workloads {
namespace {

constexpr const char* kNames[kNumParts] = {
    "matrix",  "vector",       "dram",     "rows", "scratch", "copy-in", "copy-out",
    "latency", "dram-latency", "dispatch", "host", "submit",  "sync"};
constexpr double kMostUs = 100'000;

// The same numbers everywhere, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double Between(double low, double high) {
    return low + (high - low) * static_cast<double>(Next() >> 11) / 9007199254740992.0;
  }

 private:
  uint64_t state_;
};

}  // namespace

const char* PartName(Part part) { return kNames[part]; }

Status ParseParts(const std::string& text, SynthOptions* options) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    const size_t colon = word.find(':');
    const auto name = std::find(kNames, kNames + kNumParts, word.substr(0, colon));
    char* rest = nullptr;
    const std::string number = colon == std::string::npos ? "" : word.substr(colon + 1);
    const double us = std::strtod(number.c_str(), &rest);
    if (name == kNames + kNumParts || number.empty() || *rest != '\0' || !(us >= 0) ||
        us > kMostUs) {
      return Status::Error("part '" + word + "': want NAME:MICROSECONDS, see --list");
    }
    options->us[static_cast<size_t>(name - kNames)] = us;
    at = end + 1;
  }
  return Status();
}

void RandomParts(uint64_t seed, SynthOptions* options) {
  Random random(seed);
  const auto limiter = static_cast<size_t>(random.Next() % kNumParts);
  const double severity = random.Between(0.05, 0.5);
  const size_t others = 2 + random.Next() % 3;
  const double round_us = random.Between(80, 200);
  const double even_us = round_us / static_cast<double>(others + 1);
  for (size_t i = 0; i < others; ++i) {
    options->us[random.Next() % kNumParts] = even_us * random.Between(0.3, 1) * (1 - severity);
  }
  options->us[limiter] = even_us * (1 + severity * static_cast<double>(others));
  options->overlap = random.Next() % 2 == 0;
  options->sync_every = random.Next() % 3 == 0 ? 1 : 0;
}

std::string PartsText(const SynthOptions& options) {
  std::string text;
  for (int p = 0; p < kNumParts; ++p) {
    if (options.us[p] <= 0) continue;
    char part[64];
    std::snprintf(part, sizeof part, "%s%s:%.1f", text.empty() ? "" : ",", kNames[p],
                  options.us[p]);
    text += part;
  }
  return text;
}

}  // namespace acceltrace::workloads
