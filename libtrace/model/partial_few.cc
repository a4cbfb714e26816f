// SPDX-License-Identifier: Apache-2.0
//
// Commands of a part of a trace as in partial_commands.cc, from packets' bytes and a few bits for
// each job: of a short part it takes less time to count what a page of memory costs.
#include <algorithm>
#include <map>
#include <utility>

#include "libtrace/model/convert.h"
#include "libtrace/model/decode.h"
#include "libtrace/model/known_jobs.h"
#include "libtrace/model/partial.h"
#include "libtrace/model/permute.h"
#include "libtrace/model/rough_clock.h"
#include "libtrace/stream/few_columns.h"
#include "libtrace/stream/validate.h"

namespace acceltrace::model {
namespace {

using proto::Block;
using proto::CommandBatch;
using proto::HostBatch;
using proto::JobBatch;
using proto::Packet;
using stream::FewColumns;

class FewCommands {
 public:
  FewCommands(const stream::FileIndex& index, const Stretch& stretch, int64_t margin_ns,
              const std::map<uint32_t, RoughClock>& rough, const std::vector<uint32_t>& fields,
              Model* model)
      : index_(index),
        stretch_(stretch),
        guard_ns_(GuardOf(margin_ns)),
        rough_(rough),
        decoder_(model),
        model_(*model),
        owners_(Asks(fields, CommandBatch::kTagFieldNumber)),
        jobs_(owners_),
        fields_(fields) {
    std::sort(fields_.begin(), fields_.end());
    fields_.erase(std::unique(fields_.begin(), fields_.end()), fields_.end());
  }

  // All of these: false where only a whole reader can tell.
  bool ReadDescriptions(std::vector<size_t> places) {
    const std::unique_ptr<stream::Reader> reader = index_.Choose(std::move(places));
    Packet packet;
    while (reader->Read(&packet) == stream::Reader::Next::kPacket) {
      decoder_.Add(packet, reader->stats().worth_bytes, reader->columns());
    }
    model_.read = reader->stats();
    // Losses that a device reported have its times.
    return model_.read.gap_count == 0 &&
           std::none_of(decoder_.losses.begin(), decoder_.losses.end(),
                        [](const proto::LossBatch& batch) {
                          return std::any_of(batch.in_ticks().begin(), batch.in_ticks().end(),
                                             [](uint32_t in_ticks) { return in_ticks != 0; });
                        });
  }

  bool ReadHost(const std::vector<size_t>& places) {
    std::vector<uint32_t> fields = {HostBatch::kKindFieldNumber, HostBatch::kTimeNsDeltaFieldNumber,
                                    HostBatch::kDeviceFieldNumber, HostBatch::kJobFieldNumber};
    if (owners_) fields.push_back(HostBatch::kPidFieldNumber);
    FewColumns columns(Packet::kHost, fields);
    return EachPacket(places, &columns, [&] {
      jobs_.CountRows(columns.rows());
      if (columns.host_jobs() != nullptr) return SeeHostJobs(*columns.host_jobs());
      while (const size_t rows = columns.Next()) {
        const uint64_t *kind = columns.Column(0), *time = columns.Column(1);
        const uint64_t *device = columns.Column(2), *job = columns.Column(3);
        const uint64_t* pid = owners_ ? columns.Column(4) : job;
        for (size_t i = 0; i < rows; ++i) {
          if (kind[i] > HostBatch::Kind_MAX) return false;
          if (!See(static_cast<int>(kind[i]), time[i], device[i], job[i], pid[i])) return false;
        }
      }
      return columns.fine();
    });
  }

  bool ReadCommands(const std::vector<size_t>& places) {
    // Those that are looked at of each row; then what is asked for.
    std::vector<uint32_t> wanted = {CommandBatch::kFetchedTicksDeltaFieldNumber,
                                    CommandBatch::kRecordDeltaFieldNumber,
                                    CommandBatch::kUnitFieldNumber, CommandBatch::kJobFieldNumber,
                                    CommandBatch::kIndexFieldNumber};
    for (const uint32_t field : fields_) {
      if (!Asks(wanted, field)) wanted.push_back(field);
    }
    FewColumns columns(Packet::kCommands, wanted);
    return EachPacket(places, &columns, [&] {
      const uint32_t device = decoder_.DeviceRow(columns.device());
      if (device == kNoRow) return false;
      jobs_.CountRows(columns.rows());
      while (const size_t rows = columns.Next()) {
        if (!Choose(device, rows, &columns)) return false;
        if (!kept_.empty()) Take(wanted, device, &columns);
      }
      return columns.fine();
    });
  }

  // Of jobs with commands of which the host did not see enough.
  bool ReadJobs(const std::vector<size_t>& places) {
    FewColumns columns(
        Packet::kJobs,
        {JobBatch::kDoorbellTicksDeltaFieldNumber, JobBatch::kCompletionTicksAfterFieldNumber,
         JobBatch::kRecordDeltaFieldNumber, JobBatch::kJobFieldNumber});
    return EachPacket(places, &columns, [&] {
      const uint32_t device = decoder_.DeviceRow(columns.device());
      if (device == kNoRow) return false;
      jobs_.CountRows(columns.rows());
      Records& records = RecordsOf(device, Packet::kJobs);
      while (const size_t rows = columns.Next()) {
        const uint64_t* job = columns.Column(3);
        if (columns.has(2) && !records.Add(columns.Column(2), rows)) return false;
        for (size_t i = 0; i < rows; ++i) {
          if (job[i] == 0) return false;
          uint8_t* const known = jobs_.Find(device, static_cast<uint32_t>(job[i]));
          if (known == nullptr) return false;
          if (IsSure(*known) || (*known & kHasCommands) == 0) continue;
          const uint64_t doorbell = columns.Column(0)[i];
          if (!SeeRoughly(device, doorbell, known) ||
              !SeeRoughly(device, doorbell + columns.Column(1)[i], known)) {
            return false;
          }
        }
      }
      return columns.fine();
    });
  }

  // False: whether a job is in cannot be told.
  bool Finish() {
    const bool told = jobs_.All([](uint8_t known) {
      return IsSure(known) || !HasAll(known, kHasCommands | kNearBegin | kNearEnd);
    });
    if (!told) return false;
    for (auto& clock : decoder_.clocks) clock = clock::MapBuilder(clock::ClockInfo());
    Commands commands = std::exchange(model_.commands, {});
    if (!decoder_.losses.empty()) ConvertTimes({}, true, &decoder_, &model_);
    model_.commands = std::move(commands);
    Sort();
    if (owners_) FindOps();
    FillRest();
    return true;
  }

 private:
  static bool Asks(const std::vector<uint32_t>& fields, uint32_t field) {
    return std::find(fields.begin(), fields.end(), field) != fields.end();
  }

  template <typename Each>
  bool EachPacket(const std::vector<size_t>& places, FewColumns* columns, const Each& each) {
    for (const size_t place : places) {
      if (!index_.ReadSome(place, columns->fields(), &packet_) || !columns->Open(packet_) ||
          !each()) {
        return false;
      }
      const stream::PacketPlace& at = index_.packets()[place];
      model_.read.bytes += at.end_bytes - at.offset_bytes;
      model_.read.worth_bytes += at.end_bytes - at.offset_bytes;
      ++model_.read.packets;
    }
    return true;
  }

  Records& RecordsOf(uint32_t device, uint32_t table) {
    return records_.try_emplace({device, table}, &device_records_[device]).first->second;
  }

  // An event of the host's.
  bool See(int kind, uint64_t time, uint64_t number, uint64_t job, uint64_t pid) {
    if (time > static_cast<uint64_t>(stream::kMaxTimeNs)) return false;
    if (number != last_number_) {
      last_number_ = number;
      last_row_ =
          number < stream::kMaxDevices ? decoder_.DeviceRow(static_cast<uint32_t>(number)) : kNoRow;
    }
    if (last_row_ == kNoRow) return false;
    const bool submit = kind == HostBatch::KIND_SUBMIT, complete = kind == HostBatch::KIND_COMPLETE;
    if (!submit && !complete && kind != HostBatch::KIND_DOORBELL &&
        kind != HostBatch::KIND_SUBMIT_END) {
      return true;
    }
    uint8_t* const known = jobs_.Find(last_row_, static_cast<uint32_t>(job));
    if (known == nullptr) return false;
    const auto at_ns = static_cast<int64_t>(time);
    uint8_t more = Near(at_ns);
    if (at_ns <= stretch_.to_ns) more |= kBeforeEnd;
    if (at_ns >= stretch_.from_ns) more |= kAfterBegin;
    // Of a job in flight at a snapshot; which of them counts, others say.
    if (submit) more |= (*known & kSubmitted) != 0 ? kRepeated : kSubmitted;
    if (complete) more |= (*known & kCompleted) != 0 ? kRepeated : kCompleted;
    *known |= more;
    if (submit) jobs_.SetPid(last_row_, static_cast<uint32_t>(job), static_cast<uint32_t>(pid));
    return true;
  }

  bool SeeHostJobs(const stream::BlockColumns& block) {
    for (size_t row = 0; row < block.rows(); ++row) {
      const uint64_t known = block.At(Block::COLUMN_KNOWN, row);
      const auto see = [&](int kind, int column) {
        return See(kind, block.At(column, row),
                   static_cast<uint32_t>(block.At(Block::COLUMN_DEVICE, row)),
                   static_cast<uint32_t>(block.At(Block::COLUMN_JOB, row)),
                   static_cast<uint32_t>(block.At(Block::COLUMN_PID, row)));
      };
      if ((known & 1) != 0 && (!see(HostBatch::KIND_SUBMIT, Block::COLUMN_SUBMIT_NS) ||
                               !see(HostBatch::KIND_DOORBELL, Block::COLUMN_DOORBELL_NS) ||
                               !see(HostBatch::KIND_SUBMIT_END, Block::COLUMN_SUBMIT_END_NS))) {
        return false;
      }
      if ((known & 4) != 0 && !see(HostBatch::KIND_COMPLETE, Block::COLUMN_COMPLETE_NS)) {
        return false;
      }
    }
    return true;
  }

  uint8_t Near(int64_t at_ns) const {
    return static_cast<uint8_t>((at_ns <= stretch_.to_ns + guard_ns_ ? kNearEnd : 0) |
                                (at_ns >= stretch_.from_ns - guard_ns_ ? kNearBegin : 0));
  }

  // False: nothing is known of the device's clock.
  bool SeeRoughly(uint32_t device, uint64_t ticks, uint8_t* known) {
    if (device != rough_row_) {
      rough_row_ = device, clock_ = nullptr;
      for (const auto& [number, clock] : rough_) {
        if (decoder_.DeviceRow(number) == device) clock_ = &clock;
      }
    }
    if (clock_ != nullptr) *known |= Near(clock_->HostNs(ticks));
    return clock_ != nullptr;
  }

  // Which of the rows of a part are in: kept_. False: one of them is not as it should be.
  bool Choose(uint32_t device, size_t rows, FewColumns* columns) {
    kept_.clear();
    const auto units = static_cast<uint64_t>(model_.devices[device].about.units_size());
    const uint64_t *unit = columns->Column(2), *job = columns->Column(3);
    if (columns->has(1) && !RecordsOf(device, Packet::kCommands).Add(columns->Column(1), rows)) {
      return false;
    }
    uint8_t* known = nullptr;
    uint64_t last_fetched = 0;
    const uint64_t* fetched = nullptr;
    for (size_t i = 0; i < rows; ++i) {
      if (unit[i] >= units || job[i] == 0) return false;
      const bool again = i > 0 && job[i] == job[i - 1];
      if (!again) known = jobs_.Find(device, static_cast<uint32_t>(job[i]));
      if (known == nullptr) return false;
      if (IsSure(*known)) {
        if (HasAll(*known, kBeforeEnd | kAfterBegin)) kept_.push_back(static_cast<uint32_t>(i));
        continue;
      }
      *known |= kHasCommands;
      if (fetched == nullptr) fetched = columns->Column(0);
      if (again && fetched[i] == last_fetched) continue;
      last_fetched = fetched[i];
      if (!SeeRoughly(device, last_fetched, known)) return false;
    }
    return true;
  }

  // The rows that are in.
  void Take(const std::vector<uint32_t>& wanted, uint32_t device, FewColumns* columns) {
    Commands& commands = model_.commands;
    commands.device.Append(kept_.size(), device);
    wide_.resize(kept_.size()), ticks_.resize(kept_.size());
    const bool later = Asks(fields_, CommandBatch::kHeadTicksAfterFieldNumber);
    for (size_t c = 0; c < wanted.size(); ++c) {
      const uint32_t field = wanted[c];
      const bool key =
          field == CommandBatch::kJobFieldNumber || field == CommandBatch::kIndexFieldNumber;
      if (!key && !Asks(fields_, field) &&
          !(later && field == CommandBatch::kFetchedTicksDeltaFieldNumber)) {
        continue;
      }
      const uint64_t* values = columns->Column(c);
      for (size_t i = 0; i < kept_.size(); ++i) wide_[i] = values[kept_[i]];
      Put(field, later);
    }
  }

  // wide_: values of a field. The fields of instants rise.
  void Put(uint32_t field, bool later) {
    Commands& commands = model_.commands;
    const auto ticks = [&](DeviceTimes* times) {
      for (size_t i = 0; i < wide_.size(); ++i) ticks_[i] += wide_[i];
      times->ticks.AppendValues(ticks_.data(), ticks_.size());
    };
    switch (field) {
      case CommandBatch::kFetchedTicksDeltaFieldNumber:
        ticks_ = wide_;
        return commands.fetched.ticks.AppendValues(wide_.data(), wide_.size());
      case CommandBatch::kHeadTicksAfterFieldNumber:
        return ticks(&commands.head);
      case CommandBatch::kStartTicksAfterFieldNumber:
        return later ? ticks(&commands.start) : void();
      case CommandBatch::kEndTicksAfterFieldNumber:
        return later ? ticks(&commands.end) : void();
      default:
        break;
    }
    if (Column<uint64_t>* to = Wide(field, &commands)) {
      return to->AppendValues(wide_.data(), wide_.size());
    }
    if (Column<uint32_t>* to = Narrow(field, &commands)) {
      narrow_.assign(wide_.begin(), wide_.end());
      to->AppendValues(narrow_.data(), narrow_.size());
    }
  }

  static Column<uint64_t>* Wide(uint32_t field, Commands* commands) {
    switch (field) {
      case CommandBatch::kCorrelationDeltaFieldNumber:
        return &commands->correlation;
      case CommandBatch::kWorkFieldNumber:
        return &commands->work;
      case CommandBatch::kBytesFieldNumber:
        return &commands->bytes;
      case CommandBatch::kMemoryBytesFieldNumber:
        return &commands->memory_bytes;
      default:
        return nullptr;
    }
  }

  static Column<uint32_t>* Narrow(uint32_t field, Commands* commands) {
    switch (field) {
      case CommandBatch::kUnitFieldNumber:
        return &commands->unit;
      case CommandBatch::kContextFieldNumber:
        return &commands->context;
      case CommandBatch::kQueueFieldNumber:
        return &commands->queue;
      case CommandBatch::kJobFieldNumber:
        return &commands->job;
      case CommandBatch::kIndexFieldNumber:
        return &commands->index;
      case CommandBatch::kOpcodeFieldNumber:
        return &commands->opcode;
      case CommandBatch::kStatusFieldNumber:
        return &commands->status;
      case CommandBatch::kLimiterFieldNumber:
        return &commands->limiter;
      case CommandBatch::kTagFieldNumber:
        return &commands->tag;
      case CommandBatch::kRowHitsFieldNumber:
        return &commands->row_hits;
      case CommandBatch::kRowMissesFieldNumber:
        return &commands->row_misses;
      default:
        return nullptr;
    }
  }

  // In the order of the table; what is there twice once.
  void Sort() {
    Commands& commands = model_.commands;
    if (AllRise(commands.device, commands.job, commands.index)) return;
    const auto key = [&](uint32_t row) {
      return std::pair(JobKey(commands.device.At(row), commands.job.At(row)),
                       commands.index.At(row));
    };
    auto order = RowsByKey(commands.size(), key);
    const auto last = std::unique(order.begin(), order.end(),
                                  [&](uint32_t a, uint32_t b) { return key(a) == key(b); });
    model_.load.duplicate_commands += static_cast<uint64_t>(order.end() - last);
    order.erase(last, order.end());
    PermuteAll(order, &commands.device, &commands.job, &commands.index);
    for (uint32_t field = 1; field <= CommandBatch::kRowMissesFieldNumber; ++field) {
      if (field == CommandBatch::kJobFieldNumber || field == CommandBatch::kIndexFieldNumber) {
        continue;
      }
      if (auto* wide = Wide(field, &commands)) PermuteAll(order, wide);
      if (auto* narrow = Narrow(field, &commands)) PermuteAll(order, narrow);
    }
    PermuteAll(order, &commands.fetched.ticks, &commands.head.ticks, &commands.start.ticks,
               &commands.end.ticks);
  }

  void FindOps() {
    Commands& commands = model_.commands;
    std::vector<uint32_t> ops;
    uint32_t pid = 0, tag = 0, op = 0;  // of the row before
    EachRow(
        [&](size_t, uint32_t device, uint32_t job, uint32_t its_tag) {
          const uint32_t its_pid = jobs_.PidOf(device, job);
          if (ops.empty() || its_pid != pid || its_tag != tag) {
            const auto found = decoder_.op_names.find({pid = its_pid, tag = its_tag});
            op = found == decoder_.op_names.end() ? 0 : found->second;
          }
          ops.push_back(op);
          return true;
        },
        commands.device, commands.job, commands.tag);
    commands.op.AppendValues(ops.data(), ops.size());
  }

  // Columns that are not asked for are 0.
  void FillRest() {
    Commands& commands = model_.commands;
    const size_t rows = commands.device.size();
    for (uint32_t field = 1; field <= CommandBatch::kRowMissesFieldNumber; ++field) {
      const bool asked = Asks(fields_, field);
      const auto fill = [&](auto* column) {
        if (!asked) *column = {};
        column->resize(rows);
      };
      if (auto* wide = Wide(field, &commands)) fill(wide);
      if (auto* narrow = Narrow(field, &commands)) fill(narrow);
      if (field == CommandBatch::kFetchedTicksDeltaFieldNumber) fill(&commands.fetched.ticks);
    }
    for (auto* times : {&commands.head, &commands.start, &commands.end}) times->ticks.resize(rows);
    commands.first_stall.resize(rows), commands.op.resize(rows);
  }

  const stream::FileIndex& index_;
  const Stretch stretch_;
  const int64_t guard_ns_;
  const std::map<uint32_t, RoughClock>& rough_;
  Decoder decoder_;
  Model& model_;
  const bool owners_;
  KnownJobs jobs_;
  std::vector<uint32_t> fields_;
  std::map<uint32_t, Records::Device> device_records_;        // by row
  std::map<std::pair<uint32_t, uint32_t>, Records> records_;  // and by table
  uint64_t last_number_ = UINT64_MAX;
  uint32_t last_row_ = kNoRow, rough_row_ = kNoRow;
  const RoughClock* clock_ = nullptr;
  stream::SomeOfPacket packet_;
  std::vector<uint32_t> kept_, narrow_;
  std::vector<uint64_t> wide_, ticks_;
};

}  // namespace

std::unique_ptr<Model> PartialTrace::LoadFew(const Stretch& stretch,
                                             const std::vector<uint32_t>& fields) const {
  const auto stalls = CommandBatch::kStallTicksFieldNumber;
  if (std::find(fields.begin(), fields.end(), stalls) != fields.end()) return nullptr;
  const int64_t margin_ns = MarginOf(stretch);
  const auto places_of = [&](uint32_t body) {
    std::vector<size_t> places;
    for (const Part& part : parts_) {
      if (part.body == body && part.lo_ns <= stretch.to_ns + margin_ns &&
          part.hi_ns >= stretch.from_ns - margin_ns) {
        places.push_back(part.place);
      }
    }
    return places;
  };
  auto model = std::make_unique<Model>();
  FewCommands commands(*index_, stretch, margin_ns, rough_, fields, model.get());
  std::vector<size_t> always = always_;
  std::sort(always.begin(), always.end());
  if (!commands.ReadDescriptions(std::move(always)) ||
      !commands.ReadHost(places_of(Packet::kHost)) ||
      !commands.ReadCommands(places_of(Packet::kCommands)) ||
      !commands.ReadJobs(places_of(Packet::kJobs)) || !commands.Finish()) {
    return nullptr;
  }
  ForgetTimes(stretch.from_ns - margin_ns, stretch.to_ns + margin_ns, model.get());
  return model;
}

}  // namespace acceltrace::model
