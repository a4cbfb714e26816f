// SPDX-License-Identifier: Apache-2.0
//
// report-score [--json] TRACE TRUTH...: compares the figures of a trace's report with the truth
// logs of its devices. Exits 1 if an interval misses the truth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "libtrace/analysis/report/report.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/test_batches.h"
#include "libtrace/view/json/json.h"
#include "tests/scoring/figures.h"
#include "tests/scoring/truth.h"

namespace acceltrace::scoring {
namespace {

using nlohmann::json;

// A log's lines by (device, job, index), a job as index kJob.
Result<std::map<TruthKey, json>> ReadLines(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status::Error("cannot open " + path);
  std::map<TruthKey, json> lines;
  std::string text;
  while (std::getline(file, text)) {
    json line = json::parse(text, nullptr, false);
    if (line.is_discarded()) return Status::Error(path + ": not JSON");
    const std::string kind = line.value("t", "");
    if (kind != "cmd" && kind != "job") continue;
    const TruthKey key{line.value("dev", 0u), line.value("job", 0u),
                       kind == "cmd" ? line.value("index", 0u) : kJob};
    lines[key] = std::move(line);
  }
  return lines;
}

// The samples of any device tie the guest's clock to the truth's.
Result<TimeScale> ReadScale(const std::string& trace, const Truth& truth) {
  auto reader = stream::Reader::Open(trace);
  if (!reader.ok()) return reader.status();
  std::vector<clock::Sample> samples;
  proto::Packet packet;
  while (stream::ReadBatch(reader->get(), &packet) == stream::Reader::Next::kPacket) {
    if (packet.has_clocks()) clock::AppendSamples(packet.clocks(), &samples);
  }
  return MakeTimeScale(truth, samples);
}

Result<RunTruth> MakeRun(const model::Model& model, const std::map<TruthKey, json>& lines,
                         const TimeScale& scale) {
  RunTruth run;
  run.accuracy_ns = scale.accuracy_ns;
  // The accuracy of the guest's clock rates relative to each other.
  run.scale_error = 2e-9;
  run.commands.resize(model.commands.size());
  run.jobs.resize(model.jobs.size());
  std::map<std::pair<uint32_t, uint32_t>, double> doorbells;  // of a job's last command
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> last;
  for (size_t i = 0; i < model.commands.size(); ++i) {
    const model::Device& device = model.devices[model.commands.device[i]];
    const uint32_t number = device.about.device(), job = model.commands.job[i];
    const auto found = lines.find({number, job, model.commands.index[i]});
    if (found == lines.end()) return Status::Error("a command is not in the truth log");
    const json& line = found->second;
    const auto at = [&](const char* name) { return scale.At(line.at(name).get<int64_t>()); };
    const auto length = [&](const json& ns) { return scale.slope * ns.get<double>(); };
    CommandTruth& command = run.commands[i];
    command = {at("fetched_ns"),
               at("head_ns"),
               at("start_ns"),
               at("end_ns"),
               length(line.at("busy_ns")),
               {}};
    for (const std::string& cause : device.about.stalls()) {
      command.stalls.push_back(length(line.at("stall_ns").at(cause)));
    }
    // A wait in several parts: the log's head stands for all of it, too.
    const auto key = std::make_pair(number, job);
    if (!last.contains(key) || model.commands.index[i] >= last[key]) {
      last[key] = model.commands.index[i];
      doorbells[key] = at("doorbell_ns");
    }
  }
  for (size_t j = 0; j < model.jobs.size(); ++j) {
    if (!model.jobs.on_device[j]) continue;
    const uint32_t number = model.devices[model.jobs.device[j]].about.device();
    const auto found = lines.find({number, model.jobs.job[j], kJob});
    if (found == lines.end()) return Status::Error("a job is not in the truth log");
    const auto irq_ns = found->second.at("irq_ns").get<int64_t>();
    JobTruth& job = run.jobs[j];
    job = {doorbells[{number, model.jobs.job[j]}],
           INFINITY,
           INFINITY,
           -INFINITY,
           scale.At(found->second.at("completion_ns").get<int64_t>()),
           irq_ns == 0 ? 0 : scale.At(irq_ns)};
    for (uint32_t c = 0; c < model.jobs.num_commands[j]; ++c) {
      const CommandTruth& command = run.commands[model.jobs.first_command[j] + c];
      job.fetched = std::min(job.fetched, command.fetched);
      job.start = std::min(job.start, command.start);
      job.end = std::max(job.end, command.end);
    }
  }
  return run;
}

int Main(int argc, char** argv) {
  bool as_json = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      as_json = true;
    } else {
      files.emplace_back(argv[i]);
    }
  }
  if (files.size() < 2) {
    fmt::print(stderr, "usage: report-score [--json] TRACE TRUTH...\n");
    return 2;
  }
  const auto fail = [](const std::string& message) {
    fmt::print(stderr, "report-score: {}\n", message);
    return 1;
  };
  Truth truth;
  std::map<TruthKey, json> lines;
  for (size_t i = 1; i < files.size(); ++i) {
    const Status status = ReadTruth(files[i], &truth);
    if (!status.ok()) return fail(status.message());
    auto more = ReadLines(files[i]);
    if (!more.ok()) return fail(more.message());
    lines.merge(*more);
  }
  const auto scale = ReadScale(files[0], truth);
  if (!scale.ok()) return fail(scale.message());
  const auto model = model::LoadFile(files[0]);
  if (!model.ok()) return fail(model.message());
  const auto run = MakeRun(**model, lines, *scale);
  if (!run.ok()) return fail(run.message());
  const json report = json::parse(view::JsonReport(analysis::ComputeReport(**model)));
  const FigureScore score = ScoreFigures(**model, report, *run);
  if (as_json) {
    fmt::print("{}\n", json{{"figures", score.figures},
                            {"outside", score.outside},
                            {"worst", score.worst},
                            {"truth_accuracy_ns", run->accuracy_ns}}
                           .dump());
  } else {
    for (const std::string& line : score.worst) fmt::print("report-score: {}\n", line);
    fmt::print("{} figures, {} outside their interval; truth within {:.1f} ns\n", score.figures,
               score.outside, run->accuracy_ns);
  }
  return score.outside == 0 && score.figures > 0 ? 0 : 1;
}

}  // namespace
}  // namespace acceltrace::scoring

int main(int argc, char** argv) { return acceltrace::scoring::Main(argc, argv); }
