// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/device.h"

#include <cerrno>
#include <cstring>

#include "libtrace/runtime/testing/fixture.h"
#include "tests/catch.h"

using namespace acceltrace::runtime;

static bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("no device is a clear error, and found once the driver is loaded") {
  Fixture f(std::vector<uint32_t>{});
  int count = 7;
  REQUIRE(axlGetDeviceCount(&count) == axlErrorNoDevice);
  REQUIRE(count == 0);
  REQUIRE(Contains(f.Detail(), "modprobe axl"));
  void* p;
  REQUIRE(axlMalloc(&p, 16) == axlErrorNoDevice);
  f.kernel.set_devices({0});
  AXL_OK(axlGetDeviceCount(&count));
  REQUIRE(count == 1);
  AXL_OK(axlMalloc(&p, 16));
}

TEST_CASE("another version of the driver's interface is refused and closed") {
  Fixture f;
  f.kernel.info().uapi_version = AXL_UAPI_VERSION + 1;
  void* p;
  REQUIRE(axlMalloc(&p, 16) == axlErrorVersionMismatch);
  REQUIRE(Contains(f.Detail(), ("version " + std::to_string(AXL_UAPI_VERSION + 1)).c_str()));
  REQUIRE(f.kernel.open_fds() == 0);
}

TEST_CASE("a driver that talks nonsense is refused") {
  Fixture f;
  SECTION("queues") { f.kernel.info().num_queues = 0; }
  SECTION("contexts") { f.kernel.info().num_contexts = 1000; }
  SECTION("clock") { f.kernel.info().clock_hz = 0; }
  SECTION("bits") { f.kernel.info().clock_bits = 0xffffffff; }
  void* p;
  REQUIRE(axlMalloc(&p, 16) == axlErrorVersionMismatch);
  REQUIRE(f.kernel.open_fds() == 1);  // that of the client
}

TEST_CASE("errno of open") {
  Fixture f;
  void* p;
  f.kernel.set_open_errno(EACCES);
  REQUIRE(axlMalloc(&p, 16) == axlErrorPermission);
  REQUIRE(Contains(f.Detail(), "/dev/axl0"));
  f.kernel.set_open_errno(ENODEV);
  REQUIRE(axlMalloc(&p, 16) == axlErrorNoDevice);
  f.kernel.set_open_errno(EIO);
  REQUIRE(axlMalloc(&p, 16) == axlErrorUnknown);
  f.kernel.set_open_errno(0);
  AXL_OK(axlMalloc(&p, 16));
}

TEST_CASE("errno of each ioctl becomes a named error") {
  struct Case {
    int error;
    axlError_t expected;
  };
  const Case cases[] = {{EINVAL, axlErrorInvalidValue},      {E2BIG, axlErrorVersionMismatch},
                        {EFAULT, axlErrorInvalidValue},      {ENOENT, axlErrorInvalidValue},
                        {ENOTTY, axlErrorVersionMismatch},   {EPERM, axlErrorPermission},
                        {ENOSPC, axlErrorOutOfDeviceMemory}, {EDQUOT, axlErrorOutOfDeviceMemory},
                        {ENOMEM, axlErrorOutOfDeviceMemory}, {ENODEV, axlErrorDeviceLost},
                        {ETIMEDOUT, axlErrorTimeout},        {EXDEV, axlErrorUnknown}};
  for (const Case& c : cases) {
    Fixture f;
    void* p;
    f.kernel.FailIoctl(AXL_IOCTL_BUF_CREATE, c.error);
    INFO(c.error);
    REQUIRE(axlMalloc(&p, 16) == c.expected);
    REQUIRE(axlPeekAtLastError() == c.expected);
    REQUIRE(f.Detail() != "");
  }
}

TEST_CASE("contexts: fewer queues are taken, none is a limit, priority needs rights") {
  Fixture f;
  axlStream_t s;
  SECTION("fewer queues") {
    f.kernel.FailIoctl(AXL_IOCTL_CTX_CREATE, GENERATE(ENOSPC, EDQUOT));
    AXL_OK(axlStreamCreate(&s));
    REQUIRE(f.kernel.ioctls(AXL_IOCTL_CTX_CREATE) == 2);
  }
  SECTION("none") {
    f.kernel.set_num_contexts_free(0);
    REQUIRE(axlStreamCreate(&s) == axlErrorLimit);
  }
  SECTION("rights") {
    f.kernel.FailIoctl(AXL_IOCTL_CTX_CREATE, EPERM);
    REQUIRE(axlStreamCreateWithPriority(&s, 3) == axlErrorPermission);
    REQUIRE(Contains(f.Detail(), "CAP_SYS_NICE"));
  }
  SECTION("out of range") {
    REQUIRE(axlStreamCreateWithPriority(&s, 4) == axlErrorInvalidValue);
    REQUIRE(axlStreamCreateWithPriority(&s, -1) == axlErrorInvalidValue);
  }
}

TEST_CASE("properties come from the driver") {
  Fixture f;
  f.kernel.info().dram_bytes = 123 << 20;
  f.kernel.info().link_speed = 4;
  f.kernel.info().link_width = 8;
  axlDeviceProp prop;
  AXL_OK(axlGetDeviceProperties(&prop, 0));
  REQUIRE(std::string(prop.name) == "axl0");
  REQUIRE(std::string(prop.pciAddress) == "0000:00:04.0");
  REQUIRE(prop.totalMem == 123 << 20);
  REQUIRE(prop.pcieGen == 4);
  REQUIRE(prop.pcieWidth == 8);
  REQUIRE(prop.bf16 == 1);
  REQUIRE(axlGetDeviceProperties(&prop, 1) == axlErrorInvalidDevice);
  REQUIRE(axlGetDeviceProperties(nullptr, 0) == axlErrorInvalidValue);
}

TEST_CASE("devices are numbered densely, whatever their nodes are called") {
  Fixture f({2, 5});
  int count;
  AXL_OK(axlGetDeviceCount(&count));
  REQUIRE(count == 2);
  axlDeviceProp prop;
  AXL_OK(axlGetDeviceProperties(&prop, 1));
  REQUIRE(std::string(prop.name) == "axl5");
  REQUIRE(axlSetDevice(2) == axlErrorInvalidDevice);
  REQUIRE(axlSetDevice(-1) == axlErrorInvalidDevice);
  AXL_OK(axlSetDevice(1));
  int device;
  AXL_OK(axlGetDevice(&device));
  REQUIRE(device == 1);
}

TEST_CASE("a pointer of one device is refused on another") {
  Fixture f({0, 1});
  void *on0, *on1;
  axlStream_t s1;
  AXL_OK(axlMalloc(&on0, 64));
  AXL_OK(axlSetDevice(1));
  AXL_OK(axlMalloc(&on1, 64));
  AXL_OK(axlStreamCreate(&s1));
  REQUIRE(on0 != on1);
  axlVector vec = {};
  vec.rows = 1;
  vec.cols = 16;
  vec.src0 = on0;
  vec.dst = on1;
  REQUIRE(axlLaunchVector(nullptr, axlVecCopy, &vec, s1) == axlErrorInvalidDevicePointer);
  AXL_OK(axlFree(on0));  // found by the pointer, not by the current device
  AXL_OK(axlFree(on1));
}

TEST_CASE("reset frees everything of the device and only of it") {
  Fixture f({0, 1});
  void *p0, *p1, *host;
  axlStream_t s0, s1;
  axlEvent_t e0;
  axlGraph_t g0;
  AXL_OK(axlMalloc(&p0, 64));
  AXL_OK(axlHostAlloc(&host, 64));
  AXL_OK(axlStreamCreate(&s0));
  AXL_OK(axlEventCreate(&e0));
  AXL_OK(axlEventRecord(e0, s0));
  AXL_OK(axlGraphCreate(&g0));
  axlVector vec = {};
  vec.rows = 1;
  vec.cols = 16;
  vec.dst = p0;
  AXL_OK(axlGraphAddVector(g0, nullptr, nullptr, 0, nullptr, axlVecFill, &vec));
  AXL_OK(axlSetDevice(1));
  AXL_OK(axlMalloc(&p1, 64));
  AXL_OK(axlStreamCreate(&s1));
  AXL_OK(axlSetDevice(0));
  AXL_OK(axlDeviceReset());
  REQUIRE(f.kernel.open_fds() == 2);  // the other device, and that of the client
  REQUIRE(f.kernel.live_buffers() == 1);
  REQUIRE(axlStreamSynchronize(s0) == axlErrorInvalidHandle);
  REQUIRE(axlEventSynchronize(e0) == axlErrorInvalidHandle);
  REQUIRE(axlGraphLaunch(g0, s1) == axlErrorInvalidHandle);
  REQUIRE(axlFree(p0) == axlErrorInvalidDevicePointer);
  AXL_OK(axlStreamSynchronize(s1));
  AXL_OK(axlMalloc(&p0, 64));  // opens it again
  AXL_OK(axlFree(p1));
}
