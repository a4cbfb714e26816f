// SPDX-License-Identifier: Apache-2.0
//
// Queries of a long trace, of which little is loaded, have the same answers as with all of it.
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "libtrace/model/part/partial.h"
#include "libtrace/query/needs.h"
#include "libtrace/query/sql.h"
#include "libtrace/stream/file/index.h"
#include "libtrace/stream/file/pack_trace.h"
#include "libtrace/stream/file/reader.h"
#include "tests/catch.h"
#include "tests/golden/temporary_file.h"
#include "tests/golden/trace_builder.h"
#include "tests/golden/trace_builder_split.h"

namespace acceltrace::query {
namespace {

using model::PartialTrace;
using stream::FileIndex;

constexpr uint32_t kJobs = 2'000;
constexpr int64_t kBegin = 50'000'000, kEach = 20'000;

// Overlapping jobs of one or two devices whose commands end in a different order.
test::TraceBuilder Random(uint32_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  test::TraceBuilder builder;
  const uint32_t devices = seed % 2 + 1;
  for (uint32_t d = 0; d < devices; ++d) {
    test::ClockSpec clock;
    clock.ppm = seed % 3 * 20, clock.hz = seed % 2 == 0 ? 1'000'000'000 : 24'576'000;
    builder.AddDevice(clock);
  }
  for (const uint32_t pid : {100u, 200u}) {
    if (seed % 3 == 0) break;  // no names
    builder.AddOpName(pid, 1, pid == 100 ? "gemm" : "copy");
    builder.AddOpName(pid, 2, "add");
  }
  for (uint32_t n = 1; n <= kJobs; ++n) {
    const int64_t at = kBegin + n * kEach + below(kEach);
    const int64_t length = random() % 50 == 0 ? 2'000'000 : 10'000 + below(60'000);
    test::JobSpec job = test::JobOfCall(at, n, at + length);
    job.device = n % devices, job.pid = job.tid = random() % 2 == 0 ? 100 : 200;
    job.sequence = n;
    for (int64_t i = n % 300 == 0 ? 100 : below(5); i >= 0; --i) {
      test::CommandSpec command;
      command.unit = static_cast<test::Unit>(random() % 4);
      command.fetched_ns = at + 3'000, command.head_ns = at + 4'000 + below(1'000);
      command.start_ns = command.head_ns + below(500);
      command.end_ns = std::min(command.start_ns + 100 + below(6'000), at + length);
      command.tag = static_cast<uint32_t>(random() % 3), command.opcode = 0x20;
      command.bytes = random() % 100'000, command.work = random() % 3;
      command.row_hits = static_cast<uint32_t>(random() % 300);
      for (int64_t s = below(4); s > 0; --s) {
        command.stall_ns[static_cast<size_t>(s)] = static_cast<uint64_t>(below(40));
      }
      job.commands.push_back(command);
    }
    if (random() % 3 == 0) {
      job.wait_ns = at + 9'000, job.wake_ns = job.complete_ns + 1'500;
      job.wait_correlation = 1'000'000 + n;
    }
    builder.AddJob(job);
    if (random() % 5 != 0)
      builder.AddApi("launch", job.pid, job.correlation, at, at + below(3'000));
    if (random() % 9 == 0) builder.AddRange("step", job.pid, at, at + below(90'000));
  }
  builder.AddLoss("ring", 7, kBegin, kBegin + kEach);
  return builder;
}

std::string Packed(const std::string& bytes) {
  const test::TemporaryFile file(bytes);
  std::string packed;
  const auto take = [&](std::string_view some) { return packed += some, Status(); };
  REQUIRE(stream::PackTrace(file.path(), take).ok());
  return packed;
}

class Rows final : public RowSink {
 public:
  Status Begin(const std::vector<std::string>& columns) override {
    for (const std::string& column : columns) text += column + '|';
    text += '\n';
    return {};
  }
  Status Row(const std::vector<Value>& values) override {
    for (const Value& value : values) {
      if (const auto* i = std::get_if<int64_t>(&value)) text += fmt::format("{}|", *i);
      if (const auto* d = std::get_if<double>(&value)) text += fmt::format("{:.17g}|", *d);
      if (const auto* s = std::get_if<std::string_view>(&value)) text += fmt::format("'{}'|", *s);
      if (std::holds_alternative<std::monostate>(value)) text += "null|";
    }
    text += '\n';
    return {};
  }
  std::string text;
};

std::unique_ptr<model::Model> LoadAll(const std::string& bytes) {
  auto reader = stream::Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  auto model = model::Load(reader->get());
  REQUIRE(model.ok());
  return std::move(model).value();
}

std::string Ask(const model::Model& model, const std::string& sql) {
  Rows rows;
  const auto database = Database::Open(model, {}).value();
  const Answer answer = database->Run(sql, &rows);
  INFO(sql << ": " << answer.message);
  REQUIRE(answer.state == Answer::State::kDone);
  return rows.text;
}

const char* const kSums[] = {
    "SELECT op, count(*), sum(end_ticks - start_ticks) FROM commands GROUP BY op",
    "SELECT unit, sum(bytes), avg(bytes), min(bytes), max(bytes) FROM commands GROUP BY unit",
    "SELECT op, unit, sum(busy_ticks), max(busy_ticks) FROM commands GROUP BY unit, op",
    "SELECT device, opcode, status, limiter, count(job) FROM commands "
    "GROUP BY device, opcode, status, limiter",
    "SELECT queue, context, sum(work), sum(memory_bytes), sum(row_hits + row_misses) "
    "FROM commands GROUP BY queue, context ORDER BY 3 DESC",
    "SELECT job, sum(end_raw_ticks - fetched_raw_ticks), min(head_ticks) FROM commands "
    "WHERE bytes > 70000 AND unit = 'in' GROUP BY job",
    "SELECT tag, min(correlation), max(\"index\") FROM commands WHERE op = 'gemm' GROUP BY tag",
    "SELECT count(*), sum(bytes), max(start_ticks) FROM commands",
    "SELECT sum(bytes) FROM commands WHERE bytes < 0",
};

// Compares answers from the commands' columns alone with those from the whole trace.
void CheckSums(const std::string& bytes) {
  const auto model = LoadAll(bytes);
  for (const char* sql : kSums) {
    INFO(sql);
    const auto trace = PartialTrace::Of(FileIndex::FromMemory(bytes));
    REQUIRE(trace != nullptr);
    const auto commands = trace->LoadCommands(*NeedsOf(sql).command_fields);
    REQUIRE(commands != nullptr);
    // In the whole trace, busy ticks are not known if the clock may have been set.
    if (std::string_view(sql).find("busy") != std::string_view::npos) continue;
    CHECK(Ask(*commands, sql) == Ask(*model, sql));
  }
}

TEST_CASE("Sums over commands whose columns alone are loaded are those of all that is") {
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    INFO("seed " << seed);
    const std::string bytes =
        test::Encode(test::Split(Random(seed).Packets(), seed < 4 ? 256 : 4096));
    CheckSums(seed % 3 == 2 ? Packed(bytes) : bytes);
  }
}

// A recording has blocks, as the service writes them.
TEST_CASE("Sums over the commands of a recording are those of all that is loaded") {
  for (const char* path : {"tests/golden/demo.atrace", "tests/golden/step.atrace"}) {
    INFO(path);
    std::ifstream file(path, std::ios::binary);
    REQUIRE(file);
    CheckSums({std::istreambuf_iterator<char>(file), {}});
  }
}

const char* const kOfParts[] = {
    "SELECT count(*), sum(end_ns - start_ns), min(fetched_lo_ns), max(head_hi_ns) FROM commands",
    "SELECT op, unit, job, \"index\", start_ns, end_raw_ticks, head_ticks FROM commands",
    "SELECT op, sum(busy_ticks), sum(stall_memory_ticks) FROM commands GROUP BY op",
    "SELECT device, opcode, correlation, tag, status, limiter, work, bytes FROM commands",
    "SELECT * FROM commands",
    "SELECT count(*), sum(submit_ns), max(consumed_ns - doorbell_ns) FROM jobs",
    "SELECT job, queue, sequence, pid, tid, api_name, wait_api_name, wait_ns, status FROM jobs",
    "SELECT job, correlation, host_correlation, on_host, on_device, commands_retired, "
    "commands_submitted, copy_bytes, context, wait_correlation, wake_ns FROM jobs",
    "SELECT job, irq_ns FROM jobs",
    "SELECT job, device_irq_ns, completion_ns, fetched_hi_ns, first_start_lo_ns, last_end_ticks, "
    "device_doorbell_raw_ticks FROM jobs",
    "SELECT * FROM jobs",
    "SELECT * FROM host_events",
    "SELECT kind, count(*), sum(time_ns) FROM host_events GROUP BY kind",
    "SELECT name, begin_ns, end_ns, tid FROM ranges",
    "SELECT * FROM api",
    "SELECT * FROM counters",
    "SELECT * FROM device_events",
    "SELECT c.op, j.submit_ns, c.start_ns FROM commands c JOIN jobs j USING (device, job)",
    "SELECT a.name, count(*) FROM jobs j JOIN api a USING (correlation) GROUP BY a.name",
    "SELECT h.time_ns, r.name FROM host_events h JOIN ranges r ON h.pid = r.pid AND "
    "h.time_ns BETWEEN r.begin_ns AND r.end_ns",
    "SELECT device, memory_bytes FROM devices",
};

// Returns how many queries did not need the whole part.
size_t CheckParts(const PartialTrace& trace, uint32_t seed) {
  std::mt19937_64 random(seed);
  size_t narrowed = 0;
  const int64_t all_ns = trace.end_ns() - trace.begin_ns();
  for (int round = 0; round < 4; ++round) {
    const auto below = [&](int64_t ns) { return static_cast<int64_t>(random() >> 1) % ns; };
    const int64_t from_ns = trace.begin_ns() + all_ns / 10 + below(all_ns / 2);
    const model::Stretch stretch{from_ns, from_ns + all_ns / 50 + below(all_ns / 10)};
    const auto whole = trace.Load(stretch);
    REQUIRE(whole.ok());
    for (const char* sql : kOfParts) {
      const Needs needs = NeedsOf(sql);
      if (!needs.wanted) continue;
      ++narrowed;
      const auto part = trace.Load(stretch, {}, &*needs.wanted);
      INFO("seed " << seed << ", round " << round << ": " << sql);
      REQUIRE(part.ok());
      Rows rows;
      const auto database = Database::Open(**part, {}).value();
      database->Only(needs.reads);
      const Answer answer = database->Run(sql, &rows);
      INFO(answer.message);
      REQUIRE(answer.state == Answer::State::kDone);
      CHECK(rows.text == Ask(**whole, sql));
      CHECK((*part)->losses.size() == (*whole)->losses.size());
    }
  }
  return narrowed;
}

TEST_CASE("What a query of a part needs says what all of the part says") {
  size_t narrowed = 0;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    std::string bytes = test::Encode(test::Split(Random(seed).Packets(), 256));
    if (seed % 3 == 2) bytes = Packed(bytes);
    const auto trace =
        PartialTrace::Of(FileIndex::FromMemory(bytes), 0, PartialTrace::Checked::kWhatIsRead);
    REQUIRE(trace != nullptr);
    narrowed += CheckParts(*trace, seed);
  }
  for (const char* path : {"tests/golden/demo.atrace", "tests/golden/step.atrace"}) {
    const auto trace = PartialTrace::Open(path);
    REQUIRE(trace != nullptr);
    narrowed += CheckParts(*trace, 7);
  }
  CHECK(narrowed > 300);
}

}  // namespace
}  // namespace acceltrace::query
