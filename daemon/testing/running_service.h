// SPDX-License-Identifier: Apache-2.0
//
// A service in a thread of the test, and clients for it.
#ifndef DAEMON_TESTING_RUNNING_SERVICE_H_
#define DAEMON_TESTING_RUNNING_SERVICE_H_

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/service/service.h"
#include "tests/catch.h"

namespace acceltrace::daemon {

// A recording without device and BPF, which collects only its own accounts.
inline constexpr char kEmptyStart[] =
    R"({"cmd":"start","no_device":true,"system":true,"probes":"clock")";

class TestClient {
 public:
  explicit TestClient(const std::string& path)
      : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    REQUIRE(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  }

  void Send(const std::string& text) {
    REQUIRE(send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }
  // Sends the text with file descriptors.
  void SendWith(const std::vector<int>& files, std::string text) {
    alignas(cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))] = {};
    iovec part = {text.data(), text.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    memcpy(CMSG_DATA(header), files.data(), files.size() * sizeof(int));
    REQUIRE(sendmsg(fd_.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  }
  // Returns an empty line at the end of the connection.
  std::string Line() {
    while (input_.find('\n') == std::string::npos) {
      char buffer[4096];
      const ssize_t got = recv(fd_.get(), buffer, sizeof(buffer), 0);
      if (got <= 0) return "";
      input_.append(buffer, static_cast<size_t>(got));
    }
    std::string line = input_.substr(0, input_.find('\n'));
    input_.erase(0, line.size() + 1);
    return line;
  }
  nlohmann::json Ask(const std::string& command) {
    Send(command + "\n");
    return nlohmann::json::parse(Line(), nullptr, false);
  }
  std::string Rest() {
    while (!Line().empty()) {
    }
    return std::exchange(input_, {});
  }
  void Close() { fd_.Reset(); }

 private:
  UniqueFd fd_;
  std::string input_;
};

class RunningService {
 public:
  // `change` modifies the parts of the service.
  explicit RunningService(const std::function<void(Service::Parts*)>& change = nullptr) {
    folder_ = "/tmp/service-" + std::string(6, 'X');
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    auto control = Listener::Open(path(), 0600, static_cast<gid_t>(-1));
    auto live = Listener::Open(folder_ + "/live", 0600, static_cast<gid_t>(-1));
    REQUIRE(control.ok());
    REQUIRE(live.ok());
    stop_ = eventfd(0, EFD_CLOEXEC);
    Service::Parts parts = {.control = std::move(control).value(),
                            .live = std::move(live).value(),
                            .signals = UniqueFd(dup(stop_))};
    if (change) change(&parts);
    service_ = std::make_unique<Service>(std::move(parts));
    thread_ = std::thread([this] { service_->Run(); });
  }
  ~RunningService() {
    Stop();
    close(stop_);
    if (system(("rm -rf " + folder_).c_str()) != 0) WARN("left " << folder_);
  }
  // Stops like SIGTERM.
  void Stop() {
    if (!service_) return;
    eventfd_write(stop_, 1);
    thread_.join();
    service_.reset();
  }
  std::string path() const { return folder_ + "/control"; }
  std::string file(const char* name) const { return folder_ + "/" + name; }
  std::string start(const char* name) const {
    return std::string(kEmptyStart) + R"(,"output":")" + file(name) + "\"}";
  }

 private:
  std::string folder_;
  int stop_ = -1;
  std::unique_ptr<Service> service_;
  std::thread thread_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_TESTING_RUNNING_SERVICE_H_
