// SPDX-License-Identifier: Apache-2.0
//
// Encodes rows as packets of columns: one builder for each kind of batch of trace.proto.
//
// Each builder collects rows until Take(), which returns the packet and begins the next one.
// `weight` is the number of events of the session's account that a packet represents.
#ifndef DAEMON_SESSION_BATCHES_H_
#define DAEMON_SESSION_BATCHES_H_

#include <bitset>
#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/session/spans.h"
#include "daemon/sources/common/events.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/block_writer.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::daemon {

using stream::DeltaEncoder;

struct FinishedBatch {
  proto::Packet packet;
  int64_t first_ns = 0;
  uint32_t rows = 0;
  uint64_t weight = 0;
};

class Batch {
 public:
  bool empty() const { return current_.rows == 0; }
  uint32_t rows() const { return current_.rows; }

 protected:
  // Counts a row. `time_ns` is 0 if the row has no host time.
  void Count(int64_t time_ns, uint64_t weight) {
    ++current_.rows;
    current_.weight += weight;
    if (time_ns != 0 && (current_.first_ns == 0 || time_ns < current_.first_ns)) {
      current_.first_ns = time_ns;
    }
  }
  proto::Packet& packet() { return current_.packet; }
  FinishedBatch TakeCurrent() {
    FinishedBatch finished = std::move(current_);
    current_ = {};
    return finished;
  }

 private:
  FinishedBatch current_;
};

// Writes to a block directly, as there may be a million calls per second.
class ApiBatch : public Batch {
 public:
  ApiBatch() : c_(new Columns) {}

  void Add(const ApiSpan& span);
  // Adds a call whose begin and end are both known.
  void Add(const ApiBegin& begin, int64_t end_ns, int32_t result);
  bool full() const { return rows() == kRows; }
  FinishedBatch Take();

 private:
  // Vector units may write some elements past the end.
  static constexpr size_t kRows = 1024, kRoom = kRows + 8;
  struct Columns {
    uint64_t begin[kRoom], duration[kRoom], correlation[kRoom], bytes[kRoom];
    uint32_t pid[kRoom], tid[kRoom], name[kRoom], stream[kRoom], result[kRoom], open[kRoom];
    uint32_t began_before[kRoom];
  };
  void Put(const ApiBegin& begin, int64_t end_ns, int32_t result);

  std::unique_ptr<Columns> c_;
  stream::BlockWriter writer_;
};

// Collects columns and encodes them at once: a program may have more ranges than calls.
class RangeBatch : public Batch {
 public:
  RangeBatch() : c_(new Columns) {}

  void Add(const RangeSpan& span);
  bool full() const { return rows() == kRows; }
  FinishedBatch Take();

 private:
  static constexpr size_t kRows = 1024;
  struct Columns {
    int64_t begin_delta[kRows];
    uint64_t duration[kRows];
    uint32_t pid[kRows], tid[kRows], name[kRows], depth[kRows], mark[kRows], open[kRows];
    uint32_t began_before[kRows];
  };

  std::unique_ptr<Columns> c_;
  int64_t last_ns_ = 0;
};

// These events are not in the session's accounts, since they are about the recording itself.
class ProcessEventBatch : public Batch {
 public:
  void Add(const ProcessEvent& event);
  FinishedBatch Take();

 private:
  DeltaEncoder time_;
};

class HostBatch : public Batch {
 public:
  void Add(const HostEvent& event);
  FinishedBatch Take();

 private:
  DeltaEncoder time_, correlation_;
};

// The batches of one device.
class DeviceEventBatch : public Batch {
 public:
  explicit DeviceEventBatch(uint32_t device) : device_(device) {}
  void Add(const DeviceEvent& event);
  FinishedBatch Take();

 private:
  uint32_t device_;
  DeltaEncoder time_, record_;
};

// Commands of clients that are not recorded, summed up by unit until Cut(). They are not in the
// accounts, since they are not events of the recording.
class OthersBatch : public Batch {
 public:
  OthersBatch(uint32_t device, uint64_t tick_mask, size_t units, size_t stalls)
      : device_(device), tick_mask_(tick_mask), sums_(units, Sum(stalls)), in_flight_(units) {}
  void Add(const DeviceCommand& command);
  // Makes rows of the sums, at the time of a counter snapshot.
  void Cut();
  // The device's clock was set. Ticks from before are not compared with later ones: commands that
  // may have been in flight, i.e. the next of each queue, get rows of their own.
  void ClockSet();
  FinishedBatch Take();

 private:
  static constexpr size_t kMaxQueues = 256;
  struct Sum {
    explicit Sum(size_t stalls) : stall(stalls) {}
    uint32_t commands = 0, failed = 0;
    uint64_t first_head = 0, last_end = 0, held = 0, bytes = 0;
    std::vector<uint64_t> stall;
  };
  uint32_t device_;
  uint64_t tick_mask_;
  std::vector<Sum> sums_;                           // by unit
  std::vector<std::bitset<kMaxQueues>> in_flight_;  // of each unit, by queue
  DeltaEncoder first_head_;
};

// Snapshots of all counters; either all or none of them have the host's times around the reading.
class CounterBatch : public Batch {
 public:
  CounterBatch(uint32_t device, uint32_t num_counters, bool bracketed)
      : device_(device), bracketed_(bracketed), previous_(num_counters) {}
  // `weight` is the number of events that the snapshot was made of.
  void Add(const CounterSnapshot& snapshot, uint64_t weight);
  FinishedBatch Take();

 private:
  uint32_t device_;
  bool bracketed_;
  DeltaEncoder time_, before_, after_;
  std::vector<uint64_t> previous_;  // by counter
};

class ClockBatch : public Batch {
 public:
  explicit ClockBatch(uint32_t device) : device_(device) {}
  void Add(const ClockSample& sample);
  FinishedBatch Take();

 private:
  uint32_t device_;
  DeltaEncoder before_, ticks_, tsc_, ptm_ticks_, ptm_host_, ptm_tsc_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SESSION_BATCHES_H_
