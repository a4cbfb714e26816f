// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/whatif/replays.h"

#include <algorithm>

#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/analysis/whatif/replay_engine.h"

namespace acceltrace::analysis {
namespace {

// Replays of older editions are dropped beyond this number.
constexpr size_t kMostKnown = 256;

// A property that no replay can rule out.
constexpr uint8_t kAlways = 0x80;

// Returns how a reading differs from the most likely one.
uint8_t Difference(const Reading& reading) {
  const Reading likeliest;
  uint8_t open = reading.tracer != likeliest.tracer ? kAlways : 0;
  if (reading.keep_assumed != likeliest.keep_assumed) open |= ReplayEngine::kAssumed;
  if (reading.one_bank != likeliest.one_bank) open |= ReplayEngine::kBanks;
  if (reading.least_tags != likeliest.least_tags) open |= ReplayEngine::kTags;
  if (reading.keep_turns != likeliest.keep_turns) open |= ReplayEngine::kTurns;
  if (reading.keep_sleeps != likeliest.keep_sleeps) open |= ReplayEngine::kSleeps;
  if (reading.more_excess != likeliest.more_excess) open |= ReplayEngine::kExcess;
  return open;
}

bool Same(const Scales& a, const Scales& b) {
  return a.without_tracer == b.without_tracer && a.speed == b.speed;
}
bool Same(const Reading& a, const Reading& b) {
  return Difference(a) == Difference(b) && a.one_bank == b.one_bank &&
         a.more_excess == b.more_excess && a.tracer == b.tracer;
}

}  // namespace

Replays::Replays(const Graph& graph)
    : graph_(graph),
      traced_(std::any_of(graph.tracer_ns.begin(), graph.tracer_ns.end(),
                          [](float ns) { return ns != 0; })) {}
Replays::~Replays() = default;

const Replays::Known* Replays::Find(const Scales& scales, const Reading& reading) const {
  for (const Known& known : known_) {
    if (known.edition == graph_.edition && Same(known.scales, scales) &&
        Same(known.reading, reading)) {
      return &known;
    }
  }
  return nullptr;
}

void Replays::LeaveOutTracer(Scales* scales, Reading* reading) const {
  if (traced_) return;
  scales->without_tracer = false;
  reading->tracer = Reading().tracer;
}

double Replays::Run(const Scales& asked, const Reading& asked_reading) {
  ++asked_;
  Scales scales = asked;
  Reading reading = asked_reading;
  LeaveOutTracer(&scales, &reading);
  if (const Known* known = Find(scales, reading)) return known->ns;
  const uint8_t difference = Difference(reading);
  if (const Known* likeliest = Find(scales, {})) {
    if ((likeliest->open & difference) == 0) return likeliest->ns;
  }
  return Make(scales, reading, nullptr);
}

double Replays::Times(const Scales& asked, std::vector<double>* at_ns) {
  ++asked_;
  Scales scales = asked;
  Reading reading;
  LeaveOutTracer(&scales, &reading);
  return Make(scales, reading, at_ns);
}

double Replays::Make(const Scales& scales, const Reading& reading, std::vector<double>* at_ns) {
  ++made_;
  if (engine_ == nullptr) engine_ = std::make_unique<ReplayEngine>(graph_);
  const double ns = engine_->Run(scales, reading, at_ns);
  if (Find(scales, reading) != nullptr) return ns;
  if (known_.size() >= kMostKnown) {
    std::erase_if(known_, [](const Known& known) { return known.edition != 0; });
  }
  // In a graph with a cycle, no replay has examined everything that could differ.
  if (known_.size() < kMostKnown) {
    known_.push_back({graph_.edition, scales, reading, ns,
                      static_cast<uint8_t>(ns < 0 ? 0xff : engine_->open() | kAlways)});
  }
  return ns;
}

std::vector<double> Replays::RunAll(const Scales& scales) {
  std::vector<double> ns;
  for (const Reading& reading : Readings()) ns.push_back(Run(scales, reading));
  return ns;
}

bool Replays::Uses(Resource resource) {
  if (uses_edition_ != graph_.edition) FindUses();
  return uses_[resource];
}

void Replays::FindUses() {
  uses_edition_ = graph_.edition;
  uses_.fill(false);
  for (size_t e = 0; e < graph_.to.size(); ++e) {
    if (graph_.edge_ns[e] == 0 && graph_.excess_ns[e] == 0) continue;
    const Cause cause = graph_.edge_cause[e];
    uses_[kHostSpeed] |= cause == kByProgram || cause == kByCall || cause == kByCpu;
    uses_[kHostSubmit] |= cause == kBySubmitCall || cause == kByDriver;
    uses_[kHostWake] |= cause == kByWake;
  }
  for (size_t n = 0; n < graph_.size(); ++n) {
    const bool round_trip = graph_.cause[n] == kByFetch || graph_.cause[n] == kByCompletion;
    uses_[kPcieLatency] |= round_trip && graph_.cost_ns[n] > 0;
  }
  for (const DeviceRates& rates : graph_.rates) uses_[kPcieLatency] |= rates.least_tags > 0;
  for (size_t c = 0; c < graph_.demands.size(); ++c) {
    if (graph_.start_of[c] == Graph::kNone) continue;
    const Demand& demand = graph_.demands[c];
    uses_[kDispatch] |= demand.dispatch != 0;
    uses_[kThrottle] |= demand.throttled != 0;
    uses_[kPcieBandwidth] |= demand.link != 0 || demand.tag_wire != 0;
    uses_[kPcieLatency] |= demand.link_latency != 0 || demand.tag_latency != 0;
    uses_[kPcieTags] |= demand.tag_latency != 0 || demand.tag_wire != 0;
    uses_[kDramBandwidth] |= demand.memory != 0;
    uses_[kDramLatency] |= demand.memory_latency != 0;
    uses_[kDramRowCost] |= demand.rows > 0;
    uses_[kScratchpad] |= demand.scratch != 0;
    const std::vector<proto::Unit::Kind>& units =
        graph_.rates[graph_.device[graph_.start_of[c]]].units;
    if (demand.unit >= units.size() || (demand.own == 0 && demand.throttled == 0)) continue;
    uses_[kMatrixRate] |= units[demand.unit] == proto::Unit::KIND_MATRIX;
    uses_[kVectorRate] |= units[demand.unit] == proto::Unit::KIND_VECTOR;
  }
}

}  // namespace acceltrace::analysis
