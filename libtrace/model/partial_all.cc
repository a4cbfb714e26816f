// SPDX-License-Identifier: Apache-2.0
//
// All commands of a trace, some rows at a time, while its packets are read and checked: nothing of
// them is held but which there were.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "libtrace/model/command_rows.h"
#include "libtrace/model/few_rows.h"
#include "libtrace/model/partial.h"
#include "libtrace/stream/column_values.h"

namespace acceltrace::model {
namespace {

using proto::CommandBatch;
using proto::Packet;
using stream::FewColumns;

constexpr uint32_t kFetched = CommandBatch::kFetchedTicksDeltaFieldNumber;
constexpr uint32_t kHead = CommandBatch::kHeadTicksAfterFieldNumber;
constexpr uint32_t kStart = CommandBatch::kStartTicksAfterFieldNumber;
constexpr uint32_t kEnd = CommandBatch::kEndTicksAfterFieldNumber;
static_assert(kHead == kFetched + 1 && kStart == kHead + 1 && kEnd == kStart + 1);

// Which commands of a device were there: of each job bits by their index, as most jobs have few.
class SeenCommands {
 public:
  // False: one was there before, or jobs are numbered too far apart.
  bool Add(const uint64_t* jobs, const uint64_t* indexes, size_t rows) {
    rows_ += rows;
    for (size_t i = 0; i < rows; ++i) {
      // Some of a job, one after the other as a rule.
      const uint64_t key = jobs[i] << 27 | (indexes[i] < kFew ? 0 : indexes[i] >> 6 << 1 | 1);
      if (key != key_) {
        if (!Flush()) return false;
        key_ = key;
      }
      const uint64_t bit = uint64_t{1} << indexes[i] % 64;
      twice_ |= bits_ & bit, bits_ |= bit;
    }
    return twice_ == 0;
  }
  bool Flush() {
    if (bits_ == 0) return true;
    const uint64_t bits = std::exchange(bits_, 0);
    if ((key_ & 1) != 0) {
      uint64_t& more = more_[key_];
      return (std::exchange(more, more | bits) & bits) == 0;
    }
    uint16_t* const of = FirstOf(key_ >> 27);
    const auto few = static_cast<uint16_t>(bits);
    return of != nullptr && (std::exchange(*of, static_cast<uint16_t>(*of | few)) & few) == 0;
  }

 private:
  static constexpr uint64_t kFew = 16;     // bits of a page's jobs
  static constexpr uint64_t kJobs = 1024;  // of a page
  using Page = std::array<uint16_t, kJobs>;

  // nullptr: they are too far apart.
  uint16_t* FirstOf(uint64_t job) {
    if (page_ == nullptr || job / kJobs != number_) {
      std::unique_ptr<Page>& page = pages_[number_ = job / kJobs];
      if (page == nullptr) {
        if (pages_.size() > 128 + rows_ / 128) return nullptr;
        page = std::make_unique<Page>();
      }
      page_ = page.get();
    }
    return &(*page_)[job % kJobs];
  }

  uint64_t rows_ = 0;
  uint64_t key_ = 0, bits_ = 0, twice_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;  // of the first indexes
  uint64_t number_ = 0;                                        // of the last one
  Page* page_ = nullptr;
  std::unordered_map<uint64_t, uint64_t> more_;  // by key, of the others
};

bool Asks(const std::vector<uint32_t>& fields, uint32_t field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

}  // namespace

class AllCommands : public FewRows {
 public:
  AllCommands(const stream::FileIndex& index, const std::vector<uint32_t>& fields, Model* model)
      : FewRows(index, {}, 0, kNoClocks, Asks(fields, CommandBatch::kTagFieldNumber), false, model),
        fields_({kFetched, CommandBatch::kUnitFieldNumber, CommandBatch::kJobFieldNumber,
                 CommandBatch::kIndexFieldNumber, CommandBatch::kRecordDeltaFieldNumber}) {
    for (const uint32_t field : fields) {
      if (!Asks(fields_, field)) fields_.push_back(field);
    }
    for (size_t i = 0; i < fields_.size(); ++i) rows_.place_[fields_[i]] = i;
  }

  // Nothing has a name: it does not matter whose it is.
  bool AsksOwners() const { return owners_ && !decoder_.op_names.empty(); }

  bool Read(const std::vector<size_t>& places, const std::function<bool(CommandRows*)>& each) {
    FewColumns columns(Packet::kCommands, fields_);
    rows_.columns_ = &columns, rows_.ops_ = &ops_;
    ops_.resize(CommandRows::kAtOnce);
    return EachPacket(places, &columns, [&] {
      const uint32_t device = decoder_.DeviceRow(columns.device());
      if (device == kNoRow) return false;
      const proto::Device& about = model_.devices[device].about;
      // Another number of causes is read all the same, but not here.
      if (columns.stalls() != 0 && static_cast<int>(columns.stalls()) != about.stalls_size()) {
        return false;
      }
      jobs_.CountRows(columns.rows());
      uint64_t* const last_record = &last_records_.try_emplace(device, kNone).first->second;
      SeenCommands& seen = seen_[device];
      while (const size_t rows = columns.Next()) {
        if (!AreFine(static_cast<uint64_t>(about.units_size()), rows, last_record, &columns) ||
            !seen.Add(columns.Column(kJob), columns.Column(kIndex), rows)) {
          return false;
        }
        rows_.Set(device, rows);
        if (AsksOwners() && !FindOps(device, rows, &columns)) return false;
        if (!each(&rows_)) return false;
      }
      return true;
    });
  }

  bool Finish() {
    for (auto& [device, seen] : seen_) {
      if (!seen.Flush()) return false;
    }
    FinishLosses();
    return true;
  }

 private:
  // Places in fields_.
  static constexpr size_t kUnit = 1, kJob = 2, kIndex = 3, kRecord = 4;
  static inline const std::map<uint32_t, RoughClock> kNoClocks;
  static constexpr size_t kRecentBits = 8;

  // Each of a unit and a job that can be, and by their numbers none twice or out of order.
  static bool AreFine(uint64_t units, size_t rows, uint64_t* last_record, FewColumns* columns) {
    const uint64_t *unit = columns->Column(kUnit), *job = columns->Column(kJob);
    uint64_t any_unit = 0, last_unit = 0, first_job = job[0], any_job = 0;
    stream::WidenTo(unit, rows, &any_unit, &last_unit);
    stream::WidenTo(job, rows, &first_job, &any_job);
    const bool bad = last_unit >= units || first_job == 0;
    if (!columns->has(kRecord)) return !bad;
    const uint64_t* record = columns->Column(kRecord);
    uint64_t last = *last_record == kNone ? record[0] - 1 : *last_record;
    // The device's numbers have 32 bits: beyond them they would begin again. Each is behind the one
    // before it by less than half of that.
    uint64_t far = 0;
    for (size_t i = 0; i < rows; ++i) {
      const uint64_t behind = record[i] - last;
      far |= behind | (behind - 1);
      last = record[i];
    }
    *last_record = last;
    return !bad && far >> 31 == 0 && last <= UINT32_MAX;
  }

  bool FindOps(uint32_t device, size_t rows, FewColumns* columns) {
    const uint64_t* job = columns->Column(kJob);
    const uint64_t* tag = rows_.Field(CommandBatch::kTagFieldNumber);
    uint32_t pid = 0;
    for (size_t i = 0; i < rows; ++i) {
      if (i == 0 || job[i] != job[i - 1]) {
        const auto number = static_cast<uint32_t>(job[i]);
        if (jobs_.Find(device, number) == nullptr) return false;
        pid = jobs_.PidOf(device, number);
      }
      const uint64_t key = uint64_t{pid} << 32 | tag[i];
      Op& recent = recent_[key * 0x9e37'79b9'7f4a'7c15 >> (64 - kRecentBits)];
      if (!recent.known || recent.key != key) {
        const auto found = decoder_.op_names.find({pid, static_cast<uint32_t>(tag[i])});
        recent = {true, key, found == decoder_.op_names.end() ? 0 : found->second};
      }
      ops_[i] = recent.name;
    }
    return true;
  }

  struct Op {
    bool known = false;
    uint64_t key = 0;
    uint32_t name = 0;
  };
  static constexpr uint64_t kNone = UINT64_MAX;
  std::vector<uint32_t> fields_;
  CommandRows rows_;
  std::map<uint32_t, uint64_t> last_records_;  // by device
  std::map<uint32_t, SeenCommands> seen_;      // likewise
  std::vector<uint64_t> ops_;                  // of the rows
  Op recent_[size_t{1} << kRecentBits];
};

const uint64_t* CommandRows::Ticks(uint32_t field) {
  if (field == kFetched) return columns_->Column(place_[kFetched]);
  const size_t place = field - kFetched;
  std::vector<uint64_t>& ticks = ticks_[place];
  if (std::exchange(have_[place], true)) return ticks.data();
  ticks.resize(kAtOnce);
  const uint64_t *before = Ticks(field - 1), *after = columns_->Column(place_[field]);
  stream::AddValues(before, after, rows_, ticks.data());
  return ticks.data();
}

const uint64_t* CommandRows::BusyTicks() {
  busy_.resize(kAtOnce);
  const uint64_t *start = columns_->Column(place_[kStart]), *end = columns_->Column(place_[kEnd]);
  const uint64_t* stalled = columns_->StallSums();
  for (size_t i = 0; i < rows_; ++i) {
    const uint64_t held = start[i] + end[i];
    busy_[i] = held > stalled[i] ? held - stalled[i] : 0;
  }
  return busy_.data();
}

std::vector<size_t> PartialTrace::PlacesOf(uint32_t body) const {
  std::vector<size_t> places;
  for (const Part& part : parts_) {
    if (part.body == body) places.push_back(part.place);
  }
  return places;
}

bool PartialTrace::EachCommand(const std::vector<uint32_t>& fields,
                               const std::function<bool(CommandRows* rows)>& each,
                               Model* model) const {
  AllCommands commands(*index_, fields, model);
  const std::unique_ptr<stream::WholeFile> whole = index_->ReadWhole();
  if (!commands.ReadDescriptions(always_)) return false;
  commands.ReadFrom(whole.get());
  if (commands.AsksOwners() && !commands.ReadOwners(PlacesOf(Packet::kHost))) return false;
  return commands.Read(PlacesOf(Packet::kCommands), each) && whole->Rest() && commands.Finish();
}

}  // namespace acceltrace::model
