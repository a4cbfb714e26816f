// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace acceltrace::view {
namespace {

constexpr size_t kWindow = 1 << 15, kLeastMatch = 4, kMostMatch = 258;
constexpr size_t kEnd = 256;  // the symbol after the last one
constexpr int kMostBits = 15;
constexpr size_t kLengthCodes = 19;  // the symbols of which lengths of codes are written
constexpr int kMostLengthBits = 7;
// Of a zlib stream: deflate with a window of 32 KB, its check bits.
constexpr char kHeader[] = {0x78, 0x01};
constexpr size_t kRoomForTables = 1024;

uint32_t Load32(const char* from) {
  uint32_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

uint64_t Load64(const char* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// How many bytes are alike at both, up to `most`.
size_t CountAlike(const char* a, const char* b, size_t most) {
  size_t n = 0;
  for (; n + 8 <= most; n += 8) {
    const uint64_t differ = Load64(a + n) ^ Load64(b + n);
    if (differ == 0) continue;
    const int bits = std::endian::native == std::endian::little ? std::countr_zero(differ)
                                                                : std::countl_zero(differ);
    return n + static_cast<size_t>(bits) / 8;
  }
  while (n < most && a[n] == b[n]) ++n;
  return n;
}

// A symbol and the bits behind it that say which of its numbers it is.
struct Coded {
  uint32_t symbol, extra;
  int extra_bits;
};

// Of a length, from 257 on.
Coded CodeOfLength(size_t length) {
  if (length == kMostMatch) return {285, 0, 0};
  const auto x = static_cast<uint32_t>(length - 3);
  if (x < 8) return {257 + x, 0, 0};
  const int bits = std::bit_width(x) - 3;
  return {257 + 4 * static_cast<uint32_t>(bits) + (x >> bits), x & ((1u << bits) - 1), bits};
}

// distance: less one.
Coded CodeOfDistance(uint32_t distance) {
  if (distance < 4) return {distance, 0, 0};
  const int bits = std::bit_width(distance) - 2;
  return {2 * static_cast<uint32_t>(bits) + (distance >> bits), distance & ((1u << bits) - 1),
          bits};
}

// Codes as they go into the file: their first bit is the lowest.
void MakeCodes(const uint8_t* lengths, size_t symbols, uint16_t* codes) {
  std::array<uint32_t, kMostBits + 2> next = {};
  for (size_t s = 0; s < symbols; ++s) ++next[lengths[s] + 1u];
  next[1] = 0;  // of those that have no code
  for (size_t bits = 1; bits < next.size(); ++bits) next[bits] = (next[bits] + next[bits - 1]) << 1;
  for (size_t s = 0; s < symbols; ++s) {
    uint32_t code = next[lengths[s]]++, turned = 0;
    for (int i = 0; i < lengths[s]; ++i, code >>= 1) turned = turned << 1 | (code & 1);
    codes[s] = static_cast<uint16_t>(turned);
  }
}

// Lengths of codes, where runs are one symbol: 16 repeats the last one, 17 and 18 are zeros.
struct Run {
  uint8_t symbol, extra, extra_bits;
};

void AppendRuns(const std::vector<uint8_t>& lengths, std::vector<Run>* runs) {
  for (size_t i = 0; i < lengths.size();) {
    const uint8_t length = lengths[i];
    size_t n = 1;
    while (i + n < lengths.size() && lengths[i + n] == length) ++n;
    i += n;
    if (length != 0) runs->push_back({length, 0, 0}), --n;
    while (n >= 3) {
      const size_t most = length != 0 ? 6 : n < 11 ? 10 : 138, some = std::min(n, most);
      if (length != 0) {
        runs->push_back({16, static_cast<uint8_t>(some - 3), 2});
      } else if (n < 11) {
        runs->push_back({17, static_cast<uint8_t>(some - 3), 3});
      } else {
        runs->push_back({18, static_cast<uint8_t>(some - 11), 7});
      }
      n -= some;
    }
    for (; n > 0; --n) runs->push_back({length, 0, 0});
  }
}

}  // namespace

namespace internal {

void CodeLengths(const uint32_t* counts, size_t symbols, int limit, uint8_t* lengths) {
  struct Node {
    uint64_t weight;
    size_t of;  // a symbol; then, where it hangs
  };
  std::fill(lengths, lengths + symbols, uint8_t{0});
  std::vector<Node> nodes;
  for (size_t s = 0; s < symbols; ++s) {
    if (counts[s] != 0) nodes.push_back({counts[s], s});
  }
  // A code of one symbol alone would be no code.
  for (size_t s = 0; nodes.size() < 2; ++s) {
    if (counts[s] == 0) nodes.push_back({1, s});
  }
  std::sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.of < b.of;
  });
  const size_t leaves = nodes.size();
  std::vector<size_t> order;
  for (const Node& node : nodes) order.push_back(node.of);
  // The two lightest ones become one, again and again; those that are made are ever heavier.
  size_t leaf = 0, inner = leaves;
  const auto lightest = [&] {
    const bool is_leaf =
        leaf < leaves && (inner == nodes.size() || nodes[leaf].weight <= nodes[inner].weight);
    return is_leaf ? leaf++ : inner++;
  };
  while (nodes.size() < 2 * leaves - 1) {
    const size_t a = lightest(), b = lightest();
    nodes.push_back({nodes[a].weight + nodes[b].weight, 0});
    nodes[a].of = nodes[b].of = nodes.size() - 1;
  }
  // How deep each one is, from the root down: in `weight`, which is not needed any more.
  std::vector<size_t> of_depth(static_cast<size_t>(limit) + 1);
  nodes.back().weight = 0;
  for (size_t i = nodes.size() - 1; i-- > 0;) {
    nodes[i].weight = nodes[nodes[i].of].weight + 1;
    if (i < leaves) ++of_depth[std::min<uint64_t>(nodes[i].weight, of_depth.size() - 1)];
  }
  // Where some were too deep, there are more codes than bits for them: a shallower one goes down
  // and takes one of the deepest beside it.
  size_t used = 0;
  for (size_t d = 1; d < of_depth.size(); ++d) used += of_depth[d] << (of_depth.size() - 1 - d);
  for (; used > size_t{1} << limit; --used) {
    size_t d = of_depth.size() - 2;
    while (of_depth[d] == 0) --d;
    --of_depth[d], of_depth[d + 1] += 2, --of_depth.back();
  }
  // The rarest have the longest.
  size_t at = 0;
  for (size_t d = of_depth.size() - 1; d > 0; --d) {
    for (size_t n = of_depth[d]; n > 0; --n) lengths[order[at++]] = static_cast<uint8_t>(d);
  }
}

}  // namespace internal

// Bits on their way to memory, of which there is enough.
struct Deflater::Bits {
  char* out;
  uint64_t bits = 0;
  int count = 0;

  void Put(uint64_t value, int n) {
    bits |= value << count;
    count += n;
  }
  // After it there is room for 56.
  void Flush() {
    uint64_t first = bits;  // little-endian
    if constexpr (std::endian::native == std::endian::big) first = __builtin_bswap64(first);
    std::memcpy(out, &first, sizeof(first));
    out += count >> 3;
    bits >>= count & 56;
    count &= 7;
  }
};

Deflater::Deflater() : places_(size_t{1} << kHashBits), places_of_eight_(size_t{1} << kHashBits) {}

inline uint32_t* Deflater::PlaceOf(uint32_t four) {
  return &places_[four * 0x9e3779b1u >> (32 - kHashBits)];
}
inline uint32_t* Deflater::PlaceOf(uint64_t eight) {
  return &places_of_eight_[eight * 0x9e3779b97f4a7c15u >> (64 - kHashBits)];
}

inline void Deflater::AddMatch(size_t length, size_t distance) {
  tokens_[num_tokens_++] = static_cast<uint32_t>(length << 15 | (distance - 1));
  ++literals_[CodeOfLength(length).symbol];
  ++distances_[CodeOfDistance(static_cast<uint32_t>(distance - 1)).symbol];
}

void Deflater::FindTokens(std::string_view bytes) {
  if (tokens_.size() < bytes.size()) tokens_.resize(bytes.size());
  num_tokens_ = 0;
  literals_.fill(0), distances_.fill(0);
  if (base_ > UINT32_MAX - kMostBytes - 1) {
    std::fill(places_.begin(), places_.end(), 0u);
    std::fill(places_of_eight_.begin(), places_of_eight_.end(), 0u);
    base_ = 1;
  }
  const char* const in = bytes.data();
  const size_t size = bytes.size();
  const auto put = [&](size_t at) {
    const auto literal = static_cast<uint8_t>(in[at]);
    tokens_[num_tokens_++] = literal;
    ++literals_[literal];
  };
  // Where it was, far beyond `at` if that was in an input before; it is known to be here now.
  const auto move = [&](uint32_t* place, size_t at) -> size_t {
    const uint32_t from = *place - base_;
    *place = base_ + static_cast<uint32_t>(at);
    return from;
  };
  const auto is_near = [](size_t from, size_t at) { return from < at && at - from <= kWindow; };
  size_t at = 0;
  while (at + sizeof(uint64_t) <= size) {
    const uint64_t eight = Load64(in + at);
    const uint32_t four = Load32(in + at);
    const size_t far = move(PlaceOf(eight), at), near = move(PlaceOf(four), at);
    size_t from = 0, length = 0;
    if (is_near(far, at) && Load64(in + far) == eight) {
      from = far, length = sizeof(eight);
    } else if (is_near(near, at) && Load32(in + near) == four) {
      from = near, length = sizeof(four);
    } else {
      put(at++);
      continue;
    }
    length +=
        CountAlike(in + at + length, in + from + length, std::min(size - at, kMostMatch) - length);
    AddMatch(length, at - from);
    at += length;
    // What follows it often begins within it.
    if (at + sizeof(uint64_t) <= size) {
      move(PlaceOf(Load64(in + at - 2)), at - 2), move(PlaceOf(Load32(in + at - 2)), at - 2);
    }
  }
  for (; at < size; ++at) put(at);
  literals_[kEnd] = 1;
  base_ += static_cast<uint32_t>(size);
}

char* Deflater::Write(char* out) {
  std::vector<uint8_t> lengths(kLiterals + kDistances);
  internal::CodeLengths(literals_.data(), kLiterals, kMostBits, lengths.data());
  internal::CodeLengths(distances_.data(), kDistances, kMostBits, &lengths[kLiterals]);
  std::array<uint16_t, kLiterals> literal_codes;
  std::array<uint16_t, kDistances> distance_codes;
  MakeCodes(lengths.data(), kLiterals, literal_codes.data());
  MakeCodes(&lengths[kLiterals], kDistances, distance_codes.data());
  std::vector<Run> runs;
  AppendRuns(lengths, &runs);
  std::array<uint32_t, kLengthCodes> counts = {};
  for (const Run& run : runs) ++counts[run.symbol];
  std::array<uint8_t, kLengthCodes> run_lengths;
  std::array<uint16_t, kLengthCodes> run_codes;
  internal::CodeLengths(counts.data(), kLengthCodes, kMostLengthBits, run_lengths.data());
  MakeCodes(run_lengths.data(), kLengthCodes, run_codes.data());

  Bits bits{out};
  bits.Put(1, 1), bits.Put(2, 2);  // the last block, with codes of its own
  bits.Put(kLiterals - 257, 5), bits.Put(kDistances - 1, 5), bits.Put(kLengthCodes - 4, 4);
  static constexpr uint8_t kOrder[kLengthCodes] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                   11, 4,  12, 3, 13, 2, 14, 1, 15};
  for (const uint8_t symbol : kOrder) bits.Put(run_lengths[symbol], 3), bits.Flush();
  for (const Run& run : runs) {
    bits.Put(run_codes[run.symbol], run_lengths[run.symbol]);
    bits.Put(run.extra, run.extra_bits), bits.Flush();
  }
  WriteTokens(lengths.data(), literal_codes.data(), distance_codes.data(), &bits);
  bits.Put(literal_codes[kEnd], lengths[kEnd]);
  bits.Put(0, (8 - bits.count % 8) % 8), bits.Flush();
  return bits.out;
}

void Deflater::WriteTokens(const uint8_t* lengths, const uint16_t* literals,
                           const uint16_t* distances, Bits* to) const {
  // What is written of each length of a match.
  struct Known {
    uint32_t bits;
    int count;
  };
  std::array<Known, kMostMatch + 1> matches = {};
  for (size_t length = kLeastMatch; length <= kMostMatch; ++length) {
    const Coded of = CodeOfLength(length);
    matches[length] = {literals[of.symbol] | of.extra << lengths[of.symbol],
                       lengths[of.symbol] + of.extra_bits};
  }
  Bits bits = *to;
  for (size_t i = 0; i < num_tokens_; ++i) {
    const uint32_t token = tokens_[i];
    if (token < kEnd) {
      bits.Put(literals[token], lengths[token]), bits.Flush();
      continue;
    }
    const Known& length = matches[token >> 15];
    const Coded distance = CodeOfDistance(token & (kWindow - 1));
    bits.Put(length.bits, length.count);
    bits.Put(distances[distance.symbol], lengths[kLiterals + distance.symbol]);
    bits.Put(distance.extra, distance.extra_bits), bits.Flush();
  }
  *to = bits;
}

std::string_view Deflater::Pack(std::string_view bytes) {
  // A literal takes 15 bits at most, a match of four bytes or more 48.
  const size_t most = 2 * bytes.size() + kRoomForTables;
  if (room_ < most) out_ = std::make_unique<char[]>(most), room_ = most;
  FindTokens(bytes);
  std::memcpy(out_.get(), kHeader, sizeof(kHeader));
  char* end = Write(out_.get() + sizeof(kHeader));
  const auto check = static_cast<uint32_t>(adler32(adler32(0, nullptr, 0),
                                                   reinterpret_cast<const Bytef*>(bytes.data()),
                                                   static_cast<uInt>(bytes.size())));
  for (int i = 3; i >= 0; --i) *end++ = static_cast<char>(check >> (8 * i));
  return {out_.get(), static_cast<size_t>(end - out_.get())};
}

}  // namespace acceltrace::view
