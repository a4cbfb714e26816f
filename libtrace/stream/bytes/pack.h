// SPDX-License-Identifier: Apache-2.0
//
// Values of a fixed number of bits in eight lanes of 32-bit words, so that a vector unit packs
// eight at once.
//
// Value i goes to lane i % 8. A lane is a sequence of 32-bit little-endian words, filled from the
// lowest bit up; word k of the lanes is at 8 * k to 8 * k + 7. Values of more than 32 bits are
// stored as their low 32 bits, packed in this way, followed by the rest.
#ifndef LIBTRACE_STREAM_BYTES_PACK_H_
#define LIBTRACE_STREAM_BYTES_PACK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace acceltrace::stream {

inline constexpr size_t kLanes = 8;

constexpr size_t RoundToLanes(size_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

// Returns the size of `count` packed values of `width` bits, 0 to 64.
constexpr size_t PackedBytes(size_t count, uint32_t width) {
  const size_t groups = RoundToLanes(count) / kLanes;
  const size_t low = width < 32 ? width : 32, high = width - low;
  return kLanes * sizeof(uint32_t) * ((groups * low + 31) / 32 + (groups * high + 31) / 32);
}

// Appends the values, each of which must be less than 2^width.
void Pack(const uint64_t* values, size_t count, uint32_t width, std::string* out);

// bytes: must have PackedBytes(count, width).
void Unpack(std::string_view bytes, size_t count, uint32_t width, uint64_t* values);

// Merges planes: the lowest bytes of all values, then all second bytes and so on, up to eight
// planes of `count` bytes.
void MergePlanes(std::string_view planes, size_t count, uint64_t* values);

// The same for up to 32 bits or four planes. The output must have capacity for RoundToLanes(count).
void UnpackNarrow(std::string_view bytes, size_t count, uint32_t width, uint32_t* to);
void MergeNarrowPlanes(std::string_view planes, size_t count, uint32_t* to);

// Replaces each value by the sum of all values up to it, plus `before` and plus `step` for each of
// them, modulo 2^32. Needs the same capacity.
void SumUp(uint32_t* values, size_t count, uint32_t step, uint32_t before);
void AddTo(const uint32_t* from, size_t count, uint32_t* to);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BYTES_PACK_H_
