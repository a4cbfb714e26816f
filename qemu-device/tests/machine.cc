// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/tests/machine.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace acceltrace::device {
namespace {

// QEMU may be slow on a busy host, but a test that hangs must end.
constexpr int kTimeoutMs = 60000;

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "qtest: %s\n", why.c_str());
  std::exit(1);
}

int Listen(const std::string& path) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un addr = {};
  addr.sun_family = AF_UNIX;
  if (path.size() >= sizeof(addr.sun_path)) Die("socket path too long: " + path);
  std::memcpy(addr.sun_path, path.c_str(), path.size());
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&addr), sizeof(addr)) != 0 ||
      listen(fd, 1) != 0) {
    Die("cannot listen on " + path + ": " + std::strerror(errno));
  }
  return fd;
}

int Accept(int listener, pid_t child) {
  for (int waited = 0; waited < kTimeoutMs; waited += 100) {
    pollfd p = {listener, POLLIN, 0};
    if (poll(&p, 1, 100) > 0) {
      int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      close(listener);
      return fd;
    }
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) break;
  }
  close(listener);
  return -1;
}

void Send(int fd, const std::string& text) {
  size_t sent = 0;
  while (sent < text.size()) {
    ssize_t n = send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) Die("QEMU went away while it was sent a command");
    sent += static_cast<size_t>(n);
  }
}

std::string Hex(uint64_t v) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

}  // namespace

std::string ObjectPath() {
  const char* env = std::getenv("AXL_SO");
  return std::filesystem::absolute(env ? env : "build/qemu-device/axl.so");
}

std::string QemuPath() {
  const char* env = std::getenv("QEMU");
  return env ? env : "qemu-system-x86_64";
}

Machine::Machine(const std::vector<std::string>& args) {
  std::string name = (std::filesystem::temp_directory_path() / "axl-qtest.").string();
  dir_ = name + std::to_string(getpid());
  static int serial = 0;
  dir_ += "." + std::to_string(serial++);
  std::filesystem::create_directories(dir_);
  int qtest = Listen(dir_ + "/qtest");
  int qmp = Listen(dir_ + "/qmp");

  std::vector<std::string> argv = {QemuPath(),
                                   "-qtest",
                                   "unix:" + dir_ + "/qtest",
                                   "-qtest-log",
                                   "/dev/null",
                                   "-chardev",
                                   "socket,id=qmp,path=" + dir_ + "/qmp",
                                   "-mon",
                                   "chardev=qmp,mode=control",
                                   "-accel",
                                   "qtest",
                                   "-machine",
                                   "q35",
                                   "-m",
                                   "128",
                                   "-global",
                                   "axl.aside-work=0",  // the test's clock would not wait
                                   "-display",
                                   "none",
                                   "-nodefaults"};
  for (int i = 0; i < 4; i++) {
    std::string n = std::to_string(i);
    argv.insert(argv.end(),
                {"-device", "pcie-root-port,id=rp" + n + ",chassis=" + std::to_string(i + 1) +
                                ",slot=" + n + ",addr=" + std::to_string(4 + i) +
                                ",x-speed=16,x-width=16"});
  }
  argv.insert(argv.end(), args.begin(), args.end());
  std::filesystem::path object = ObjectPath();
  const char* first = std::getenv("AXL_PRELOAD");
  std::string preload = "LD_PRELOAD=" + (first ? std::string(first) + ":" : "") + object.string() +
                        ":" + (object.parent_path() / "qtest-accel.so").string();

  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a killed test must not leave QEMU running
    std::vector<char*> raw;
    for (std::string& a : argv) raw.push_back(a.data());
    raw.push_back(nullptr);
    putenv(preload.data());
    execvp(raw[0], raw.data());
    std::perror(raw[0]);
    _exit(127);
  }
  qtest_ = Accept(qtest, pid_);
  qmp_ = Accept(qmp, pid_);
  if (qtest_ < 0 || qmp_ < 0) Die("QEMU did not start");
  ReadLine(qmp_, &qmp_buffer_);  // greeting
  Qmp("{\"execute\":\"qmp_capabilities\"}");
}

Machine::~Machine() {
  Quit();
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

int Machine::Quit() {
  if (pid_ < 0) return 0;
  if (qmp_ >= 0) {
    const char quit[] = "{\"execute\":\"quit\"}\n";
    (void)!send(qmp_, quit, sizeof(quit) - 1, MSG_NOSIGNAL);
  }
  int status = 0;
  for (int waited = 0; waited < kTimeoutMs; waited += 5) {
    if (waitpid(pid_, &status, WNOHANG) == pid_) break;
    if (waited + 5 >= kTimeoutMs) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      break;
    }
    usleep(5000);
  }
  pid_ = -1;
  if (qtest_ >= 0) close(qtest_);
  if (qmp_ >= 0) close(qmp_);
  qtest_ = qmp_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool Machine::Alive() { return pid_ > 0 && kill(pid_, 0) == 0; }

std::string Machine::ReadLine(int fd, std::string* buffer) {
  for (;;) {
    size_t end = buffer->find('\n');
    if (end != std::string::npos) {
      std::string line = buffer->substr(0, end);
      buffer->erase(0, end + 1);
      return line;
    }
    pollfd p = {fd, POLLIN, 0};
    int ready = poll(&p, 1, kTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) Die("QEMU does not answer");
    char chunk[65536];
    ssize_t n = read(fd, chunk, sizeof(chunk));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) Die("QEMU ended in the middle of a test");
    buffer->append(chunk, static_cast<size_t>(n));
  }
}

std::string Machine::Reply() {
  for (;;) {
    std::string reply = ReadLine(qtest_, &qtest_buffer_);
    if (reply.rfind("IRQ", 0) != 0) return reply;
  }
}

std::string Machine::Command(const std::string& line) {
  Flush();
  Send(qtest_, line + "\n");
  std::string reply = Reply();
  if (reply.rfind("OK", 0) != 0) Die("'" + line + "' was answered '" + reply + "'");
  return reply.size() > 3 ? reply.substr(3) : "";
}

void Machine::Post(const std::string& line) {
  constexpr unsigned kAtOnce = 64;
  constexpr size_t kBytesAtOnce = 1 << 16;
  posted_ += line;
  posted_ += '\n';
  if (++unanswered_ >= kAtOnce || posted_.size() > kBytesAtOnce) Flush();
}

void Machine::Flush() {
  if (unanswered_ == 0) return;
  Send(qtest_, posted_);
  posted_.clear();
  for (; unanswered_; unanswered_--) {
    std::string reply = Reply();
    if (reply.rfind("OK", 0) != 0) Die("a queued command was answered '" + reply + "'");
  }
}

uint32_t Machine::Read32(uint64_t addr) {
  return static_cast<uint32_t>(std::stoull(Command("readl " + Hex(addr)), nullptr, 0));
}
uint64_t Machine::Read64(uint64_t addr) {
  return std::stoull(Command("readq " + Hex(addr)), nullptr, 0);
}
void Machine::Write32(uint64_t addr, uint32_t value) {
  Command("writel " + Hex(addr) + " " + Hex(value));
}
void Machine::Write64(uint64_t addr, uint64_t value) {
  Command("writeq " + Hex(addr) + " " + Hex(value));
}

void Machine::ReadMem(uint64_t addr, std::span<uint8_t> out) {
  constexpr size_t kChunk = 1 << 20;
  for (size_t at = 0; at < out.size(); at += kChunk) {
    size_t n = std::min(kChunk, out.size() - at);
    std::string hex = Command("read " + Hex(addr + at) + " " + Hex(n));
    for (size_t i = 0; i < n; i++) {
      auto digit = [&](size_t k) {
        char c = hex[2 + 2 * i + k];
        return c <= '9' ? c - '0' : c - 'a' + 10;
      };
      out[at + i] = static_cast<uint8_t>(digit(0) << 4 | digit(1));
    }
  }
}

void Machine::WriteMem(uint64_t addr, std::span<const uint8_t> bytes) {
  constexpr size_t kChunk = 1 << 20;
  static const char kDigits[] = "0123456789abcdef";
  for (size_t at = 0; at < bytes.size(); at += kChunk) {
    size_t n = std::min(kChunk, bytes.size() - at);
    std::string hex = "0x";
    hex.reserve(2 + 2 * n);
    for (size_t i = 0; i < n; i++) {
      hex += kDigits[bytes[at + i] >> 4];
      hex += kDigits[bytes[at + i] & 15];
    }
    Command("write " + Hex(addr + at) + " " + Hex(n) + " " + hex);
  }
}

uint32_t Machine::ConfigRead32(unsigned bus, unsigned devfn, unsigned offset) {
  Command("outl 0xcf8 " + Hex(0x80000000u | bus << 16 | devfn << 8 | (offset & 0xfc)));
  return static_cast<uint32_t>(std::stoull(Command("inl 0xcfc"), nullptr, 0));
}

void Machine::ConfigWrite32(unsigned bus, unsigned devfn, unsigned offset, uint32_t value) {
  Command("outl 0xcf8 " + Hex(0x80000000u | bus << 16 | devfn << 8 | (offset & 0xfc)));
  Command("outl 0xcfc " + Hex(value));
}

int64_t Machine::Step(int64_t ns) {
  if (ns == 0) return now_ns_;  // QEMU from version 10 on refuses such a step.
  now_ns_ = std::stoll(Command("clock_step " + std::to_string(ns)));
  return now_ns_;
}

std::string Machine::Qmp(const std::string& command) {
  Flush();
  Send(qmp_, command + "\n");
  for (;;) {
    std::string reply = ReadLine(qmp_, &qmp_buffer_);
    if (reply.find("\"event\"") != std::string::npos) {
      events_.push_back(reply);
      continue;
    }
    return reply;
  }
}

bool Machine::Set(const std::string& path, const std::string& property, int64_t value) {
  std::string reply =
      Qmp("{\"execute\":\"qom-set\",\"arguments\":{\"path\":\"" + path + "\",\"property\":\"" +
          property + "\",\"value\":" + std::to_string(value) + "}}");
  return reply.find("\"return\"") != std::string::npos;
}

void Machine::AwaitEvent(const std::string& name) {
  auto is_it = [&](const std::string& e) { return e.find('"' + name + '"') != std::string::npos; };
  for (const std::string& e : events_) {
    if (is_it(e)) return;
  }
  for (;;) {
    std::string line = ReadLine(qmp_, &qmp_buffer_);
    if (is_it(line)) return;
  }
}

}  // namespace acceltrace::device
