// SPDX-License-Identifier: Apache-2.0
//
// Rows to packets of columns: one builder for each kind of batch of trace.proto.
//
// Each builder collects rows until Take(), which gives the packet away and starts
// the next. weight is how many events of the session's account a packet stands for.
#ifndef DAEMON_SESSION_BATCHES_H_
#define DAEMON_SESSION_BATCHES_H_

#include <bitset>
#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/session/spans.h"
#include "daemon/sources/common/events.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/block_writer.h"
#include "libtrace/stream/columns.h"

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
  // Counts a row. time_ns: 0 if the row has no host time.
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

// Straight into a block: there may be a million calls a second.
class ApiBatch : public Batch {
 public:
  ApiBatch() : c_(new Columns) {}

  void Add(const ApiSpan& span);
  // Of a call whose both ends are known.
  void Add(const ApiBegin& begin, int64_t end_ns, int32_t result);
  bool full() const { return rows() == kRows; }
  FinishedBatch Take();

 private:
  static constexpr size_t kRows = 1024, kRoom = kRows + 8;  // room for a vector unit to go beyond
  struct Columns {
    uint64_t begin[kRoom], duration[kRoom], correlation[kRoom], bytes[kRoom];
    uint32_t pid[kRoom], tid[kRoom], name[kRoom], stream[kRoom], result[kRoom], open[kRoom];
    uint32_t began_before[kRoom];
  };
  void Put(const ApiBegin& begin, int64_t end_ns, int32_t result);

  std::unique_ptr<Columns> c_;
  stream::BlockWriter writer_;
};

class RangeBatch : public Batch {
 public:
  void Add(const RangeSpan& span);
  FinishedBatch Take();

 private:
  DeltaEncoder begin_;
};

// Not in the session's accounts: they are about the recording itself.
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

// What others had a device do, summed up by unit until Cut(). Not in the accounts: those records
// are not the recording's.
class OthersBatch : public Batch {
 public:
  OthersBatch(uint32_t device, uint64_t tick_mask, size_t units, size_t stalls)
      : device_(device), tick_mask_(tick_mask), sums_(units, Sum(stalls)), in_flight_(units) {}
  void Add(const DeviceCommand& command);
  // The sums become rows: a counter snapshot lies here.
  void Cut();
  // The clock was set. Ticks from before are not compared with later ones: commands that may
  // have been in flight, the next of each queue, get rows of their own.
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

// Snapshots of all counters; either all with the host's bracket or all without.
class CounterBatch : public Batch {
 public:
  CounterBatch(uint32_t device, uint32_t num_counters, bool bracketed)
      : device_(device), bracketed_(bracketed), previous_(num_counters) {}
  // weight: events that the snapshot was made of.
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
