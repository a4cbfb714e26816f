// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/checked_events.h"

#include <utility>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "tests/catch.h"

namespace acceltrace::model {
namespace {

using proto::HostBatch;

HostEvents EventsOf(const std::vector<std::pair<int64_t, HostBatch::Kind>>& rows) {
  HostEvents host;
  for (const auto& [time_ns, kind] : rows) {
    const auto number = static_cast<uint32_t>(host.size() + 1);
    host.kind.push_back(static_cast<uint8_t>(kind));
    host.time_ns.push_back(time_ns);
    for (auto* column :
         {&host.cpu, &host.pid, &host.tid, &host.device, &host.context, &host.queue, &host.job}) {
      column->push_back(number);
    }
    for (auto* column : {&host.sequence, &host.correlation, &host.arg0, &host.arg1}) {
      column->push_back(number);
    }
  }
  return host;
}

TEST_CASE("events that no law asks for are left out where they are alone in their time") {
  HostEvents host = EventsOf({{10, HostBatch::KIND_SUBMIT},
                              {20, HostBatch::KIND_IRQ},
                              {30, HostBatch::KIND_COMPLETE},
                              {30, HostBatch::KIND_IRQ},
                              {40, HostBatch::KIND_COMPLETE},
                              {50, HostBatch::KIND_WAKE},
                              {50, HostBatch::KIND_COMPLETE},
                              {60, HostBatch::KIND_CONTEXT},
                              {70, HostBatch::KIND_BUFFER}});
  KeepChecked(&host);
  REQUIRE(host.size() == 6);
  CHECK(host.alone == 3);
  const uint32_t left[] = {1, 3, 4, 6, 7, 8};
  for (size_t row = 0; row < host.size(); ++row) {
    CHECK(host.arg1[row] == left[row]);
    CHECK(host.cpu[row] == left[row]);
  }
  CHECK(host.time_ns[2] == 30);
  CHECK(host.kind[5] == HostBatch::KIND_CONTEXT);
  // A second call removes nothing.
  KeepChecked(&host);
  CHECK(host.alone == 3);
}

TEST_CASE("of events that are alone only what laws ask for is left") {
  std::vector<std::pair<int64_t, HostBatch::Kind>> rows;
  // Three chunks: the second has a wake-up of a thread, the third an event of a context.
  for (int64_t i = 0; i < 3 * 1024; ++i) {
    rows.emplace_back(i, i % 2 == 0 ? HostBatch::KIND_SUBMIT : HostBatch::KIND_COMPLETE);
  }
  rows[1500].second = HostBatch::KIND_WAKE, rows[2500].second = HostBatch::KIND_CONTEXT;
  HostEvents host = EventsOf(rows);
  KeepChecked(&host);
  REQUIRE(host.size() == 3 * 512);
  CHECK(host.alone == 3 * 512);
  size_t wrong = 0;
  for (size_t row = 0; row < host.size(); ++row) {
    const uint64_t number = 2 * row + 1;
    wrong += host.time_ns[row] != static_cast<int64_t>(2 * row);
    wrong += host.kind[row] != rows[2 * row].second;
    wrong += host.job[row] != number || host.correlation[row] != number;
    wrong += host.arg1[row] != (row < 512 ? 0 : number);
    wrong += host.context[row] != (row < 1024 ? 0 : number);
    wrong += host.sequence[row] != (row < 1024 ? 0 : number);
  }
  CHECK(wrong == 0);
}

TEST_CASE("no events at all") {
  HostEvents host;
  KeepChecked(&host);
  CHECK(host.size() == 0);
  CHECK(host.alone == 0);
}

}  // namespace
}  // namespace acceltrace::model
