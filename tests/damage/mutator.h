// SPDX-License-Identifier: Apache-2.0
//
// Takes traces apart, changes them and reassembles them with correct checksums, so that the code
// after the reader is reached.
#ifndef TESTS_DAMAGE_MUTATOR_H_
#define TESTS_DAMAGE_MUTATOR_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::test {

// The seed determines everything; the standard library's distributions are not used because they
// differ between implementations.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t Any() { return engine_(); }
  size_t Below(size_t limit) { return limit == 0 ? 0 : Any() % limit; }
  bool OneIn(size_t n) { return Below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

// Every valid packet, including the footer.
std::vector<proto::Packet> Parse(std::string_view bytes);

enum class Footer {
  kAsItIs,   // the packets' own, though its offsets may be wrong
  kWritten,  // a new one, of what is there
  kNone,
};
// Numbers the packets from 1 unless they keep their numbers.
std::string Encode(std::vector<proto::Packet> packets, Footer footer, bool keep_numbers = false);

// The frames of the bytes, in order; everything else is skipped.
std::vector<std::string> Frames(std::string_view bytes);

// Removes rows [from, to) of a batch in all columns; later differences keep their values.
void RemoveRows(proto::Packet* packet, size_t from, size_t to);
// Splits batches of more than `rows` rows.
std::vector<proto::Packet> Divided(const std::vector<proto::Packet>& packets, size_t rows);

// Changes some value, column, row or part of a packet; most of it stays valid.
void MutatePacket(proto::Packet* packet, Random* random);
// The same for a trace: changes one packet, or swaps, duplicates or drops packets.
void MutatePackets(std::vector<proto::Packet>* packets, Random* random);

}  // namespace acceltrace::test

#endif  // TESTS_DAMAGE_MUTATOR_H_
