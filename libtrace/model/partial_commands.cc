// SPDX-License-Identifier: Apache-2.0
//
// Commands of a part of a trace without what they do not need: a job whose submission and end the
// host saw is in or out by these, so that no clock is fitted and no call is looked for.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "libtrace/model/convert.h"
#include "libtrace/model/decode.h"
#include "libtrace/model/orders.h"
#include "libtrace/model/partial.h"
#include "libtrace/model/permute.h"
#include "libtrace/model/rough_clock.h"

namespace acceltrace::model {
namespace {

using proto::CommandBatch;
using proto::HostBatch;
using proto::JobBatch;
using proto::Packet;

// When a job was, by all that is there of it.
struct Side {
  int64_t lo_ns = INT64_MAX, hi_ns = INT64_MIN;                // on the host
  int64_t device_lo_ns = INT64_MAX, device_hi_ns = INT64_MIN;  // more or less
  uint32_t pid = 0;
  bool submitted = false, completed = false, repeated = false;
  // Its other times lie between those of the host.
  bool Sure() const { return submitted && completed && !repeated; }
  void See(int64_t at_ns) { lo_ns = std::min(lo_ns, at_ns), hi_ns = std::max(hi_ns, at_ns); }
  void SeeRoughly(int64_t at_ns) {
    device_lo_ns = std::min(device_lo_ns, at_ns), device_hi_ns = std::max(device_hi_ns, at_ns);
  }
};

// Of the jobs of commands, by device and job: jobs are numbered one after the other.
class Sides {
 public:
  // False: they are too far apart.
  bool Cover(const Column<uint32_t>& devices, const Column<uint32_t>& jobs) {
    EachRow(
        [&](size_t, uint32_t device, uint32_t job) {
          if (device >= sides_.size()) sides_.resize(device + 1);
          Device& of = sides_[device];
          of.first = std::min(of.first, job), of.last = std::max(of.last, job), ++of.rows;
          return true;
        },
        devices, jobs);
    for (Device& of : sides_) {
      if (of.rows == 0) continue;
      if (of.last - of.first > 1024 + 8 * of.rows) return false;
      of.jobs.resize(size_t{of.last} - of.first + 1);
    }
    return true;
  }
  // nullptr: a job without commands.
  Side* Find(uint32_t device, uint32_t job) {
    if (device >= sides_.size()) return nullptr;
    Device& of = sides_[device];
    return job < of.first || job > of.last ? nullptr : &of.jobs[job - of.first];
  }
  const Side& Of(uint32_t device, uint32_t job) const {
    const Device& of = sides_[device];
    return of.jobs[job - of.first];
  }

 private:
  struct Device {
    uint32_t first = UINT32_MAX, last = 0;
    uint64_t rows = 0;
    std::vector<Side> jobs;
  };
  std::vector<Device> sides_;  // by row
};

bool Asks(const std::vector<uint32_t>& fields, uint32_t field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

class CommandsOfJobs {
 public:
  CommandsOfJobs(const Stretch& stretch, int64_t margin_ns, Model* model)
      : stretch_(stretch), guard_ns_(GuardOf(margin_ns)), decoder_(model), model_(*model) {}

  // False: a packet is damaged.
  bool Read(stream::Reader* reader, const std::vector<uint32_t>& fields) {
    Packet packet;
    reader->KeepColumns(1);
    decoder_.narrow = true;
    decoder_.command_ticks = Asks(fields, CommandBatch::kHeadTicksAfterFieldNumber);
    while (reader->Read(&packet) == stream::Reader::Next::kPacket) {
      decoder_.Add(packet, reader->stats().worth_bytes, reader->columns());
    }
    model_.read = reader->stats();
    decoder_.CountRepeatedRecords(false);
    return model_.read.gap_count == 0;
  }

  // False: it cannot be told of which processes they are. owners: whether that is asked.
  bool ChooseAll(bool owners) {
    if (owners) {
      if (!sides_.Cover(model_.commands.device, model_.commands.job)) return false;
      SeeHost();
    }
    rows_.resize(model_.commands.size());
    std::iota(rows_.begin(), rows_.end(), 0U);
    SortIfNeeded();
    return true;
  }

  // False: that cannot be told. rough: by a device's number.
  bool Choose(const std::map<uint32_t, RoughClock>& rough) {
    for (const auto& [number, clock] : rough) {
      const uint32_t row = decoder_.DeviceRow(number);
      if (row == kNoRow) continue;
      clocks_.resize(std::max<size_t>(clocks_.size(), row + 1));
      clocks_[row] = &clock;
    }
    if (!sides_.Cover(model_.commands.device, model_.commands.job)) return false;
    SeeHost();
    return SeeDevices() && Keep();
  }

  // With the fields that were read.
  void Finish(const std::vector<uint32_t>& fields) {
    if (Asks(fields, CommandBatch::kTagFieldNumber)) FindOps();
    model_.host = {};
    decoder_.device_jobs = {};
    decoder_.near.commands = {};
    Commands all = std::exchange(model_.commands, {});
    // Losses that a device reported have its times; else no clock is needed.
    const auto by_device = [](const proto::LossBatch& batch) {
      return std::any_of(batch.in_ticks().begin(), batch.in_ticks().end(),
                         [](uint32_t in_ticks) { return in_ticks != 0; });
    };
    if (std::none_of(decoder_.losses.begin(), decoder_.losses.end(), by_device)) {
      for (auto& clock : decoder_.clocks) clock = clock::MapBuilder(clock::ClockInfo());
    }
    if (!decoder_.losses.empty()) {
      ConvertTimes({}, FindOrders(model_.host), true, &decoder_, &model_);
    }
    Commands& commands = model_.commands;
    uint32_t next = 0;
    const bool same =
        rows_.size() == all.size() &&
        std::all_of(rows_.begin(), rows_.end(), [&](uint32_t row) { return row == next++; });
    const auto take = [&](uint32_t field, auto* from, auto* to) {
      if (!Asks(fields, field)) return to->resize(rows_.size());
      Permute(rows_, same, from);
      *to = std::move(*from);
    };
    Permute(rows_, same, &all.device);
    commands.device = std::move(all.device);
    take(CommandBatch::kFetchedTicksDeltaFieldNumber, &all.fetched.ticks, &commands.fetched.ticks);
    take(CommandBatch::kHeadTicksAfterFieldNumber, &all.head.ticks, &commands.head.ticks);
    take(CommandBatch::kStartTicksAfterFieldNumber, &all.start.ticks, &commands.start.ticks);
    take(CommandBatch::kEndTicksAfterFieldNumber, &all.end.ticks, &commands.end.ticks);
    take(CommandBatch::kStallTicksFieldNumber, &all.first_stall, &commands.first_stall);
    take(CommandBatch::kUnitFieldNumber, &all.unit, &commands.unit);
    take(CommandBatch::kContextFieldNumber, &all.context, &commands.context);
    take(CommandBatch::kQueueFieldNumber, &all.queue, &commands.queue);
    take(CommandBatch::kJobFieldNumber, &all.job, &commands.job);
    take(CommandBatch::kIndexFieldNumber, &all.index, &commands.index);
    take(CommandBatch::kOpcodeFieldNumber, &all.opcode, &commands.opcode);
    take(CommandBatch::kStatusFieldNumber, &all.status, &commands.status);
    take(CommandBatch::kLimiterFieldNumber, &all.limiter, &commands.limiter);
    take(CommandBatch::kTagFieldNumber, &all.tag, &commands.tag);
    take(CommandBatch::kCorrelationDeltaFieldNumber, &all.correlation, &commands.correlation);
    take(CommandBatch::kWorkFieldNumber, &all.work, &commands.work);
    take(CommandBatch::kBytesFieldNumber, &all.bytes, &commands.bytes);
    take(CommandBatch::kMemoryBytesFieldNumber, &all.memory_bytes, &commands.memory_bytes);
    take(CommandBatch::kRowHitsFieldNumber, &all.row_hits, &commands.row_hits);
    take(CommandBatch::kRowMissesFieldNumber, &all.row_misses, &commands.row_misses);
    ops_.resize(rows_.size());
    commands.op.AppendValues(ops_.data(), ops_.size());
  }

 private:
  void SeeHost() {
    const auto see = [&](size_t, uint8_t kind, int64_t at_ns, uint32_t device, uint32_t job,
                         uint32_t pid) {
      const bool submit = kind == HostBatch::KIND_SUBMIT;
      const bool complete = kind == HostBatch::KIND_COMPLETE;
      if (!submit && !complete && kind != HostBatch::KIND_DOORBELL &&
          kind != HostBatch::KIND_SUBMIT_END) {
        return true;
      }
      Side* const side = sides_.Find(device, job);
      if (side == nullptr) return true;
      side->See(at_ns);
      // Of a job in flight at a snapshot; which of them counts, others say.
      side->repeated |= (submit && side->submitted) || (complete && side->completed);
      side->submitted |= submit, side->completed |= complete;
      if (submit) side->pid = pid;
      return true;
    };
    const HostEvents& host = model_.host;
    EachRow(see, host.kind, host.time_ns, host.device, host.job, host.pid);
  }

  bool SeeDevices() {
    const DeviceJobs& jobs = decoder_.device_jobs;
    bool known = true;
    const auto time = [&](uint32_t device, uint64_t ticks) {
      if (device < clocks_.size() && clocks_[device] != nullptr) {
        return clocks_[device]->HostNs(ticks);
      }
      return known = false, int64_t{0};
    };
    const auto see = [&](uint32_t device, uint32_t job, uint64_t ticks) {
      Side* const side = sides_.Find(device, job);
      if (side != nullptr && !side->Sure()) side->SeeRoughly(time(device, ticks));
      return known;
    };
    EachRow(
        [&](size_t, uint32_t device, uint32_t job, uint64_t doorbell, uint64_t completion) {
          return see(device, job, doorbell) && see(device, job, completion);
        },
        jobs.device, jobs.job, jobs.doorbell.ticks, jobs.completion.ticks);
    const Commands& commands = model_.commands;
    EachRow([&](size_t, uint32_t device, uint32_t job,
                uint64_t fetched) { return see(device, job, fetched); },
            commands.device, commands.job, commands.fetched.ticks);
    return known;
  }

  enum class Is { kIn, kOut, kUnknown };
  // As Select() finds it.
  Is Overlap(const Side& side) const {
    const auto overlaps = [&](int64_t lo_ns, int64_t hi_ns, int64_t more_ns) {
      return lo_ns <= stretch_.to_ns + more_ns && hi_ns >= stretch_.from_ns - more_ns;
    };
    if (side.Sure()) return overlaps(side.lo_ns, side.hi_ns, 0) ? Is::kIn : Is::kOut;
    const int64_t lo_ns = std::min(side.lo_ns, side.device_lo_ns);
    const int64_t hi_ns = std::max(side.hi_ns, side.device_hi_ns);
    return overlaps(lo_ns, hi_ns, guard_ns_) ? Is::kUnknown : Is::kOut;
  }

  bool Keep() {
    const Commands& commands = model_.commands;
    const auto keep = [&](size_t row, uint32_t device, uint32_t job) {
      const Is is = Overlap(sides_.Of(device, job));
      if (is == Is::kIn) rows_.push_back(static_cast<uint32_t>(row));
      return is != Is::kUnknown;
    };
    if (!EachRow(keep, commands.device, commands.job)) return false;
    SortIfNeeded();
    return true;
  }

  void SortIfNeeded() {
    const Commands& commands = model_.commands;
    if (AllRise(commands.device, commands.job, commands.index)) return;
    const auto key = [&](uint32_t row) {
      return std::pair(JobKey(commands.device.At(row), commands.job.At(row)),
                       commands.index.At(row));
    };
    SortByKey(key, &rows_);
    const auto last = std::unique(rows_.begin(), rows_.end(),
                                  [&](uint32_t a, uint32_t b) { return key(a) == key(b); });
    model_.load.duplicate_commands += static_cast<uint64_t>(rows_.end() - last);
    rows_.erase(last, rows_.end());
  }

  void FindOps() {
    const Commands& commands = model_.commands;
    uint32_t pid = 0, tag = 0, op = 0;  // of the row before
    for (const uint32_t row : rows_) {
      const uint32_t its_pid = sides_.Of(commands.device.At(row), commands.job.At(row)).pid;
      const uint32_t its_tag = commands.tag.At(row);
      if (ops_.empty() || its_pid != pid || its_tag != tag) {
        const auto found = decoder_.op_names.find({pid = its_pid, tag = its_tag});
        op = found == decoder_.op_names.end() ? 0 : found->second;
      }
      ops_.push_back(op);
    }
  }

  const Stretch stretch_;
  const int64_t guard_ns_;
  Decoder decoder_;
  Model& model_;
  Sides sides_;
  std::vector<const RoughClock*> clocks_;  // by row
  std::vector<uint32_t> rows_, ops_;       // of commands that are in
};

}  // namespace

std::unique_ptr<Model> PartialTrace::LoadCommands(const Stretch& stretch,
                                                  const std::vector<uint32_t>& fields) const {
  auto few = LoadFew(stretch, fields);
  return few != nullptr ? std::move(few) : LoadCommands(stretch, false, fields);
}

std::unique_ptr<Model> PartialTrace::LoadCommands(const std::vector<uint32_t>& fields) const {
  return LoadCommands({begin_ns_, end_ns_}, true, fields);
}

std::unique_ptr<Model> PartialTrace::LoadCommands(const Stretch& stretch, bool whole,
                                                  const std::vector<uint32_t>& fields) const {
  // Of parts that are known roughly, some lie outside.
  const int64_t margin_ns = whole ? 0 : MarginOf(stretch);
  const int64_t from_ns = whole ? INT64_MIN : stretch.from_ns - margin_ns;
  const int64_t to_ns = whole ? INT64_MAX : stretch.to_ns + margin_ns;
  // Ops have names by process, which the host saw.
  const bool owners = Asks(fields, CommandBatch::kTagFieldNumber);
  std::vector<size_t> places = always_;
  for (const Part& part : parts_) {
    const bool wanted = part.body == Packet::kCommands ||
                        (part.body == Packet::kHost && (owners || !whole)) ||
                        (part.body == Packet::kJobs && !whole);
    if (wanted && part.lo_ns <= to_ns && part.hi_ns >= from_ns) places.push_back(part.place);
  }
  for (const auto& clocks : clocks_) {
    for (const Part& part : ClocksAround(clocks.second, from_ns, to_ns)) {
      places.push_back(part.place);
    }
  }
  std::sort(places.begin(), places.end());
  // What says which command it is, and whether it is one.
  std::vector<uint32_t> of_commands = {
      CommandBatch::kFetchedTicksDeltaFieldNumber, CommandBatch::kRecordDeltaFieldNumber,
      CommandBatch::kUnitFieldNumber, CommandBatch::kJobFieldNumber,
      CommandBatch::kIndexFieldNumber};
  of_commands.insert(of_commands.end(), fields.begin(), fields.end());
  std::vector<uint32_t> of_host = {HostBatch::kKindFieldNumber, HostBatch::kTimeNsDeltaFieldNumber,
                                   HostBatch::kDeviceFieldNumber, HostBatch::kJobFieldNumber};
  if (owners) of_host.push_back(HostBatch::kPidFieldNumber);
  const std::vector<uint32_t> of_jobs = {
      JobBatch::kDoorbellTicksDeltaFieldNumber, JobBatch::kCompletionTicksAfterFieldNumber,
      JobBatch::kRecordDeltaFieldNumber, JobBatch::kJobFieldNumber};
  const std::unique_ptr<stream::Reader> reader = index_->Choose(
      std::move(places),
      {{Packet::kCommands, of_commands}, {Packet::kJobs, of_jobs}, {Packet::kHost, of_host}});
  auto model = std::make_unique<Model>();
  CommandsOfJobs commands(stretch, margin_ns, model.get());
  if (!commands.Read(reader.get(), fields)) return nullptr;
  if (!(whole ? commands.ChooseAll(owners) : commands.Choose(rough_))) return nullptr;
  commands.Finish(fields);
  if (!whole) ForgetTimes(from_ns, to_ns, model.get());
  return model;
}

}  // namespace acceltrace::model
