// SPDX-License-Identifier: Apache-2.0
//
// Taking rows out of a model. Internal: select.h decides which.
#ifndef LIBTRACE_MODEL_CUT_H_
#define LIBTRACE_MODEL_CUT_H_

#include <cstdint>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::model {

// Which rows stay: a byte for each. Commands without their job stay alone.
struct Kept {
  using Mask = std::vector<uint8_t>;
  Mask devices, api, ranges, host, jobs, commands, device_events, others, process_events, runs,
      groups;
  std::vector<Mask> counters;  // by device
};

// References between tables follow. Losses of devices that go, go.
void Remove(const Kept& kept, Model* model);

// Columns that are not wanted are empty from then on.
void Forget(const Wanted& wanted, Model* model);

// Rows of all tables that Remove() may shorten.
uint64_t CountRows(const Model& model);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_CUT_H_
