// SPDX-License-Identifier: Apache-2.0
//
// A QEMU under qtest: no guest runs; the test acts as the CPU and the clock. It reads and
// writes memory and ports, steps the virtual clock and talks QMP.
//
// Errors end the test with the reason, since a test cannot go on without its machine.
#ifndef QEMU_DEVICE_TESTS_MACHINE_H_
#define QEMU_DEVICE_TESTS_MACHINE_H_

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace acceltrace::device {

class Machine {
 public:
  // Boots q35 with the given extra arguments, such as {"-device", "axl,bus=rp0"}.
  // Root ports rp0 to rp3 exist. The device object is preloaded.
  explicit Machine(const std::vector<std::string>& args);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  uint32_t Read32(uint64_t addr);
  uint64_t Read64(uint64_t addr);
  void Write32(uint64_t addr, uint32_t value);
  void Write64(uint64_t addr, uint64_t value);
  void ReadMem(uint64_t addr, std::span<uint8_t> out);
  void WriteMem(uint64_t addr, std::span<const uint8_t> bytes);

  // Queues one line of the qtest protocol whose answer is ignored. Flush(), any other
  // call, or a full queue sends the queued lines and waits for their answers.
  void Post(const std::string& line);
  void Flush();

  // Configuration space through ports 0xcf8 and 0xcfc.
  uint32_t ConfigRead32(unsigned bus, unsigned devfn, unsigned offset);
  void ConfigWrite32(unsigned bus, unsigned devfn, unsigned offset, uint32_t value);

  // Virtual time in ns.
  int64_t Step(int64_t ns);
  int64_t now_ns() const { return now_ns_; }

  // Runs a QMP command; returns the reply line, which contains "return" or "error".
  std::string Qmp(const std::string& command);
  // Sets a property of the object at `path`; returns whether QEMU accepted it.
  bool Set(const std::string& path, const std::string& property, int64_t value);
  // Waits for an event of that name.
  void AwaitEvent(const std::string& name);
  void ForgetEvents() { events_.clear(); }

  // Ends QEMU and returns its exit status, or -1 if a signal killed it.
  int Quit();
  bool Alive();
  pid_t pid() const { return pid_; }

 private:
  std::string Command(const std::string& line);
  std::string Reply();
  std::string ReadLine(int fd, std::string* buffer);

  std::string dir_;
  pid_t pid_ = -1;
  int qtest_ = -1;
  int qmp_ = -1;
  std::string posted_;
  unsigned unanswered_ = 0;
  std::string qtest_buffer_;
  std::string qmp_buffer_;
  std::vector<std::string> events_;
  int64_t now_ns_ = 0;
};

// The paths of the object under test and of the QEMU binary, from the environment
// (AXL_SO, QEMU) or the build's defaults. AXL_PRELOAD is preloaded before the object.
std::string ObjectPath();
std::string QemuPath();

}  // namespace acceltrace::device

#endif  // QEMU_DEVICE_TESTS_MACHINE_H_
