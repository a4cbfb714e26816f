// SPDX-License-Identifier: Apache-2.0
//
// Columns of a batch into columns of a table. Internal.
#ifndef LIBTRACE_MODEL_DECODE_COLUMNS_H_
#define LIBTRACE_MODEL_DECODE_COLUMNS_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "libtrace/model/column.h"
#include "libtrace/stream/columns.h"

namespace acceltrace::model {

template <typename To, typename From>
void Append(Column<To>* to, const google::protobuf::RepeatedField<From>& column, size_t rows) {
  const size_t have = std::min<size_t>(column.size(), rows);
  to->Append(column.begin(), column.begin() + have);
  to->resize(to->size() + rows - have);
}

template <typename To>
void AppendDeltas(Column<To>* to, const google::protobuf::RepeatedField<int64_t>& column,
                  size_t rows) {
  stream::DeltaDecoder decoder(column);
  for (size_t i = 0; i < rows; ++i) to->push_back(static_cast<To>(decoder.NextUnsigned()));
}

// Ends from begins and durations; a duration that leaves the range of time ends there.
inline void AppendEnds(Column<int64_t>* ends, const Column<int64_t>& begins,
                       const google::protobuf::RepeatedField<uint64_t>& durations, size_t rows) {
  const size_t first = begins.size() - rows;
  for (size_t i = 0; i < rows; ++i) {
    int64_t end = 0;
    if (__builtin_add_overflow(begins[first + i], stream::ColumnAt(durations, i), &end)) {
      end = std::numeric_limits<int64_t>::max();
    }
    ends->push_back(end);
  }
}

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_DECODE_COLUMNS_H_
