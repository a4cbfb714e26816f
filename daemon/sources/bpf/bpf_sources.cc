// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/bpf_sources.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "daemon/base/host_info.h"
#include "daemon/bpf/tracer.skel.h"
#include "daemon/sources/bpf/api_source.h"
#include "daemon/sources/bpf/bpf_calibration.h"
#include "daemon/sources/bpf/bpf_source.h"
#include "daemon/sources/bpf/function_source.h"
#include "daemon/sources/bpf/provider_source.h"

namespace acceltrace::daemon {
namespace {

// Kinds with an event of their own. A job's other steps are recorded at its end, the begin of a
// wait at the end of the wait.
constexpr uint32_t kTracepointKinds[] = {
    proto::HostBatch::KIND_COMPLETE, proto::HostBatch::KIND_WAKE,
    proto::HostBatch::KIND_DMA_MAP,  proto::HostBatch::KIND_DMA_UNMAP,
    proto::HostBatch::KIND_CONTEXT,  proto::HostBatch::KIND_BUFFER,
    proto::HostBatch::KIND_TIMEOUT,  proto::HostBatch::KIND_RESET,
    proto::HostBatch::KIND_LINK,     proto::HostBatch::KIND_FENCE};
constexpr int kJobKinds = 2;  // the first of these, which the driver's own ring reports

void ReportTracepointCost(const Tracer& tracer, EventHandler* handler) {
  const bool jobs = tracer.options().jobs;
  const Measured program = CalibrateTracepoint(tracer.skeleton()->progs.calibrate_tracepoint);
  const bool stamped = jobs && program.ns > 0;
  const Measured stamps = stamped ? MeasureJobStamps() : Measured{};
  handler->OnEventCost(
      {"tracepoint",
       program.ns + stamps.ns,
       program.error_ns + stamps.error_ns,
       {std::begin(kTracepointKinds) + (jobs ? 0 : kJobKinds), std::end(kTracepointKinds)}});
}

void ReportSampleCost(const ProviderSource* provider, EventHandler* handler) {
  const Measured sample = CalibrateSample();
  handler->OnEventCost({"tracepoint",
                        sample.ns,
                        sample.error_ns,
                        {proto::HostBatch::KIND_SUBMIT, proto::HostBatch::KIND_DOORBELL,
                         proto::HostBatch::KIND_COMPLETE},
                        [provider] { return provider->fired(); }});
}

void ReportRingCosts(const ApiRings& rings, EventHandler* handler) {
  using Count = std::function<uint64_t()>;
  const auto add = [handler](const char* kind, const Measured& cost, Count count) {
    handler->OnEventCost({kind, cost.ns, cost.error_ns, {}, std::move(count)});
  };
  // Lost events are counted as begins of calls.
  add("shared-memory", MeasureRingEvent(RingCall::kBegin), [&rings] {
    const ApiRings::Written& written = rings.written();
    const uint64_t others = written.texts + written.ends + written.begins_without_stream;
    const uint64_t in = rings.Account().in;
    return in - std::min(in, others);
  });
  add("shared-memory-no-stream", MeasureRingEvent(RingCall::kBeginWithoutStream),
      [&rings] { return rings.written().begins_without_stream; });
  add("shared-memory-end", MeasureRingEvent(RingCall::kEnd),
      [&rings] { return rings.written().ends; });
  add("shared-memory-text", MeasureRingText(), [&rings] { return rings.written().texts; });
  EventCost set_up = {"shared-memory-ring"};
  set_up.events = [&rings] { return rings.written().rings; };
  set_up.each_ns = [&rings] {
    const ApiRings::Written& written = rings.written();
    return written.rings == 0 ? 0 : written.rings_ns / static_cast<double>(written.rings);
  };
  handler->OnEventCost(set_up);
}

// Deep stacks take longer, so each one is measured.
void ReportStackCost(tracer_bpf* skeleton, EventHandler* handler) {
  const auto runs = [skeleton] {
    return __atomic_load_n(&skeleton->bss->stack_runs, __ATOMIC_RELAXED);
  };
  EventCost cost = {"stack"};
  cost.events = runs;
  cost.each_ns = [skeleton, runs] {
    const uint64_t all_ns = __atomic_load_n(&skeleton->bss->stack_ns, __ATOMIC_RELAXED);
    return runs() == 0 ? 0 : static_cast<double>(all_ns) / static_cast<double>(runs());
  };
  handler->OnEventCost(cost);
}

}  // namespace

std::vector<std::unique_ptr<Source>> MakeBpfSources(const std::shared_ptr<Tracer>& tracer,
                                                    TrackedProcesses* tracked,
                                                    EventHandler* handler) {
  const BpfOptions& options = tracer->options();
  auto bpf = std::make_unique<BpfSource>(tracer, handler);
  tracked->AddListener(bpf.get());
  bpf->events().AddWatcher(tracked);
  std::unique_ptr<ApiSource> api;
  if (options.rings || options.usdt) {
    api = std::make_unique<ApiSource>(tracer, tracked, bpf.get(), handler);
    tracked->AddListener(api.get());
    bpf->events().AddWatcher(api.get());
  }
  std::unique_ptr<ProviderSource> provider;
  if (!options.roles.empty()) {
    const auto meanwhile = [bpf = bpf.get(), api = api.get()] {
      if (api != nullptr) api->BeforeDrain(MonotonicNs());
      bpf->Consume();
    };
    provider = std::make_unique<ProviderSource>(tracer, tracked, bpf.get(), meanwhile, handler);
    bpf->AddCompanion(provider.get());
  }
  std::unique_ptr<FunctionSource> functions;
  if (!options.functions.empty()) {
    functions = std::make_unique<FunctionSource>(tracer, bpf.get(), handler);
    bpf->AddCompanion(functions.get());
  }
  if (api) bpf->AddCompanion(api.get());

  // Must be done before attaching anything that would be measured as well.
  if (options.driver) {
    ReportTracepointCost(*tracer, handler);
  } else if (provider) {
    ReportSampleCost(provider.get(), handler);
  }
  if (options.rings) ReportRingCosts(api->rings(), handler);
  if (options.stacks) ReportStackCost(tracer->skeleton(), handler);

  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(std::move(bpf));
  if (provider) sources.push_back(std::move(provider));
  if (functions) sources.push_back(std::move(functions));
  if (api) sources.push_back(std::move(api));
  return sources;
}

}  // namespace acceltrace::daemon
