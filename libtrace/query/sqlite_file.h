// SPDX-License-Identifier: Apache-2.0
//
// Writes a trace as an SQLite file with the tables of `acceltrace query`.
#ifndef LIBTRACE_QUERY_SQLITE_FILE_H_
#define LIBTRACE_QUERY_SQLITE_FILE_H_

#include "libtrace/model/model.h"
#include "libtrace/stream/output.h"
#include "libtrace/stream/result.h"

namespace acceltrace::query {

// output: must be a file that is not a stream. It gets its name if all succeeds.
Status WriteSqliteFile(const model::Model& model, stream::Output* output);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_SQLITE_FILE_H_
