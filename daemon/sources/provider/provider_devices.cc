// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider/provider_devices.h"

#include <algorithm>

namespace acceltrace::daemon {
namespace {

using provider::PciDevice;
using provider::Provider;
using provider::Role;

const provider::Value* FindValue(const Provider& provider, const std::string& name) {
  const auto found = std::find_if(provider.values.begin(), provider.values.end(),
                                  [&](const provider::Value& value) { return value.name == name; });
  return found == provider.values.end() ? nullptr : &*found;
}

// Returns a name such as nvme0 if the provider knows the device's number, otherwise its name and
// address.
std::string NameOf(const Provider& provider, const PciDevice& device,
                   const provider::Machine& machine) {
  const provider::Value* instance = FindValue(provider, "instance");
  if (instance != nullptr) {
    const auto number = machine.ReadValue(device, *instance);
    if (number.ok()) return provider.name + std::to_string(*number);
  }
  return provider.name + "-" + device.address;
}

FieldPlace ToPlace(const std::optional<provider::Place>& place) {
  FieldPlace to;
  if (!place) return to;
  to.offset = place->offset;
  if (place->text) {
    to.kind = place->elsewhere ? FieldPlace::kTextElsewhere : FieldPlace::kText;
  } else {
    to.mask = place->size >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * place->size) - 1;
  }
  return to;
}

// Numbers that are negative for the kernel are only compared in this program.
void AddFilter(const provider::PlacedCondition& from, uint64_t number, std::string* filter) {
  if (from.place.text || from.place.elsewhere || number >> (8 * from.place.size - 1) != 0) return;
  *filter += (filter->empty() ? "" : " && ") + from.condition->field +
             (from.condition->equal ? " == " : " != ") + std::to_string(number);
}

Status AddConditions(const Provider& provider, const PciDevice& device,
                     const provider::Machine& machine, const provider::Placed& placed,
                     TracepointRole* role) {
  for (const provider::PlacedCondition& from : placed.where) {
    RoleCondition to;
    to.place = ToPlace(from.place);
    to.unequal = !from.condition->equal;
    to.number = from.condition->number;
    if (from.condition->text) {
      to.text = *from.condition->text;
      to.text.resize(std::min(to.text.size(), kRoleTextBytes - 1));
    }
    const std::string& name = from.condition->name;
    if (name == "address" || name == "driver") {
      to.text = name == "address" ? device.address : device.driver;
      to.text.resize(std::min(to.text.size(), kRoleTextBytes - 1));  // cut like the kernel's
    } else if (const provider::Value* value = FindValue(provider, name)) {
      const auto number = machine.ReadValue(device, *value);
      if (!number.ok()) return number.status();
      to.number = *number;
    }
    AddFilter(from, to.number, &role->filter);
    role->config.where.push_back(std::move(to));
  }
  return {};
}

// Bytes are omitted if their factor is unknown. Returns the reason.
std::string AddBytes(const Provider& provider, const PciDevice& device,
                     const provider::Machine& machine, const provider::Tracepoint& point,
                     const provider::Placed& placed, RoleConfig* config) {
  if (!point.bytes) return "";
  config->bytes_add = point.bytes->add;
  config->bytes_times = point.bytes->times;
  if (const provider::Value* value = FindValue(provider, point.bytes->times_name)) {
    const auto number = machine.ReadValue(device, *value);
    if (!number.ok()) return "bytes are not known: " + number.message();
    config->bytes_times = *number;
  }
  config->bytes = ToPlace(placed.bytes);
  for (auto& word : config->bytes_opcodes) word = point.bytes_opcodes.empty() ? ~0ull : 0;
  for (const uint32_t opcode : point.bytes_opcodes) {
    config->bytes_opcodes[opcode / 64 & 3] |= 1ull << opcode % 64;
  }
  return "";
}

RoleConfig::Role RoleOf(Role role) {
  switch (role) {
    case Role::kSubmit:
      return RoleConfig::kSubmit;
    case Role::kStart:
      return RoleConfig::kStart;
    case Role::kDependency:
      return RoleConfig::kDependency;
    default:
      return RoleConfig::kComplete;
  }
}

ProviderDevice Describe(const Provider& provider, const PciDevice& device,
                        const provider::Machine& machine, uint32_t number) {
  ProviderDevice to;
  to.address = device.address;
  to.pci = device.pci;
  to.description.set_device(number);
  to.description.set_name(NameOf(provider, device, machine));
  to.description.set_driver(device.driver);
  to.description.set_model(provider.about);
  return to;
}

// `alone` means that the provider has no other device here. Then filtering each event in the
// kernel, which takes longer than dropping a few later, would filter out almost nothing.
Result<ProviderDevice> Prepare(const Provider& provider, const PciDevice& device,
                               const provider::Machine& machine, uint32_t number, bool alone) {
  ProviderDevice to = Describe(provider, device, machine, number);
  for (const auto& [code, name] : provider.opcodes) {
    proto::Opcode* opcode = to.description.add_opcodes();
    opcode->set_code(code);
    opcode->set_name(name);
  }
  for (const Role role : {Role::kSubmit, Role::kStart, Role::kComplete, Role::kDependency}) {
    const provider::ChosenTracepoint chosen = Choose(provider, role, machine);
    if (chosen.tracepoint == nullptr) {
      if (chosen.why.empty()) continue;  // the provider names none
      if (role == Role::kSubmit || role == Role::kComplete) return Status::Error(chosen.why);
      to.lacks.push_back(chosen.why);
      continue;
    }
    TracepointRole one;
    one.system = chosen.tracepoint->system;
    one.name = chosen.tracepoint->name;
    one.config.device = number;
    one.id = chosen.placed.id;
    one.config.role = RoleOf(role);
    one.config.queue = ToPlace(chosen.placed.queue);
    one.config.job = ToPlace(chosen.placed.job);
    one.config.opcode = ToPlace(chosen.placed.opcode);
    one.config.status = ToPlace(chosen.placed.status);
    one.config.waits_for = ToPlace(chosen.placed.waits_for);
    one.config.waits_for_queue = ToPlace(chosen.placed.waits_for_queue);
    const Status conditions = AddConditions(provider, device, machine, chosen.placed, &one);
    if (!conditions.ok()) return conditions;
    if (alone) one.filter.clear();
    const std::string lacks =
        AddBytes(provider, device, machine, *chosen.tracepoint, chosen.placed, &one.config);
    if (!lacks.empty()) to.lacks.push_back(lacks);
    to.roles.push_back(std::move(one));
  }
  return to;
}

bool IsCalled(const PciDevice& device, const std::string& name) {
  return device.address == name || device.address == "0000:" + name;
}

void AddCounters(const provider::Catalogue& catalogue, const PciDevice& device,
                 const provider::Machine& machine, uint32_t number, ProviderDevices* to) {
  const size_t first = to->counters.size();
  for (const Provider& provider : catalogue.providers) {
    if (provider.built_in || !Matches(provider.match, device)) continue;
    for (DeviceCounter& counter : FindCounters(provider, device, machine, number, &to->lacks)) {
      const bool twice = std::any_of(
          to->counters.begin() + static_cast<ptrdiff_t>(first), to->counters.end(),
          [&](const auto& other) { return other.counter.name == counter.counter.name; });
      if (!twice) to->counters.push_back(std::move(counter));
    }
  }
}

// Adds a device that only has counters. Returns false if it has none.
bool AddCountersOnly(const std::string& name, const provider::Catalogue& catalogue,
                     const provider::Machine& machine, uint32_t number, ProviderDevices* to) {
  for (const PciDevice& device : machine.devices()) {
    if (!IsCalled(device, name)) continue;
    const auto provider =
        std::find_if(catalogue.providers.begin(), catalogue.providers.end(), [&](const auto& one) {
          return !one.built_in && !one.counters.empty() && Matches(one.match, device);
        });
    if (provider == catalogue.providers.end()) return false;
    const size_t before = to->counters.size();
    AddCounters(catalogue, device, machine, number, to);
    if (to->counters.size() == before) return false;
    to->devices.push_back(Describe(*provider, device, machine, number));
    to->devices.back().lacks.push_back(
        "only counters are recorded: no provider has tracepoints of it, see acceltrace providers");
    return true;
  }
  return false;
}

}  // namespace

Result<ProviderDevices> FindProviderDevices(const std::vector<std::string>& names,
                                            const provider::Catalogue& catalogue,
                                            const provider::Machine& machine,
                                            uint32_t first_number) {
  ProviderDevices found;
  found.warnings = catalogue.errors;
  size_t roles = 0;
  for (const std::string& name : names) {
    const auto library = std::find_if(
        catalogue.providers.begin(), catalogue.providers.end(),
        [&](const Provider& one) { return one.name == name && !one.functions.empty(); });
    if (library != catalogue.providers.end()) {
      auto functions = FindFunctions(*library, machine);
      if (!functions.ok()) return functions.status();
      for (auto& one : functions->functions) found.functions.push_back(std::move(one));
      for (auto& lack : functions->lacks) found.lacks.push_back(std::move(lack));
      continue;
    }
    bool built_in = false, there = false, taken = false;
    std::string why;
    for (const PciDevice& device : machine.devices()) {
      there = there || IsCalled(device, name);
      for (const Provider& provider : catalogue.providers) {
        if (taken || !Matches(provider.match, device)) continue;
        if (!IsCalled(device, name) && NameOf(provider, device, machine) != name) continue;
        built_in = built_in || provider.built_in;
        if (provider.built_in || provider.tracepoints.empty()) continue;
        const bool twice =
            std::any_of(found.devices.begin(), found.devices.end(),
                        [&](const ProviderDevice& one) { return one.address == device.address; });
        const auto alike =
            std::count_if(machine.devices().begin(), machine.devices().end(),
                          [&](const PciDevice& other) { return Matches(provider.match, other); });
        auto prepared =
            Prepare(provider, device, machine,
                    first_number + static_cast<uint32_t>(found.devices.size()), alike == 1);
        if (!prepared.ok()) {
          why =
              name + " cannot be recorded by provider " + provider.name + ": " + prepared.message();
          continue;
        }
        taken = true;
        if (twice) break;
        roles += prepared->roles.size();
        AddCounters(catalogue, device, machine, prepared->description.device(), &found);
        found.devices.push_back(std::move(prepared).value());
      }
    }
    const auto next = first_number + static_cast<uint32_t>(found.devices.size());
    if (taken || (there && !built_in && why.empty() &&
                  AddCountersOnly(name, catalogue, machine, next, &found))) {
      continue;
    }
    if (built_in || (!there && why.empty())) {
      found.others.push_back(name);
    } else if (!why.empty()) {
      return Status::Error(why);
    } else {
      return Status::Error("no provider has tracepoints of " + name +
                           ": see acceltrace providers, and docs/providers.md to write one");
    }
  }
  if (found.functions.size() > ACT_MAX_FUNCTIONS) {
    return Status::Error("more functions than one recording takes (" +
                         std::to_string(ACT_MAX_FUNCTIONS) + "): name fewer providers");
  }
  if (roles > kMaxRoles) {
    return Status::Error("more devices than one recording takes (" + std::to_string(kMaxRoles / 2) +
                         "): name fewer with --device");
  }
  return found;
}

}  // namespace acceltrace::daemon
