// SPDX-License-Identifier: Apache-2.0
//
// Writes a trace as an SQLite file with the tables of `acceltrace query`.
#ifndef LIBTRACE_QUERY_SQLITE_FILE_H_
#define LIBTRACE_QUERY_SQLITE_FILE_H_

#include "libtrace/base/output.h"
#include "libtrace/base/result.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::query {

// output: must be a file that is not a stream. It gets its name if all succeeds.
Status WriteSqliteFile(const model::Model& model, Output* output);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_SQLITE_FILE_H_
