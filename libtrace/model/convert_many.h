// SPDX-License-Identifier: Apache-2.0
//
// Rows of device times at once, of devices whose clock needs no windows. Internal.
#ifndef LIBTRACE_MODEL_CONVERT_MANY_H_
#define LIBTRACE_MODEL_CONVERT_MANY_H_

#include <span>

#include "libtrace/model/decode.h"
#include "libtrace/model/model.h"

namespace acceltrace::model {

// Rows [first, first + rows) of one device, which lie in the chunks.
// times: fetched, start, end, head.
void PlaceCommands(const clock::Map& clock, size_t first, size_t rows,
                   std::span<DeviceTimesChunk> times);
// times: some of a job's, at last completion, interrupt.
void PlaceJobs(const clock::Map& clock, const Column<uint8_t>& has_irq, size_t first, size_t rows,
               std::span<DeviceTimesChunk> times);

// Commands among the rows of one chunk whose stalls are longer than they took: no device's record,
// since stalls are parts of that time. times: as of PlaceCommands().
uint64_t LongStalls(const Model& model, size_t first, size_t rows,
                    std::span<const DeviceTimesChunk> times);
// Of rows of these devices, whose stalls begin there (Commands::first_stall; kNoRow: not asked
// for) and which took so long.
uint64_t LongStalls(const Model& model, std::span<const uint32_t> devices, const uint32_t* places,
                    const uint64_t* held_ticks);

// Of rows with `count` stalls each, one after the other, how many have more of them than they took.
uint64_t CountLonger(const uint64_t* stalls, size_t count, const uint64_t* held, size_t rows);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_CONVERT_MANY_H_
