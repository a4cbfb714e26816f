// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/service.h"

#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "daemon/testing/running_service.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/test_batches.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

using nlohmann::json;

bool IsWholeTrace(const std::string& path) {
  auto reader = stream::Reader::Open(path);
  if (!reader.ok()) return false;
  proto::Packet packet;
  while (stream::ReadBatch(reader.value().get(), &packet) == stream::Reader::Next::kPacket) {
  }
  return reader.value()->stats().has_footer && reader.value()->stats().gap_count == 0;
}

TEST_CASE("start, status, stop") {
  if (getuid() != 0) SKIP("only root may talk to a service without a group");
  RunningService service;
  TestClient client(service.path());
  const json started = client.Ask(service.start("a.atrace"));
  REQUIRE(started["ok"] == true);
  CHECK(started["session"] == 1);
  CHECK(client.Ask(R"({"cmd":"status"})")["sessions"][0]["state"] == "running");
  const json stopped = client.Ask(R"({"cmd":"stop","id":5,"status":0})");
  CHECK(stopped["id"] == 5);
  CHECK(stopped["summary"]["error"] == "");
  CHECK(IsWholeTrace(service.file("a.atrace")));
  CHECK(client.Ask(R"({"cmd":"status"})")["sessions"].empty());
  CHECK(client.Ask(R"({"cmd":"stop"})")["ok"] == false);
}

TEST_CASE("a recording of several files needs as many") {
  if (getuid() != 0) SKIP("only root may talk to a service without a group");
  RunningService service;
  TestClient client(service.path());
  const std::string empty(kEmptyStart);
  const std::string rotating = empty + R"(,"rotate_size":"1M","keep":3)";
  CHECK(client.Ask(rotating + "}")["ok"] == false);
  const int file = open(service.file("one").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  client.SendWith({file, file}, rotating + "}\n");
  const json refused = json::parse(client.Line(), nullptr, false);
  CHECK(refused["error"] == "such a recording needs 3 open files, not 2");
  client.SendWith({file, file}, empty + "}\n");
  CHECK(json::parse(client.Line(), nullptr, false)["ok"] == false);
  close(file);
  REQUIRE(client.Ask(rotating + R"(,"output":")" + service.file("a.atrace") + "\"}")["ok"] == true);
  CHECK(access(service.file("a.3.atrace").c_str(), F_OK) == 0);
  CHECK(client.Ask(R"({"cmd":"stop"})")["summary"]["parts"] == 1);
  CHECK(IsWholeTrace(service.file("a.atrace")));
}

TEST_CASE("one client's nonsense does not disturb another's recording") {
  if (getuid() != 0) SKIP("only root may talk to a service without a group");
  RunningService service;
  TestClient good(service.path());
  REQUIRE(good.Ask(service.start("good.atrace"))["ok"] == true);
  {
    TestClient bad(service.path());
    CHECK(bad.Ask("{}")["ok"] == false);
    CHECK(bad.Ask(std::string(1000, '['))["ok"] == false);
    CHECK(bad.Ask(R"({"cmd":"stop","session":9})")["ok"] == false);
    CHECK(bad.Ask(R"({"cmd":"start","output":"/proc/version"})")["ok"] == false);
    CHECK(bad.Ask(R"({"cmd":"start","output":"/dev/null"})")["ok"] == false);
    CHECK(bad.Ask(R"({"cmd":"start"})")["ok"] == false);
    bad.Send(std::string(100'000, 'x'));
    CHECK(bad.Line().find("64 KiB") != std::string::npos);
    CHECK(bad.Line().empty());  // disconnected
  }
  TestClient silent(service.path());
  silent.Send("{\"cmd\"");
  CHECK(good.Ask(R"({"cmd":"stop"})")["summary"]["error"] == "");
  CHECK(IsWholeTrace(service.file("good.atrace")));
}

TEST_CASE("a recording ends in order when its client goes, unless it is detached") {
  if (getuid() != 0) SKIP("only root may talk to a service without a group");
  RunningService service;
  {
    TestClient client(service.path());
    REQUIRE(client.Ask(service.start("gone.atrace"))["ok"] == true);
    std::string detached = service.start("detached.atrace");
    detached.insert(detached.size() - 1, R"(,"detach":true)");
    REQUIRE(client.Ask(detached)["ok"] == true);
  }
  TestClient other(service.path());
  json sessions;
  do {
    sessions = other.Ask(R"({"cmd":"status"})")["sessions"];
    usleep(10'000);
  } while (sessions.size() != 1);
  CHECK(sessions[0]["session"] == 2);
  CHECK(IsWholeTrace(service.file("gone.atrace")));
  CHECK(other.Ask(R"({"cmd":"stop","session":2})")["ok"] == true);
}

TEST_CASE("recordings and connections are bounded") {
  if (getuid() != 0) SKIP("only root may talk to a service without a group");
  RunningService service;
  TestClient client(service.path());
  for (size_t i = 0; i < ServiceConfig().max_recordings; ++i) {
    REQUIRE(client.Ask(service.start(("r" + std::to_string(i)).c_str()))["ok"] == true);
  }
  CHECK(client.Ask(service.start("more"))["ok"] == false);
  CHECK(access(service.file("more").c_str(), F_OK) != 0);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (size_t i = 1; i < Service::kMaxRootClients; ++i) {
    clients.push_back(std::make_unique<TestClient>(service.path()));
    CHECK(clients.back()->Ask(R"({"cmd":"status"})")["ok"] == true);
  }
  TestClient refused(service.path());
  CHECK(refused.Line().find("too many connections") != std::string::npos);
}

TEST_CASE("a live reader gets a whole stream; the recording does not wait for it") {
  if (getuid() != 0) SKIP("only root may talk to a service without a group");
  RunningService service;
  TestClient client(service.path());
  REQUIRE(client.Ask(service.start("l.atrace"))["ok"] == true);
  TestClient live(service.path());
  CHECK(live.Ask(R"({"cmd":"live"})")["session"] == 1);
  CHECK(client.Ask(R"({"cmd":"stop"})")["ok"] == true);
  const std::string bytes = live.Rest();
  auto reader = stream::Reader::FromMemory(bytes);
  CHECK(bytes.size() > 50);
}

TEST_CASE("snapshots need a flight recorder") {
  if (getuid() != 0) SKIP("only root may talk to a service without a group");
  RunningService service;
  TestClient client(service.path());
  REQUIRE(client.Ask(service.start("p.atrace"))["ok"] == true);
  const std::string snapshot = R"({"cmd":"snapshot","output":")" + service.file("s.atrace") + "\"}";
  CHECK(client.Ask(snapshot)["ok"] == false);
  CHECK(client.Ask(R"({"cmd":"stop"})")["ok"] == true);
  std::string ring = service.start("q.atrace");
  ring.insert(ring.size() - 1, R"(,"ring":"1M")");
  REQUIRE(client.Ask(ring)["ok"] == true);
  CHECK(client.Ask(snapshot)["ok"] == true);
  CHECK(IsWholeTrace(service.file("s.atrace")));
}

}  // namespace
}  // namespace acceltrace::daemon
