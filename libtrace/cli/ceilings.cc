// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/ceilings.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

namespace acceltrace::cli {
namespace {

using Json = nlohmann::json;

constexpr char kSchema[] = "acceltrace-ceilings/1";
constexpr size_t kMaxBytes = 1 << 20, kMaxRows = 64, kMaxName = 256;

std::optional<std::string> Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  auto text = found->get<std::string>();
  if (text.size() > kMaxName) return std::nullopt;
  return text;
}

// Returns what is wrong, or an empty string.
std::string ParseDevice(const Json& json, analysis::MeasuredCeilings* device) {
  if (!json.is_object()) return "a device is not an object";
  const auto name = Text(json, "device"), address = Text(json, "address");
  if (!name && !address) return "a device has neither a \"device\" nor an \"address\"";
  device->device = name.value_or(""), device->address = address.value_or("");
  const auto rows = json.find("ceilings");
  if (rows == json.end() || !rows->is_array() || rows->size() > kMaxRows) {
    return fmt::format("a device needs \"ceilings\", a list of up to {}", kMaxRows);
  }
  for (const Json& row : *rows) {
    if (!row.is_object()) return "a ceiling is not an object";
    const auto resource = Text(row, "resource"), unit = Text(row, "unit");
    const auto per_s = row.find("per_s");
    if (!resource || !unit || per_s == row.end() || !per_s->is_number()) {
      return "a ceiling needs \"resource\" and \"unit\", texts, and \"per_s\", a number";
    }
    const auto value = per_s->get<double>();
    if (!std::isfinite(value) || value <= 0) {
      return fmt::format("\"per_s\" of {} is not above 0", *resource);
    }
    device->ceilings.push_back({*resource, *unit, value, true});
  }
  return "";
}

}  // namespace

void AddCeilings(Verb* verb, std::string* file) {
  verb->AddOption("--ceilings", file,
                  "what the device reaches at best, as axl-calibrate --json writes it; else its "
                  "own figures are the ceilings of the roofline")
      .TypeName("FILE");
}

Result<std::vector<analysis::MeasuredCeilings>> ReadCeilings(const std::string& file) {
  std::vector<analysis::MeasuredCeilings> devices;
  if (file.empty()) return devices;
  const auto wrong = [&](const std::string& what) {
    return Status::Error(
        fmt::format("{}: {}; write one with axl-calibrate --json, see docs/json.md", file, what));
  };
  std::ifstream stream(file, std::ios::binary);
  std::string text(kMaxBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.eof() || stream.gcount() == 0)
    return wrong("cannot be read, or is larger than 1 MiB");
  text.resize(static_cast<size_t>(stream.gcount()));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || Text(json, "schema") != kSchema) {
    return wrong(fmt::format("not JSON with \"schema\": \"{}\"", kSchema));
  }
  const auto list = json.find("devices");
  if (list == json.end() || !list->is_array() || list->size() > kMaxRows) {
    return wrong(fmt::format("needs \"devices\", a list of up to {}", kMaxRows));
  }
  for (const Json& device : *list) {
    if (const std::string what = ParseDevice(device, &devices.emplace_back()); !what.empty()) {
      return wrong(what);
    }
  }
  return devices;
}

}  // namespace acceltrace::cli
