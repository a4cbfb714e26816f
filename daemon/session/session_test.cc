// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/session.h"

#include <algorithm>
#include <vector>

#include "daemon/testing/collecting.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/file/test_batches.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

using stream::DecodeDeltas;

constexpr uint32_t kCounters = 30, kStalls = 6, kUnits = 4, kMatrix = 2;
constexpr uint32_t kPartValues = 12, kCounterParts = (kCounters + kPartValues - 1) / kPartValues;

proto::Device TestDevice() {
  proto::Device device;
  device.set_device(3);
  device.set_name("axl3");
  device.mutable_clock()->set_bits(48);
  for (uint32_t i = 0; i < kCounters; ++i) device.add_counters()->set_name("c");
  for (uint32_t i = 0; i < kStalls; ++i) device.add_stalls("s");
  for (uint32_t i = 0; i < kUnits; ++i) device.add_units()->set_name("u");
  return device;
}

struct Fixture {
  CollectingOutput output;
  Session session{&output};
  Fixture() {
    session.OnProbe("usdt:x", false, "why");
    session.OnDevice(TestDevice());
    proto::TraceInfo info;
    info.set_start_ns(5);
    session.Begin(info);
  }
  Hop Account() const { return session.hops().back(); }
};

DeviceEvent LinkEvent() { return {proto::DeviceEventBatch::KIND_LINK}; }

// Passes part `part` of snapshot `snapshot` to the session; counter i has the value base + i.
void GivePart(Session* session, uint32_t device, uint32_t snapshot, uint32_t part, uint64_t base) {
  std::vector<uint64_t> values;
  const uint32_t first = part * kPartValues;
  for (uint32_t i = first; i < std::min(first + kPartValues, kCounters); ++i) {
    values.push_back(base + i);
  }
  session->OnCounterPart(device, {5000 + snapshot, snapshot, first, values});
}

TEST_CASE("info with its probes comes first, then the devices") {
  Fixture f;
  REQUIRE(f.output.packets.size() == 2);
  CHECK(f.output.packets[0].info().probes(0).reason() == "why");
  CHECK(f.output.packets[1].device().name() == "axl3");
}

TEST_CASE("strings precede the first batch that uses them") {
  Fixture f;
  ApiBegin begin;
  begin.time_ns = 100;
  begin.pid = begin.tid = 7;
  begin.name = f.session.Intern("axlMalloc");
  CHECK(f.session.Intern("axlMalloc") == begin.name);
  f.session.OnApiBegin(begin);
  ApiEnd end;
  end.time_ns = 150;
  end.pid = end.tid = 7;
  f.session.OnApiEnd(end);
  f.session.Flush();
  REQUIRE(f.output.packets.size() == 4);
  CHECK(f.output.packets[2].strings().value(0) == "axlMalloc");
  proto::Packet packet;
  REQUIRE(stream::UnpackBlock(f.output.packets[3].block(), &packet).ok());
  const proto::ApiBatch& api = packet.api();
  CHECK(api.begin_ns_delta(0) == 100);
  CHECK(api.duration_ns(0) == 50);
  CHECK(api.name(0) == begin.name);
}

TEST_CASE("calls go out in blocks, each as it was") {
  Fixture f;
  constexpr int kCalls = 2500;
  for (int i = 0; i < kCalls; ++i) {
    ApiBegin begin;
    begin.time_ns = 1000 + 10 * i;
    begin.pid = 7;
    begin.tid = 7 + i % 3;
    begin.name = 1 + i % 5;
    begin.stream = i % 4;
    begin.correlation = uint64_t{7} << 32 | i;
    begin.bytes = uint64_t{1} << (i % 40);
    f.session.OnApiCall(begin, begin.time_ns + i % 7, i % 100 == 0 ? -5 : 0);
  }
  f.session.Finish(0);
  int at = 0, blocks = 0, wrong = 0;
  for (const proto::Packet& packet : f.output.packets) {
    if (!packet.has_block()) continue;
    ++blocks;
    proto::Packet batch;
    REQUIRE(stream::UnpackBlock(packet.block(), &batch).ok());
    const auto rows = static_cast<size_t>(packet.block().rows());
    const proto::ApiBatch& api = batch.api();
    const auto begin = DecodeDeltas<int64_t>(api.begin_ns_delta(), rows);
    const auto correlation = DecodeDeltas<uint64_t>(api.correlation_delta(), rows);
    CHECK(packet.block().first() == static_cast<uint64_t>(begin.front()));
    CHECK(packet.block().last() == static_cast<uint64_t>(begin.back()));
    for (size_t row = 0; row < rows; ++row, ++at) {
      using stream::ColumnAt;
      wrong += begin[row] != 1000 + 10 * at;
      wrong += ColumnAt(api.duration_ns(), row) != static_cast<uint64_t>(at % 7);
      wrong += ColumnAt(api.pid(), row) != 7;
      wrong += ColumnAt(api.tid(), row) != static_cast<uint32_t>(7 + at % 3);
      wrong += ColumnAt(api.name(), row) != static_cast<uint32_t>(1 + at % 5);
      wrong += ColumnAt(api.stream(), row) != static_cast<uint32_t>(at % 4);
      wrong += correlation[row] != (uint64_t{7} << 32 | static_cast<uint32_t>(at));
      wrong += ColumnAt(api.bytes(), row) != uint64_t{1} << (at % 40);
      wrong += ColumnAt(api.result(), row) != (at % 100 == 0 ? -5 : 0);
      wrong += ColumnAt(api.open(), row) + ColumnAt(api.began_before(), row) != 0;
    }
  }
  CHECK(at == kCalls);
  CHECK(blocks == 3);
  CHECK(wrong == 0);
  CHECK(f.Account().in == 2 * kCalls);
  CHECK(f.Account().out == 2 * kCalls);
}

TEST_CASE("a source's own blocks pass through, after the strings that they may use") {
  Fixture f;
  f.session.Intern("name");
  proto::Packet packet;
  packet.mutable_block()->set_rows(7);
  f.session.OnBlock(&packet, 100, 7, 9);
  f.session.Finish(0);
  CHECK(f.output.Of(proto::Packet::kStrings).size() == 1);
  CHECK(f.output.packets.back().block().rows() == 7);
  CHECK(f.Account().in == 9);
  CHECK(f.Account().out == 9);
}

TEST_CASE("counter records become whole rows; parts of broken ones are lost, with a count") {
  Fixture f;
  for (uint32_t part = 0; part < kCounterParts; ++part) GivePart(&f.session, 3, 1, part, 100);
  GivePart(&f.session, 3, 2, 0, 200);  // incomplete
  GivePart(&f.session, 3, 3, 1, 300);  // begins in the middle
  for (uint32_t part = 0; part < kCounterParts; ++part) GivePart(&f.session, 3, 4, part, 400);
  f.session.Finish(0);
  const proto::CounterBatch& rows = f.output.Of(proto::Packet::kCounters).at(0)->counters();
  CHECK(rows.time_ticks_delta_size() == 2);
  REQUIRE(rows.value_delta_size() == 2 * kCounters);
  CHECK(rows.value_delta(1) == 101);
  CHECK(rows.value_delta(kCounters + 1) == 300);
  CHECK(f.Account().lost == 2);
  CHECK(f.Account().in == 2 * kCounterParts + 2);
  CHECK(f.Account().in == f.Account().out + f.Account().lost + f.Account().bad);
  CHECK(f.output.Of(proto::Packet::kLosses).at(0)->losses().count(0) == 2);
}

TEST_CASE("a latched clock becomes a row without counters, with its bracket") {
  Fixture f;
  CounterSnapshot latch;
  latch.ticks = 500, latch.host_before_ns = 7'000, latch.host_after_ns = 8'000;
  latch.values = {9};
  f.session.OnLatch(3, latch);
  f.session.OnLatch(4, latch);  // unknown device
  f.session.Finish(0);
  const auto packets = f.output.Of(proto::Packet::kCounters);
  REQUIRE(packets.size() == 1);
  const proto::CounterBatch& rows = packets[0]->counters();
  CHECK(rows.device() == 3);
  CHECK(rows.counter_size() == 0);
  CHECK(rows.value_delta_size() == 0);
  REQUIRE(rows.time_ticks_delta_size() == 1);
  CHECK(rows.time_ticks_delta(0) == 500);
  CHECK(rows.host_before_ns_delta(0) == 7'000);
  CHECK(rows.host_after_ns_delta(0) == 8'000);
  CHECK(f.Account().in == f.Account().out + f.Account().bad);
  CHECK(f.Account().bad == 1);
}

TEST_CASE("a process that is attached to may be in the middle of a call and a range") {
  Fixture f;
  f.session.OnProcessEvent({100, proto::ProcessEvents::KIND_ATTACHED, 7, 7, 0});
  f.session.OnApiEnd({150, 7, 7, 0, 12, f.session.Intern("axlStreamSynchronize")});
  f.session.OnRangePop({160, 7, 7, 2});
  // A thread that it creates is recorded completely; so is the program that it executes.
  f.session.OnProcessEvent({170, proto::ProcessEvents::KIND_BEGUN, 7, 8, 7});
  f.session.OnApiEnd({180, 7, 8, 0, 13, 1});
  f.session.OnProcessEvent({190, proto::ProcessEvents::KIND_EXECUTED, 7, 7, 0});
  f.session.OnRangePop({200, 7, 7, 1});
  // A child inherits its parent's ranges.
  f.session.OnProcessEvent({210, proto::ProcessEvents::KIND_BEGUN, 9, 9, 7});
  f.session.OnRangePop({220, 9, 9, 0});
  f.session.Finish(300);
  proto::Packet packet;
  REQUIRE(stream::UnpackBlock(f.output.Of(proto::Packet::kBlock).at(0)->block(), &packet).ok());
  const proto::ApiBatch& api = packet.api();
  REQUIRE(api.begin_ns_delta_size() == 1);
  CHECK(api.begin_ns_delta(0) == 100);
  CHECK(api.duration_ns(0) == 50);
  CHECK(api.began_before(0) == 1);
  const proto::RangeBatch& ranges = f.output.Of(proto::Packet::kRanges).at(0)->ranges();
  CHECK(DecodeDeltas<int64_t>(ranges.begin_ns_delta(), 2) == std::vector<int64_t>{100, 210});
  CHECK(ranges.began_before(1) == 1);
  const proto::ProcessEvents& events =
      f.output.Of(proto::Packet::kProcessEvents).at(0)->process_events();
  CHECK(events.kind_size() == 4);
  CHECK(f.Account().bad == 2);
  CHECK(f.Account().in == f.Account().out + f.Account().bad);
}

TEST_CASE("more ranges than a packet holds, in progress and over") {
  constexpr uint32_t kRanges = 3000;
  Fixture f;
  const uint32_t name = f.session.Intern("step");
  for (uint32_t i = 0; i < kRanges; ++i) f.session.OnRangePush({100 + i, 7, 7, name, i});
  StopInfo stop;
  stop.stop_ns = 10'000;
  size_t in_progress = 0;
  for (const proto::Packet& packet : f.session.Checkpoint(stop, {})) {
    if (packet.has_ranges()) in_progress += static_cast<size_t>(packet.ranges().open_size());
  }
  CHECK(in_progress == kRanges);
  for (uint32_t i = kRanges; i-- > 0;) f.session.OnRangePop({20'000 - i, 7, 7, i});
  f.session.Finish(30'000);
  size_t rows = 0, wrong = 0;
  for (const auto& packet : f.output.Of(proto::Packet::kRanges)) {
    const proto::RangeBatch& ranges = packet->ranges();
    const auto count = static_cast<size_t>(ranges.begin_ns_delta_size());
    const auto begins = DecodeDeltas<int64_t>(ranges.begin_ns_delta(), count);
    for (size_t i = 0; i < count; ++i) {
      const int64_t depth = kRanges - 1 - static_cast<int64_t>(rows + i);
      wrong += begins[i] != 100 + depth;
      wrong += begins[i] + static_cast<int64_t>(ranges.duration_ns(static_cast<int>(i))) !=
               20'000 - depth;
    }
    rows += count;
    for (const auto& flags : {ranges.mark(), ranges.open(), ranges.began_before()}) {
      wrong += static_cast<size_t>(std::count(flags.begin(), flags.end(), 1));
    }
  }
  CHECK((rows == kRanges && wrong == 0));
  CHECK(f.Account().in == 2 * kRanges);
  CHECK(f.Account().in == f.Account().out);
}

TEST_CASE("calls that are seen late stay so when what was earlier is reported after it") {
  Fixture f;
  f.session.OnProcessEvent({100, proto::ProcessEvents::KIND_ATTACHED, 7, 7, 0});
  f.session.OnProcessEvent({150, proto::ProcessEvents::KIND_CALLS, 7, 7, 0});
  f.session.OnProcessEvent({110, proto::ProcessEvents::KIND_EXECUTED, 7, 7, 0});
  f.session.OnProcessEvent({120, proto::ProcessEvents::KIND_BEGUN, 7, 8, 7});
  f.session.OnApiEnd({160, 7, 7, 0, 12, f.session.Intern("axlStreamSynchronize")});
  f.session.OnApiEnd({161, 7, 8, 0, 13, 1});
  f.session.OnRangePop({162, 7, 7, 0});
  // What comes after it is recorded completely: ends without a begin are refused.
  f.session.OnProcessEvent({170, proto::ProcessEvents::KIND_BEGUN, 7, 9, 7});
  f.session.OnApiEnd({171, 7, 9, 0, 14, 1});
  f.session.OnProcessEvent({180, proto::ProcessEvents::KIND_EXECUTED, 7, 7, 0});
  f.session.OnRangePop({181, 7, 7, 0});
  f.session.Finish(300);
  CHECK(f.Account().bad == 2);
  CHECK(f.Account().in == f.Account().out + f.Account().bad);
}

TEST_CASE("what others had a device do is summed up between its counter snapshots") {
  Fixture f;
  const uint32_t stalls[kStalls] = {10};
  DeviceCommand command;
  command.unit = kMatrix, command.queue = 2;
  command.fetched_ticks = command.head_ticks = 100, command.end_ticks = 200;
  command.stall_ticks = stalls;
  f.session.OnOthersCommand(3, command);
  command.head_ticks = 90;
  f.session.OnOthersCommand(3, command);
  for (uint32_t part = 0; part < kCounterParts; ++part) GivePart(&f.session, 3, 1, part, 250);
  command.head_ticks = 300, command.end_ticks = 301;
  f.session.OnOthersCommand(3, command);
  command.unit = kUnits;  // unknown to the device
  f.session.OnOthersCommand(3, command);
  f.session.Finish(0);
  const auto packets = f.output.Of(proto::Packet::kOthers);
  REQUIRE(packets.size() == 1);
  const proto::OthersBatch& others = packets[0]->others();
  CHECK(DecodeDeltas<uint64_t>(others.first_head_ticks_delta(), 2) ==
        std::vector<uint64_t>{90, 300});
  CHECK(others.last_end_ticks_after(0) == 110);
  CHECK(others.unit(0) == kMatrix);
  CHECK(others.commands(0) == 2);
  CHECK(others.held_ticks(0) == 210);
  CHECK(others.stall_ticks_size() == 2 * kStalls);
  CHECK(others.stall_ticks(0) == 20);
  CHECK(others.commands(1) == 1);
  CHECK(f.Account().in == kCounterParts);
}

TEST_CASE("what others had in flight when the clock was set is distinguished from the rest") {
  Fixture f;
  DeviceCommand command;
  command.unit = kMatrix, command.queue = 1;
  const auto at = [&](uint64_t fetched, uint64_t head, uint64_t end) {
    command.fetched_ticks = fetched, command.head_ticks = head, command.end_ticks = end;
    f.session.OnOthersCommand(3, command);
  };
  at(100'000, 100'010, 100'200);
  DeviceEvent event = {proto::DeviceEventBatch::KIND_CLOCK, 0, 1000, 1'000'000'000'000, 100'300};
  f.session.OnDeviceEvent(3, event);
  at(100'150, 100'210, 1'100);  // in flight when the clock was set
  at(1'110, 1'120, 1'200);
  at(1'210, 1'220, 1'300);
  command.queue = 2;
  at(100'160, 1'310, 1'400);  // waiting since then
  event.arg1 = 0;             // a change of rate: ticks continue
  f.session.OnDeviceEvent(3, event);
  at(1'410, 1'420, 1'500);
  at(1'510, 1'520, 1'600);
  f.session.Finish(0);
  const proto::OthersBatch& others = f.output.Of(proto::Packet::kOthers).at(0)->others();
  CHECK(DecodeDeltas<uint64_t>(others.first_head_ticks_delta(), 5) ==
        std::vector<uint64_t>{100'010, 100'150, 1'120, 100'160, 1'420});
  const uint64_t mask = (1ULL << 48) - 1;
  const std::vector<uint64_t> after(others.last_end_ticks_after().begin(),
                                    others.last_end_ticks_after().end());
  CHECK(after ==
        std::vector<uint64_t>{190, (1'100 - 100'150) & mask, 180, (1'400 - 100'160) & mask, 180});
  const std::vector<uint32_t> commands(others.commands().begin(), others.commands().end());
  CHECK(commands == std::vector<uint32_t>{1, 1, 2, 1, 2});
}

TEST_CASE("the account balances whatever comes in") {
  Fixture f;
  uint32_t state = 1;
  const auto random = [&state](uint32_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
  };
  for (int i = 0; i < 50'000; ++i) {
    const uint32_t tid = random(4);
    const uint64_t correlation = random(50);
    switch (random(8)) {
      case 0:
      case 1:
        f.session.OnApiBegin({i, 1, tid, 1, 0, correlation, 0});
        break;
      case 2:
        f.session.OnApiEnd({i, 1, tid, 0, correlation, 1});
        break;
      case 3:
        f.session.OnRangePush({i, 1, tid, 1, random(3)});
        break;
      case 4:
        f.session.OnRangePop({i, 1, tid, random(3)});
        break;
      case 5:
        f.session.OnHost({i, 1});
        break;
      case 6:
        f.session.OnDeviceEvent(random(2) ? 3 : 4, LinkEvent());
        break;
      case 7:
        if (random(100) == 0) {
          f.session.OnProcessEvent({i, 1 + random(6), 1, tid, random(2)});
        }
        GivePart(&f.session, random(2) ? 3 : 4, 1, random(kCounterParts), 0);
        break;
    }
  }
  f.session.Finish(100'000);
  const Hop account = f.Account();
  CHECK(account.bad > 0);
  CHECK(account.lost > 0);
  CHECK(account.in == account.out + account.lost + account.bad);
}

// The account of each source ends with what it passed to the session.
TEST_CASE("the session counts each event that a source counts as given, once") {
  Fixture f;
  f.session.OnApiBegin({});
  f.session.OnApiEnd({});
  f.session.OnApiCall({}, 0, 0);
  f.session.OnRangePush({});
  f.session.OnRangePop({});
  f.session.OnMark({});
  for (uint32_t tag = 0; tag < 5'000; ++tag) f.session.OnOpName(7, tag, f.session.Intern("op"));
  f.session.OnHost({});
  f.session.OnDeviceEvent(3, LinkEvent());
  f.session.OnCounters(3, {});
  f.session.OnLatch(3, {});
  f.session.OnClock(3, {});
  f.session.OnProcess(7, 7, 1);
  f.session.OnProcessEvent({});
  f.session.Finish(1'000);
  const Hop account = f.Account();
  CHECK(account.in == 12 + 5'000);
  CHECK(account.in == account.out + account.lost + account.bad);
}

TEST_CASE("accounts carry every hop and the cost") {
  Fixture f;
  f.session.OnHop({"bpf-api", 10, 8, 1, 1});
  f.session.OnBpfCost(1234, 10);
  f.session.Finish(0);
  StopInfo stop;
  stop.reason = "client";
  stop.command_status = 3;
  f.session.WriteAccounts(stop);
  const proto::Accounts& accounts = f.output.packets.back().accounts();
  CHECK(accounts.hops_size() == 2);
  CHECK(accounts.hops(0).lost() == 1);
  CHECK(accounts.bpf_ns() == 1234);
  CHECK(accounts.command_status() == 3);
  CHECK(f.session.lost() == 1);
}

TEST_CASE("large amounts leave in several packets") {
  Fixture f;
  for (int i = 0; i < 20'000; ++i) f.session.OnHost({i + 1, 1});
  CHECK(f.output.Of(proto::Packet::kHost).size() == 2);
  f.session.Finish(0);
  uint64_t rows = 0;
  for (const auto* packet : f.output.Of(proto::Packet::kHost)) {
    rows += static_cast<uint64_t>(packet->host().kind_size());
    // Each packet can be decoded on its own: its first time is relative to 0.
    CHECK(packet->host().time_ns_delta(0) >= 1);
  }
  CHECK(rows == 20'000);
}

}  // namespace
}  // namespace acceltrace::daemon
