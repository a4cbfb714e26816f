// SPDX-License-Identifier: Apache-2.0
//
// Decodes events of tracepoints that providers name: reads samples from perf rings, interprets them
// by their provider, and matches submissions with completions. Makes no system calls.
#ifndef DAEMON_SOURCES_PROVIDER_PROVIDER_EVENTS_H_
#define DAEMON_SOURCES_PROVIDER_PROVIDER_EVENTS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

inline constexpr size_t kMaxRoles = 64;             // of all devices that are recorded by providers
inline constexpr size_t kMaxProviderJobs = 65'536;  // in progress at once
inline constexpr size_t kMaxReplacedJobs = 1024;    // whose completion may be late
inline constexpr uint64_t kMaxOpcode = 256;         // opcodes are below, as in provider files
inline constexpr size_t kRoleTextBytes = 16;        // of a compared text, including its NUL

// The place of a value in a tracepoint's record.
struct FieldPlace {
  enum Kind : uint32_t { kNumber, kText, kTextElsewhere };  // the last one: __data_loc
  uint64_t mask = 0;  // of a number; 0 if there is no such field
  uint32_t offset = 0;
  Kind kind = kNumber;
};

struct RoleCondition {
  FieldPlace place;
  uint64_t number = 0;
  std::string text;
  bool unequal = false;
};

// The meaning of a provider's tracepoint for one device.
struct RoleConfig {
  enum Role : uint32_t { kSubmit, kDependency, kStart, kComplete };
  uint32_t device = 0;  // number in the stream
  Role role = kSubmit;
  FieldPlace queue, job, opcode, status, bytes, waits_for, waits_for_queue;
  uint64_t bytes_add = 0, bytes_times = 0;  // (field + add) * times
  uint64_t bytes_opcodes[4] = {};           // a bit for each opcode that has bytes
  std::vector<RoleCondition> where;
};

struct PerfSample {
  int64_t time_ns = 0;
  uint32_t pid = 0, tid = 0;
  std::string_view raw;  // the tracepoint's record
};

// The consumer of a ring to which the kernel writes perf records. The samples have PERF_SAMPLE_TID
// | TIME | RAW, and all other records end with TID and TIME.
class PerfRing {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void OnSample(const PerfSample& sample) = 0;
    // `count` samples were dropped before this time.
    virtual void OnLost(uint64_t count, int64_t time_ns) = 0;
    // An invalid record. If its length is wrong, the rest of the ring is skipped.
    virtual void OnBad() = 0;
  };

  // `bytes` must be a power of two.
  PerfRing(const char* data, uint64_t bytes) : data_(data), bytes_(bytes) {}

  // Reads at most `limit` records from tail to head; returns the start of the next one.
  uint64_t Read(uint64_t tail, uint64_t head, size_t limit, Sink* sink);

 private:
  void Copy(uint64_t at, size_t bytes, char* to) const;

  const char* data_;
  uint64_t bytes_;
  std::vector<char> record_;
};

// Receives events, and tells which processes are recorded.
class ProviderSink {
 public:
  virtual ~ProviderSink() = default;
  // Returns whether the process is recorded at this moment.
  virtual bool IsTracked(uint32_t pid) = 0;
  // Returns whether it is a kernel thread.
  virtual bool IsKernelThread(uint32_t pid) = 0;
  // Returns whether it was recorded at that time; `now` is what IsTracked() returned later.
  virtual bool WasTracked(uint32_t pid, int64_t time_ns, bool now) = 0;
  virtual void OnProviderEvent(const HostEvent& event) = 0;
  virtual void OnProviderLoss(uint64_t count, int64_t first_ns, int64_t last_ns) = 0;
};

class ProviderMatcher {
 public:
  // `kernel_threads` includes their submissions.
  ProviderMatcher(bool system_wide, bool kernel_threads, ProviderSink* sink)
      : system_wide_(system_wide), kernel_threads_(kernel_threads), sink_(sink) {}

  // `tracepoint` is its id.
  void AddRole(uint32_t tracepoint, const RoleConfig& role);

  // Returns false if the sample is of no tracepoint with a role, or too short for its fields.
  bool Take(const PerfSample& sample, uint32_t cpu);
  // Asks which submitters are recorded, for what was taken since the last time.
  void AskSubmitters();
  // Passes on events up to until_ns in order of time. An event that is older than one passed on
  // before is late: it is still assigned to its job, and is counted.
  void Match(int64_t until_ns);

  uint64_t taken() const { return taken_; }
  uint64_t rows() const { return rows_; }
  uint64_t no_room() const { return no_room_; }
  uint64_t late() const { return late_; }
  // Late submissions that were dropped because they cannot be matched with a completion.
  uint64_t late_lost() const { return late_lost_; }
  // Jobs whose name was reused before their completion came.
  uint64_t unfinished() const { return unfinished_ + replaced_.size(); }
  int64_t unfinished_since_ns() const { return unfinished_since_ns_; }
  size_t pending() const { return pending_.size(); }

 private:
  struct Role {
    uint32_t tracepoint;
    RoleConfig config;
  };
  struct Event {
    int64_t time_ns;
    uint64_t queue, job, value;  // value: bytes, status, or the dependency's job
    uint64_t other_queue;        // the dependency's queue
    uint32_t opcode;             // of a submission: 1 + opcode; 0 = unknown
    uint32_t pid, tid, cpu;
    uint16_t role;
    bool kernel_thread, tracked;
  };
  struct Key {
    uint64_t queue, job;
    uint32_t device;
    bool operator==(const Key& other) const {
      return queue == other.queue && job == other.job && device == other.device;
    }
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Job {
    uint32_t number, pid, tid;
    int64_t submit_ns;
  };
  // A job whose name was reused at until_ns: its completion may be late.
  struct Replaced {
    Key key;
    Job job;
    int64_t until_ns;
  };
  // A completion without a submission since the last one of its name; the submission may be late.
  struct Unmatched {
    Event event;
    bool several;
  };
  using Jobs = std::unordered_map<Key, Job, KeyHash>;

  bool Wanted(const Event& event);
  void One(const Event& event);
  void OnSubmit(const Event& event, const Key& key);
  void OnDependency(const Event& event, const Key& key, const Job& job);
  void OnLateSubmit(const Event& event, const Key& key, const Job& job);
  bool OfReplaced(const Event& event, const Key& key);
  void Replace(const Key& key, const Job& job, int64_t until_ns);
  void KeepUnmatched(const Event& event, const Key& key);
  static uint64_t CommandsOf(const Event& event);
  void Report(const Event& event, const Key& key, const Job& job, uint32_t kind, uint64_t arg0,
              uint64_t arg1);

  bool system_wide_, kernel_threads_;
  ProviderSink* sink_;
  std::vector<Role> roles_;
  std::vector<Event> pending_;
  size_t asked_ = 0;  // number of pending_ asked for
  Jobs jobs_;
  std::deque<Replaced> replaced_;
  std::unordered_map<Key, Unmatched, KeyHash> unmatched_;
  int64_t newest_ns_ = INT64_MIN;           // of the events passed on
  int64_t forgotten_until_ns_ = INT64_MIN;  // no earlier completion is in unmatched_
  uint32_t last_number_ = 0;
  uint64_t late_ = 0, late_lost_ = 0, unfinished_ = 0;
  int64_t unfinished_since_ns_ = INT64_MAX;
  uint64_t taken_ = 0, rows_ = 0, no_room_ = 0, reported_no_room_ = 0;
  int64_t no_room_first_ns_ = 0, no_room_last_ns_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_PROVIDER_PROVIDER_EVENTS_H_
