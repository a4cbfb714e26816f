// SPDX-License-Identifier: Apache-2.0
#include "libtrace/provider/pmu.h"

#include <charconv>
#include <cmath>

#include "libtrace/provider/words.h"

namespace acceltrace::provider {
namespace {

constexpr uint32_t kMaxCpus = 8192;

bool ParseBit(std::string_view text, uint32_t* bit) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *bit);
  return error == std::errc() && end == text.data() + text.size() && *bit < 64;
}

// Places the bits of a value, lowest first, where a format such as config1:0-7,32-35 says.
bool Place(std::string_view format, uint64_t value, PmuEvent* event) {
  const size_t colon = format.find(':');
  const std::string_view word = format.substr(0, colon);
  const size_t index = word == "config" ? 0 : word == "config1" ? 1 : word == "config2" ? 2 : 3;
  if (colon == std::string_view::npos || index == event->config.size()) return false;
  for (const std::string_view part : Words(format.substr(colon + 1), ",")) {
    const size_t dash = part.find('-');
    uint32_t first = 0, last = 0;
    if (!ParseBit(part.substr(0, dash), &first)) return false;
    last = first;
    if (dash != std::string_view::npos && !ParseBit(part.substr(dash + 1), &last)) return false;
    for (uint32_t bit = first; bit <= last; ++bit, value >>= 1) {
      event->config[index] |= (value & 1) << bit;
    }
  }
  return true;
}

}  // namespace

std::vector<uint32_t> ParseList(std::string_view text) {
  std::vector<uint32_t> numbers;
  for (const std::string_view part : Words(text, ", \t\n")) {
    const size_t dash = part.find('-');
    const auto first = ParseNumber(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseNumber(part.substr(dash + 1));
    if (!first.ok() || !last.ok() || *last >= kMaxCpus) return {};
    for (uint64_t n = *first; n <= *last; ++n) numbers.push_back(static_cast<uint32_t>(n));
  }
  return numbers;
}

Result<PmuEvent> FindPmuEvent(const std::string& event, const std::string& root) {
  const size_t slash = event.find('/');
  const std::string name = event.substr(0, slash);
  const std::string what = event.substr(slash + 1, event.size() - slash - 2);
  const std::string pmu = root + "/sys/bus/event_source/devices/" + name;
  PmuEvent found;
  const auto type = ParseNumber(FirstLine(pmu + "/type"));
  if (!type.ok() || *type > UINT32_MAX) {
    return Status::Error("no PMU " + name + ": its driver is not loaded, or this machine has none");
  }
  found.type = static_cast<uint32_t>(*type);
  const std::string terms = FirstLine(pmu + "/events/" + what);
  if (terms.empty()) return Status::Error("no event " + what + " in " + pmu + "/events");
  for (const std::string_view term : Words(terms, ",")) {
    const size_t equals = term.find('=');
    const std::string key(term.substr(0, equals));
    // A term without a value has the value 1.
    const auto value = equals == std::string_view::npos ? Result<uint64_t>(uint64_t{1})
                                                        : ParseNumber(term.substr(equals + 1));
    if (!IsName(key, "-.") || !value.ok() ||
        !Place(FirstLine(pmu + "/format/" + key), *value, &found)) {
      return Status::Error(event + " cannot be understood: " + Quoted(term) + " of " + pmu);
    }
  }
  const std::string scale = FirstLine(pmu + "/events/" + what + ".scale");
  if (!scale.empty()) {
    const auto [end, error] =
        std::from_chars(scale.data(), scale.data() + scale.size(), found.scale);
    if (error != std::errc() || !std::isfinite(found.scale) || found.scale <= 0) {
      return Status::Error(event + " has a scale that is no number: " + Quoted(scale));
    }
  }
  std::string cpus = FirstLine(pmu + "/cpumask");
  if (cpus.empty()) cpus = FirstLine(pmu + "/cpus");
  found.cpus = ParseList(cpus);
  return found;
}

}  // namespace acceltrace::provider
