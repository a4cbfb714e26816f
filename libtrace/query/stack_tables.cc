// SPDX-License-Identifier: Apache-2.0
//
// Stacks of API calls, as tables. Frames are only symbolised when a name is read.
#include <algorithm>

#include "libtrace/analysis/usage/call_sites.h"
#include "libtrace/query/table_builder.h"

namespace acceltrace::query {
namespace {

using Type = PlainTable::Type;
using Names = Lazy<analysis::StackNames>;

// Returns the stack of a frame.
size_t StackOf(const model::Stacks& stacks, size_t frame) {
  const auto next = std::upper_bound(stacks.first.begin(), stacks.first.end(), frame);
  return static_cast<size_t>(next - stacks.first.begin()) - 1;
}

PlainTable StackFrames(const model::Model& model, const Names& names) {
  const model::Stacks& stacks = model.stacks;
  const auto place = [&stacks](size_t row) { return row - stacks.first[StackOf(stacks, row)]; };
  TableBuilder table("stack_frames", stacks.frames.size());
  table
      .Add("stack", Type::kInteger,
           [&stacks](size_t row) -> Cell { return uint64_t{StackOf(stacks, row)}; })
      .Add("place", Type::kInteger, [place](size_t row) -> Cell { return uint64_t{place(row)}; })
      .Text("function", [names](size_t row) -> const std::string& { return names->Of(row); })
      .Text("object",
            [&](size_t row) -> const std::string& {
              return model.strings.Get(stacks.frames[row].object);
            })
      .Text("build_id",
            [&](size_t row) -> const std::string& {
              return model.strings.Get(stacks.frames[row].build_id);
            })
      .Add("offset", Type::kInteger, [&](size_t row) -> Cell { return stacks.frames[row].offset; })
      .Add("is_site", Type::kInteger, [&stacks](size_t row) -> Cell {
        return uint64_t{row == analysis::SiteOf(stacks, StackOf(stacks, row))};
      });
  return table.Done();
}

PlainTable CallStacks(const model::Model& model, const Names& names) {
  const model::Stacks& stacks = model.stacks;
  const Lazy<std::vector<uint32_t>> calls([&stacks] {
    std::vector<uint32_t> known;
    for (uint32_t call = 0; call < stacks.of_call.size(); ++call) {
      if (stacks.of_call[call] != model::Stacks::kNoStack) known.push_back(call);
    }
    return known;
  });
  TableBuilder table("call_stacks", [calls] { return calls->size(); });
  table
      .Add("correlation", Type::kInteger,
           [calls, &model](size_t row) -> Cell {
             return uint64_t{model.api.correlation[(*calls)[row]]};
           })
      .Add("stack", Type::kInteger,
           [calls, &stacks](size_t row) -> Cell { return uint64_t{stacks.of_call[(*calls)[row]]}; })
      .Text("site", [calls, names, &stacks](size_t row) -> const std::string& {
        return names->Of(analysis::SiteOf(stacks, stacks.of_call[(*calls)[row]]));
      });
  return table.Done();
}

}  // namespace

std::vector<PlainTable> StackTables(const model::Model& model) {
  const Names names([&model] {
    symbols::FrameNames files;
    return analysis::NameStacks(model, &files);
  });
  std::vector<PlainTable> tables;
  tables.push_back(StackFrames(model, names));
  tables.push_back(CallStacks(model, names));
  return tables;
}

}  // namespace acceltrace::query
