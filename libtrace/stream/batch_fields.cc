// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/batch_fields.h"

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::stream {
namespace {

using proto::Block;
using proto::Packet;

constexpr BatchField Deltas(int column) { return {FieldKind::kDeltas, column}; }
constexpr BatchField Signed(int column) { return {FieldKind::kSigned, column}; }
constexpr BatchField Narrow(int column) { return {FieldKind::kNarrow, column}; }
constexpr BatchField Wide(int column) { return {FieldKind::kWide, column}; }

// By the numbers of the fields, as in the schema; few_columns_test.cc compares them.
constexpr BatchField kCommands[] = {{},
                                    {},
                                    Deltas(Block::COLUMN_FETCHED_TICKS),
                                    Wide(Block::COLUMN_HEAD_TICKS_AFTER),
                                    Wide(Block::COLUMN_START_TICKS_AFTER),
                                    Wide(Block::COLUMN_END_TICKS_AFTER),
                                    Deltas(Block::COLUMN_RECORD),
                                    Narrow(Block::COLUMN_UNIT),
                                    Narrow(Block::COLUMN_CONTEXT),
                                    Narrow(Block::COLUMN_QUEUE),
                                    Narrow(Block::COLUMN_JOB),
                                    Narrow(Block::COLUMN_INDEX),
                                    Narrow(Block::COLUMN_OPCODE),
                                    Narrow(Block::COLUMN_STATUS),
                                    Narrow(Block::COLUMN_LIMITER),
                                    Narrow(Block::COLUMN_TAG),
                                    Deltas(Block::COLUMN_CORRELATION),
                                    Wide(Block::COLUMN_WORK),
                                    Wide(Block::COLUMN_BYTES),
                                    Wide(Block::COLUMN_MEMORY_BYTES),
                                    Narrow(Block::COLUMN_ROW_HITS),
                                    Narrow(Block::COLUMN_ROW_MISSES)};
constexpr BatchField kJobs[] = {{},
                                {},
                                Deltas(Block::COLUMN_DOORBELL_TICKS),
                                Signed(Block::COLUMN_FETCHED_TICKS_AFTER),
                                Signed(Block::COLUMN_FIRST_START_TICKS_AFTER),
                                Signed(Block::COLUMN_LAST_END_TICKS_AFTER),
                                Signed(Block::COLUMN_COMPLETION_TICKS_AFTER),
                                Signed(Block::COLUMN_IRQ_TICKS_AFTER),
                                Narrow(Block::COLUMN_HAS_IRQ),
                                Deltas(Block::COLUMN_RECORD),
                                Narrow(Block::COLUMN_CONTEXT),
                                Narrow(Block::COLUMN_QUEUE),
                                Narrow(Block::COLUMN_JOB),
                                Narrow(Block::COLUMN_COMMANDS),
                                Narrow(Block::COLUMN_STATUS),
                                Deltas(Block::COLUMN_CORRELATION)};
constexpr BatchField kApi[] = {{},
                               Deltas(Block::COLUMN_BEGIN_NS),
                               Wide(Block::COLUMN_DURATION_NS),
                               Narrow(Block::COLUMN_PID),
                               Narrow(Block::COLUMN_TID),
                               Narrow(Block::COLUMN_NAME),
                               Deltas(Block::COLUMN_CORRELATION),
                               Wide(Block::COLUMN_BYTES),
                               Narrow(Block::COLUMN_STREAM),
                               Signed(Block::COLUMN_RESULT),
                               Narrow(Block::COLUMN_OPEN),
                               Narrow(Block::COLUMN_BEGAN_BEFORE)};
// In blocks these are other rows.
constexpr BatchField kHost[] = {{},        Narrow(0), Deltas(0), Narrow(0), Narrow(0),
                                Narrow(0), Narrow(0), Narrow(0), Narrow(0), Narrow(0),
                                Wide(0),   Deltas(0), Wide(0),   Wide(0),   Narrow(0)};

}  // namespace

std::span<const BatchField> BatchFields(uint32_t body) {
  switch (body) {
    case Packet::kCommands:
      return kCommands;
    case Packet::kJobs:
      return kJobs;
    case Packet::kApi:
      return kApi;
    case Packet::kHost:
      return kHost;
    default:
      return {};
  }
}

}  // namespace acceltrace::stream
