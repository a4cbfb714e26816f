// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/irq_source.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/bpf/irq_records.h"
#include "daemon/testing/collecting.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

// Returns the newest map with this name: that of the source that was just started.
UniqueFd MapOf(const char* name) {
  UniqueFd found;
  for (uint32_t id = 0; bpf_map_get_next_id(id, &id) == 0;) {
    UniqueFd fd(bpf_map_get_fd_by_id(id));
    bpf_map_info info = {};
    uint32_t bytes = sizeof(info);
    if (fd.get() < 0 || bpf_obj_get_info_by_fd(fd.get(), &info, &bytes) != 0) continue;
    if (strcmp(info.name, name) == 0) found = std::move(fd);
  }
  return found;
}

// Fills the map with numbers that do not occur, without counts.
void TakeAllRoom(int sums) {
  const std::vector<act_irq_sums> none(sysconf(_SC_NPROCESSORS_CONF));
  act_irq_key filler = {ACT_IRQ_SOFT, 1'000'000};
  const auto fill = [&] {
    while (bpf_map_update_elem(sums, &filler, none.data(), BPF_NOEXIST) == 0) ++filler.number;
  };
  fill();
  for (uint32_t kind : {ACT_IRQ_HARD, ACT_IRQ_SOFT}) {
    for (uint32_t number = 0; number < 1024; ++number) {
      // Its entry may be added again before the filler is: in that case, try again.
      act_irq_key real = {kind, number};
      while (bpf_map_delete_elem(sums, &real) == 0) fill();
    }
  }
}

void AwaitMore(int variables, uint64_t than) {
  const uint32_t zero = 0;
  for (uint64_t no_room = 0; no_room <= than; usleep(1000)) {
    REQUIRE(bpf_map_lookup_elem(variables, &zero, &no_room) == 0);
  }
}

TEST_CASE("interrupts without room are a loss although there is no row") {
  CollectingHandler handler;
  IrqOptions options;
  options.system_wide = true;
  IrqSource source(options, &handler);
  if (!source.Start().ok()) SKIP("no permission to load BPF programs");
  const UniqueFd sums = MapOf("interrupt_sums"), variables = MapOf("irq_bpf.bss");
  REQUIRE(sums.get() >= 0);
  REQUIRE(variables.get() >= 0);
  TakeAllRoom(sums.get());
  AwaitMore(variables.get(), 0);

  const uint32_t zero = 0;
  uint64_t before = 0, after = 0;
  REQUIRE(bpf_map_lookup_elem(variables.get(), &zero, &before) == 0);
  source.Begin();
  CHECK(handler.losses.empty());  // those were before the recording
  REQUIRE(bpf_map_lookup_elem(variables.get(), &zero, &after) == 0);
  AwaitMore(variables.get(), after);
  source.Checkpoint();
  source.Stop();
  REQUIRE(bpf_map_lookup_elem(variables.get(), &zero, &after) == 0);

  CHECK(handler.blocks.empty());
  uint64_t lost = 0;
  REQUIRE(!handler.losses.empty());
  for (const Loss& loss : handler.losses) {
    CHECK(loss.hop == "irq");
    CHECK(loss.first > 0);
    CHECK(loss.first <= loss.last);
    lost += loss.count;
  }
  CHECK(lost <= after - before);
  const Hop hop = source.Hops().at(0);
  CHECK(hop.lost == lost);
  CHECK(hop.in == lost);
  CHECK(hop.out == 0);
}

}  // namespace
}  // namespace acceltrace::daemon
