// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

#include "daemon/service/journal.h"
#include "daemon/service/manager.h"
#include "daemon/service/metrics.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

// A datagram socket, like those of the journal and of the service manager.
class Datagrams {
 public:
  Datagrams() : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    folder_ = "/tmp/report-" + std::string(6, 'X');
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path().c_str(), sizeof(address.sun_path) - 1);
    REQUIRE(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  }
  ~Datagrams() {
    unlink(path().c_str());
    rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/socket"; }
  std::string Next() {
    char text[65536];
    const ssize_t got = recv(fd_.get(), text, sizeof(text), MSG_DONTWAIT);
    return got <= 0 ? "" : std::string(text, static_cast<size_t>(got));
  }

 private:
  UniqueFd fd_;
  std::string folder_;
};

TEST_CASE("messages reach the journal with their fields") {
  Datagrams socket;
  Journal journal(socket.path());
  journal.Say(kRecordingEnded, "ended", {{"ACCELTRACE_SESSION", "3"}});
  CHECK(socket.Next() ==
        "MESSAGE=ended\nMESSAGE_ID=8f4f6d7e2b7c4f0c9a51d2f0c1e8a302\nPRIORITY=6\n"
        "SYSLOG_IDENTIFIER=acceltraced\nACCELTRACE_SESSION=3\n");
}

TEST_CASE("a line's end in a value makes no further field") {
  const std::string entry = JournalEntry(kRefused, "a\nPRIORITY=0", {});
  const std::string wanted("MESSAGE\n\x0c\0\0\0\0\0\0\0a\nPRIORITY=0\n", 29);
  CHECK(entry.substr(0, wanted.size()) == wanted);
}

TEST_CASE("a watchdog is fed while there is something to do, and only then") {
  Datagrams socket;
  setenv("NOTIFY_SOCKET", socket.path().c_str(), 1);
  setenv("WATCHDOG_USEC", "3000000", 1);
  unsetenv("WATCHDOG_PID");
  {
    Watchdog watchdog;
    CHECK(watchdog.TimeoutMs(0) == -1);
    watchdog.Tick(0);
    CHECK(socket.Next().empty());
    watchdog.Watch(true);
    CHECK(socket.Next() == "WATCHDOG_USEC=3000000");
    CHECK(socket.Next() == "WATCHDOG=1");
    watchdog.Watch(true);
    CHECK(socket.Next().empty());
    watchdog.Tick(INT64_MAX / 2);
    CHECK(socket.Next() == "WATCHDOG=1");
    watchdog.Watch(false);
    CHECK(socket.Next() == "WATCHDOG_USEC=0");
    CHECK(watchdog.TimeoutMs(0) == -1);
  }
  setenv("WATCHDOG_PID", "1", 1);
  Watchdog others;
  others.Watch(true);
  CHECK(socket.Next().empty());
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

TEST_CASE("what recordings did stays counted when they have ended") {
  RecorderStats stats;
  stats.hops = {{"bpf-api", 10, 8, 2, 0}, {"output", 8, 7, 1, 0}};
  stats.bytes = 100;
  MetricsData data;
  data.ended.Add(stats);
  data.running.push_back({1, 1000, 5, 0, stats});
  const std::string page = RenderMetrics(data);
  CHECK(page.find("acceltrace_hop_lost_events_total{hop=\"bpf-api\"} 4\n") != std::string::npos);
  CHECK(page.find("acceltrace_written_bytes_total 200\n") != std::string::npos);
  data.running.clear();
  CHECK(RenderMetrics(data).find("acceltrace_written_bytes_total 100\n") != std::string::npos);
}

TEST_CASE("names with quotes and ends of lines stay one label") {
  MetricsData data;
  RecorderStats stats;
  stats.devices = {"a\"b\\c\nd"};
  data.running.push_back({1, 0, 0, 0, stats});
  CHECK(RenderMetrics(data).find("device=\"a\\\"b\\\\c\\nd\"} 1\n") != std::string::npos);
}

}  // namespace
}  // namespace acceltrace::daemon
