// SPDX-License-Identifier: Apache-2.0
//
// Files that are completed while the recording continues: snapshots of a flight recorder, by
// request and by trigger, and the parts of a rotation. Each is a complete trace, with what was in
// progress as open and accounts of its own.
#include <fcntl.h>

#include <algorithm>

#include "daemon/base/host_info.h"
#include "daemon/recorder.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::daemon {
namespace {

// One burst must not use up all files for triggers.
constexpr int64_t kSavePauseNs = 1'000'000'000;
// How often a file is checked that is full, or may have been removed.
constexpr int64_t kLookNs = 1'000'000'000;

}  // namespace

// What happened before this call must be in the file, as if the recording ended now.
Recorder::Cut Recorder::CutHere(const std::string& reason, uint64_t overwritten_rows,
                                int64_t whole_since_ns) {
  Cut cut;
  StopInfo& stop = cut.stop;
  stop.stop_ns = MonotonicNs();
  TraceJobsInFlight();
  for (const auto& source : sources_) source->Checkpoint();
  DrainWhatWaits();
  FlushSources();
  session_.Flush();
  stop.reason = reason;
  stop.cpu_ns = CpuNs();
  if (tracer_ != nullptr) {
    const Tracer::Cost cost = tracer_->ReadCost();
    stop.bpf_ns = cost.run_ns;
    stop.bpf_runs = cost.runs;
  }
  stop.overwritten_rows = overwritten_rows;
  stop.whole_since_ns = whole_since_ns;
  if (const RingOutput* ring = router_.ring()) {
    stop.overwritten_rows = ring->evicted_rows();
    stop.whole_since_ns = std::min(ring->whole_since_ns(), stop.stop_ns);
  }
  cut.closing = session_.Checkpoint(stop, SourceHops());
  return cut;
}

void Recorder::WriteClosing(Part* part, Cut cut) {
  for (proto::Packet& packet : cut.closing) {
    if (packet.has_accounts()) break;
    part->output.Write(&packet, 0, static_cast<uint32_t>(stream::Rows(packet)));
  }
  part->output.BeginClosing();
  proto::Packet& last = cut.closing.back();
  proto::Accounts* accounts = last.mutable_accounts();
  accounts->set_bytes_written(part->sink.valid_bytes());
  proto::Accounts::Hop* own = accounts->add_hops();
  own->set_name("output");
  own->set_in(part->output.rows());
  own->set_out(part->output.rows() - part->output.rows_lost());
  own->set_lost(part->output.rows_lost());
  part->output.Write(&last, cut.stop.stop_ns, 0);
  part->output.Close();
}

Status Recorder::Save(UniqueFd output, const std::string& output_name, const std::string& reason) {
  Cut cut = CutHere(reason, 0, 0);
  // Not synced, since the rings would fill while this waited for the disk.
  Part part(std::move(output), output_name, write_thread_.get(), false);
  part.sink.Begin();
  router_.Snapshot(&part.output, [this] { DrainSources(MonotonicNs()); });
  WriteClosing(&part, std::move(cut));
  saved_bytes_ += part.sink.valid_bytes();
  return part.sink.status();
}

Status Recorder::Snapshot(UniqueFd output, const std::string& output_name) {
  if (!router_.ring_open()) {
    return Status::Error(
        "this recording goes straight to its file; start it with a ring size "
        "(--ring) to take snapshots");
  }
  return Save(std::move(output), output_name, "snapshot");
}

// `events` excludes what the closing packets have as in progress, since it is counted again later.
void Recorder::AddUp(const Part& part, uint64_t events) {
  done_.bytes += part.sink.valid_bytes();
  done_.packets +=
      part.output.packets_in() - std::min(part.output.packets_in(), part.output.packets_lost());
  done_.events += events - std::min(events, part.output.rows_lost());
}

// Continues the recording in the next file; the oldest one is overwritten if there is no other.
void Recorder::Rotate(int64_t now_ns) {
  part_->sink.Drain();
  if (!failure().ok()) return;  // reported like that of any other output
  Cut cut = CutHere("rotated", moved_rows_, done_.parts > 1 ? part_begin_ns_ : 0);
  const uint64_t events = part_->output.events();
  // What is found from now on goes to the next part, which has everything that happens from now on.
  const int64_t begin_ns = MonotonicNs();
  WriteClosing(part_.get(), std::move(cut));
  if (!failure().ok() && done_.error.empty()) done_.error = failure().message();
  moved_rows_ += events;
  AddUp(*part_, events);
  file_events_[(done_.parts - 1) % files_.size()] = events;
  const size_t next = done_.parts % files_.size();
  done_.overwritten += file_events_[next];
  ++done_.parts;
  part_ = std::make_unique<Part>(UniqueFd(fcntl(files_[next].get(), F_DUPFD_CLOEXEC, 0)),
                                 "part " + std::to_string(next + 1) + " of " + output_name_,
                                 write_thread_.get(), sync_);
  if (pause_when_full_) part_->output.PauseWhenFull();
  output_reported_ = 0;
  part_->sink.Begin();
  router_.SetFile(&part_->output, done_.parts);
  part_begin_ns_ = begin_ns;
  flush_.Flushed(now_ns);
  // Each file begins with its own samples of clocks and counters, like a recording.
  for (const auto& source : sources_) source->Checkpoint();
}

// Checks a full disk now and then, and records the time of what was lost meanwhile.
void Recorder::TendPause(int64_t now_ns) {
  FileOutput& output = part_->output;
  if (output.paused() && !was_paused_) {
    was_paused_ = true;
    ++pauses_;
    next_look_ns_ = now_ns + kLookNs;
  }
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookNs;
  removed_ = removed_ || part_->sink.removed();
  FileOutput::Gap gap;
  if (!output.paused() || !output.TryResume(&gap)) return;
  was_paused_ = false;
  output_reported_ += gap.rows;
  if (gap.rows == 0) return;
  Loss loss;
  loss.hop = "output";
  loss.count = gap.rows;
  loss.first = gap.first_ns;
  loss.last = gap.first_ns == 0 ? 0 : now_ns;
  session_.OnLoss(loss);
}

RecorderStats Recorder::Stats() {
  RecorderStats stats;
  if (stopped_) {
    stats.hops = session_.hops();
    stats.bytes = done_.bytes + saved_bytes_;  // includes the last part
  } else {
    stats.hops = SourceHops();
    const FileOutput& output = part_->output;
    stats.hops.push_back(
        {"output", output.rows(), output.rows() - output.rows_lost(), output.rows_lost(), 0});
    stats.bytes = done_.bytes + part_->sink.valid_bytes() + saved_bytes_;
  }
  for (const auto& device : devices_) stats.devices.push_back(device->name());
  if (const RingOutput* ring = router_.ring()) stats.ring_bytes = ring->bytes();
  stats.processes = session_.processes();
  stats.live_readers = router_.live().readers();
  stats.live_dropped = router_.live().dropped();
  stats.stalls = part_->sink.stalls();
  stats.stall_ns = part_->sink.stall_ns();
  stats.pauses = pauses_;
  stats.paused = paused();
  stats.removed = removed_;
  if (!stopped_) stats.fill_permille = FillPermille();
  return stats;
}

void Recorder::TendFiles(int64_t now_ns) {
  if (pause_when_full_ || now_ns >= next_look_ns_) TendPause(now_ns);
  if (!failure().ok() || paused()) return;
  if ((rotate_bytes_ != 0 && part_->sink.taken_bytes() >= rotate_bytes_) ||
      (rotate_ns_ != 0 && now_ns - part_begin_ns_ >= rotate_ns_)) {
    Rotate(now_ns);
  }
  TendTriggers(now_ns);
}

void Recorder::TendTriggers(int64_t now_ns) {
  Triggers* triggers = session_.triggers();
  if (triggers == nullptr) return;
  const auto fired = triggers->Take();
  if (!fired || files_.empty() || now_ns < next_save_ns_) return;
  UniqueFd file = std::move(files_.front());
  files_.erase(files_.begin());
  ++done_.saved;
  // A file that cannot be written is reported in the summary and does not end the recording.
  const Status saved = Save(std::move(file), "the file of a trigger", "trigger " + *fired);
  if (!saved.ok() && done_.error.empty()) done_.error = saved.message();
  next_save_ns_ = MonotonicNs() + kSavePauseNs;
}

}  // namespace acceltrace::daemon
