// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/packet_decoder.h"

#include <utility>

#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/packed.h"
#include "libtrace/stream/columns/validate.h"

namespace acceltrace::stream {

bool PacketDecoder::Parse(std::string_view bytes, proto::Packet* packet) {
  return IsModest(bytes) && packet->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

size_t PacketDecoder::WorthOf(const proto::Packet& packet, size_t bytes) {
  const bool packed = packet.has_packed() || packet.has_packed_block();
  return bytes * (packed ? kPackedWorth : 1);
}

Status PacketDecoder::Decode(size_t worth_bytes, proto::Packet* packet) {
  has_rows_ = false;
  written_rows_ = 0;
  if (packet->has_packed()) {
    if (Status status = Unpack(packet); !status.ok()) return status;
  }
  if (RowDecoder::Knows(*packet)) {
    Status status = rows_.Decode(worth_bytes, packet);
    has_rows_ = status.ok();
    written_rows_ = rows_.written_rows();
    return status;
  }
  if (packet->has_block() || packet->has_packed_block()) packet->clear_body();
  written_rows_ = Rows(*packet);
  return Validate(*packet, worth_bytes);
}

}  // namespace acceltrace::stream
