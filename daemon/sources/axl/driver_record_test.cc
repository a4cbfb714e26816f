// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/driver_record.h"

#include <optional>

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kKhz = 2'000'000;  // two ticks per nanosecond

axl_host_record Job() {
  axl_host_record record = {};
  axl_rec_host_job& job = record.host_job;
  job.h.type = AXL_REC_HOST_JOB;
  job.h.queue = 3;
  job.h.context = 2;
  job.h.time = 9'000;
  job.seq = 17;
  job.correlation = uint64_t{77} << 32 | 5;
  job.submit = 1'000;
  job.doorbell = 1'400;
  job.submit_end = 1'500;
  job.doorbell_ns = 50'000;
  job.irq = 8'800;
  job.anchor = 8'000;
  job.anchor_ns = 60'000;
  job.job = 42;
  job.num_cmds = 8;
  job.submit_cpu = 1;
  job.pid = 77;
  job.tid = 78;
  job.cpu = 0;
  return record;
}

std::optional<DriverRecord> Read(const axl_host_record& record, uint32_t device,
                                 uint32_t stamp_khz) {
  DriverRecord read;
  if (!ReadDriverRecord(record, device, stamp_khz, &read)) return {};
  return read;
}

TEST_CASE("stamps of a job become times by the ones beside them that are known") {
  const auto read = Read(Job(), 4, kKhz);
  REQUIRE(read);
  CHECK(read->kind == DriverRecord::Kind::kJob);
  CHECK(read->context == 2);
  CHECK(read->job.submit_ns == 49'800);
  CHECK(read->job.doorbell_ns == 50'000);
  CHECK(read->job.submit_end_ns == 50'050);
  CHECK(read->job.irq_ns == 60'400);
  CHECK(read->job.h.time_ns == 60'500);
  CHECK(read->job.where == (uint64_t{4} | uint64_t{2} << 16 | uint64_t{3} << 32));
  CHECK(read->job.job_cmds == (uint64_t{42} | uint64_t{8} << 32 | uint64_t{1} << 48));
}

TEST_CASE("without a TSC stamps are times") {
  axl_host_record record = Job();
  record.host_job.doorbell = record.host_job.doorbell_ns = 1'400;
  record.host_job.anchor = record.host_job.anchor_ns = 8'000;
  const auto read = Read(record, 0, 0);
  REQUIRE(read);
  CHECK(read->job.submit_ns == 1'000);
  CHECK(read->job.irq_ns == 8'800);
  CHECK(read->job.h.time_ns == 9'000);
}

TEST_CASE("what was not known stays unknown") {
  axl_host_record record = Job();
  axl_rec_host_job& job = record.host_job;
  job.h.time = job.submit = job.doorbell = job.submit_end = job.doorbell_ns = job.irq = 0;
  job.status = 0xffffffff;
  const auto read = Read(record, 0, kKhz);
  REQUIRE(read);
  CHECK(read->job.submit_ns == 0);
  CHECK(read->job.submit_end_ns == 0);
  CHECK(read->job.irq_ns == 0);
  CHECK(read->job.h.time_ns == 0);
  CHECK(read->job.where >> 48 == 0xffff);
}

TEST_CASE("records of no known type, queue or context are refused") {
  axl_host_record record = Job();
  record.h.type = AXL_REC_CMD;
  CHECK(!Read(record, 0, kKhz));
  record = Job();
  record.h.queue = AXL_MAX_QUEUES;
  CHECK(!Read(record, 0, kKhz));
  record = Job();
  record.h.context = AXL_MAX_CONTEXTS;
  CHECK(!Read(record, 0, kKhz));
}

TEST_CASE("a wait is read as it is") {
  axl_host_record record = {};
  axl_rec_host_wait& wait = record.host_wait;
  wait.h.type = AXL_REC_HOST_WAIT;
  wait.h.time = 900;
  wait.wait_ns = 500;
  wait.wait_correlation = 6;
  wait.job = 42;
  wait.status = 0xffffffff;
  wait.tid = 78;
  const auto read = Read(record, 4, kKhz);
  REQUIRE(read);
  CHECK(read->kind == DriverRecord::Kind::kWait);
  CHECK(read->wake.h.time_ns == 900);
  CHECK(read->wake.wait_ns == 500);
  CHECK(read->wake.wait_correlation == 6);
  CHECK(read->wake.status == 0xffffffff);
  CHECK(read->wake.h.extra == 4);
}

}  // namespace
}  // namespace acceltrace::daemon
