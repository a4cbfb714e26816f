// SPDX-License-Identifier: Apache-2.0
//
// Everything from bytes to report and exports, on traces that were taken apart, changed and
// reassembled with correct checksums: no crash, no hang, bounded memory.
#include <sanitizer/allocator_interface.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <string>
#include <vector>

#include "tests/damage/mutator.h"
#include "tests/damage/random_trace.h"
#include "tests/damage/whole_way.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

// Counts this thread's memory beyond that at the start, and its maximum.
thread_local bool counting = false;
thread_local int64_t held_bytes = 0, most_bytes = 0;

void OnMalloc(const volatile void*, size_t size) {
  if (!counting) return;
  held_bytes += static_cast<int64_t>(size);
  if (held_bytes > most_bytes) most_bytes = held_bytes;
}

void OnFree(const volatile void* at) {
  if (!counting || at == nullptr) return;
  held_bytes -= static_cast<int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(at)));
}

constexpr double kMaxSeconds = 5;  // of this thread, whatever else the machine does

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void Require(bool good, const char* what, double seen, size_t size) {
  if (good) return;
  std::fprintf(stderr, "%s: %.1f for a trace of %zu bytes\n", what, seen, size);
  std::abort();
}

}  // namespace

// When there is a finding, ASAN_OPTIONS=malloc_context_size=30 shows where memory came from.
extern "C" const char* __asan_default_options() {
  return "malloc_context_size=1:quarantine_size_mb=8:max_malloc_fill_size=0";
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  google::protobuf::SetLogHandler(nullptr);
  __sanitizer_install_malloc_and_free_hooks(OnMalloc, OnFree);
  // Otherwise half of the time is spent weighing each input of a large corpus, and on names of new
  // functions.
  static std::vector<std::string> words = {"-entropic=0", "-print_funcs=0", "-max_len=8192"};
  static std::vector<char*> arguments(*argv, *argv + *argc);
  for (size_t i = 0; i < words.size(); ++i) {
    arguments.insert(arguments.begin() + 1 + static_cast<ptrdiff_t>(i), words[i].data());
  }
  arguments.push_back(nullptr);
  *argc = static_cast<int>(arguments.size()) - 1;
  *argv = arguments.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  held_bytes = most_bytes = 0;
  counting = true;
  const double begin = CpuSeconds();
  acceltrace::test::GoTheWholeWay({reinterpret_cast<const char*>(data), size});
  const double seconds = CpuSeconds() - begin;
  counting = false;
  Require(most_bytes <= static_cast<int64_t>(acceltrace::test::AllowedBytes(size)),
          "too much memory", static_cast<double>(most_bytes), size);
  Require(seconds <= kMaxSeconds, "too long", seconds, size);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace acceltrace::test;
  Random random(seed);
  if (random.OneIn(16)) return LLVMFuzzerMutate(data, size, max_size);
  // One of four starts from a new trace, so that inputs are not only those good for coverage.
  auto packets =
      random.OneIn(4) ? RandomTrace(&random) : Parse({reinterpret_cast<const char*>(data), size});
  if (packets.empty()) return LLVMFuzzerMutate(data, size, max_size);
  const size_t times = 1 + random.Below(6);
  for (size_t i = 0; i < times; ++i) MutatePackets(&packets, &random);
  const std::string bytes =
      Encode(std::move(packets), random.OneIn(4) ? Footer::kWritten : Footer::kAsItIs);
  if (bytes.empty() || bytes.size() > max_size) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

// Joins the first packets of one trace and the last ones of another.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                            const uint8_t* data2, size_t size2, uint8_t* out,
                                            size_t max_out_size, unsigned seed) {
  using namespace acceltrace::test;
  Random random(seed);
  auto packets = Parse({reinterpret_cast<const char*>(data1), size1});
  auto more = Parse({reinterpret_cast<const char*>(data2), size2});
  packets.resize(random.Below(packets.size() + 1));
  const size_t from = random.Below(more.size() + 1);
  packets.insert(packets.end(),
                 std::make_move_iterator(more.begin() + static_cast<ptrdiff_t>(from)),
                 std::make_move_iterator(more.end()));
  const std::string bytes = Encode(std::move(packets), Footer::kWritten);
  if (bytes.size() > max_out_size) return 0;
  std::memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}
