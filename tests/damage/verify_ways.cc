// SPDX-License-Identifier: Apache-2.0
//
// tap-verify-ways [FIRST COUNT [--print]]
//
// `verify` only loads what its laws read, and converts device times only where needed; its output
// must be the same as for a completely loaded trace. Compares COUNT random traces and recordings
// from seed FIRST on, most of them mutated with correct checksums, so that each law is broken in
// some. --print: prints the result of each trace instead, to compare two builds.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/model/tables/model.h"
#include "libtrace/view/json/json.h"
#include "libtrace/view/text/text.h"
#include "tests/damage/mutator.h"
#include "tests/damage/random_trace.h"
#include "tests/damage/recordings.h"

namespace acceltrace::test {
namespace {

using analysis::Law;
using analysis::Report;

// Plants errors that random changes hardly ever make: a range that ends after the one around it, a
// call that ends before the driver's work for it, hops whose sums do not fit.
void Plant(std::vector<proto::Packet>* packets, Random* random) {
  for (proto::Packet& packet : *packets) {
    if (packet.has_ranges() && packet.ranges().duration_ns_size() > 0) {
      auto* lengths = packet.mutable_ranges()->mutable_duration_ns();
      lengths->Set(static_cast<int>(random->Below(static_cast<size_t>(lengths->size()))),
                   random->Below(50'000));
    }
    if (packet.has_api() && packet.api().duration_ns_size() > 0) {
      auto* lengths = packet.mutable_api()->mutable_duration_ns();
      lengths->Set(static_cast<int>(random->Below(static_cast<size_t>(lengths->size()))),
                   random->Below(500));
    }
    if (packet.has_accounts() && packet.accounts().hops_size() > 0 && random->OneIn(2)) {
      packet.mutable_accounts()->mutable_hops(0)->set_into("session");
    }
  }
}

std::string MakeTrace(uint64_t seed, const std::vector<Recording>& recordings) {
  Random random(seed);
  const bool recorded = random.OneIn(8);
  std::vector<proto::Packet> packets =
      recorded ? Parse(recordings[random.Below(recordings.size())].bytes) : RandomTrace(&random);
  if (random.OneIn(8)) {
    Plant(&packets, &random);
    return Encode(std::move(packets), Footer::kWritten);
  }
  for (size_t times = random.Below(7); times > 0; --times) MutatePackets(&packets, &random);
  return Encode(std::move(packets), random.OneIn(3) ? Footer::kAsItIs : Footer::kWritten);
}

// The complete output of `verify`.
std::string Said(const Report& report) {
  const auto findings = analysis::FindProblems(report);
  return view::JsonVerify(report, findings) + view::TextVerify(report, findings, {});
}

// The number of violations of each law in a trace, by name.
using Broken = std::map<std::string, uint64_t>;

// Returns an empty string if the trace is refused. broken may be nullptr.
std::string Verify(const std::string& bytes, bool checks_only, Broken* broken) {
  auto reader = stream::Reader::FromMemory(bytes);
  if (!reader.ok()) return "";
  model::LoadOptions options;
  options.checks_only = checks_only;
  const auto model = model::Load(reader->get(), options);
  if (!model.ok()) return model.message();
  const Report report =
      checks_only ? analysis::ComputeVerification(**model) : analysis::ComputeChecks(**model);
  if (broken != nullptr) {
    for (const Law& law : report.laws) {
      (*broken)[law.name] += law.state == Law::State::kBroken;
    }
    (*broken)["order of events"] += report.causality.violations > 0;
    for (const uint64_t overlaps : report.overlaps) (*broken)["overlaps"] += overlaps > 0;
  }
  return Said(report);
}

int Main(uint64_t first, uint64_t count, bool print) {
  const std::vector<Recording> recordings = Recordings();
  Broken broken, broken_fast;
  uint64_t differ = 0, refused = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string bytes = MakeTrace(seed, recordings);
    const std::string whole = Verify(bytes, false, &broken);
    refused += whole.empty();
    const std::string fast = Verify(bytes, true, &broken_fast);
    if (print) {
      std::printf("%llu %016zx %zu\n", static_cast<unsigned long long>(seed),
                  std::hash<std::string>()(fast), fast.size());
    }
    if (whole == fast) continue;
    ++differ;
    std::printf("# seed %llu: they differ\n", static_cast<unsigned long long>(seed));
  }
  if (print) return differ == 0 ? 0 : 1;
  std::printf("TAP version 13\n1..2\n");
  std::printf("%s 1 - %llu traces, %llu refused: the same is said of each in both ways\n",
              differ == 0 ? "ok" : "not ok", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(refused));
  // A law that is never broken here could not reveal a way that misses it.
  bool all = true;
  for (const auto& [law, times] : broken) {
    const uint64_t fast = broken_fast[law];
    std::printf("# %s: broken in %llu, %llu\n", law.c_str(), static_cast<unsigned long long>(times),
                static_cast<unsigned long long>(fast));
    all = all && times > 0 && times == fast;
  }
  std::printf("%s 2 - each law is broken in some of them\n", all ? "ok" : "not ok");
  return differ == 0 && all ? 0 : 1;
}

}  // namespace
}  // namespace acceltrace::test

int main(int argc, char** argv) {
  google::protobuf::SetLogHandler(nullptr);
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  const uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 1500;
  return acceltrace::test::Main(first, count, argc > 3 && std::strcmp(argv[3], "--print") == 0);
}
