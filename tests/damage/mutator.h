// SPDX-License-Identifier: Apache-2.0
//
// Traces taken apart, changed and put together again with right checksums, so that what lies
// behind the reader is reached.
#ifndef TESTS_DAMAGE_MUTATOR_H_
#define TESTS_DAMAGE_MUTATOR_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::test {

// A seed decides all: no distribution of the standard library, whose results differ.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t Any() { return engine_(); }
  size_t Below(size_t limit) { return limit == 0 ? 0 : Any() % limit; }
  bool OneIn(size_t n) { return Below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

// Every sound packet, the footer among them.
std::vector<proto::Packet> Parse(std::string_view bytes);

enum class Footer {
  kAsItIs,   // the packets' own, though its offsets may be wrong
  kWritten,  // a new one, of what is there
  kNone,
};
// Numbered from 1 unless they keep their numbers.
std::string Encode(std::vector<proto::Packet> packets, Footer footer, bool keep_numbers = false);

// Frames of the bytes, in order; what is no frame is left out.
std::vector<std::string> Frames(std::string_view bytes);

// Rows [from, to) of a batch leave it, all columns alike; differences go on as they were.
void RemoveRows(proto::Packet* packet, size_t from, size_t to);
// Batches of more rows than `rows` become several.
std::vector<proto::Packet> Divided(const std::vector<proto::Packet>& packets, size_t rows);

// Changes some value, column, row or part of a packet; most of it stays valid.
void MutatePacket(proto::Packet* packet, Random* random);
// The same for a trace: of one packet, or packets swapped, doubled, dropped.
void MutatePackets(std::vector<proto::Packet>* packets, Random* random);

}  // namespace acceltrace::test

#endif  // TESTS_DAMAGE_MUTATOR_H_
