// SPDX-License-Identifier: Apache-2.0
//
// acceltrace providers: lists what can be traced on this machine, and the reasons for the rest.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "libtrace/cli/command.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/provider/offer.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::cli {
namespace {

using provider::Evidence;
using provider::Offer;
using provider::Provider;
using view::Table;
using Json = nlohmann::ordered_json;

struct Row {
  const Provider* provider;
  Offer offer;
};

std::string Devices(const Offer& offer) {
  constexpr size_t kShown = 4;
  std::string text;
  for (size_t i = 0; i < std::min(offer.devices.size(), kShown); ++i) {
    text += (i > 0 ? " " : "") + offer.devices[i]->address;
  }
  if (offer.devices.size() > kShown) text += fmt::format(" +{}", offer.devices.size() - kShown);
  return text.empty() ? "-" : text;
}

std::string TextList(const std::vector<Row>& rows) {
  Table table({{"provider", Table::Align::kLeft},
               {"what it is about", Table::Align::kLeft},
               {"devices", Table::Align::kLeft},
               {"here", Table::Align::kLeft}});
  for (const Row& row : rows) {
    table.Add({row.provider->name, row.provider->about, Devices(row.offer),
               row.offer.why.empty() ? "yes" : "no: " + row.offer.why});
  }
  return table.Render(StdoutStyle());
}

std::string TextCheck(const Row& row) {
  std::string text = fmt::format("{}: {}\nfile: {}\n", row.provider->name, row.provider->about,
                                 row.provider->file);
  text += fmt::format("devices: {}\n\n", Devices(row.offer));
  Table table({{"evidence", Table::Align::kLeft},
               {"by", Table::Align::kLeft},
               {"line"},
               {"here", Table::Align::kLeft}});
  for (const Evidence& evidence : row.offer.evidence) {
    table.Add({evidence.kind, evidence.what,
               evidence.line == 0 ? "-" : std::to_string(evidence.line),
               evidence.why.empty() ? "yes" : "no: " + evidence.why});
  }
  return text + table.Render(StdoutStyle());
}

std::string JsonText(const std::vector<Row>& rows, const std::vector<std::string>& errors) {
  Json providers = Json::array();
  for (const Row& row : rows) {
    Json devices = Json::array(), evidence = Json::array();
    for (const provider::PciDevice* device : row.offer.devices) {
      devices.push_back({{"address", device->address}, {"driver", device->driver}});
    }
    for (const Evidence& one : row.offer.evidence) {
      evidence.push_back({{"kind", one.kind},
                          {"by", one.what},
                          {"line", one.line},
                          {"available", one.why.empty()},
                          {"why", one.why}});
    }
    providers.push_back({{"name", row.provider->name},
                         {"about", row.provider->about},
                         {"file", row.provider->file},
                         {"built_in", row.provider->built_in},
                         {"available", row.offer.why.empty()},
                         {"why", row.offer.why},
                         {"devices", devices},
                         {"evidence", evidence}});
  }
  const Json all = {{"schema", "acceltrace.providers"},
                    {"version", 1},
                    {"providers", providers},
                    {"errors", errors}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int Print(const std::string& text) {
  const Status wrote = WriteStdout(text);
  return wrote.ok() ? kOk : Fail(kFailed, wrote.message());
}

int RunList(bool json) {
  const provider::Machine machine;
  const provider::Catalogue catalogue = provider::LoadProviders(provider::ProviderFolders(true));
  std::vector<Row> rows;
  for (const Provider& one : catalogue.providers) rows.push_back({&one, Examine(one, machine)});
  const int printed = Print(json ? JsonText(rows, catalogue.errors) : TextList(rows));
  if (printed != kOk) return printed;
  if (!catalogue.errors.empty()) {
    std::string more;
    if (catalogue.errors.size() > 1)
      more = fmt::format(" (and {} more)", catalogue.errors.size() - 1);
    return Fail(kFailed, catalogue.errors.front() + more);
  }
  if (rows.empty()) {
    return Fail(kFailed, "no provider files in " + provider::ProviderFolders(false).front() +
                             ": install acceltrace again");
  }
  return kOk;
}

// The name is that of an installed provider, or of a file if it has a / or ends in .provider.
int RunCheck(const std::string& name, bool json) {
  const provider::Machine machine;
  provider::Catalogue catalogue;
  const bool file = name.find('/') != std::string::npos || name.ends_with(".provider");
  if (file) {
    auto read = provider::ReadProvider(name);
    if (!read.ok()) return Fail(kFailed, read.message());
    catalogue.providers.push_back(std::move(read).value());
  } else {
    catalogue = provider::LoadProviders(provider::ProviderFolders(true));
  }
  std::string known;
  for (const Provider& one : catalogue.providers) {
    if (!file && one.name != name) {
      known += (known.empty() ? "" : ", ") + one.name;
      continue;
    }
    const Row row = {&one, Examine(one, machine)};
    const int printed = Print(json ? JsonText({row}, {}) : TextCheck(row));
    if (printed != kOk || row.offer.why.empty()) return printed;
    return Fail(kFailed, "provider " + one.name + " has nothing to record here: " + row.offer.why);
  }
  return Fail(kMisuse, "no provider " + name + ": a file, or one of " + known);
}

}  // namespace

void AddProviders(Verb* app, Run* run) {
  Verb* verb =
      app->AddVerb("providers", "What can be traced on this machine, and why not the rest");
  auto json = std::make_shared<bool>(false);
  auto check = std::make_shared<std::string>();
  verb->AddOption("--check", check.get(), "each piece of evidence of one provider, or of a file")
      .TypeName("NAME|FILE");
  verb->AddFlag("--json", json.get(), "machine-readable, see docs/json.md");
  verb->Callback([json, check, verb, run] {
    const bool one = verb->given("--check");
    *run = [json, check, one] { return one ? RunCheck(*check, *json) : RunList(*json); };
  });
}

}  // namespace acceltrace::cli
