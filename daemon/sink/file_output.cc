// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/file_output.h"

#include <utility>

#include "daemon/sink/base_packets.h"

namespace acceltrace::daemon {

void FileOutput::Put(uint32_t rows, int64_t first_ns) {
  if (tail_) {
    (void)sink_->AppendTail(frame_);  // what fails is counted there
  } else {
    sink_->Append(frame_, rows, first_ns);
  }
}

void FileOutput::Keep(std::string bytes, uint32_t rows, uint64_t end) {
  while (!kept_.empty() && kept_.front().end <= sink_->valid_bytes()) {
    kept_bytes_ -= kept_.front().bytes.size();
    kept_.pop_front();
  }
  if (kept_bytes_ >= kMaxKeptBytes) return;  // stays lost
  kept_bytes_ += bytes.size();
  kept_.push_back({end, std::move(bytes), rows});
}

void FileOutput::Pause() {
  sink_->Drain();
  encoder_.TruncateTo(sink_->valid_bytes());
  // Packets that were in flight are not in the file.
  for (Kept& kept : kept_) {
    if (kept.end > sink_->valid_bytes()) kept.end = kNever;
  }
  paused_ = true;
}

bool FileOutput::TryResume(Gap* gap) {
  gap->first_ns = sink_->lost_first_ns();
  if (!paused_ || !sink_->TryResume()) return false;
  paused_ = false;
  kept_bytes_ = 0;
  for (Kept& kept : std::exchange(kept_, {})) {
    proto::Packet packet;
    if (kept.end != kNever || !packet.ParseFromString(kept.bytes)) continue;
    frame_.clear();
    ++packets_in_;
    if (!encoder_.Append(&packet, 0, kept.rows, &frame_)) continue;  // was not too large before
    Put(kept.rows);
    kept_rows_ += kept.rows;
    Keep(std::move(kept.bytes), kept.rows, encoder_.bytes());
  }
  gap->rows = rows_lost() - rows_reported_;
  rows_reported_ = rows_lost();
  return true;
}

void FileOutput::Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) {
  ++packets_in_;
  rows_ += rows;
  const bool base = BasePackets::IsBase(*packet);
  if (!base) events_ += rows;
  if (may_pause_ && !paused_ && !tail_ && sink_->full()) Pause();
  if (paused_ && !tail_) {
    encoder_.Skip();
    if (base) Keep(packet->SerializeAsString(), rows, kNever);
    sink_->Append({}, rows, first_ns);  // only counts
    return;
  }
  frame_.clear();
  std::string kept;
  if (base && may_pause_) kept = packet->SerializeAsString();
  if (!encoder_.Append(packet, first_ns, rows, &frame_)) {
    ++too_large_;
    rows_too_large_ += rows;
    return;
  }
  if (base && may_pause_) Keep(std::move(kept), rows, encoder_.bytes());
  Put(rows, first_ns);
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
