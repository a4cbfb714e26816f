// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/config.h"

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

Names TestNames() {
  Names names;
  names.user = [](const std::string& name) -> std::optional<uid_t> {
    if (name == "root") return 0;
    if (name == "alice") return 1001;
    if (name == "bob") return 1002;
    return std::nullopt;
  };
  names.group = [](const std::string& name) { return name == "acceltrace" || name == "hpc"; };
  return names;
}

struct Parsed {
  ServiceConfig config;
  std::vector<std::string> mistakes;
};

Parsed Parse(const std::string& text) {
  Parsed parsed;
  parsed.config = ParseConfig(text, "f", TestNames(), &parsed.mistakes);
  return parsed;
}

TEST_CASE("an empty configuration is the usual one") {
  for (const char* text : {"", "\n", "# remark\n\n; another\n", "[users]\n"}) {
    const Parsed parsed = Parse(text);
    CHECK(parsed.mistakes.empty());
    CHECK(parsed.config.max_recordings == ServiceConfig().max_recordings);
    CHECK(parsed.config.metrics.empty());
  }
}

TEST_CASE("every setting is read") {
  const Parsed parsed = Parse(
      "socket = /run/a.sock # here\nlive-socket=/run/b.sock\ngroup = hpc\r\n"
      "metrics = [::1]:9469\nmax-connections = 10\nmax-recordings = 3\nmax-ring = 2G\n"
      "when-full = end\nsync = no\n[users]\nallowed = no\nconnections = 4\nrecordings = 1\n"
      "starts-per-minute = 5\nrequests-per-second = 7\nring = 64M\nbytes-per-hour = 1G\n"
      "[user alice]  # of the team\nallowed = yes\nbytes-per-hour = unlimited\n");
  CHECK(parsed.mistakes == std::vector<std::string>{});
  const ServiceConfig& config = parsed.config;
  CHECK(config.socket == "/run/a.sock");
  CHECK(config.live_socket == "/run/b.sock");
  CHECK(config.group == "hpc");
  CHECK(config.metrics == "[::1]:9469");
  CHECK(config.max_connections == 10);
  CHECK(config.max_recordings == 3);
  CHECK(config.max_ring_bytes == uint64_t{2} << 30);
  CHECK_FALSE(config.pause_when_full);
  CHECK_FALSE(config.sync);
  const UserLimits& bob = config.LimitsOf(1002);
  CHECK_FALSE(bob.allowed);
  CHECK(bob.connections == 4);
  CHECK(bob.recordings == 1);
  CHECK(bob.starts_per_minute == 5);
  CHECK(bob.requests_per_second == 7);
  CHECK(bob.ring_bytes == 64u << 20);
  CHECK(bob.bytes_per_hour == 1u << 30);
  const UserLimits& alice = config.LimitsOf(1001);
  CHECK(alice.allowed);
  CHECK(alice.connections == 4);
  CHECK(alice.bytes_per_hour == 0);
}

TEST_CASE("what a user has of their own does not depend on where [users] stands") {
  const Parsed parsed = Parse("[user alice]\nring = 1M\n[users]\nrecordings = 9\n");
  CHECK(parsed.mistakes.empty());
  CHECK(parsed.config.LimitsOf(1001).recordings == 9);
  CHECK(parsed.config.LimitsOf(1001).ring_bytes == 1u << 20);
}

// A text with one mistake: its line, a word of the problem, a word of the correction.
struct Mistake {
  const char* text;
  const char* line;
  const char* what;
  const char* mend;
};
const Mistake kMistakes[] = {
    {"group", "f:1: ", "no setting", "NAME = VALUE"},
    {"= 5", "f:1: ", "no name", "NAME = VALUE"},
    {"groop = hpc", "f:1: ", "groop", "group"},
    {"group =", "f:1: ", "no value", "remove the line"},
    {"group = \"hpc\"", "f:1: ", "quotes", "without"},
    {"group = nosuch", "f:1: ", "no group", "groupadd"},
    {"group = hpc\n\ngroup = hpc", "f:3: ", "line 1", "remove one"},
    {"socket = a.sock", "f:1: ", "absolute", "begin it with /"},
    {"socket = /run/", "f:1: ", "ends with /", "name a socket"},
    {"socket = /run/live.sock", "f:1: ", "same path", "another"},
    {"socket = /a\nlive-socket = /a", "f:2: ", "same path", "another"},
    {"metrics = /run/acceltrace/live.sock", "f:1: ", "another socket", "choose"},
    {"metrics = 0.0.0.0:9469", "f:1: ", "loopback", "127.0.0.1:PORT"},
    {"metrics = on", "f:1: ", "neither a path", "write off"},
    {"metrics = 127.0.0.1:", "f:1: ", "no port", "65535"},
    {"metrics = 127.0.0.1:99999", "f:1: ", "no port", "65535"},
    {"metrics = [::1]:http", "f:1: ", "no port", "65535"},
    {"max-recordings = many", "f:1: ", "no number", "from 1 to 64"},
    {"max-recordings = 65", "f:1: ", "out of range", "from 1 to 64"},
    {"max-recordings = 99999999999", "f:1: ", "out of range", "from 1 to 64"},
    {"max-connections = -1", "f:1: ", "no number", "from 1 to 1024"},
    {"max-ring = big", "f:1: ", "no size", "such as 64M"},
    {"max-ring = 1K", "f:1: ", "out of range", "bytes"},
    {"when-full = wait", "f:1: ", "when-full", "pause or end"},
    {"sync = 1", "f:1: ", "sync", "yes or no"},
    {"recordings = 2", "f:1: ", "of users", "below [users]"},
    {"[users]\ngroup = hpc", "f:2: ", "of the service", "before the first section"},
    {"[users]\nallowed = maybe", "f:2: ", "allowed", "yes or no"},
    {"[users]\nbytes-per-hour = 10", "f:2: ", "out of range", "bytes"},
    {"[users]\n[users]", "f:2: ", "second [users]", "into one"},
    {"[users", "f:1: ", "no ']'", "write [users]"},
    {"[users] recordings = 2", "f:1: ", "after ']'", "line of its own"},
    {"[groups]", "f:1: ", "no section", "[user NAME]"},
    {"[user]", "f:1: ", "without a name", "[users] for all"},
    {"[user nosuch]\nrecordings = 1", "f:1: ", "no user", "correct the name"},
    {"[user root]", "f:1: ", "root", "remove the section"},
    {"[user bob]\n[user bob]", "f:2: ", "second section", "into one"},
    {"[user bob]\nring = 1", "f:2: ", "out of range", "bytes"},
    {"group\001 = hpc", "f:1: ", "control character", "anew"},
};

TEST_CASE("each mistake is one line with the place, what is wrong and the mend") {
  for (const Mistake& mistake : kMistakes) {
    INFO(mistake.text);
    const Parsed parsed = Parse(mistake.text);
    REQUIRE(parsed.mistakes.size() == 1);
    const std::string& said = parsed.mistakes[0];
    CHECK(said.rfind(mistake.line, 0) == 0);
    CHECK(said.find(mistake.what) != std::string::npos);
    CHECK(said.find(mistake.mend) != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
  }
}

TEST_CASE("all mistakes are found in one run, in bounds") {
  std::string all;
  for (const char* line : {"group", "= 5", "groop = 1", "metrics = on", "max-ring = 1K"}) {
    all += std::string(line) + "\n";
  }
  CHECK(Parse(all).mistakes.size() == 5);
  CHECK(Parse(std::string(2000, 'x')).mistakes.size() == 1);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "x\n";
  CHECK(Parse(many).mistakes.size() == 100);
}

TEST_CASE("a file that cannot be read is a mistake, one that is not there only if it was named") {
  std::vector<std::string> mistakes;
  (void)LoadConfig("/nosuch/file", false, &mistakes);
  CHECK(mistakes.empty());
  (void)LoadConfig("/nosuch/file", true, &mistakes);
  CHECK(mistakes.size() == 1);
  (void)LoadConfig("/tmp", true, &mistakes);
  CHECK(mistakes.size() == 2);
}

}  // namespace
}  // namespace acceltrace::daemon
