// SPDX-License-Identifier: Apache-2.0
//
// Determines from a query which parts of a trace it needs.
#ifndef LIBTRACE_QUERY_NEEDS_H_
#define LIBTRACE_QUERY_NEEDS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "libtrace/model/tables/wanted.h"
#include "libtrace/query/sql.h"

namespace acceltrace::query {

struct Needs {
  Reads reads;
  // It reads only rows of events, and nothing that depends on the whole trace: for a part of the
  // trace, only that part has to be loaded.
  bool events = false;
  // Set if it only reads commands, and only columns from these fields of proto::CommandBatch.
  std::optional<std::vector<uint32_t>> command_fields;
  // It only reads the table `api`.
  bool calls_only = false;
  // What has to be loaded; nullopt means all.
  std::optional<model::Wanted> wanted;
  // Set if it only looks at rows of one table of which an instant is in this range, on the host's
  // clock.
  std::optional<Times> times;
};

// Returns an empty result for what is not a query.
Needs NeedsOf(std::string_view sql);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_NEEDS_H_
