// SPDX-License-Identifier: Apache-2.0
#include "libtrace/provider/offer.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "libtrace/provider/functions.h"

namespace acceltrace::provider {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 256;  // per folder

// Returns the folder in build/share or /usr/share, next to the folder of the program.
std::string ShippedFolder() {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  if (length <= 0) return "/usr/share/acceltrace/providers";
  const fs::path program(std::string(self, static_cast<size_t>(length)));
  return program.parent_path().parent_path() / "share/acceltrace/providers";
}

bool InRange(const KernelRange& range, uint32_t kernel) {
  return kernel >= range.first && kernel <= range.last;
}

// Returns an empty string if for at least one device all values that the role's numbers need exist;
// otherwise the reason.
std::string ValuesMissing(const Provider& provider, const Tracepoint& point, const Offer& offer,
                          const Machine& machine) {
  std::vector<std::string> names;
  for (const Condition& condition : point.where) names.push_back(condition.name);
  if (point.bytes) names.push_back(point.bytes->times_name);
  for (const Value& value : provider.values) {
    if (std::find(names.begin(), names.end(), value.name) == names.end()) continue;
    std::string why;
    for (const PciDevice* device : offer.devices) {
      const auto number = machine.ReadValue(*device, value);
      if (number.ok()) {
        why.clear();
        break;
      }
      why = number.message();
    }
    if (!why.empty()) return why;
  }
  return "";
}

void ExamineTracepoints(const Provider& provider, const Machine& machine, Offer* offer) {
  for (const Role role : {Role::kSubmit, Role::kStart, Role::kComplete, Role::kDependency}) {
    const bool named = std::any_of(provider.tracepoints.begin(), provider.tracepoints.end(),
                                   [&](const Tracepoint& point) { return point.role == role; });
    if (!named) continue;
    const ChosenTracepoint chosen = Choose(provider, role, machine);
    Evidence evidence = {RoleName(role), "", chosen.why, 0};
    for (const Tracepoint& point : provider.tracepoints) {
      if (point.role != role || (chosen.tracepoint != nullptr && &point != chosen.tracepoint)) {
        continue;
      }
      evidence.what += (evidence.what.empty() ? "" : " or ") + point.Title();
      if (evidence.line == 0) evidence.line = point.line;
    }
    if (chosen.tracepoint != nullptr && !offer->devices.empty()) {
      evidence.why = ValuesMissing(provider, *chosen.tracepoint, *offer, machine);
    }
    offer->evidence.push_back(std::move(evidence));
  }
}

void ExamineFunctions(const Provider& provider, const Machine& machine, Offer* offer) {
  FunctionFinder finder(machine);
  for (const ApiFunction& function : provider.functions) {
    offer->evidence.push_back(
        {"api", function.library + ":" + function.name, finder.Find(function).why, function.line});
  }
}

void ExamineCounters(const Provider& provider, const Machine& machine, Offer* offer) {
  for (const Counter& counter : provider.counters) {
    Evidence evidence = {"counter", counter.name, "", counter.line};
    if (!counter.pmu.empty()) {
      evidence.why = machine.FindEvent(counter).message();
    } else {
      const bool found = std::any_of(
          offer->devices.begin(), offer->devices.end(),
          [&](const PciDevice* device) { return !machine.Files(*device, counter).empty(); });
      if (!found) {
        evidence.why = counter.debugfs.empty()
                           ? "no " + counter.file + " in sysfs: this device has none"
                           : "no " + counter.debugfs + " in debugfs: not mounted, or none";
      }
    }
    offer->evidence.push_back(std::move(evidence));
  }
}

void ExamineClock(const Provider& provider, const Machine& machine, Offer* offer) {
  using Source = Clock::Source;
  if (provider.match.line == 0) return;
  Evidence evidence = {"clock", "host", "", 0};
  if (provider.clock.source == Source::kDriver) evidence.what = "driver";
  if (provider.clock.source == Source::kPtp) {
    evidence.what = "ptp " + provider.clock.device;
    const bool found =
        std::any_of(offer->devices.begin(), offer->devices.end(), [&](const PciDevice* device) {
          return !machine.Files(*device, provider.clock.device).empty();
        });
    if (!found) evidence.why = "no PTP clock of the device: host times only";
  }
  offer->evidence.push_back(std::move(evidence));
}

}  // namespace

std::vector<std::string> ProviderFolders(bool own) {
  std::vector<std::string> folders = {ShippedFolder(), "/etc/acceltrace/providers.d"};
  if (!own) return folders;
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  std::string top;
  if (config != nullptr && config[0] == '/') {
    top = config;
  } else if (home != nullptr && home[0] == '/') {
    top = std::string(home) + "/.config";
  }
  if (!top.empty()) folders.push_back(top + "/acceltrace");
  return folders;
}

Catalogue LoadProviders(const std::vector<std::string>& folders) {
  Catalogue catalogue;
  std::map<std::string, Provider> by_name;
  for (const std::string& folder : folders) {
    std::vector<std::string> files;
    std::error_code error;
    fs::directory_iterator entry(folder, error), end;
    for (; !error && entry != end && files.size() < kMaxFiles; entry.increment(error)) {
      if (entry->path().extension() == ".provider") files.push_back(entry->path());
    }
    std::sort(files.begin(), files.end());
    std::map<std::string, std::string> here;
    for (const std::string& file : files) {
      auto provider = ReadProvider(file);
      if (!provider.ok()) {
        catalogue.errors.push_back(provider.message());
        continue;
      }
      const auto [other, fresh] = here.try_emplace(provider->name, file);
      if (!fresh) {
        catalogue.errors.push_back(file + ":1: provider " + provider->name + " is in " +
                                   other->second + " too: give one of them another name");
        continue;
      }
      by_name.insert_or_assign(provider->name, std::move(provider).value());
    }
  }
  for (auto& [name, provider] : by_name) catalogue.providers.push_back(std::move(provider));
  return catalogue;
}

ChosenTracepoint Choose(const Provider& provider, Role role, const Machine& machine) {
  ChosenTracepoint chosen;
  for (const Tracepoint& point : provider.tracepoints) {
    if (point.role != role) continue;
    std::string why;
    if (!InRange(point.kernel, machine.kernel())) {
      why = "is not of this kernel's version: see its line kernel";
    } else if (const auto format = machine.Format(point); !format.ok()) {
      why = format.message();
    } else if (auto placed = PlaceFields(point, *format); !placed.ok()) {
      why = point.Title() + " has " + placed.message();
    } else {
      chosen.tracepoint = &point;
      chosen.placed = std::move(placed).value();
      chosen.why.clear();
      return chosen;
    }
    if (chosen.why.empty()) chosen.why = why;
  }
  return chosen;
}

Offer Examine(const Provider& provider, const Machine& machine) {
  Offer offer;
  for (const PciDevice& device : machine.devices()) {
    if (Matches(provider.match, device)) offer.devices.push_back(&device);
  }
  ExamineTracepoints(provider, machine, &offer);
  ExamineFunctions(provider, machine, &offer);
  ExamineCounters(provider, machine, &offer);
  ExamineClock(provider, machine, &offer);
  if (provider.match.line != 0 && offer.devices.empty()) {
    offer.why = "no such device here";
    if (!provider.match.drivers.empty()) {
      offer.why += " with driver " + provider.match.drivers[0] +
                   (provider.match.drivers.size() > 1 ? " or another of its list" : "");
    }
    return offer;
  }
  // A job needs both its submission and its completion. Of functions and counters one suffices.
  bool other = false;
  std::string other_why;
  for (const Evidence& evidence : offer.evidence) {
    const bool half =
        evidence.kind == RoleName(Role::kSubmit) || evidence.kind == RoleName(Role::kComplete);
    if (half && !evidence.why.empty()) {
      offer.why = evidence.why;
      return offer;
    }
    if (evidence.kind != "api" && evidence.kind != "counter") continue;
    other = other || evidence.why.empty();
    if (other_why.empty()) other_why = evidence.why;
  }
  if (provider.tracepoints.empty() && !other) offer.why = other_why;
  return offer;
}

}  // namespace acceltrace::provider
