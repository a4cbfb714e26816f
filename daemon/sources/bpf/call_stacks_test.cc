// SPDX-License-Identifier: Apache-2.0
//
// Simulated stack records of BPF programs, for this process and for one that is gone.
#include "daemon/sources/bpf/call_stacks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "daemon/testing/collecting.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

struct Stacks {
  CollectingHandler handler;
  CallStacks stacks{&handler, std::nullopt};

  // `addresses` begins with the innermost; the kernel knew the file of the first `placed` ones.
  std::unique_ptr<act_stack> Record(uint32_t pid, uint64_t id,
                                    const std::vector<uint64_t>& addresses, size_t placed = 0) {
    auto record = std::make_unique<act_stack>();
    record->h.pid = pid;
    record->h.time_ns = now_ns += 1'000'000'000;
    record->h.extra = static_cast<uint32_t>(addresses.size());
    record->id = id;
    for (size_t i = 0; i < addresses.size(); ++i) {
      record->address[i] = addresses[i];
      if (i >= placed) continue;
      record->frame[i].status = 1;
      record->frame[i].build_id[0] = 0xab;
      record->frame[i].build_id[15] = static_cast<uint8_t>(i + 1);
      record->frame[i].place = 0x100 + i;
    }
    return record;
  }
  bool Call(uint32_t pid, uint64_t id, uint64_t correlation, uint64_t time_ns = 1000) {
    act_call_stack record = {};
    record.h.pid = pid;
    record.h.time_ns = time_ns;
    record.correlation = correlation;
    record.stack = id;
    return stacks.OnCall(record);
  }
  std::string Text(uint32_t id) const {
    for (const auto& [text, known] : handler.ids) {
      if (known == id) return text;
    }
    return "";
  }
  uint64_t now_ns = 0;
};

uint64_t Here() { return reinterpret_cast<uint64_t>(&Here); }

uint32_t GonePid() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return static_cast<uint32_t>(child);
}

TEST_CASE("an address of a process that lives is a place in a file") {
  Stacks t;
  REQUIRE(t.stacks.OnStack(*t.Record(static_cast<uint32_t>(getpid()), 7, {Here(), 0x10})));
  REQUIRE(t.handler.blocks.size() == 1);
  const auto& rows = t.handler.blocks[0].stack_frames();
  REQUIRE(rows.stack_size() == 2);
  char self[4096] = {};
  REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
  CHECK(t.Text(rows.object(0)) == self);
  CHECK(rows.offset(0) != Here());
  CHECK(rows.build_id(0) == 0);
  // In no file: the address itself is used.
  CHECK((rows.object(1) == 0 && rows.build_id(1) == 0 && rows.offset(1) == 0x10));
  CHECK((rows.place(0) == 0 && rows.place(1) == 1));
}

TEST_CASE("a call has the number of its stack, once that is known") {
  Stacks t;
  const uint32_t gone = GonePid();
  CHECK_FALSE(t.Call(gone, 7, 1));
  REQUIRE(t.stacks.OnStack(*t.Record(gone, 7, {1, 2}, 2)));
  CHECK(t.Call(gone, 7, 2, 3000));
  CHECK(t.Call(gone, 7, 3, 2000));
  CHECK_FALSE(t.Call(gone + 1, 7, 4));
  CHECK(t.handler.blocks.size() == 1);
  t.stacks.Flush();
  REQUIRE(t.handler.blocks.size() == 2);
  const auto& calls = t.handler.blocks[1].call_stacks();
  REQUIRE(calls.stack_size() == 2);
  CHECK((calls.stack(0) == 1 && calls.stack(1) == 1));
  CHECK((calls.correlation_delta(0) == 2 && calls.correlation_delta(1) == 1));
  CHECK((calls.time_ns_delta(0) == 3000 && calls.time_ns_delta(1) == -1000));
  t.stacks.Flush();
  CHECK(t.handler.blocks.size() == 2);
}

TEST_CASE("stacks of the same places are one, whatever the addresses") {
  Stacks t;
  const uint32_t gone = GonePid();
  REQUIRE(t.stacks.OnStack(*t.Record(gone, 7, {1, 2}, 2)));
  REQUIRE(t.stacks.OnStack(*t.Record(gone, 8, {5, 6}, 2)));
  REQUIRE(t.stacks.OnStack(*t.Record(gone, 9, {5}, 1)));
  CHECK(t.handler.blocks.size() == 2);
  const auto& rows = t.handler.blocks[0].stack_frames();
  // The build id has 16 bytes, including zeros.
  CHECK(t.Text(rows.build_id(0)) == "ab000000000000000000000000000001");
  CHECK((rows.object(0) == 0 && rows.offset(0) == 0x100 && rows.offset(1) == 0x101));
}

TEST_CASE("at a function's entry the caller may be missing, and is put in once") {
  Stacks t;
  const uint32_t gone = GonePid();
  auto record = t.Record(gone, 7, {0x10, 0x30});
  record->caller = 0x20;
  REQUIRE(t.stacks.OnStack(*record));
  record = t.Record(gone, 8, {0x10, 0x40});
  record->caller = 0x40;
  REQUIRE(t.stacks.OnStack(*record));
  REQUIRE(t.handler.blocks.size() == 2);
  const auto& missing = t.handler.blocks[0].stack_frames();
  REQUIRE(missing.offset_size() == 3);
  CHECK((missing.offset(0) == 0x10 && missing.offset(1) == 0x20 && missing.offset(2) == 0x30));
  CHECK(t.handler.blocks[1].stack_frames().offset_size() == 2);
}

TEST_CASE("the build id of a mapping is known by any of its addresses") {
  Stacks t;
  const auto self = static_cast<uint32_t>(getpid());
  REQUIRE(t.stacks.OnStack(*t.Record(self, 7, {Here()})));
  const uint64_t place = t.handler.blocks[0].stack_frames().offset(0);
  // After a frame without a build id, and the caller that the kernel missed.
  auto record = t.Record(self, 8, {Here() + 1, Here()});
  record->caller = Here() + 2;
  record->frame[1].status = 1;
  record->frame[1].build_id[0] = 0xab;
  record->frame[1].build_id[19] = 0xcd;
  record->frame[1].place = place;
  REQUIRE(t.stacks.OnStack(*record));
  REQUIRE(t.stacks.OnStack(*t.Record(self, 9, {Here() + 3})));
  REQUIRE(t.handler.blocks.size() == 3);
  for (const size_t block : {1, 2}) {
    const auto& rows = t.handler.blocks[block].stack_frames();
    for (int i = 0; i < rows.stack_size(); ++i) {
      CHECK(t.Text(rows.build_id(i)) == "ab" + std::string(36, '0') + "cd");
    }
  }
  const auto& rows = t.handler.blocks[1].stack_frames();
  REQUIRE(rows.offset_size() == 3);
  CHECK((rows.offset(0) == place + 1 && rows.offset(1) == place + 2 && rows.offset(2) == place));
}

TEST_CASE("stacks in use stay known, whatever else comes") {
  Stacks t;
  const uint32_t gone = GonePid();
  REQUIRE(t.stacks.OnStack(*t.Record(gone, 1, {1}, 1)));
  REQUIRE(t.stacks.OnStack(*t.Record(gone, 2, {2}, 1)));
  for (uint64_t id = 3; id < 140'000; ++id) {
    REQUIRE(t.stacks.OnStack(*t.Record(gone, id, {id}, 1)));
    if (id % 1000 == 0) REQUIRE(t.Call(gone, 1, id));
  }
  CHECK(t.Call(gone, 1, 7));
  CHECK_FALSE(t.Call(gone, 2, 7));
}

TEST_CASE("there are only so many stacks") {
  Stacks t;
  const uint32_t gone = GonePid();
  uint64_t known = 0;
  for (uint64_t id = 1; id < 70'000; ++id) {
    REQUIRE(t.stacks.OnStack(*t.Record(gone, id, {0x1000 + id})));
    known += t.Call(gone, id, id);
  }
  CHECK(known == 65'536);
  CHECK(t.Call(gone, 1, 7));
  CHECK_FALSE(t.Call(gone, 69'999, 7));
}

TEST_CASE("records that are no stacks are refused") {
  Stacks t;
  CHECK_FALSE(t.stacks.OnStack(*t.Record(1, 7, {})));
  CHECK_FALSE(t.stacks.OnStack(*t.Record(1, 0, {1})));
  auto record = t.Record(1, 7, {1});
  record->h.extra = ACT_MAX_FRAMES + 1;
  CHECK_FALSE(t.stacks.OnStack(*record));
  CHECK(t.handler.blocks.empty());
}

TEST_CASE("lines of maps") {
  const auto maps = ParseMaps(
      "55d0c0a00000-55d0c0a21000 r-xp 00002000 08:01 1234    /usr/bin/with a space\n"
      "55d0c0b00000-55d0c0b21000 rw-p 00002000 08:01 1234    /usr/bin/data\n"
      "7f0000000000-7f0000001000 r-xp 00000000 00:00 0       [vdso]\n"
      "1000-2000 r-xp 00000000 00:00 0\n"
      "2000-1000 r-xp 00000000 00:00 1 /backwards\n"
      "nonsense\n\n"
      "1000-2000 --xp 00000010 08:01 5 /last");
  REQUIRE(maps.size() == 2);
  CHECK((maps[0].path == "/last" && maps[0].begin == 0x1000 && maps[0].offset == 0x10));
  CHECK(maps[1].path == "/usr/bin/with a space");
  CHECK((maps[1].begin == 0x55d0c0a00000 && maps[1].end == 0x55d0c0a21000));
}

TEST_CASE("the maps of another user's process are not read") {
  if (getuid() != 0) SKIP("of root's processes alone");
  ProcessMaps others(uint32_t{65534});
  CHECK(others.Find(static_cast<uint32_t>(getpid()), Here(), 0) == nullptr);
  ProcessMaps own{std::nullopt};
  CHECK(own.Find(static_cast<uint32_t>(getpid()), Here(), 0) != nullptr);
}

}  // namespace
}  // namespace acceltrace::daemon
