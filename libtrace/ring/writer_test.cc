// SPDX-License-Identifier: Apache-2.0
//
// What a writing process does to its rings, seen in the memory itself. A tracer is
// played by hand.
#include "libtrace/ring/writer.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "libtrace/ring/segment.h"
#include "tests/catch.h"

using namespace acceltrace::ring;

namespace {

constexpr const char* kNames[] = {"first", "second"};
bool wanted = true;
int ready_fd = -1, readies = 0, wakes = 0;

const Host kHost = {kNames,
                    2,
                    [] { return wanted; },
                    [](int fd, uint32_t) {
                      ready_fd = fd;
                      ++readies;
                    },
                    [] { ++wakes; },
                    4,
                    6,
                    1'000'000};

// The segment last announced, as a tracer maps it.
struct View {
  View() {
    memory = mmap(nullptr, kLayout.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, ready_fd, 0);
    REQUIRE(memory != MAP_FAILED);
  }
  ~View() { munmap(memory, kLayout.bytes()); }
  SegmentHeader& header() { return *static_cast<SegmentHeader*>(memory); }
  ThreadRing& ring(size_t i) {
    return reinterpret_cast<ThreadRing*>(static_cast<char*>(memory) + kLayout.threads_at())[i];
  }
  const Slot& slot(size_t ring, size_t i) {
    return reinterpret_cast<const Slot*>(static_cast<char*>(memory) + kLayout.slots_at() +
                                         ring * kLayout.ring_bytes())[i % kLayout.slots()];
  }

  static constexpr Layout kLayout = {2, 4, 6};
  void* memory;
};

// The ring of the thread with this number, or -1.
int RingOf(View* view, uint32_t tid) {
  for (int i = 0; i < 4; ++i) {
    const auto state = static_cast<RingState>(view->ring(static_cast<size_t>(i)).state.load());
    if (state == RingState::kOpen && view->ring(static_cast<size_t>(i)).tid == tid) return i;
  }
  return -1;
}

uint32_t Self() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

size_t MyRing(View* view) {
  const int found = RingOf(view, Self());
  REQUIRE(found >= 0);
  return static_cast<size_t>(found);
}

}  // namespace

TEST_CASE("a text arrives whole, whatever its length, and no byte beside it is touched") {
  std::vector<Slot> slots(kMaxSlots + 1);
  std::atomic<uint64_t> head{0};
  Writer writer = {};
  writer.slots = slots.data();
  writer.head = &head;
  writer.stop = slots.data() + slots.size();
  writer.to_head = 0 - reinterpret_cast<uintptr_t>(slots.data());
  Writer* const before = current_writer;
  current_writer = &writer;
  const std::string all = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (size_t length = 0; length <= all.size(); ++length) {
    writer.pos = slots.data();
    std::memset(static_cast<void*>(slots.data()), '#', slots.size() * sizeof(Slot));
    const std::string text = all.substr(0, length);
    const bool written = WriteText(Kind::kRangePush, 7, text);
    const Slot& slot = slots[0];
    CHECK(written);
    CHECK(head == 1 + MoreSlots(length));
    CHECK(slot.kind == static_cast<uint8_t>(Kind::kRangePush));
    CHECK(slot.more == MoreSlots(length));
    CHECK(slot.name == length);
    CHECK(slot.arg == 7);
    const auto* bytes = reinterpret_cast<const char*>(slots.data()) + offsetof(Slot, text);
    CHECK(std::string(bytes, length) == text);
    CHECK(bytes[length] == '#');
  }
  current_writer = before;
}

TEST_CASE("a library without a tracer makes nothing") {
  wanted = false;
  SetHost(&kHost);
  Prepare();
  WriteBegin(0, 1, 2, 3);
  REQUIRE(readies == 0);
  wanted = true;
}

TEST_CASE("events lie in the ring as they were written, and a full ring drops and counts") {
  SetHost(&kHost);
  Prepare();
  REQUIRE(readies == 1);
  View view;
  REQUIRE(view.header().magic == kMagic);
  REQUIRE(view.header().pid == static_cast<uint32_t>(getpid()));
  const size_t me = MyRing(&view);
  ThreadRing& ring = view.ring(me);
  REQUIRE(ring.set_up == 0);  // not within a call

  WriteBegin(1, 77, 4096, 5);
  WriteEnd(1, 77, -3);
  const std::string text(100, 'x');
  REQUIRE(WriteText(Kind::kRangePush, 9, text));
  REQUIRE(ring.head == 2 + 1 + MoreSlots(100));
  const Slot& begin = view.slot(me, 0);
  CHECK(begin.kind == static_cast<uint8_t>(Kind::kApiBegin));
  CHECK(begin.name == 1);
  CHECK(begin.arg == 5);
  CHECK(begin.call.correlation == 77);
  CHECK(begin.call.bytes == 4096);
  const Slot& end = view.slot(me, 1);
  CHECK(static_cast<int32_t>(end.arg) == -3);
  CHECK(end.stamp >= begin.stamp);
  CHECK(view.slot(me, 2).name == 100);
  CHECK(std::string(view.slot(me, 2).text, 16) == std::string(16, 'x'));

  // To the brim: 64 slots, none read.
  while (ring.head < 64) WriteRangePop(0);
  REQUIRE(ring.dropped == 0);
  REQUIRE(wakes == 1);  // once, although it was more than half full for long
  WriteRangePop(0);
  REQUIRE_FALSE(WriteText(Kind::kMark, 0, "lost"));
  REQUIRE(ring.dropped == 2);
  REQUIRE(ring.head == 64);
  const uint64_t first = ring.drop_first;
  REQUIRE(first >= end.stamp);
  REQUIRE(ring.drop_last > first);

  // Read half: there is room again, and a new loss is dated anew.
  ring.dropped_seen = 2;
  ring.tail = 32;
  for (int i = 0; i < 33; ++i) WriteRangePop(0);
  REQUIRE(ring.head == 64 + 32);
  REQUIRE(ring.dropped == 3);
  REQUIRE(ring.drop_first > first);
  REQUIRE(wakes == 2);

  // A text over the ring's end.
  ring.tail = 96;
  while (ring.head % 64 != 62) WriteRangePop(0);
  std::string long_text;
  for (char c = ' '; long_text.size() < 200; c = c == '~' ? ' ' : static_cast<char>(c + 1)) {
    long_text += c;
  }
  const uint64_t at = ring.head;
  REQUIRE(WriteText(Kind::kMark, 0, long_text));
  REQUIRE(ring.head == at + kMaxSlots);
  std::string read(view.slot(me, at).text, 16);
  for (uint32_t i = 1; i < kMaxSlots; ++i) {
    read.append(reinterpret_cast<const char*>(&view.slot(me, at + i)), sizeof(Slot));
  }
  REQUIRE(read.substr(0, kMaxTextBytes) == long_text.substr(0, kMaxTextBytes));
}

TEST_CASE("threads have rings of their own, which come back when they were read") {
  SetHost(&kHost);
  Prepare();
  View view;
  view.header().reader = static_cast<uint32_t>(Reader::kReading);
  uint32_t tid = 0;
  std::thread([&] {
    tid = Self();
    WriteBegin(0, 5, 0, 0);
    REQUIRE(RingOf(&view, tid) >= 0);
  }).join();
  size_t closed = 0;
  while (closed < 4 && view.ring(closed).state != static_cast<uint32_t>(RingState::kClosed)) {
    ++closed;
  }
  REQUIRE(closed < 4);
  REQUIRE(view.ring(closed).tid == tid);
  REQUIRE(view.ring(closed).head == 1);
#if defined(__x86_64__)
  REQUIRE(view.ring(closed).set_up > 0);  // its first call had to
#endif

  // As long as it is not read, nobody else gets it; four threads at once need more than are left.
  const int before = readies;
  std::vector<std::thread> threads;
  std::atomic<int> arrived{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      WriteBegin(0, 6, 0, 0);
      ++arrived;
      while (arrived < 4) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(readies == before + 1);
  REQUIRE(view.ring(closed).head == 1);
  REQUIRE(view.header().unclaimed == 0);
}

TEST_CASE("a forked child leaves its parent's rings alone, however it was forked") {
  SetHost(&kHost);
  Prepare();
  WriteBegin(0, 1, 0, 0);
  Writer* const mine = current_writer;
  const uint64_t head = mine->head->load();
  for (const bool by_library : {true, false}) {
    const pid_t child = by_library ? fork() : static_cast<pid_t>(syscall(SYS_fork));
    if (child == 0) {
      const int before = readies;
      WriteBegin(0, 2, 0, 0);
      WriteEnd(0, 2, 0);
      const bool fresh =
          readies == before + 1 && current_writer != mine && current_writer->head->load() == 2;
      _exit(fresh ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
  }
  REQUIRE(mine->head->load() == head);
  WriteEnd(0, 1, 0);
  REQUIRE(mine->head->load() == head + 1);
}
