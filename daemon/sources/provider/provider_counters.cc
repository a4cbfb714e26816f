// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider/provider_counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "daemon/base/text_files.h"
#include "libtrace/provider/words.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxLines = 256;  // counters per file
constexpr double kMostValue = 0x1p63;

bool ParseDecimal(std::string_view text, double* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(*number);
}

void Add(const DeviceCounter& from, const std::string& name, double number, Readings* readings) {
  const double value = std::round(number * from.counter.scale);
  if (!(value >= 0 && value < kMostValue)) return;
  Reading reading;
  reading.object = from.object;
  reading.name = name;
  reading.unit = from.counter.unit;
  reading.value = static_cast<uint64_t>(value);
  reading.total = !from.counter.gauge;
  reading.device = from.device + 1;
  readings->push_back(std::move(reading));
}

Result<UniqueFd> OpenEvent(const provider::PmuEvent& event, uint32_t cpu) {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = event.type;
  attr.config = event.config[0];
  attr.config1 = event.config[1];
  attr.config2 = event.config[2];
  UniqueFd fd(static_cast<int>(
      syscall(SYS_perf_event_open, &attr, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC)));
  if (!fd.valid()) return Status::Error(strerror(errno));
  return fd;
}

}  // namespace

void ParseCounter(std::string_view text, const DeviceCounter& counter, Readings* readings) {
  double number = 0;
  const auto first = provider::Words(text.substr(0, text.find('\n')), " \t:");
  if (!first.empty() && ParseDecimal(first[0], &number)) {
    Add(counter, counter.counter.name, number, readings);
    return;
  }
  size_t lines = 0;
  for (const std::string_view line : provider::Words(text, "\n")) {
    const auto words = provider::Words(line, " \t:");
    if (words.size() < 2 || !ParseDecimal(words[1], &number)) continue;
    if (++lines > kMaxLines) return;
    Add(counter, counter.counter.name + " " + std::string(words[0]), number, readings);
  }
}

std::vector<DeviceCounter> FindCounters(const provider::Provider& provider,
                                        const provider::PciDevice& device,
                                        const provider::Machine& machine, uint32_t number,
                                        std::vector<std::string>* lacks) {
  std::vector<DeviceCounter> found;
  for (const provider::Counter& counter : provider.counters) {
    DeviceCounter one = {number, device.address, counter, {}, {}};
    if (!counter.pmu.empty()) {
      auto event = machine.FindEvent(counter);
      if (!event.ok()) {
        lacks->push_back("counter " + counter.name + ": " + event.message());
        continue;
      }
      one.event = std::move(event).value();
      one.counter.scale *= one.event.scale;
    } else {
      one.files = machine.Files(device, counter);
      if (one.files.empty()) continue;  // not all devices have it
    }
    found.push_back(std::move(one));
  }
  return found;
}

ProviderCounters::ProviderCounters(std::vector<DeviceCounter> counters,
                                   std::vector<std::string>* lacks) {
  for (DeviceCounter& counter : counters) {
    if (counter.counter.pmu.empty()) {
      counters_.push_back(std::move(counter));
      continue;
    }
    Event event;
    std::string why;
    std::vector<uint32_t> cpus = counter.event.cpus;
    if (cpus.empty()) cpus = provider::ParseList(FirstLine("/sys/devices/system/cpu/online"));
    for (const uint32_t cpu : cpus) {
      auto fd = OpenEvent(counter.event, cpu);
      if (!fd.ok()) {
        why = fd.message();
        break;
      }
      event.fds.push_back(std::move(fd).value());
    }
    if (!why.empty() || event.fds.empty()) {
      lacks->push_back("counter " + counter.counter.name + ": " + counter.counter.pmu +
                       " cannot be opened: " + (why.empty() ? "no CPU counts it" : why));
      continue;
    }
    event.counter = std::move(counter);
    events_.push_back(std::move(event));
  }
}

void ProviderCounters::Read(Readings* readings) const {
  for (const DeviceCounter& counter : counters_) {
    const size_t first = readings->size();
    for (const std::string& file : counter.files) {
      ParseCounter(ReadText(file), counter, readings);
    }
    // Several files that match a path are parts of one device: totals are added up, and any one of
    // the current values is used.
    for (size_t i = first; i < readings->size(); ++i) {
      for (size_t j = readings->size() - 1; j > i; --j) {
        if ((*readings)[j].name != (*readings)[i].name) continue;
        if (!counter.counter.gauge) (*readings)[i].value += (*readings)[j].value;
        readings->erase(readings->begin() + static_cast<ptrdiff_t>(j));
      }
    }
  }
  for (const Event& event : events_) {
    double sum = 0;
    bool whole = true;
    for (const UniqueFd& fd : event.fds) {
      uint64_t value = 0;
      whole = whole && read(fd.get(), &value, sizeof(value)) == sizeof(value);
      sum += static_cast<double>(value);
    }
    if (whole) Add(event.counter, event.counter.counter.name, sum, readings);
  }
}

}  // namespace acceltrace::daemon
