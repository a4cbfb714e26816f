// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of a pyramid and of its answers: pyramid_bench EVENTS. Prints one line for make
// bench: ns and bytes per event for building, and the median and the 99th percentile in us of 1,000
// windows of 1,000 pixels at random places and of all widths. All times are CPU times.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <random>
#include <vector>

#include "libtrace/view/html/pyramid.h"

namespace {

double CpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t n = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (n == 0) {
    std::fprintf(stderr, "usage: bench-pyramid EVENTS\n");
    return 2;
  }
  constexpr size_t kCauses = 7, kWindows = 1000, kPixels = 1000;
  std::mt19937_64 random(1);
  std::vector<int64_t> begin_ns(n), end_ns(n);
  std::vector<uint64_t> bytes(n), stalls(n * kCauses);
  int64_t at_ns = 0;
  for (size_t i = 0; i < n; ++i) {
    at_ns += static_cast<int64_t>(random() % 400);
    if (i % 100'000 == 0) at_ns += 50'000'000;  // idle
    begin_ns[i] = at_ns, at_ns += static_cast<int64_t>(random() % 2000), end_ns[i] = at_ns;
    bytes[i] = random() % 4096, stalls[i * kCauses + random() % kCauses] = random() % 500;
  }
  acceltrace::view::PyramidSource source;
  source.span = [&](uint32_t row) { return std::pair{begin_ns[row], end_ns[row]}; };
  source.amount = [&](uint32_t row) { return bytes[row]; };
  source.parts = [&](uint32_t row) { return &stalls[row * kCauses]; };
  source.num_parts = kCauses;
  std::vector<uint32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  const double began_ns = CpuNs();
  const acceltrace::view::Pyramid pyramid(&source, std::move(rows));
  const double built_ns = CpuNs() - began_ns;
  std::vector<double> times_us;
  uint64_t sum = 0;
  for (size_t w = 0; w < kWindows; ++w) {
    const auto width_ns = std::max<int64_t>(1000, at_ns >> (random() % 20));
    const auto from_ns = static_cast<int64_t>(random() % static_cast<uint64_t>(at_ns));
    const double asked_ns = CpuNs();
    const auto window = pyramid.Window(from_ns, from_ns + width_ns, kPixels);
    times_us.push_back((CpuNs() - asked_ns) / 1e3);
    sum += std::accumulate(window.count.begin(), window.count.end(), uint64_t{0});
  }
  std::sort(times_us.begin(), times_us.end());
  std::printf("%.1f %.1f %.1f %.1f %llu\n", built_ns / static_cast<double>(n),
              static_cast<double>(pyramid.Bytes()) / static_cast<double>(n), times_us[kWindows / 2],
              times_us[kWindows * 99 / 100], static_cast<unsigned long long>(sum));
  return 0;
}
