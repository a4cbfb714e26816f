// SPDX-License-Identifier: Apache-2.0
//
// Columns of a batch: differences and absent columns.
//
// Rules of trace.proto: a *_delta column holds differences, the first one against 0; a column of
// zeros may be absent; the first column of a batch is always present and determines the number of
// rows. Sums wrap modulo 2^64 so that no input causes undefined behaviour.
#ifndef LIBTRACE_STREAM_COLUMNS_COLUMNS_H_
#define LIBTRACE_STREAM_COLUMNS_COLUMNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::stream {

// Appends values to a *_delta column. Each column of each batch needs an encoder of its own.
class DeltaEncoder {
 public:
  // Works for signed times as well as for unsigned ticks and correlation ids.
  void Append(uint64_t value, google::protobuf::RepeatedField<int64_t>* column) {
    column->Add(static_cast<int64_t>(value - previous_));
    previous_ = value;
  }
  void Append(int64_t value, google::protobuf::RepeatedField<int64_t>* column) {
    Append(static_cast<uint64_t>(value), column);
  }

 private:
  uint64_t previous_ = 0;
};

// Reads a *_delta column row by row; an absent column reads as zeros.
class DeltaDecoder {
 public:
  explicit DeltaDecoder(const google::protobuf::RepeatedField<int64_t>& column)
      : values_(column.data()), left_(column.size()) {}

  uint64_t NextUnsigned() {
    if (left_ > 0) {
      previous_ += static_cast<uint64_t>(*values_++);
      --left_;
    }
    return previous_;
  }
  int64_t Next() { return static_cast<int64_t>(NextUnsigned()); }

 private:
  const int64_t* values_;
  int left_;
  uint64_t previous_ = 0;
};

// Returns the value of a plain column in a row, or 0 if the column is absent.
template <typename T>
T ColumnAt(const google::protobuf::RepeatedField<T>& column, size_t row) {
  return row < static_cast<size_t>(column.size()) ? column.Get(static_cast<int>(row)) : T{0};
}

// Decodes a whole *_delta column of `rows` values. T: int64_t or uint64_t.
template <typename T>
std::vector<T> DecodeDeltas(const google::protobuf::RepeatedField<int64_t>& column, size_t rows) {
  std::vector<T> values(rows);
  DeltaDecoder decoder(column);
  for (T& value : values) value = static_cast<T>(decoder.NextUnsigned());
  return values;
}

// Decodes a whole plain column of `rows` values.
template <typename T>
std::vector<T> DecodeColumn(const google::protobuf::RepeatedField<T>& column, size_t rows) {
  std::vector<T> values(column.begin(), column.begin() + std::min<size_t>(column.size(), rows));
  values.resize(rows);
  return values;
}

// Returns the number of rows of a batch packet, for counters the number of snapshots, or 0 for
// packets that are not batches.
size_t Rows(const proto::Packet& packet);

// Empties each column that only holds zeros, except for those that determine the shape of a batch.
// The encoder calls it for each packet.
void DropZeroColumns(proto::Packet* packet);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_COLUMNS_H_
