// SPDX-License-Identifier: Apache-2.0
//
// The commands of each job. Internal.
#ifndef LIBTRACE_MODEL_TABLES_COMMAND_RUNS_H_
#define LIBTRACE_MODEL_TABLES_COMMAND_RUNS_H_

#include <cstddef>
#include <cstdint>

#include "libtrace/model/tables/host_jobs.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::model {

// Calls each(first row, JobKey) for each run of commands of one job until it returns false. Returns
// true if it never did. The commands must be sorted, so that each job has one run, and keys rise.
template <typename Each>
bool EachCommandRun(const Commands& commands, const Each& each) {
  return EachChunk(
      [&](size_t first, size_t rows, const uint32_t* device, const uint32_t* job) {
        uint32_t begins[Column<uint32_t>::kRows];
        begins[0] = 0;
        size_t count = first == 0 ? 1 : 0;
        for (size_t i = count; i < rows; ++i) {
          begins[count] = static_cast<uint32_t>(i);
          count +=
              static_cast<size_t>((job[i] ^ *(job + i - 1)) | (device[i] ^ *(device + i - 1))) != 0;
        }
        for (size_t b = 0; b < count; ++b) {
          if (!each(first + begins[b], JobKey(device[begins[b]], job[begins[b]]))) return false;
        }
        return true;
      },
      commands.device, commands.job);
}

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_COMMAND_RUNS_H_
