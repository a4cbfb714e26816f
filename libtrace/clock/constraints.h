// SPDX-License-Identifier: Apache-2.0
//
// What orders of events show of a clock: a trace has two of them for each of its jobs.
#ifndef LIBTRACE_CLOCK_CONSTRAINTS_H_
#define LIBTRACE_CLOCK_CONSTRAINTS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace acceltrace::clock {

// What is known beforehand of when a reading was made.
struct Window {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t lo_ns = kMin, hi_ns = kMax;  // certainly within, on the host's clock
  int64_t near_ns = kMin;              // a guess, kMin = none
  // Of the announced jumps, in order: so many certainly lay behind, so many at most.
  uint32_t min_jumps = 0, max_jumps = std::numeric_limits<uint32_t>::max();
};

// What one event shows of another: a host event at host_ns that cannot have been
// after (kHostFirst: doorbell write, doorbell seen), or cannot have been before
// (kDeviceFirst: completion written, interrupt handled), the device's `ticks`.
struct Constraint {
  enum class Order : uint8_t { kHostFirst, kDeviceFirst };
  uint64_t ticks = 0;
  int64_t host_ns = 0;
  Order order = Order::kHostFirst;
  // What else is known of when it was; nothing: not far from host_ns.
  Window when = {};
};

class OrderSource;

// Many of them, in order. Windows end within seconds of the host's event, as a rule, and what else
// is known is the same for many in a row: 24 bytes each, not 56.
class Constraints {
 public:
  // kDeviceFirst: its order, beside the distance.
  static constexpr uint32_t kDeviceFirst = uint32_t{1} << 31;

  // Without those of the source.
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0 && source_ == nullptr; }
  // Which come after all others.
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
  // What began and ended on a device as the host knows: after one event (kHostFirst) and before
  // another (kDeviceFirst), which is the end of the window, as that of most jobs. False: nothing
  // was added, and these are to be added one by one.
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
  // visit(constraint), but of the source.
  template <typename Visit>
  void Each(const Visit& visit) const {
    Reader reader(*this);
    for (size_t i = 0; i < size_; ++i) visit(reader.At(i));
  }

  // Neighbours of which all is near the host's event and the same jumps are known. lo_before may
  // have kDeviceFirst. Where a window has no end these are the greatest.
  struct Run {
    size_t size = 0;
    const uint64_t* ticks = nullptr;
    const int64_t* host_ns = nullptr;
    const uint32_t *lo_before = nullptr, *hi_after = nullptr;
    uint32_t min_jumps = 0, max_jumps = 0;

    // All of one but the guess.
    Constraint At(size_t at) const;
  };
  // Reads from the first to the last.
  class Reader {
   public:
    explicit Reader(const Constraints& of) : of_(of) {}
    // Good until the next one.
    const Constraint& At(size_t i);
    // From one on; of none if that one has its window elsewhere.
    Run RunAt(size_t i);

   private:
    const Constraints& of_;
    Constraint constraint_;
    Window known_;                                            // but for lo_ns and hi_ns
    size_t rest_ = 0, odd_ = 0, run_rest_ = 0, run_odd_ = 0;  // the next ones
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

  // Whether the one before it knows the same, but for lo_ns and hi_ns.
  bool IsRest(const Window& when) const {
    if (rests_.empty()) return false;
    const Window& rest = rests_.back().second;
    return rest.near_ns == when.near_ns && rest.min_jumps == when.min_jumps &&
           rest.max_jumps == when.max_jumps;
  }
  void AddOther(const Constraint& constraint);

  size_t size_ = 0;
  std::vector<std::shared_ptr<Chunk>> chunks_;  // full ones are the same in copies
  // From this one on, without lo_ns and hi_ns.
  std::vector<std::pair<size_t, Window>> rests_;
  std::vector<std::pair<size_t, Window>> odds_;  // whose window begins or ends elsewhere
  std::shared_ptr<OrderSource> source_;
};

// Orders that are made anew for each time that they are looked at: kept, they would be most of what
// a trace takes. Not for several threads at once.
class OrderSource {
 public:
  // Good until the next one: orders of one kind, and of the other, in order; or others.
  struct Chunk {
    Constraints::Run begins, ends;
    const Constraints* others = nullptr;
  };

  virtual ~OrderSource() = default;
  virtual size_t chunks() const = 0;
  virtual Chunk ChunkAt(size_t chunk) = 0;
  // The guess for one of a run.
  virtual int64_t NearNs(size_t chunk, size_t at) const = 0;
};

}  // namespace acceltrace::clock

#endif  // LIBTRACE_CLOCK_CONSTRAINTS_H_
