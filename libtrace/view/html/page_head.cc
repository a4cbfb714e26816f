// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html/page_head.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "libtrace/query/sources.h"
#include "libtrace/view/common/page_columns.h"
#include "libtrace/view/html/page.inc"
#include "libtrace/view/html/page_series.h"
#include "libtrace/view/json/json.h"

namespace acceltrace::view {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kPageVersion = 1;
constexpr size_t kMaxReportBytes = 2'000'000;

// The result is ASCII.
std::string InertJson(const Json& json) {
  return Inert(json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

// Returns the report of json.h without large parts that are not shown, and only the first rows of
// long lists.
std::string ReportJson(const analysis::Report& report) {
  Json json = Json::parse(JsonReport(report));
  json.erase("ops"), json.erase("ranges");
  std::string text = InertJson(json);
  for (size_t most = 1000; text.size() > kMaxReportBytes && most > 10; most /= 4) {
    const auto shorten = [most](Json* list) {
      if (list->is_array() && list->size() > most) list->erase(list->begin() + most, list->end());
    };
    for (Json& value : json) shorten(&value);
    if (json.contains("call_sites")) {
      for (Json& value : json["call_sites"]) shorten(&value);
    }
    text = InertJson(json);
  }
  return text;
}

template <typename List>
Json Words(const List& list) {
  Json words = Json::array();
  for (const auto& word : list) words.push_back(word);
  return words;
}

// Returns what numbers in the tables stand for.
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
  return InertJson(devices);
}

std::string ProcessesJson(const model::Model& model) {
  constexpr size_t kMost = 10'000;
  Json processes = Json::array();
  for (const model::Process& process : model.processes) {
    if (processes.size() == kMost) break;
    processes.push_back({process.pid, process.tid, model.strings.Get(process.name)});
  }
  return InertJson(processes);
}

// Returns what is missing because its source was not recorded.
std::string AbsentJson(const model::Model& model) {
  Json absent = Json::array();
  for (const query::AbsentSource& source : query::AbsentSources(model)) {
    absent.push_back(source.text);
  }
  return InertJson(absent);
}

std::string ClassesJson() {
  Json classes = Json::array();
  for (int c = 0; c < analysis::kNumClasses; ++c) {
    const auto of = static_cast<analysis::Class>(c);
    classes.push_back({{"name", analysis::ClassName(of)}, {"text", analysis::ClassText(of)}});
  }
  return InertJson(classes);
}

}  // namespace

std::string Inert(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view BothBegin() { return page::kBeforeBoth; }
std::string_view BothEnd() { return page::kAfterBoth; }
std::string_view PageBegin() { return page::kBeforeData; }
std::string_view PageEnd() { return page::kAfterData; }

std::string PageHead(const analysis::Report& report, const PagePath& path) {
  const model::Model& model = *report.model;
  const int64_t base_ns = model.begin_ns;
  const auto& run = report.breakdown;
  return fmt::format(
      "{{\"version\":{},\"base_ns\":\"{}\",\"end\":{},\"run\":[{},{}],\"classes\":{},"
      "\"absent\":{},\"devices\":{},\"processes\":{},\"series\":{},\"reasons\":{},\"path\":{},"
      "\"report\":{},",
      kPageVersion, base_ns, Less(model.end_ns, base_ns), Less(run.begin_ns, base_ns),
      Less(run.end_ns, base_ns), ClassesJson(), AbsentJson(model), DevicesJson(model),
      ProcessesJson(model), PageSeriesJson(report, base_ns), PageReasonsJson(), path.Json(),
      ReportJson(report));
}

}  // namespace acceltrace::view
