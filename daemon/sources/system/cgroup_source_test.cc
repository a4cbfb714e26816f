// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/cgroup_source.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include "daemon/base/unique_fd.h"
#include "daemon/bpf/records.h"
#include "daemon/testing/collecting.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST_CASE("groups are looked for when processes have come, and once a second") {
  const UniqueFd map(
      bpf_map_create(BPF_MAP_TYPE_HASH, "tracked", 4, sizeof(act_tracked), 64, nullptr));
  if (!map.valid()) SKIP("no permission for BPF maps");
  uint64_t changes = 0;
  CollectingHandler handler;
  CgroupSource source(
      map.get(), [&] { return changes; }, &handler);
  if (!source.Start().ok()) SKIP("no control groups");
  const auto add = [&](int pid) {
    const auto key = static_cast<uint32_t>(pid);
    const act_tracked value = {};
    REQUIRE(bpf_map_update_elem(map.get(), &key, &value, BPF_ANY) == 0);
  };
  add(getpid());
  source.Drain(10 * kSecond + 1);
  CHECK(handler.blocks.size() == 1);
  source.Drain(10 * kSecond + 2);
  add(getppid());
  source.Drain(10 * kSecond + 3);
  CHECK(handler.blocks.size() == 1);  // without a reported change, the map is not read

  SECTION("it was counted when it was there") {
    ++changes;
    source.Drain(10 * kSecond + 4);
  }
  SECTION("it was counted before it was there") {
    const auto key = static_cast<uint32_t>(getppid());
    REQUIRE(bpf_map_delete_elem(map.get(), &key) == 0);
    ++changes;
    source.Drain(10 * kSecond + 4);
    CHECK(handler.blocks.size() == 1);
    add(getppid());
    source.Drain(10 * kSecond + 5);
  }
  SECTION("a second has passed") { source.Drain(11 * kSecond + 4); }
  REQUIRE(handler.blocks.size() == 2);
  CHECK(handler.blocks[1].process_groups().pid(0) == static_cast<uint32_t>(getppid()));
}

}  // namespace
}  // namespace acceltrace::daemon
