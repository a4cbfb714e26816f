// SPDX-License-Identifier: Apache-2.0
//
// Parts of a large trace, as models, without reading the rest of it.
//
// The index in the file's footer says where packets are, and a few bytes of each when its rows
// were. A part is what overlaps a time, as model::Select() takes it, with every description,
// account and loss of the whole. Of the rest the checksums are compared, and nothing more, or not
// even that: see Checked.
#ifndef LIBTRACE_MODEL_PARTIAL_H_
#define LIBTRACE_MODEL_PARTIAL_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libtrace/model/model.h"
#include "libtrace/model/select.h"
#include "libtrace/stream/index.h"

namespace acceltrace::model {

// Host times, ns.
struct Stretch {
  int64_t from_ns = 0, to_ns = 0;
};

class RoughClock;
struct Wanted;

class PartialTrace {
 public:
  enum class Checked {
    kAll,         // the checksums of all packets
    kWhatIsRead,  // of those that are read, of which the index, checked, says which they are
  };
  PartialTrace();
  ~PartialTrace();
  // nullptr: the file has no index that fits (stream::FileIndex), fewer events than that or no
  // times, is damaged anywhere, or has a device whose clock wrapped, was set or changed its rate:
  // which of its times are meant then depends on all before.
  static std::unique_ptr<PartialTrace> Open(const std::string& path, uint64_t least_events = 0,
                                            Checked checked = Checked::kAll);
  static std::unique_ptr<PartialTrace> Of(std::unique_ptr<stream::FileIndex> index,
                                          uint64_t least_events = 0,
                                          Checked checked = Checked::kAll);

  const stream::FileIndex& index() const { return *index_; }
  // API calls, ranges, host events, jobs and commands.
  uint64_t events() const { return events_; }
  // The first and the last time in those; device times as near as the clock samples say.
  int64_t begin_ns() const { return begin_ns_; }
  int64_t end_ns() const { return end_ns_; }

  // `count` stretches of about `events` events each, as far apart in events as that goes: each
  // event is as likely to be in one as any other. One of all if that is as many.
  std::vector<Stretch> Spread(size_t count, uint64_t events) const;
  // The time that the i-th of them stands for: half of the events to either neighbour, less what
  // holds no events at all. ns.
  double TimeAround(const std::vector<Stretch>& stretches, size_t i) const;
  // The events between two times, as far as packets say: their rows are taken to be evenly spread.
  uint64_t EventsWithin(int64_t from_ns, int64_t to_ns) const;

  // As Select() of these times does, plus what else it asks for. Errors: a packet that is needed
  // cannot be read, so that the whole has to be; those of Select(). wanted: as of a selection by
  // time alone; nullptr: all of it.
  Result<std::unique_ptr<Model>> Load(const Stretch& stretch, const Selection& selection = {},
                                      const Wanted* wanted = nullptr) const;

  // As Load(), with no table but the commands, of their columns those that come from these fields
  // of proto::CommandBatch and `op`, and no times. Ticks of an instant need the fields of the
  // instants before it; those that are not asked for are 0.
  // nullptr where a row is not as it should be, or where the host's times of their jobs cannot tell
  // which commands are in: then the rest is needed.
  std::unique_ptr<Model> LoadCommands(const Stretch& stretch,
                                      const std::vector<uint32_t>& fields) const;
  // The same of the whole trace. nullptr where a row is not as it should be: then all of it has to
  // be loaded to say what is wrong.
  std::unique_ptr<Model> LoadCommands(const std::vector<uint32_t>& fields) const;

  // As Load() of the API calls alone; nullptr where the host's side of jobs and calls alone cannot
  // tell which are in.
  std::unique_ptr<Model> LoadCalls(const Stretch& stretch) const;

 private:
  struct Part {
    size_t place = 0;  // in the index
    uint32_t body = 0;
    int64_t lo_ns = 0, hi_ns = 0;
    uint64_t events = 0;      // 0: of a kind that is not counted as events
    bool known = true;        // else lo_ns and hi_ns are only bounds
    uint32_t device = 0;      // its number in the trace, of device events and clock samples
    bool sets_clock = false;  // may hold changes of a device's clock
  };
  std::vector<size_t> PlacesOf(uint32_t body) const;
  // What Load() reads.
  std::vector<size_t> PlacesAround(const Stretch& stretch, const Wanted* wanted) const;
  // Which jobs of a model without device times are in. None: that cannot be told.
  std::optional<std::vector<uint8_t>> TellJobs(const Stretch& stretch, const Model& model) const;
  // Packets that may hold something of a part and its margin.
  std::vector<size_t> PlacesOf(uint32_t body, const Stretch& stretch) const;
  double EventsUntil(int64_t at_ns) const;
  bool Find();
  bool FindParts();
  void Measure();
  // Losses are of the whole trace: what the part's clocks would make of other times is not true.
  static void ForgetTimes(int64_t from_ns, int64_t to_ns, Model* model);
  // What is read on either side, for jobs that the time cuts.
  static int64_t MarginOf(const Stretch& stretch) {
    return std::max<int64_t>(0, stretch.to_ns - stretch.from_ns) / 2;
  }

  std::unique_ptr<stream::FileIndex> index_;
  // The samples of a device's clock that a part needs: those in its time and a few around it.
  std::vector<Part> ClocksAround(const std::vector<Part>& clocks, int64_t from_ns,
                                 int64_t to_ns) const;

  std::vector<size_t> always_;                    // places that belong to every part
  std::vector<Part> parts_;                       // by place
  std::map<uint32_t, std::vector<Part>> clocks_;  // by device, in order of time
  std::map<uint32_t, RoughClock> rough_;          // by device
  struct Step {
    int64_t at_ns = 0;
    double events = 0;
  };
  std::vector<Step> steps_;
  uint64_t events_ = 0;
  int64_t begin_ns_ = 0, end_ns_ = 0;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_PARTIAL_H_
