// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/spans.h"

#include <algorithm>
#include <limits>

namespace acceltrace::daemon {
namespace {

// More pending spans than this in a thread are not plausible: the oldest are emitted as open.
constexpr size_t kMaxPending = 4096;

ApiSpan AsOfNow(ApiSpan span, int64_t now_ns) {
  if (!span.closed) {
    span.open = true;
    span.end_ns = std::max(now_ns, span.begin.time_ns);
  }
  return span;
}

RangeSpan OpenRange(const RangePush& push, int64_t now_ns) {
  RangeSpan span;
  span.push = push;
  span.end_ns = std::max(now_ns, push.time_ns);
  span.open = true;
  return span;
}

// Calls in progress in the process' threads may have begun before they were recorded.
template <typename Threads>
void ForgetBirths(uint32_t pid, Threads* threads) {
  for (auto& [id, thread] : threads->values()) {
    if (id.pid == pid && thread.unseen_below == 0) {
      thread.unseen_below = std::numeric_limits<decltype(thread.unseen_below)>::max();
    }
  }
}

}  // namespace

void ApiPairer::EmitAll(Thread* thread, int64_t now_ns) {
  for (const ApiSpan& span : thread->spans) emit_(AsOfNow(span, now_ns));
  thread->spans.clear();
}

void ApiPairer::Begin(const ApiBegin& event) {
  Thread& thread = threads_[{event.pid, event.tid}];
  thread.unseen_below = std::min(thread.unseen_below, event.correlation);
  if (thread.spans.size() >= kMaxPending) EmitAll(&thread, event.time_ns);
  ApiSpan span;
  span.begin = event;
  thread.spans.push_back(span);
}

bool ApiPairer::End(const ApiEnd& event, int64_t since_ns) {
  Thread& thread = threads_[{event.pid, event.tid}];
  std::vector<ApiSpan>& spans = thread.spans;
  // Searches the innermost open call with this correlation id, which is usually the last one.
  for (size_t i = spans.size(); i-- > 0;) {
    ApiSpan& span = spans[i];
    if (span.closed || span.begin.correlation != event.correlation) continue;
    span.closed = true;
    span.end_ns = std::max(event.time_ns, span.begin.time_ns);
    span.result = event.result;
    const bool all_closed = std::all_of(spans.begin(), spans.begin() + static_cast<ptrdiff_t>(i),
                                        [](const ApiSpan& outer) { return outer.closed; });
    // An inner call that is still open has lost its end: it is emitted as open.
    if (all_closed) EmitAll(&thread, event.time_ns);
    return true;
  }
  if (event.correlation >= thread.unseen_below) return false;
  thread.unseen_below = event.correlation;
  EmitAll(&thread, event.time_ns);  // calls within it
  ApiSpan span;
  span.begin.time_ns = std::min(since_ns, event.time_ns);
  span.begin.pid = event.pid;
  span.begin.tid = event.tid;
  span.begin.name = event.name;
  span.begin.correlation = event.correlation;
  span.end_ns = event.time_ns;
  span.result = event.result;
  span.began_before = span.closed = true;
  emit_(span);
  return true;
}

void ApiPairer::SeenLate(uint32_t pid) { ForgetBirths(pid, &threads_); }

void ApiPairer::Close(uint32_t pid, uint32_t tid, int64_t now_ns) {
  Thread* thread = threads_.Find({pid, tid});
  if (thread == nullptr) return;
  EmitAll(thread, now_ns);
  threads_.Erase({pid, tid});
}

void ApiPairer::CloseProcess(uint32_t pid, int64_t now_ns) {
  threads_.EraseIf([&](const ThreadId& id, Thread* thread) {
    if (id.pid == pid) EmitAll(thread, now_ns);
    return id.pid == pid;
  });
}

void ApiPairer::CloseAll(int64_t now_ns) {
  threads_.EraseIf([&](const ThreadId&, Thread* thread) {
    EmitAll(thread, now_ns);
    return true;
  });
}

void ApiPairer::Peek(int64_t now_ns, const Emit& emit) const {
  for (const auto& [id, thread] : threads_.values()) {
    for (const ApiSpan& span : thread.spans) emit(AsOfNow(span, now_ns));
  }
}

void RangePairer::EmitOpen(std::vector<RangePush>* stack, uint32_t depth, int64_t now_ns) {
  while (!stack->empty() && stack->back().depth >= depth) {
    const RangePush push = stack->back();
    stack->pop_back();
    emit_(OpenRange(push, now_ns));
  }
}

void RangePairer::Push(const RangePush& event) {
  Thread& thread = threads_[{event.pid, event.tid}];
  thread.unseen_below = std::min(thread.unseen_below, event.depth);
  EmitOpen(&thread.stack, event.depth, event.time_ns);
  if (thread.stack.size() >= kMaxPending) EmitOpen(&thread.stack, 0, event.time_ns);
  thread.stack.push_back(event);
}

bool RangePairer::Pop(const RangePop& event, int64_t since_ns) {
  Thread& thread = threads_[{event.pid, event.tid}];
  std::vector<RangePush>& stack = thread.stack;
  const auto match = std::find_if(stack.begin(), stack.end(),
                                  [&](const RangePush& push) { return push.depth == event.depth; });
  const bool seen = match != stack.end();
  if (!seen && event.depth >= thread.unseen_below) return false;
  EmitOpen(&stack, event.depth + 1, event.time_ns);
  RangeSpan span;
  if (!seen) {
    thread.unseen_below = event.depth;
    span.push = {std::min(since_ns, event.time_ns), event.pid, event.tid, 0, event.depth};
    span.began_before = true;
  } else {
    span.push = stack.back();
    stack.pop_back();
  }
  span.end_ns = std::max(event.time_ns, span.push.time_ns);
  emit_(span);
  return true;
}

void RangePairer::Mark(const RangePush& event) {
  RangeSpan span;
  span.push = event;
  span.end_ns = event.time_ns;
  span.mark = true;
  emit_(span);
}

void RangePairer::SeenLate(uint32_t pid) { ForgetBirths(pid, &threads_); }

void RangePairer::Close(uint32_t pid, uint32_t tid, int64_t now_ns) {
  Thread* thread = threads_.Find({pid, tid});
  if (thread == nullptr) return;
  EmitOpen(&thread->stack, 0, now_ns);
  threads_.Erase({pid, tid});
}

void RangePairer::CloseProcess(uint32_t pid, int64_t now_ns) {
  threads_.EraseIf([&](const ThreadId& id, Thread* thread) {
    if (id.pid == pid) EmitOpen(&thread->stack, 0, now_ns);
    return id.pid == pid;
  });
}

void RangePairer::CloseAll(int64_t now_ns) {
  threads_.EraseIf([&](const ThreadId&, Thread* thread) {
    EmitOpen(&thread->stack, 0, now_ns);
    return true;
  });
}

void RangePairer::Peek(int64_t now_ns, const Emit& emit) const {
  for (const auto& [id, thread] : threads_.values()) {
    for (const RangePush& push : thread.stack) emit(OpenRange(push, now_ns));
  }
}

}  // namespace acceltrace::daemon
