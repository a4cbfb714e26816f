// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/checks/once.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "libtrace/analysis/checks/laws.h"
#include "libtrace/analysis/rows/row_loops.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::analysis {
namespace {

// Finds rows that are equal to another one in all columns. They are sorted by the first column, so
// that equal rows are close to each other.
template <typename Describe, typename First, typename... Others>
void CheckRows(const Describe& describe, Tally* once, const First& first, const Others&... others) {
  // Compares rows by the first column in which they differ.
  const auto compare = [&](uint32_t a, uint32_t b) {
    int order = 0;
    const auto by = [&](const auto& column) {
      const auto x = column[a], y = column[b];
      order = x < y ? -1 : y < x ? 1 : 0;
      return order == 0;
    };
    (void)(by(others) && ...);
    return order;
  };
  const auto hash = [&](uint32_t row) {
    uint64_t sum = 0;
    const auto add = [&](const auto& column) {
      sum = (std::rotl(sum, 29) ^ static_cast<uint64_t>(column[row])) * 0x9e3779b97f4a7c15;
    };
    (add(others), ...);
    return sum;
  };
  // Stores hashes instead of the rows, which are large: in a damaged trace all of them may have the
  // same time.
  std::vector<std::pair<uint64_t, uint32_t>> rows;
  const auto check = [&](size_t begin, size_t end) {
    rows.clear();
    rows.reserve(end - begin);
    for (size_t i = begin; i < end; ++i) {
      const auto row = static_cast<uint32_t>(i);
      rows.emplace_back(hash(row), row);
    }
    std::sort(rows.begin(), rows.end());
    for (size_t i = 0; i < rows.size();) {
      size_t next = i + 1;
      bool alike = true;
      for (; next < rows.size() && rows[next].first == rows[i].first; ++next) {
        alike &= compare(rows[next].second, rows[next - 1].second) == 0;
      }
      const auto from = rows.begin() + static_cast<ptrdiff_t>(i);
      const auto to = rows.begin() + static_cast<ptrdiff_t>(next);
      if (!alike) {
        std::sort(from, to,
                  [&](const auto& a, const auto& b) { return compare(a.second, b.second) < 0; });
      }
      for (auto row = from; row != to; ++row) {
        const bool once_only = row == from || compare(row->second, std::prev(row)->second) != 0;
        once->Holds(once_only, [&] { return describe(begin); });
      }
      i = next;
    }
  };
  uint64_t alone = 0;  // number of rows that are unique in the first column, as most are
  size_t begin = 0;    // first of the rows that are equal in it
  const auto end_at = [&](size_t end) {
    end - begin == 1 ? void(++alone) : check(begin, end);
    begin = end;
  };
  using T = typename First::value_type;
  static_assert(sizeof(T) == sizeof(uint64_t));
  model::EachChunk(
      [&](size_t from, size_t count, const T* values) {
        if (from > 0 && AreApart(reinterpret_cast<const uint64_t*>(values), count)) {
          end_at(from);
          alone += count - 1, begin += count - 1;
          return true;
        }
        for (size_t i = from == 0 ? 1 : 0; i < count; ++i) {
          if (values[i] != *(values + i - 1)) end_at(from + i);
        }
        return true;
      },
      first);
  end_at(first.size());
  once->Hold(alone);
}

// Combines the values of a snapshot to one number. A clock that is set back shows the same ticks
// twice, so snapshots are only duplicates if all of their counters are equal.
class Values {
 public:
  using value_type = uint64_t;

  explicit Values(const model::CounterSamples& samples) : samples_(samples) {}

  uint64_t operator[](size_t row) const {
    uint64_t sum = 0;
    for (const auto& entry : samples_.sets[samples_.set[row]]) {
      sum = (std::rotl(sum, 29) ^ samples_.ValueAt(row, entry)) * 0x9e3779b97f4a7c15;
    }
    return sum;
  }

 private:
  const model::CounterSamples& samples_;
};

}  // namespace

Law OnceLaw(const model::Model& model) {
  Tally once("rows_once", "each event is in the trace once");
  const model::ApiCalls& api = model.api;
  CheckRows([&](size_t i) { return fmt::format("a call at {} ns", api.begin_ns[i]); }, &once,
            api.begin_ns, api.end_ns, api.pid, api.tid, api.correlation, api.name);
  const model::Ranges& ranges = model.ranges;
  CheckRows([&](size_t i) { return fmt::format("a range or mark at {} ns", ranges.begin_ns[i]); },
            &once, ranges.begin_ns, ranges.end_ns, ranges.pid, ranges.tid, ranges.depth,
            ranges.mark, ranges.name);
  const model::HostEvents& host = model.host;
  once.Hold(host.alone);
  CheckRows([&](size_t i) { return fmt::format("an event of the host at {} ns", host.time_ns[i]); },
            &once, host.time_ns, host.kind, host.cpu, host.tid, host.device, host.context,
            host.queue, host.job, host.sequence, host.correlation, host.arg0, host.arg1);
  for (const model::Device& device : model.devices) {
    const model::CounterSamples& samples = device.counters;
    CheckRows(
        [&](size_t i) {
          return fmt::format("a counter snapshot of {} at {} ticks", device.about.name(),
                             samples.time.ticks[i]);
        },
        &once, samples.time.ticks, samples.host_before_ns, samples.host_after_ns, samples.set,
        Values(samples));
  }
  return once.Done();
}

}  // namespace acceltrace::analysis
