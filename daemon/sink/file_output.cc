// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/file_output.h"

#include "daemon/sink/base_packets.h"

namespace acceltrace::daemon {

void FileOutput::Put(uint32_t rows) {
  if (tail_) {
    (void)sink_->AppendTail(frame_);  // what fails is counted there
  } else {
    sink_->Append(frame_, rows);
  }
}

void FileOutput::Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) {
  ++packets_in_;
  rows_ += rows;
  if (!BasePackets::IsBase(*packet)) events_ += rows;
  frame_.clear();
  if (!encoder_.Append(packet, first_ns, rows, &frame_)) {
    ++too_large_;
    rows_too_large_ += rows;
    return;
  }
  Put(rows);
}

void FileOutput::BeginClosing() {
  sink_->Drain();
  sink_->BeginClosing();
  if (sink_->status().ok()) return;
  tail_ = true;
  encoder_.TruncateTo(sink_->valid_bytes());
}

void FileOutput::Close() {
  frame_.clear();
  encoder_.AppendFooter(&frame_);
  Put(0);
  sink_->Close();
}

}  // namespace acceltrace::daemon
