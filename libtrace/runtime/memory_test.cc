// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "libtrace/runtime/staging.h"
#include "libtrace/runtime/testing/fixture.h"
#include "tests/catch.h"

using namespace acceltrace::runtime;

namespace {

std::vector<uint8_t> Pattern(size_t bytes, uint8_t first = 1) {
  std::vector<uint8_t> pattern(bytes);
  for (size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<uint8_t>(first + i * 7 + i / 251);
  return pattern;
}

}  // namespace

TEST_CASE("allocation errors") {
  Fixture f;
  void* p;
  REQUIRE(axlMalloc(nullptr, 16) == axlErrorInvalidValue);
  REQUIRE(axlMalloc(&p, 0) == axlErrorInvalidValue);
  REQUIRE(axlMalloc(&p, SIZE_MAX) == axlErrorInvalidValue);
  REQUIRE(axlMalloc(&p, 1ull << 39) == axlErrorOutOfDeviceMemory);
  REQUIRE(axlMallocScratch(&p, 1 << 30) == axlErrorOutOfDeviceMemory);
  AXL_OK(axlMallocScratch(&p, 4096));
  AXL_OK(axlFree(p));
  REQUIRE(axlFree(p) == axlErrorInvalidDevicePointer);
  AXL_OK(axlFree(nullptr));
  int local;
  REQUIRE(axlFree(&local) == axlErrorInvalidDevicePointer);
  AXL_OK(axlMalloc(&p, 64));
  REQUIRE(axlFree(static_cast<char*>(p) + 4) == axlErrorInvalidDevicePointer);
  AXL_OK(axlHostFree(nullptr));
  REQUIRE(axlHostFree(&local) == axlErrorInvalidHostPointer);
}

TEST_CASE("host memory that cannot be mapped is given back") {
  Fixture f;
  void* p;
  AXL_OK(axlHostAlloc(&p, 100));
  const size_t before = f.kernel.live_buffers();
  f.kernel.FailIoctl(AXL_IOCTL_BUF_CREATE, ENOMEM);
  REQUIRE(axlHostAlloc(&p, 100) == axlErrorOutOfHostMemory);
  REQUIRE(f.kernel.live_buffers() == before);
}

TEST_CASE("copies there and back, pinned and pageable, all sizes around a staging chunk") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  const size_t chunk = Staging::kChunkBytes;
  void *device, *pinned;
  AXL_OK(axlMalloc(&device, 4 * chunk));
  AXL_OK(axlHostAlloc(&pinned, 4 * chunk));
  for (const size_t bytes :
       {size_t{1}, size_t{3}, size_t{4096}, chunk - 1, chunk, chunk + 1, 3 * chunk + 5}) {
    const std::vector<uint8_t> pattern = Pattern(bytes);
    std::vector<uint8_t> back(bytes);
    AXL_OK(axlMemcpy(device, pattern.data(), bytes, axlMemcpyHostToDevice));
    AXL_OK(axlMemcpy(back.data(), device, bytes, axlMemcpyDeviceToHost));
    REQUIRE(back == pattern);
    const std::vector<uint8_t> other = Pattern(bytes, 99);
    std::memcpy(pinned, other.data(), bytes);
    AXL_OK(axlMemcpy(device, pinned, bytes, axlMemcpyHostToDevice));
    std::memset(pinned, 0, bytes);
    AXL_OK(axlMemcpy(pinned, device, bytes, axlMemcpyDeviceToHost));
    REQUIRE(std::memcmp(pinned, other.data(), bytes) == 0);
  }
  REQUIRE_FALSE(f.kernel.deadlocked());
}

TEST_CASE("a pageable source may be reused once an asynchronous copy returned") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  void* device;
  AXL_OK(axlMalloc(&device, 1 << 20));
  std::vector<uint8_t> source = Pattern(1 << 20);
  const std::vector<uint8_t> expected = source;
  AXL_OK(axlMemcpyAsync(device, source.data(), source.size(), axlMemcpyHostToDevice, nullptr));
  std::fill(source.begin(), source.end(), 0);
  std::vector<uint8_t> back(source.size());
  AXL_OK(axlMemcpy(back.data(), device, back.size(), axlMemcpyDeviceToHost));
  REQUIRE(back == expected);
}

TEST_CASE("2D copies") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  void *device, *pinned;
  const size_t rows = 9, width = 20, host_pitch = 32, device_pitch = 24;
  AXL_OK(axlMalloc(&device, rows * device_pitch));
  AXL_OK(axlHostAlloc(&pinned, rows * host_pitch));
  const std::vector<uint8_t> pattern = Pattern(rows * host_pitch);
  const bool pageable = GENERATE(false, true);
  std::vector<uint8_t> heap(rows * host_pitch);
  uint8_t* host = pageable ? heap.data() : static_cast<uint8_t*>(pinned);
  std::memcpy(host, pattern.data(), pattern.size());
  AXL_OK(axlMemcpy2DAsync(device, device_pitch, host, host_pitch, width, rows,
                          axlMemcpyHostToDevice, nullptr));
  AXL_OK(axlDeviceSynchronize());
  std::memset(host, 0, pattern.size());
  AXL_OK(axlMemcpy2DAsync(host, host_pitch, device, device_pitch, width, rows,
                          axlMemcpyDeviceToHost, nullptr));
  AXL_OK(axlDeviceSynchronize());
  for (size_t r = 0; r < rows; ++r) {
    REQUIRE(std::memcmp(host + r * host_pitch, pattern.data() + r * host_pitch, width) == 0);
    if (r + 1 < rows) REQUIRE(host[r * host_pitch + width] == 0);  // between rows: unchanged
  }
}

TEST_CASE("staged 2D copies with rows wider than a chunk") {
  Fixture f;
  const size_t width = Staging::kChunkBytes + 100, pitch = width + 28;
  void* device;
  AXL_OK(axlMalloc(&device, 3 * width));
  const std::vector<uint8_t> pattern = Pattern(3 * pitch);
  AXL_OK(axlMemcpy2DAsync(device, width, pattern.data(), pitch, width, 3, axlMemcpyHostToDevice,
                          nullptr));
  std::vector<uint8_t> back(3 * width);
  AXL_OK(axlMemcpy(back.data(), device, back.size(), axlMemcpyDeviceToHost));
  for (size_t r = 0; r < 3; ++r)
    REQUIRE(std::memcmp(back.data() + r * width, pattern.data() + r * pitch, width) == 0);
}

TEST_CASE("copies on the device and memset") {
  Fixture f;
  void *a, *b;
  AXL_OK(axlMalloc(&a, 64));
  AXL_OK(axlMallocScratch(&b, 64));
  AXL_OK(axlMemsetD32Async(a, 0x7fc01234, 16, nullptr));  // a NaN's bits must survive
  AXL_OK(axlMemcpyAsync(b, a, 64, axlMemcpyDeviceToDevice, nullptr));
  uint32_t back[16];
  AXL_OK(axlMemcpy(back, b, 64, axlMemcpyDeviceToHost));
  for (const uint32_t value : back) REQUIRE(value == 0x7fc01234);
  REQUIRE(axlMemcpy(b, a, 63, axlMemcpyDeviceToDevice) == axlErrorInvalidValue);
}

TEST_CASE("copy arguments are checked before anything is submitted") {
  Fixture f;
  void *device, *host;
  AXL_OK(axlMalloc(&device, 64));
  AXL_OK(axlHostAlloc(&host, 64));
  const auto copy = [&](void* dst, const void* src, size_t bytes, int kind) {
    return axlMemcpyAsync(dst, src, bytes, static_cast<axlMemcpyKind>(kind), nullptr);
  };
  REQUIRE(copy(device, host, 65, 1) == axlErrorInvalidDevicePointer);
  REQUIRE(copy(static_cast<char*>(device) + 60, host, 8, 1) == axlErrorInvalidDevicePointer);
  REQUIRE(copy(host, device, 65, 2) == axlErrorInvalidDevicePointer);
  REQUIRE(copy(host, host, 8, 1) == axlErrorInvalidDevicePointer);
  REQUIRE(copy(nullptr, host, 8, 1) == axlErrorInvalidValue);
  REQUIRE(copy(device, nullptr, 8, 1) == axlErrorInvalidValue);
  REQUIRE(copy(device, host, 8, 0) == axlErrorInvalidValue);
  REQUIRE(copy(device, host, 8, 4) == axlErrorInvalidValue);
  REQUIRE(copy(device, host, SIZE_MAX, 1) == axlErrorInvalidValue);
  AXL_OK(copy(device, host, 0, 1));
  REQUIRE(axlMemcpy2DAsync(device, 4, host, 8, 8, 2, axlMemcpyHostToDevice, nullptr) ==
          axlErrorInvalidValue);
  REQUIRE(axlMemcpy2DAsync(device, 1ull << 33, host, 8, 8, 2, axlMemcpyHostToDevice, nullptr) ==
          axlErrorInvalidValue);
  REQUIRE(f.kernel.jobs().empty());
}

TEST_CASE("registered memory is copied without staging") {
  Fixture f;
  void* device;
  AXL_OK(axlMalloc(&device, 8192));
  auto* memory = static_cast<uint8_t*>(std::aligned_alloc(4096, 8192));
  std::memset(memory, 42, 8192);
  REQUIRE(axlHostRegister(memory + 1, 4096) == axlErrorInvalidValue);
  AXL_OK(axlHostRegister(memory, 8192));
  REQUIRE(axlHostRegister(memory, 4096) == axlErrorInvalidValue);
  REQUIRE(axlHostRegister(memory + 4096, 4096) == axlErrorInvalidValue);
  REQUIRE(axlHostFree(memory) == axlErrorInvalidHostPointer);
  AXL_OK(axlMemcpyAsync(device, memory + 100, 5000, axlMemcpyHostToDevice, nullptr));
  REQUIRE(f.kernel.jobs().size() == 1);
  REQUIRE(f.kernel.jobs()[0].commands[0].copy.bytes == 5000);
  AXL_OK(axlHostUnregister(memory));
  REQUIRE(axlHostUnregister(memory) == axlErrorInvalidHostPointer);
  std::free(memory);
}

TEST_CASE("freeing memory that a job uses waits for it") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  void *device, *host;
  AXL_OK(axlMalloc(&device, 64));
  AXL_OK(axlHostAlloc(&host, 64));
  AXL_OK(axlMemcpyAsync(device, host, 64, axlMemcpyHostToDevice, nullptr));
  REQUIRE(f.kernel.executed() == 0);
  AXL_OK(axlFree(device));
  REQUIRE(f.kernel.executed() == 1);
  AXL_OK(axlHostFree(host));
  REQUIRE(f.kernel.live_buffers() == 0);
}
