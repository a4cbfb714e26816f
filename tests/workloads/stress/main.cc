// SPDX-License-Identifier: Apache-2.0
//
// axl-stress: random programs (program.h) in several processes, threads and streams, on
// all devices. Exits 0 when every number was right, 1 otherwise, 2 on misuse.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/workloads/common/program.h"
#include "tests/workloads/stress/program.h"

using namespace acceltrace;             // NOLINT: a program
using namespace acceltrace::workloads;  // NOLINT

namespace {

constexpr uint32_t kMaxProcesses = 64;

struct Arguments {
  StressOptions program;
  uint32_t processes = 3, threads = 2;
  int devices = 0;  // 0 = all
};

// Shared with the children.
struct Outcome {
  StressStats stats;
  char error[512];
  bool no_context;  // the device had no context left: not an error of the program
  bool finished;
};

Status DeviceCount(int wanted, int* count) {
  AXL_TRY(axlGetDeviceCount(count));
  if (wanted > *count)
    return Status::Error("there are only " + std::to_string(*count) + " devices");
  if (wanted > 0) *count = wanted;
  return Status();
}

void RunThread(const Arguments& a, uint32_t process, uint32_t thread, int devices, Outcome& outcome,
               std::mutex& mutex) {
  StressOptions options = a.program;
  options.seed += 1000 * process + thread;
  StressProgram program(options);
  Status status =
      ToStatus(axlSetDevice(static_cast<int>((process + thread) % devices)), "axlSetDevice");
  if (status.ok()) status = program.Run();
  const std::lock_guard lock(mutex);
  const StressStats& stats = program.stats();
  outcome.stats.calls += stats.calls;
  outcome.stats.commands += stats.commands;
  outcome.stats.checked += stats.checked;
  outcome.stats.wrong += stats.wrong;
  if (status.ok()) return;
  outcome.no_context = axlPeekAtLastError() == axlErrorLimit;
  std::snprintf(outcome.error, sizeof outcome.error, "seed %u: %s", options.seed,
                status.message().c_str());
}

void RunProcess(const Arguments& a, uint32_t process, Outcome& outcome) {
  int devices = 0;
  if (const Status status = DeviceCount(a.devices, &devices); !status.ok()) {
    std::snprintf(outcome.error, sizeof outcome.error, "%s", status.message().c_str());
    return;
  }
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < a.threads; ++t)
    threads.emplace_back([&, t] { RunThread(a, process, t, devices, outcome, mutex); });
  for (std::thread& thread : threads) thread.join();
  outcome.finished = true;
}

Result<std::vector<Outcome>> RunProcesses(const Arguments& a) {
  const size_t bytes = a.processes * sizeof(Outcome);
  void* const shared =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return Status::Error("out of memory");
  auto* const outcomes = static_cast<Outcome*>(shared);
  std::vector<pid_t> children;
  for (uint32_t p = 0; p < a.processes; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      RunProcess(a, p, outcomes[p]);
      _exit(0);
    }
    if (child > 0) children.push_back(child);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  std::vector<Outcome> result(outcomes, outcomes + a.processes);
  munmap(shared, bytes);
  return result;
}

int Report(const std::vector<Outcome>& outcomes) {
  StressStats total;
  uint32_t failed = 0, without = 0;
  for (const Outcome& outcome : outcomes) {
    total.calls += outcome.stats.calls;
    total.commands += outcome.stats.commands;
    total.checked += outcome.stats.checked;
    total.wrong += outcome.stats.wrong;
    if (outcome.no_context) {
      ++without;
    } else if (outcome.error[0] || !outcome.finished) {
      ++failed;
      std::fprintf(stderr, "axl-stress: %s\n",
                   outcome.error[0] ? outcome.error : "a process died before its end");
    }
  }
  std::printf(
      "%zu processes, %llu calls, %llu commands, %llu cells checked, %llu wrong", outcomes.size(),
      static_cast<unsigned long long>(total.calls), static_cast<unsigned long long>(total.commands),
      static_cast<unsigned long long>(total.checked), static_cast<unsigned long long>(total.wrong));
  if (without) std::printf(", %u found no free context", without);
  std::printf("\n");
  return failed == 0 && total.wrong == 0 && total.checked > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app("Runs random programs with known results on the accelerators.");
  app.add_option("--processes", a.processes, "at once")
      ->check(CLI::Range(1u, kMaxProcesses))
      ->capture_default_str();
  app.add_option("--threads", a.threads, "in each process")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  app.add_option("--streams", a.program.streams, "of each thread")
      ->check(CLI::Range(1u, 16u))
      ->capture_default_str();
  app.add_option("--calls", a.program.calls, "of each thread")->capture_default_str();
  app.add_option("--seed", a.program.seed, "of the programs")->capture_default_str();
  app.add_option("--devices", a.devices, "how many to use; 0 = all")->capture_default_str();
  app.add_flag("--priorities", a.program.priorities, "streams of two priorities");
  if (const auto status = ParseArguments(app, argc, argv)) return *status;
  const auto outcomes = RunProcesses(a);
  if (!outcomes.ok()) return Fail("axl-stress", outcomes.status());
  return Report(*outcomes);
}
