// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/checked_events.h"

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
  // Nothing more is to be left out.
  KeepChecked(&host);
  CHECK(host.alone == 3);
}

TEST_CASE("no events at all") {
  HostEvents host;
  KeepChecked(&host);
  CHECK(host.size() == 0);
  CHECK(host.alone == 0);
}

}  // namespace
}  // namespace acceltrace::model
