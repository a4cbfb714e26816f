// SPDX-License-Identifier: Apache-2.0
#include "libtrace/provider/words.h"

#include <algorithm>
#include <charconv>

namespace acceltrace::provider {
namespace {

constexpr uint32_t kMaxPartBytes = 8;
constexpr uint32_t kMaxPartOffset = 4096;
constexpr uint64_t kMaxArgument = 16;
constexpr size_t kMaxNameBytes = 64;

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

Status Bad(std::string_view text, const std::string& mend) {
  return Status::Error(Quoted(text) + " " + mend);
}

// Splits a text at the first `mark`. Returns false if there is none.
bool Split(std::string_view text, std::string_view mark, std::string_view* before,
           std::string_view* after) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return false;
  *before = Trim(text.substr(0, at));
  *after = Trim(text.substr(at + mark.size()));
  return true;
}

Result<uint32_t> ParseRelease(std::string_view text) {
  std::string_view major_text, minor_text;
  if (Split(text, ".", &major_text, &minor_text)) {
    const auto major = ParseNumber(major_text), minor = ParseNumber(minor_text);
    if (major.ok() && minor.ok() && *major < 1000 && *minor < 1000) {
      return static_cast<uint32_t>(*major << 16 | *minor);
    }
  }
  return Bad(text, "is no kernel version: write MAJOR.MINOR, as in 6.1");
}

}  // namespace

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> Words(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  size_t at = 0;
  while ((at = text.find_first_not_of(separators, at)) != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string Quoted(std::string_view text) {
  std::string shown = "'";
  for (const char c : text.substr(0, kMaxNameBytes)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + (text.size() > kMaxNameBytes ? "...'" : "'");
}

bool IsName(std::string_view text, std::string_view more) {
  if (text.empty() || text.size() > kMaxNameBytes) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return IsLetterOrDigit(c) || c == '_' || more.find(c) != std::string_view::npos;
  });
}

bool IsProviderName(std::string_view text) {
  return IsName(text, "-") && std::none_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || c == '_';
         });
}

Result<uint64_t> ParseNumber(std::string_view text) {
  const bool hex = text.substr(0, 2) == "0x";
  const std::string_view digits = hex ? text.substr(2) : text;
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error == std::errc::result_out_of_range) return Bad(text, "does not fit into 64 bits");
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return Bad(text, "is no number: write 12 or 0x0c");
  }
  return value;
}

Result<FieldRef> ParseField(std::string_view text) {
  FieldRef field;
  std::string_view name = text, part;
  if (Split(text, "[", &name, &part)) {
    std::string_view offset_text, size_text;
    if (part.empty() || part.back() != ']' ||
        !Split(part.substr(0, part.size() - 1), ":", &offset_text, &size_text)) {
      return Bad(text, "is no part of a field: write FIELD[OFFSET:SIZE], both in bytes");
    }
    const auto offset = ParseNumber(offset_text), size = ParseNumber(size_text);
    if (!offset.ok()) return offset.status();
    if (!size.ok()) return size.status();
    if (*size != 1 && *size != 2 && *size != 4 && *size != kMaxPartBytes) {
      return Bad(size_text, "is no size of a number: a part has 1, 2, 4 or 8 bytes");
    }
    if (*offset > kMaxPartOffset) return Bad(offset_text, "is beyond any field: at most 4096");
    field.part = true;
    field.offset = static_cast<uint32_t>(*offset);
    field.size = static_cast<uint32_t>(*size);
  }
  if (!IsName(name)) {
    return Bad(name, "is no field: write a name as the tracepoint's format file has it");
  }
  field.field = name;
  return field;
}

Result<Condition> ParseCondition(std::string_view text) {
  Condition condition;
  std::string_view field, value;
  condition.equal = !Split(text, "!=", &field, &value);
  if (condition.equal && !Split(text, "==", &field, &value)) {
    return Bad(text, "is no condition: write FIELD == VALUE or FIELD != VALUE");
  }
  if (!IsName(field)) {
    return Bad(field, "is no field: write a name as the tracepoint's format file has it");
  }
  condition.field = field;
  if (value.size() > 1 && value.front() == '"' && value.back() == '"') {
    const std::string_view text = value.substr(1, value.size() - 2);
    if (!IsName(text, "-.:")) {
      return Bad(value, "is no text: letters, digits, _ - . : between two \"");
    }
    condition.text = text;
  } else if (!value.empty() && value[0] >= '0' && value[0] <= '9') {
    const auto number = ParseNumber(value);
    if (!number.ok()) return number.status();
    condition.number = *number;
  } else if (IsName(value)) {
    condition.name = value;
  } else {
    return Bad(
        value,
        "is nothing to compare with: write a number, \"text\", address, driver or a [value]");
  }
  return condition;
}

Result<Bytes> ParseBytes(std::string_view text) {
  Bytes bytes;
  std::string_view field = text, times, add;
  if (Split(text, "*", &field, &times)) {
    const auto number = ParseNumber(times);
    if (number.ok()) {
      bytes.times = *number;
    } else if (IsName(times) && !(times[0] >= '0' && times[0] <= '9')) {
      bytes.times_name = times;
    } else {
      return Bad(times, "is no factor: write a number or the name of a [value]");
    }
  }
  if (Split(field, "+", &field, &add)) {
    const auto number = ParseNumber(add);
    if (!number.ok()) return number.status();
    bytes.add = *number;
  }
  auto from = ParseField(field);
  if (!from.ok()) return from.status();
  bytes.from = std::move(from).value();
  return bytes;
}

Result<KernelRange> ParseKernels(std::string_view text) {
  KernelRange range;
  std::string_view first, last;
  if (!Split(text, "..", &first, &last) || (first.empty() && last.empty())) {
    return Bad(text, "is no range of kernels: write 5.4..6.16, 6.17.. or ..6.16");
  }
  for (const auto& [bound_text, bound] : {std::pair{first, &range.first}, {last, &range.last}}) {
    if (bound_text.empty()) continue;
    const auto release = ParseRelease(bound_text);
    if (!release.ok()) return release.status();
    *bound = *release;
  }
  if (range.first > range.last) return Bad(text, "ends before it begins: exchange the two");
  return range;
}

Result<ClassMatch> ParseClass(std::string_view text) {
  const auto number = ParseNumber(text);
  const size_t digits = text.size() - std::min<size_t>(text.size(), 2);
  if (!number.ok() || text.substr(0, 2) != "0x" || (digits != 2 && digits != 4 && digits != 6)) {
    return Bad(text, "is no PCI class: write 0x and 2, 4 or 6 digits, as in 0x0108");
  }
  return ClassMatch{static_cast<uint32_t>(*number), static_cast<uint32_t>(digits)};
}

Result<PciMatch> ParsePciDevice(std::string_view text) {
  PciMatch match;
  std::string_view vendor, device;
  bool good = Split(text, ":", &vendor, &device);
  for (const auto& [id, to] : {std::pair{vendor, &match.vendor}, {device, &match.device}}) {
    if (!good || id == "*") continue;
    const auto number = ParseNumber(id);
    good = number.ok() && id.size() == 6 && id.substr(0, 2) == "0x";
    if (good) *to = static_cast<int32_t>(*number);
  }
  if (!good) return Bad(text, "is no PCI device: write VENDOR:DEVICE, as in 0x1b36:0x0010");
  return match;
}

Result<Argument> ParseArgument(std::string_view text) {
  Argument argument;
  std::string_view first = text, second;
  const auto place = [](std::string_view word, uint32_t* to) {
    if (word.substr(0, 3) != "arg") return false;
    const auto number = ParseNumber(word.substr(3));
    if (!number.ok() || *number < 1 || *number > kMaxArgument) return false;
    *to = static_cast<uint32_t>(*number);
    return true;
  };
  bool good = true;
  if (Split(text, "*", &first, &second) && !place(second, &argument.times_place)) {
    const auto number = ParseNumber(second);
    good = number.ok();
    if (good) argument.times = *number;
  }
  if (!good || !place(first, &argument.place)) {
    return Bad(text, "is no argument: write arg1 to arg16, and perhaps * NUMBER or * argN");
  }
  return argument;
}

Status CheckPath(std::string_view path) {
  if (path.empty() || path[0] == '/') {
    return Bad(path, "is no path below the device's sysfs folder: leave the leading / out");
  }
  for (const std::string_view part : Words(path, "/")) {
    if (part == "..") return Bad(path, "leaves the device's sysfs folder: leave .. out");
    if (!IsName(part, "-.:*#")) {
      return Bad(part, "is no file name: letters, digits and _ - . : with * for any part");
    }
  }
  return {};
}

}  // namespace acceltrace::provider
