// SPDX-License-Identifier: Apache-2.0
//
// Any text is a provider, or one line that names file and line; the same of a format file, whose
// fields then lie where the provider's rules allow.
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

// The text before a line "---" is the provider, what follows a tracepoint's format.
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
