// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tests/workloads/observed/small.h"

namespace acceltrace::workloads {
namespace {

Status TinyLaunches(Meter* meter) {
  Small small;
  STATUS_TRY(small.Create());
  const uint32_t count = meter->CountOr(1000);
  return small.Measure(meter, count, [&]() -> Status {
    for (uint32_t i = 0; i < count; ++i) STATUS_TRY(small.Launch());
    return Status();
  });
}

Status SyncLaunches(Meter* meter) {
  Small small;
  STATUS_TRY(small.Create());
  const uint32_t count = meter->CountOr(500);
  return small.Measure(meter, count, [&]() -> Status {
    for (uint32_t i = 0; i < count; ++i) {
      STATUS_TRY(small.Launch());
      AXL_TRY(axlStreamSynchronize(small.bench.stream()));
    }
    return Status();
  });
}

// Sixteen launches per job.
Status Batches(Meter* meter) {
  Small small;
  STATUS_TRY(small.Create());
  const uint32_t count = meter->CountOr(200);
  return small.Measure(meter, 16 * count, [&]() -> Status {
    for (uint32_t i = 0; i < count; ++i) {
      AXL_TRY(axlBatchBegin(small.bench.stream()));
      for (int n = 0; n < 16; ++n) STATUS_TRY(small.Launch());
      AXL_TRY(axlBatchEnd(small.bench.stream()));
    }
    return Status();
  });
}

// Polls until the work is done.
Status Polling(Meter* meter) {
  Small small;
  STATUS_TRY(small.Create());
  const uint32_t count = meter->CountOr(200);
  return small.Measure(meter, count, [&]() -> Status {
    for (uint32_t i = 0; i < count; ++i) {
      STATUS_TRY(small.Launch());
      axlError_t state;
      while ((state = axlStreamQuery(small.bench.stream())) == axlErrorNotReady) {
      }
      AXL_TRY(state);
    }
    return Status();
  });
}

// Eight nested ranges and two marks for each launch.
Status Ranges(Meter* meter) {
  static constexpr const char* kNames[] = {"epoch",     "batch", "model", "block",
                                           "attention", "head",  "tile",  "op"};
  Small small;
  STATUS_TRY(small.Create());
  const uint32_t count = meter->CountOr(300);
  return small.Measure(meter, count, [&]() -> Status {
    for (uint32_t i = 0; i < count; ++i) {
      for (const char* name : kNames) axlRangePush(name);
      axlMark("before");
      STATUS_TRY(small.Launch());
      axlMark("after");
      for (size_t n = 0; n < std::size(kNames); ++n) axlRangePop();
    }
    return Status();
  });
}

// The host computes most of the time.
Status Thinking(Meter* meter) {
  Small small;
  STATUS_TRY(small.Create());
  const uint32_t count = meter->CountOr(100);
  volatile uint32_t work = 0;
  return small.Measure(meter, count, [&]() -> Status {
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t n = 0; n < 10000; ++n) work = work + n;
      STATUS_TRY(small.Launch());
    }
    return Status();
  });
}

Status Copies(Meter* meter, size_t bytes, uint32_t count, bool pageable, bool wait) {
  const size_t floats = bytes / sizeof(float);
  Bench bench;
  float *device, *host;
  STATUS_TRY(bench.Create());
  STATUS_TRY(bench.Dram(&device, floats));
  STATUS_TRY(bench.Host(&host, floats));
  std::vector<float> ordinary(floats, 7.0f);
  for (size_t i = 0; i < floats; ++i) host[i] = 7;
  const auto prepare = [&]() -> Status {
    AXL_TRY(axlMemsetD32Async(device, 0, floats, bench.stream()));
    AXL_TRY(axlStreamSynchronize(bench.stream()));
    return Status();
  };
  STATUS_TRY(meter->Measure(prepare, [&]() -> Status {
    for (uint32_t i = 0; i < count; ++i) {
      if (pageable) {
        AXL_TRY(axlMemcpy(device, ordinary.data(), bytes, axlMemcpyHostToDevice));
        continue;
      }
      AXL_TRY(axlMemcpyAsync(device, host, bytes, axlMemcpyHostToDevice, bench.stream()));
      if (wait) AXL_TRY(axlStreamSynchronize(bench.stream()));
    }
    return Status();
  }));
  PatternStats stats;
  STATUS_TRY(bench.Check(device, floats, 7, &stats));
  meter->AddWrong(stats.wrong);
  return Status();
}

Status SyncCopies(Meter* meter) { return Copies(meter, 64, meter->CountOr(600), false, true); }
Status PageableCopies(Meter* meter) { return Copies(meter, 64, meter->CountOr(600), true, true); }
Status SmallCopies(Meter* meter) { return Copies(meter, 4096, meter->CountOr(2000), false, false); }

// Graphs of a hundred commands that are so small that only their start takes time.
Status Dispatch(Meter* meter) {
  constexpr uint32_t kNodes = 100;
  Small small;
  STATUS_TRY(small.Create());
  for (uint32_t i = 0; i < kNodes; ++i)
    small.bench.graph().Vector("tiny", axlVecScale, small.increment, {});
  const uint32_t count = meter->CountOr(100);
  return small.Measure(meter, kNodes * count, [&]() -> Status {
    for (uint32_t i = 0; i < count; ++i)
      STATUS_TRY(small.bench.graph().Launch(small.bench.stream()));
    return Status();
  });
}

// Each graph is built when it is needed and used once.
Status Rebuilt(Meter* meter) {
  constexpr uint32_t kNodes = 24;
  Small small;
  STATUS_TRY(small.Create());
  const uint32_t count = meter->CountOr(150);
  return small.Measure(meter, kNodes * count, [&]() -> Status {
    GraphBuilder& graph = small.bench.graph();
    for (uint32_t i = 0; i < count; ++i) {
      graph.Clear();
      std::vector<axlNode> before;
      for (uint32_t n = 0; n < kNodes; ++n)
        before = {graph.Vector("step", axlVecScale, small.increment, before)};
      STATUS_TRY(graph.Launch(small.bench.stream()));
    }
    return Status();
  });
}

constexpr ObservedProgram kPrograms[] = {
    {"tiny-launches", "launches of one tiny command, never waiting", TinyLaunches},
    {"sync-launches", "each tiny launch is waited for", SyncLaunches},
    {"sync-copies", "copies of 64 bytes, each waited for", SyncCopies},
    {"pageable-copies", "the same of ordinary memory, by axlMemcpy", PageableCopies},
    {"small-copies", "copies of 4 KiB, never waiting", SmallCopies},
    {"dispatch", "graphs of a hundred tiny commands", Dispatch},
    {"rebuilt-graphs", "graphs built anew for each launch", Rebuilt},
    {"batches", "sixteen launches in one job", Batches},
    {"polling", "asks for the end of each launch until it has come", Polling},
    {"ranges", "eight ranges and two marks for each launch", Ranges},
    {"thinking", "the host computes between launches", Thinking},
};

}  // namespace

std::span<const ObservedProgram> CallPrograms() { return kPrograms; }

}  // namespace acceltrace::workloads
