// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/batch_rows.h"

#include <algorithm>
#include <cstring>

#include "libtrace/stream/batch_fields.h"
#include "libtrace/stream/block.h"
#include "libtrace/stream/codec.h"
#include "libtrace/stream/column_values.h"
#include "libtrace/stream/numbers.h"
#include "libtrace/stream/packed.h"
#include "libtrace/stream/packet_times.h"
#include "libtrace/stream/validate.h"
#include "libtrace/stream/wire.h"

namespace acceltrace::stream {
namespace {

using proto::Block;
using proto::Packet;

// Fields of batches that their tables of fields do not have, or that have rules of their own.
constexpr uint32_t kDevice = 1;
constexpr uint32_t kStalls = proto::CommandBatch::kStallTicksFieldNumber;

bool HasDevice(uint32_t body) { return body == Packet::kCommands || body == Packet::kJobs; }

// The column that says how many rows there are.
uint32_t FirstField(uint32_t body) { return HasDevice(body) ? 2 : 1; }

// Of a column of numbers that are a byte each.
bool AllAtMost(std::string_view bytes, uint8_t limit) {
  uint64_t any = 0;
  size_t at = 0;
  for (uint64_t word = 0; at + 8 <= bytes.size(); at += 8) {
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    any |= word;
  }
  any |= any >> 32, any |= any >> 16, any |= any >> 8;
  auto all = static_cast<uint8_t>(any);
  for (; at < bytes.size(); ++at) all |= static_cast<uint8_t>(bytes[at]);
  return all <= limit || std::all_of(bytes.begin(), bytes.end(), [limit](char byte) {
           return static_cast<uint8_t>(byte) <= limit;
         });
}

// What Validate() asks of columns of small numbers: what they may be at most, else 0.
uint8_t MostOf(uint32_t body, uint32_t field) {
  constexpr uint8_t kFlag = 1;
  switch (body) {
    case Packet::kCommands:
      return field == proto::CommandBatch::kUnitFieldNumber ? uint8_t{kMaxUnits - 1} : 0;
    case Packet::kJobs:
      return field == proto::JobBatch::kHasIrqFieldNumber ? kFlag : 0;
    case Packet::kApi:
      return field == proto::ApiBatch::kOpenFieldNumber ||
                     field == proto::ApiBatch::kBeganBeforeFieldNumber
                 ? kFlag
                 : 0;
    default:
      if (field == proto::HostBatch::kKindFieldNumber) return proto::HostBatch::Kind_MAX;
      if (field == proto::HostBatch::kDeviceFieldNumber) return 0x7f;
      return field == proto::HostBatch::kInFlightFieldNumber ? kFlag : 0;
  }
}
static_assert(kMaxDevices > 0x7f);

bool IsTime(uint32_t body, uint32_t field) {
  if (body == Packet::kHost) return field == proto::HostBatch::kTimeNsDeltaFieldNumber;
  return body == Packet::kApi && (field == proto::ApiBatch::kBeginNsDeltaFieldNumber ||
                                  field == proto::ApiBatch::kDurationNsFieldNumber);
}

// A packet but for what is in its body.
struct Outer {
  uint64_t sync = 0, sequence = 0;
  uint32_t checksum = 0, body = 0;
  std::string_view content;
};

// False: its body is not one that rows are made of.
bool TakeOuter(std::string_view bytes, Outer* outer) {
  for (WireField field; !bytes.empty();) {
    if (!TakeShortest(&bytes, &field)) return false;
    const std::string_view fixed = field.whole.substr(LengthOf(field.tag));
    const uint64_t number = field.number();
    if (number == Packet::kSyncFieldNumber && fixed.size() == sizeof(outer->sync)) {
      std::memcpy(&outer->sync, fixed.data(), sizeof(outer->sync));
    } else if (number == Packet::kCrc32CFieldNumber && fixed.size() == sizeof(outer->checksum)) {
      std::memcpy(&outer->checksum, fixed.data(), sizeof(outer->checksum));
    } else if (number == Packet::kSequenceFieldNumber && field.is_number()) {
      outer->sequence = field.value;
    } else if (field.has_length() && outer->body == 0 &&
               (number == Packet::kPacked ||
                (number <= UINT32_MAX && !BatchFields(static_cast<uint32_t>(number)).empty()))) {
      outer->body = static_cast<uint32_t>(number), outer->content = field.content;
    } else {
      return false;
    }
  }
  return outer->body != 0;
}

}  // namespace

bool BatchRows::Open(std::string_view bytes, size_t written_bytes, Packet* packet) {
  Outer outer;
  if (!TakeOuter(bytes, &outer)) return false;
  written_body_ = outer.body, worth_ = written_bytes;
  if (outer.body == Packet::kPacked) {
    PackedBody packed;
    if (!FindPackedBody(outer.content, &packed) || BatchFields(packed.body).empty() ||
        !Decompress(packed.data, packed.size, &unpacked_)) {
      return false;
    }
    // As Expand() has it.
    outer.sync = 0, outer.body = packed.body, outer.content = unpacked_;
    worth_ *= kPackedWorth;
  }
  const uint32_t body = outer.body;
  if (!Take(body, outer.content)) return false;
  const size_t rows = parts_[FirstField(body)].numbers;
  const auto kind = static_cast<Packet::BodyCase>(body);
  if (rows > kMaxRows || rows > kFreeRows + worth_ / LeastRowBytes(kind) || !Describe(body)) {
    return false;
  }
  packet->Clear();
  packet->set_sync(outer.sync), packet->set_sequence(outer.sequence);
  packet->set_crc32c(outer.checksum);
  const auto device = static_cast<uint32_t>(device_);
  if (body == Packet::kCommands) packet->mutable_commands()->set_device(device);
  if (body == Packet::kJobs) packet->mutable_jobs()->set_device(device);
  if (body == Packet::kApi) packet->mutable_api();
  if (body == Packet::kHost) packet->mutable_host();
  return true;
}

// Finds the columns, each of which is there once.
bool BatchRows::Take(uint32_t body, std::string_view batch) {
  parts_ = {};
  device_ = 0;
  body_ = body, in_order_ = true;
  uint64_t last = 0;
  const size_t known = BatchFields(body).size();
  size_t values = 0;
  bool any_device = false;
  for (WireField field; !batch.empty();) {
    if (!TakeShortest(&batch, &field)) return false;
    const uint64_t number = field.number();
    in_order_ = in_order_ && number > last;
    last = number;
    if (HasDevice(body) && number == kDevice) {
      if (!field.is_number() || any_device || field.value >= kMaxDevices) return false;
      device_ = field.value, any_device = true;
      continue;
    }
    const bool is_column =
        (number > 0 && number < known) || (body == Packet::kCommands && number == kStalls);
    if (!is_column || !field.has_length() || field.content.empty()) return false;
    Part& part = parts_[number];
    if (!part.bytes.empty() || !CountSoundNumbers(field.content, &part.numbers)) return false;
    part.bytes = field.content;
    values += part.numbers;
  }
  return values <= kMaxValues && parts_[FirstField(body)].numbers > 0;
}

bool BatchRows::Describe(uint32_t body) {
  rows_ = {};
  num_decoded_ = 0;
  const size_t rows = parts_[FirstField(body)].numbers;
  rows_.set_rows(rows);
  const auto known = static_cast<uint32_t>(BatchFields(body).size());
  for (uint32_t field = 1; field < known; ++field) {
    if (parts_[field].bytes.empty()) continue;
    if (parts_[field].numbers != rows || !AddColumn(body, field)) return false;
  }
  const Part& stalls = parts_[kStalls];
  if (body != Packet::kCommands || stalls.bytes.empty()) return true;
  if (stalls.numbers % rows != 0 || stalls.numbers / rows > size_t{kMaxStalls}) return false;
  rows_.SetStalls(stalls.numbers / rows, Decode(stalls, false, false, false));
  return true;
}

PacketTimes BatchRows::Times() const {
  // TimesOf() reads no further than to the last of these.
  const TimeColumns columns = TimeColumnsOf(body_);
  if (!in_order_ || columns.begin == 0 || parts_[columns.begin].bytes.empty()) return {};
  const auto values = [&](uint32_t field) {
    return rows_.Wide(body_ == Packet::kHost ? static_cast<int>(field)
                                             : BatchFields(body_)[field].in_block);
  };
  const bool has_length = columns.length != 0 && !parts_[columns.length].bytes.empty();
  const uint64_t* begins = values(columns.begin);
  const uint64_t* lengths = has_length ? values(columns.length) : nullptr;
  if (begins == nullptr || (has_length && lengths == nullptr)) return {};
  return TimesOfRows(body_, static_cast<uint32_t>(device_), begins, lengths, rows_.rows());
}

bool BatchRows::AddColumn(uint32_t body, uint32_t field) {
  const BatchField& about = BatchFields(body)[field];
  const Part& part = parts_[field];
  const int column = body == Packet::kHost ? static_cast<int>(field) : about.in_block;
  const bool is_time = IsTime(body, field);
  const uint8_t most = MostOf(body, field);
  if (most > 0 && (part.bytes.size() != part.numbers || !AllAtMost(part.bytes, most))) return false;
  if (!is_time && (about.kind == FieldKind::kWide || about.kind == FieldKind::kNarrow)) {
    rows_.SetNumbers(column, part.bytes, about.kind == FieldKind::kNarrow);
    return true;
  }
  const bool sums = about.kind == FieldKind::kDeltas;
  // An API call's result has 32 bits.
  const bool narrow = body == Packet::kApi && about.kind == FieldKind::kSigned;
  const uint64_t* values = Decode(part, sums || about.kind == FieldKind::kSigned, narrow, sums);
  if (is_time) {
    uint64_t first = 0, last = 0;
    WidenTo(values, part.numbers, &first, &last);
    if (last > static_cast<uint64_t>(kMaxTimeNs)) return false;
  }
  rows_.Set(column, values);
  return true;
}

const uint64_t* BatchRows::Decode(const Part& part, bool zigzag, bool narrow, bool sums) {
  constexpr size_t kAtOnce = 1024;  // that stay in the cache until they are what is asked for
  std::vector<uint64_t>& room = decoded_[num_decoded_++];
  if (room.size() < part.numbers) room.resize(part.numbers);
  std::string_view bytes = part.bytes;
  uint64_t before = 0;
  for (size_t first = 0; first < part.numbers; first += kAtOnce) {
    uint64_t* const values = room.data() + first;
    const size_t count = std::min(kAtOnce, part.numbers - first);
    TakeNumbers(count, &bytes, values);  // they are sound
    if (narrow) {
      for (size_t i = 0; i < count; ++i) {
        values[i] = static_cast<uint32_t>(FromZigzag(static_cast<uint32_t>(values[i])));
      }
    } else if (sums) {
      SumZigzags(values, count, &before);
    } else if (zigzag) {
      FromZigzags(values, count);
    }
  }
  return room.data();
}

}  // namespace acceltrace::stream
