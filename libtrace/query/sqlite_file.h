// SPDX-License-Identifier: Apache-2.0
//
// A trace as an SQLite file: the tables of `acceltrace query`, stored.
#ifndef LIBTRACE_QUERY_SQLITE_FILE_H_
#define LIBTRACE_QUERY_SQLITE_FILE_H_

#include "libtrace/model/model.h"
#include "libtrace/stream/output.h"
#include "libtrace/stream/result.h"

namespace acceltrace::query {

// output: of no stream. It has its name when all went well.
Status WriteSqliteFile(const model::Model& model, stream::Output* output);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_SQLITE_FILE_H_
