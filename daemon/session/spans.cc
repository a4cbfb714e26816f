// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/spans.h"

#include <algorithm>

namespace acceltrace::daemon {
namespace {

// A thread with more spans than this in the air is not believed: the oldest are
// let go as open.
constexpr size_t kMaxPending = 4096;

uint64_t ThreadKey(uint32_t pid, uint32_t tid) { return uint64_t{pid} << 32 | tid; }

}  // namespace

void ApiPairer::EmitAll(Thread* thread, int64_t now_ns) {
  for (ApiSpan& span : *thread) {
    if (!span.closed) {
      span.open = true;
      span.end_ns = std::max(now_ns, span.begin.time_ns);
    }
    emit_(span);
  }
  thread->clear();
}

void ApiPairer::Begin(const ApiBegin& event) {
  Thread& thread = threads_[ThreadKey(event.pid, event.tid)];
  if (thread.size() >= kMaxPending) EmitAll(&thread, event.time_ns);
  ApiSpan span;
  span.begin = event;
  thread.push_back(span);
}

bool ApiPairer::End(const ApiEnd& event) {
  const auto found = threads_.find(ThreadKey(event.pid, event.tid));
  if (found == threads_.end()) return false;
  Thread& thread = found->second;
  // The innermost open call with this correlation id; usually the last.
  for (size_t i = thread.size(); i-- > 0;) {
    ApiSpan& span = thread[i];
    if (span.closed || span.begin.correlation != event.correlation) continue;
    span.closed = true;
    span.end_ns = std::max(event.time_ns, span.begin.time_ns);
    span.result = event.result;
    const bool all_closed = std::all_of(thread.begin(), thread.begin() + static_cast<ptrdiff_t>(i),
                                        [](const ApiSpan& outer) { return outer.closed; });
    // An inner call that is still open then has lost its end: it goes out as open.
    if (all_closed) EmitAll(&thread, event.time_ns);
    return true;
  }
  return false;
}

void ApiPairer::Close(uint32_t pid, uint32_t tid, int64_t now_ns) {
  const auto found = threads_.find(ThreadKey(pid, tid));
  if (found == threads_.end()) return;
  EmitAll(&found->second, now_ns);
  threads_.erase(found);
}

void ApiPairer::CloseAll(int64_t now_ns) {
  for (auto& [key, thread] : threads_) EmitAll(&thread, now_ns);
  threads_.clear();
}

void RangePairer::EmitOpen(std::vector<RangePush>* stack, uint32_t depth, int64_t now_ns) {
  while (!stack->empty() && stack->back().depth >= depth) {
    RangeSpan span;
    span.push = stack->back();
    span.end_ns = std::max(now_ns, span.push.time_ns);
    span.open = true;
    stack->pop_back();
    emit_(span);
  }
}

void RangePairer::Push(const RangePush& event) {
  std::vector<RangePush>& stack = threads_[ThreadKey(event.pid, event.tid)];
  EmitOpen(&stack, event.depth, event.time_ns);
  if (stack.size() >= kMaxPending) EmitOpen(&stack, 0, event.time_ns);
  stack.push_back(event);
}

bool RangePairer::Pop(const RangePop& event) {
  const auto found = threads_.find(ThreadKey(event.pid, event.tid));
  if (found == threads_.end()) return false;
  std::vector<RangePush>& stack = found->second;
  const auto match = std::find_if(stack.begin(), stack.end(),
                                  [&](const RangePush& push) { return push.depth == event.depth; });
  if (match == stack.end()) return false;
  EmitOpen(&stack, event.depth + 1, event.time_ns);
  RangeSpan span;
  span.push = stack.back();
  span.end_ns = std::max(event.time_ns, span.push.time_ns);
  stack.pop_back();
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

void RangePairer::Close(uint32_t pid, uint32_t tid, int64_t now_ns) {
  const auto found = threads_.find(ThreadKey(pid, tid));
  if (found == threads_.end()) return;
  EmitOpen(&found->second, 0, now_ns);
  threads_.erase(found);
}

void RangePairer::CloseAll(int64_t now_ns) {
  for (auto& [key, stack] : threads_) EmitOpen(&stack, 0, now_ns);
  threads_.clear();
}

}  // namespace acceltrace::daemon
