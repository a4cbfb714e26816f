// SPDX-License-Identifier: Apache-2.0
//
// A provider describes in a file how a class of devices can be observed. docs/providers.md
// describes the language.
#ifndef LIBTRACE_PROVIDER_PROVIDER_H_
#define LIBTRACE_PROVIDER_PROVIDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/base/result.h"

namespace acceltrace::provider {

inline constexpr size_t kMaxFileBytes = 64 << 10;
inline constexpr size_t kMaxLineBytes = 512;
inline constexpr size_t kMaxSections = 512;
inline constexpr size_t kMaxConditions = 4;  // of a tracepoint
inline constexpr size_t kMaxOpcodes = 256;

enum class Role { kSubmit, kStart, kComplete, kDependency };
inline constexpr size_t kNumRoles = 4;
const char* RoleName(Role role);

// PCI ids and classes; -1 = any.
struct PciMatch {
  int32_t vendor = -1, device = -1;
};

struct ClassMatch {
  uint32_t value = 0;
  uint32_t digits = 6;  // how many hex digits of class, subclass and interface count: 2, 4 or 6
};

// A device belongs to the provider if it matches each of the lists that is not empty.
struct Match {
  std::vector<std::string> drivers;
  std::vector<ClassMatch> classes;
  std::vector<PciMatch> devices;
  size_t line = 0;
};

// A field of a tracepoint, or a part of an array field.
struct FieldRef {
  std::string field;
  bool part = false;
  uint32_t offset = 0, size = 0;  // of the part, in bytes
};

// field == value or field != value. The value is a number, a text, the name of a [value] section,
// or a property of each device: `address` or `driver`.
struct Condition {
  std::string field;
  bool equal = true;
  uint64_t number = 0;
  std::string name;                 // if empty, number or text counts
  std::optional<std::string> text;  // if not set, number counts
};

// (from + add) * times
struct Bytes {
  FieldRef from;
  uint64_t add = 0, times = 1;
  std::string times_name;  // name of a [value] section; if empty, `times` counts
};

struct KernelRange {
  uint32_t first = 0, last = UINT32_MAX;  // major << 16 | minor
};

struct Tracepoint {
  std::string system, name;
  size_t line = 0;
  Role role = Role::kSubmit;
  KernelRange kernel;
  std::vector<Condition> where;
  std::optional<FieldRef> queue, job, opcode, status, waits_for, waits_for_queue;
  std::optional<Bytes> bytes;
  std::vector<uint32_t> bytes_opcodes;  // if empty, `bytes` is valid for every opcode
  std::string Title() const { return system + ":" + name; }
};

// A quantity taken from a function's arguments: the argument at a place, counted from 1, times a
// constant or another argument.
struct Argument {
  uint32_t place = 0, times_place = 0;
  uint64_t times = 1;
};

// Used in place of a library if the function is a system call.
inline constexpr char kKernel[] = "kernel";
inline constexpr uint32_t kMaxSystemArguments = 6;

struct ApiFunction {
  enum class Kind { kLaunch, kCopy, kWait, kAllocate, kFree, kOther };
  std::string library, name;
  size_t line = 0;
  Kind kind = Kind::kOther;
  std::optional<Argument> bytes, stream;
  std::string direction;  // to-device, from-device, within or argN; empty = not known
  bool waits = false;
};

struct Counter {
  std::string name, unit;
  size_t line = 0;
  // Exactly one of the three is set.
  std::string file;     // below the device's folder in sysfs
  std::string debugfs;  // below debugfs; a part `address` stands for the device's
  std::string pmu;      // a perf event
  bool gauge = false;
  double scale = 1;  // from the value read to `unit`
};

// A number that belongs to a device: the contents of a file in its sysfs folder, or a part of an
// entry's name.
struct Value {
  std::string name;
  size_t line = 0;
  std::string file;   // may have a * for part of a name
  std::string entry;  // has one #, which stands for the number
};

struct Clock {
  enum class Source { kHost, kPtp, kDriver };
  Source source = Source::kHost;
  std::string device;  // for kPtp: an entry in the device's sysfs folder
};

struct Provider {
  std::string file, name, about;
  bool built_in = false;  // the daemon reads this device without the file, and more precisely
  Match match;
  std::vector<Tracepoint> tracepoints;
  std::vector<ApiFunction> functions;
  std::vector<Counter> counters;
  std::vector<Value> values;
  std::map<uint32_t, std::string> opcodes;
  Clock clock;
};

// Parses the text of a file. An error begins with "FILE:LINE: " and says how to correct it.
Result<Provider> Parse(std::string_view text, const std::string& file);

// Reads and parses a file. Also fails if the file cannot be read or is too large.
Result<Provider> ReadProvider(const std::string& file);

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_PROVIDER_H_
