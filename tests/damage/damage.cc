// SPDX-License-Identifier: Apache-2.0
//
// Damaged, cut and lossy traces made from recordings whose answers are known. Nothing that is
// wrong may be said with confidence, and nothing that is missing may go without a word.
//
//   tap-damage [FIRST SEED [COUNT]]      default: 1 150, for the test suite
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "libtrace/analysis/report.h"
#include "libtrace/stream/columns.h"
#include "tests/damage/mutator.h"
#include "tests/damage/recordings.h"

namespace acceltrace::test {
namespace {

using proto::Packet;

// A damaged trace, and whether a reader has to notice. Values that were changed behind right
// checksums, by whoever, may be just as possible.
struct Damaged {
  std::string what, bytes;
  bool told = true;
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
      return {"zeroed", bytes};
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
  const bool told = bytes != whole;
  return {what, std::move(bytes), told};
}

// As if events had been dropped on the way: rows are not there, and the accounts say so.
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

// Behind right checksums and numbers.
Damaged Forged(const std::string& whole, Random* random) {
  std::vector<Packet> packets = Parse(whole);
  const size_t times = 1 + random->Below(3);
  for (size_t i = 0; i < times; ++i) MutatePackets(&packets, random);
  const Footer footer = random->OneIn(2)   ? Footer::kAsItIs
                        : random->OneIn(2) ? Footer::kWritten
                                           : Footer::kNone;
  return {"changed", Encode(std::move(packets), footer), footer == Footer::kNone};
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
};

void Judge(const Recording& recording, const Damaged& damaged, uint64_t seed, Tally* tally) {
  ++tally->traces;
  auto reader = stream::Reader::FromMemory(damaged.bytes);
  auto model = reader.ok() ? model::Load(reader->get())
                           : Result<std::unique_ptr<model::Model>>(reader.status());
  if (!model.ok()) {  // one line, exit status 1
    ++tally->refused;
    return;
  }
  const analysis::Report report = analysis::ComputeReport(**model);
  const analysis::Verdict& verdict = report.verdict;
  using Standing = analysis::Verdict::Standing;
  ++(verdict.withheld()                       ? tally->withheld
     : verdict.standing == Standing::kCertain ? tally->certain
                                              : tally->held);
  const bool says_nothing = verdict.withheld() || verdict.standing == Standing::kClose;
  const bool right = report.breakdown.RunNs() > 0 && report.breakdown.largest == recording.truth;
  const bool quiet = verdict.whole() && !verdict.withheld();
  const bool wrong = !says_nothing && !right, silent = quiet && damaged.told;
  tally->wrong += wrong, tally->silent += silent;
  if (!wrong && !silent) return;
  std::printf("# %s: seed %llu, %s, %s: %s\n", wrong ? "WRONG" : "SILENT",
              static_cast<unsigned long long>(seed), recording.name.c_str(), damaged.what.c_str(),
              verdict.text.c_str());
}

int Main(uint64_t first, uint64_t count) {
  std::vector<Recording> recordings = Recordings();
  std::printf("1..%zu\n", 3 * recordings.size());
  size_t number = 0;
  int failed = 0;
  const auto say = [&](bool good, const std::string& what) {
    std::printf("%sok %zu - %s\n", good ? "" : "not ", ++number, what.c_str());
    failed += !good;
  };
  std::map<std::string, uint64_t> kinds;
  Tally all;
  for (const Recording& recording : recordings) {
    Tally undamaged, tally;
    Judge(recording, {"not at all", recording.bytes, false}, 0, &undamaged);
    say(undamaged.certain == 1 && undamaged.wrong == 0,
        recording.name + ": undamaged, the answer is certain and right");
    for (uint64_t seed = first; seed < first + count; ++seed) {
      if (seed % recordings.size() != static_cast<size_t>(&recording - recordings.data())) continue;
      Random random(seed);
      const Damaged damaged = Damage(recording.bytes, &random);
      ++kinds[damaged.what];
      Judge(recording, damaged, seed, &tally);
    }
    say(tally.wrong == 0, recording.name + ": nothing wrong is said with confidence");
    say(tally.silent == 0, recording.name + ": nothing is silent");
    all.traces += tally.traces, all.refused += tally.refused, all.withheld += tally.withheld;
    all.held += tally.held, all.certain += tally.certain;
    all.wrong += tally.wrong, all.silent += tally.silent;
  }
  for (const auto& [kind, times] : kinds) {
    std::printf("# %s: %llu\n", kind.c_str(), static_cast<unsigned long long>(times));
  }
  std::printf(
      "# {\"traces\": %llu, \"refused\": %llu, \"withheld\": %llu, \"held\": %llu, "
      "\"certain\": %llu, \"wrong\": %llu, \"silent\": %llu}\n",
      static_cast<unsigned long long>(all.traces), static_cast<unsigned long long>(all.refused),
      static_cast<unsigned long long>(all.withheld), static_cast<unsigned long long>(all.held),
      static_cast<unsigned long long>(all.certain), static_cast<unsigned long long>(all.wrong),
      static_cast<unsigned long long>(all.silent));
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace acceltrace::test

int main(int argc, char** argv) {
  google::protobuf::SetLogHandler(nullptr);
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  const uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 150;
  return acceltrace::test::Main(first, count);
}
