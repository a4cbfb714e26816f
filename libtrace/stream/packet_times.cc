// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/packet_times.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "libtrace/stream/block.h"
#include "libtrace/stream/codec.h"
#include "libtrace/stream/column_values.h"
#include "libtrace/stream/framing.h"
#include "libtrace/stream/numbers.h"
#include "libtrace/stream/validate.h"

namespace acceltrace::stream {
namespace {

using proto::Packet;

// Numbers and fields of a message that lies in [at, end) of the file, read in small pieces.
class Cursor {
 public:
  Cursor(const Bytes& file, uint64_t at, uint64_t end) : file_(file), at_(at), end_(end) {}

  uint64_t at() const { return at_; }
  bool done() const { return at_ >= end_; }
  void Skip(uint64_t bytes) { at_ += std::min(bytes, end_ - std::min(end_, at_)); }

  bool Varint(uint64_t* value) {
    *value = 0;
    if (at_ >= piece_at_ && at_ - piece_at_ + kMostBytes <= piece_.size()) {
      const char* next = piece_.data() + (at_ - piece_at_);
      for (uint32_t shift = 0; shift < 7 * kMostBytes; shift += 7) {
        const auto byte = static_cast<uint8_t>(*next++);
        ++at_;
        if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
      }
      return false;
    }
    for (uint32_t shift = 0; shift < 7 * kMostBytes; shift += 7) {
      if (at_ < piece_at_ || at_ >= piece_at_ + piece_.size()) {
        if (!Fill()) return false;
      }
      const auto byte = static_cast<uint8_t>(piece_[at_++ - piece_at_]);
      if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  struct Field {
    uint32_t number = 0;
    uint64_t value = 0;           // of a varint
    uint64_t begin = 0, end = 0;  // of bytes
  };
  // The next one; the cursor stands behind it.
  bool Next(Field* field) {
    uint64_t tag = 0, length = 0;
    if (done() || !Varint(&tag)) return false;
    *field = {static_cast<uint32_t>(tag >> 3), 0, 0, 0};
    switch (tag & 7) {
      case 0:
        return Varint(&field->value);
      case 1:
        Skip(8);
        return true;
      case 2:
        if (!Varint(&length) || length > end_ - std::min(end_, at_)) return false;
        field->begin = at_, field->end = at_ + length;
        Skip(length);
        return true;
      case 5:
        Skip(4);
        return true;
      default:
        return false;
    }
  }

 private:
  static constexpr uint32_t kMostBytes = 10;  // of a number

  bool Fill() {
    constexpr uint64_t kPiece = 512;
    if (at_ >= end_) return false;
    piece_ = file_.Read(at_, std::min(end_ - at_, piece_.empty() ? kPiece : 16 * kPiece));
    piece_at_ = at_;
    return !piece_.empty();
  }

  const Bytes& file_;
  uint64_t at_, end_;
  std::string piece_;
  uint64_t piece_at_ = 0;
};

// A block says it before its columns.
PacketTimes OfBlock(Cursor cursor) {
  PacketTimes times;
  Cursor::Field field;
  uint64_t table = 0;
  while (cursor.Next(&field) && field.number <= 5) {
    if (field.number == 1) table = field.value;
    if (field.number == 2) times.device = static_cast<uint32_t>(field.value);
    if (field.number == 4) times.first = field.value;
    if (field.number == 5) times.last = field.value;
  }
  const uint32_t batch = static_cast<uint32_t>(BatchOf(static_cast<uint32_t>(table)));
  if (batch == 0 || (times.first == 0 && times.last == 0)) return {};
  const bool of_device = TimeColumnsOf(batch).of_device;
  times.clock = of_device ? PacketTimes::Clock::kDevice : PacketTimes::Clock::kHost;
  return times;
}

// The first and the last of times, or of ticks, which are compared with such of their own device.
class Extent {
 public:
  void Add(uint64_t begin, uint64_t end) {
    first_ = std::min(first_, static_cast<int64_t>(begin));
    last_ = std::max(last_, static_cast<int64_t>(end));
    any_ = true;
  }
  // lengths: to the ends; nullptr, if there are none.
  void Add(const uint64_t* begins, const uint64_t* lengths, size_t count) {
    if (count == 0) return;
    any_ = true;
    int64_t last = last_;
    WidenTo(reinterpret_cast<const int64_t*>(begins), count, &first_, &last);
    if (lengths == nullptr) last_ = last;
    for (size_t i = 0; lengths != nullptr && i < count; ++i) {
      last_ = std::max(last_, static_cast<int64_t>(begins[i] + lengths[i]));
    }
  }
  // Unknown, where there was none.
  PacketTimes Times(uint32_t body, uint32_t device) const {
    PacketTimes times;
    times.device = device;
    if (!any_) return times;
    times.clock =
        TimeColumnsOf(body).of_device ? PacketTimes::Clock::kDevice : PacketTimes::Clock::kHost;
    times.first = static_cast<uint64_t>(first_), times.last = static_cast<uint64_t>(last_);
    return times;
  }

 private:
  bool any_ = false;
  int64_t first_ = std::numeric_limits<int64_t>::max();
  int64_t last_ = std::numeric_limits<int64_t>::min();
};

// Of columns that are sound, as nearly all are. False: they are not, nothing was added.
bool AddAll(std::string_view begins, std::string_view lengths, Extent* extent) {
  constexpr size_t kAtOnce = 512;
  size_t rows = 0, with_length = 0;
  if (!CountSoundNumbers(begins, &rows) || rows > kMaxRows) return false;
  if (!CountSoundNumbers(lengths, &with_length) || with_length > rows) return false;
  uint64_t at = 0, values[kAtOnce], length[kAtOnce];
  for (size_t row = 0; row < rows; row += kAtOnce) {
    const size_t count = std::min(kAtOnce, rows - row);
    const size_t have = std::min(count, with_length - std::min(with_length, row));
    TakeNumbers(count, &begins, values);
    TakeNumbers(have, &lengths, length);
    std::fill(length + have, length + count, 0);
    SumZigzags(values, count, &at);
    extent->Add(values, length, count);
  }
  return true;
}

PacketTimes OfBatch(const Bytes& file, uint32_t body, Cursor cursor) {
  const TimeColumns columns = TimeColumnsOf(body);
  PacketTimes times;
  if (columns.begin == 0) return times;
  Cursor::Field field, begins, lengths;
  while (cursor.Next(&field)) {
    if (field.end != 0 && field.number == columns.begin) begins = field;
    if (field.end != 0 && field.number == columns.length) lengths = field;
    if (field.end == 0 && field.number == 1) times.device = static_cast<uint32_t>(field.value);
    if (field.number >= std::max(columns.begin, columns.length)) break;
  }
  if (begins.end == 0) return times;
  Extent extent;
  if (!AddAll(file.Read(begins.begin, begins.end - begins.begin),
              file.Read(lengths.begin, lengths.end - lengths.begin), &extent)) {
    Cursor begin(file, begins.begin, begins.end), length(file, lengths.begin, lengths.end);
    uint64_t at = 0, value = 0;
    for (size_t row = 0; row < kMaxRows && !begin.done() && begin.Varint(&value); ++row) {
      at += FromZigzag(value);
      uint64_t end = at;
      if (!length.done() && length.Varint(&value)) end += value;
      extent.Add(at, end);
    }
  }
  return extent.Times(body, times.device);
}

// A compressed batch has to be unpacked first.
PacketTimes OfPacked(const Bytes& file, Cursor cursor) {
  Cursor::Field field;
  uint64_t body = 0, codec = 0, size = 0;
  while (cursor.Next(&field)) {
    if (field.number == 1) body = field.value;
    if (field.number == 2) codec = field.value;
    if (field.number == 3) size = field.value;
    if (field.number == 4) break;
  }
  if (field.number != 4 || codec != proto::Packed::CODEC_ZSTD || size > kMaxPacketBytes) return {};
  if (TimeColumnsOf(static_cast<uint32_t>(body)).begin == 0) return {};
  std::string bytes;
  if (!Decompress(file.Read(field.begin, field.end - field.begin), size, &bytes)) return {};
  const BytesInMemory memory(bytes);
  return OfBatch(memory, static_cast<uint32_t>(body), Cursor(memory, 0, memory.size()));
}

}  // namespace

TimeColumns TimeColumnsOf(uint32_t body) {
  switch (body) {
    case Packet::kApi:
    case Packet::kRanges:
    case Packet::kThreadRuns:
      return {1, 2, false};
    case Packet::kHost:
      return {2, 0, false};
    case Packet::kSystemSamples:
    case Packet::kCallStacks:
    case Packet::kInterrupts:
      return {1, 0, false};
    case Packet::kCommands:
    case Packet::kJobs:
    case Packet::kOthers:
      return {2, 0, true};
    case Packet::kCounters:
    case Packet::kDeviceEvents:
      return {3, 0, true};
    default:
      return {};
  }
}

PacketTimes TimesOfRows(uint32_t body, uint32_t device, const uint64_t* begins,
                        const uint64_t* lengths, size_t rows) {
  Extent extent;
  extent.Add(begins, lengths, rows);
  return extent.Times(body, device);
}

PacketTimes TimesOf(const Bytes& file, uint64_t begin, uint64_t end) {
  Cursor outer(file, begin, end);
  Cursor::Field packet, body;
  if (!outer.Next(&packet) || packet.number != 1 || packet.end == 0) return {};
  Cursor inner(file, packet.begin, packet.end);
  // The body comes after sync and sequence.
  while (inner.Next(&body) && body.end == 0) {
  }
  if (body.end == 0) return {};
  Cursor rows(file, body.begin, body.end);
  if (body.number == Packet::kBlock || body.number == Packet::kPackedBlock) return OfBlock(rows);
  if (body.number == Packet::kPacked) return OfPacked(file, rows);
  return OfBatch(file, body.number, rows);
}

}  // namespace acceltrace::stream
