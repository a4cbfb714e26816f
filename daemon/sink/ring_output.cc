// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/ring_output.h"

#include <time.h>

namespace acceltrace::daemon {
namespace {

int64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

void RingOutput::Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) {
  auto kept = std::make_shared<Kept>();
  kept->bytes = packet->SerializeAsString();
  kept->first_ns = first_ns;
  kept->rows = rows;
  kept->written_ns = NowNs();
  bytes_ += kept->bytes.size();
  packets_.push_back(std::move(kept));
  while (bytes_ > max_bytes_ && !packets_.empty()) {
    bytes_ -= packets_.front()->bytes.size();
    evicted_rows_ += packets_.front()->rows;
    whole_since_ns_ = packets_.front()->written_ns;
    packets_.pop_front();
  }
}

}  // namespace acceltrace::daemon
