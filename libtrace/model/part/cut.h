// SPDX-License-Identifier: Apache-2.0
//
// Removes rows from a model; select.h decides which ones. Internal.
#ifndef LIBTRACE_MODEL_PART_CUT_H_
#define LIBTRACE_MODEL_PART_CUT_H_

#include <cstdint>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// The rows to keep, as a byte for each. Commands must be kept without their jobs only if they have
// none.
struct Kept {
  using Mask = std::vector<uint8_t>;
  Mask devices, api, ranges, host, jobs, commands, device_events, others, process_events, runs,
      groups;
  std::vector<Mask> counters;  // by device
};

// Also updates references between tables, and removes the losses of devices that are removed.
void Remove(const Kept& kept, Model* model);

// Empties columns that are not wanted.
void Forget(const Wanted& wanted, Model* model);

// Counts the rows of all tables that Remove() may shorten.
uint64_t CountRows(const Model& model);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_PART_CUT_H_
