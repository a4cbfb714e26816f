// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "libtrace/analysis/tracer_work.h"
#include "libtrace/view/json.h"
#include "libtrace/view/page.inc"
#include "libtrace/view/page_columns.h"
#include "libtrace/view/page_path.h"
#include "libtrace/view/page_select.h"
#include "libtrace/view/page_series.h"
#include "libtrace/view/page_tables.h"

namespace acceltrace::view {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kPageVersion = 1;
constexpr size_t kMaxNameBytes = 2'000'000;
constexpr size_t kMaxReportBytes = 2'000'000;
constexpr uint64_t kLeastRoom = 100'000;
constexpr int kMostAttempts = 8;

// JSON as it may stand in HTML: ASCII, and no character that could end the element.
std::string Inert(const Json& json) {
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace), out;
  out.reserve(text.size());
  for (char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

// The report of json.h without what takes much room and is shown nowhere; of long lists the
// first rows.
std::string ReportJson(const analysis::Report& report) {
  Json json = Json::parse(JsonReport(report));
  json.erase("ops"), json.erase("ranges");
  std::string text = Inert(json);
  for (size_t most = 1000; text.size() > kMaxReportBytes && most > 10; most /= 4) {
    for (Json& value : json) {
      if (value.is_array() && value.size() > most) value.erase(value.begin() + most, value.end());
    }
    text = Inert(json);
  }
  return text;
}

template <typename List>
Json Words(const List& list) {
  Json words = Json::array();
  for (const auto& word : list) words.push_back(word);
  return words;
}

// What numbers in the tables stand for.
std::string DevicesJson(const model::Model& model) {
  Json devices = Json::array();
  for (const model::Device& device : model.devices) {
    const proto::Device& about = device.about;
    Json units = Json::array(), opcodes = Json::object();
    for (const proto::Unit& unit : about.units()) {
      const bool in = unit.kind() == proto::Unit::KIND_DMA_TO_DEVICE;
      const bool out = unit.kind() == proto::Unit::KIND_DMA_FROM_DEVICE;
      units.push_back({{"name", unit.name()},
                       {"dma", in    ? "to device"
                               : out ? "from device"
                                     : ""},
                       {"peak_work_per_s", unit.peak_work_per_s()},
                       {"work_unit", unit.work_unit()}});
    }
    for (const proto::Opcode& opcode : about.opcodes()) {
      opcodes[std::to_string(opcode.code())] = opcode.name();
    }
    devices.push_back({{"name", about.name()},
                       {"units", units},
                       {"stalls", Words(about.stalls())},
                       {"limiters", Words(about.limiters())},
                       {"statuses", Words(about.statuses())},
                       {"opcodes", opcodes},
                       {"memory_bytes_per_s", about.memory_bytes_per_s()},
                       {"clock_hz", about.clock().nominal_hz()}});
  }
  return Inert(devices);
}

std::string ProcessesJson(const model::Model& model) {
  constexpr size_t kMost = 10'000;
  Json processes = Json::array();
  for (const model::Process& process : model.processes) {
    if (processes.size() == kMost) break;
    processes.push_back({process.pid, process.tid, model.strings.Get(process.name)});
  }
  return Inert(processes);
}

std::string ClassesJson() {
  Json classes = Json::array();
  for (int c = 0; c < analysis::kNumClasses; ++c) {
    const auto of = static_cast<analysis::Class>(c);
    classes.push_back({{"name", analysis::ClassName(of)}, {"text", analysis::ClassText(of)}});
  }
  return Inert(classes);
}

}  // namespace

Result<HtmlStats> ExportHtml(const analysis::Report& report, const Sink& sink,
                             const HtmlOptions& options) {
  const model::Model& model = *report.model;
  const int64_t base_ns = model.begin_ns;
  const analysis::TracerWork work(model);
  const PagePath path = ComputePagePath(report, work);
  const auto& run = report.breakdown;
  const std::string head = fmt::format(
      "{{\"version\":{},\"base_ns\":\"{}\",\"end\":{},\"run\":[{},{}],\"classes\":{},"
      "\"devices\":{},\"processes\":{},\"series\":{},\"path\":{},\"report\":{},",
      kPageVersion, base_ns, Less(model.end_ns, base_ns), Less(run.begin_ns, base_ns),
      Less(run.end_ns, base_ns), ClassesJson(), DevicesJson(model), ProcessesJson(model),
      PageSeriesJson(report, base_ns), path.Json(), ReportJson(report));
  const size_t fixed = page::kBeforeData.size() + head.size() + page::kAfterData.size();
  // What rows take is known when they are written: less of them until they fit.
  uint64_t room = options.max_bytes > fixed + kLeastRoom ? options.max_bytes - fixed : kLeastRoom;
  HtmlStats stats;
  std::string tail;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const PageSelection selection = SelectRows(report, work, path, base_ns, room);
    PageNames names(model);
    tail = fmt::format("\"coverage\":{},\"tables\":{}}}", selection.coverage,
                       PageTablesJson(report, selection.rows, work, path, base_ns, &names));
    tail = fmt::format("\"names\":{},{}", names.Json(kMaxNameBytes), tail);
    stats.thinned = selection.thinned;
    stats.bytes = fixed + tail.size();
    if (stats.bytes <= options.max_bytes) break;
    room = static_cast<uint64_t>(static_cast<double>(room) * 0.9 *
                                 static_cast<double>(options.max_bytes) /
                                 static_cast<double>(stats.bytes));
  }
  for (std::string_view part :
       {page::kBeforeData, std::string_view(head), std::string_view(tail), page::kAfterData}) {
    const Status status = sink(part);
    if (!status.ok()) return status;
  }
  return stats;
}

}  // namespace acceltrace::view
