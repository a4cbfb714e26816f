// SPDX-License-Identifier: Apache-2.0
//
// The whole way from bytes to report and exports, on traces that were taken apart, changed and
// put together again with right checksums: no crash, no hang, bounded memory.
#include <sanitizer/allocator_interface.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/damage/mutator.h"
#include "tests/damage/whole_way.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

// Of this thread: what is allocated now beyond what there was at the start, and the most ever.
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

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  __sanitizer_install_malloc_and_free_hooks(OnMalloc, OnFree);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  held_bytes = most_bytes = 0;
  counting = true;
  acceltrace::test::GoTheWholeWay({reinterpret_cast<const char*>(data), size});
  counting = false;
  if (most_bytes > static_cast<int64_t>(acceltrace::test::AllowedBytes(size))) {
    std::fprintf(stderr, "%lld bytes of memory for a trace of %zu\n",
                 static_cast<long long>(most_bytes), size);
    std::abort();
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace acceltrace::test;
  Random random(seed);
  if (random.OneIn(16)) return LLVMFuzzerMutate(data, size, max_size);
  auto packets = Parse({reinterpret_cast<const char*>(data), size});
  if (packets.empty()) return LLVMFuzzerMutate(data, size, max_size);
  const size_t times = 1 + random.Below(6);
  for (size_t i = 0; i < times; ++i) MutatePackets(&packets, &random);
  const std::string bytes =
      Encode(std::move(packets), random.OneIn(4) ? Footer::kWritten : Footer::kAsItIs);
  if (bytes.empty() || bytes.size() > max_size) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
