// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/router.h"

#include <string>

#include "libtrace/base/utf8.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kBytesBetween = 1 << 20;

}  // namespace

Router::Router(uint64_t ring_bytes) : ring_open_(ring_bytes > 0) {
  if (ring_open_) ring_.emplace(ring_bytes);
}

void Router::SetFile(FileOutput* file, uint64_t part) {
  file_ = file;
  base_.Replay([&](proto::Packet* packet) {
    if (packet->has_info())
      (*packet->mutable_info()->mutable_notes())["part"] = std::to_string(part);
    file_->Write(packet, 0, static_cast<uint32_t>(stream::Rows(*packet)));
  });
}

// Names of processes, files and arguments may contain any bytes. A packet with invalid UTF-8 could
// be kept, but not parsed again for the next file.
void Router::Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) {
  ReplaceInvalidUtf8(packet);
  base_.Note(*packet);
  if (live_.readers() > 0) live_.Write(packet, first_ns, rows);
  if (!ring_open_) {
    file_->Write(packet, first_ns, rows);
  } else if (!BasePackets::IsBase(*packet)) {
    ring_->Write(packet, first_ns, rows);
  }
}

void Router::CopyRing(FileOutput* file, const std::function<void()>& between) {
  base_.Replay([&](proto::Packet* packet) {
    file->Write(packet, 0, static_cast<uint32_t>(stream::Rows(*packet)));
  });
  size_t bytes = 0;
  for (const auto& kept : ring_->Contents()) {
    proto::Packet packet;
    if (packet.ParseFromString(kept->bytes)) file->Write(&packet, kept->first_ns, kept->rows);
    bytes += kept->bytes.size();
    if (bytes < kBytesBetween) continue;
    bytes = 0;
    between();
  }
}

void Router::EndRing() {
  if (!ring_open_) return;
  ring_open_ = false;
  CopyRing(file_, [] {});
}

void Router::Snapshot(FileOutput* file, const std::function<void()>& between) {
  CopyRing(file, between);
}

}  // namespace acceltrace::daemon
