// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/planner.h"

#include <vector>

#include "tests/catch.h"

using namespace acceltrace::runtime;

namespace {

constexpr uint32_t kFirstSem = 20;
constexpr uint32_t kH2d = AXL_ENGINE_H2D, kD2h = AXL_ENGINE_D2H, kMatrix = AXL_ENGINE_MATRIX,
                   kVector = AXL_ENGINE_VECTOR;

struct Node {
  uint32_t engine;
  std::vector<uint32_t> deps;
};

struct Plan {
  std::vector<axl_desc> job;
  Timeline timeline, tail;
};

Plan Make(const std::vector<Node>& nodes, const Timeline& timeline = {}, const Timeline& tail = {},
          const std::vector<Point>& pending = {}) {
  CommandList list;
  for (const Node& node : nodes) {
    axl_desc command = {};
    command.engine = static_cast<uint8_t>(node.engine);
    REQUIRE(list.Add(command, node.deps) == axlSuccess);
  }
  std::vector<uint64_t> values;
  Planner planner(kFirstSem, timeline, tail, pending, &values);
  Plan plan;
  for (size_t i = 0; i < list.size(); ++i) {
    const size_t before = plan.job.size();
    planner.Append(list, i, &plan.job);
    REQUIRE(plan.job.size() - before <= planner.MaxDescriptors());
  }
  plan.timeline = planner.timeline();
  plan.tail = planner.Tail();
  return plan;
}

using Wait = std::pair<uint32_t, uint64_t>;  // semaphore, value
std::vector<Wait> Waits(const axl_desc& command) {
  std::vector<Wait> waits;
  for (int i = 0; i < 2; ++i) {
    if (command.wait_sem[i] != AXL_SEM_NONE)
      waits.emplace_back(command.wait_sem[i], command.wait_value[i]);
  }
  return waits;
}
Wait On(uint32_t engine, uint64_t value) { return {kFirstSem + engine, value}; }

}  // namespace

TEST_CASE("planner: each command signals its engine's semaphore with the next value") {
  const Plan plan = Make({{kVector, {}}, {kMatrix, {}}, {kVector, {}}}, {0, 0, 7, 40});
  REQUIRE(plan.job[0].signal_sem == kFirstSem + kVector);
  REQUIRE(plan.job[0].signal_value == 41);
  REQUIRE(plan.job[1].signal_sem == kFirstSem + kMatrix);
  REQUIRE(plan.job[1].signal_value == 8);
  REQUIRE(plan.job[2].signal_value == 42);
  REQUIRE(plan.timeline == Timeline{0, 0, 8, 42});
}

TEST_CASE("planner: dependencies on the own engine need no wait, others one each") {
  const Plan plan = Make({{kVector, {}}, {kVector, {0}}, {kMatrix, {0, 1}}, {kVector, {2}}});
  REQUIRE(Waits(plan.job[1]).empty());
  REQUIRE(Waits(plan.job[2]) == std::vector<Wait>{On(kVector, 2)});
  REQUIRE(Waits(plan.job[3]) == std::vector<Wait>{On(kMatrix, 1)});
}

TEST_CASE("planner: what an engine has waited for it does not wait for again") {
  const Plan plan = Make({{kVector, {}}, {kMatrix, {0}}, {kMatrix, {0}}});
  REQUIRE(Waits(plan.job[2]).empty());
}

TEST_CASE("planner: the tail is what nobody in the job waits for") {
  REQUIRE(Make({{kVector, {}}}).tail == Timeline{0, 0, 0, 1});
  REQUIRE(Make({{kVector, {}}, {kMatrix, {0}}}).tail == Timeline{0, 0, 1, 0});
  // Only the vector engine's first command is waited for, not its second one.
  REQUIRE(Make({{kVector, {}}, {kMatrix, {0}}, {kVector, {}}}).tail == Timeline{0, 0, 1, 2});
  // The second one is waited for, which includes the first.
  REQUIRE(Make({{kVector, {}}, {kVector, {}}, {kMatrix, {1}}}).tail == Timeline{0, 0, 1, 0});
  // Only the first one is waited for.
  REQUIRE(Make({{kVector, {}}, {kVector, {}}, {kMatrix, {0}}}).tail == Timeline{0, 0, 1, 2});
  REQUIRE(Make({{kH2d, {}}, {kD2h, {}}, {kMatrix, {}}, {kVector, {}}}).tail ==
          Timeline{1, 1, 1, 1});
}

TEST_CASE("planner: every root waits for the stream's tail and for pending events") {
  const std::vector<Point> pending = {{3, 9, 0, 0}};
  const Plan plan = Make({{kVector, {}}, {kMatrix, {}}, {kVector, {}}, {kMatrix, {0}}},
                         {5, 5, 5, 5}, {0, 0, 5, 0}, pending);
  REQUIRE(Waits(plan.job[0]) == std::vector<Wait>{On(kMatrix, 5), {3, 9}});
  REQUIRE(Waits(plan.job[1]) == std::vector<Wait>{{3, 9}});
  REQUIRE(Waits(plan.job[2]).empty());
  REQUIRE(Waits(plan.job[3]) == std::vector<Wait>{On(kVector, 6)});
}

TEST_CASE("planner: an empty list leaves the tail as it was") {
  REQUIRE(Make({}, {9, 9, 9, 9}, {0, 4, 0, 9}).tail == Timeline{0, 4, 0, 9});
}

TEST_CASE("planner: more than two waits go into joins on the same engine, ahead") {
  std::vector<Point> pending;
  for (uint16_t i = 0; i < 7; ++i) pending.push_back({static_cast<uint16_t>(60 + i), 1, 0, 0});
  const Plan plan = Make({{kVector, {}}}, {1, 1, 1, 1}, {1, 1, 1, 1}, pending);
  REQUIRE(plan.job.size() == 5);  // 3 + 7 waits: four joins of two, two in the command
  std::vector<Wait> all;
  for (size_t i = 0; i < plan.job.size(); ++i) {
    REQUIRE(plan.job[i].engine == kVector);
    REQUIRE((plan.job[i].signal_sem == AXL_SEM_NONE) == (i < 4));
    for (const Wait& wait : Waits(plan.job[i])) all.push_back(wait);
  }
  REQUIRE(all.size() == 10);
}
