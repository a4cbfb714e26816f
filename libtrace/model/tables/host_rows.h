// SPDX-License-Identifier: Apache-2.0
//
// Host events as arrays, some rows at a time. Internal.
#ifndef LIBTRACE_MODEL_TABLES_HOST_ROWS_H_
#define LIBTRACE_MODEL_TABLES_HOST_ROWS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "libtrace/model/tables/tables.h"

namespace acceltrace::model {

// Calls each(a's field, b's field) for all fields, in this order.
template <typename A, typename B, typename Each>
void EachHostField(A& a, B& b, const Each& each) {
  each(a.kind, b.kind), each(a.time_ns, b.time_ns);
  each(a.cpu, b.cpu), each(a.pid, b.pid), each(a.tid, b.tid);
  each(a.device, b.device), each(a.context, b.context);
  each(a.queue, b.queue), each(a.job, b.job);
  each(a.sequence, b.sequence), each(a.correlation, b.correlation);
  each(a.arg0, b.arg0), each(a.arg1, b.arg1);
}

// The first value of a field, followed by those of the next rows.
template <typename T>
using FirstValue = const T*;
using HostRows = HostEventFields<FirstValue>;

inline HostRows RowsFrom(HostRows rows, size_t first) {
  EachHostField(rows, rows, [first](auto& values, const auto&) { values += first; });
  return rows;
}

// A buffer for up to `kMost` rows.
template <size_t kMost>
class HostRoom {
  template <typename T>
  using Values = std::array<T, kMost>;

 public:
  // rows: at most kMost.
  HostRows Read(const HostEvents& host, size_t first, size_t rows) {
    HostRows at;
    EachHostField(host, fields, [&](const auto& column, auto& values) {
      column.Read(first, rows, values.data());
    });
    EachHostField(fields, at, [](const auto& values, auto& to) { to = values.data(); });
    return at;
  }

  HostEventFields<Values> fields;
};

// Calls each(first, rows, HostRows) for each chunk.
template <typename Each>
void EachHostChunk(const HostEvents& host, const Each& each) {
  constexpr size_t kRows = Column<uint8_t>::kRows;
  const auto room = std::make_unique_for_overwrite<HostRoom<kRows>>();
  for (size_t first = 0; first < host.size(); first += kRows) {
    const size_t rows = std::min(kRows, host.size() - first);
    each(first, rows, room->Read(host, first, rows));
  }
}

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_HOST_ROWS_H_
