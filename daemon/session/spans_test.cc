// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/spans.h"

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr int64_t kSince = 3;

ApiBegin Begin(int64_t time_ns, uint64_t correlation, uint32_t tid = 1) {
  ApiBegin event;
  event.time_ns = time_ns;
  event.pid = 1;
  event.tid = tid;
  event.correlation = correlation;
  return event;
}

ApiEnd End(int64_t time_ns, uint64_t correlation, uint32_t tid = 1) {
  ApiEnd event;
  event.time_ns = time_ns;
  event.pid = 1;
  event.tid = tid;
  event.correlation = correlation;
  event.result = static_cast<int32_t>(correlation);
  return event;
}

struct Api {
  std::vector<ApiSpan> spans;
  ApiPairer pairer{[this](const ApiSpan& span) { spans.push_back(span); }};
};

TEST_CASE("nested calls come out in the order of their begin") {
  Api api;
  api.pairer.Begin(Begin(10, 1));
  api.pairer.Begin(Begin(20, 2));
  CHECK(api.pairer.End(End(30, 2), kSince));
  CHECK(api.spans.empty());
  CHECK(api.pairer.End(End(40, 1), kSince));
  REQUIRE(api.spans.size() == 2);
  CHECK(api.spans[0].begin.time_ns == 10);
  CHECK(api.spans[0].end_ns == 40);
  CHECK(api.spans[1].begin.time_ns == 20);
  CHECK(api.spans[1].end_ns == 30);
  CHECK(api.spans[1].result == 2);
  CHECK_FALSE(api.spans[0].open);
}

TEST_CASE("threads do not mix") {
  Api api;
  api.pairer.Begin(Begin(10, 1, 1));
  api.pairer.Begin(Begin(11, 1, 2));
  CHECK(api.pairer.End(End(12, 1, 2), kSince));
  REQUIRE(api.spans.size() == 1);
  CHECK(api.spans[0].begin.tid == 2);
}

TEST_CASE("an end without a begin is reported") {
  Api api;
  api.pairer.Born(1, 1);  // nothing was in progress before
  CHECK_FALSE(api.pairer.End(End(5, 1), kSince));
  api.pairer.Begin(Begin(10, 2));
  CHECK_FALSE(api.pairer.End(End(11, 3), kSince));
  CHECK(api.pairer.End(End(12, 2), kSince));
  CHECK_FALSE(api.pairer.End(End(13, 2), kSince));
}

TEST_CASE("calls that were under way when the recording began are known to be so") {
  Api api;
  ApiEnd end = End(30, 6);
  end.name = 9;
  api.pairer.Begin(Begin(10, 7));
  CHECK(api.pairer.End(End(20, 7), kSince));
  CHECK(api.pairer.End(end, kSince));               // contains the first one
  CHECK(api.pairer.End(End(40, 5), kSince));        // and is in another one
  CHECK_FALSE(api.pairer.End(end, kSince));         // but ends only once
  CHECK_FALSE(api.pairer.End(End(50, 8), kSince));  // ids increase: this one began later
  REQUIRE(api.spans.size() == 3);
  CHECK_FALSE(api.spans[0].began_before);
  CHECK(api.spans[1].began_before);
  CHECK_FALSE(api.spans[1].open);
  CHECK(api.spans[1].begin.time_ns == kSince);
  CHECK(api.spans[1].begin.name == 9);
  CHECK(api.spans[1].end_ns == 30);
  CHECK(api.spans[2].begin.correlation == 5);
}

TEST_CASE("calls under way when a process's library was found are known to be so") {
  Api api;
  api.pairer.Born(1, 1);
  api.pairer.Born(2, 2);
  api.pairer.SeenLate(1);
  CHECK(api.pairer.End(End(20, 5), 10));
  REQUIRE(api.spans.size() == 1);
  CHECK(api.spans[0].began_before);
  CHECK(api.spans[0].begin.time_ns == 10);
  CHECK_FALSE(api.pairer.End(End(21, 6), 10));  // a later one of the same thread
  ApiEnd other = End(22, 7, 2);
  other.pid = 2;
  CHECK_FALSE(api.pairer.End(other, 10));
  api.pairer.Born(1, 3);
  CHECK_FALSE(api.pairer.End(End(23, 8, 3), 10));
}

TEST_CASE("each thread has its own past") {
  Api api;
  api.pairer.Begin(Begin(10, 2, 1));
  CHECK(api.pairer.End(End(12, 7, 2), kSince));
  CHECK_FALSE(api.pairer.End(End(13, 3, 1), kSince));
  api.pairer.Close(1, 2, 14);
  api.pairer.Born(1, 2);  // a new thread with the old one's id
  CHECK_FALSE(api.pairer.End(End(15, 1, 2), kSince));
}

TEST_CASE("exec ends what was open, and nothing from before can end after it") {
  Api api;
  api.pairer.Begin(Begin(10, 1, 1));
  api.pairer.Begin(Begin(11, 2, 2));
  api.pairer.CloseProcess(1, 20);
  api.pairer.Born(1, 1);
  REQUIRE(api.spans.size() == 2);
  CHECK(api.spans[0].open);
  CHECK_FALSE(api.pairer.End(End(30, 1), kSince));
}

TEST_CASE("a look at what is under way leaves it") {
  Api api;
  std::vector<ApiSpan> seen;
  api.pairer.Begin(Begin(10, 1));
  api.pairer.Peek(15, [&](const ApiSpan& span) { seen.push_back(span); });
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].open);
  CHECK(seen[0].end_ns == 15);
  CHECK(api.pairer.End(End(20, 1), kSince));
  CHECK_FALSE(api.spans.at(0).open);
}

TEST_CASE("a call whose end was lost goes out as open") {
  Api api;
  api.pairer.Begin(Begin(10, 1));
  api.pairer.Begin(Begin(20, 2));
  CHECK(api.pairer.End(End(40, 1), kSince));
  REQUIRE(api.spans.size() == 2);
  CHECK_FALSE(api.spans[0].open);
  CHECK(api.spans[1].open);
  CHECK(api.spans[1].end_ns == 40);
}

TEST_CASE("what is open at the end, or when its thread exits, is flagged") {
  Api api;
  api.pairer.Begin(Begin(10, 1, 1));
  api.pairer.Begin(Begin(20, 2, 2));
  api.pairer.Close(1, 2, 25);
  REQUIRE(api.spans.size() == 1);
  CHECK(api.spans[0].open);
  CHECK(api.spans[0].end_ns == 25);
  api.pairer.CloseAll(99);
  REQUIRE(api.spans.size() == 2);
  CHECK(api.spans[1].end_ns == 99);
}

TEST_CASE("a flood of begins without ends is bounded and nothing is forgotten") {
  Api api;
  for (int i = 0; i < 100'000; ++i) api.pairer.Begin(Begin(i, static_cast<uint64_t>(i)));
  CHECK(api.spans.size() > 90'000);
  api.pairer.CloseAll(200'000);
  CHECK(api.spans.size() == 100'000);
}

RangePush Push(int64_t time_ns, uint32_t depth) {
  RangePush event;
  event.time_ns = time_ns;
  event.pid = event.tid = 1;
  event.depth = depth;
  return event;
}

struct Ranges {
  std::vector<RangeSpan> spans;
  RangePairer pairer{[this](const RangeSpan& span) { spans.push_back(span); }};
};

TEST_CASE("ranges nest by depth") {
  Ranges ranges;
  ranges.pairer.Push(Push(1, 0));
  ranges.pairer.Push(Push(2, 1));
  CHECK(ranges.pairer.Pop({3, 1, 1, 1}, kSince));
  CHECK(ranges.pairer.Pop({4, 1, 1, 0}, kSince));
  CHECK_FALSE(ranges.pairer.Pop({5, 1, 1, 0}, kSince));
  REQUIRE(ranges.spans.size() == 2);
  CHECK(ranges.spans[0].push.time_ns == 2);
  CHECK(ranges.spans[1].end_ns == 4);
}

TEST_CASE("ranges that were open when the recording began end from the inside out") {
  Ranges ranges;
  ranges.pairer.Push(Push(10, 3));
  CHECK(ranges.pairer.Pop({11, 1, 1, 3}, kSince));
  CHECK_FALSE(ranges.pairer.Pop({12, 1, 1, 3}, kSince));
  CHECK(ranges.pairer.Pop({13, 1, 1, 2}, kSince));
  CHECK_FALSE(ranges.pairer.Pop({14, 1, 1, 2}, kSince));
  CHECK(ranges.pairer.Pop({15, 1, 1, 1}, kSince));
  REQUIRE(ranges.spans.size() == 3);
  CHECK_FALSE(ranges.spans[0].began_before);
  CHECK(ranges.spans[1].began_before);
  CHECK(ranges.spans[1].push.time_ns == kSince);
  CHECK(ranges.spans[1].push.depth == 2);
  CHECK(ranges.spans[1].end_ns == 13);
  ranges.pairer.Born(1, 2);
  CHECK_FALSE(ranges.pairer.Pop({16, 1, 2, 0}, kSince));
}

TEST_CASE("ranges that were open when a process's library was found end from the inside out") {
  Ranges ranges;
  ranges.pairer.Born(1, 1);
  ranges.pairer.SeenLate(1);
  CHECK(ranges.pairer.Pop({20, 1, 1, 1}, 10));
  CHECK(ranges.pairer.Pop({30, 1, 1, 0}, 10));
  CHECK_FALSE(ranges.pairer.Pop({40, 1, 1, 0}, 10));
  CHECK(ranges.spans.size() == 2);
}

TEST_CASE("a lost pop leaves an open range, not a wrong one") {
  Ranges ranges;
  ranges.pairer.Push(Push(1, 0));
  ranges.pairer.Push(Push(2, 1));
  ranges.pairer.Push(Push(5, 1));
  REQUIRE(ranges.spans.size() == 1);
  CHECK(ranges.spans[0].open);
  CHECK(ranges.pairer.Pop({6, 1, 1, 0}, kSince));
  REQUIRE(ranges.spans.size() == 3);
  CHECK(ranges.spans[1].open);
  CHECK_FALSE(ranges.spans[2].open);
  CHECK(ranges.spans[2].push.depth == 0);
}

TEST_CASE("marks have no duration") {
  Ranges ranges;
  ranges.pairer.Mark(Push(7, 0));
  REQUIRE(ranges.spans.size() == 1);
  CHECK(ranges.spans[0].mark);
  CHECK(ranges.spans[0].end_ns == 7);
}

}  // namespace
}  // namespace acceltrace::daemon
