// SPDX-License-Identifier: Apache-2.0
//
// clock-score [--json] [--no-ptm] [--unannounced] TRACE TRUTH...: compares device times of a trace
// with the truth logs of its devices. Prints a line for each device; exits 1 if an interval misses
// the truth. --no-ptm: ignores the driver's cross-timestamps. --unannounced: ignores the device's
// announcements of clock changes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "libtrace/model/tables/model.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/test_batches.h"
#include "libtrace/stream/file/writer.h"
#include "tests/scoring/score.h"
#include "tests/scoring/truth.h"

namespace acceltrace::scoring {
namespace {

struct Input {
  std::string bytes;  // of the trace, encoded again
  // Clock samples by device number, which the model does not keep.
  std::map<uint32_t, std::vector<clock::Sample>> samples;
  // Host times right before the clock was latched.
  std::map<uint32_t, std::vector<int64_t>> latches;
};

Result<Input> ReadTrace(const std::string& path, bool ptm, bool announced) {
  auto reader = stream::Reader::Open(path);
  if (!reader.ok()) return reader.status();
  Input input;
  stream::PacketEncoder encoder;
  proto::Packet packet;
  while (stream::ReadBatch(reader->get(), &packet) == stream::Reader::Next::kPacket) {
    if (packet.has_footer()) continue;
    if (packet.has_device_events() && !announced) continue;
    if (packet.has_clocks()) {
      if (!ptm) packet.mutable_clocks()->clear_has_ptm();
      clock::AppendSamples(packet.clocks(), &input.samples[packet.clocks().device()]);
    }
    if (packet.has_counters() && packet.counters().counter_size() == 0) {
      stream::DeltaDecoder before(packet.counters().host_before_ns_delta());
      std::vector<int64_t>& latches = input.latches[packet.counters().device()];
      for (int i = 0; i < packet.counters().time_ticks_delta_size(); ++i) {
        latches.push_back(before.Next());
      }
    }
    encoder.Append(&packet, 0, 0, &input.bytes);
  }
  return input;
}

// Matches converted device times with true times.
std::vector<TrueEvent> Match(const model::Model& model, uint32_t row, const Truth& truth,
                             const TimeScale& scale, uint64_t* unmatched) {
  std::vector<TrueEvent> events;
  const uint32_t device = model.devices[row].about.device();
  const auto add = [&](const model::DeviceTimes& times, size_t i, int64_t true_ns) {
    if (true_ns == 0) return;
    const double host_ns = scale.At(true_ns);
    events.push_back({times.RawTicks(i), static_cast<int64_t>(host_ns), host_ns, times.host[i]});
  };
  const auto find = [&](uint32_t job, uint32_t index) {
    const auto found = truth.events.find({device, job, index});
    *unmatched += found == truth.events.end();
    return found == truth.events.end() ? nullptr : &found->second;
  };
  for (size_t i = 0; i < model.commands.size(); ++i) {
    if (model.commands.device[i] != row) continue;
    const TrueTimes* times = find(model.commands.job[i], model.commands.index[i]);
    if (times == nullptr) continue;
    add(model.commands.fetched, i, times->fetched);
    add(model.commands.start, i, times->start);
    add(model.commands.end, i, times->end);
  }
  for (size_t i = 0; i < model.jobs.size(); ++i) {
    if (model.jobs.device[i] != row || !model.jobs.on_device[i]) continue;
    const TrueTimes* times = find(model.jobs.job[i], kJob);
    if (times == nullptr) continue;
    add(model.jobs.completion, i, times->completion);
    if (model.jobs.has_irq[i]) add(model.jobs.irq, i, times->irq);
  }
  return events;
}

// Orders between devices, and the number of slacks that miss the true one.
struct Edges {
  uint64_t orders = 0, outside = 0, contradicting = 0;
  int64_t width_ns = 0;  // median
};

Edges MatchEdges(const model::Model& model, const Truth& truth, const TimeScale& scale) {
  const model::DeviceOrders& orders = model.orders;
  Edges edges;
  std::vector<int64_t> widths;
  const auto find = [&](uint32_t row, uint32_t job) {
    const auto found = truth.events.find({model.devices[row].about.device(), job, kJob});
    return found == truth.events.end() ? nullptr : &found->second;
  };
  for (size_t i = 0; i < orders.slack.size(); ++i) {
    const TrueTimes* from = find(orders.from_device[i], orders.from_job[i]);
    const TrueTimes* to = find(orders.to_device[i], orders.to_job[i]);
    if (from == nullptr || to == nullptr || from->completion == 0 || to->doorbell == 0) continue;
    ++edges.orders;
    edges.contradicting += orders.slack[i].hi_ns < 0;
    // Two whole ns of the log; other uncertainties of the scale are the same at both ends.
    const double slack_ns = scale.At(to->doorbell) - scale.At(from->completion);
    edges.outside += slack_ns + 1 < static_cast<double>(orders.slack[i].lo_ns) ||
                     slack_ns - 1 > static_cast<double>(orders.slack[i].hi_ns);
    widths.push_back(orders.slack[i].width_ns());
  }
  if (widths.empty()) return edges;
  const auto middle = widths.begin() + static_cast<ptrdiff_t>(widths.size() / 2);
  std::nth_element(widths.begin(), middle, widths.end());
  edges.width_ns = *middle;
  return edges;
}

// The duration of a sample, measured in the burst at the start, where they are back to back.
double SampleCostNs(std::span<const clock::Sample> samples) {
  constexpr size_t kBurst = 24;  // less than there are in one
  if (samples.size() <= kBurst) return 0;
  std::vector<int64_t> apart_ns;
  for (size_t i = 1; i <= kBurst; ++i) {
    apart_ns.push_back(samples[i].host_before_ns - samples[i - 1].host_before_ns);
  }
  std::nth_element(apart_ns.begin(), apart_ns.begin() + kBurst / 2, apart_ns.end());
  return static_cast<double>(apart_ns[kBurst / 2]);
}

// The duration of latching the clock, since most latches are back to back.
double LatchCostNs(std::span<const int64_t> latches) {
  std::vector<int64_t> apart_ns;
  for (size_t i = 1; i < latches.size(); ++i) apart_ns.push_back(latches[i] - latches[i - 1]);
  if (apart_ns.empty()) return 0;
  const auto middle = apart_ns.begin() + static_cast<ptrdiff_t>(apart_ns.size() / 2);
  std::nth_element(apart_ns.begin(), middle, apart_ns.end());
  return static_cast<double>(*middle);
}

// Share of the time between the first and the last sample.
double SamplingShare(std::span<const clock::Sample> samples, std::span<const int64_t> latches) {
  const int64_t ns = samples.back().host_before_ns - samples.front().host_before_ns;
  const double cost_ns = static_cast<double>(samples.size()) * SampleCostNs(samples) +
                         static_cast<double>(latches.size()) * LatchCostNs(latches);
  return ns <= 0 ? 0 : cost_ns / static_cast<double>(ns);
}

void Print(const std::string& name, const Score& score, const TimeScale& scale,
           uint64_t unmatched) {
  const auto& q = score.quality;
  fmt::print("{}: {} events, {} outside their interval (by {:.0f} ns at most), {} without truth\n",
             name, score.events, score.outside, score.worst_outside_ns, unmatched);
  fmt::print(
      "  clock {:+.3f} ppm, {} samples ({} rejected), {} pieces, drift {:g} ppm/s, "
      "{} constraints ({} violated)\n",
      q.rate_ppm, q.samples, q.samples_rejected, q.pieces, q.drift_ppm_per_s, q.constraints,
      q.constraints_rejected);
  fmt::print(
      "  round trip {} ns at least; interval {:.0f} ns median, {:.0f} ns at most; truth "
      "within {:.0f} ns\n",
      q.round_trip_min_ns, score.width_median_ns, score.width_max_ns, scale.accuracy_ns);
  fmt::print("  {:<32} {:>12} {:>12} {:>12}\n", "true error, ns", "p50", "p99", "max");
  const auto row = [](const std::string& what, const Spread& e) {
    fmt::print("  {:<32} {:>12.1f} {:>12.1f} {:>12.1f}\n", what, e.p50_ns, e.p99_ns, e.max_ns);
  };
  row("acceltrace", score.error);
  for (const auto& rival : score.rivals) row(rival.name, rival.error);
}

int Main(int argc, char** argv) {
  bool json = false, ptm = true, announced = true;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (std::strcmp(argv[i], "--no-ptm") == 0) {
      ptm = false;
    } else if (std::strcmp(argv[i], "--unannounced") == 0) {
      announced = false;
    } else {
      files.emplace_back(argv[i]);
    }
  }
  if (files.size() < 2) {
    fmt::print(stderr, "usage: clock-score [--json] [--no-ptm] [--unannounced] TRACE TRUTH...\n");
    return 2;
  }
  const auto fail = [](const std::string& message) {
    fmt::print(stderr, "clock-score: {}\n", message);
    return 1;
  };
  Truth truth;
  for (size_t i = 1; i < files.size(); ++i) {
    const Status status = ReadTruth(files[i], &truth);
    if (!status.ok()) return fail(status.message());
  }
  auto input = ReadTrace(files[0], ptm, announced);
  if (!input.ok()) return fail(input.message());
  const auto reader = stream::Reader::FromMemory(input->bytes);
  if (!reader.ok()) return fail(reader.message());
  const auto model = model::Load(reader->get());
  if (!model.ok()) return fail(model.message());
  uint64_t outside = 0, events = 0;
  Edges edges;
  for (uint32_t row = 0; row < (*model)->devices.size(); ++row) {
    const model::Device& device = (*model)->devices[row];
    const auto found = input->samples.find(device.about.device());
    if (found == input->samples.end() || !device.clock.valid())
      return fail("a device without clock");
    const auto scale = MakeTimeScale(truth, found->second);
    if (!scale.ok()) return fail(scale.message());
    if (row == 0) edges = MatchEdges(**model, truth, *scale);
    uint64_t unmatched = 0;
    const Score score =
        ScoreOf(Match(**model, row, truth, *scale, &unmatched),
                MakeBaselines(clock::ClockInfo::From(device.about.clock()), found->second),
                device.clock.quality(), scale->accuracy_ns);
    outside += score.outside;
    events += score.events;
    if (json) {
      nlohmann::json line = ToJson(score);
      line["device"] = device.about.name();
      line["unmatched"] = unmatched;
      line["sample_cost_ns"] = SampleCostNs(found->second);
      const std::vector<int64_t>& latches = input->latches[found->first];
      line["latches"] = latches.size();
      line["latch_cost_ns"] = LatchCostNs(latches);
      line["sampling_share"] = SamplingShare(found->second, latches);
      line["edges"] = edges.orders;
      line["edges_outside"] = edges.outside;
      line["edges_contradicting"] = edges.contradicting;
      line["edges_width_median_ns"] = edges.width_ns;
      line["truth_accuracy_ns"] = scale->accuracy_ns;
      fmt::print("{}\n", line.dump());
    } else {
      Print(device.about.name(), score, *scale, unmatched);
    }
  }
  if (!json && edges.orders > 0) {
    fmt::print(
        "{} orders between devices: {} outside their interval, {} contradict; ±{} ns usually\n",
        edges.orders, edges.outside, edges.contradicting, (edges.width_ns + 1) / 2);
  }
  outside += edges.outside + edges.contradicting;
  return outside == 0 && events > 0 ? 0 : 1;
}

}  // namespace
}  // namespace acceltrace::scoring

int main(int argc, char** argv) { return acceltrace::scoring::Main(argc, argv); }
