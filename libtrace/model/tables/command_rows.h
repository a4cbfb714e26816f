// SPDX-License-Identifier: Apache-2.0
//
// The order of the rows of commands.
#ifndef LIBTRACE_MODEL_TABLES_COMMAND_ROWS_H_
#define LIBTRACE_MODEL_TABLES_COMMAND_ROWS_H_

#include <cstdint>

#include "libtrace/model/tables/tables.h"

namespace acceltrace::model {

// Sorts by (device, job, index). Returns the number of duplicates, which are removed.
uint64_t SortCommands(Commands* commands);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_COMMAND_ROWS_H_
