// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/checks/overlaps.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/durations.h"
#include "libtrace/analysis/rows/row_loops.h"

namespace acceltrace::analysis {
namespace {

// Computes the overlaps of UnitSum for all units at once. The commands of each unit come in order
// of their starts.
class UnitOverlaps : public OverlapSum, public CommandLaw {
 public:
  explicit UnitOverlaps(LawPass* pass) : model_(pass->model()), commands_(model_.commands) {
    reference_.resize(model_.devices.size());
    for (const model::Device& device : model_.devices) {
      units_.emplace_back(static_cast<size_t>(device.about.units_size()));
    }
    pass->Add(this);
  }

  void OfCommands(const CommandChunk& chunk) override {
    if (!in_order_ || SeeApart(chunk)) return;
    const uint64_t* starts = chunk.ticks[CommandChunk::kStart];
    const uint64_t* ends = chunk.ticks[CommandChunk::kEnd];
    const uint32_t* start_epochs = chunk.epoch[CommandChunk::kStart];
    const uint32_t* end_epochs = chunk.epoch[CommandChunk::kEnd];
    for (size_t i = 0; in_order_ && i < chunk.rows; ++i) {
      in_order_ = Step(chunk.first + i, chunk.device[i], chunk.unit[i],
                       {starts[i], start_epochs[i]}, {ends[i], end_epochs[i]});
    }
  }
  std::vector<uint64_t> Finish() override {
    if (!in_order_) CountSorted();
    return ByDevice();
  }

 private:
  struct Time {
    uint64_t ticks;
    uint32_t epoch;
  };
  struct Unit {
    bool any = false;
    std::tuple<uint32_t, int64_t, uint32_t, int64_t> key;  // of the previous command
    Time last{};                                           // the latest end so far
    size_t last_row = 0;
    uint64_t overlaps = 0;
    uint64_t reference = 0;                // of its device
    uint32_t one_epoch = clock::kNoEpoch;  // of the times above, if they all belong to one count
  };

  std::vector<uint64_t> ByDevice() const {
    std::vector<uint64_t> sums;
    for (const std::vector<Unit>& units : units_) {
      sums.push_back(0);
      for (const Unit& unit : units) sums.back() += unit.overlaps;
    }
    return sums;
  }

  // Used if rows are not in order: visits them unit by unit, as sorted by RowsByStart().
  void CountSorted() {
    for (std::vector<Unit>& units : units_) std::fill(units.begin(), units.end(), Unit{});
    Cursor<uint32_t> device(commands_.device), unit(commands_.unit);
    TickCursor start(commands_.start), end(commands_.end);
    for (const uint32_t row : RowsByStart(model_)) {
      Step(row, device[row], unit[row], {start.ticks[row], start.epoch[row]},
           {end.ticks[row], end.epoch[row]});
    }
  }

  // Handles the usual case: returns true if the commands of each unit do not overlap, all belong to
  // one count, and are close enough for differences not to overflow. Otherwise, nothing is changed.
  bool SeeApart(const CommandChunk& chunk) {
    const uint64_t* starts = chunk.ticks[CommandChunk::kStart];
    const uint64_t* ends = chunk.ticks[CommandChunk::kEnd];
    const size_t device = chunk.device[0];
    const uint32_t epoch = chunk.OneEpoch();
    if (!chunk.one_device || epoch == clock::kNoEpoch || !reference_[device] ||
        chunk.most_unit >= units_[device].size()) {
      return false;
    }
    const uint64_t reference = *reference_[device], least = reference - kNear / 2;
    if (!AreWithin(starts, chunk.rows, least, kNear) ||
        !AreWithin(ends, chunk.rows, least, kNear) || !NoneBehind(starts, ends, chunk.rows, 1)) {
      return false;
    }
    std::vector<Unit>& units = units_[device];
    free_from_.clear(), last_.assign(units.size(), CommandChunk::kRows);
    for (const Unit& unit : units) free_from_.push_back(FreeFrom(unit, epoch, least));
    uint64_t back = 0;
    for (size_t i = 0; i < chunk.rows; ++i) {
      const uint32_t u = chunk.unit[i];
      back |= starts[i] - free_from_[u];
      free_from_[u] = ends[i], last_[u] = i;
    }
    if (static_cast<int64_t>(back) < 0) return false;
    for (size_t u = 0; u < units.size(); ++u) {
      const size_t i = last_[u];
      if (i == CommandChunk::kRows) continue;
      units[u].last = {ends[i], epoch}, units[u].last_row = chunk.first + i;
      units[u].key = {epoch, static_cast<int64_t>(starts[i] - reference), epoch,
                      static_cast<int64_t>(ends[i] - reference)};
    }
    return true;
  }
  // Returns the time from which on a command is after all previous ones. If that is not known, it
  // is beyond all times that are near.
  static uint64_t FreeFrom(const Unit& unit, uint32_t epoch, uint64_t least) {
    const uint64_t began = unit.reference + static_cast<uint64_t>(std::get<1>(unit.key)) - least;
    const uint64_t ended = unit.last.ticks - least;
    const bool known = unit.one_epoch == epoch && began < kNear && ended < kNear;
    return least + (known ? std::max(began, ended) : kNear);
  }

  static bool SameEpoch(const Time& a, const Time& b) {
    return a.epoch == b.epoch && a.epoch != clock::kNoEpoch;
  }
  static bool Less(const Time& a, const Time& b) {
    return a.epoch != b.epoch ? a.epoch < b.epoch : static_cast<int64_t>(b.ticks - a.ticks) > 0;
  }

  // Returns false if the command precedes the previous one.
  bool Step(size_t row, uint32_t device, uint32_t number, const Time& start, const Time& end) {
    Unit& unit = units_[device][number];
    if (start.epoch != unit.one_epoch || end.epoch != unit.one_epoch ||
        unit.one_epoch == clock::kNoEpoch) {
      return StepAcross(row, device, start, end, &unit);
    }
    // This is the usual case.
    const auto began = static_cast<int64_t>(start.ticks - unit.reference);
    const auto ended = static_cast<int64_t>(end.ticks - unit.reference);
    int64_t& last_began = std::get<1>(unit.key);
    int64_t& last_ended = std::get<3>(unit.key);
    const bool in_order = last_began < began || (last_began == began && last_ended <= ended);
    unit.overlaps += static_cast<int64_t>(unit.last.ticks - start.ticks) > 0;
    if (static_cast<int64_t>(end.ticks - unit.last.ticks) > 0) {
      unit.last = end, unit.last_row = row;
    }
    last_began = began, last_ended = ended;
    return in_order;
  }
  [[gnu::noinline]] bool StepAcross(size_t row, uint32_t device, const Time& start, const Time& end,
                                    Unit* of) {
    Unit& unit = *of;
    std::optional<uint64_t>& reference = reference_[device];
    if (!reference) reference = start.ticks;
    const std::tuple key(start.epoch, static_cast<int64_t>(start.ticks - *reference), end.epoch,
                         static_cast<int64_t>(end.ticks - *reference));
    const bool in_order = !unit.any || unit.key <= key;
    if (unit.any && SameEpoch(unit.last, start)) unit.overlaps += Less(start, unit.last);
    if (!unit.any || LastBefore(unit, end, row)) unit.last = end, unit.last_row = row;
    unit.any = true;
    unit.key = key;
    unit.reference = *reference;
    unit.one_epoch =
        start.epoch == end.epoch && unit.last.epoch == end.epoch ? end.epoch : clock::kNoEpoch;
    return in_order;
  }
  bool LastBefore(const Unit& unit, const Time& end, size_t row) const {
    if (unit.last.epoch == clock::kNoEpoch || end.epoch == clock::kNoEpoch) {
      return MarkOf(commands_.end, unit.last_row).Before(MarkOf(commands_.end, row));
    }
    return Less(unit.last, end);
  }

  static constexpr uint64_t kNear = uint64_t{1} << 62;

  const model::Model& model_;
  const model::Commands& commands_;
  bool in_order_ = true;
  std::vector<std::optional<uint64_t>> reference_;  // start of the first command of each device
  std::vector<std::vector<Unit>> units_;
  // For the units in a chunk, when they are free and their last row.
  std::vector<uint64_t> free_from_;
  std::vector<size_t> last_;
};

}  // namespace

std::unique_ptr<OverlapSum> SumOverlaps(LawPass* pass) {
  return std::make_unique<UnitOverlaps>(pass);
}

}  // namespace acceltrace::analysis
