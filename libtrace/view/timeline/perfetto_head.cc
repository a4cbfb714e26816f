// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/timeline/perfetto_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "libtrace/base/version.h"

namespace acceltrace::view {
namespace {

using perfetto::TracePacket;
using perfetto::TrackDescriptor;

class Head {
 public:
  Head(const model::Model& model, const Timeline& timeline, int64_t first_ns,
       PerfettoPackets* packets)
      : model_(model), timeline_(timeline), first_ns_(first_ns), packets_(packets) {}

  void Write() {
    WriteClocks();
    WriteUuid();
    WriteSystem();
    WriteProcesses();
    WriteDevices();
    for (size_t t = 0; t < timeline_.tracks.size(); ++t) WriteTrack(t);
  }

 private:
  void WriteClocks() {
    const proto::TraceInfo& info = model_.info;
    TracePacket packet;
    packet.mutable_trace_packet_defaults()->set_timestamp_clock_id(kPerfettoSincePacketBefore);
    perfetto::ClockSnapshot* snapshot = packet.mutable_clock_snapshot();
    snapshot->set_primary_trace_clock(perfetto::BUILTIN_CLOCK_MONOTONIC);
    const auto add = [&](uint32_t clock, int64_t offset_ns) {
      int64_t time_ns = 0;
      if (__builtin_add_overflow(first_ns_, offset_ns, &time_ns) || time_ns < 0) return;
      perfetto::ClockSnapshot::Clock* added = snapshot->add_clocks();
      added->set_clock_id(clock);
      added->set_timestamp(static_cast<uint64_t>(time_ns));
    };
    add(perfetto::BUILTIN_CLOCK_MONOTONIC, 0);
    add(perfetto::BUILTIN_CLOCK_BOOTTIME, info.boottime_offset_ns());
    add(perfetto::BUILTIN_CLOCK_REALTIME, info.realtime_offset_ns());
    add(kPerfettoSincePacketBefore, 0);
    snapshot->mutable_clocks()->rbegin()->set_is_incremental(true);
    packets_->Append(&packet);
  }

  // The same for each export of a recording: derived from when and where it was made (FNV-1a).
  void WriteUuid() {
    const proto::TraceInfo& info = model_.info;
    std::string text = fmt::format("{}\n{}\n{}\n{}", info.host(), info.start_ns(),
                                   info.realtime_offset_ns(), model_.end_ns);
    for (const std::string& word : info.command()) text += "\n", text += word;
    const auto hash = [&](uint64_t value) {
      for (const char c : text) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001b3;
      return static_cast<int64_t>(value);
    };
    TracePacket packet;
    packet.mutable_trace_uuid()->set_msb(hash(0xcbf29ce484222325));
    packet.mutable_trace_uuid()->set_lsb(hash(0x84222325cbf29ce4));
    packets_->Append(&packet);
  }

  void WriteSystem() {
    const proto::TraceInfo& info = model_.info;
    TracePacket packet;
    perfetto::SystemInfo* system = packet.mutable_system_info();
    system->mutable_utsname()->set_sysname("Linux");
    system->mutable_utsname()->set_release(info.kernel());
    system->set_tracing_service_version(fmt::format("acceltrace {}", kVersion));
    if (info.num_cpus() != 0) system->set_num_cpus(info.num_cpus());
    packets_->Append(&packet);
  }

  void WriteProcesses() {
    TracePacket packet;
    perfetto::ProcessTree* tree = packet.mutable_process_tree();
    for (const Track& track : timeline_.tracks) {
      if (track.kind == Track::Kind::kProcess) {
        perfetto::ProcessTree::Process* process = tree->add_processes();
        process->set_pid(track.pid);
        if (IsRecordedCommand(track)) {
          *process->mutable_cmdline() = model_.info.command();
        } else {
          process->add_cmdline(track.name);
        }
      } else if (track.kind == Track::Kind::kThread) {
        perfetto::ProcessTree::Thread* thread = tree->add_threads();
        thread->set_tid(track.tid);
        thread->set_tgid(track.pid);
        thread->set_name(track.name);
      }
    }
    if (tree->processes_size() > 0) packets_->Append(&packet);
  }

  // Names for the numbers to which gpu_slice refers.
  void WriteDevices() {
    if (model_.devices.empty()) return;
    TracePacket packet;
    for (const model::Device& device : model_.devices) {
      perfetto::GpuInfo::Gpu* gpu = packet.mutable_gpu_info()->add_gpus();
      gpu->set_name(device.about.name());
      gpu->set_vendor(device.about.pci().vendor_name());
      gpu->set_model(device.about.model());
      gpu->set_pci_bdf(device.about.pci().address());
    }
    perfetto::InternedData* interned = packet.mutable_interned_data();
    for (size_t t = 0; t < timeline_.tracks.size(); ++t) {
      const Track& track = timeline_.tracks[t];
      if (!track.unit_lane) continue;
      perfetto::InternedGpuRenderStageSpecification* queue = interned->add_gpu_specifications();
      queue->set_iid(PerfettoQueueIid(t));
      queue->set_name(track.name);
    }
    std::map<uint64_t, uint32_t> contexts;  // to their processes
    const model::Jobs& jobs = model_.jobs;
    for (size_t j = 0; j < jobs.size(); ++j) {
      const auto [at, fresh] =
          contexts.try_emplace(PerfettoContextIid(jobs.device[j], jobs.context[j]), jobs.pid[j]);
      if (!fresh && at->second == 0) at->second = jobs.pid[j];
    }
    for (const auto& [iid, pid] : contexts) {
      perfetto::InternedGraphicsContext* context = interned->add_graphics_contexts();
      context->set_iid(iid);
      context->set_pid(static_cast<int32_t>(pid));
    }
    packets_->Append(&packet);
  }

  void WriteTrack(size_t t) {
    const Track& track = timeline_.tracks[t];
    TracePacket packet;
    TrackDescriptor* about = packet.mutable_track_descriptor();
    about->set_uuid(PerfettoUuid(t));
    if (track.parent >= 0) about->set_parent_uuid(PerfettoUuid(static_cast<size_t>(track.parent)));
    if (track.description[0] != '\0') about->set_description(track.description);
    switch (track.kind) {
      case Track::Kind::kProcess:
        about->mutable_process()->set_pid(track.pid);
        about->mutable_process()->set_process_name(track.name);
        if (IsRecordedCommand(track)) {
          *about->mutable_process()->mutable_cmdline() = model_.info.command();
        }
        break;
      case Track::Kind::kThread:
        about->mutable_thread()->set_pid(track.pid);
        about->mutable_thread()->set_tid(track.tid);
        about->mutable_thread()->set_thread_name(track.name);
        break;
      case Track::Kind::kDevice:
      case Track::Kind::kGroup:
        // Not a process, since viewers ignore the order of the tracks below one.
        about->set_name(track.name);
        about->set_child_ordering(TrackDescriptor::EXPLICIT);
        about->set_sibling_order_rank(track.rank);
        if (track.device != model::kNoRow) {
          about->mutable_gpu_track()->set_gpu_id(static_cast<int32_t>(track.device));
        }
        break;
      case Track::Kind::kCounter:
        about->set_name(track.name);
        about->mutable_counter()->set_unit_name(track.unit);
        if (track.unit == "%") about->mutable_counter()->set_y_axis_share_key("percent");
        about->set_sibling_order_rank(track.rank);
        break;
      case Track::Kind::kLane:
        about->set_name(track.name);
        about->set_sibling_order_rank(track.rank);
        break;
    }
    packets_->Append(&packet);
  }

  // If the trace has a single process, it is the recorded command.
  bool IsRecordedCommand(const Track& track) const {
    for (uint32_t pid : model_.api.pid) {
      if (pid != static_cast<uint32_t>(track.pid)) return false;
    }
    return !model_.info.command().empty();
  }

  const model::Model& model_;
  const Timeline& timeline_;
  int64_t first_ns_;
  PerfettoPackets* packets_;
};

}  // namespace

void WritePerfettoHead(const model::Model& model, const Timeline& timeline, int64_t first_ns,
                       PerfettoPackets* packets) {
  Head(model, timeline, first_ns, packets).Write();
}

}  // namespace acceltrace::view
