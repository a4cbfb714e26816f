// SPDX-License-Identifier: Apache-2.0
//
// Decodes stacks of API calls.
#include <algorithm>
#include <tuple>

#include "libtrace/model/columns/decode_columns.h"
#include "libtrace/model/load/decode.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::model {
namespace {

// They are usually written in order.
template <typename Rows, typename Before>
void SortIfNeeded(Rows* rows, const Before& before) {
  if (std::is_sorted(rows->begin(), rows->end(), before)) return;
  std::stable_sort(rows->begin(), rows->end(), before);
}

}  // namespace

void Decoder::AddStackFrames(const proto::StackFrames& batch, size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    stack_frames_.push_back(
        {batch.stack(static_cast<int>(i)),
         stream::ColumnAt(batch.place(), i),
         {stream::ColumnAt(batch.object(), i), stream::ColumnAt(batch.build_id(), i),
          stream::ColumnAt(batch.offset(), i)}});
  }
}

void Decoder::AddCallStacks(const proto::CallStacks& batch, size_t rows) {
  stream::DeltaDecoder times(batch.time_ns_delta()), correlations(batch.correlation_delta());
  for (size_t i = 0; i < rows; ++i) {
    const int64_t time_ns = times.Next();
    call_stacks_.push_back(
        {correlations.NextUnsigned(), time_ns, stream::ColumnAt(batch.stack(), i)});
  }
}

// Flight recorders repeat base packets; the first one counts.
void Decoder::FinishStacks() {
  if (stack_frames_.empty() && call_stacks_.empty()) return;
  const auto key = [](const FrameRow& row) { return std::tie(row.stack, row.place); };
  SortIfNeeded(&stack_frames_, [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const auto end = std::unique(stack_frames_.begin(), stack_frames_.end(),
                               [&](const auto& a, const auto& b) { return key(a) == key(b); });
  stack_frames_.erase(end, stack_frames_.end());
  Stacks& stacks = model_->stacks;
  stacks.frames.reserve(stack_frames_.size());
  std::vector<uint32_t> numbers;
  // Copied rows are freed, because a trace may consist only of them.
  for (; !stack_frames_.empty(); stack_frames_.pop_front()) {
    const FrameRow& row = stack_frames_.front();
    if (numbers.empty() || numbers.back() != row.stack) {
      numbers.push_back(row.stack);
      stacks.first.push_back(static_cast<uint32_t>(stacks.frames.size()));
    }
    stacks.frames.push_back(row.frame);
  }
  stacks.first.push_back(static_cast<uint32_t>(stacks.frames.size()));
  const auto call_key = [](const CallRow& row) { return std::tie(row.correlation, row.time_ns); };
  SortIfNeeded(&call_stacks_,
               [&](const auto& a, const auto& b) { return call_key(a) < call_key(b); });
  const ApiCalls& api = model_->api;
  for (size_t call = 0; call < api.size(); ++call) {
    const CallRow wanted = {api.correlation[call], api.begin_ns[call], 0};
    const auto row = std::lower_bound(
        call_stacks_.begin(), call_stacks_.end(), wanted,
        [&](const CallRow& a, const CallRow& b) { return call_key(a) < call_key(b); });
    uint32_t stack = Stacks::kNoStack;
    if (row != call_stacks_.end() && call_key(*row) == call_key(wanted)) {
      const auto number = std::lower_bound(numbers.begin(), numbers.end(), row->stack);
      if (number != numbers.end() && *number == row->stack) {
        stack = static_cast<uint32_t>(number - numbers.begin());
      }
    }
    stacks.of_call.push_back(stack);
  }
  stack_frames_ = {};
  call_stacks_ = {};
}

}  // namespace acceltrace::model
