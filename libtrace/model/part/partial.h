// SPDX-License-Identifier: Apache-2.0
//
// Loads parts of a large trace as models, without reading the rest of it.
//
// The index in the file's footer has the places of packets and the times of their rows. A part
// consists of what overlaps a period, as defined by model::Select(), and of all descriptions,
// accounts and losses of the whole. Of the rest, at most the checksums are read: see Checked.
#ifndef LIBTRACE_MODEL_PART_PARTIAL_H_
#define LIBTRACE_MODEL_PART_PARTIAL_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libtrace/model/part/select.h"
#include "libtrace/model/tables/model.h"
#include "libtrace/stream/file/index.h"

namespace acceltrace::model {

// A period of host times, in ns.
struct Stretch {
  int64_t from_ns = 0, to_ns = 0;
};

class RoughClock;
struct Wanted;

class PartialTrace {
 public:
  enum class Checked {
    kAll,         // the checksums of all packets
    kWhatIsRead,  // only the packets that are read, which the index, itself checked, determines
  };
  PartialTrace();
  ~PartialTrace();
  // Returns nullptr if the file has no index that fits (stream::FileIndex), fewer events or no
  // times, is damaged anywhere, or has a device whose clock wrapped, was set or changed its rate:
  // then, the meaning of its times depends on all that was before.
  static std::unique_ptr<PartialTrace> Open(const std::string& path, uint64_t least_events = 0,
                                            Checked checked = Checked::kAll);
  static std::unique_ptr<PartialTrace> Of(std::unique_ptr<stream::FileIndex> index,
                                          uint64_t least_events = 0,
                                          Checked checked = Checked::kAll);

  const stream::FileIndex& index() const { return *index_; }
  // API calls, ranges, host events, jobs and commands.
  uint64_t events() const { return events_; }
  // The first and the last time of these events; device times are approximated by the clock
  // samples.
  int64_t begin_ns() const { return begin_ns_; }
  int64_t end_ns() const { return end_ns_; }

  // Returns `count` periods of about `events` events each, spread as evenly over the events as
  // possible, so that each event is equally likely to be in one. Returns one period for the whole
  // trace if it has no more events than that.
  std::vector<Stretch> Spread(size_t count, uint64_t events) const;
  // Returns the time that the i-th period represents, in ns: half of the events to either
  // neighbour, without times that have no events at all.
  double TimeAround(const std::vector<Stretch>& stretches, size_t i) const;
  // Estimates the events between two times, with rows evenly spread over the times of their packet.
  uint64_t EventsWithin(int64_t from_ns, int64_t to_ns) const;

  // Does the same as Select() with these times and the rest of the selection. Fails if a packet
  // that is needed cannot be read, so that the whole trace has to be, or as Select() does. wanted:
  // as for a selection by time alone; nullptr means all.
  Result<std::unique_ptr<Model>> Load(const Stretch& stretch, const Selection& selection = {},
                                      const Wanted* wanted = nullptr) const;

  // Like Load(), but only with the table of commands, of which it only fills in the columns that
  // come from these fields of proto::CommandBatch and `op`, without times on the host's clock. To
  // have the ticks of an instant, the fields of the instants before it are needed; those that are
  // not requested are 0. Returns nullptr if a row is invalid, or if the host's times of jobs do not
  // show which commands are in the period: then, the rest is needed.
  std::unique_ptr<Model> LoadCommands(const Stretch& stretch,
                                      const std::vector<uint32_t>& fields) const;
  // The same for the whole trace. Returns nullptr if a row is invalid: then, the whole trace has to
  // be loaded to report the error.
  std::unique_ptr<Model> LoadCommands(const std::vector<uint32_t>& fields) const;

  // Like Load() with only the API calls. Returns nullptr if the host's side of jobs and calls does
  // not show which of them are in the period.
  std::unique_ptr<Model> LoadCalls(const Stretch& stretch) const;

 private:
  struct Part {
    size_t place = 0;  // in the index
    uint32_t body = 0;
    int64_t lo_ns = 0, hi_ns = 0;
    uint64_t events = 0;      // 0 for kinds that are not counted as events
    bool known = true;        // if false, lo_ns and hi_ns are only bounds
    uint32_t device = 0;      // number in the trace, for device events and clock samples
    bool sets_clock = false;  // may contain changes of a device's clock
  };
  std::vector<size_t> PlacesOf(uint32_t body) const;
  // Returns the packets that Load() reads.
  std::vector<size_t> PlacesAround(const Stretch& stretch, const Wanted* wanted) const;
  // Returns which jobs of a model without device times are in, or nullopt if that is not known.
  std::optional<std::vector<uint8_t>> TellJobs(const Stretch& stretch, const Model& model) const;
  // Returns the packets that may contain rows of a part and its margin.
  std::vector<size_t> PlacesOf(uint32_t body, const Stretch& stretch) const;
  double EventsUntil(int64_t at_ns) const;
  bool Find();
  bool FindParts();
  void Measure();
  // Losses are those of the whole trace, but the part's clocks must not be used for times outside
  // of it.
  static void ForgetTimes(int64_t from_ns, int64_t to_ns, Model* model);
  // The margin that is read on either side, for jobs that cross the border of the period.
  static int64_t MarginOf(const Stretch& stretch) {
    return std::max<int64_t>(0, stretch.to_ns - stretch.from_ns) / 2;
  }

  std::unique_ptr<stream::FileIndex> index_;
  // Returns the clock samples of a device that a part needs: those in its period and a few around
  // it.
  std::vector<Part> ClocksAround(const std::vector<Part>& clocks, int64_t from_ns,
                                 int64_t to_ns) const;

  std::vector<size_t> always_;                    // packets that belong to every part
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

#endif  // LIBTRACE_MODEL_PART_PARTIAL_H_
