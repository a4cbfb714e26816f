// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/windows.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "libtrace/model/load/collect_jobs.h"
#include "libtrace/model/load/job_orders.h"
#include "libtrace/stream/file/reader.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::model {
namespace {

using clock::Window;
using test::CommandSpec;
using test::JobSpec;
using test::TraceBuilder;

struct Loaded {
  Model model;
  Decoder decoder{&model};
  HostJobs host_jobs;

  explicit Loaded(const std::string& bytes) {
    auto reader = stream::Reader::FromMemory(bytes);
    REQUIRE(reader.ok());
    proto::Packet packet;
    while ((*reader)->Read(&packet) == stream::Reader::Next::kPacket) {
      decoder.Add(packet, 0, (*reader)->columns());
    }
    host_jobs = CollectHostJobs(model.host, &model.load);
  }
};

// Computes what windows.h defines by looking at all records.
Window Expected(const Loaded& loaded, size_t row) {
  const DeviceJobs& jobs = loaded.decoder.device_jobs;
  const Commands& commands = loaded.model.commands;
  Window window;
  window.near_ns = jobs.near_ns[row];
  window.max_jumps = 0;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (commands.record[i] <= jobs.record[row]) continue;
    const uint32_t side = loaded.host_jobs.Find(JobKey(0, commands.job[i]));
    if (side == HostJobs::kNone) continue;
    const int64_t complete_ns = loaded.host_jobs.TimesOf(side).complete_ns;
    if (complete_ns != kNoTime) window.hi_ns = std::min(window.hi_ns, complete_ns);
  }
  const uint32_t row_of_host = loaded.host_jobs.Find(JobKey(0, jobs.job[row]));
  if (row_of_host == HostJobs::kNone) return window;
  const HostJobs::Times side = loaded.host_jobs.TimesOf(row_of_host);
  if (side.submit_ns != kNoTime) window.lo_ns = std::max(window.lo_ns, side.submit_ns);
  if (side.complete_ns != kNoTime) window.hi_ns = std::min(window.hi_ns, side.complete_ns);
  return window;
}

// Jobs of two queues, in order or not. For some of them, the host's events or the end are missing.
std::string TraceOf(std::mt19937_64& random, bool in_order, bool all_seen = false) {
  TraceBuilder builder;
  builder.AddDevice();
  int64_t at = 1'000'000;
  for (uint32_t number = 1; number <= 30; ++number) {
    JobSpec job = test::JobOfCall(at, number, at + 20'000);
    if (!in_order && random() % 4 == 0) job.complete_ns += static_cast<int64_t>(random() % 90'000);
    if (!all_seen && random() % 8 == 0) job.complete_ns = 0;
    CommandSpec command;
    command.fetched_ns = at + 4'000, command.head_ns = at + 5'000;
    command.start_ns = at + 6'000, command.end_ns = at + 9'000;
    job.commands.assign(1 + random() % 3, command);
    builder.AddJob(job);
    at += 30'000;
  }
  // The accounts' end would limit times as well, so it is removed.
  std::vector<proto::Packet> packets = builder.Packets();
  for (proto::Packet& packet : packets) {
    if (packet.has_accounts()) packet.mutable_accounts()->clear_stop_ns();
    if (in_order || !packet.has_commands() || packet.commands().record_delta_size() < 3) continue;
    // Sometimes skips numbers.
    if (random() % 2 == 0) packet.mutable_commands()->mutable_record_delta()->Set(0, 5'000);
  }
  return test::Encode(std::move(packets));
}

TEST_CASE("what is known of a job's times, in order of records or not") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    INFO("round " << round);
    const Loaded loaded(TraceOf(random, round % 2 == 0));
    const Windows windows(loaded.model, loaded.decoder, loaded.host_jobs);
    const DeviceJobs& jobs = loaded.decoder.device_jobs;
    REQUIRE(jobs.size() > 0);
    for (size_t row = 0; row < jobs.size(); ++row) {
      INFO("row " << row);
      const Window window = windows.OfJob(row, false), expected = Expected(loaded, row);
      CHECK(window.lo_ns == expected.lo_ns);
      CHECK(window.hi_ns == expected.hi_ns);
      CHECK(window.near_ns == expected.near_ns);
      CHECK(window.min_jumps == expected.min_jumps);
      CHECK(window.max_jumps == expected.max_jumps);
    }
  }
}

// Constraints of one kind: ticks, the host's time, what is known.
using Orders = std::vector<std::array<int64_t, 7>>;

void Add(const clock::Constraint& one, Orders* begins, Orders* ends) {
  const bool is_begin = one.order == clock::Constraint::Order::kHostFirst;
  (is_begin ? begins : ends)
      ->push_back({static_cast<int64_t>(one.ticks), one.host_ns, one.when.lo_ns, one.when.hi_ns,
                   one.when.near_ns, one.when.min_jumps, one.when.max_jumps});
}

TEST_CASE("orders of jobs are the same in chunks and one by one") {
  std::mt19937_64 random(6);
  size_t runs = 0, others = 0;
  for (int round = 0; round < 60; ++round) {
    INFO("round " << round);
    const Loaded loaded(TraceOf(random, true, round % 2 == 0));
    const Windows windows(loaded.model, loaded.decoder, loaded.host_jobs);
    REQUIRE(windows.in_step());
    const DeviceJobs& jobs = loaded.decoder.device_jobs;
    clock::Constraints list;
    for (size_t row = 0; row < jobs.size(); ++row) {
      AddOrders(windows, row, windows.SideOfJob(row), jobs.doorbell.RawTicks(row),
                jobs.completion.RawTicks(row), &list);
    }
    Orders begins, ends, begins_of_chunks, ends_of_chunks;
    list.Each([&](const clock::Constraint& one) { Add(one, &begins, &ends); });
    JobOrders source(jobs, windows);
    for (size_t c = 0; c < source.chunks(); ++c) {
      const clock::OrderSource::Chunk chunk = source.ChunkAt(c);
      const auto add = [&](const clock::Constraint& one) {
        Add(one, &begins_of_chunks, &ends_of_chunks);
      };
      if (chunk.others != nullptr) chunk.others->Each(add), ++others;
      for (const clock::Constraints::Run* run : {&chunk.begins, &chunk.ends}) {
        for (size_t at = 0; at < run->size; ++at, ++runs) {
          clock::Constraint one = run->At(at);
          one.when.near_ns = source.NearNs(c, at);
          add(one);
        }
      }
    }
    CHECK(begins == begins_of_chunks);
    CHECK(ends == ends_of_chunks);
  }
  CHECK((runs > 1000 && others > 10));
}

// Removes the same record numbers from all tables.
void LeaveOut(uint64_t seed, Loaded* loaded) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> places(1 + random() % 9);
  for (uint64_t& place : places) place = 1 + random() % 90;
  const auto move = [&](Column<uint64_t>* records) {
    for (size_t row = 0; row < records->size(); ++row) {
      const uint64_t record = records->At(row);
      const auto below = [&](uint64_t place) { return place <= record; };
      const auto left_out = std::count_if(places.begin(), places.end(), below);
      records->Set(row, record + 3 * static_cast<uint64_t>(left_out));
    }
  };
  move(&loaded->decoder.device_jobs.record), move(&loaded->model.commands.record);
  move(&loaded->decoder.event_records);
}

bool Alike(const Window& a, const Window& b) {
  return a.lo_ns == b.lo_ns && a.hi_ns == b.hi_ns && a.near_ns == b.near_ns &&
         a.min_jumps == b.min_jumps && a.max_jumps == b.max_jumps;
}

TEST_CASE("what is known of records that were lost, in step or from all records") {
  std::mt19937_64 random(6);
  size_t lost = 0;
  for (uint64_t round = 0; round < 200; ++round) {
    INFO("round " << round);
    const std::string bytes = TraceOf(random, round % 8 != 0);
    Loaded one(bytes), two(bytes);
    LeaveOut(round, &one), LeaveOut(round, &two);
    // With a second device, records are not considered to be in step.
    two.model.devices.emplace_back();
    two.decoder.batch_samples_ns.emplace_back();
    const Windows windows(one.model, one.decoder, one.host_jobs);
    const Windows others(two.model, two.decoder, two.host_jobs);
    uint64_t last_after = 0, first_before = 0, other_last = 0, other_first = 0;
    const bool any = windows.Losses(0, &last_after, &first_before);
    REQUIRE(any == others.Losses(0, &other_last, &other_first));
    if (!any) continue;
    ++lost;
    CHECK(last_after == other_last);
    CHECK(first_before == other_first);
    const std::vector<Window> when = windows.WhenLost(0), other_when = others.WhenLost(0);
    CHECK(std::equal(when.begin(), when.end(), other_when.begin(), other_when.end(), Alike));
    const auto is_edge = [&](uint64_t record) {
      return record == last_after || record == first_before;
    };
    const DeviceJobs& jobs = one.decoder.device_jobs;
    for (size_t row = 0; row < jobs.size(); ++row) {
      if (is_edge(jobs.record[row]))
        CHECK(Alike(windows.OfJob(row, true), others.OfJob(row, true)));
    }
    for (size_t row = 0; row < one.model.commands.size(); ++row) {
      if (!is_edge(one.model.commands.record[row])) continue;
      CHECK(Alike(windows.OfCommandMade(row), others.OfCommandMade(row)));
    }
  }
  CHECK(lost > 150);
}

}  // namespace
}  // namespace acceltrace::model
