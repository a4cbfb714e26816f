// SPDX-License-Identifier: Apache-2.0
//
// Options of recordings that have several files.
#include <charconv>

#include "daemon/base/quantities.h"
#include "daemon/options.h"
#include "libtrace/stream/part_name.h"

namespace acceltrace::daemon {
namespace {

Status Bad(std::string_view option, std::string_view value, const std::string& wanted) {
  return Status::Error(std::string(option) + " " + std::string(value) + ": " + wanted);
}

}  // namespace

Status ParseFileOption(std::string_view option, std::string_view value, RecordOptions* options,
                       bool* known) {
  *known = true;
  if (option == "--rotate-size") {
    const auto bytes = ParseBytes(value);
    if (!bytes || *bytes < kMinRotateBytes) return Bad(option, value, "not a size of at least 1M");
    options->rotate_bytes = *bytes;
  } else if (option == "--rotate-time") {
    const auto time_ns = ParseDurationNs(value);
    if (!time_ns || *time_ns < kMinRotateNs) {
      return Bad(option, value, "not a duration of at least 1s");
    }
    options->rotate_ns = *time_ns;
  } else if (option == "--trigger") {
    auto rule = ParseTrigger(value);
    if (!rule.ok()) return rule.status();
    if (options->triggers.size() >= kMaxTriggers) {
      return Bad(option, value, "more than " + std::to_string(kMaxTriggers) + " rules");
    }
    options->triggers.push_back(std::move(rule).value());
  } else if (option == "--keep") {
    uint32_t files = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), files);
    if (error != std::errc() || end != value.data() + value.size() || files < 1 ||
        files > kMaxFiles) {
      return Bad(option, value, "not a number of files from 1 to " + std::to_string(kMaxFiles));
    }
    options->keep = files;
  } else {
    *known = false;
  }
  return {};
}

Status CheckFileOptions(const RecordOptions& options) {
  const bool rotates = options.rotate_bytes != 0 || options.rotate_ns != 0;
  if (rotates && options.ring_bytes != 0) {
    return Status::Error(
        "a flight recorder (--ring) has one file: leave out --rotate-size and --rotate-time");
  }
  if (!options.triggers.empty() && options.ring_bytes == 0) {
    return Status::Error("--trigger saves a flight recorder: give --ring SIZE, too");
  }
  if (options.keep != 0 && !rotates && options.triggers.empty()) {
    return Status::Error("--keep is for --rotate-size, --rotate-time and --trigger");
  }
  if (options.keep == 1 && rotates) {
    return Status::Error("--keep 1: a rotation needs two files at least");
  }
  return {};
}

uint32_t MoreFiles(const RecordOptions& options) {
  if (!options.triggers.empty()) return options.keep != 0 ? options.keep : kTriggeredFiles;
  if (options.rotate_bytes == 0 && options.rotate_ns == 0) return 0;
  return (options.keep != 0 ? options.keep : kRotatedFiles) - 1;
}

std::string MoreFileName(const RecordOptions& options, const std::string& output, uint32_t number) {
  if (!options.triggers.empty()) {
    return stream::PartName(output, "trigger-" + std::to_string(number + 1));
  }
  return stream::PartName(output, std::to_string(number + 2));
}

}  // namespace acceltrace::daemon
