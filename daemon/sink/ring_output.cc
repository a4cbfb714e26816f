// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/ring_output.h"

namespace acceltrace::daemon {

void RingOutput::Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) {
  auto kept = std::make_shared<Kept>();
  kept->bytes = packet->SerializeAsString();
  kept->first_ns = first_ns;
  kept->rows = rows;
  bytes_ += kept->bytes.size();
  packets_.push_back(std::move(kept));
  while (bytes_ > max_bytes_ && !packets_.empty()) {
    bytes_ -= packets_.front()->bytes.size();
    evicted_rows_ += packets_.front()->rows;
    packets_.pop_front();
  }
}

}  // namespace acceltrace::daemon
