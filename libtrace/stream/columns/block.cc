// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/block.h"

#include <algorithm>

#include "libtrace/stream/columns/validate.h"

namespace acceltrace::stream {

using proto::Block;
proto::Packet::BodyCase BatchOf(uint32_t table) {
  switch (table) {
    case Block::TABLE_COMMANDS:
      return proto::Packet::kCommands;
    case Block::TABLE_DEVICE_JOBS:
      return proto::Packet::kJobs;
    case Block::TABLE_HOST_JOBS:
    case Block::TABLE_HOST_WAITS:
      return proto::Packet::kHost;
    case Block::TABLE_API_CALLS:
      return proto::Packet::kApi;
    default:
      return proto::Packet::BODY_NOT_SET;
  }
}

size_t LeastBlockBytes(uint32_t table, size_t rows) {
  // A row of jobs can be five rows of the batch, one of waits two.
  const size_t times = table == Block::TABLE_HOST_JOBS    ? 5
                       : table == Block::TABLE_HOST_WAITS ? 2
                                                          : 1;
  const size_t free_rows = kFreeRows / times;
  const size_t least =
      rows < free_rows ? 0 : (rows - free_rows) * times * LeastRowBytes(BatchOf(table));
  return std::max(rows, least);
}

size_t LeastPackedBytes(uint32_t table, size_t rows) {
  return (LeastBlockBytes(table, rows) + kPackedWorth - 1) / kPackedWorth;
}

}  // namespace acceltrace::stream
