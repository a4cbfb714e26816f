// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider/provider_events.h"

#include <set>
#include <tuple>

#include "daemon/testing/fake_perf_ring.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr uint16_t kSubmitId = 7, kCompleteId = 8;
constexpr uint32_t kTracked = 10, kOther = 11, kKernel = 12;
using Task = FakePerfRing::Task;

struct Samples : PerfRing::Sink {
  void OnSample(const PerfSample& sample) override {
    samples.push_back(sample);
    raws.emplace_back(sample.raw);
  }
  void OnLost(uint64_t count, int64_t time_ns) override { lost.emplace_back(count, time_ns); }
  void OnBad() override { ++bad; }
  std::vector<PerfSample> samples;
  std::vector<std::string> raws;
  std::vector<std::pair<uint64_t, int64_t>> lost;
  int bad = 0;
};

void Read(FakePerfRing* ring, PerfRing::Sink* sink, size_t limit = SIZE_MAX) {
  ring->tail =
      PerfRing(ring->data(), FakePerfRing::kBytes).Read(ring->tail, ring->head, limit, sink);
}

TEST_CASE("samples are read across the ring's end, and what was lost before them") {
  FakePerfRing ring;
  Samples got;
  for (int i = 0; i < 40; ++i) {
    ring.Sample(i, {1, 2}, std::string(static_cast<size_t>(i), 'x'));
    if (i == 20) ring.Lost(5, 1000);
    if (i == 30) ring.Record(PERF_RECORD_THROTTLE, std::string(40, 't'));
    Read(&ring, &got);
  }
  CHECK(got.bad == 0);
  REQUIRE(got.samples.size() == 40);
  for (size_t i = 0; i < 40; ++i) {
    CHECK(got.samples[i].time_ns == static_cast<int64_t>(i));
    CHECK(got.raws[i].substr(0, i) == std::string(i, 'x'));
  }
  CHECK(got.samples[0].tid == 2);
  REQUIRE(got.lost.size() == 1);
  CHECK(got.lost[0] == std::pair<uint64_t, int64_t>(5, 1000));
}

TEST_CASE("so many records are read at once") {
  FakePerfRing ring;
  Samples got;
  for (int i = 0; i < 4; ++i) ring.Sample(i, {}, "abcd");
  Read(&ring, &got, 3);
  CHECK(got.samples.size() == 3);
  CHECK(ring.tail != ring.head);
  Read(&ring, &got, 3);
  CHECK(got.samples.size() == 4);
}

TEST_CASE("records that no kernel writes are refused") {
  FakePerfRing ring;
  Samples got;
  SECTION("a length of nothing") { ring.Record(PERF_RECORD_SAMPLE, "", -8); }
  SECTION("a length that is no multiple of eight") {
    ring.Record(PERF_RECORD_SAMPLE, "12345678", -4);
  }
  SECTION("a length beyond what was written") { ring.Record(PERF_RECORD_SAMPLE, "12345678", 8); }
  SECTION("less than a header") { ring.head = 4; }
  SECTION("more than the ring holds") { ring.head = FakePerfRing::kBytes + 8; }
  SECTION("a sample that ends too early") {
    ring.Record(PERF_RECORD_SAMPLE, std::string(16, '\0'));
  }
  SECTION("a tracepoint's record beyond the sample") {
    ring.Record(PERF_RECORD_SAMPLE, std::string(16, '\0') + std::string(16, '\x7f'));
  }
  SECTION("bytes behind a sample") { ring.Record(PERF_RECORD_SAMPLE, std::string(64, '\0')); }
  SECTION("a time before time") { ring.Sample(-1, {}, "abcd"); }
  SECTION("a loss without a time") { ring.Record(PERF_RECORD_LOST, std::string(24, '\0')); }
  Read(&ring, &got);
  CHECK(got.bad == 1);
  CHECK(got.samples.empty());
  CHECK(ring.tail == ring.head);
}

FieldPlace Number(uint32_t offset, uint64_t mask) { return {mask, offset, FieldPlace::kNumber}; }

// Records: id (2), unit (2), queue (4), job (2), opcode (1), -, count (4), name's place (4), name.
std::string Record(uint16_t id, uint16_t job, uint32_t queue = 1, uint16_t unit = 3,
                   const std::string& name = "0000:00:05.0") {
  std::string raw;
  FakePerfRing::Add(&raw, id);
  FakePerfRing::Add(&raw, unit);
  FakePerfRing::Add(&raw, queue);
  FakePerfRing::Add(&raw, job);
  FakePerfRing::Add(&raw, uint16_t{2});  // opcode
  FakePerfRing::Add(&raw, uint32_t{7});
  FakePerfRing::Add(&raw, static_cast<uint32_t>((name.size() + 1) << 16 | 20));
  return raw + name + '\0';
}

struct Fixture : ProviderSink {
  explicit Fixture(bool system_wide = false, bool kernel_threads = true)
      : matcher(system_wide, kernel_threads, this) {
    RoleConfig role;
    role.device = 16;
    role.queue = Number(4, 0xffffffff);
    role.job = Number(8, 0xffff);
    role.opcode = Number(10, 0xff);
    role.bytes = Number(12, 0xffffffff);
    role.bytes_add = 1;
    role.bytes_times = 512;
    role.bytes_opcodes[0] = 1 << 2;
    role.where.resize(1);
    role.where[0].place = Number(2, 0xffff);
    role.where[0].number = 3;
    submit = role;
    matcher.AddRole(kSubmitId, role);
    role.role = RoleConfig::kComplete;
    role.status = Number(12, 0xffff);
    matcher.AddRole(kCompleteId, role);
  }
  bool IsTracked(uint32_t pid) override { return ++asked, pid == kTracked; }
  bool IsKernelThread(uint32_t pid) override { return pid == kKernel; }
  bool WasTracked(uint32_t pid, int64_t time_ns, bool now) override {
    return now || (pid == left_pid && time_ns < left_ns);
  }
  void OnProviderEvent(const HostEvent& event) override { rows.push_back(event); }
  void OnProviderLoss(uint64_t count, int64_t first_ns, int64_t last_ns) override {
    lost += count;
    lost_first_ns = first_ns;
    lost_last_ns = last_ns;
  }
  bool Take(int64_t time_ns, const std::string& raw, uint32_t pid = kTracked, uint32_t cpu = 0) {
    return matcher.Take({time_ns, pid, pid, raw}, cpu);
  }

  ProviderMatcher matcher;
  RoleConfig submit;
  std::vector<HostEvent> rows;
  int asked = 0;
  uint64_t lost = 0;
  uint32_t left_pid = 0;
  int64_t left_ns = 0, lost_first_ns = 0, lost_last_ns = 0;
};

TEST_CASE("a completion that is read before its submission has it all the same") {
  Fixture f;
  CHECK(f.Take(300, Record(kCompleteId, 5), kOther, 1));
  CHECK(f.Take(200, Record(kSubmitId, 5)));
  f.matcher.Match(250);
  REQUIRE(f.rows.size() == 1);  // the other one is later
  CHECK(f.matcher.pending() == 1);
  f.matcher.Match(300);
  REQUIRE(f.rows.size() == 2);
  CHECK(f.rows[0].kind == proto::HostBatch::KIND_SUBMIT);
  CHECK(f.rows[0].time_ns == 200);
  CHECK(f.rows[0].device == 16);
  CHECK(f.rows[0].queue == 1);
  CHECK(f.rows[0].job == 1);
  CHECK(f.rows[0].arg0 == (1 | uint64_t{2 + 1} << 32));
  CHECK(f.rows[0].arg1 == 8 * 512);
  CHECK(f.rows[1].kind == proto::HostBatch::KIND_COMPLETE);
  CHECK(f.rows[1].pid == kTracked);  // that of the submitter
  CHECK(f.rows[1].cpu == 1);
  CHECK(f.rows[1].arg0 == 7);
  CHECK(f.matcher.taken() == 2);
  CHECK(f.matcher.rows() == 2);
}

TEST_CASE("each of many jobs of one name has its own completion") {
  Fixture f;
  for (int64_t i = 0; i < 100; ++i) f.Take(10 * i + 5, Record(kCompleteId, 5), kOther, 1);
  for (int64_t i = 0; i < 100; ++i) f.Take(10 * i, Record(kSubmitId, 5));
  f.matcher.Match(INT64_MAX);
  REQUIRE(f.rows.size() == 200);
  for (size_t i = 0; i < 200; ++i) CHECK(f.rows[i].job == i / 2 + 1);
  CHECK(f.asked == 1);  // once for each process
}

TEST_CASE("jobs are those of recorded processes and of kernel threads") {
  Fixture all(true), root, owned(false, false);
  for (Fixture* f : {&all, &root, &owned}) {
    f->left_pid = 20;
    f->left_ns = 100;
    f->Take(50, Record(kSubmitId, 1));
    f->Take(50, Record(kSubmitId, 2), kOther);
    f->Take(50, Record(kSubmitId, 3), kKernel);
    f->Take(50, Record(kSubmitId, 4), 20);   // was recorded then
    f->Take(150, Record(kSubmitId, 5), 20);  // no longer recorded
    for (uint16_t job = 1; job <= 5; ++job) f->Take(200, Record(kCompleteId, job), kOther);
    f->matcher.Match(200);
  }
  const auto pids = [](const Fixture& f) {
    std::multiset<uint32_t> found;
    for (const HostEvent& row : f.rows) found.insert(row.pid);
    return found;
  };
  CHECK(all.rows.size() == 10);
  CHECK(pids(root) == std::multiset<uint32_t>{10, 10, 12, 12, 20, 20});
  CHECK(pids(owned) == std::multiset<uint32_t>{10, 10, 20, 20});
}

TEST_CASE("a thread in the kernel that works for a process is that process's") {
  Fixture f;
  f.matcher.Take({10, kKernel, kKernel + 1, Record(kSubmitId, 1)}, 0);
  f.matcher.Take({10, kKernel, kKernel, Record(kSubmitId, 2)}, 0);
  f.matcher.Match(10);
  CHECK(f.rows.size() == 1);
}

TEST_CASE("conditions are those of the role") {
  Fixture f(true);
  const auto rows_of = [&](const std::string& raw) {
    f.rows.clear();
    CHECK(f.Take(1, raw));
    f.matcher.Match(1);
    return f.rows.size();
  };
  CHECK(rows_of(Record(kSubmitId, 1)) == 1);
  CHECK(rows_of(Record(kSubmitId, 1, 1, 4)) == 0);
  RoleConfig role = f.submit;
  role.where.resize(3);
  role.where[1].place = Number(4, 0xff);
  role.where[1].unequal = true;
  role.where[2].place = {0, 16, FieldPlace::kTextElsewhere};
  role.where[2].text = "a text of fifte";
  f.matcher.AddRole(70, role);
  CHECK(rows_of(Record(70, 1, 1, 3, "a text of fifteen and more")) == 1);
  CHECK(rows_of(Record(70, 1, 1, 3, "a text of fift")) == 0);
  CHECK(rows_of(Record(70, 1, 0x100, 3, "a text of fifte")) == 0);
  role.where[2].place = {0, 20, FieldPlace::kText};
  f.matcher.AddRole(71, role);
  CHECK(rows_of(Record(71, 1, 1, 3, "a text of fifteen and more")) == 1);
}

TEST_CASE("a record without its fields is refused") {
  Fixture f(true);
  CHECK_FALSE(f.Take(1, ""));
  CHECK_FALSE(f.Take(1, Record(99, 1)));
  for (size_t bytes = 1; bytes < 16; ++bytes) {
    CHECK_FALSE(f.Take(1, Record(kSubmitId, 1).substr(0, bytes)));
  }
  CHECK(f.Take(1, Record(kSubmitId, 1).substr(0, 16)));
  CHECK(f.matcher.taken() == 1);
  CHECK(f.matcher.pending() == 1);
}

TEST_CASE("what a job waits for is another job that is under way") {
  Fixture f;
  RoleConfig role = f.submit;
  role.role = RoleConfig::kDependency;
  role.waits_for = Number(12, 0xff);
  role.waits_for_queue = Number(16, 0xffff);  // 20
  f.matcher.AddRole(9, role);
  f.Take(10, Record(kSubmitId, 7, 20));
  f.Take(20, Record(kSubmitId, 5));
  f.Take(21, Record(9, 5));  // on job 7 of queue 20
  f.Take(22, Record(9, 6));  // on a nonexistent job
  f.Take(30, Record(kCompleteId, 7, 20));
  f.Take(40, Record(kSubmitId, 6));
  f.Take(41, Record(9, 6));  // on a completed job
  f.matcher.Match(50);
  REQUIRE(f.rows.size() == 5);
  CHECK(f.rows[2].kind == proto::HostBatch::KIND_DEPENDENCY);
  CHECK(f.rows[2].job == 2);
  CHECK(f.rows[2].arg0 == 1);
  CHECK(f.matcher.taken() == 7);
}

TEST_CASE("jobs beyond the limit are counted as lost") {
  Fixture f(true);
  const auto jobs = static_cast<uint32_t>(kMaxProviderJobs);
  for (uint32_t i = 0; i < jobs + 3; ++i) f.Take(i, Record(kSubmitId, 1, i));
  f.matcher.Match(INT64_MAX);
  CHECK(f.rows.size() == jobs);
  CHECK(f.lost == 3);
  CHECK(f.matcher.no_room() == 3);
  CHECK(f.lost_first_ns == jobs);
  CHECK(f.lost_last_ns == jobs + 2);
  f.Take(jobs + 10, Record(kCompleteId, 1, 0));
  f.Take(jobs + 11, Record(kSubmitId, 1, 0));
  f.matcher.Match(INT64_MAX);
  CHECK(f.rows.size() == jobs + 2);
  CHECK(f.lost == 3);
}

TEST_CASE("a job whose completion is missing does not get another's") {
  Fixture f;
  f.Take(1, Record(kSubmitId, 5));
  f.Take(2, Record(kSubmitId, 5), kOther);
  f.Take(3, Record(kCompleteId, 5));
  f.matcher.Match(3);
  REQUIRE(f.rows.size() == 1);
  CHECK(f.rows[0].kind == proto::HostBatch::KIND_SUBMIT);
  CHECK(f.matcher.unfinished() == 1);
  CHECK(f.matcher.late() == 0);
}

// kind, time and job of each row.
using Row = std::tuple<uint32_t, int64_t, uint32_t>;
constexpr uint32_t kS = proto::HostBatch::KIND_SUBMIT, kC = proto::HostBatch::KIND_COMPLETE;

std::vector<Row> RowsOf(const Fixture& f) {
  std::vector<Row> rows;
  for (const HostEvent& row : f.rows) rows.emplace_back(row.kind, row.time_ns, row.job);
  return rows;
}

TEST_CASE("a completion that comes after its name was given again is its job's") {
  Fixture f;
  f.Take(10, Record(kSubmitId, 5));
  f.Take(30, Record(kSubmitId, 5));
  f.matcher.Match(40);
  f.Take(20, Record(kCompleteId, 5), kOther, 1);  // another CPU was delayed
  f.Take(50, Record(kCompleteId, 5), kOther);
  f.matcher.Match(60);
  CHECK(RowsOf(f) == std::vector<Row>{{kS, 10, 1}, {kS, 30, 2}, {kC, 20, 1}, {kC, 50, 2}});
  CHECK(f.matcher.late() == 1);
  CHECK(f.matcher.unfinished() == 0);
  CHECK(f.lost == 0);
}

TEST_CASE("a late completion of a job that is not recorded is nobody's") {
  Fixture f;
  f.Take(10, Record(kSubmitId, 5), kOther);
  f.Take(30, Record(kSubmitId, 5));
  f.matcher.Match(40);
  f.Take(20, Record(kCompleteId, 5));
  f.Take(50, Record(kCompleteId, 5));
  f.matcher.Match(60);
  CHECK(RowsOf(f) == std::vector<Row>{{kS, 30, 1}, {kC, 50, 1}});
  // A submission that is not recorded does not complete a recorded job, either.
  f.Take(70, Record(kSubmitId, 6));
  f.Take(80, Record(kSubmitId, 6), kOther);
  f.matcher.Match(90);
  f.Take(85, Record(kCompleteId, 6));
  f.matcher.Match(95);
  CHECK(f.rows.size() == 3);
  CHECK(f.matcher.unfinished() == 1);
}

TEST_CASE("late submissions find the completions that came before them") {
  Fixture f;
  f.Take(50, Record(kCompleteId, 5), kOther, 1);
  f.Take(52, Record(kSubmitId, 7));
  f.matcher.Match(60);
  f.Take(40, Record(kSubmitId, 5));  // completed
  f.Take(41, Record(kSubmitId, 6));  // not completed yet
  f.Take(42, Record(kSubmitId, 7));  // not completed yet, and its name was reused
  f.matcher.Match(60);
  f.Take(45, Record(kCompleteId, 7));
  f.Take(70, Record(kCompleteId, 6));
  f.Take(71, Record(kCompleteId, 7));
  f.matcher.Match(80);
  CHECK(RowsOf(f) == std::vector<Row>{{kS, 52, 1},
                                      {kS, 40, 2},
                                      {kC, 50, 2},
                                      {kS, 41, 3},
                                      {kS, 42, 4},
                                      {kC, 45, 4},
                                      {kC, 70, 3},
                                      {kC, 71, 1}});
  CHECK(f.matcher.late() == 4);
  CHECK(f.matcher.late_lost() == 0);
  CHECK(f.matcher.unfinished() == 0);
}

TEST_CASE("a late submission that may have either of two completions is lost, and counted") {
  Fixture f;
  f.Take(20, Record(kCompleteId, 5));
  f.Take(40, Record(kCompleteId, 5));
  f.matcher.Match(50);
  f.Take(10, Record(kSubmitId, 5));
  f.matcher.Match(50);
  CHECK(f.rows.empty());
  CHECK(f.matcher.late_lost() == 1);
  CHECK(f.lost == 1);
  CHECK(f.lost_first_ns == 10);
}

TEST_CASE("at one moment a completion is before the next submission of its name") {
  Fixture f;
  f.Take(10, Record(kSubmitId, 5));
  f.Take(20, Record(kSubmitId, 5));
  f.Take(20, Record(kCompleteId, 5), kOther, 1);
  f.Take(30, Record(kCompleteId, 5));
  f.matcher.Match(30);
  CHECK(RowsOf(f) == std::vector<Row>{{kS, 10, 1}, {kS, 20, 2}, {kC, 20, 1}, {kC, 30, 2}});
  CHECK(f.matcher.late() == 0);
}

TEST_CASE("of jobs whose name was given again so many are remembered") {
  Fixture f;
  const auto many = static_cast<uint32_t>(kMaxReplacedJobs) + 10;
  for (uint32_t i = 0; i <= many; ++i) f.Take(i, Record(kSubmitId, 5));
  f.matcher.Match(INT64_MAX);
  CHECK(f.matcher.unfinished() == many);
  CHECK(f.matcher.unfinished_since_ns() == 0);
  f.Take(many - 1, Record(kCompleteId, 5));
  f.Take(5, Record(kCompleteId, 5));  // dropped
  f.matcher.Match(INT64_MAX);
  CHECK(f.matcher.unfinished() == many - 1);
  CHECK(f.rows.back().job == many - 1);  // completed when the next one began
}

}  // namespace
}  // namespace acceltrace::daemon
