// SPDX-License-Identifier: Apache-2.0
//
// Begin and end events of a thread paired to spans. Room: daemon/session.
#ifndef DAEMON_SESSION_SPANS_H_
#define DAEMON_SESSION_SPANS_H_

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "daemon/sources/source.h"

namespace acceltrace::daemon {

struct ApiSpan {
  ApiBegin begin;
  int64_t end_ns = 0;
  int32_t result = 0;
  bool open = false;    // never seen to end
  bool closed = false;  // for the pairer: its end was seen
};

struct RangeSpan {
  RangePush push;
  int64_t end_ns = 0;
  bool mark = false;
  bool open = false;
};

// API calls. A thread's calls come out in the order of their begin, once its
// outermost one has ended.
class ApiPairer {
 public:
  using Emit = std::function<void(const ApiSpan&)>;

  explicit ApiPairer(Emit emit) : emit_(std::move(emit)) {}

  void Begin(const ApiBegin& event);
  // false: no such call was begun (its begin was lost, or before the recording).
  bool End(const ApiEnd& event);
  // A thread is gone: nothing more will end.
  void Close(uint32_t pid, uint32_t tid, int64_t now_ns);
  void CloseAll(int64_t now_ns);

 private:
  using Thread = std::vector<ApiSpan>;  // begun since the outermost open call, in order

  void EmitAll(Thread* thread, int64_t now_ns);

  Emit emit_;
  std::unordered_map<uint64_t, Thread> threads_;
};

// User ranges: nested within a thread, told apart by depth.
class RangePairer {
 public:
  using Emit = std::function<void(const RangeSpan&)>;

  explicit RangePairer(Emit emit) : emit_(std::move(emit)) {}

  // Also closes ranges that were left open at this depth or deeper.
  void Push(const RangePush& event);
  bool Pop(const RangePop& event);
  void Mark(const RangePush& event);
  void Close(uint32_t pid, uint32_t tid, int64_t now_ns);
  void CloseAll(int64_t now_ns);

 private:
  void EmitOpen(std::vector<RangePush>* stack, uint32_t depth, int64_t now_ns);

  Emit emit_;
  std::unordered_map<uint64_t, std::vector<RangePush>> threads_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SESSION_SPANS_H_
