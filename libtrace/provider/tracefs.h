// SPDX-License-Identifier: Apache-2.0
//
// Parses the running kernel's description of a tracepoint, and locates a provider's fields in its
// records.
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
  bool elsewhere = false;  // __data_loc: the field has the position of the text
};

struct TraceFormat {
  uint32_t id = 0;
  std::vector<TraceField> fields;
  const TraceField* Find(std::string_view name) const;
};

// Parses a `format` file of tracefs.
Result<TraceFormat> ParseFormat(std::string_view text);

// The position of a field in a record. A number has 1, 2, 4 or 8 bytes; a text is compared by its
// first 16 bytes.
struct Place {
  uint32_t offset = 0, size = 0;
  bool text = false, elsewhere = false;
};

// A tracepoint's conditions and fields with positions instead of names.
struct PlacedCondition {
  Place place;
  const Condition* condition = nullptr;
};
struct Placed {
  uint32_t id = 0;
  std::vector<PlacedCondition> where;
  std::optional<Place> queue, job, opcode, status, waits_for, waits_for_queue, bytes;
};

// Returns an error if a field does not exist or is not a number.
Result<Placed> PlaceFields(const Tracepoint& tracepoint, const TraceFormat& format);

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_TRACEFS_H_
