// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/csv.h"
#include "libtrace/view/common/export.h"
#include "libtrace/view/common/format.h"
#include "libtrace/view/json/json.h"
#include "libtrace/view/text/text.h"
#include "libtrace/view/timeline/chrome.h"
#include "libtrace/view/timeline/perfetto.pb.h"
#include "libtrace/view/timeline/timeline.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::view {
namespace {

using analysis::Span;
using namespace acceltrace::test;

TEST_CASE("Times have four digits and the unit that fits") {
  CHECK(FormatNs(0) == "0 ns");
  CHECK(FormatNs(999) == "999 ns");
  CHECK(FormatNs(1'000) == "1.000 µs");
  CHECK(FormatNs(12'345) == "12.35 µs");
  CHECK(FormatNs(999'949) == "999.9 µs");
  CHECK(FormatNs(999'951) == "1.000 ms");
  CHECK(FormatNs(-2'500) == "-2.500 µs");
  CHECK(FormatNs(3'200'000'000) == "3.200 s");
}

TEST_CASE("Bounds are in the value's unit and never rounded away") {
  CHECK(FormatSpan(Span{100, 100, 100}) == "100 ns");
  CHECK(FormatSpan(Span{90, 100, 103}) == "100 ±10 ns");
  CHECK(FormatSpan(Span{12'344, 12'345, 12'346}) == "12.35 ±0.01 µs");
  CHECK(FormatSpan(Span{-(int64_t{1} << 61), 1'000, int64_t{1} << 61}) == "1.000 µs ±unknown");
}

TEST_CASE("Sizes, rates, counts and shares") {
  CHECK(FormatBytes(1023) == "1023 B");
  CHECK(FormatBytes(1536) == "1.50 KiB");
  CHECK(FormatBytes(3ull << 30) == "3.00 GiB");
  CHECK(FormatRate(3.21e9, "B") == "3.21 GB/s");
  CHECK(FormatCount(0) == "0");
  CHECK(FormatCount(123) == "123");
  CHECK(FormatCount(1'234'567) == "1,234,567");
  CHECK(FormatShare(0.1234) == "12.3 %");
  CHECK(FormatShare(-1) == "-");
  CHECK(FormatUtc(1'767'225'600'000'000'000) == "2026-01-01 00:00:00 UTC");
}

TEST_CASE("Bars have the width that was asked for") {
  for (double share : {-1.0, 0.0, 0.01, 0.33, 0.5, 0.999, 1.0, 7.0}) {
    CHECK(DisplayWidth(Bar(share, 10)) == 10);
    CHECK(DisplayWidth(Bar2(share, 0.2, 10)) == 10);
  }
  CHECK(Bar(0.5, 4) == "██  ");
  CHECK(Bar2(0.25, 0.5, 4) == "█▒▒·");
}

TEST_CASE("What a trace says cannot move the cursor") {
  CHECK(Printable("a\033[2Jb\n\x7f") == "a?[2Jb??");
  CHECK(Printable("\xc2\x9b"
                  "1m") == "?1m");
  CHECK(Printable("µs") == "µs");
  CHECK(Shortened("abcdef", 4) == "abc…");
  CHECK(Shortened("µµµµ", 3) == "µµ…");
  CHECK(Shortened("abc", 3) == "abc");
  // Wide, combining and invisible characters.
  CHECK(DisplayWidth("日本 e\u0301\u200d😀\xff") == 9);
  CHECK(Shortened("日本語日本語", 6) == "日本…");
  CHECK(Shortened("e\u0301e\u0301e\u0301", 2) == "e\u0301…");
  CHECK(ShortenedInside("日本語日本語", 8) == "日本…語");
  CHECK(ShortenedInside("abcde\u0301fgh", 7) == "abc…fgh");
}

TEST_CASE("A name that is too long loses its middle") {
  CHECK(ShortenedInside("layer0.attention", 9) == "laye…tion");
  CHECK(ShortenedInside("µµµµµµ", 4) == "µµ…µ");
  CHECK(ShortenedInside("abcd", 4) == "abcd");
  CHECK(ShortenedInside("abcd", 2) == "a…");
}

TEST_CASE("A table leaves out columns until it fits, and says which") {
  Table table({{"name", Table::Align::kLeft, true},
               {"first to go", Table::Align::kRight, false, 2},
               {"stays"},
               {"second", Table::Align::kRight, false, 1}});
  table.Add({"a rather long name of something", "11111111", "22222222", "33333333"});
  Style style;
  style.width = 80;
  CHECK(table.Render(style).find("wider") == std::string::npos);
  style.width = 44;
  const std::string text = table.Render(style);
  CHECK(text.find("11111111") == std::string::npos);
  CHECK(text.find("33333333") != std::string::npos);
  CHECK(text.find("  wider: first to go\n") != std::string::npos);
}

TEST_CASE("Lines are broken at spaces, and no colour counts") {
  Style style;
  style.width = 40;
  CHECK(Fitted(style, "  one two\n") == "  one two\n");
  const std::string words = "  " + std::string(30, 'a') + " " + std::string(20, 'b');
  CHECK(Fitted(style, words) == "  " + std::string(30, 'a') + "\n    " + std::string(20, 'b'));
  const std::string red = "\033[31m" + std::string(38, 'a') + "\033[0m b";
  CHECK(Fitted(style, red) == red);
  CHECK(Fitted(style, std::string(50, 'x')) == std::string(50, 'x'));  // unbreakable
  style.ascii = true;
  CHECK(Fitted(style, "±1 µs █▏ é") == "~1 us #- ?");
}

TEST_CASE("Columns are aligned, and empty ones are left out") {
  Table table({{"name", Table::Align::kLeft}, {"n"}, {"nothing"}});
  table.Add({"µ", "1", ""});
  table.Add({"long", "1000", ""});
  CHECK(table.Render({}) == "  name     n\n  µ        1\n  long  1000\n");
}

TEST_CASE("Only the elastic column gives way") {
  Table table({{"name", Table::Align::kLeft, true}, {"n"}});
  table.Add({std::string(60, 'x'), "12345678"});
  Style style;
  style.width = 40;
  const std::string line = table.Render(style);
  CHECK(line.find('\n', line.find('\n') + 1) <= 2 * 41);
  CHECK(line.find("12345678") != std::string::npos);
  CHECK(std::count(line.begin(), line.end(), 'x') == 60);
}

Slice Of(int64_t begin_ns, int64_t end_ns) {
  Slice slice;
  slice.begin_ns = begin_ns, slice.end_ns = end_ns;
  return slice;
}

TEST_CASE("Slices that overlap go to different lanes, nested ones share one") {
  uint64_t skipped = 0;
  std::vector<Slice> slices = {Of(0, 100), Of(10, 20), Of(20, 30), Of(12, 18), Of(100, 110)};
  auto lanes = DivideIntoLanes(slices, &skipped);
  CHECK(lanes.size() == 1);
  slices = {Of(0, 100), Of(50, 150), Of(90, 95), Of(120, 130)};
  lanes = DivideIntoLanes(slices, &skipped);
  REQUIRE(lanes.size() == 2);
  CHECK(lanes[1].size() == 1);
  CHECK(lanes[1][0].begin_ns == 50);
  slices = {Of(5, 5), Of(5, 5), Of(5, 9)};
  lanes = DivideIntoLanes(slices, &skipped);
  CHECK(lanes.size() == 1);
  CHECK(lanes[0][0].end_ns == 9);  // the longer one outside
  CHECK(skipped == 0);
}

TEST_CASE("Lanes have a limit and what exceeds it is counted") {
  std::vector<Slice> slices;
  for (size_t i = 0; i < kMaxLanes + 3; ++i) {
    slices.push_back(Of(static_cast<int64_t>(i), 10'000 + static_cast<int64_t>(i)));
  }
  uint64_t skipped = 0;
  CHECK(DivideIntoLanes(slices, &skipped).size() == kMaxLanes);
  CHECK(skipped == 3);
}

// Two overlapping jobs on one queue, the second of which was launched by a call of another thread.
TraceBuilder TwoJobs() {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddProcess(100, 100, "app\"1,2\"");
  constexpr int64_t kBase = 30'000'000;
  for (uint32_t i = 0; i < 2; ++i) {
    const int64_t at = kBase + i * 4'000;
    JobSpec job;
    job.job = i + 1, job.sequence = i + 1, job.correlation = i + 1;
    job.submit_ns = at + 1'000, job.doorbell_ns = at + 2'000, job.submit_end_ns = at + 2'500;
    job.device_doorbell_ns = at + 2'600, job.fetched_ns = at + 3'000;
    CommandSpec command;
    command.fetched_ns = at + 3'000;
    command.head_ns = kBase + 4'000 + i * 6'000, command.start_ns = command.head_ns + 1'000;
    command.end_ns = command.start_ns + 5'000;
    job.commands = {command, command};
    job.commands[1].unit = kVector;
    job.completion_ns = command.end_ns + 500, job.device_irq_ns = command.end_ns + 600;
    job.irq_ns = command.end_ns + 1'500, job.complete_ns = command.end_ns + 2'000;
    job.wait_ns = at + 3'500, job.wake_ns = command.end_ns + 3'000, job.wait_correlation = i + 11;
    builder.AddApi("Launch", 100, i + 1, at, at + 3'000);
    builder.AddJob(job);
  }
  builder.AddApi("Synchronize", 100, 11, kBase + 7'100, kBase + 30'000);
  builder.AddTrueCounters(0, kBase);
  builder.AddTrueCounters(0, kBase + 10'000);
  builder.AddTrueCounters(0, kBase + 40'000);
  return builder;
}

// Converts times that are relative to the previous packet to times on the sequence's clock.
void AddUpTimes(perfetto::Trace* trace) {
  uint64_t at_ns = 0;
  for (perfetto::TracePacket& packet : *trace->mutable_packet()) {
    for (const auto& clock : packet.clock_snapshot().clocks()) {
      if (clock.is_incremental()) at_ns = clock.timestamp();
    }
    if (packet.has_timestamp()) packet.set_timestamp(at_ns += packet.timestamp());
  }
}

// Decompresses packets in place.
perfetto::Trace Inflated(const perfetto::Trace& packed) {
  perfetto::Trace trace;
  for (const perfetto::TracePacket& packet : packed.packet()) {
    if (!packet.has_compressed_packets()) {
      *trace.add_packet() = packet;
      continue;
    }
    const std::string& bytes = packet.compressed_packets();
    std::string whole(1 << 20, '\0');
    uLongf size = whole.size();
    REQUIRE(uncompress(reinterpret_cast<Bytef*>(whole.data()), &size,
                       reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) == Z_OK);
    whole.resize(size);
    perfetto::Trace inside;
    REQUIRE(inside.ParseFromString(whole));
    trace.MergeFrom(inside);
  }
  return trace;
}

perfetto::Trace Export(const model::Model& model, ExportStats* stats) {
  std::string bytes;
  const auto result = ExportPerfetto(model, [&](std::string_view more) {
    bytes += more;
    return Status();
  });
  REQUIRE(result.ok());
  *stats = *result;
  perfetto::Trace trace;
  REQUIRE(trace.ParseFromString(bytes));
  trace = Inflated(trace);
  AddUpTimes(&trace);
  return trace;
}

// Two queues of a device that reports nothing itself. The kernel reported the dependencies: job 2
// waits for job 1, and job 3 for both.
std::unique_ptr<model::Model> HostJobs() {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddProcess(100, 100, "app");
  std::vector<proto::Packet> packets = builder.Packets();
  proto::Packet packet;
  proto::HostBatch* batch = packet.mutable_host();
  int64_t last_ns = 0;
  const auto add = [&](int64_t time_ns, uint32_t kind, uint32_t job, uint64_t arg0) {
    batch->add_kind(kind);
    batch->add_time_ns_delta(time_ns - last_ns);
    last_ns = time_ns;
    batch->add_cpu(0), batch->add_pid(100), batch->add_tid(100), batch->add_device(0);
    batch->add_context(0), batch->add_queue(40 + job % 2), batch->add_job(job);
    batch->add_sequence(job), batch->add_correlation_delta(0);
    batch->add_arg0(arg0), batch->add_arg1(0);
  };
  using proto::HostBatch;
  add(1000, HostBatch::KIND_SUBMIT, 1, 1);
  add(1100, HostBatch::KIND_SUBMIT, 2, 1);
  add(1110, HostBatch::KIND_DEPENDENCY, 2, 1);
  add(1120, HostBatch::KIND_DEPENDENCY, 2, 1);   // reported twice
  add(1130, HostBatch::KIND_DEPENDENCY, 2, 77);  // of a job that does not exist
  add(1200, HostBatch::KIND_SUBMIT, 3, 1);
  add(1210, HostBatch::KIND_DEPENDENCY, 3, 1);
  add(1220, HostBatch::KIND_DEPENDENCY, 3, 2);
  add(2000, HostBatch::KIND_COMPLETE, 1, 0);
  add(3000, HostBatch::KIND_COMPLETE, 2, 0);
  add(4000, HostBatch::KIND_COMPLETE, 3, 0);
  packets.insert(packets.end() - 1, packet);
  return LoadPackets(std::move(packets));
}

TEST_CASE("Jobs of a device that says nothing are on their queues, with what they wait for") {
  const auto model = HostJobs();
  REQUIRE(model->jobs.size() == 3);
  const Timeline timeline = BuildTimeline(*model);
  REQUIRE(timeline.dependencies.size() == 3);
  std::map<std::string, size_t> slices;
  for (const Track& track : timeline.tracks) {
    for (const Slice& slice : track.slices) slices[track.name] += slice.about == Slice::About::kJob;
  }
  CHECK(slices["queue 40"] == 1);
  CHECK(slices["queue 41"] == 2);
  ExportStats stats;
  const perfetto::Trace trace = Export(*model, &stats);
  // The begin and the end of each flow.
  std::map<uint64_t, std::vector<uint64_t>> ends;
  const auto note = [&](uint64_t flow, uint64_t at) {
    if ((flow & 3) == kDependencyFlow) ends[flow].push_back(at);
  };
  for (const perfetto::TracePacket& packet : trace.packet()) {
    if (!packet.has_track_event()) continue;
    for (const uint64_t flow : packet.track_event().flow_ids()) note(flow, packet.timestamp());
    for (const uint64_t flow : packet.track_event().terminating_flow_ids()) {
      note(flow, packet.timestamp());
    }
  }
  REQUIRE(ends.size() == 3);
  const auto apart = [&](uint64_t number) {
    const auto& at = ends[number << 2];
    return at.size() == 2 ? at[1] - at[0] : 0;
  };
  CHECK(apart(1) == 100);  // job 2 on job 1
  CHECK(apart(2) == 200);  // job 3 on job 1
  CHECK(apart(3) == 100);  // job 3 on job 2
  std::string chrome;
  const auto written = ExportChrome(*model, [&](std::string_view more) {
    chrome += more;
    return Status();
  });
  REQUIRE(written.ok());
  size_t arrows = 0;
  for (size_t at = 0; (at = chrome.find("\"dependency\"", at)) != std::string::npos; ++at) ++arrows;
  CHECK(arrows == 6);
}

TEST_CASE("A Perfetto trace has tracks in a tree, nested slices and whole arrows") {
  const auto model = TwoJobs().Model();
  ExportStats stats;
  const perfetto::Trace trace = Export(*model, &stats);
  std::map<uint64_t, std::string> tracks;
  std::map<uint64_t, int> depth;
  std::map<uint64_t, std::pair<int, bool>> flows;
  std::set<std::string> names;
  uint64_t last = 0;
  for (const perfetto::TracePacket& packet : trace.packet()) {
    CHECK(packet.trusted_packet_sequence_id() == 1);
    for (const auto& name : packet.interned_data().event_names()) names.insert(name.name());
    if (packet.has_track_descriptor()) {
      const auto& about = packet.track_descriptor();
      if (about.has_parent_uuid()) CHECK(tracks.count(about.parent_uuid()) == 1);
      tracks[about.uuid()] = about.has_process()  ? about.process().process_name()
                             : about.has_thread() ? about.thread().thread_name()
                                                  : about.name();
    }
    if (!packet.has_track_event()) continue;
    const perfetto::TrackEvent& event = packet.track_event();
    CHECK(packet.timestamp() >= last);
    last = packet.timestamp();
    REQUIRE(tracks.count(event.track_uuid()) == 1);
    if (event.type() == perfetto::TrackEvent::TYPE_SLICE_BEGIN) ++depth[event.track_uuid()];
    if (event.type() == perfetto::TrackEvent::TYPE_SLICE_END) {
      CHECK(--depth[event.track_uuid()] >= 0);
    }
    for (uint64_t flow : event.flow_ids()) {
      CHECK_FALSE(flows[flow].second);
      ++flows[flow].first;
    }
    for (uint64_t flow : event.terminating_flow_ids()) {
      CHECK(flows[flow].first > 0);
      CHECK_FALSE(flows[flow].second);
      flows[flow].second = true;
    }
  }
  for (const auto& [track, open] : depth) CHECK(open == 0);
  for (const auto& [flow, use] : flows) CHECK(use.second);
  CHECK(flows.size() == stats.flows);
  std::multiset<std::string> track_names;
  for (const auto& [uuid, name] : tracks) track_names.insert(name);
  CHECK(track_names.count("queue 0") == 2);  // the jobs overlap
  for (const char* name : {"matrix", "vector", "interrupts", "jobs in flight", "matrix_busy"}) {
    CHECK(track_names.count(name) == 1);
  }
  for (const char* name : {"Launch", "submit", "job", "matmul", "stall: semaphore", "wake"}) {
    CHECK(names.count(name) == 1);
  }
  CHECK(stats.skipped == 0);
}

TEST_CASE("An export ends at the first error of its sink") {
  const auto model = TwoJobs().Model();
  const auto result =
      ExportPerfetto(*model, [](std::string_view) { return Status::Error("disk full"); });
  REQUIRE_FALSE(result.ok());
  CHECK(result.message() == "disk full");
}

TEST_CASE("CSV quotes what needs it and leaves unseen times empty") {
  const auto model = TwoJobs().Model();
  std::map<std::string, std::string> files;
  for (const query::PlainTable& table : query::PlainTables(*model)) {
    const Status status = WriteCsv(table, [&](std::string_view more) {
      files[table.name] += more;
      return Status();
    });
    REQUIRE(status.ok());
  }
  CHECK(files["processes"] == "pid,tid,name\n100,100,\"app\"\"1,2\"\"\"\n");
  CHECK(files["api"].find("correlation,name,pid,tid,begin_ns,end_ns") == 0);
  CHECK(files["losses"] ==
        "hop,count,first_ns,first_lo_ns,first_hi_ns,last_ns,last_lo_ns,last_hi_ns\n");
  // A call that is not in the trace waited for job 2.
  CHECK(files["jobs"].find(",Launch,Synchronize,11,2,2,0,ok,") != std::string::npos);
  CHECK(files["jobs"].find(",Launch,,,2,2,0,ok,") != std::string::npos);
}

TEST_CASE("The same trace gives the same bytes") {
  const auto first = TwoJobs().Model(), second = TwoJobs().Model();
  const analysis::Report a = analysis::ComputeReport(*first);
  const analysis::Report b = analysis::ComputeReport(*second);
  CHECK(TextReport(a, {}) == TextReport(b, {}));
  CHECK(JsonReport(a) == JsonReport(b));
}

TEST_CASE("JSON says what the text says") {
  const auto model = TwoJobs().Model();
  const analysis::Report report = analysis::ComputeReport(*model);
  const auto json = nlohmann::json::parse(JsonReport(report));
  CHECK(json["schema"] == "acceltrace.report");
  CHECK(json["version"] == kJsonVersion);
  CHECK(json["counts"]["jobs"] == 2);
  CHECK(json["counts"]["commands"] == 4);
  CHECK(json["latency"]["stages"]["api_to_submit"]["p50"]["ns"] == 1'000);
  CHECK(json["causality"]["violations"] == 0);
  int64_t sum = 0;
  for (const auto& entry : json["breakdown"]["classes"]) sum += entry["ns"].get<int64_t>();
  CHECK(sum == json["breakdown"]["run_ns"]);
  const auto verify = nlohmann::json::parse(JsonVerify(report, analysis::FindProblems(report)));
  CHECK(verify["ok"] == verify["findings"].empty());
}

TEST_CASE("A trace with nothing in it still has a report") {
  TraceBuilder builder;
  const auto model = builder.Model();
  const analysis::Report report = analysis::ComputeReport(*model);
  const std::string text = TextReport(report, {});
  CHECK(text.find("No device was used") != std::string::npos);
  ExportStats stats;
  Export(*model, &stats);
  CHECK(stats.slices == 0);
}

TEST_CASE("A run of one phase is said to be of one, and why there are none") {
  TraceBuilder builder;
  builder.AddDevice();
  uint32_t number = 0;
  const auto add = [&](uint32_t pid, uint32_t jobs) {
    for (uint32_t i = 0; i < jobs; ++i) {
      const int64_t call_ns = 20'000'000 + i * 50'000;
      JobSpec job = JobOfCall(call_ns, ++number, call_ns + 30'000);
      job.pid = job.tid = pid;
      CommandSpec command;
      command.work = 1'000;
      command.fetched_ns = command.head_ns = command.start_ns = call_ns + 5'000;
      command.end_ns = call_ns + 25'000;
      job.commands = {command};
      builder.AddJob(job);
      builder.AddApi("Launch", pid, number, call_ns, call_ns + 2'500);
    }
  };
  std::string expected;
  SECTION("rounds") { add(100, 6), expected = "one only, of 6 like rounds in 6 jobs"; }
  SECTION("work") { add(100, 2), expected = "one only, of 2 jobs in which no computing repeats"; }
  SECTION("side by side") { add(100, 6), add(200, 6), expected = "none can be claimed: several"; }
  const auto model = builder.Model();
  analysis::Report report;
  report.phases = analysis::FindPhases(*model, 20'000'000, 21'000'000);
  const std::string text = TextSections(report, {"phases"}, Style{});
  INFO(text);
  CHECK(text.find(expected) != std::string::npos);
}

TEST_CASE("Colours are there only when asked for") {
  const auto model = TwoJobs().Model();
  const analysis::Report report = analysis::ComputeReport(*model);
  CHECK(TextReport(report, {}).find('\033') == std::string::npos);
  Style style;
  style.colour = true;
  CHECK(TextReport(report, style).find('\033') != std::string::npos);
}

}  // namespace
}  // namespace acceltrace::view
