// SPDX-License-Identifier: Apache-2.0
//
// Tests the analyses that find faults: each must find its own kind of fault, and nothing in a trace
// without faults.
#include <algorithm>
#include <functional>
#include <numeric>

#include "libtrace/analysis/report/report.h"
#include "libtrace/stream/file/writer.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000;

JobSpec OneJob() {
  JobSpec job;
  job.correlation = 1;
  job.submit_ns = kBase + 1'000, job.doorbell_ns = kBase + 2'000, job.submit_end_ns = kBase + 3'000;
  job.device_doorbell_ns = kBase + 4'000, job.fetched_ns = kBase + 5'000;
  job.completion_ns = kBase + 20'000, job.device_irq_ns = kBase + 21'000;
  job.irq_ns = kBase + 23'000, job.complete_ns = kBase + 24'000;
  job.wait_ns = kBase + 3'500, job.wake_ns = kBase + 26'000, job.wait_correlation = 1;
  CommandSpec copy;
  copy.unit = kOut;
  copy.opcode = 0x11;
  copy.fetched_ns = copy.head_ns = kBase + 5'500;
  copy.start_ns = kBase + 6'000, copy.end_ns = kBase + 19'000;
  copy.bytes = 512;
  job.commands = {copy};
  return job;
}

JobSpec Numbered(uint32_t number) {
  JobSpec job = OneJob();
  job.job = number;
  return job;
}

struct Checked {
  std::unique_ptr<model::Model> model;
  Report report;
  std::vector<Finding> findings;

  size_t Count(const std::string& kind) const {
    return static_cast<size_t>(std::count_if(findings.begin(), findings.end(),
                                             [&](const Finding& f) { return f.kind == kind; }));
  }
  const Law& LawOf(const std::string& name) const {
    return *std::find_if(report.laws.begin(), report.laws.end(),
                         [&](const Law& law) { return law.name == name; });
  }
};

Checked Check(TraceBuilder builder) {
  Checked checked;
  checked.model = builder.Model();
  checked.report = ComputeReport(*checked.model);
  checked.findings = FindProblems(checked.report);
  return checked;
}

TraceBuilder Trace(const JobSpec& job) {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddTrueCounters(0, kBase - 1'000);
  builder.AddApi("Copy", 100, 1, kBase, kBase + 30'000);
  builder.AddJob(job);
  builder.AddTrueCounters(0, kBase + 40'000);
  builder.AddHop("ring", 10, 10, 0, 0, "session");
  builder.AddHop("probes", 5, 5, 0, 0, "session");
  builder.AddHop("session", 15, 15, 0, 0);
  return builder;
}

TEST_CASE("A sound trace has no findings and every law holds") {
  const Checked checked = Check(Trace(OneJob()));
  for (const Finding& finding : checked.findings) UNSCOPED_INFO(finding.text);
  CHECK(checked.findings.empty());
  CHECK(checked.report.causality.violations == 0);
  CHECK(checked.report.causality.certain == checked.report.causality.constraints);
  for (const Law& law : checked.report.laws) {
    INFO(law.name);
    CHECK(law.state == Law::State::kHolds);
  }
}

TEST_CASE("What hops say that they gave and took is compared where they say to whom") {
  const auto chain = [](const std::function<void(TraceBuilder*)>& add) {
    TraceBuilder builder;
    add(&builder);
    const Checked checked = Check(std::move(builder));
    for (const Law& law : checked.report.laws) {
      if (law.name == "hops") return law;
    }
    FAIL("no such law");
    return Law{};
  };
  // Losses that are accounted for do not excuse those that are not.
  Law law = chain([](TraceBuilder* builder) {
    builder->AddHop("ring", 10, 8, 2, 0, "session");
    builder->AddHop("session", 9, 9, 0, 0);
  });
  CHECK(law.state == Law::State::kBroken);
  CHECK(law.note.find("session: 8 given to it, 9 taken") != std::string::npos);
  law = chain([](TraceBuilder* builder) { builder->AddHop("ring", 10, 10, 0, 0, "queue"); });
  CHECK(law.state == Law::State::kBroken);
  CHECK(law.note.find("queue: 10 given to it, 0 taken") != std::string::npos);
  law = chain([](TraceBuilder* builder) {
    builder->AddHop("ring", 10, 8, 2, 0, "queue");
    builder->AddHop("queue", 8, 7, 1, 0, "session");
    builder->AddHop("session", 7, 7, 0, 0);
  });
  CHECK(law.state == Law::State::kHolds);
  CHECK(law.checked == 2);
  // Older recordings do not have this information.
  law = chain([](TraceBuilder* builder) { builder->AddHop("ring", 10, 10, 0, 0); });
  CHECK(law.state == Law::State::kUnknown);
}

TEST_CASE("An order that is impossible for certain is a violation with raw values") {
  JobSpec job = OneJob();
  job.device_doorbell_ns = kBase + 500;  // before the host rang it at 2'000
  const Checked checked = Check(Trace(job));
  REQUIRE(checked.report.causality.violations == 1);
  const Violation& violation = checked.report.causality.examples[0];
  CHECK(violation.what == "doorbell > device_doorbell");
  CHECK(violation.later_on_device);
  CHECK(violation.later_ticks == TraceBuilder(Trace(job)).Ticks(0, kBase + 500));
  CHECK(violation.earlier.mid_ns == kBase + 2'000);
  // It is 1'500 too early, minus half of the bracket of 400.
  CHECK(violation.by_ns >= 1'000);
  CHECK(violation.by_ns <= 1'500);
  CHECK(checked.Count("order") == 1);
}

TEST_CASE("An order that the bounds leave open is no violation") {
  JobSpec job = OneJob();
  job.device_doorbell_ns = kBase + 2'050;  // 50 ns after the host's write, bounds are ± 200
  const Checked checked = Check(Trace(job));
  CHECK(checked.report.causality.violations == 0);
  CHECK(checked.report.causality.possible == 1);
  CHECK(checked.Count("order") == 0);
}

TEST_CASE("Two host times in the wrong order are seen across the device's bounds") {
  JobSpec job = OneJob();
  job.complete_ns = kBase + 1'500;  // consumed before the doorbell
  job.irq_ns = kBase + 1'400;
  const Checked checked = Check(Trace(job));
  CHECK(checked.report.causality.violations >= 2);
}

TEST_CASE("Device times in the wrong order are compared by ticks") {
  JobSpec job = OneJob();
  job.completion_ns = kBase + 18'999;  // 1 ns before its last command ended
  const Checked checked = Check(Trace(job));
  CHECK(checked.report.causality.violations >= 1);
  CHECK(checked.report.causality.examples[0].by_ns >= 1);
}

TEST_CASE("A job that the device never completed breaks a law") {
  JobSpec job = OneJob();
  TraceBuilder builder = Trace(Numbered(5));  // later in the same queue
  job.job = 2, job.correlation = 0;
  job.completion_ns = job.irq_ns = job.complete_ns = job.wait_ns = job.wake_ns = 0;
  job.commands.clear();
  builder.AddJob(job);
  const Checked checked = Check(std::move(builder));
  CHECK(checked.LawOf("jobs_on_both_sides").state == Law::State::kBroken);
  CHECK(checked.LawOf("jobs_on_both_sides").broken == 1);
  CHECK(checked.Count("law") == 1);
}

TEST_CASE("With losses the same difference is explained, and the loss is the finding") {
  TraceBuilder builder = Trace(Numbered(5));
  JobSpec job = OneJob();
  job.job = 2, job.correlation = 0;
  job.completion_ns = job.irq_ns = job.complete_ns = job.wait_ns = job.wake_ns = 0;
  job.commands.clear();
  builder.AddJob(job);
  builder.AddHop("device-ring", 3, 2, 1, 0);
  const Checked checked = Check(std::move(builder));
  CHECK(checked.LawOf("jobs_on_both_sides").state == Law::State::kUnknown);
  CHECK(checked.Count("law") == 0);
  CHECK(checked.Count("loss") == 1);
  CHECK(checked.report.losses.lost == 1);
}

TEST_CASE("Accounts that do not balance are a finding") {
  TraceBuilder builder = Trace(OneJob());
  builder.AddHop("queue", 10, 8, 1, 0);
  const Checked checked = Check(std::move(builder));
  CHECK(checked.LawOf("accounts").state == Law::State::kBroken);
  CHECK(checked.LawOf("accounts").note.find("queue") == 0);
}

TEST_CASE("Counters that differ from the commands by a tick are a finding") {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddApi("Copy", 100, 1, kBase, kBase + 30'000);
  builder.AddCounters(0, kBase - 1'000, std::vector<uint64_t>(TraceBuilder::NumCounters()));
  builder.AddJob(OneJob());
  std::vector<uint64_t> values(TraceBuilder::NumCounters());
  // The counters are busy, idle, three stalls and commands of each unit, then elapsed, in and out.
  values[6 * kOut + 0] = 13'001;  // one too many
  values[6 * kOut + 2] = 500;
  values[6 * kOut + 5] = 1;
  values[26] = 512;
  builder.AddCounters(0, kBase + 40'000, values);
  const Checked checked = Check(std::move(builder));
  CHECK(checked.LawOf("counters_and_commands").state == Law::State::kBroken);
  CHECK(checked.LawOf("counters_and_commands").broken == 1);
  CHECK(checked.LawOf("dma_bytes").state == Law::State::kHolds);
  // With an elapsed time of 0, only the counters of idle units add up.
  CHECK(checked.LawOf("unit_time").state == Law::State::kBroken);
}

TEST_CASE("A command within the tick of a snapshot may be counted by it, or not") {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddApi("Copy", 100, 1, kBase, kBase + 30'000);
  JobSpec job = OneJob();
  CommandSpec& copy = job.commands[0];
  copy.head_ns = copy.start_ns = copy.end_ns = kBase + 6'000;  // a clock of few ticks
  std::vector<uint64_t> values(TraceBuilder::NumCounters());
  builder.AddCounters(0, kBase - 1'000, values);
  builder.AddJob(job);
  const bool counted = GENERATE(false, true);
  values[6 * kOut + 5] = counted ? 1 : 0;
  values[26] = counted ? 512 : 0;
  builder.AddCounters(0, kBase + 6'000, values);
  values[6 * kOut + 5] = 1;
  values[26] = 512;
  builder.AddCounters(0, kBase + 40'000, values);
  const Checked checked = Check(std::move(builder));
  CHECK(checked.LawOf("counters_and_commands").state == Law::State::kHolds);
  CHECK(checked.LawOf("dma_bytes").state == Law::State::kHolds);
}

// A job at the end of a recording has only the events that had happened until then.
JobSpec Unfinished() {
  JobSpec job = Numbered(6);
  job.correlation = 2;
  job.submit_ns = kBase + 25'000, job.doorbell_ns = kBase + 25'500;
  job.submit_end_ns = kBase + 25'900;
  job.completion_ns = job.irq_ns = job.complete_ns = job.wait_ns = job.wake_ns = 0;
  job.commands.clear();
  return job;
}

TEST_CASE("A job that is under way at the end is no finding, unless something contradicts it") {
  TraceBuilder builder = Trace(OneJob());
  builder.AddApi("Launch", 100, 2, kBase + 24'500, kBase + 26'000);
  JobSpec job = Unfinished();
  SECTION("nothing later in its queue was completed") {
    builder.AddJob(job);
    CHECK(Check(std::move(builder)).findings.empty());
  }
  SECTION("the driver was notified of its completion") {
    job.complete_ns = kBase + 29'000;
    builder.AddJob(job);
    CHECK(Check(std::move(builder)).Count("law") == 1);
  }
  SECTION("the driver canceled it") {
    job.complete_ns = kBase + 29'000;
    job.status = 8;
    builder.AddJob(job);
    CHECK(Check(std::move(builder)).findings.empty());
  }
}

// Removes the last row of a batch.
void DropLast(google::protobuf::Message* batch) {
  const google::protobuf::Reflection* reflection = batch->GetReflection();
  for (int f = 0; f < batch->GetDescriptor()->field_count(); ++f) {
    const google::protobuf::FieldDescriptor* field = batch->GetDescriptor()->field(f);
    if (field->is_repeated() && reflection->FieldSize(*batch, field) == 2) {
      reflection->RemoveLast(batch, field);
    }
  }
}

// A job's record is written together with its interrupt.
TEST_CASE("A job taken with another's interrupt may be recorded by the device after the end") {
  const bool whole = GENERATE(true, false), shortly = GENERATE(true, false);
  const bool with_another = GENERATE(true, false);
  TraceBuilder builder = Trace(OneJob());
  JobSpec second = OneJob();
  second.job = OneJob().job + 1, second.sequence = OneJob().sequence + 1;
  second.complete_ns += 100;
  // The last recorded run of the handler found one completion instead of two.
  if (!with_another) second.irq_ns = second.complete_ns - 50;
  builder.AddJob(second);
  std::vector<proto::Packet> packets = builder.Packets();
  for (proto::Packet& packet : packets) {
    if (packet.has_jobs()) DropLast(packet.mutable_jobs());
    if (packet.has_commands() && !whole) DropLast(packet.mutable_commands());
    if (packet.has_accounts()) {
      packet.mutable_accounts()->set_stop_ns(kBase + (shortly ? 3'000'000 : 300'000'000));
    }
  }
  const Report report = ComputeReport(*LoadPackets(std::move(packets)));
  const auto law = std::find_if(report.laws.begin(), report.laws.end(),
                                [](const Law& l) { return l.name == "jobs_on_both_sides"; });
  INFO(law->note << ", whole " << whole << ", shortly " << shortly << ", " << with_another);
  CHECK((law->state == Law::State::kHolds) == (whole && shortly && with_another));
}

TEST_CASE("A driver that was listened to and reported nothing is a finding, another is none") {
  const auto law_of = [](const std::string& probe) {
    TraceBuilder builder = Trace(OneJob());
    // The last one before a recording may have been under way.
    builder.AddJob(Numbered(2));
    builder.info()->add_command("program");
    builder.info()->mutable_probes(0)->set_name(probe);
    std::vector<proto::Packet> packets = builder.Packets();
    std::erase_if(packets, [](const proto::Packet& packet) { return packet.has_host(); });
    const Report report = ComputeReport(*LoadPackets(std::move(packets)));
    return std::find_if(report.laws.begin(), report.laws.end(),
                        [](const Law& law) { return law.name == "jobs_on_both_sides"; })
        ->state;
  };
  CHECK(law_of("tp:unit_submit") == Law::State::kBroken);
  CHECK(law_of("tp:unit_job") == Law::State::kBroken);
  CHECK(law_of("tp:sched_process_exit") == Law::State::kUnknown);
}

TEST_CASE("A job that was under way when its process was attached to is no finding") {
  JobSpec job = OneJob();
  job.submit_ns = job.doorbell_ns = job.submit_end_ns = job.wait_ns = 0;
  TraceBuilder builder = Trace(job);
  using Events = proto::ProcessEvents;
  SECTION("it rang before") {
    builder.AddProcessEvent(Events::KIND_ATTACHED, kBase + 10'000, 100, 100);
    const Checked checked = Check(std::move(builder));
    for (const Finding& finding : checked.findings) UNSCOPED_INFO(finding.text);
    CHECK(checked.findings.empty());
  }
  SECTION("the process was seen to submit another job before") {
    builder.AddProcessEvent(Events::KIND_BEGUN, kBase - 10'000, 100, 100, 50);
    JobSpec before = Unfinished();
    before.job = 1;
    job.job = 2;
    TraceBuilder other = Trace(Numbered(2));
    other.AddJob(before);
    const Checked checked = Check(std::move(other));
    CHECK(checked.LawOf("jobs_on_both_sides").state == Law::State::kBroken);
  }
}

// Narrows the clock to 32 bits.
void Narrow(proto::Packet* packet) {
  const auto wrap = [](auto* column) {
    int64_t raw = 0, last = 0;
    for (auto& delta : *column) {
      raw += delta;
      delta = (raw & 0xffffffff) - last;
      last = raw & 0xffffffff;
    }
  };
  if (packet->has_device()) packet->mutable_device()->mutable_clock()->set_bits(32);
  if (packet->has_clocks()) wrap(packet->mutable_clocks()->mutable_device_ticks_delta());
  if (packet->has_jobs()) wrap(packet->mutable_jobs()->mutable_doorbell_ticks_delta());
  if (packet->has_commands()) wrap(packet->mutable_commands()->mutable_fetched_ticks_delta());
  if (packet->has_counters()) {
    wrap(packet->mutable_counters()->mutable_time_ticks_delta());
    packet->mutable_counters()->clear_host_before_ns_delta();  // read from the device's ring
    packet->mutable_counters()->clear_host_after_ns_delta();
  }
  if (packet->has_others()) wrap(packet->mutable_others()->mutable_first_head_ticks_delta());
}

// Repeats the last sample of a batch, as the following batch does.
proto::Packet LastSample(proto::Packet packet) {
  proto::ClockBatch& clocks = *packet.mutable_clocks();
  const auto sum = [](auto* deltas) {
    const auto last = std::accumulate(deltas->begin(), deltas->end(), int64_t{0});
    if (!deltas->empty()) deltas->Resize(1, 0), deltas->Set(0, last);
  };
  const auto cut = [](auto* values) {
    if (!values->empty()) values->Set(0, values->Get(values->size() - 1)), values->Resize(1, 0);
  };
  for (auto* deltas : {clocks.mutable_host_before_ns_delta(), clocks.mutable_device_ticks_delta(),
                       clocks.mutable_tsc_before_delta(), clocks.mutable_ptm_device_ticks_delta(),
                       clocks.mutable_ptm_host_ns_delta(), clocks.mutable_ptm_tsc_delta()}) {
    sum(deltas);
  }
  cut(clocks.mutable_host_width_ns());
  cut(clocks.mutable_tsc_width());
  cut(clocks.mutable_has_ptm());
  return packet;
}

TEST_CASE("A clock that is set back shows the ticks of a snapshot twice") {
  for (const bool alike : {false, true}) {
    TraceBuilder builder = Trace(OneJob());
    std::vector<uint64_t> values(TraceBuilder::NumCounters(), 7);
    builder.AddCounters(0, kBase + 50'000, values);
    if (!alike) values.back() = 8;
    builder.AddCounters(0, kBase + 50'000, values);
    const Checked checked = Check(std::move(builder));
    CHECK((checked.LawOf("rows_once").state == Law::State::kBroken) == alike);
  }
}

TEST_CASE("What others had a unit do is part of what its counters count") {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddTrueCounters(0, kBase - 1'000);
  builder.AddApi("Copy", 100, 1, kBase, kBase + 30'000);
  builder.AddJob(OneJob());
  JobSpec foreign = Numbered(2);
  foreign.others = true;
  for (CommandSpec& command : foreign.commands) {
    command.fetched_ns += 20'000, command.head_ns += 20'000;
    command.start_ns += 20'000, command.end_ns += 20'000;
  }
  bool recorded = true, wraps = false;
  SECTION("recorded") {}
  SECTION("not recorded") { recorded = false; }
  SECTION("recorded, with the counters, before any sample of a clock that wraps") { wraps = true; }
  builder.AddJob(foreign);
  builder.AddTrueCounters(0, kBase + 50'000);
  builder.AddHop("ring", 10, 10, 0, 0);
  std::vector<proto::Packet> packets = builder.Packets();
  if (!recorded) {
    std::erase_if(packets, [](const proto::Packet& packet) { return packet.has_others(); });
  }
  if (wraps) {
    for (proto::Packet& packet : packets) {
      Narrow(&packet);
      // The clock wraps more than once.
      if (packet.has_info()) packet.mutable_info()->set_start_ns(kBase - 10'000);
      if (packet.has_accounts()) packet.mutable_accounts()->set_stop_ns(kBase + 9'000'000'000);
    }
    std::stable_partition(packets.begin(), packets.end(), [](const proto::Packet& packet) {
      return packet.has_info() || packet.has_device() || packet.has_others() ||
             packet.has_counters();
    });
    // More samples follow soon; otherwise, the event could be in any of the wraps until the end.
    const auto clocks =
        std::find_if(packets.begin(), packets.end(),
                     [](const proto::Packet& packet) { return packet.has_clocks(); });
    packets.push_back(LastSample(*clocks));
  }
  const Report report = ComputeReport(*LoadPackets(std::move(packets)));
  const auto findings = FindProblems(report);
  for (const Finding& finding : findings) UNSCOPED_INFO(finding.text);
  CHECK(findings.size() == (recorded ? 0 : 2));  // its ticks and its bytes
  for (const Law& law : report.laws) {
    if (law.name != "counters_and_commands") continue;
    CHECK(law.state == (recorded ? Law::State::kHolds : Law::State::kBroken));
    CHECK(law.checked == 20);  // none is undecided
  }
}

TEST_CASE("A correlation that changes on its way is a finding") {
  TraceBuilder builder = Trace(OneJob());
  std::vector<proto::Packet> packets = builder.Packets();
  for (proto::Packet& packet : packets) {
    if (packet.has_jobs()) packet.mutable_jobs()->set_correlation_delta(0, 77);
  }
  const Report report = ComputeReport(*LoadPackets(std::move(packets)));
  const auto law = std::find_if(report.laws.begin(), report.laws.end(),
                                [](const Law& l) { return l.name == "correlation"; });
  CHECK(law->state == Law::State::kBroken);
  CHECK(law->broken == 2);  // against the driver's, and the command's against it
}

TEST_CASE("Damage to the file is found and explains missing rows") {
  std::string bytes = Trace(OneJob()).Bytes();
  // Damages a packet in the middle, not the first one.
  bytes[bytes.size() / 2] ^= 0x40;
  auto reader = stream::Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  auto model = model::Load(reader->get());
  REQUIRE(model.ok());
  const Report report = ComputeReport(**model);
  const auto findings = FindProblems(report);
  CHECK(report.losses.damaged_stretches == 1);
  REQUIRE_FALSE(findings.empty());
  CHECK(findings[0].kind == "damage");
  for (const Finding& finding : findings) {
    INFO(finding.text);
    CHECK(finding.kind != "order");
  }
}

TEST_CASE("A recording without an end is reported") {
  std::string bytes = Trace(OneJob()).Bytes();
  bytes.resize(bytes.size() * 3 / 4);
  auto reader = stream::Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  auto model = model::Load(reader->get());
  REQUIRE(model.ok());
  const auto findings = FindProblems(ComputeReport(**model));
  CHECK(std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.text.find("no footer") != std::string::npos;
  }));
}

}  // namespace
}  // namespace acceltrace::analysis
