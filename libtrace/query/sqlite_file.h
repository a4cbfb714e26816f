// SPDX-License-Identifier: Apache-2.0
//
// A trace as an SQLite file: the tables of `acceltrace query`, stored.
#ifndef LIBTRACE_QUERY_SQLITE_FILE_H_
#define LIBTRACE_QUERY_SQLITE_FILE_H_

#include <string>

#include "libtrace/model/model.h"
#include "libtrace/stream/result.h"

namespace acceltrace::query {

// Writes beside it and renames at the end: what was there before stays until then, and stays
// when something fails.
Status WriteSqliteFile(const model::Model& model, const std::string& path);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_SQLITE_FILE_H_
