// SPDX-License-Identifier: Apache-2.0
//
// Runs the device under ASan and UBSan with the traffic of fuzz.h.
//
//   device [-max_total_time=S] [--ops=N] [--seed=N] [CORPUS...]
//
// Runs the seeds of the corpus (files with a number each), then new ones from --seed on, each in a
// machine of its own, until the time or the operations are used up. Other libFuzzer arguments are
// ignored. Fails if QEMU dies or stops answering, a device no longer works, the device leaked
// memory, or QEMU grew beyond a limit.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "qemu-device/tests/fuzz.h"

namespace {

namespace fs = std::filesystem;
using acceltrace::device::Fuzz;

constexpr uint64_t kOpsPerMachine = 20000, kSeedOps = 3000;
constexpr uint64_t kPeakLimit = 900ull << 20;  // 128 MiB of guest, 3 devices of 36 MiB, sanitizers

struct Now {
  uint64_t seed = 0, runs = 0, ops = 0, completions = 0, peak = 0;
  bool running = false;
  fs::path logs;
} now;

// The text of each sanitizer report of this run.
std::vector<std::string> Reports() {
  std::vector<std::string> out;
  for (const auto& file : fs::directory_iterator(now.logs)) {
    std::ifstream in(file.path());
    std::stringstream text;
    text << in.rdbuf();
    out.push_back(text.str());
  }
  return out;
}

void OnExit() {
  if (!now.running) return;
  for (const std::string& text : Reports()) std::fputs(text.c_str(), stderr);
  std::fprintf(
      stderr,
      "device fuzzer: failed with seed %llu; again: build/fuzz/device --ops=1 --seed=%llu\n",
      static_cast<unsigned long long>(now.seed), static_cast<unsigned long long>(now.seed));
  std::error_code ignored;
  fs::remove_all(now.logs, ignored);
}

[[noreturn]] void Fail(const char* why) {
  std::fprintf(stderr, "device fuzzer: %s\n", why);
  std::exit(1);
}

// Whether the leaked allocation came through the device; QEMU's own leaks do not count.
bool LeakedHere(const std::string& text) {
  bool found = false;
  size_t at = 0;
  while ((at = text.find("leak of", at)) != std::string::npos) {
    size_t end = text.find("\n\n", at);
    std::string block = text.substr(at, end == std::string::npos ? end : end - at);
    // An allocation that QOM made while the type was set up belongs to the type.
    if (block.find("axl-asan.so") != std::string::npos ||
        block.find("qemu-device/") != std::string::npos) {
      std::fprintf(stderr, "%s\n\n", block.c_str());
      found = true;
    }
    at += 7;
  }
  return found;
}

void RunSeed(uint64_t seed, uint64_t ops) {
  now.seed = seed;
  for (const auto& file : fs::directory_iterator(now.logs)) fs::remove(file.path());
  Fuzz fuzz(seed);
  uint64_t done = fuzz.Run(ops);
  if (!fuzz.StillWorks()) Fail("a device does not work any more after a reset");
  uint64_t peak = fuzz.PeakBytes();
  if (peak > now.peak) now.peak = peak;
  if (peak > kPeakLimit) Fail("QEMU has grown beyond its limit");
  now.completions += fuzz.completions();
  int status = fuzz.Quit();
  for (const std::string& text : Reports()) {
    if (LeakedHere(text)) Fail("the device leaked memory");
  }
  if (status != 0) Fail("QEMU did not end well");
  now.ops += done;
  now.runs++;
}

std::vector<uint64_t> Corpus(const std::vector<std::string>& folders) {
  std::vector<uint64_t> seeds;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& file : fs::directory_iterator(folder)) {
      std::ifstream in(file.path());
      uint64_t seed;
      while (in >> seed) seeds.push_back(seed);
    }
  }
  return seeds;
}

bool Take(const char* arg, const char* name, uint64_t* value) {
  size_t n = std::strlen(name);
  if (std::strncmp(arg, name, n) != 0) return false;
  *value = std::strtoull(arg + n, nullptr, 0);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seconds = 0, ops = 0, seed = 1;
  std::vector<std::string> folders;
  for (int i = 1; i < argc; i++) {
    if (Take(argv[i], "-max_total_time=", &seconds) || Take(argv[i], "--ops=", &ops) ||
        Take(argv[i], "--seed=", &seed)) {
      continue;
    }
    if (argv[i][0] != '-') folders.push_back(argv[i]);
  }
  if (seconds == 0 && ops == 0) ops = kOpsPerMachine;

  now.logs = fs::temp_directory_path() / ("axl-fuzz." + std::to_string(getpid()));
  fs::create_directories(now.logs);
  std::string log = (now.logs / "report").string();
  // Leaks of QEMU itself must not change its exit status.
  setenv("AXL_PRELOAD", AXL_LIBASAN, 0);
  setenv("AXL_SO", "build/qemu-device/axl-asan.so", 0);
  setenv("ASAN_OPTIONS",
         ("detect_leaks=1:abort_on_error=0:exitcode=86:detect_stack_use_after_return=0:"
          "max_allocation_size_mb=400:quarantine_size_mb=16:log_path=" +
          log)
             .c_str(),
         0);
  setenv("LSAN_OPTIONS", "exitcode=0:max_leaks=0", 0);
  setenv("UBSAN_OPTIONS", ("print_stacktrace=1:halt_on_error=1:log_path=" + log).c_str(), 0);
  std::atexit(OnExit);

  auto start = std::chrono::steady_clock::now();
  auto more = [&] {
    if (ops && now.ops >= ops) return false;
    auto spent = std::chrono::steady_clock::now() - start;
    return seconds == 0 || spent < std::chrono::seconds(seconds);
  };
  now.running = true;
  for (uint64_t known : Corpus(folders)) RunSeed(known, kSeedOps);
  while (more()) {
    RunSeed(seed, ops ? kOpsPerMachine : kSeedOps);
    seed++;
  }
  now.running = false;
  std::error_code ignored;
  fs::remove_all(now.logs, ignored);
  std::printf("{\"machines\":%llu,\"operations\":%llu,\"completions\":%llu,\"peak_bytes\":%llu}\n",
              static_cast<unsigned long long>(now.runs), static_cast<unsigned long long>(now.ops),
              static_cast<unsigned long long>(now.completions),
              static_cast<unsigned long long>(now.peak));
  return 0;
}
