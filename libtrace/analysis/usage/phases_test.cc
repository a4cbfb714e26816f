// SPDX-License-Identifier: Apache-2.0
//
// The phases of programs, and what is found of them from their jobs alone.
#include "libtrace/analysis/usage/phases.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/stream/file/reader.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;
using Kind = Phase::Kind;

// Successive jobs, each of which begins 10 us after the end of the previous one.
class Program {
 public:
  Program() { builder_.AddDevice(); }

  // `matrix` is the number of multiplications of each of the `commands` commands. `in` and `out`
  // are bytes.
  void Job(uint64_t in, uint64_t matrix, size_t commands, uint64_t vector, uint64_t out,
           uint32_t pid = 100) {
    const int64_t call_ns = now_ns_, fetched_ns = call_ns + 3'000;
    JobSpec job = JobOfCall(call_ns, ++number_, fetched_ns + 20'000);
    job.pid = job.tid = pid;
    const auto add = [&](Unit unit, uint32_t opcode, uint64_t work, uint64_t bytes) {
      CommandSpec command;
      command.unit = unit, command.opcode = opcode, command.work = work, command.bytes = bytes;
      command.fetched_ns = command.head_ns = command.start_ns = fetched_ns;
      const auto index = static_cast<int64_t>(job.commands.size());
      command.head_ns = command.start_ns = fetched_ns + index * 1'000;
      command.end_ns = command.start_ns + 1'000;
      job.commands.push_back(command);
    };
    if (in > 0) add(kIn, 0x10, in / 256 + 1, in);
    for (size_t c = 0; c < commands; ++c) add(kMatrix, 0x20, matrix, 0);
    if (vector > 0) add(kVector, 0x30, vector, 0);
    if (out > 0) add(kOut, 0x11, out / 256 + 1, out);
    builder_.AddJob(job);
    builder_.AddApi("Launch", pid, number_, call_ns, call_ns + 2'500);
    now_ns_ += 35'000;
  }
  void Rest(int64_t ns) { now_ns_ += ns; }
  // A forward pass over some tokens: layers, then results.
  void Pass(size_t layers, uint64_t tokens, uint64_t position) {
    for (size_t l = 0; l < layers; ++l) Job(0, tokens * 5'000, 3, tokens * 64 + position, 0);
    Job(0, 3'000, 1, 0, 0);
    Job(0, 0, 0, 0, 1'024);
  }

  std::unique_ptr<model::Model> Model() { return builder_.Model(); }
  int64_t now_ns() const { return now_ns_; }

 private:
  TraceBuilder builder_;
  int64_t now_ns_ = 20'000'000;
  uint32_t number_ = 0;
};

std::vector<Kind> Kinds(const Phases& phases) {
  std::vector<Kind> kinds;
  for (const Phase& phase : phases.list) kinds.push_back(phase.kind);
  return kinds;
}

Phases Found(Program* program) {
  return FindPhases(*program->Model(), 20'000'000, program->now_ns());
}

TEST_CASE("an inference is loaded, filled and decoded") {
  const size_t layers = GENERATE(1, 3, 12), tokens = GENERATE(4, 9, 40);
  const uint64_t prompt = GENERATE(2u, 7u, 100u);
  Program program;
  for (size_t l = 0; l < layers; ++l) program.Job(50'000, 0, 0, 0, 0);
  program.Pass(layers, prompt, 0);
  for (size_t t = 0; t < tokens; ++t) program.Pass(layers, 1, prompt + t);
  const Phases phases = Found(&program);
  REQUIRE(Kinds(phases) == std::vector<Kind>{Kind::kLoad, Kind::kPrefill, Kind::kDecode});
  CHECK(phases.list[0].jobs == layers);
  CHECK(phases.list[0].bytes_in == layers * 50'000);
  CHECK(phases.list[1].rounds == 1);
  CHECK(phases.list[1].jobs == layers + 2);
  CHECK(phases.list[2].rounds == tokens);
  CHECK(phases.list[2].jobs == tokens * (layers + 2));
}

TEST_CASE("requests follow each other, with the device idle between some") {
  Program program;
  program.Job(50'000, 0, 0, 0, 0);
  std::vector<Kind> expected{Kind::kLoad};
  for (const uint64_t prompt : {6u, 30u, 11u}) {
    if (prompt == 11) program.Rest(3'000'000), expected.push_back(Kind::kIdle);
    program.Pass(2, prompt, 0);
    for (size_t t = 0; t < 7; ++t) program.Pass(2, 1, t);
    expected.push_back(Kind::kPrefill), expected.push_back(Kind::kDecode);
  }
  const Phases phases = Found(&program);
  CHECK(Kinds(phases) == expected);
  for (size_t p = 1; p < phases.list.size(); ++p)
    CHECK(phases.list[p].begin_ns >= phases.list[p - 1].end_ns);
}

TEST_CASE("a pause within a round is the round's") {
  Program program;
  program.Pass(2, 30, 0);
  for (size_t t = 0; t < 9; ++t) {
    program.Job(0, 5'000, 3, 64, 0);
    if (t == 3) program.Rest(3'000'000);
    program.Job(0, 5'000, 3, 64, 0), program.Job(0, 3'000, 1, 0, 0), program.Job(0, 0, 0, 0, 512);
  }
  CHECK(Kinds(Found(&program)) == std::vector<Kind>{Kind::kPrefill, Kind::kDecode});
}

TEST_CASE("a prompt in chunks is one prefill") {
  Program program;
  for (size_t chunk = 0; chunk < 3; ++chunk) program.Pass(4, 16, 16 * chunk);
  for (size_t t = 0; t < 10; ++t) program.Pass(4, 1, 48 + t);
  const Phases phases = Found(&program);
  REQUIRE(Kinds(phases) == std::vector<Kind>{Kind::kPrefill, Kind::kDecode});
  CHECK(phases.list[0].rounds == 3);
}

TEST_CASE("a prefill of other jobs than those that decode is found before them") {
  Program program;
  program.Job(0, 90'000, 9, 600, 0);
  for (size_t t = 0; t < 8; ++t) program.Pass(2, 1, t);
  CHECK(Kinds(Found(&program)) == std::vector<Kind>{Kind::kPrefill, Kind::kDecode});
}

TEST_CASE("rounds that are all alike are no decoding") {
  Program program;
  SECTION("a prompt of one token") {
    for (size_t t = 0; t < 9; ++t) program.Pass(2, 1, t);
  }
  SECTION("the first one has more commands, each as large") {
    program.Job(0, 5'000, 24, 64, 512);
    for (size_t t = 0; t < 9; ++t) program.Job(0, 5'000, 3, 64, 512);
  }
  SECTION("rounds grow") {
    for (size_t t = 0; t < 9; ++t) program.Job(512, 5'000 << t, 1, 64, 512);
  }
  SECTION("no matrix work") {
    program.Job(0, 0, 0, 6'400, 512);
    for (size_t t = 0; t < 9; ++t) program.Job(0, 0, 0, 64, 512);
  }
  CHECK(Kinds(Found(&program)) == std::vector<Kind>{Kind::kRounds});
}

TEST_CASE("what does not repeat is work, whatever it does") {
  Program program;
  program.Job(50'000, 0, 0, 0, 0);
  program.Job(0, 80'000, 4, 0, 0), program.Job(0, 1'000, 4, 10, 0), program.Job(0, 0, 0, 0, 512);
  program.Job(0, 1'000, 4, 10, 0), program.Job(0, 0, 0, 10, 0);
  CHECK(Kinds(Found(&program)) == std::vector<Kind>{Kind::kLoad, Kind::kWork});
}

TEST_CASE("copies without computing are no load") {
  Program program;
  for (size_t i = 0; i < 3; ++i) program.Job(50'000, 0, 0, 0, 0);
  CHECK(Kinds(Found(&program)) == std::vector<Kind>{Kind::kWork});
}

TEST_CASE("few rounds are found if each is of many jobs") {
  const size_t tokens = GENERATE(1, 2, 3);
  Program program;
  program.Job(50'000, 0, 0, 0, 0);
  program.Pass(3, 16, 0);
  for (size_t t = 0; t < tokens; ++t) program.Pass(3, 1, 16 + t);
  const Phases phases = Found(&program);
  REQUIRE(Kinds(phases) == std::vector<Kind>{Kind::kLoad, Kind::kPrefill, Kind::kDecode});
  CHECK(phases.list[1].rounds == 1);
  CHECK(phases.list[2].rounds == tokens);
}

TEST_CASE("few rounds of few jobs are none, nor are those a prefill that are not alike") {
  Program program;
  std::vector<Kind> expected{Kind::kWork};
  SECTION("a job, three times") {
    for (size_t t = 0; t < 3; ++t) program.Job(0, 5'000, 3, 64, 512);
  }
  SECTION("smaller each time") {
    for (size_t t = 0; t < 4; ++t) program.Pass(3, 64 >> (2 * t), t);
    expected = {Kind::kRounds};
  }
  CHECK(Kinds(Found(&program)) == expected);
}

TEST_CASE("requests that are all as long are found one by one") {
  const size_t requests = GENERATE(4, 9), tokens = GENERATE(3, 7);
  Program program;
  std::vector<Kind> expected;
  for (size_t r = 0; r < requests; ++r) {
    program.Job(50'000, 0, 0, 0, 0);
    program.Pass(3, 20, 0);
    for (size_t t = 0; t < tokens; ++t) program.Pass(3, 1, t);
    expected.push_back(Kind::kPrefill), expected.push_back(Kind::kDecode);
  }
  Phases phases = Found(&program);
  // Loads in the middle of the run are too short to be shown.
  std::erase_if(phases.list, [](const Phase& phase) { return phase.kind == Kind::kLoad; });
  CHECK(Kinds(phases) == expected);
  for (const Phase& phase : phases.list) {
    if (phase.kind == Kind::kDecode) CHECK(phase.rounds == tokens);
  }
}

TEST_CASE("of very many requests it is said that they repeat") {
  Program program;
  for (size_t r = 0; r < 140; ++r) {
    program.Job(50'000, 0, 0, 0, 0);
    program.Pass(2, 20, 0);
    for (size_t t = 0; t < 4; ++t) program.Pass(2, 1, t);
  }
  const Phases phases = Found(&program);
  REQUIRE(Kinds(phases) == std::vector<Kind>{Kind::kRounds});
  CHECK(phases.list[0].rounds == 140);
}

TEST_CASE("processes one after the other have phases, those side by side none") {
  Program program;
  const uint32_t second = GENERATE(100u, 200u);
  for (const uint32_t pid : {100u, second}) {
    program.Job(0, 50'000, 2, 64, 512, pid);
    for (size_t t = 0; t < 9; ++t) program.Job(0, 5'000, 2, 64, 512, pid);
  }
  CHECK(Kinds(Found(&program)) ==
        std::vector<Kind>{Kind::kPrefill, Kind::kDecode, Kind::kPrefill, Kind::kDecode});
}

TEST_CASE("no phases are claimed where jobs have no common order") {
  Program program;
  for (size_t t = 0; t < 9; ++t) {
    program.Job(0, t == 0 ? 50'000 : 5'000, 2, 64, 512);
    program.Job(0, t == 0 ? 50'000 : 5'000, 2, 64, 512, 200);
  }
  CHECK(Found(&program).list.empty());
}

TEST_CASE("a run without jobs has no phases") {
  CHECK(FindPhases(model::Model{}, 0, 1'000).list.empty());
}

// Returns the first begin and the last end of the ranges with this prefix.
std::pair<int64_t, int64_t> Named(const model::Model& model, const std::string& name) {
  std::pair<int64_t, int64_t> span{INT64_MAX, INT64_MIN};
  for (size_t r = 0; r < model.ranges.size(); ++r) {
    if (model.strings.Get(model.ranges.name[r]).rfind(name, 0) != 0) continue;
    span.first = std::min(span.first, model.ranges.begin_ns[r]);
    span.second = std::max(span.second, model.ranges.end_ns[r]);
  }
  return span;
}

TEST_CASE("phases are found where a recorded program's ranges name them") {
  auto reader = stream::Reader::Open("tests/golden/demo.atrace");
  REQUIRE(reader.ok());
  auto model = model::Load(reader->get());
  REQUIRE(model.ok());
  const auto upload = Named(**model, "upload"), prefill = Named(**model, "prefill"),
             decode = Named(**model, "decode");
  (*model)->ranges = {};
  const Report report = ComputeReport(**model);
  REQUIRE(Kinds(report.phases) == std::vector<Kind>{Kind::kLoad, Kind::kPrefill, Kind::kDecode});
  constexpr int64_t kNear = 60'000;  // of 19.6 ms
  const std::vector<Phase>& found = report.phases.list;
  CHECK(std::abs(found[0].end_ns - upload.second) < kNear);
  CHECK(std::abs(found[1].begin_ns - prefill.first) < kNear);
  CHECK(std::abs(found[1].end_ns - prefill.second) < kNear);
  CHECK(std::abs(found[2].begin_ns - decode.first) < kNear);
  CHECK(std::abs(found[2].end_ns - decode.second) < kNear);
  CHECK(found[2].rounds == 16);
  // The limits of phases refer to parts that add up to the run, and so do those of ranges.
  REQUIRE(report.part_limits.phases.size() == 3);
  double sum_ns = 0;
  for (const PartLimit& limit : report.part_limits.phases) {
    CHECK(limit.first.share > 0);
    sum_ns += limit.ns;
  }
  CHECK(report.part_limits.phases[1].first.resource == kHostSpeed);
  CHECK(report.part_limits.phases[2].first.resource == kHostSpeed);
  const auto run_ns = static_cast<double>(report.breakdown.RunNs());
  CHECK(sum_ns < run_ns);  // without the tracer
  CHECK(sum_ns > 0.8 * run_ns);
}

}  // namespace
}  // namespace acceltrace::analysis
