// SPDX-License-Identifier: Apache-2.0
//
// Pairs the begin and end events of a thread to spans.
//
// What was in progress when the recording of its process began has an end without a begin: its span
// is emitted with the time of attaching as its bound. That is possible only for threads that
// existed before, and only for spans around those whose begin was recorded; any other end without a
// begin is refused.
#ifndef DAEMON_SESSION_SPANS_H_
#define DAEMON_SESSION_SPANS_H_

#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/sources/common/events.h"

namespace acceltrace::daemon {

// Identifies a thread in the tables of this folder.
struct ThreadId {
  uint32_t pid = 0, tid = 0;
  bool operator==(const ThreadId& other) const { return pid == other.pid && tid == other.tid; }
};
struct ThreadIdHash {
  size_t operator()(const ThreadId& id) const {
    return std::hash<uint64_t>()(uint64_t{id.pid} << 32 | id.tid);
  }
};

// A value for each thread. Consecutive events are usually of the same thread.
template <typename Value>
class ByThread {
 public:
  using Values = std::unordered_map<ThreadId, Value, ThreadIdHash>;

  Value& operator[](const ThreadId& id) {
    if (last_ == nullptr || !(last_id_ == id)) {
      last_ = &values_[id];
      last_id_ = id;
    }
    return *last_;
  }
  void Add(const ThreadId& id, Value value) { values_.try_emplace(id, std::move(value)); }
  // Returns nullptr if the thread has none.
  Value* Find(const ThreadId& id) {
    const auto found = values_.find(id);
    return found == values_.end() ? nullptr : &found->second;
  }
  // Erases the threads for which erase(id, value) returns true.
  template <typename Erase>
  void EraseIf(const Erase& erase) {
    last_ = nullptr;
    for (auto entry = values_.begin(); entry != values_.end();) {
      entry = erase(entry->first, &entry->second) ? values_.erase(entry) : std::next(entry);
    }
  }
  void Erase(const ThreadId& id) {
    last_ = nullptr;
    values_.erase(id);
  }
  Values& values() { return values_; }
  const Values& values() const { return values_; }

 private:
  Values values_;
  ThreadId last_id_;
  Value* last_ = nullptr;  // of last_id_; nullptr: not known
};

struct ApiSpan {
  ApiBegin begin;
  int64_t end_ns = 0;
  int32_t result = 0;
  bool open = false;          // its end was not recorded
  bool began_before = false;  // begin.time_ns is a bound; bytes and stream are unknown
  bool closed = false;        // for the pairer: its end was recorded
};

struct RangeSpan {
  RangePush push;
  int64_t end_ns = 0;
  bool mark = false;
  bool open = false;
  bool began_before = false;  // push.time_ns is a bound; the name is unknown
};

// Pairs API calls. The calls of a thread are emitted in the order of their begin, once its
// outermost call has ended.
class ApiPairer {
 public:
  using Emit = std::function<void(const ApiSpan&)>;

  explicit ApiPairer(Emit emit) : emit_(std::move(emit)) {}

  void Begin(const ApiBegin& event);
  // `since_ns` is when the recording of its process began. Returns false if no such call has begun,
  // and none can have begun before that time.
  bool End(const ApiEnd& event, int64_t since_ns);
  // The thread is recorded from its first instruction on.
  void Born(uint32_t pid, uint32_t tid) { threads_.Add({pid, tid}, Thread{{}, 0}); }
  // The calls of this process are recorded only from now on, although the process was recorded from
  // its first instruction on.
  void SeenLate(uint32_t pid);
  // The thread has ended: no more ends will follow.
  void Close(uint32_t pid, uint32_t tid, int64_t now_ns);
  // Closes all threads of a process, which continues as another program in its first thread.
  void CloseProcess(uint32_t pid, int64_t now_ns);
  void CloseAll(int64_t now_ns);
  // Emits what is in progress, as Close would do it now, without removing it.
  void Peek(int64_t now_ns, const Emit& emit) const;

 private:
  struct Thread {
    std::vector<ApiSpan> spans;  // begun since the outermost open call, in order
    // Ids of a thread's calls increase: a call with a smaller id than all that were recorded may
    // have begun before.
    uint64_t unseen_below = std::numeric_limits<uint64_t>::max();
  };

  void EmitAll(Thread* thread, int64_t now_ns);

  Emit emit_;
  ByThread<Thread> threads_;
};

// Pairs user ranges, which are nested within a thread and identified by their depth.
class RangePairer {
 public:
  using Emit = std::function<void(const RangeSpan&)>;

  explicit RangePairer(Emit emit) : emit_(std::move(emit)) {}

  // Also closes ranges that were left open at this depth or deeper.
  void Push(const RangePush& event);
  // Like ApiPairer::End.
  bool Pop(const RangePop& event, int64_t since_ns);
  void Mark(const RangePush& event);
  // The thread is recorded from its first instruction on. This must not be called for the first
  // thread of a forked process, which inherits the ranges of its parent.
  void Born(uint32_t pid, uint32_t tid) { threads_.Add({pid, tid}, Thread{{}, 0}); }
  void SeenLate(uint32_t pid);
  void Close(uint32_t pid, uint32_t tid, int64_t now_ns);
  void CloseProcess(uint32_t pid, int64_t now_ns);
  void CloseAll(int64_t now_ns);
  void Peek(int64_t now_ns, const Emit& emit) const;

 private:
  struct Thread {
    std::vector<RangePush> stack;
    // Ranges of a smaller depth may have begun before.
    uint32_t unseen_below = std::numeric_limits<uint32_t>::max();
  };

  void EmitOpen(std::vector<RangePush>* stack, uint32_t depth, int64_t now_ns);

  Emit emit_;
  ByThread<Thread> threads_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SESSION_SPANS_H_
