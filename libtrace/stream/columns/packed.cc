// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/packed.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "libtrace/stream/bytes/framing.h"
#include "libtrace/stream/columns/batches.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/validate.h"

namespace acceltrace::stream {
namespace {

using proto::Block;
using proto::Packet;

// Higher levels save few bytes and take much longer.
constexpr int kLevel = 3;
constexpr uint32_t kNone = UINT32_MAX;

// Packets that are read one at a time, or are packed already, are not packed.
bool MayBePacked(uint32_t body) {
  switch (body) {
    case Packet::kInfo:
    case Packet::kAccounts:
    case Packet::kBlock:
    case Packet::kPackedBlock:
    case Packet::kPacked:
    case Packet::kIndex:
    case Packet::kFooter:
      return false;
    default:
      return Packet::descriptor()->FindFieldByNumber(static_cast<int>(body)) != nullptr;
  }
}

// worth: the number of bytes of the packet that count.
bool MayUnpackTo(uint64_t size, size_t worth) {
  return size <= kMaxPacketBytes && size <= kFreePackedBytes + kMostPacking * worth;
}

// Returns columns that a column may be close to: equal in most rows, or slightly larger.
std::array<int, 3> Partners(uint32_t table, int column) {
  switch (column) {
    case Block::COLUMN_STALL_TICKS:
      return {Block::COLUMN_START_TICKS_AFTER, 0, 0};
    case Block::COLUMN_MEMORY_BYTES:
      return {Block::COLUMN_BYTES, 0, 0};
    case Block::COLUMN_DOORBELL_NS:
      return {Block::COLUMN_SUBMIT_NS, 0, 0};
    case Block::COLUMN_SUBMIT_END_NS:
    case Block::COLUMN_COMPLETE_NS:
      return {Block::COLUMN_DOORBELL_NS, 0, 0};
    case Block::COLUMN_IRQ_NS:
      return {Block::COLUMN_COMPLETE_NS, 0, 0};
    case Block::COLUMN_WAKE_NS:
      return {Block::COLUMN_WAIT_NS, 0, 0};
    case Block::COLUMN_WAIT_CORRELATION:
    case Block::COLUMN_SEQUENCE:
      return {Block::COLUMN_CORRELATION, Block::COLUMN_JOB, 0};
    case Block::COLUMN_FIRST_START_TICKS_AFTER:
    case Block::COLUMN_LAST_END_TICKS_AFTER:
      return {Block::COLUMN_FETCHED_TICKS_AFTER, 0, 0};
    case Block::COLUMN_COMPLETION_TICKS_AFTER:
      return {Block::COLUMN_LAST_END_TICKS_AFTER, 0, 0};
    case Block::COLUMN_IRQ_TICKS_AFTER:
      return {Block::COLUMN_COMPLETION_TICKS_AFTER, 0, 0};
    case Block::COLUMN_CORRELATION:
      return {table == Block::TABLE_API_CALLS ? 0 : Block::COLUMN_JOB, 0, 0};
    default:
      return {0, 0, 0};
  }
}

// Heads refer to these.
constexpr int kBeforeHeads[] = {Block::COLUMN_FETCHED_TICKS, Block::COLUMN_START_TICKS_AFTER,
                                Block::COLUMN_END_TICKS_AFTER, Block::COLUMN_UNIT};
// Interrupts refer to completions.
constexpr int kFirst[] = {Block::COLUMN_JOB, Block::COLUMN_CORRELATION, Block::COLUMN_SUBMIT_NS,
                          Block::COLUMN_DOORBELL_NS, Block::COLUMN_COMPLETE_NS};

std::vector<int> Order() {
  std::vector<int> order(std::begin(kBeforeHeads), std::end(kBeforeHeads));
  order.insert(order.end(), std::begin(kFirst), std::end(kFirst));
  for (int column = 1; column < static_cast<int>(BlockColumns::kKnown); ++column) {
    if (std::find(order.begin(), order.end(), column) == order.end()) order.push_back(column);
  }
  return order;
}

// Returns for each row the difference of the head to what MODE_UNIT predicts, or an empty vector if
// there are too many units.
std::vector<uint64_t> UnitDifferences(const RowColumns& rows) {
  const auto at = [&](int column, size_t row) {
    return rows.columns[column].empty() ? 0 : rows.columns[column][row];
  };
  std::vector<uint64_t> differences(rows.rows);
  UnitEnds ends;
  for (size_t row = 0; row < rows.rows; ++row) {
    const uint64_t unit = at(Block::COLUMN_UNIT, row);
    const uint64_t fetched = at(Block::COLUMN_FETCHED_TICKS, row);
    const uint64_t head = at(Block::COLUMN_HEAD_TICKS_AFTER, row);
    if (unit >= UnitEnds::kUnits) return {};
    differences[row] = head - ends.After(unit, fetched);
    ends.Set(unit, fetched + head + at(Block::COLUMN_START_TICKS_AFTER, row) +
                       at(Block::COLUMN_END_TICKS_AFTER, row));
  }
  return differences;
}

size_t Bytes(uint64_t value) { return (static_cast<size_t>(std::bit_width(value)) + 7) / 8; }

void AppendPlanes(const std::vector<uint64_t>& numbers, size_t planes, std::string* out) {
  const size_t rows = numbers.size();
  out->resize(planes * rows);
  for (size_t plane = 0; plane < planes; ++plane) {
    char* to = out->data() + plane * rows;
    for (size_t row = 0; row < rows; ++row) {
      to[row] = static_cast<char>(numbers[row] >> (8 * plane));
    }
  }
}

}  // namespace

Status Unpack(Packet* packet) {
  const proto::Packed packed = std::move(*packet->mutable_packed());
  packet->clear_body();
  if (packed.codec() != proto::Packed::CODEC_ZSTD || !MayBePacked(packed.body())) return {};
  if (!MayUnpackTo(packed.size(), packed.data().size() + packed.filling().size())) {
    return Status::Error("invalid packet: packed more tightly than it may be");
  }
  std::string body, bytes;
  if (!Decompress(packed.data(), packed.size(), &body)) {
    return Status::Error("invalid packet: it does not decompress");
  }
  AppendVarint(uint64_t{packed.body()} << 3 | 2, &bytes);
  AppendVarint(body.size(), &bytes);
  bytes += body;
  if (!IsModest(bytes) || !packet->MergeFromString(bytes) ||
      static_cast<uint32_t>(packet->body_case()) != packed.body()) {
    return Status::Error("invalid packet: what is packed in it is not of its kind");
  }
  return {};
}

// Keeps the cheaper choice. first: the value of the first row, for MODE_DELTA.
void Packing::Try(uint32_t mode, uint32_t reference, std::vector<uint64_t> differences,
                  uint64_t first, Choice* best) {
  if (best->mode != kNone && best->width == 0) return;  // takes no bytes already
  Choice choice;
  choice.mode = mode, choice.reference = reference;
  const auto [lowest, highest] = std::minmax_element(
      differences.begin(), differences.end(),
      [](uint64_t a, uint64_t b) { return static_cast<int64_t>(a) < static_cast<int64_t>(b); });
  const uint64_t low = *lowest, high = *highest;
  // Numbers that are equal in many blocks compress better than smaller ones that are not.
  const bool plain = static_cast<int64_t>(low) >= 0 && Bytes(high) == Bytes(high - low);
  choice.base = plain ? 0 : low;
  choice.width = static_cast<uint32_t>(std::bit_width(high - choice.base));
  for (uint64_t& difference : differences) difference -= choice.base;
  choice.start = first - choice.base - differences[0];
  AppendPlanes(differences, Bytes(high - choice.base), &choice.planes);
  choice.cost = choice.width == 0 ? 0 : compressor_.Estimate(choice.planes);
  if (best->mode == kNone || choice.cost < best->cost) *best = std::move(choice);
}

void Packing::PackColumn(const RowColumns& columns, int column, Block* block) {
  const std::vector<uint64_t>& values = columns.columns[column];
  if (std::all_of(values.begin(), values.end(), [](uint64_t value) { return value == 0; })) return;
  Choice best;
  best.mode = kNone;
  Try(Block::MODE_OFFSET, 0, values, 0, &best);
  std::vector<uint64_t> differences(values.size());
  for (size_t row = 1; row < values.size(); ++row) differences[row] = values[row] - values[row - 1];
  if (values.size() > 1) differences[0] = differences[1];
  Try(Block::MODE_DELTA, 0, differences, values[0], &best);
  if (column == Block::COLUMN_HEAD_TICKS_AFTER) {
    differences = UnitDifferences(columns);
    if (!differences.empty()) Try(Block::MODE_UNIT, 0, std::move(differences), 0, &best);
  }
  for (const int to : Partners(block->table(), column)) {
    // References must be to earlier columns that exist.
    if (to == 0 || std::count(block->column().begin(), block->column().end(), to) == 0) continue;
    differences = values;
    for (size_t row = 0; row < values.size(); ++row) differences[row] -= columns.columns[to][row];
    Try(Block::MODE_REFERENCE, static_cast<uint32_t>(to), differences, 0, &best);
  }
  block->add_column(static_cast<uint32_t>(column));
  block->add_width(best.width);
  block->add_mode(best.mode);
  block->add_base(best.base);
  if (best.mode == Block::MODE_DELTA) block->add_start(best.start);
  if (best.mode == Block::MODE_REFERENCE) block->add_reference(best.reference);
  planes_ += best.planes;
}

bool Packing::Pack(const RowColumns& columns, Block* block) {
  static const std::vector<int> order = Order();
  planes_.clear();
  block->set_rows(static_cast<uint32_t>(columns.rows));
  for (const int column : order) PackColumn(columns, column, block);
  if (!planes_.empty() && !compressor_.Compress(planes_, kLevel, block->mutable_data())) {
    return false;
  }
  const size_t least = LeastPackedBytes(block->table(), columns.rows);
  if (block->data().size() < least) block->mutable_filling()->resize(least - block->data().size());
  return true;
}

bool Packing::Pack(const Packet& from, Packet* packed) {
  const google::protobuf::Message* body = Body(from);
  if (body == nullptr || !MayBePacked(from.body_case())) return false;
  const std::string bytes = body->SerializeAsString();
  proto::Packed& to = *packed->mutable_packed();
  if (bytes.size() > kMaxPacketBytes / 4 ||
      !compressor_.Compress(bytes, kLevel, to.mutable_data())) {
    return false;
  }
  size_t least = 0;
  if (bytes.size() > kFreePackedBytes) {
    least = (bytes.size() - kFreePackedBytes + kMostPacking - 1) / kMostPacking;
  }
  if (const size_t rows = Rows(from); rows > kFreeRows) {
    least = std::max(least, (rows - kFreeRows) * LeastRowBytes(from.body_case()) / kPackedWorth);
  }
  if (to.data().size() < least) to.mutable_filling()->resize(least - to.data().size());
  to.set_body(from.body_case());
  to.set_size(static_cast<uint32_t>(bytes.size()));
  return to.ByteSizeLong() + bytes.size() / 8 < bytes.size();
}

}  // namespace acceltrace::stream
