// SPDX-License-Identifier: Apache-2.0
//
// Parses any text as a provider, or gives a one-line error that names file and line. Does the same
// with a format file, in which the provider's fields are then located.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "libtrace/provider/provider.h"
#include "libtrace/provider/tracefs.h"

namespace {

using namespace acceltrace;

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

// The text before a line "---" is the provider, the text after it the format of a tracepoint.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find("\n---\n");
  const auto parsed = provider::Parse(text.substr(0, cut), "f.provider");
  if (!parsed.ok()) {
    Require(parsed.message().rfind("f.provider:", 0) == 0);
    Require(parsed.message().find('\n') == std::string::npos);
    Require(parsed.message().size() < 1024);
    return 0;
  }
  Require(!parsed->name.empty());
  if (cut == std::string_view::npos) return 0;
  const auto format = provider::ParseFormat(text.substr(cut + 5));
  if (!format.ok()) return 0;
  for (const provider::Tracepoint& point : parsed->tracepoints) {
    const auto placed = provider::PlaceFields(point, *format);
    if (!placed.ok()) continue;
    Require(placed->job.has_value());
    for (const auto& place : {placed->job, placed->queue, placed->bytes}) {
      if (!place) continue;
      Require(place->size == 1 || place->size == 2 || place->size == 4 || place->size == 8);
      Require(place->offset <= 1 << 17);
    }
  }
  return 0;
}
