// SPDX-License-Identifier: Apache-2.0
//
// Tests with clients that pass descriptors on which operations block.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>

#include <atomic>
#include <optional>

#include "daemon/testing/running_service.h"

namespace acceltrace::daemon {
namespace {

using nlohmann::json;

constexpr char kStatus[] = R"({"cmd":"status"})";

// A connection whose last close blocks until the peer has read what was sent, for as long as can be
// set: it never does.
class Lingering {
 public:
  Lingering() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(bind(listener_.get(), generic, bytes) == 0);
    REQUIRE(listen(listener_.get(), 16) == 0);
    REQUIRE(getsockname(listener_.get(), generic, &bytes) == 0);
    for (int i = 0; i < 3; ++i) {
      UniqueFd end(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      REQUIRE(connect(end.get(), generic, bytes) == 0);
      peers_.emplace_back(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      const std::string some(65536, 'x');
      while (send(end.get(), some.data(), some.size(), MSG_DONTWAIT) > 0) {
      }
      const linger how = {1, 30'000};
      REQUIRE(setsockopt(end.get(), SOL_SOCKET, SO_LINGER, &how, sizeof(how)) == 0);
      ends_.push_back(std::move(end));
    }
  }

  // Its receiver has the last descriptor.
  void Send(TestClient* client, const std::string& text) {
    client->SendWith({ends_.back().get()}, text);
    ends_.pop_back();
  }

 private:
  UniqueFd listener_;
  std::vector<UniqueFd> ends_, peers_;
};

TEST_CASE("a socket that lingers, taken or left unread, holds up nobody") {
  if (getuid() != 0) SKIP("only root may talk to a service without a group");
  Lingering lingering;
  std::optional<TestClient> hostile, silent, endless;
  // Sent before the service can receive them, so that it has the last descriptors.
  RunningService service([&](Service::Parts* parts) {
    const std::string& path = parts->control.path();
    hostile.emplace(path);
    lingering.Send(&*hostile, std::string(kEmptyStart) + "}\n");
    // Sent without a command, and after one that is too long: the connection is closed with the
    // file in it.
    silent.emplace(path);
    lingering.Send(&*silent, "{");
    silent->Close();
    endless.emplace(path);
    endless->Send(std::string(80'000, 'x'));
    lingering.Send(&*endless, "x");
  });
  TestClient other(service.path());
  REQUIRE(other.Ask(service.start("a.atrace"))["ok"] == true);
  const json refused = json::parse(hostile->Line(), nullptr, false);
  CHECK(refused["error"].get<std::string>().find("not a regular file") != std::string::npos);
  CHECK(endless->Line().find("longer than 64 KiB") != std::string::npos);
  CHECK(other.Ask(kStatus)["ok"] == true);
  CHECK(other.Ask(R"({"cmd":"stop"})")["summary"]["lost"] == 0);
}

TEST_CASE("an output that takes nothing keeps neither status nor the end waiting") {
  if (getuid() != 0) SKIP("only root may talk to a service without a group");
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const std::string some(4096, 'x');
  while (write(ends[1], some.data(), some.size()) > 0) {
  }
  REQUIRE(fcntl(ends[1], F_SETFL, 0) == 0);
  REQUIRE(fcntl(ends[0], F_SETFL, 0) == 0);
  std::atomic<bool> gave_up = false;
  std::thread reader;
  {
    RunningService service([&](Service::Parts* parts) {
      parts->shared = true;  // a shared daemon accepts outputs of any kind
      parts->end_ns = 1'000'000;
      // Since the process must not end here, the pipe is read instead.
      parts->give_up = [&] {
        gave_up = true;
        reader = std::thread([&] {
          char bytes[4096];
          while (read(ends[0], bytes, sizeof(bytes)) > 0) {
          }
        });
      };
    });
    TestClient client(service.path());
    client.SendWith({ends[1]}, std::string(kEmptyStart) + "}\n");
    close(ends[1]);
    TestClient other(service.path());
    json sessions;
    while (sessions.empty()) sessions = other.Ask(kStatus)["sessions"];
    CHECK(sessions[0]["state"] == "starting");
    CHECK(other.Ask(service.start("b.atrace"))["ok"] == true);
    CHECK(other.Ask(R"({"cmd":"stop"})")["summary"]["error"] == "");
    service.Stop();
    CHECK(gave_up);
  }
  reader.join();
  close(ends[0]);
}

}  // namespace
}  // namespace acceltrace::daemon
