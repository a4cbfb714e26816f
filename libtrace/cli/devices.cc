// SPDX-License-Identifier: Apache-2.0
//
// acceltrace devices: lists devices and how well their clocks can be read. The bus is read from
// sysfs; what only a driver knows comes from a very short recording.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "libtrace/analysis/checks/clock_quality.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/daemon_client.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/pci_list.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/view/common/format.h"
#include "libtrace/view/json/clock_json.h"

namespace acceltrace::cli {
namespace {

using view::Table;

// Records the devices' descriptions and a few clock samples.
Result<std::unique_ptr<model::Model>> Probe() {
  const int fd = memfd_create("acceltrace-devices", MFD_CLOEXEC);
  if (fd < 0) return Status::Error("cannot make a memory file");
  const std::unique_ptr<const int, void (*)(const int*)> closer(&fd,
                                                                [](const int* f) { close(*f); });
  auto daemon = DaemonClient::Start({"--probes", "device,clock"}, {fd});
  if (!daemon.ok()) return daemon.status();
  const Status ready = daemon->WaitUntilReady(-1, nullptr);
  if (!ready.ok()) return ready;
  constexpr useconds_t kSampleUs = 200'000;
  usleep(kSampleUs);
  const auto stopped = daemon->Stop(-1);
  if (!stopped.ok()) return stopped.status();
  return model::LoadFile(fmt::format("/proc/self/fd/{}", fd));
}

std::string ClockText(const analysis::ClockQuality& clock) {
  if (!clock.valid) return clock.error;
  const clock::Quality& fit = clock.fit;
  return fmt::format(
      "{}, {:+.3f} ppm, offset {:+.0f} ns {}, residual {}, read within {}, {} samples ({} "
      "outside)",
      view::FormatRate(static_cast<double>(clock.nominal_hz), "tick"), fit.rate_ppm, fit.offset_ns,
      view::FormatBound((fit.width_median_ns + 1) / 2),
      view::FormatNs(static_cast<int64_t>(fit.residual_p99_ns + 0.5)),
      view::FormatNs(fit.round_trip_min_ns), fit.samples, fit.samples_rejected);
}

struct Row {
  PciAccelerator pci;
  const model::Device* device = nullptr;
  const analysis::ClockQuality* clock = nullptr;
};

std::string TextList(const std::vector<Row>& rows, const std::string& unknown) {
  const view::Style style = StdoutStyle();
  Table table({{"address", Table::Align::kLeft},
               {"accelerator", Table::Align::kLeft},
               {"driver", Table::Align::kLeft},
               {"node", Table::Align::kLeft},
               {"link now", Table::Align::kLeft},
               {"at best", Table::Align::kLeft},
               {"NUMA", Table::Align::kLeft},
               {"memory"},
               {"clock", Table::Align::kLeft}});
  for (const Row& row : rows) {
    const bool known = row.device != nullptr;
    table.Add({row.pci.address,
               known ? row.device->about.model() + ", " + row.pci.name : row.pci.name,
               row.pci.driver.empty() ? "none" : row.pci.driver,
               row.pci.node.empty() ? "-" : row.pci.node, row.pci.link.empty() ? "-" : row.pci.link,
               row.pci.best.empty() ? "-" : row.pci.best,
               row.pci.numa_node < 0 ? "-" : std::to_string(row.pci.numa_node),
               known ? view::FormatBytes(row.device->about.memory_bytes()) : "-",
               row.clock != nullptr ? ClockText(*row.clock) : unknown});
  }
  return table.Render(style);
}

std::string JsonList(const std::vector<Row>& rows, const std::string& unknown) {
  using Json = nlohmann::ordered_json;
  Json devices = Json::array();
  for (const Row& row : rows) {
    Json json = {{"address", row.pci.address},    {"name", row.pci.name},
                 {"driver", row.pci.driver},      {"node", row.pci.node},
                 {"link", row.pci.link},          {"link_best", row.pci.best},
                 {"numa_node", row.pci.numa_node}};
    if (row.device != nullptr) {
      json["model"] = row.device->about.model();
      json["memory_bytes"] = row.device->about.memory_bytes();
      json["clock_hz"] = row.device->about.clock().nominal_hz();
    }
    if (row.clock != nullptr && row.clock->valid) {
      json["clock"] = view::FitJson(row.clock->fit);
      json["clock"]["bound_ns"] = (row.clock->fit.width_median_ns + 1) / 2;
    } else {
      json["clock_error"] = row.clock != nullptr ? row.clock->error : unknown;
    }
    devices.push_back(json);
  }
  const Json all = {{"schema", "acceltrace.devices"}, {"version", 1}, {"devices", devices}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int RunDevices(bool json) {
  std::vector<Row> rows;
  bool driven = false;
  for (PciAccelerator& pci : ListAccelerators()) {
    driven = driven || !pci.node.empty();
    rows.push_back({std::move(pci)});
  }
  if (rows.empty()) {
    if (json) (void)PrintJson(JsonList(rows, ""));
    return Fail(kFailed, "no accelerator on the PCI bus: check lspci, and that the slot has power");
  }
  std::string unknown = "no driver: load the device's module";
  std::unique_ptr<model::Model> model;
  std::vector<analysis::ClockQuality> clocks;
  if (driven) {
    auto probed = Probe();
    if (probed.ok()) {
      model = std::move(probed).value();
      clocks = analysis::ComputeClockQuality(*model);
    } else {
      unknown = "unknown: " + probed.message();
    }
  }
  for (size_t d = 0; d < clocks.size(); ++d) {
    for (Row& row : rows) {
      if (row.pci.address != model->devices[d].about.pci().address()) continue;
      row.device = &model->devices[d];
      row.clock = &clocks[d];
    }
  }
  const Status wrote =
      json ? PrintJson(JsonList(rows, unknown)) : PrintText(TextList(rows, unknown));
  return wrote.ok() ? kOk : Fail(kFailed, wrote.message());
}

}  // namespace

void AddDevices(Verb* app, Run* run) {
  Verb* verb = app->AddVerb(
      "devices", "Accelerators present: address, link, NUMA node, driver, clock quality");
  auto json = std::make_shared<bool>(false);
  verb->AddFlag("--json", json.get(), "machine-readable, see docs/json.md");
  verb->Callback([json, run] { *run = [json] { return RunDevices(*json); }; });
}

}  // namespace acceltrace::cli
