// SPDX-License-Identifier: Apache-2.0
//
// The end of a recording: collects what is still on its way, then writes accounts and summary.
#include <algorithm>

#include "daemon/base/host_info.h"
#include "daemon/recorder.h"

namespace acceltrace::daemon {

Summary Recorder::Stop(const std::string& reason, int32_t command_status) {
  if (session_.triggers() != nullptr) {
    DrainWhatWaits();
    TendTriggers(MonotonicNs());
  }
  const int64_t stop_ns = MonotonicNs();
  if (priority_ != nullptr) priority_->Hurry();
  TraceJobsInFlight();
  stopped_ = true;
  // Sample sources come first: the device's ring then has everything that they caused.
  for (const auto& source : sources_) source->Stop();
  priority_.reset();  // no more events follow
  session_.Finish(stop_ns);
  router_.EndRing();
  part_->output.BeginClosing();
  if (part_->output.rows_lost() > output_reported_) {
    Loss loss;
    loss.hop = "output";
    loss.count = part_->output.rows_lost() - output_reported_;
    loss.first = part_->sink.lost_first_ns();
    loss.last = loss.first == 0 ? 0 : stop_ns;
    session_.OnLoss(loss);
  }
  session_.OnHop({"output", part_->output.rows(), part_->output.rows() - part_->output.rows_lost(),
                  part_->output.rows_lost(), 0});
  StopInfo stop;
  stop.stop_ns = stop_ns;
  stop.reason = failure().ok() ? reason : "output failed";
  stop.command_status = command_status;
  stop.cpu_ns = CpuNs();
  stop.bytes_written = part_->sink.valid_bytes();
  if (const RingOutput* ring = router_.ring()) {
    stop.overwritten_rows = ring->evicted_rows();
    stop.whole_since_ns = std::min(ring->whole_since_ns(), stop.stop_ns);
  } else if (done_.parts > 1) {
    stop.overwritten_rows = moved_rows_;
    stop.whole_since_ns = part_begin_ns_;
  }
  proto::Accounts cost;
  const WorkLog nothing;
  work_log_.Write(&cost, {write_thread_ ? &write_thread_->log() : &nothing, &watch_log_});
  if (light_) cost.set_overhead("low");
  cost.set_wake_ns(static_cast<uint64_t>(wake_.ns));
  cost.set_wake_error_ns(static_cast<uint64_t>(wake_.error_ns));
  session_.WriteAccounts(stop, cost);
  part_->output.Close();
  router_.live().Close();

  AddUp(*part_, part_->output.events());
  Summary summary = done_;
  summary.output = output_name_;
  if (router_.ring() != nullptr) summary.overwritten = stop.overwritten_rows;
  if (const Triggers* triggers = session_.triggers()) summary.triggered = triggers->fired();
  summary.lost = session_.lost();
  summary.bad = session_.bad();
  summary.duration_ns = stop_ns - start_ns_;
  summary.cpu_ns = stop.cpu_ns;
  summary.bpf_ns = session_.bpf_ns();
  summary.stop_reason = stop.reason;
  if (!part_->sink.status().ok() || part_->output.rows_lost() > 0) {
    const uint64_t rows = part_->output.rows(),
                   kept = rows - std::min(rows, part_->output.rows_lost());
    const Status& why = part_->sink.status();
    summary.error = (why.ok() ? output_name_ + ": the disk was full for a while" : why.message()) +
                    "; it holds " + std::to_string(kept) + " of " + std::to_string(rows) +
                    " events";
  } else if (removed_ || part_->sink.removed()) {
    summary.error = output_name_ + " was removed while it was written, and is lost";
  }
  return summary;
}

}  // namespace acceltrace::daemon
