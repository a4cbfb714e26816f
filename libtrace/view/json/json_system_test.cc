// SPDX-License-Identifier: Apache-2.0
//
// The lists of the host in a report are limited, and say how much is left out.
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "libtrace/view/json/json.h"
#include "libtrace/view/text/text.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::view {
namespace {

using Json = nlohmann::json;

// A trace with this number of different threads, interrupts, counters and control groups.
Json SystemOf(uint32_t count) {
  constexpr uint64_t kLong = 5'000'000;  // rows must have realistic sizes
  test::TraceBuilder builder;
  builder.AddDevice();
  std::vector<proto::Packet> packets = builder.Packets();
  proto::Packet threads, interrupts, counters, samples, groups;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t after_ns = i == 0 ? 10'000'000 : 1;
    auto* runs = threads.mutable_thread_runs();
    runs->add_begin_ns_delta(after_ns), runs->add_run_ns(1 + i);
    runs->add_pid(1), runs->add_tid(1 + i), runs->add_left(proto::ThreadRunBatch::STATE_ENDED);
    runs->add_charged_ns(kLong), runs->add_minor_faults(1);
    auto* counts = interrupts.mutable_interrupts();
    counts->add_end_ns_delta(after_ns), counts->add_number(i), counts->add_count(1);
    counts->add_kind(proto::InterruptBatch::KIND_HARD), counts->add_total_ns(1 + i);
    counts->add_stretch_ns(kLong);
    counters.mutable_system_counters()->add_counter(i);
    counters.mutable_system_counters()->add_name(1000 + i);
    samples.mutable_system_samples()->add_time_ns_delta(after_ns);
    samples.mutable_system_samples()->add_counter(i);
    samples.mutable_system_samples()->add_value(i);
    groups.mutable_process_groups()->add_time_ns_delta(after_ns);
    groups.mutable_process_groups()->add_pid(1 + i);
    groups.mutable_process_groups()->add_group(1000 + i);
  }
  packets.insert(packets.end(), {threads, interrupts, counters, samples, groups});
  const auto model = test::LoadPackets(packets);
  return Json::parse(JsonReport(analysis::ComputeReport(*model)))["system"];
}

TEST_CASE("lists of the host have an end, and say how much is left out") {
  constexpr uint32_t kMost = 4096;
  for (const uint32_t count : {3u, kMost, kMost + 5}) {
    const Json system = SystemOf(count);
    for (const char* list : {"threads", "interrupts", "counters", "groups"}) {
      INFO(list << " of " << count);
      REQUIRE(system[list].size() == std::min(count, kMost));
      CHECK(system["left_out"][list] == count - std::min(count, kMost));
    }
    // The longest come first and are kept.
    CHECK(system["threads"][0]["tid"] == count);
    CHECK(system["interrupts"][0]["number"] == count - 1);
  }
}

TEST_CASE("a process counts once in each control group that it was in") {
  test::TraceBuilder builder;
  builder.AddDevice();
  builder.AddJob(test::JobOfCall(10'000'000, 1, 10'050'000));  // of process 100
  std::vector<proto::Packet> packets = builder.Packets();
  auto* groups = packets.emplace_back().mutable_process_groups();
  const auto add = [&](int64_t after_ns, uint32_t pid, uint32_t group) {
    groups->add_time_ns_delta(after_ns), groups->add_pid(pid), groups->add_group(group);
  };
  add(1'000'000, 100, 1000), add(1'000, 100, 1000), add(1'000, 101, 1000), add(1'000, 101, 1001);
  const auto model = test::LoadPackets(packets);
  const analysis::Report report = analysis::ComputeReport(*model);
  REQUIRE(report.system.groups.all == 2);
  for (const analysis::GroupUse& use : report.system.groups.first) {
    CHECK(use.processes == (use.group == 1000 ? 2 : 1));
    CHECK(use.jobs == (use.group == 1000 ? 1 : 0));
  }
}

TEST_CASE("a control group's container is beside it, whole in JSON and its first digits in text") {
  const std::string id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  test::TraceBuilder builder;
  builder.AddDevice();
  builder.AddJob(test::JobOfCall(10'000'000, 1, 10'050'000));  // of process 100
  builder.AddGroup(100, 9'000'000, "/docker/" + id);
  builder.AddGroup(101, 9'000'000, "/lxc.payload.\x1b[2Jweb");
  builder.AddGroup(102, 9'000'000, "/user.slice");
  const auto model = builder.Model();
  const analysis::Report report = analysis::ComputeReport(*model);
  const Json json = Json::parse(JsonReport(report))["system"]["groups"];
  REQUIRE(json.size() == 3);
  CHECK(json[0]["container"] == id);
  std::map<Json, Json> containers;
  for (const Json& group : json) containers[group["group"]] = group["container"];
  CHECK(containers["/lxc.payload.\x1b[2Jweb"] == "\x1b[2Jweb");
  CHECK(containers["/user.slice"] == nullptr);
  const std::string text = text::System(report, {});
  CHECK(text.find(" container ") != std::string::npos);
  CHECK(text.find(" 0123456789ab ") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
}

}  // namespace
}  // namespace acceltrace::view
