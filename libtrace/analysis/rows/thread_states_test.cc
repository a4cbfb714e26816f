// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/thread_states.h"

#include <string>

#include "tests/catch.h"

namespace acceltrace::analysis {
namespace {

using Row = proto::ThreadRunBatch;

// Rows of one thread, as the recorder would write them.
struct Runs {
  model::Model model;
  model::ThreadRuns& runs = model.system.runs;

  // The thread is in state `away` from away_ns on, runnable from ready_ns on, and on a CPU from
  // begin_ns to end_ns.
  void Add(uint32_t away, int64_t away_ns, int64_t ready_ns, int64_t begin_ns, int64_t end_ns,
           uint32_t left, uint32_t tid = 7) {
    runs.begin_ns.push_back(begin_ns);
    runs.end_ns.push_back(end_ns);
    runs.pid.push_back(7);
    runs.tid.push_back(tid);
    runs.cpu.push_back(static_cast<uint32_t>(runs.size() % 2));
    runs.away.push_back(static_cast<uint8_t>(away));
    runs.left.push_back(static_cast<uint8_t>(left));
    runs.away_ns.push_back(static_cast<uint64_t>(begin_ns - away_ns));
    runs.ready_ns.push_back(static_cast<uint64_t>(begin_ns - ready_ns));
    for (auto* column : {&runs.waker_pid, &runs.waker_tid, &runs.wait}) column->push_back(0);
    for (auto* column : {&runs.waker_irq, &runs.began_before}) column->push_back(0);
    runs.charged_ns.push_back(static_cast<uint64_t>(end_ns - begin_ns));
    runs.minor_faults.push_back(2);
    runs.major_faults.push_back(1);
    runs.migrations.push_back(0);
    runs.voluntary.push_back(left == Row::STATE_RUNNABLE ? 0 : 1);
    runs.involuntary.push_back(left == Row::STATE_RUNNABLE ? 1 : 0);
  }

  // "sleeping 0-10, running 10-20"
  std::string Text() const {
    std::string text;
    for (const ThreadInterval& at : ThreadIntervals(runs, 0, static_cast<uint32_t>(runs.size()))) {
      text += (text.empty() ? "" : ", ") + std::string(ThreadStateName(at.state)) + " " +
              std::to_string(at.begin_ns) + "-" + std::to_string(at.end_ns);
    }
    return text;
  }
};

TEST_CASE("runs and what was before them follow each other") {
  Runs t;
  t.Add(Row::STATE_SLEEPING, 0, 8, 10, 20, Row::STATE_BLOCKED);
  t.Add(Row::STATE_BLOCKED, 20, 30, 31, 40, Row::STATE_RUNNABLE);
  t.Add(Row::STATE_RUNNABLE, 40, 40, 45, 50, Row::STATE_ENDED);
  CHECK(t.Text() ==
        "sleeping 0-8, runnable 8-10, running 10-20, blocked 20-30, runnable 30-31, "
        "running 31-40, runnable 40-45, running 45-50");
}

TEST_CASE("a row that was lost is a stretch that nothing is known of") {
  Runs t;
  t.Add(Row::STATE_SLEEPING, 0, 8, 10, 20, Row::STATE_SLEEPING);
  t.Add(Row::STATE_BLOCKED, 90, 95, 96, 100, Row::STATE_SLEEPING);
  CHECK(t.Text() ==
        "sleeping 0-8, runnable 8-10, running 10-20, unknown 20-90, blocked 90-95, "
        "runnable 95-96, running 96-100");
  // The beginning of the first row is not guessed, either.
  Runs first;
  first.Add(Row::STATE_UNKNOWN, 5, 5, 10, 20, Row::STATE_SLEEPING);
  CHECK(first.Text() == "runnable 5-10, running 10-20");
}

TEST_CASE("rows that overlap are cut, none counts twice") {
  Runs t;
  t.Add(Row::STATE_SLEEPING, 0, 8, 10, 20, Row::STATE_SLEEPING);
  t.Add(Row::STATE_SLEEPING, 5, 12, 15, 30, Row::STATE_SLEEPING);
  CHECK(t.Text() == "sleeping 0-8, runnable 8-10, running 10-20, running 20-30");
}

TEST_CASE("a thread as it was at a snapshot gives way to what it went on to do") {
  Runs t;
  t.Add(Row::STATE_SLEEPING, 0, 8, 10, 15, Row::STATE_RUNNING);  // a snapshot at 15
  t.Add(Row::STATE_SLEEPING, 0, 8, 10, 20, Row::STATE_SLEEPING);
  t.Add(Row::STATE_SLEEPING, 20, 25, 25, 25, Row::STATE_SLEEPING);  // another, asleep at 25
  t.Add(Row::STATE_SLEEPING, 20, 30, 31, 40, Row::STATE_SLEEPING);
  const std::string whole =
      "sleeping 0-8, runnable 8-10, running 10-20, sleeping 20-30, runnable 30-31, running 31-40";
  CHECK(t.Text() == whole);
  // It stays asleep until the end of the recording.
  t.Add(Row::STATE_SLEEPING, 40, 60, 60, 60, Row::STATE_SLEEPING);
  CHECK(t.Text() == whole + ", sleeping 40-60");
}

TEST_CASE("a thread number that is used again leaves no gap between its threads") {
  Runs t;
  t.Add(Row::STATE_RUNNABLE, 0, 0, 10, 20, Row::STATE_ENDED);
  t.Add(Row::STATE_RUNNABLE, 90, 90, 95, 100, Row::STATE_ENDED);
  CHECK(t.Text() == "runnable 0-10, running 10-20, runnable 90-95, running 95-100");
}

TEST_CASE("use by thread adds up to its time") {
  Runs t;
  t.Add(Row::STATE_SLEEPING, 0, 8, 10, 20, Row::STATE_SLEEPING, 7);
  t.Add(Row::STATE_SLEEPING, 30, 35, 39, 60, Row::STATE_RUNNABLE, 7);
  t.Add(Row::STATE_RUNNABLE, 0, 0, 5, 100, Row::STATE_ENDED, 8);
  const Listed<ThreadUse> listed = ComputeThreadUse(t.model);
  const std::vector<ThreadUse>& uses = listed.first;
  REQUIRE(uses.size() == 2);
  CHECK(listed.all == 2);
  CHECK(uses[0].tid == 8);  // the most time on CPUs first
  CHECK(uses[0].Ns(ThreadState::kRunning) == 95);
  const ThreadUse& use = uses[1];
  int64_t all_ns = 0;
  for (const int64_t ns : use.ns) all_ns += ns;
  CHECK(all_ns == use.end_ns - use.begin_ns);
  CHECK(use.Ns(ThreadState::kUnknown) == 10);
  CHECK(use.Ns(ThreadState::kSleeping) == 13);
  CHECK(use.Ns(ThreadState::kRunnable) == 6);
  CHECK(use.longest_runnable_ns == 4);
  CHECK(use.longest_runnable_at_ns == 35);
  CHECK(use.runs == 2);
  CHECK(use.cpus == 2);
  CHECK(use.minor_faults == 4);
  CHECK(use.major_faults == 2);
  CHECK(use.voluntary == 1);
  CHECK(use.involuntary == 1);
  REQUIRE(use.waits.size() == 1);
  CHECK(use.waits[0].count == 2);
  CHECK(use.waits[0].longest_ns == 8);
}

TEST_CASE("the foremost of many are those that sorting all of them gives") {
  const auto before = [](const std::pair<int, int>& a, const std::pair<int, int>& b) {
    return a.first > b.first;
  };
  for (const int count : {0, 1, 4096, 4097, 8192, 50'000}) {
    Foremost<std::pair<int, int>, decltype(before)> foremost(before);
    std::vector<std::pair<int, int>> all;
    for (int i = 0; i < count; ++i) {
      all.emplace_back(i * 7919 % 1000, i);  // many are equal
      foremost.Add(all.back());
    }
    std::stable_sort(all.begin(), all.end(), before);
    if (all.size() > kMostListed) all.resize(kMostListed);
    const auto listed = foremost.Done();
    CHECK(listed.all == static_cast<size_t>(count));
    CHECK(listed.first == all);
    CHECK(listed.left_out() == static_cast<size_t>(count) - all.size());
  }
}

}  // namespace
}  // namespace acceltrace::analysis
