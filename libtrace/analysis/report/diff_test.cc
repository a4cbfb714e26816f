// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/diff.h"

#include <algorithm>
#include <random>

#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;
using Certainty = Change::Certainty;

// Steps of three jobs: a copy, a matmul that takes `matmul_ns`, and a copy back.
struct Recipe {
  int steps = 12;
  int64_t matmul_ns = 5'000, link_stall_ns = 0, jitter_ns = 50;
  uint64_t copy_bytes = 4096;
  int extra_copies = 0;
  uint32_t seed = 1;
  std::string matmul = "matmul";
};

std::unique_ptr<model::Model> Make(const Recipe& recipe) {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddOpName(100, 1, "load");
  builder.AddOpName(100, 2, recipe.matmul);
  std::mt19937 random(recipe.seed);
  int64_t at = 1'000'000;
  uint32_t number = 0;
  const auto job = [&](uint32_t tag, Unit unit, int64_t ran, int64_t stall, uint64_t bytes) {
    JobSpec spec;
    spec.job = spec.sequence = ++number, spec.correlation = number;
    spec.submit_ns = at + 1'000, spec.doorbell_ns = at + 1'500, spec.submit_end_ns = at + 1'700;
    spec.device_doorbell_ns = at + 2'000, spec.fetched_ns = at + 2'500;
    CommandSpec command;
    command.unit = unit, command.tag = tag, command.bytes = bytes;
    command.fetched_ns = at + 2'500, command.head_ns = command.start_ns = at + 3'000;
    const int64_t jitter =
        recipe.jitter_ns > 0
            ? static_cast<int64_t>(random() % static_cast<uint32_t>(recipe.jitter_ns))
            : 0;
    command.end_ns = command.start_ns + ran + stall + jitter;
    command.stall_ns[kStallLink] = stall;
    spec.completion_ns = command.end_ns + 300, spec.device_irq_ns = command.end_ns + 400;
    spec.irq_ns = command.end_ns + 900, spec.complete_ns = command.end_ns + 1'200;
    spec.commands = {command};
    builder.AddApi("Launch", 100, number, at, at + 1'900);
    builder.AddJob(spec);
    at = command.end_ns + 2'000;
  };
  for (int step = 0; step < recipe.steps; ++step) {
    for (int copy = 0; copy <= recipe.extra_copies; ++copy) {
      job(1, kIn, 1'000, recipe.link_stall_ns, recipe.copy_bytes);
    }
    job(2, kMatrix, recipe.matmul_ns, 0, 0);
  }
  return builder.Model();
}

struct Pair {
  Pair(const Recipe& a, const Recipe& b)
      : model_a(Make(a)),
        model_b(Make(b)),
        report_a(ComputeReport(*model_a)),
        report_b(ComputeReport(*model_b)),
        diff(ComputeDiff(report_a, report_b)) {}
  const Change& Op(const std::string& name) const {
    const auto found = std::find_if(diff.ops.begin(), diff.ops.end(),
                                    [&](const Change& op) { return op.name == name; });
    REQUIRE(found != diff.ops.end());
    return *found;
  }
  std::unique_ptr<model::Model> model_a, model_b;
  Report report_a, report_b;
  Diff diff;
};

TEST_CASE("A trace is the same as itself") {
  const Pair pair({}, {});
  CHECK(pair.diff.comparable);
  CHECK(pair.diff.notes.empty());
  CHECK((pair.diff.jobs_a == 24 && pair.diff.aligned == 24));
  CHECK(pair.diff.first_difference.empty());
  for (const auto* changes :
       {&pair.diff.ops, &pair.diff.calls, &pair.diff.classes, &pair.diff.transfers}) {
    for (const Change& change : *changes) {
      INFO(change.name);
      CHECK(change.certainty == Certainty::kNone);
    }
  }
}

const Change& Named(const std::vector<Change>& changes, const std::string& name) {
  const auto found = std::find_if(changes.begin(), changes.end(),
                                  [&](const Change& change) { return change.name == name; });
  REQUIRE(found != changes.end());
  return *found;
}

TEST_CASE("A slower op shows in its stage and its unit, and leads to the pair that differs most") {
  Recipe other;
  other.seed = 2, other.matmul_ns = 5'500;
  const Pair slower({}, other);
  const Change stage = Named(slower.diff.stages, "start_to_end");
  CHECK((stage.count_a == 24 && stage.pairs == 24));
  CHECK(stage.certainty == Certainty::kSure);
  CHECK(std::abs(stage.delta.mid - 12 * 500) < 24 * 50);
  CHECK(Named(slower.diff.stages, "submit_to_doorbell").certainty == Certainty::kNone);
  const Change& unit = slower.diff.units.front();
  CHECK(unit.certainty == Certainty::kSure);
  CHECK(std::abs(unit.delta.mid - 12 * 500) < 12 * 100);
  using Kind = Change::Place::Kind;
  for (const Change* change : {&slower.Op("matmul"), &unit}) {
    REQUIRE((change->at_a.kind == Kind::kCommand && change->at_b.kind == Kind::kCommand));
    CHECK(slower.model_a->OpName(change->at_a.row) == "matmul");
    CHECK(slower.model_b->OpName(change->at_b.row) == "matmul");
  }
  const Change& op = slower.Op("matmul");
  CHECK(op.at_a.row == op.at_b.row);  // the same command on both sides
  const auto length = [](const Change::Place& at) { return at.end_ns - at.begin_ns; };
  CHECK(length(op.at_b) - length(op.at_a) >= 500);
  CHECK(Named(slower.diff.calls, "Launch").at_a.kind == Kind::kCall);
  for (const Change& change : slower.diff.classes) {
    if (change.a.mid > 0) CHECK(change.at_a.kind == Kind::kPiece);
  }
  REQUIRE(!slower.diff.transfers.empty());
  bool found = false;
  for (const Change& change : slower.diff.transfers) {
    if (change.count_a == 0) continue;
    CHECK(change.at_a.kind == Kind::kCommand);
    CHECK(slower.model_a->OpName(change.at_a.row) == "load");
    found = true;
  }
  CHECK(found);
}

TEST_CASE("Jitter is no change, a slower op is one, and is named first with its cause") {
  Recipe other;
  other.seed = 2;
  const Pair noise({}, other);
  CHECK(noise.Op("matmul").certainty != Certainty::kSure);
  CHECK(noise.Op("load").certainty != Certainty::kSure);
  other.matmul_ns = 5'500;
  const Pair slower({}, other);
  CHECK(slower.diff.ops[0].name == "matmul");
  const Change& op = slower.Op("matmul");
  CHECK(op.certainty == Certainty::kSure);
  CHECK(op.pairs == 12);
  CHECK(std::abs(op.delta.mid - 12 * 500) < 12 * 50);
  CHECK(op.delta.lo <= op.delta.mid);
  CHECK(op.cause == "longer each: more work");
  CHECK(slower.Op("load").certainty != Certainty::kSure);
  CHECK(slower.diff.run.certainty == Certainty::kSure);
}

TEST_CASE("A stall that grew, more of them, and more bytes are distinguished") {
  Recipe stalled, more, larger, gone;
  stalled.link_stall_ns = 400;
  const Pair stall({}, stalled);
  CHECK(stall.Op("load").cause == "longer each: more link stall");
  CHECK(stall.Op("load").certainty == Certainty::kSure);
  more.extra_copies = 1;
  const Pair count({}, more);
  CHECK(count.Op("load").cause == "more of them");
  CHECK((count.Op("load").count_a == 12 && count.Op("load").count_b == 24));
  CHECK(count.diff.aligned == 24);
  CHECK(count.diff.first_difference == "the sequences of jobs part at job 2");
  CHECK(count.Op("matmul").pairs == 12);
  CHECK(count.Op("matmul").certainty != Certainty::kSure);
  larger.copy_bytes = 8192, larger.link_stall_ns = 400;
  CHECK(Pair({}, larger).Op("load").cause == "longer each: more bytes, more link stall");
  const Pair back(stalled, {});
  CHECK(back.Op("load").cause == "shorter each: less link stall");
  CHECK(back.Op("load").delta.mid < 0);
  gone.matmul = "gemm";
  const Pair renamed({}, gone);
  CHECK(renamed.Op("matmul").cause == "gone");
  CHECK(renamed.Op("gemm").cause == "new");
  CHECK(renamed.diff.comparable);  // the copies are the same
}

TEST_CASE("A change within the spread of the instances is not certain") {
  Recipe a, b;
  a.jitter_ns = b.jitter_ns = 4'000;
  b.seed = 7;
  b.matmul_ns += 40;
  const Pair pair(a, b);
  CHECK(pair.Op("matmul").certainty == Certainty::kSpread);
  CHECK(pair.Op("matmul").noise_ns > 500);
  Recipe once, twice;
  once.steps = twice.steps = 1;
  twice.matmul_ns = 9'000;
  CHECK(Pair(once, twice).Op("matmul").certainty == Certainty::kOnce);
}

TEST_CASE("What cannot be compared is said") {
  Recipe a, b, nothing;
  a.extra_copies = b.extra_copies = -1;
  b.matmul = "sort";
  const Pair other(a, b);
  CHECK_FALSE(other.diff.comparable);
  CHECK(other.diff.why_not.find("0 % of their device time") == 0);
  nothing.steps = 0;
  const Pair empty({}, nothing);
  CHECK_FALSE(empty.diff.comparable);
  CHECK(empty.diff.why_not == "the second trace holds no run of a device");
}

// Computed by dynamic programming.
size_t LongestCommon(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  std::vector<size_t> row(b.size() + 1, 0);
  for (const uint64_t left : a) {
    size_t corner = 0;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = left == b[j] ? corner + 1 : std::max(row[j], above);
      corner = above;
    }
  }
  return row.back();
}

TEST_CASE("Alignment is as long as can be, in order, and of equal things") {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    std::vector<uint64_t> a(random() % 40), b(random() % 40);
    for (auto* side : {&a, &b}) {
      for (uint64_t& value : *side) value = random() % (1 + round % 6);
    }
    const auto pairs = Align(a, b);
    CHECK(pairs.size() == LongestCommon(a, b));
    for (size_t i = 0; i < pairs.size(); ++i) {
      CHECK(a[pairs[i].first] == b[pairs[i].second]);
      if (i == 0) continue;
      CHECK(pairs[i - 1].first < pairs[i].first);
      CHECK(pairs[i - 1].second < pairs[i].second);
    }
  }
  // Sequences that differ too much are only aligned at their ends, which bounds the memory.
  std::vector<uint64_t> a(20'000), b(20'000);
  for (size_t i = 0; i < a.size(); ++i) a[i] = 2 * i, b[i] = 2 * i + 1;
  a[0] = b[0] = a.back() = b.back() = 7;
  CHECK(Align(a, b).size() == 2);
}

}  // namespace
}  // namespace acceltrace::analysis
