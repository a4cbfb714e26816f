// SPDX-License-Identifier: Apache-2.0
//
// What the running kernel says of a tracepoint, and where a provider's fields lie in its records.
#ifndef LIBTRACE_PROVIDER_TRACEFS_H_
#define LIBTRACE_PROVIDER_TRACEFS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/provider/provider.h"

namespace acceltrace::provider {

struct TraceField {
  std::string name;
  uint32_t offset = 0, size = 0;
  bool text = false;       // an array of char
  bool elsewhere = false;  // __data_loc: where it is stands here
};

struct TraceFormat {
  uint32_t id = 0;
  std::vector<TraceField> fields;
  const TraceField* Find(std::string_view name) const;
};

// A `format` file of tracefs. Errors: it is none.
Result<TraceFormat> ParseFormat(std::string_view text);

// Where a number lies in a record: 1, 2, 4 or 8 bytes. A text is compared by its first 16 bytes.
struct Place {
  uint32_t offset = 0, size = 0;
  bool text = false, elsewhere = false;
};

// The same role with places instead of names.
struct PlacedCondition {
  Place place;
  const Condition* condition = nullptr;
};
struct Placed {
  uint32_t id = 0;
  std::vector<PlacedCondition> where;
  std::optional<Place> queue, job, opcode, status, waits_for, waits_for_queue, bytes;
};

// Errors: a field that is not there, or that is no number.
Result<Placed> PlaceFields(const Tracepoint& tracepoint, const TraceFormat& format);

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_TRACEFS_H_
