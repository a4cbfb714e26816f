// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/host_jobs.h"

#include <random>
#include <unordered_map>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::model {
namespace {

// All fields of a job by a number, times not always there.
HostJob JobOf(uint64_t number) {
  std::mt19937_64 random(number);
  HostJob job;
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
    if (random() % 3 != 0) *field = static_cast<int64_t>(1'000'000'000 + number * 12'000);
  }
  return job;
}

bool Alike(const HostJob& a, const HostJob& b) {
  return a.submitted == b.submitted && a.context == b.context && a.queue == b.queue &&
         a.pid == b.pid && a.tid == b.tid && a.commands == b.commands && a.status == b.status &&
         a.sequence == b.sequence && a.correlation == b.correlation &&
         a.copy_bytes == b.copy_bytes && a.wait_correlation == b.wait_correlation &&
         a.submit_ns == b.submit_ns && a.doorbell_ns == b.doorbell_ns &&
         a.submit_end_ns == b.submit_end_ns && a.irq_ns == b.irq_ns &&
         a.complete_ns == b.complete_ns && a.wait_ns == b.wait_ns && a.wake_ns == b.wake_ns;
}

// `jobs` in order; of one in `late` something is said again, of any one before it.
void Compare(uint64_t jobs, uint64_t late, uint64_t seed) {
  std::mt19937_64 random(seed);
  HostJobs list;
  std::unordered_map<uint64_t, HostJob> plain;
  const auto key_of = [](uint64_t number) { return JobKey(number % 2, number + 1); };
  for (uint64_t number = 0; number < jobs; ++number) {
    *list.Get(key_of(number)) = JobOf(number);
    plain[key_of(number)] = JobOf(number);
    if (late == 0 || random() % late != 0) continue;
    const uint64_t before = random() % (number + 1);
    list.Get(key_of(before))->wake_ns = plain[key_of(before)].wake_ns =
        static_cast<int64_t>(number);
  }
  REQUIRE(list.size() == jobs);
  size_t different = 0;
  for (uint64_t number = 0; number < jobs; ++number) {
    const uint32_t row = list.Find(key_of(number));
    different += row != number || list.keys()[row] != key_of(number) ||
                 !Alike(list.At(row), plain[key_of(number)]);
  }
  CHECK(different == 0);
  // In no order: each chunk is unpacked so often that it stays so.
  for (int i = 0; i < 2'000 && jobs > 0; ++i) {
    const uint64_t number = random() % jobs;
    different += !Alike(list.At(list.Find(key_of(number))), plain[key_of(number)]);
  }
  CHECK(different == 0);
  CHECK(list.Find(JobKey(5, 5)) == HostJobs::kNone);
}

TEST_CASE("what the host says of jobs is kept, of those of long ago as well") {
  Compare(0, 0, 1);
  Compare(3, 0, 1);
  Compare(1'024, 0, 1);
  Compare(5'000, 0, 2);
  Compare(20'000, 0, 3);
  Compare(20'000, 3'000, 4);
  Compare(20'000, 50, 5);
}

}  // namespace
}  // namespace acceltrace::model
