// SPDX-License-Identifier: Apache-2.0
//
// Begin and end events of a thread paired to spans.
//
// What was under way when the recording of its process began has an end without
// a begin: it goes out with the moment of attaching as its bound. That is possible
// only for threads that were there before, and from the outside in: an end that
// cannot be explained so is refused.
#ifndef DAEMON_SESSION_SPANS_H_
#define DAEMON_SESSION_SPANS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>
#include <vector>

#include "daemon/sources/common/events.h"

namespace acceltrace::daemon {

// A thread in the tables of this folder.
struct ThreadId {
  uint32_t pid = 0, tid = 0;
  bool operator==(const ThreadId& other) const { return pid == other.pid && tid == other.tid; }
};
struct ThreadIdHash {
  size_t operator()(const ThreadId& id) const {
    return std::hash<uint64_t>()(uint64_t{id.pid} << 32 | id.tid);
  }
};

struct ApiSpan {
  ApiBegin begin;
  int64_t end_ns = 0;
  int32_t result = 0;
  bool open = false;          // never seen to end
  bool began_before = false;  // begin.time_ns is a bound, bytes and stream are not known
  bool closed = false;        // for the pairer: its end was seen
};

struct RangeSpan {
  RangePush push;
  int64_t end_ns = 0;
  bool mark = false;
  bool open = false;
  bool began_before = false;  // push.time_ns is a bound, the name is not known
};

// API calls. A thread's calls come out in the order of their begin, once its
// outermost one has ended.
class ApiPairer {
 public:
  using Emit = std::function<void(const ApiSpan&)>;

  explicit ApiPairer(Emit emit) : emit_(std::move(emit)) {}

  void Begin(const ApiBegin& event);
  // since_ns: when the recording of its process began. false: no such call was begun,
  // and none can have been before that.
  bool End(const ApiEnd& event, int64_t since_ns);
  // A thread is seen from its first instruction on.
  void Born(uint32_t pid, uint32_t tid) { threads_.try_emplace({pid, tid}, Thread{{}, 0}); }
  // Of a process that was seen from its first instruction on, calls are seen only now.
  void SeenLate(uint32_t pid);
  // A thread is gone: nothing more will end.
  void Close(uint32_t pid, uint32_t tid, int64_t now_ns);
  // All threads of a process, which goes on as another program in its first one.
  void CloseProcess(uint32_t pid, int64_t now_ns);
  void CloseAll(int64_t now_ns);
  // What is under way, as of now, as Close would give it; it stays.
  void Peek(int64_t now_ns, const Emit& emit) const;

 private:
  struct Thread {
    std::vector<ApiSpan> spans;  // begun since the outermost open call, in order
    // Ids of a thread's calls rise: a call with a smaller one than all that were seen may have
    // been begun before.
    uint64_t unseen_below = std::numeric_limits<uint64_t>::max();
  };

  void EmitAll(Thread* thread, int64_t now_ns);

  Emit emit_;
  std::unordered_map<ThreadId, Thread, ThreadIdHash> threads_;
};

// User ranges: nested within a thread, distinguished by depth.
class RangePairer {
 public:
  using Emit = std::function<void(const RangeSpan&)>;

  explicit RangePairer(Emit emit) : emit_(std::move(emit)) {}

  // Also closes ranges that were left open at this depth or deeper.
  void Push(const RangePush& event);
  // As ApiPairer::End.
  bool Pop(const RangePop& event, int64_t since_ns);
  void Mark(const RangePush& event);
  // A thread is seen from its first instruction on; the first one of a forked process
  // has the ranges of its parent's, and is none.
  void Born(uint32_t pid, uint32_t tid) { threads_.try_emplace({pid, tid}, Thread{{}, 0}); }
  void SeenLate(uint32_t pid);
  void Close(uint32_t pid, uint32_t tid, int64_t now_ns);
  void CloseProcess(uint32_t pid, int64_t now_ns);
  void CloseAll(int64_t now_ns);
  void Peek(int64_t now_ns, const Emit& emit) const;

 private:
  struct Thread {
    std::vector<RangePush> stack;
    // Ranges of a smaller depth may have been begun before.
    uint32_t unseen_below = std::numeric_limits<uint32_t>::max();
  };

  void EmitOpen(std::vector<RangePush>* stack, uint32_t depth, int64_t now_ns);

  Emit emit_;
  std::unordered_map<ThreadId, Thread, ThreadIdHash> threads_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SESSION_SPANS_H_
