// SPDX-License-Identifier: Apache-2.0
//
// Checks the memory that a writing process shares with a tracer. The test itself plays the tracer.
#include "libtrace/ring/writer.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libtrace/ring/segment.h"
#include "tests/catch.h"

using namespace acceltrace::ring;

namespace {

constexpr const char* kNames[] = {"first", "second"};
bool wanted = true;
uint64_t ready_address = 0;
int readies = 0, wakes = 0;

const Host kHost = {kNames,
                    2,
                    [] { return wanted; },
                    [](uint64_t address, uint64_t, uint32_t) {
                      ready_address = address;
                      ++readies;
                    },
                    [] { ++wakes; },
                    4,
                    6,
                    1'000'000};

// The last announced segment, as a tracer sees it.
struct View {
  SegmentHeader& header() { return *static_cast<SegmentHeader*>(memory); }
  ThreadRing& ring(size_t i) {
    return reinterpret_cast<ThreadRing*>(static_cast<char*>(memory) + kLayout.threads_at())[i];
  }
  const Slot& slot(size_t ring, size_t i) {
    return reinterpret_cast<const Slot*>(static_cast<char*>(memory) + kLayout.slots_at() +
                                         ring * kLayout.ring_bytes())[i % kLayout.slots()];
  }

  static constexpr Layout kLayout = {2, 4, 6};
  void* memory = reinterpret_cast<void*>(ready_address);
};

// Returns the index of the ring that this thread has, or -1.
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

// Makes a segment in a child that has these limits. Returns a description of what went wrong.
std::string UnderLimits(const std::vector<std::pair<int, rlim_t>>& limits, uint32_t* slot_bits) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [kind, most] : limits) {
      const rlimit less = {most, most};
      if (setrlimit(static_cast<__rlimit_resource>(kind), &less) != 0) _exit(1);
    }
    const Host host = {kNames, 2, [] { return true; }, [](uint64_t, uint64_t, uint32_t) {}, [] {}};
    Segment segment;
    const int error = MakeSegment(host, 0, &segment);
    if (error == 0) Populate(segment.slots(0), segment.layout.ring_bytes());
    const uint32_t answer[] = {static_cast<uint32_t>(error), segment.layout.slot_bits};
    _exit(write(ends[1], answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
  }
  close(ends[1]);
  uint32_t answer[2] = {};
  const ssize_t bytes = read(ends[0], answer, sizeof(answer));
  close(ends[0]);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (status != 0 || bytes != sizeof(answer)) return "it died";
  *slot_bits = answer[1];
  return answer[0] == 0 ? "" : strerror(static_cast<int>(answer[0]));
}

TEST_CASE("limits on files, descriptors and locked memory do not concern the rings") {
  uint32_t slot_bits = 0;
  for (const auto& [kind, most] : std::vector<std::pair<int, rlim_t>>{
           {RLIMIT_FSIZE, 0}, {RLIMIT_NOFILE, 3}, {RLIMIT_MEMLOCK, 0}, {RLIMIT_NPROC, 1}}) {
    INFO("limit " << kind);
    CHECK(UnderLimits({{kind, most}}, &slot_bits).empty());
    CHECK(slot_bits == 16);
  }
}

TEST_CASE("rings take a small part of an address space that is limited") {
  rlimit now{};
  REQUIRE(getrlimit(RLIMIT_AS, &now) == 0);
  if (now.rlim_cur != RLIM_INFINITY) return;
  uint32_t slot_bits = 0;
  const rlim_t most = rlim_t{512} << 20;
  REQUIRE(UnderLimits({{RLIMIT_AS, most}}, &slot_bits).empty());
  CHECK(Layout{2, 32, slot_bits}.bytes() <= most / 32);
  CHECK(Layout{2, 32, slot_bits + 1}.bytes() > most / 32);
}

TEST_CASE("where there is no room for rings that is an error, and nothing is left of them") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit none = {1 << 20, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &none) == 0);
  Segment segment;
  const int error = MakeSegment(kHost, 0, &segment);
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(error == ENOMEM);
  CHECK(segment.header == nullptr);
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
  REQUIRE(ring.set_up == 0);  // it was not set up within a call

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

  // Fills the ring: 64 slots, none of them read.
  while (ring.head < 64) WriteRangePop(Turn(), 0);
  REQUIRE(ring.dropped == 0);
  REQUIRE(wakes == 1);  // only once, although it stayed more than half full
  WriteRangePop(Turn(), 0);
  REQUIRE_FALSE(WriteText(Kind::kMark, 0, "lost"));
  REQUIRE(ring.dropped == 2);
  REQUIRE(ring.head == 64);
  const uint64_t first = ring.drop_first;
  REQUIRE(first >= end.stamp);
  REQUIRE(ring.drop_last > first);

  // With half of it read, events fit again, and the next loss has a new first time.
  ring.dropped_seen = 2;
  ring.tail = 32;
  for (int i = 0; i < 33; ++i) WriteRangePop(Turn(), 0);
  REQUIRE(ring.head == 64 + 32);
  REQUIRE(ring.dropped == 3);
  REQUIRE(ring.drop_first > first);
  REQUIRE(wakes == 2);

  // A text that wraps around at the end of the ring.
  ring.tail = 96;
  while (ring.head % 64 != 62) WriteRangePop(Turn(), 0);
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

#if defined(__x86_64__)
namespace {

int handled = 0;

// Runs after each single-stepped instruction and writes an event of its own.
void HandleStep(int) {
  if (++handled % 2 == 0) {
    WriteRangePop(Turn(), 77);
  } else {
    WriteText(Kind::kMark, 77, "handler");
  }
}

constexpr uint64_t kTrapFlag = 0x100;

__attribute__((noinline)) void SetTrapFlag(bool on) {
  uint64_t flags = __builtin_ia32_readeflags_u64();
  flags = on ? flags | kTrapFlag : flags & ~kTrapFlag;
  __builtin_ia32_writeeflags_u64(flags);
}

}  // namespace

TEST_CASE("a signal handler may write events at any moment: each is whole or counted") {
  SetHost(&kHost);
  Prepare();
  View view;
  const StampClock clock = view.header().clock;
  view.header().clock = StampClock::kTsc;  // otherwise there is no fast path
  ThreadRing& ring = view.ring(MyRing(&view));
  struct sigaction step = {}, before = {};
  step.sa_handler = HandleStep;
  REQUIRE(sigaction(SIGTRAP, &step, &before) == 0);
  const std::string whole(40, 'o');
  // Covers the fast path, the end of the writable slots and a full ring.
  for (int way = 0; way < 40; ++way) {
    const size_t me = MyRing(&view);
    ring.tail.store(ring.head);
    ring.dropped_seen.store(ring.dropped);
    const uint64_t first = ring.head, dropped = ring.dropped;
    handled = 0;
    SetTrapFlag(true);
    if (way % 2 == 0) {
      WriteBegin(1, 5, 6, 7);
    } else {
      WriteText(Kind::kMark, 7, whole);
    }
    SetTrapFlag(false);
    const int all = handled + 1;
    REQUIRE(handled > 10);
    uint64_t found = 0;
    for (uint64_t at = first; at != ring.head; at += 1 + view.slot(me, at).more) {
      REQUIRE(at < ring.head);
      const Slot& slot = view.slot(me, at);
      const bool from_handler = slot.arg == 77;
      const auto kind = static_cast<Kind>(slot.kind);
      if (kind == Kind::kMark) {
        const std::string text = from_handler ? "handler" : whole;
        CHECK(slot.name == text.size());
        CHECK(std::string(slot.text, std::min<size_t>(text.size(), 16)) == text.substr(0, 16));
      } else if (from_handler) {
        CHECK(kind == Kind::kRangePop);
      } else {
        CHECK(kind == Kind::kApiBegin);
        CHECK(slot.call.bytes == 6);
      }
      ++found;
    }
    CHECK(found + (ring.dropped - dropped) == static_cast<uint64_t>(all));
    CHECK(ring.dropped > dropped);
    CHECK(found > 1);
  }
  view.header().clock = clock;
  REQUIRE(sigaction(SIGTRAP, &before, nullptr) == 0);
}
#endif

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
  REQUIRE(view.ring(closed).set_up > 0);  // its first call set up the ring
#endif

  // No other thread gets the ring before it is read. Four threads at once need more rings than are
  // left.
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
