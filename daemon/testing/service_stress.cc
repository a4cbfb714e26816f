// SPDX-License-Identifier: Apache-2.0
//
// The service under the thread sanitizer: clients start, query, save and stop recordings, read them
// live or disconnect, all concurrently. A race makes the exit status non-zero. Only the recordings'
// own accounts are recorded, so it needs neither a device nor BPF, but root.
//
//   host-service-stress [ROUNDS]
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "daemon/service/service.h"

namespace {

using acceltrace::daemon::Listener;
using acceltrace::daemon::Service;
using acceltrace::daemon::UniqueFd;

constexpr int kSkip = 77;
constexpr int kClients = 6;
std::atomic<int> unexpected{0}, started{0}, refused{0}, saved{0};

// A connection that sends requests and waits for the answers.
class Peer {
 public:
  explicit Peer(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    if (connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      ++unexpected;
    }
  }
  void Say(const std::string& text) {
    if (send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) ++unexpected;
  }
  // Whether the answer is positive; unsolicited messages are skipped.
  bool Ask(const std::string& text) {
    Say(text + "\n");
    for (;;) {
      const std::string line = Line();
      if (line.find("\"event\"") != std::string::npos) continue;
      if (line.empty()) ++unexpected;
      return line.find("\"ok\":true") != std::string::npos;
    }
  }
  // Reads the beginning of a stream, a refusal, or the end.
  void ReadSome() {
    char buffer[4096];
    (void)recv(fd_.get(), buffer, sizeof(buffer), 0);
  }

 private:
  std::string Line() {
    size_t end;
    while ((end = input_.find('\n')) == std::string::npos) {
      char buffer[4096];
      const ssize_t got = recv(fd_.get(), buffer, sizeof(buffer), 0);
      if (got <= 0) return "";
      input_.append(buffer, static_cast<size_t>(got));
    }
    std::string line = input_.substr(0, end);
    input_.erase(0, end + 1);
    return line;
  }

  UniqueFd fd_;
  std::string input_;
};

// A client's actions depend on its number and the round only.
void Client(const std::string& folder, int number, int rounds) {
  const std::string control = folder + "/control";
  const std::string file = folder + "/" + std::to_string(number);
  for (int round = 0; round < rounds; ++round) {
    const int kind = (number + round) % 4;
    Peer peer(control);
    std::string start = R"({"cmd":"start","no_device":true,"system":true,"probes":"clock",)";
    if (kind == 1) start += R"("ring":"1M",)";
    if (kind == 2) start += R"("rotate_size":"1M","keep":2,)";
    if (kind == 3) start += R"("sources":"memory,cpu",)";
    if (!peer.Ask(start + R"("output":")" + file + "\"}")) {
      ++refused;  // as many as there may be are there
      (void)peer.Ask(R"({"cmd":"status"})");
      continue;
    }
    ++started;
    Peer live(control), silent(folder + "/live");
    live.Say("{\"cmd\":\"live\"}\n");
    if (!peer.Ask(R"({"cmd":"status"})")) ++unexpected;
    const bool may = peer.Ask(R"({"cmd":"snapshot","output":")" + file + ".now\"}");
    if (may) ++saved;
    live.ReadSome();
    if (round % 3 != 0 && !peer.Ask(R"({"cmd":"stop"})")) ++unexpected;
    // Otherwise it disconnects, which ends its recording.
  }
}

// Requests figures and the list meanwhile.
void Onlooker(const std::string& control, const std::atomic<bool>& done) {
  Peer peer(control);
  while (!done) {
    if (!peer.Ask(R"({"cmd":"status"})")) ++unexpected;
    (void)peer.Ask("{\"cmd\":");
  }
}

int Stress(const std::string& folder, int rounds) {
  auto control = Listener::Open(folder + "/control", 0600, static_cast<gid_t>(-1));
  auto live = Listener::Open(folder + "/live", 0600, static_cast<gid_t>(-1));
  const int stop = eventfd(0, EFD_CLOEXEC);
  if (!control.ok() || !live.ok() || stop < 0) return 1;
  auto service = std::make_unique<Service>(Service::Parts{.control = std::move(control).value(),
                                                          .live = std::move(live).value(),
                                                          .signals = UniqueFd(dup(stop))});
  std::thread loop([&service] { service->Run(); });
  std::atomic<bool> done{false};
  std::thread onlooker([&] { Onlooker(folder + "/control", done); });
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&folder, i, rounds] { Client(folder, i, rounds); });
  }
  for (std::thread& client : clients) client.join();
  done = true;
  onlooker.join();
  // Some recordings are still ending.
  eventfd_write(stop, 1);
  loop.join();
  service.reset();
  close(stop);
  printf("%d recordings, %d saved, %d refused, %d answers that none expects\n", started.load(),
         saved.load(), refused.load(), unexpected.load());
  return unexpected == 0 && started > 0 && saved > 0 ? 0 : 1;
}

}  // namespace

// liburing maps and unmaps its rings by system calls of its own, which the sanitizer does not see,
// so two successive recordings seem to share memory that the kernel put at the same address.
extern "C" const char* __tsan_default_suppressions() {
  return "race:liburing.h\nrace:UringWriter::Reap\n";
}

int main(int argc, char** argv) {
  if (getuid() != 0) {
    puts("only root may talk to a service without a group");
    return kSkip;
  }
  std::string folder = "/tmp/service-stress-" + std::string(6, 'X');
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const int status = Stress(folder, argc > 1 ? atoi(argv[1]) : 12);
  std::filesystem::remove_all(folder);
  return status;
}
