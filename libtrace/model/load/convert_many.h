// SPDX-License-Identifier: Apache-2.0
//
// Converts many rows at once for devices whose clock needs no windows. Internal.
#ifndef LIBTRACE_MODEL_LOAD_CONVERT_MANY_H_
#define LIBTRACE_MODEL_LOAD_CONVERT_MANY_H_

#include <span>

#include "libtrace/model/load/decode.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// Converts rows [first, first + rows) of one device, which must be in the chunks. times: fetched,
// start, end, head.
void PlaceCommands(const clock::Map& clock, size_t first, size_t rows,
                   std::span<DeviceTimesChunk> times);
// times: some of a job's times, ending with last completion, interrupt.
void PlaceJobs(const clock::Map& clock, const Column<uint8_t>& has_irq, size_t first, size_t rows,
               std::span<DeviceTimesChunk> times);

// Counts commands in the rows of one chunk whose stalls exceed their duration: no device writes
// such a record, because stalls are parts of that time. times: as for PlaceCommands().
uint64_t LongStalls(const Model& model, size_t first, size_t rows,
                    std::span<const DeviceTimesChunk> times);
// Counts rows of these devices. places: where their stalls begin (Commands::first_stall), or kNoRow
// for rows to skip; held_ticks: their durations.
uint64_t LongStalls(const Model& model, std::span<const uint32_t> devices, const uint32_t* places,
                    const uint64_t* held_ticks);

// Counts rows whose `count` consecutive stalls add up to more than their duration.
uint64_t CountLonger(const uint64_t* stalls, size_t count, const uint64_t* held, size_t rows);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_CONVERT_MANY_H_
