// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/ring_hub.h"

#include <vector>

#include "daemon/testing/axl/fake_ring.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kAll = FakeRing::kRecords;

struct Fixture {
  Fixture() {
    auto reader = RingReader::Open(ring.data(), ring.size());
    REQUIRE(reader.ok());
    hub = std::make_shared<RingHub>(std::move(reader).value(), -1, [this] { ++closed; });
  }
  void Produce(int count) {
    for (int i = 0; i < count; ++i) ring.Produce(next++);
  }

  FakeRing ring;
  int closed = 0;
  uint32_t next = 1;
  std::shared_ptr<RingHub> hub;
};

std::vector<uint32_t> Jobs(RingHub::Subscription* from) {
  std::vector<uint32_t> jobs;
  from->Drain(kAll, [&](const axl_record* records, size_t count) {
    for (size_t i = 0; i < count; ++i) jobs.push_back(records[i].cmd.job);
  });
  return jobs;
}

TEST_CASE("each subscriber of a ring gets every record since it joined, once") {
  Fixture f;
  auto first = f.hub->Join();
  f.Produce(3);
  CHECK(Jobs(first.get()) == std::vector<uint32_t>{1, 2, 3});
  f.Produce(1);
  auto second = f.hub->Join();
  f.Produce(2);
  CHECK(Jobs(second.get()) == std::vector<uint32_t>{5, 6});
  CHECK(Jobs(first.get()) == std::vector<uint32_t>{4, 5, 6});
  CHECK(first->counts().out == 6);
  CHECK(second->counts().out == 2);
}

TEST_CASE("a subscriber that is slow to take its records keeps the others from nothing") {
  Fixture f;
  auto slow = f.hub->Join();
  auto other = f.hub->Join();
  f.Produce(4);
  std::vector<uint32_t> meanwhile;
  slow->Drain(2, [&](const axl_record*, size_t count) {
    CHECK(count == 2);
    meanwhile = Jobs(other.get());
  });
  CHECK(meanwhile == std::vector<uint32_t>{1, 2, 3, 4});
  CHECK(Jobs(slow.get()) == std::vector<uint32_t>{3, 4});
}

TEST_CASE("a mark is passed when all that waited then was handed over, whatever came since") {
  Fixture f;
  auto first = f.hub->Join();
  f.Produce(5);
  first->Mark();
  CHECK_FALSE(first->PassedMark());
  const auto take = [](RingHub::Subscription* from, size_t most) {
    from->Drain(most, [](const axl_record*, size_t) {});
  };
  take(first.get(), 3);
  f.Produce(4);
  CHECK_FALSE(first->PassedMark());
  take(first.get(), 2);
  CHECK(first->PassedMark());
  CHECK(first->more());
  // Each of two has its own queue: what one has read from the ring waits for the other.
  auto second = f.hub->Join();
  f.Produce(3);
  first->Mark();
  second->Mark();
  take(second.get(), kAll);
  CHECK(second->PassedMark());
  CHECK_FALSE(first->PassedMark());
  take(first.get(), kAll);
  CHECK(first->PassedMark());
}

TEST_CASE("what a neighbour drains after the end changes nothing for one that has ended") {
  Fixture f;
  auto ended = f.hub->Join(), other = f.hub->Join();
  f.Produce(2);
  Jobs(other.get());
  f.Produce(1);
  ended->End();
  CHECK(ended->counts().out == 3);
  CHECK(ended->counts().queued == 3);
  f.Produce(kAll + 5);
  Jobs(other.get());
  CHECK(other->counts().lost == 5);
  CHECK(Jobs(ended.get()) == std::vector<uint32_t>{1, 2, 3});
  CHECK(Jobs(ended.get()).empty());
  CHECK(ended->counts().out == 3);
  CHECK(ended->counts().queued == 0);
  CHECK(ended->counts().lost == 0);
}

TEST_CASE("an end takes what still lies in the ring, and the last one closes it") {
  Fixture f;
  auto alone = f.hub->Join();
  f.Produce(4);
  alone->End();
  CHECK(alone->counts().queued == 4);
  CHECK(Jobs(alone.get()).size() == 4);
  alone.reset();
  f.hub.reset();
  CHECK(f.closed == 1);
}

}  // namespace
}  // namespace acceltrace::daemon
