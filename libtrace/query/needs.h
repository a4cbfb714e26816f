// SPDX-License-Identifier: Apache-2.0
//
// What of a trace a query needs, by what it reads.
#ifndef LIBTRACE_QUERY_NEEDS_H_
#define LIBTRACE_QUERY_NEEDS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "libtrace/model/wanted.h"
#include "libtrace/query/sql.h"

namespace acceltrace::query {

struct Needs {
  Reads reads;
  // Rows of events alone, and nothing that depends on the whole trace: of a part of it no more
  // than that part has to be looked at.
  bool events = false;
  // Of the commands' columns only those of these fields of proto::CommandBatch, and no other table.
  std::optional<std::vector<uint32_t>> command_fields;
  // Of all tables `api` alone.
  bool calls_only = false;
  // What it takes; none: all.
  std::optional<model::Wanted> wanted;
  // Of its only table it looks at rows alone of which an instant lies here, on the host's clock.
  std::optional<Times> times;
};

// Of what is no query: nothing.
Needs NeedsOf(std::string_view sql);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_NEEDS_H_
