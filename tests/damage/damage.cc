// SPDX-License-Identifier: Apache-2.0
//
// Damaged, cut and lossy traces made from recordings whose answers are known. No wrong answer may
// be given with confidence, and everything missing must be reported.
//
//   tap-damage [FIRST SEED [COUNT [FILE=LIMITER,LIMITER...]...]]
//
// Default: 1 150, for the test suite, with tests/damage/recordings.h. With files: with these, each
// with the resources that really limit it (pcie.bandwidth), any of which is correct.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/stream/columns/columns.h"
#include "tests/damage/mutator.h"
#include "tests/damage/recordings.h"

namespace acceltrace::test {
namespace {

using proto::Packet;

// A damaged trace, and whether a reader has to notice. Values that were changed with correct
// checksums may be just as plausible.
struct Damaged {
  std::string what, bytes;
  bool changed = true;
  bool forged = false;  // with correct checksums: another trace, which may have another limiter
};

std::string Flipped(std::string bytes, Random* random) {
  const size_t flips = random->OneIn(2) ? 1 : 1 + random->Below(20);
  for (size_t i = 0; i < flips; ++i) {
    bytes[random->Below(bytes.size())] ^= static_cast<char>(1 + random->Below(255));
  }
  return bytes;
}

Damaged DamageBytes(const std::string& whole, Random* random) {
  const size_t at = random->Below(whole.size());
  const size_t length = 1 + random->Below(random->OneIn(3) ? whole.size() / 2 : 4096);
  std::string bytes = whole;
  switch (random->Below(7)) {
    case 0:
    case 1:
      return {"flipped", Flipped(whole, random)};
    case 2:
      return {"cut", whole.substr(0, at)};
    case 3:
      return {"hole", bytes.erase(at, length)};
    case 4: {
      for (size_t i = at; i < std::min(at + length, bytes.size()); ++i) bytes[i] = 0;
      return {"zeroed", bytes, bytes != whole};
    }
    case 5: {
      std::string garbage;
      for (size_t i = 0; i < length; ++i) garbage += static_cast<char>(random->Any());
      return {"garbage", bytes.insert(at, garbage)};
    }
    default:
      return {"block twice", bytes.insert(at, whole.substr(random->Below(whole.size()), length))};
  }
}

Damaged DamageFrames(const std::string& whole, Random* random) {
  std::vector<std::string> frames = Frames(whole);
  const auto any = [&] {
    return frames.begin() + static_cast<ptrdiff_t>(random->Below(frames.size()));
  };
  const char* what = "";
  const size_t times = 1 + random->Below(4);
  const size_t kind = random->Below(4);
  for (size_t i = 0; i < times && frames.size() > 2; ++i) {
    switch (kind) {
      case 0:
        what = "packets lost";
        frames.erase(any());
        break;
      case 1: {
        what = "packets twice";
        const std::string again = *any();
        frames.insert(any(), again);
        break;
      }
      case 2:
        what = "packets out of order";
        std::swap(*any(), *any());
        break;
      default:
        what = "cut between packets";
        frames.resize(1 + random->Below(frames.size() - 1));
    }
  }
  std::string bytes;
  for (const std::string& frame : frames) bytes += frame;
  const bool changed = bytes != whole;
  return {what, std::move(bytes), changed};
}

// As if events had been dropped on the way: rows are missing, and the accounts say so.
Damaged Lossy(const std::string& whole, Random* random) {
  struct Kind {
    const char* hop;
    std::vector<Packet::BodyCase> bodies;
  };
  static const Kind kKinds[] = {
      {"device-ring/acc0", {Packet::kCommands, Packet::kJobs}},
      {"bpf-api", {Packet::kApi}},
      {"bpf-driver", {Packet::kHost}},
      {"output", {Packet::kCommands, Packet::kJobs, Packet::kApi, Packet::kHost}}};
  const Kind& kind = kKinds[random->Below(std::size(kKinds))];
  std::vector<Packet> packets = Parse(whole);
  const double from = static_cast<double>(random->Below(1000)) / 1000;
  const double to = from + static_cast<double>(1 + random->Below(700)) / 1000;
  uint64_t lost = 0;
  for (const Packet::BodyCase body : kind.bodies) {
    size_t rows = 0, at = 0;
    for (const Packet& packet : packets)
      rows += packet.body_case() == body ? stream::Rows(packet) : 0;
    const auto first = static_cast<size_t>(from * static_cast<double>(rows));
    const auto last = static_cast<size_t>(to * static_cast<double>(rows));
    for (Packet& packet : packets) {
      if (packet.body_case() != body) continue;
      const size_t have = stream::Rows(packet), end = at + have;
      const size_t begin = std::clamp(first, at, end) - at, until = std::clamp(last, at, end) - at;
      if (begin == 0 && until == have) {
        packet.Clear();
      } else {
        RemoveRows(&packet, begin, until);
      }
      lost += until - begin;
      at = end;
    }
  }
  std::erase_if(packets, [](const Packet& p) { return p.body_case() == Packet::BODY_NOT_SET; });
  for (Packet& packet : packets) {
    if (!packet.has_accounts() || lost == 0) continue;
    auto* hop = packet.mutable_accounts()->add_hops();
    hop->set_name(kind.hop);
    hop->set_in(lost), hop->set_lost(lost);
  }
  return {std::string("lost at ") + kind.hop, Encode(std::move(packets), Footer::kWritten),
          lost > 0};
}

// Changed values with correct checksums and numbers.
Damaged Forged(const std::string& whole, Random* random) {
  std::vector<Packet> packets = Parse(whole);
  const size_t times = 1 + random->Below(3);
  for (size_t i = 0; i < times; ++i) MutatePackets(&packets, random);
  const Footer footer = random->OneIn(2)   ? Footer::kAsItIs
                        : random->OneIn(2) ? Footer::kWritten
                                           : Footer::kNone;
  return {"changed", Encode(std::move(packets), footer), footer == Footer::kNone, true};
}

Damaged Damage(const std::string& whole, Random* random) {
  switch (random->Below(4)) {
    case 0:
      return DamageBytes(whole, random);
    case 1:
      return DamageFrames(whole, random);
    case 2:
      return Lossy(whole, random);
    default:
      return Forged(whole, random);
  }
}

struct Tally {
  uint64_t traces = 0, refused = 0, withheld = 0, held = 0, certain = 0, wrong = 0, silent = 0;
  uint64_t limiters = 0, wrong_limiters = 0;  // named; named, but none of the recording's

  void Add(const Tally& other) {
    traces += other.traces, refused += other.refused, withheld += other.withheld;
    held += other.held, certain += other.certain, wrong += other.wrong, silent += other.silent;
    limiters += other.limiters, wrong_limiters += other.wrong_limiters;
  }
};

using Names = std::vector<std::string>;

// A recording with its true limiters, any of which is correct.
struct Known {
  Recording recording;
  Names limiters;
};

Names Named(const analysis::Limiter& limiter) {
  using Standing = analysis::Limiter::Standing;
  Names names;
  if (limiter.standing == Standing::kNamed || limiter.standing == Standing::kSeveral) {
    names.push_back(analysis::ResourceKey(limiter.gains[0].resource));
  }
  if (limiter.standing == Standing::kSeveral) {
    names.push_back(analysis::ResourceKey(limiter.gains[1].resource));
  }
  return names;
}

// Takes the known answers from the undamaged trace's own report.
std::optional<Known> KnownByItself(Recording recording, Names limiters) {
  auto reader = stream::Reader::FromMemory(recording.bytes);
  if (!reader.ok()) return std::nullopt;
  const auto model = model::Load(reader->get());
  if (!model.ok()) return std::nullopt;
  const analysis::Report report = analysis::ComputeReport(**model);
  if (recording.name.find('/') != std::string::npos) recording.truth = report.breakdown.largest;
  for (const analysis::ResourceGain& gain : report.limiter.gains) {
    const double least = report.limiter.gains[0].share * (1 - analysis::Limiter::kClose);
    if (gain.share >= least) limiters.push_back(analysis::ResourceKey(gain.resource));
  }
  return Known{std::move(recording), std::move(limiters)};
}

void JudgeLimiter(const Known& known, const Damaged& damaged, uint64_t seed,
                  const analysis::Limiter& limiter, Tally* tally) {
  const Names named = Named(limiter);
  if (named.empty() || damaged.forged) return;
  ++tally->limiters;
  const bool right = std::any_of(named.begin(), named.end(), [&](const std::string& name) {
    return std::find(known.limiters.begin(), known.limiters.end(), name) != known.limiters.end();
  });
  if (right) return;
  ++tally->wrong_limiters;
  std::printf("# WRONG LIMITER: seed %llu, %s, %s: %s\n", static_cast<unsigned long long>(seed),
              known.recording.name.c_str(), damaged.what.c_str(), limiter.text.c_str());
}

void Judge(const Known& known, const Damaged& damaged, uint64_t seed, Tally* tally) {
  const Recording& recording = known.recording;
  ++tally->traces;
  auto reader = stream::Reader::FromMemory(damaged.bytes);
  auto model = reader.ok() ? model::Load(reader->get())
                           : Result<std::unique_ptr<model::Model>>(reader.status());
  if (!model.ok()) {  // one line, exit status 1
    ++tally->refused;
    return;
  }
  const analysis::Report report = analysis::ComputeReport(**model);
  JudgeLimiter(known, damaged, seed, report.limiter, tally);
  const analysis::Verdict& verdict = report.verdict;
  using Standing = analysis::Verdict::Standing;
  ++(verdict.withheld()                       ? tally->withheld
     : verdict.standing == Standing::kCertain ? tally->certain
                                              : tally->held);
  const bool says_nothing = verdict.withheld() || verdict.standing == Standing::kClose;
  const bool right = report.breakdown.RunNs() > 0 && report.breakdown.largest == recording.truth;
  const bool quiet = verdict.whole() && !verdict.withheld();
  const bool wrong = !says_nothing && !right, silent = quiet && damaged.changed;
  tally->wrong += wrong, tally->silent += silent;
  if (!wrong && !silent) return;
  std::printf("# %s: seed %llu, %s, %s: %s\n", wrong ? "WRONG" : "SILENT",
              static_cast<unsigned long long>(seed), recording.name.c_str(), damaged.what.c_str(),
              verdict.text.c_str());
}

// FILE=LIMITER,LIMITER
std::optional<Known> FromWord(const std::string& word) {
  const size_t equals = word.find('=');
  std::ifstream file(word.substr(0, equals), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file || bytes.empty()) return std::nullopt;
  Names limiters;
  for (size_t at = equals; at != std::string::npos;) {
    const size_t end = word.find(',', at + 1);
    limiters.push_back(word.substr(at + 1, end == std::string::npos ? end : end - at - 1));
    at = end;
  }
  return KnownByItself({"./" + word.substr(0, equals), std::move(bytes), {}}, std::move(limiters));
}

int Main(uint64_t first, uint64_t count, const Names& words) {
  std::vector<Known> all_known;
  for (const std::string& word : words) {
    auto known = FromWord(word);
    if (!known) return std::fprintf(stderr, "tap-damage: no trace: %s\n", word.c_str()), 1;
    all_known.push_back(std::move(*known));
  }
  if (words.empty()) {
    for (Recording& recording : Recordings()) {
      all_known.push_back(KnownByItself(std::move(recording), {}).value());
    }
  }
  std::printf("1..%zu\n", 4 * all_known.size());
  size_t number = 0;
  int failed = 0;
  const auto say = [&](bool good, const std::string& what) {
    std::printf("%sok %zu - %s\n", good ? "" : "not ", ++number, what.c_str());
    failed += !good;
  };
  std::map<std::string, uint64_t> kinds;
  Tally all;
  for (const Known& known : all_known) {
    const Recording& recording = known.recording;
    Tally undamaged, tally;
    Judge(known, {"not at all", recording.bytes, false}, 0, &undamaged);
    say((undamaged.certain == 1 || !words.empty()) && undamaged.wrong == 0,
        recording.name + ": undamaged, the answer is certain and right");
    for (uint64_t seed = first; seed < first + count; ++seed) {
      if (seed % all_known.size() != static_cast<size_t>(&known - all_known.data())) continue;
      Random random(seed);
      const Damaged damaged = Damage(recording.bytes, &random);
      ++kinds[damaged.what];
      Judge(known, damaged, seed, &tally);
    }
    say(tally.wrong == 0, recording.name + ": nothing wrong is said with confidence");
    say(tally.wrong_limiters == 0, recording.name + ": no wrong limiter is named");
    say(tally.silent == 0, recording.name + ": nothing is silent");
    all.Add(tally);
  }
  for (const auto& [kind, times] : kinds) {
    std::printf("# %s: %llu\n", kind.c_str(), static_cast<unsigned long long>(times));
  }
  std::printf(
      "# {\"traces\": %llu, \"refused\": %llu, \"withheld\": %llu, \"held\": %llu, "
      "\"certain\": %llu, \"wrong\": %llu, \"silent\": %llu, \"limiters\": %llu, "
      "\"wrong_limiters\": %llu}\n",
      static_cast<unsigned long long>(all.traces), static_cast<unsigned long long>(all.refused),
      static_cast<unsigned long long>(all.withheld), static_cast<unsigned long long>(all.held),
      static_cast<unsigned long long>(all.certain), static_cast<unsigned long long>(all.wrong),
      static_cast<unsigned long long>(all.silent), static_cast<unsigned long long>(all.limiters),
      static_cast<unsigned long long>(all.wrong_limiters));
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace acceltrace::test

int main(int argc, char** argv) {
  google::protobuf::SetLogHandler(nullptr);
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  const uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 150;
  return acceltrace::test::Main(first, count, {argv + std::min(argc, 3), argv + argc});
}
