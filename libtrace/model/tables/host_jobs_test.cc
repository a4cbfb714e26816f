// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/tables/host_jobs.h"

#include <random>
#include <type_traits>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::model {
namespace {

template <typename T>
using One = T;
using Job = HostJobFields<One>;

// Derives all fields of a job from a number; some times are absent.
Job JobOf(uint64_t number) {
  std::mt19937_64 random(number);
  Job job;
  job.submitted = random() % 8 != 0;
  for (uint32_t* field :
       {&job.context, &job.queue, &job.pid, &job.tid, &job.commands, &job.status}) {
    *field = static_cast<uint32_t>(random() % 3 == 0 ? random() : random() % 5);
  }
  for (uint64_t* field :
       {&job.sequence, &job.correlation, &job.copy_bytes, &job.wait_correlation}) {
    *field = random() % 3 == 0 ? random() : number;
  }
  for (int64_t* field : {&job.submit_ns, &job.doorbell_ns, &job.submit_end_ns, &job.irq_ns,
                         &job.complete_ns, &job.wait_ns, &job.wake_ns}) {
    *field = random() % 3 == 0 ? kNoTime : static_cast<int64_t>(1'000'000'000 + number * 12'000);
  }
  return job;
}

// Returns the fields of an unknown job.
Job NoJob() {
  Job job{};
  for (int64_t* field : {&job.submit_ns, &job.doorbell_ns, &job.submit_end_ns, &job.irq_ns,
                         &job.complete_ns, &job.wait_ns, &job.wake_ns}) {
    *field = kNoTime;
  }
  return job;
}

// Compares one field of the jobs in `rows` with what the list returns.
template <typename T, typename Field>
size_t CountWrong(const HostJobs& list, const std::vector<uint32_t>& rows,
                  const std::vector<Job>& expected, const Field& field) {
  std::vector<T> values(rows.size());
  std::vector<HostJobs::Stretch> stretches;
  HostJobs::FindStretches(rows.data(), rows.size(), &stretches);
  list.Read(field, stretches, values.data());
  size_t wrong = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    wrong += values[i] != field(rows[i] == HostJobs::kNone ? NoJob() : expected[rows[i]]);
  }
  return wrong;
}

size_t CountWrong(const HostJobs& list, const std::vector<uint32_t>& rows,
                  const std::vector<Job>& jobs) {
  size_t wrong = 0;
  const auto count = [&](const auto& field) {
    using T = std::decay_t<decltype(field(jobs[0]))>;
    wrong += CountWrong<T>(list, rows, jobs, field);
  };
#define FIELD(name) count([](const auto& of) -> const auto& { return of.name; })
  FIELD(submitted), FIELD(context), FIELD(queue), FIELD(pid), FIELD(tid), FIELD(commands);
  FIELD(status), FIELD(sequence), FIELD(correlation), FIELD(copy_bytes), FIELD(wait_correlation);
  FIELD(submit_ns), FIELD(doorbell_ns), FIELD(submit_end_ns), FIELD(irq_ns), FIELD(complete_ns);
  FIELD(wait_ns), FIELD(wake_ns);
#undef FIELD
  return wrong;
}

// Adds `jobs` jobs of some devices with rising numbers. One in `late` of them is followed by
// another event of any earlier job.
void Compare(uint64_t jobs, uint64_t late, uint64_t seed, uint64_t devices) {
  std::mt19937_64 random(seed);
  HostJobs list;
  std::vector<Job> plain;
  const auto key_of = [devices](uint64_t number) {
    return JobKey(static_cast<uint32_t>(number % devices), static_cast<uint32_t>(number + 1));
  };
  for (uint64_t number = 0; number < jobs; ++number) {
    plain.push_back(JobOf(number));
    const HostJobs::Place place = list.Get(key_of(number));
    EachHostJobField(*place.chunk, plain.back(),
                     [&](auto& values, const auto& value) { values[place.at] = value; });
    if (late == 0 || random() % late != 0) continue;
    const uint64_t before = random() % (number + 1);
    const HostJobs::Place again = list.Get(key_of(before));
    again.chunk->wake_ns[again.at] = plain[before].wake_ns = static_cast<int64_t>(number);
  }
  REQUIRE(list.size() == jobs);
  size_t different = 0;
  std::vector<uint32_t> rows;
  for (uint64_t number = 0; number < jobs; ++number) {
    rows.push_back(list.Find(key_of(number)));
    different += rows.back() != number || list.keys()[rows.back()] != key_of(number);
  }
  CHECK(different == 0);
  CHECK(CountWrong(list, rows, plain) == 0);
  // In random order, including unknown jobs.
  for (int i = 0; i < 2'000 && jobs > 0; ++i) {
    rows.push_back(random() % 8 == 0 ? HostJobs::kNone : static_cast<uint32_t>(random() % jobs));
  }
  CHECK(CountWrong(list, rows, plain) == 0);
  for (const uint32_t row : rows) {
    if (row == HostJobs::kNone) continue;
    const HostJobs::Times times = list.TimesOf(row);
    different += times.submit_ns != plain[row].submit_ns ||
                 times.doorbell_ns != plain[row].doorbell_ns ||
                 times.complete_ns != plain[row].complete_ns;
  }
  CHECK(different == 0);
  CHECK(list.Find(JobKey(5, 5)) == HostJobs::kNone);
  if (late == 0) CHECK(list.in_order());
  if (!list.in_order()) return;
  Column<uint64_t> sequence;
  list.Take(
      [](auto& of) -> auto& { return of.sequence; }, &sequence);
  REQUIRE(sequence.size() == jobs);
  for (uint64_t row = 0; row < jobs; ++row) different += sequence[row] != plain[row].sequence;
  CHECK(different == 0);
}

TEST_CASE("what the host says of jobs is kept, of those of long ago as well") {
  for (const uint64_t devices : {1, 2}) {
    Compare(0, 0, 1, devices);
    Compare(3, 0, 1, devices);
    Compare(1'024, 0, 1, devices);
    Compare(5'000, 0, 2, devices);
    Compare(20'000, 0, 3, devices);
    Compare(20'000, 3'000, 4, devices);
    Compare(20'000, 50, 5, devices);
  }
}

}  // namespace
}  // namespace acceltrace::model
