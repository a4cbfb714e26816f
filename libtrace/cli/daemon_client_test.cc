// SPDX-License-Identifier: Apache-2.0
//
// Tests the client with misbehaving daemons, which are scripts that come first in PATH. No result
// depends on timing: a daemon that never answers exceeds any limit.
#include "libtrace/cli/daemon_client.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/catch.h"

namespace acceltrace::cli {
namespace {

// In the body, $3 is the socket, as in `acceltraced --private --control-fd FD`.
class Script {
 public:
  explicit Script(const std::string& body) {
    folder_ = "/tmp/client-" + std::string(6, 'X');  // mkdtemp replaces these
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    std::ofstream(File()) << "#!/bin/bash\n" << body;
    chmod(File().c_str(), 0700);
    const char* before = std::getenv("PATH");
    path_ = before == nullptr ? "" : before;
    setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
  }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  ~Script() {
    setenv("PATH", path_.c_str(), 1);
    unlink(File().c_str());
    rmdir(folder_.c_str());
  }
  std::string File() const { return folder_ + "/acceltraced"; }

 private:
  std::string folder_, path_;
};

constexpr int kShortMs = 100;

std::string Ready(const DaemonClient::Limits& limits = {}) {
  auto client = DaemonClient::Start({}, {}, limits);
  REQUIRE(client.ok());
  return client->WaitUntilReady(-1, nullptr).message();
}

}  // namespace

TEST_CASE("a daemon that never says a word is killed, and that is reported") {
  const Script script("exec sleep 1000\n");
  DaemonClient::Limits limits;
  limits.start_ms = limits.end_ms = kShortMs;
  CHECK(Ready(limits) ==
        "the capture daemon did not start: no word for 100 ms, it did not end within 100 ms, "
        "killed by signal 9 (Killed)");
}

TEST_CASE("a daemon that is late ends unasked when it is no longer wanted") {
  const Script script("read -r -u $3 || exit 5\n");
  DaemonClient::Limits limits;
  limits.start_ms = kShortMs;
  CHECK(Ready(limits) == "the capture daemon did not start: no word for 100 ms, exit status 5");
}

TEST_CASE("what the daemon says instead of ready is reported") {
  const auto [body, reported] = GENERATE(table<const char*, const char*>({
      {"exit 3", "the capture daemon did not start: exit status 3"},
      {"kill -SEGV $$", "the capture daemon did not start: killed by signal 11"},
      {"echo error: no such device >&$3; exit 1", "no such device"},
      {"echo hello >&$3", "the capture daemon speaks another protocol"},
      {"printf ready >&$3", "the capture daemon did not start: exit status 0"},
      {"head -c 100000 /dev/zero >&$3", "the capture daemon did not start"},
  }));
  const Script script(std::string(body) + "\n");
  CHECK_THAT(Ready(), Catch::Matchers::StartsWith(reported));
}

TEST_CASE("waiting for the beginning ends when something else asks for it") {
  const Script script("read -r -u $3\n");
  auto client = DaemonClient::Start({}, {});
  REQUIRE(client.ok());
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  REQUIRE(write(ends[1], "ab", 2) == 2);
  int heard = 0;
  const Status ready = client->WaitUntilReady(ends[0], [&] {
    char byte = 0;
    ++heard;
    return read(ends[0], &byte, 1) == 1 && byte == 'b';
  });
  CHECK(ready.message() == "interrupted before the recording began");
  CHECK(heard == 2);
  close(ends[0]), close(ends[1]);
}

TEST_CASE("a daemon that does not stop, nor end, is killed") {
  const Script script("echo ready >&$3; exec sleep 1000\n");
  DaemonClient::Limits limits;
  limits.stop_ms = limits.end_ms = kShortMs;
  auto client = DaemonClient::Start({}, {}, limits);
  REQUIRE(client.ok());
  REQUIRE(client->WaitUntilReady(-1, nullptr).message().empty());
  const auto done = client->Stop(-1);
  REQUIRE(!done.ok());
  CHECK_THAT(done.message(), Catch::Matchers::EndsWith(
                                 "it did not end within 100 ms, killed by signal 9 (Killed)"));
}

TEST_CASE("a daemon whose place is taken is not asked again") {
  const Script script("echo taken >&$3; exit 1\n");
  auto client = DaemonClient::Start({}, {});
  REQUIRE(client.ok());
  CHECK(!client->WaitUntilReady(-1, nullptr).ok());
  CHECK(client->again());
}

TEST_CASE("a daemon that stays for others is not waited for") {
  const Script script(
      "echo ready >&$3; read -r line <&$3; echo stays >&$3; echo done {} >&$3\n"
      "trap '' TERM; read -r line <&$3; echo $$ >$0.left; exec sleep 1000\n");
  auto client = DaemonClient::Start({}, {});
  REQUIRE(client.ok());
  REQUIRE(client->WaitUntilReady(-1, nullptr).ok());
  CHECK(!client->again());
  const auto done = client->Stop(0);
  REQUIRE(done.ok());
  CHECK(*done == "{}");
  CHECK(client->WaitForExit() == "it ended before");
  pid_t left = 0;
  while (!(std::ifstream(script.File() + ".left") >> left)) usleep(1000);
  CHECK(kill(left, SIGKILL) == 0);
  CHECK(waitpid(left, nullptr, 0) == left);
  unlink((script.File() + ".left").c_str());
}

TEST_CASE("stop returns the last word") {
  const Script script(
      "echo ready >&$3; read -r line <&$3; echo failed: disk full >&$3\n"
      "echo \"done $line\" >&$3\n");
  auto client = DaemonClient::Start({}, {});
  REQUIRE(client.ok());
  REQUIRE(client->WaitUntilReady(-1, nullptr).message().empty());
  const auto done = client->Stop(7);
  REQUIRE(done.ok());
  CHECK(done.value() == "stop 7");
  CHECK(client->early_failure() == "disk full");
}

}  // namespace acceltrace::cli
