// SPDX-License-Identifier: Apache-2.0
//
// Loads commands and API calls of a part of a trace like Load(), but only from the bytes of the
// requested columns.
#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>

#include "libtrace/model/load/load.h"
#include "libtrace/model/part/few_rows.h"
#include "libtrace/model/part/partial.h"
#include "libtrace/model/tables/command_rows.h"
#include "libtrace/model/tables/host_jobs.h"
#include "libtrace/model/tables/permute.h"
#include "libtrace/stream/columns/few_columns.h"
#include "libtrace/stream/columns/validate.h"

namespace acceltrace::model {
namespace {

using proto::ApiBatch;
using proto::CommandBatch;
using proto::Packet;
using stream::FewColumns;

class FewCommands : public FewRows {
 public:
  FewCommands(const stream::FileIndex& index, const Stretch& stretch, int64_t margin_ns,
              const std::map<uint32_t, RoughClock>& rough, const std::vector<uint32_t>& fields,
              bool all, Model* model)
      : FewRows(index, stretch, margin_ns, rough, Asks(fields, CommandBatch::kTagFieldNumber),
                false, model),
        all_(all),
        fields_(fields) {
    std::sort(fields_.begin(), fields_.end());
    fields_.erase(std::unique(fields_.begin(), fields_.end()), fields_.end());
  }

  // Names of ops depend on the process; without names, the owner does not matter.
  bool AsksOwners() const { return owners_ && !decoder_.op_names.empty(); }

  bool ReadCommands(const std::vector<size_t>& places) {
    // Columns that are read for each row, followed by the requested ones.
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
        if (!kept_.empty() && !Take(wanted, device, &columns)) return false;
      }
      return true;
    });
  }

  // Returns false if it is not known whether a job is in the period.
  bool Finish() {
    if (!all_ && !AllTold()) return false;
    Commands commands = std::exchange(model_.commands, {});
    FinishLosses();
    model_.commands = std::move(commands);
    model_.load.duplicate_commands += SortCommands(&model_.commands);
    if (owners_) FindOps();
    FillRest();
    return true;
  }

 private:
  static bool Asks(const std::vector<uint32_t>& fields, uint32_t field) {
    return std::find(fields.begin(), fields.end(), field) != fields.end();
  }

  // Selects the rows of a part that are in the period: kept_. Returns false if a row is invalid.
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
      if (all_) {
        kept_.push_back(static_cast<uint32_t>(i));
        continue;
      }
      if (IsSure(*known)) {
        if (HasAll(*known, kBeforeEnd | kAfterBegin)) kept_.push_back(static_cast<uint32_t>(i));
        continue;
      }
      *known |= kCounts;
      if (fetched == nullptr) fetched = columns->Column(0);
      if (again && fetched[i] == last_fetched) continue;
      last_fetched = fetched[i];
      if (!SeeRoughly(device, last_fetched, known)) return false;
    }
    return true;
  }

  // Takes the selected rows. Returns false if they have another number of stall causes than their
  // device.
  bool Take(const std::vector<uint32_t>& wanted, uint32_t device, FewColumns* columns) {
    Commands& commands = model_.commands;
    commands.device.Append(kept_.size(), device);
    wide_.resize(kept_.size()), ticks_.resize(kept_.size());
    const bool later = Asks(fields_, CommandBatch::kHeadTicksAfterFieldNumber);
    for (size_t c = 0; c < wanted.size(); ++c) {
      const uint32_t field = wanted[c];
      if (field == CommandBatch::kStallTicksFieldNumber) continue;
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
    return !Asks(fields_, CommandBatch::kStallTicksFieldNumber) || TakeStalls(device, *columns);
  }

  bool TakeStalls(uint32_t device, const FewColumns& columns) {
    const size_t causes = columns.stalls();
    Commands& commands = model_.commands;
    if (causes == 0) return commands.first_stall.Append(kept_.size(), kNoRow), true;
    if (causes != static_cast<size_t>(model_.devices[device].about.stalls_size())) return false;
    narrow_.clear(), stalls_.clear();
    for (const uint32_t row : kept_) {
      narrow_.push_back(static_cast<uint32_t>(model_.stall_ticks.size() + stalls_.size()));
      for (size_t s = 0; s < causes; ++s) stalls_.push_back(columns.StallTicks(s, row));
    }
    commands.first_stall.AppendValues(narrow_.data(), narrow_.size());
    model_.stall_ticks.AppendValues(stalls_.data(), stalls_.size());
    return true;
  }

  // wide_: the values of a field. Fields of instants must come in order.
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
    EachCommandColumn([&]<typename T>(const CommandColumn<T>& column) {
      if (column.field != field) return;
      Column<T>* to = &(commands.*column.values);
      if constexpr (std::is_same_v<T, uint64_t>)
        return to->AppendValues(wide_.data(), wide_.size());
      narrow_.assign(wide_.begin(), wide_.end());
      to->AppendNumbers(0, narrow_.data(), narrow_.size());
    });
  }

  void FindOps() {
    Commands& commands = model_.commands;
    std::vector<uint32_t> ops;
    uint32_t pid = 0, tag = 0, op = 0;  // of the previous row
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

  // Columns that were not requested are 0.
  void FillRest() {
    Commands& commands = model_.commands;
    const size_t rows = commands.device.size();
    const auto fill = [&](uint32_t field, auto* column) {
      if (!Asks(fields_, field)) *column = {};
      column->resize(rows);
    };
    EachCommandColumn([&](const auto& column) { fill(column.field, &(commands.*column.values)); });
    fill(CommandBatch::kFetchedTicksDeltaFieldNumber, &commands.fetched.ticks);
    for (auto* times : {&commands.head, &commands.start, &commands.end}) times->ticks.resize(rows);
    if (!Asks(fields_, CommandBatch::kStallTicksFieldNumber)) commands.first_stall.resize(rows);
    commands.op.resize(rows);
  }

  const bool all_;  // the whole trace, independent of times
  std::vector<uint32_t> fields_;
  std::vector<uint32_t> kept_, narrow_;
  std::vector<uint64_t> wide_, ticks_, stalls_;
};

class FewCalls : public FewRows {
 public:
  using FewRows::FewRows;

  // Must be called when the jobs are known: finds the calls that they need. Returns false if these
  // are not known.
  bool ChooseJobs() {
    if (!AllTold()) return false;
    const auto is_in = [](uint8_t known) {
      return IsSure(known) && HasAll(known, kCounts | kBeforeEnd | kAfterBegin);
    };
    jobs_.EachCall([&](uint8_t known, uint64_t call) {
      if (is_in(known) && call != 0) wanted_.push_back(call);
    });
    // The first waiter of each job counts.
    std::stable_sort(wakes_.begin(), wakes_.end(), [](const Wake& a, const Wake& b) {
      return std::pair(a.job, a.time_ns) < std::pair(b.job, b.time_ns);
    });
    for (size_t i = 0; i < wakes_.size(); ++i) {
      if (i > 0 && wakes_[i].job == wakes_[i - 1].job) continue;
      const uint64_t job = wakes_[i].job;
      const uint8_t* known =
          jobs_.Find(static_cast<uint32_t>(job >> 32), static_cast<uint32_t>(job));
      if (known == nullptr) return false;
      if (is_in(*known) && wakes_[i].call != 0) wanted_.push_back(wakes_[i].call);
    }
    std::sort(wanted_.begin(), wanted_.end());
    return true;
  }

  bool ReadCalls(const std::vector<size_t>& places) {
    FewColumns columns(
        Packet::kApi,
        {ApiBatch::kBeginNsDeltaFieldNumber, ApiBatch::kDurationNsFieldNumber,
         ApiBatch::kCorrelationDeltaFieldNumber, ApiBatch::kPidFieldNumber,
         ApiBatch::kTidFieldNumber, ApiBatch::kNameFieldNumber, ApiBatch::kBytesFieldNumber,
         ApiBatch::kStreamFieldNumber, ApiBatch::kResultFieldNumber, ApiBatch::kOpenFieldNumber,
         ApiBatch::kBeganBeforeFieldNumber});
    return EachPacket(places, &columns, [&] {
      while (const size_t rows = columns.Next()) {
        if (!Choose(rows, &columns)) return false;
        if (!kept_.empty() && !Take(&columns)) return false;
      }
      return true;
    });
  }

  bool Finish() {
    FinishLosses();
    // Of all calls with the same correlation, only the first belongs to the job.
    std::sort(of_jobs_.begin(), of_jobs_.end());
    if (std::adjacent_find(of_jobs_.begin(), of_jobs_.end()) != of_jobs_.end()) return false;
    SortApi(&model_.api);
    return true;
  }

 private:
  bool Choose(size_t rows, FewColumns* columns) {
    constexpr auto kMost = static_cast<uint64_t>(stream::kMaxTimeNs);
    kept_.clear(), ends_.clear();
    const uint64_t *begin = columns->Column(0), *length = columns->Column(1);
    const uint64_t* correlation = columns->Column(2);
    auto next = wanted_.begin();  // they usually come in order
    for (size_t i = 0; i < rows; ++i) {
      if (begin[i] > kMost || length[i] > kMost) return false;
      const auto begin_ns = static_cast<int64_t>(begin[i]);
      const int64_t end_ns = begin_ns + static_cast<int64_t>(length[i]);
      const uint64_t call = correlation[i];
      if (next == wanted_.end() || *next < call ||
          (next != wanted_.begin() && *(next - 1) >= call)) {
        next = std::lower_bound(wanted_.begin(), wanted_.end(), call);
      }
      const bool of_job = next != wanted_.end() && *next == call;
      if (of_job) of_jobs_.push_back(call);
      if (!of_job && (begin_ns > stretch().to_ns || end_ns < stretch().from_ns)) continue;
      kept_.push_back(static_cast<uint32_t>(i)), ends_.push_back(end_ns);
    }
    return true;
  }

  bool Take(FewColumns* columns) {
    ApiCalls& api = model_.api;
    bool flags = true;
    const auto take = [&](size_t field, auto* to) {
      using T = typename std::remove_pointer_t<decltype(to)>::value_type;
      const uint64_t* values = columns->Column(field);
      std::vector<T> some(kept_.size());
      for (size_t i = 0; i < some.size(); ++i) some[i] = static_cast<T>(values[kept_[i]]);
      to->AppendValues(some.data(), some.size());
      if (std::is_same_v<T, uint8_t>) {
        flags = flags && std::all_of(kept_.begin(), kept_.end(),
                                     [&](uint32_t row) { return values[row] <= 1; });
      }
    };
    take(0, &api.begin_ns), api.end_ns.AppendValues(ends_.data(), ends_.size());
    take(2, &api.correlation), take(3, &api.pid), take(4, &api.tid), take(5, &api.name);
    take(6, &api.bytes), take(7, &api.stream), take(8, &api.result);
    take(9, &api.open), take(10, &api.began_before);
    return flags;
  }

  std::vector<uint64_t> wanted_, of_jobs_;  // correlations that are requested; those of rows
  std::vector<uint32_t> kept_;
  std::vector<int64_t> ends_;
};

}  // namespace

std::vector<size_t> PartialTrace::PlacesOf(uint32_t body) const {
  std::vector<size_t> places;
  for (const Part& part : parts_) {
    if (part.body == body) places.push_back(part.place);
  }
  return places;
}

std::vector<size_t> PartialTrace::PlacesOf(uint32_t body, const Stretch& stretch) const {
  const int64_t margin_ns = MarginOf(stretch);
  std::vector<size_t> places;
  for (const Part& part : parts_) {
    if (part.body == body && part.lo_ns <= stretch.to_ns + margin_ns &&
        part.hi_ns >= stretch.from_ns - margin_ns) {
      places.push_back(part.place);
    }
  }
  return places;
}

std::unique_ptr<Model> PartialTrace::LoadCalls(const Stretch& stretch) const {
  const int64_t margin_ns = MarginOf(stretch);
  auto model = std::make_unique<Model>();
  FewCalls calls(*index_, stretch, margin_ns, rough_, false, true, model.get());
  if (!calls.ReadDescriptions(always_) || !calls.ReadHost(PlacesOf(Packet::kHost, stretch)) ||
      !calls.ReadJobs(PlacesOf(Packet::kJobs, stretch)) || !calls.ChooseJobs() ||
      !calls.ReadCalls(PlacesOf(Packet::kApi, stretch)) || !calls.Finish()) {
    return nullptr;
  }
  ForgetTimes(stretch.from_ns - margin_ns, stretch.to_ns + margin_ns, model.get());
  return model;
}

std::unique_ptr<Model> PartialTrace::LoadCommands(const Stretch& stretch,
                                                  const std::vector<uint32_t>& fields) const {
  const int64_t margin_ns = MarginOf(stretch);
  auto model = std::make_unique<Model>();
  FewCommands commands(*index_, stretch, margin_ns, rough_, fields, false, model.get());
  const auto places_of = [&](uint32_t body) { return PlacesOf(body, stretch); };
  if (!commands.ReadDescriptions(always_) || !commands.ReadHost(places_of(Packet::kHost)) ||
      !commands.ReadCommands(places_of(Packet::kCommands)) ||
      !commands.ReadJobs(places_of(Packet::kJobs)) || !commands.Finish()) {
    return nullptr;
  }
  ForgetTimes(stretch.from_ns - margin_ns, stretch.to_ns + margin_ns, model.get());
  return model;
}

std::unique_ptr<Model> PartialTrace::LoadCommands(const std::vector<uint32_t>& fields) const {
  auto model = std::make_unique<Model>();
  FewCommands commands(*index_, {begin_ns_, end_ns_}, 0, rough_, fields, true, model.get());
  if (!commands.ReadDescriptions(always_) ||
      (commands.AsksOwners() && !commands.ReadOwners(PlacesOf(Packet::kHost))) ||
      !commands.ReadCommands(PlacesOf(Packet::kCommands)) || !commands.Finish()) {
    return nullptr;
  }
  return model;
}

}  // namespace acceltrace::model
