// SPDX-License-Identifier: Apache-2.0
//
// Constraints on a clock that follow from the order of events. A trace has two of them for each
// job.
#ifndef LIBTRACE_CLOCK_CONSTRAINTS_H_
#define LIBTRACE_CLOCK_CONSTRAINTS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace acceltrace::clock {

// What is known in advance about the time of a reading.
struct Window {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t lo_ns = kMin, hi_ns = kMax;  // certain bounds on the host's clock
  int64_t near_ns = kMin;              // a guess, kMin = none
  // Of the announced jumps, in order, at least min_jumps and at most max_jumps were before the
  // reading.
  uint32_t min_jumps = 0, max_jumps = std::numeric_limits<uint32_t>::max();
};

// The order of a host event at host_ns and of a device event at `ticks`. With kHostFirst, the host
// event cannot have been later (a doorbell was written, then seen); with kDeviceFirst, it cannot
// have been earlier (a completion was written, then its interrupt handled).
struct Constraint {
  enum class Order : uint8_t { kHostFirst, kDeviceFirst };
  uint64_t ticks = 0;
  int64_t host_ns = 0;
  Order order = Order::kHostFirst;
  // What else is known of its time. If empty, it is not far from host_ns.
  Window when = {};
};

class OrderSource;

// A sequence of constraints in compact form. Most windows end within seconds of the host's event,
// and many neighbours share the rest of their windows, so that each takes 24 bytes instead of 56.
class Constraints {
 public:
  // A flag in lo_before: the order is kDeviceFirst.
  static constexpr uint32_t kDeviceFirst = uint32_t{1} << 31;

  // Does not count the constraints of the source.
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0 && source_ == nullptr; }
  // The source's constraints come after all others.
  void SetSource(std::shared_ptr<OrderSource> source) { source_ = std::move(source); }
  const std::shared_ptr<OrderSource>& source() const { return source_; }
  void Add(const Constraint& constraint) {
    const Window& when = constraint.when;
    const auto host = static_cast<uint64_t>(constraint.host_ns);
    const uint64_t lo_before = host - static_cast<uint64_t>(when.lo_ns);
    const uint64_t hi_after = static_cast<uint64_t>(when.hi_ns) - host;
    const size_t at = size_ % kChunk;
    if (when.lo_ns > constraint.host_ns || when.hi_ns < constraint.host_ns || lo_before >= kNoLo ||
        hi_after >= kNoHi || at == 0 || !IsRest(when) || chunks_.back().use_count() > 1) {
      return AddOther(constraint);
    }
    const bool device_first = constraint.order == Constraint::Order::kDeviceFirst;
    chunks_.back()->Set(at, constraint.ticks, constraint.host_ns,
                        static_cast<uint32_t>(lo_before) | (device_first ? kDeviceFirst : 0),
                        static_cast<uint32_t>(hi_after));
    ++size_;
  }
  // Adds the begin and the end of something on the device that happened between two host events
  // (kHostFirst, then kDeviceFirst), if the latter is also the end of the window, as for most jobs.
  // Returns false if nothing was added; the caller must then add both constraints one by one.
  struct Event {
    uint64_t ticks;
    int64_t host_ns;
  };
  bool AddSpan(const Event& begin, const Event& end, const Window& when) {
    const uint64_t lo_before =
        static_cast<uint64_t>(end.host_ns) - static_cast<uint64_t>(when.lo_ns);
    const size_t at = size_ % kChunk;
    if (when.lo_ns > begin.host_ns || begin.host_ns > end.host_ns || end.host_ns != when.hi_ns ||
        lo_before >= kNoLo || at == 0 || at + 1 == kChunk || !IsRest(when) ||
        chunks_.back().use_count() > 1) {
      return false;
    }
    Chunk& chunk = *chunks_.back();
    chunk.Set(at, begin.ticks, begin.host_ns, 0,
              static_cast<uint32_t>(end.host_ns - begin.host_ns));
    chunk.Set(at + 1, end.ticks, end.host_ns, static_cast<uint32_t>(lo_before) | kDeviceFirst, 0);
    size_ += 2;
    return true;
  }
  // Calls visit(constraint) for each constraint, except for those of the source.
  template <typename Visit>
  void Each(const Visit& visit) const {
    Reader reader(*this);
    for (size_t i = 0; i < size_; ++i) visit(reader.At(i));
  }

  // Consecutive constraints whose windows are close to the host's event and that know the same
  // jumps. lo_before may include kDeviceFirst. Where a window has no bound, the value is the
  // maximum.
  struct Run {
    size_t size = 0;
    const uint64_t* ticks = nullptr;
    const int64_t* host_ns = nullptr;
    const uint32_t *lo_before = nullptr, *hi_after = nullptr;
    uint32_t min_jumps = 0, max_jumps = 0;

    // Returns a constraint without its guess.
    Constraint At(size_t at) const;
  };
  // Reads constraints sequentially.
  class Reader {
   public:
    explicit Reader(const Constraints& of) : of_(of) {}
    // The result is valid until the next call.
    const Constraint& At(size_t i);
    // Returns the run that begins at a constraint; it is empty if that one's window is stored
    // separately.
    Run RunAt(size_t i);

   private:
    const Constraints& of_;
    Constraint constraint_;
    Window known_;                                            // without lo_ns and hi_ns
    size_t rest_ = 0, odd_ = 0, run_rest_ = 0, run_odd_ = 0;  // indexes of the next entries
  };

  static constexpr uint32_t kNoLo = kDeviceFirst - 1;

 private:
  static constexpr uint32_t kNoHi = std::numeric_limits<uint32_t>::max();
  static constexpr size_t kChunk = 2048;
  struct Chunk {
    void Set(size_t at, uint64_t raw_ticks, int64_t ns, uint32_t before, uint32_t after) {
      ticks[at] = raw_ticks, host_ns[at] = ns, lo_before[at] = before, hi_after[at] = after;
    }
    uint64_t ticks[kChunk];
    int64_t host_ns[kChunk];
    uint32_t lo_before[kChunk], hi_after[kChunk];
  };

  // Returns true if the previous constraint has the same window, apart from lo_ns and hi_ns.
  bool IsRest(const Window& when) const {
    if (rests_.empty()) return false;
    const Window& rest = rests_.back().second;
    return rest.near_ns == when.near_ns && rest.min_jumps == when.min_jumps &&
           rest.max_jumps == when.max_jumps;
  }
  void AddOther(const Constraint& constraint);

  size_t size_ = 0;
  std::vector<std::shared_ptr<Chunk>> chunks_;  // copies share chunks that are full
  // Windows without lo_ns and hi_ns, each with the first index that it applies to.
  std::vector<std::pair<size_t, Window>> rests_;
  std::vector<std::pair<size_t, Window>> odds_;  // those whose window has distant bounds
  std::shared_ptr<OrderSource> source_;
};

// Generates constraints each time they are read, since storing them would take most of a trace's
// memory. Not thread-safe.
class OrderSource {
 public:
  // Valid until the next call. Has either a run of each order or `others`.
  struct Chunk {
    Constraints::Run begins, ends;
    const Constraints* others = nullptr;
  };

  virtual ~OrderSource() = default;
  virtual size_t chunks() const = 0;
  virtual Chunk ChunkAt(size_t chunk) = 0;
  // Returns the guess for a constraint of a run.
  virtual int64_t NearNs(size_t chunk, size_t at) const = 0;
};

}  // namespace acceltrace::clock

#endif  // LIBTRACE_CLOCK_CONSTRAINTS_H_
