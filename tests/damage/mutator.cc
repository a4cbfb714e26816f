// SPDX-License-Identifier: Apache-2.0
#include "tests/damage/mutator.h"

#include <algorithm>

#include "libtrace/base/crc32c.h"
#include "libtrace/stream/bytes/framing.h"
#include "libtrace/stream/columns/batches.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/file/writer.h"
#include "tests/damage/blocks.h"

namespace acceltrace::test {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using proto::Packet;

// The values of a batch's column. Row-major ones have `width` values for each row.
struct Column {
  const FieldDescriptor* field;
  size_t width;
};

std::vector<Column> Columns(const Message& batch, size_t rows) {
  std::vector<Column> columns;
  const Reflection& reflection = *batch.GetReflection();
  for (int i = 0; i < batch.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = batch.GetDescriptor()->field(i);
    if (!field->is_repeated() || rows == 0) continue;
    const auto size = static_cast<size_t>(reflection.FieldSize(batch, field));
    // CounterBatch.counter applies to all rows.
    if (field == proto::CounterBatch::descriptor()->FindFieldByName("counter")) continue;
    if (size != 0 && size % rows == 0) columns.push_back({field, size / rows});
  }
  return columns;
}

bool IsDelta(const FieldDescriptor& field) { return field.name().ends_with("_delta"); }

// Moves value `from` to `to`, which precedes it; numbers and strings.
void MoveValue(Message* batch, const FieldDescriptor* field, int from, int to) {
  if (from != to) batch->GetReflection()->SwapElements(batch, field, from, to);
}

int64_t Signed(const Message& batch, const FieldDescriptor* field, int at) {
  return batch.GetReflection()->GetRepeatedInt64(batch, field, at);
}

// Replaces a number by one that is likely to matter.
uint64_t Interesting(uint64_t value, Random* random) {
  switch (random->Below(9)) {
    case 0:
      return 0;
    case 1:
      return value ^ (uint64_t{1} << random->Below(64));
    case 2:
      return value + 1 + random->Below(16);
    case 3:
      return value - 1 - random->Below(16);
    case 4:
      return uint64_t{1} << random->Below(64);
    case 5:
      return ~uint64_t{0} >> random->Below(64);
    case 6:
      return 0 - value;
    case 7:
      return value * (2 + random->Below(1000));
    default:
      return random->Any() >> random->Below(64);
  }
}

// index < 0: the field is not repeated.
void MutateNumber(Message* message, const FieldDescriptor* field, int index, Random* random) {
  const Reflection& r = *message->GetReflection();
  const bool one = index < 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t old = one ? r.GetInt64(*message, field) : Signed(*message, field, index);
      const auto fresh = static_cast<int64_t>(Interesting(static_cast<uint64_t>(old), random));
      one ? r.SetInt64(message, field, fresh) : r.SetRepeatedInt64(message, field, index, fresh);
      break;
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const uint64_t old =
          one ? r.GetUInt64(*message, field) : r.GetRepeatedUInt64(*message, field, index);
      const uint64_t fresh = Interesting(old, random);
      one ? r.SetUInt64(message, field, fresh) : r.SetRepeatedUInt64(message, field, index, fresh);
      break;
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      const uint32_t old =
          one ? r.GetUInt32(*message, field) : r.GetRepeatedUInt32(*message, field, index);
      const auto fresh = static_cast<uint32_t>(Interesting(old, random));
      one ? r.SetUInt32(message, field, fresh) : r.SetRepeatedUInt32(message, field, index, fresh);
      break;
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      const int32_t old =
          one ? r.GetInt32(*message, field) : r.GetRepeatedInt32(*message, field, index);
      const auto fresh = static_cast<int32_t>(Interesting(static_cast<uint32_t>(old), random));
      one ? r.SetInt32(message, field, fresh) : r.SetRepeatedInt32(message, field, index, fresh);
      break;
    }
    case FieldDescriptor::CPPTYPE_ENUM:
      if (one) r.SetEnumValue(message, field, static_cast<int>(random->Below(20)));
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      if (one) r.SetDouble(message, field, static_cast<double>(random->Any() >> random->Below(64)));
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      if (one) r.SetBool(message, field, !r.GetBool(*message, field));
      break;
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string text =
          one ? r.GetString(*message, field) : r.GetRepeatedString(*message, field, index);
      if (random->OneIn(3))
        text += "7";
      else if (!text.empty() && random->OneIn(2))
        text.pop_back();
      else
        text.assign(random->Below(400), static_cast<char>('0' + random->Below(60)));
      one ? r.SetString(message, field, text) : r.SetRepeatedString(message, field, index, text);
      break;
    }
    default:
      break;
  }
}

void MutateMessage(Message* message, Random* random, int depth) {
  const Reflection& r = *message->GetReflection();
  const int fields = message->GetDescriptor()->field_count();
  if (fields == 0) return;
  const FieldDescriptor* field =
      message->GetDescriptor()->field(static_cast<int>(random->Below(static_cast<size_t>(fields))));
  if (field->is_map()) return;
  const bool parts = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!field->is_repeated()) {
    if (!parts) return MutateNumber(message, field, -1, random);
    if (random->OneIn(8)) return r.ClearField(message, field);
    if (depth < 4) MutateMessage(r.MutableMessage(message, field), random, depth + 1);
    return;
  }
  const int size = r.FieldSize(*message, field);
  if (size == 0) {
    if (parts) r.AddMessage(message, field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) r.AddString(message, field, "x");
    return;
  }
  const int at = static_cast<int>(random->Below(static_cast<size_t>(size)));
  switch (random->Below(parts ? 4 : 8)) {
    case 0:
      r.SwapElements(message, field, at, size - 1);
      if (random->OneIn(2)) r.RemoveLast(message, field);
      break;
    case 1:
      if (random->OneIn(4)) r.ClearField(message, field);
      break;
    case 2:
      r.SwapElements(message, field, at,
                     static_cast<int>(random->Below(static_cast<size_t>(size))));
      break;
    default:
      if (!parts) {
        MutateNumber(message, field, at, random);
      } else if (depth < 4) {
        MutateMessage(r.MutableRepeatedMessage(message, field, at), random, depth + 1);
      }
  }
}

// Gives values to an absent column: small ones, flags more often.
void FillColumn(Message* batch, size_t rows, Random* random) {
  const Reflection& r = *batch->GetReflection();
  const int fields = batch->GetDescriptor()->field_count();
  const FieldDescriptor* field =
      batch->GetDescriptor()->field(static_cast<int>(random->Below(static_cast<size_t>(fields))));
  if (!field->is_repeated() || r.FieldSize(*batch, field) > 0) return;
  const uint64_t limit = uint64_t{2} << (random->OneIn(2) ? 0 : random->Below(40));
  for (size_t row = 0; row < rows; ++row) {
    const uint64_t value = random->Below(limit);
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        r.AddInt64(batch, field, static_cast<int64_t>(value));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        r.AddUInt64(batch, field, value);
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        r.AddInt32(batch, field, static_cast<int32_t>(value));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        r.AddUInt32(batch, field, static_cast<uint32_t>(value));
        break;
      default:
        return;
    }
  }
}

// Changes a whole column: the same value in all rows, or none.
void MutateColumn(Packet* packet, Random* random) {
  Message* batch = stream::MutableBody(packet);
  if (random->OneIn(3)) return FillColumn(batch, stream::Rows(*packet), random);
  const std::vector<Column> columns = Columns(*batch, stream::Rows(*packet));
  if (columns.empty()) return;
  const Column& column = columns[random->Below(columns.size())];
  const Reflection& r = *batch->GetReflection();
  const int size = r.FieldSize(*batch, column.field);
  if (random->OneIn(2)) return r.ClearField(batch, column.field);
  const bool same = random->OneIn(2);
  const size_t step = 1 + random->Below(7);
  for (int i = 0; i < size; i += static_cast<int>(step)) {
    Random again = *random;
    MutateNumber(batch, column.field, i, same ? &again : random);
  }
}

}  // namespace

std::vector<Packet> Parse(std::string_view bytes) {
  std::vector<Packet> packets;
  while (!bytes.empty()) {
    const stream::Frame frame = stream::ParseFrame(bytes);
    if (frame.state != stream::Frame::State::kWhole) {
      bytes.remove_prefix(1);
      continue;
    }
    Packet packet;
    const auto size = static_cast<int>(frame.packet.size());
    if (packet.ParseFromArray(frame.packet.data(), size)) packets.push_back(std::move(packet));
    bytes.remove_prefix(frame.total_bytes);
  }
  return packets;
}

std::vector<std::string> Frames(std::string_view bytes) {
  std::vector<std::string> frames;
  while (!bytes.empty()) {
    const stream::Frame frame = stream::ParseFrame(bytes);
    const bool whole = frame.state == stream::Frame::State::kWhole;
    if (whole) frames.emplace_back(bytes.substr(0, frame.total_bytes));
    bytes.remove_prefix(whole ? frame.total_bytes : 1);
  }
  return frames;
}

std::string Encode(std::vector<Packet> packets, Footer footer, bool keep_numbers) {
  std::string bytes;
  stream::PacketEncoder encoder;
  uint64_t number = 0;
  for (Packet& packet : packets) {
    if (packet.has_footer() && footer != Footer::kAsItIs) continue;
    if (footer == Footer::kWritten) {
      encoder.Append(&packet, 0, static_cast<uint32_t>(stream::Rows(packet)), &bytes);
      continue;
    }
    packet.set_sync(stream::kSync);
    if (!keep_numbers) packet.set_sequence(++number);
    packet.clear_crc32c();
    std::string summed = packet.SerializeAsString();
    if (summed.size() + stream::kTrailerBytes > stream::kMaxPacketBytes) continue;
    const uint32_t crc = Crc32c(summed);
    bytes.push_back(stream::kPacketTag);
    stream::AppendVarint(summed.size() + stream::kTrailerBytes, &bytes);
    bytes.append(summed).append(stream::kCrcTag);
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(crc >> (8 * i)));
  }
  if (footer == Footer::kWritten) encoder.AppendFooter(&bytes);
  return bytes;
}

void RemoveRows(Packet* packet, size_t from, size_t to) {
  const size_t rows = stream::Rows(*packet);
  to = std::min(to, rows);
  if (from >= to) return;
  Message* batch = stream::MutableBody(packet);
  const Reflection& r = *batch->GetReflection();
  for (const auto& [field, width] : Columns(*batch, rows)) {
    // Row-major differences refer to the same place one row up.
    if (IsDelta(*field) && to < rows) {
      for (size_t place = 0; place < width; ++place) {
        const int next = static_cast<int>(to * width + place);
        uint64_t sum = static_cast<uint64_t>(Signed(*batch, field, next));
        for (size_t row = from; row < to; ++row) {
          sum +=
              static_cast<uint64_t>(Signed(*batch, field, static_cast<int>(row * width + place)));
        }
        r.SetRepeatedInt64(batch, field, next, static_cast<int64_t>(sum));
      }
    }
    const size_t gone = (to - from) * width, size = rows * width;
    for (size_t i = to * width; i < size; ++i) {
      MoveValue(batch, field, static_cast<int>(i), static_cast<int>(i - gone));
    }
    for (size_t i = 0; i < gone; ++i) r.RemoveLast(batch, field);
  }
}

std::vector<Packet> Divided(const std::vector<Packet>& packets, size_t rows) {
  std::vector<Packet> divided;
  for (const Packet& packet : packets) {
    const size_t have = packet.has_footer() ? 0 : stream::Rows(packet);
    if (have <= rows) {
      divided.push_back(packet);
      continue;
    }
    for (size_t from = 0; from < have; from += rows) {
      Packet part = packet;
      RemoveRows(&part, from + rows, have);
      RemoveRows(&part, 0, from);
      divided.push_back(std::move(part));
    }
  }
  return divided;
}

void MutatePacket(Packet* packet, Random* random) {
  // Mutates the content of a block more often than its encoding.
  const bool packed = packet->has_packed() || packet->has_packed_block();
  if ((packet->has_block() || packed) && !random->OneIn(4) && FromBlock(packet)) {
    MutatePacket(packet, random);
    const bool block = ToBlock(packet, random);
    if (packed || (block && random->OneIn(4))) (void)Pack(packet);
    return;
  }
  Message* body = stream::MutableBody(packet);
  if (body == nullptr) return;
  const size_t rows = stream::Rows(*packet);
  if (rows > 0 && !packet->has_footer()) {
    switch (random->Below(4)) {
      case 0: {
        const size_t from = random->Below(rows);
        return RemoveRows(packet, from, from + 1 + random->Below(rows));
      }
      case 1:
        return MutateColumn(packet, random);
      default:
        break;
    }
  }
  MutateMessage(body, random, 0);
}

void MutatePackets(std::vector<Packet>* packets, Random* random) {
  if (packets->empty()) return;
  const size_t at = random->Below(packets->size()), other = random->Below(packets->size());
  constexpr size_t kMost = 200;
  switch (random->Below(16)) {
    case 0:
      packets->erase(packets->begin() + static_cast<ptrdiff_t>(at));
      break;
    case 1:
      if (packets->size() < kMost) {
        packets->insert(packets->begin() + static_cast<ptrdiff_t>(other), Packet((*packets)[at]));
      }
      break;
    case 2:
      std::swap((*packets)[at], (*packets)[other]);
      break;
    case 3:
      if (!FromBlock(&(*packets)[at])) (void)ToBlock(&(*packets)[at], random);
      if (random->OneIn(3)) (void)Pack(&(*packets)[at]);
      break;
    default:
      MutatePacket(&(*packets)[at], random);
  }
}

}  // namespace acceltrace::test
