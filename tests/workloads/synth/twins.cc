// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/synth/twins.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/workloads/common/axl_cc.h"
#include "tests/workloads/patterns/bench.h"
#include "tests/workloads/synth/submit_knob.h"

namespace acceltrace::workloads {

constexpr size_t kSmallBytes = 4 << 10, kLargeBytes = 64 << 10, kPageableBytes = 256 << 10;
constexpr uint32_t kSmallCopies = 16, kJobs = 16, kTinyOps = 128, kTinyElements = 16;
constexpr uint32_t kRows = 16, kCols = 1024, kSide = 128;
constexpr uint32_t kStrided = 128, kStride = 32768, kStridedCols = 16;
constexpr double kThinkUs = 60;

// State shared by the rounds of a program.
class TwinRun {
 public:
  explicit TwinRun(bool is_mended) : mended(is_mended) {}

  Status Create() {
    AXL_TRY(axlStreamCreate(stream_.out()));
    for (float*& vector : dram) STATUS_TRY(Dram(&vector, kRows * kCols));
    for (float*& matrix : square) STATUS_TRY(Scratch(&matrix, kSide * kSide));
    for (float*& tiny_one : tiny) STATUS_TRY(Scratch(&tiny_one, kTinyOps * kTinyElements));
    STATUS_TRY(Dram(&copied, kPageableBytes / sizeof(float)));
    AXL_TRY(axlHostAlloc(host_memory_.emplace_back().out(), kPageableBytes));
    pinned = static_cast<char*>(host_memory_.back().get());
    pageable.resize(kPageableBytes, 1);
    return graph.Create();
  }
  Status Dram(float** pointer, size_t floats) {
    AXL_TRY(axlMalloc(memory_.emplace_back().out(), floats * sizeof(float)));
    *pointer = static_cast<float*>(memory_.back().get());
    return Status();
  }
  Status Scratch(float** pointer, size_t floats) {
    AXL_TRY(axlMallocScratch(memory_.emplace_back().out(), floats * sizeof(float)));
    *pointer = static_cast<float*>(memory_.back().get());
    return Status();
  }
  axlStream_t stream() const { return stream_.get(); }
  Status Compute() {
    const axlVector args = Vector(dram[0], dram[1], dram[2], kRows, kCols);
    AXL_TRY(axlLaunchVector("compute", axlVecAdd, &args, stream()));
    return Status();
  }

  const bool mended;
  GraphBuilder graph;
  float *dram[4], *square[3], *tiny[2], *copied = nullptr, *strided = nullptr;
  char* pinned = nullptr;
  std::vector<char> pageable;
  std::shared_ptr<void> pages;  // of the host, on page bounds

 private:
  Stream stream_;
  std::vector<DeviceMemory> memory_;
  std::vector<HostMemory> host_memory_;
};

namespace {

Status Nothing(TwinRun*) { return Status(); }
Status LaunchGraph(TwinRun* run, uint32_t) { return run->graph.Launch(run->stream()); }

Status Copies(TwinRun* run, axlMemcpyKind kind) {
  const uint32_t times = run->mended ? 1 : kSmallCopies;
  const size_t bytes = kSmallCopies * kSmallBytes / times;
  for (uint32_t i = 0; i < times; ++i) {
    char* on_device = reinterpret_cast<char*>(run->copied) + i * bytes;
    char* on_host = run->pinned + i * bytes;
    const bool in = kind == axlMemcpyHostToDevice;
    AXL_TRY(axlMemcpyAsync(in ? on_device : on_host, in ? on_host : on_device, bytes, kind,
                           run->stream()));
  }
  return run->Compute();
}
Status SmallCopiesIn(TwinRun* run, uint32_t) { return Copies(run, axlMemcpyHostToDevice); }
Status SmallCopiesOut(TwinRun* run, uint32_t) { return Copies(run, axlMemcpyDeviceToHost); }

Status WaitEach(TwinRun* run, uint32_t) {
  for (uint32_t i = 0; i < 4; ++i) {
    STATUS_TRY(run->Compute());
    if (!run->mended) AXL_TRY(axlStreamSynchronize(run->stream()));
  }
  return Status();
}

Status BlockingCopy(TwinRun* run, uint32_t) {
  STATUS_TRY(run->Compute());
  if (run->mended) {
    AXL_TRY(axlMemcpyAsync(run->pinned, run->copied, 1024, axlMemcpyDeviceToHost, run->stream()));
  } else {
    AXL_TRY(axlMemcpy(run->pinned, run->copied, 1024, axlMemcpyDeviceToHost));
  }
  return Status();
}

Status Pageable(TwinRun* run, uint32_t) {
  const char* source = run->mended ? run->pinned : run->pageable.data();
  AXL_TRY(axlMemcpyAsync(run->copied, source, kPageableBytes / 4, axlMemcpyHostToDevice,
                         run->stream()));
  return run->Compute();
}

Status Allocate(TwinRun* run, uint32_t) {
  if (!run->mended) {
    DeviceMemory memory;
    AXL_TRY(axlMalloc(memory.out(), kLargeBytes));
  }
  return run->Compute();
}

Status PreparePages(TwinRun* run) {
  void* pages = nullptr;
  if (posix_memalign(&pages, static_cast<size_t>(sysconf(_SC_PAGESIZE)), kLargeBytes) != 0) {
    return Status::Error("no memory");
  }
  run->pages = std::shared_ptr<void>(pages, std::free);
  for (size_t i = 0; i < kLargeBytes; i += 1024) static_cast<char*>(pages)[i] = 1;
  if (run->mended) AXL_TRY(axlHostRegister(pages, kLargeBytes));
  return Status();
}
Status Register(TwinRun* run, uint32_t) {
  if (!run->mended) AXL_TRY(axlHostRegister(run->pages.get(), kLargeBytes));
  AXL_TRY(axlMemcpyAsync(run->copied, run->pages.get(), kLargeBytes, axlMemcpyHostToDevice,
                         run->stream()));
  STATUS_TRY(run->Compute());
  if (!run->mended) {
    AXL_TRY(axlStreamSynchronize(run->stream()));
    AXL_TRY(axlHostUnregister(run->pages.get()));
  }
  return Status();
}

Status PrepareOverlap(TwinRun* run) {
  std::vector<axlNode> after;
  after.push_back(
      run->graph.Copy("copy_in", run->copied, run->pinned, kLargeBytes, axlMemcpyHostToDevice, {}));
  if (run->mended) after.clear();  // what is copied is for the next round
  for (int i = 0; i < 3; ++i) {
    after = {run->graph.Matmul(
        "matmul", Square(run->square[0], run->square[1], run->square[2], kSide), after)};
  }
  return run->graph.status();
}

Status PrepareRows(TwinRun* run) {
  STATUS_TRY(run->Dram(&run->strided, size_t{kStrided} * kStride));
  axlVector rows = Vector(run->strided, nullptr, run->tiny[0], kStrided, kStridedCols);
  if (!run->mended) rows.src0Stride = kStride;
  std::vector<axlNode> after;
  for (int i = 0; i < 4; ++i) after = {run->graph.Vector("gather", axlVecCopy, rows, after)};
  return run->graph.status();
}

Status PrepareFusion(TwinRun* run) {
  const axlVector silu = Vector(run->dram[0], nullptr, run->dram[3], kRows, kCols);
  const axlVector mul = Vector(run->dram[3], run->dram[1], run->dram[2], kRows, kCols);
  const axlVector both = Vector(run->dram[0], run->dram[1], run->dram[2], kRows, kCols);
  std::vector<axlNode> after;
  for (int i = 0; i < 4; ++i) {
    if (run->mended) {
      after = {run->graph.Vector("silu_mul", axlVecSiluMul, both, after)};
    } else {
      after = {run->graph.Vector("silu", axlVecSilu, silu, after)};
      after = {run->graph.Vector("mul", axlVecMul, mul, after)};
    }
  }
  return run->graph.status();
}

Status PrepareTiny(TwinRun* run) {
  const uint32_t times = run->mended ? 1 : kTinyOps;
  const axlVector tiny =
      Vector(run->tiny[0], nullptr, run->tiny[1], 1, kTinyElements * kTinyOps / times);
  std::vector<axlNode> after;
  for (uint32_t i = 0; i < times; ++i) {
    after = {run->graph.Vector("tiny", axlVecScale, tiny, after)};
  }
  return run->graph.status();
}

axlVector TinyArgs(const TwinRun& run) {
  return Vector(run.tiny[0], nullptr, run.tiny[1], 1, kTinyElements);
}
Status SmallJobs(TwinRun* run, uint32_t) {
  const axlVector tiny = TinyArgs(*run);
  if (run->mended) AXL_TRY(axlBatchBegin(run->stream()));
  for (uint32_t i = 0; i < kJobs; ++i) {
    AXL_TRY(axlLaunchVector("job", axlVecScale, &tiny, run->stream()));
  }
  if (run->mended) AXL_TRY(axlBatchEnd(run->stream()));
  return Status();
}

Status Program(TwinRun* run, uint32_t) {
  STATUS_TRY(run->Compute());
  if (!run->mended) Think(kThinkUs);
  return run->Compute();
}

constexpr Twin kTwins[] = {
    {"copies-in", "copies", Nothing, SmallCopiesIn},
    {"copies-out", "copies", Nothing, SmallCopiesOut},
    {"waits", "waits", Nothing, WaitEach},
    {"blocking-copy", "waits", Nothing, BlockingCopy},
    {"pageable", "pageable", Nothing, Pageable},
    {"allocation", "allocation", Nothing, Allocate},
    {"registration", "allocation", PreparePages, Register},
    {"overlap", "overlap", PrepareOverlap, LaunchGraph},
    {"rows", "rows", PrepareRows, LaunchGraph},
    {"fusion", "fusion", PrepareFusion, LaunchGraph},
    {"tiny-ops", "launch", PrepareTiny, LaunchGraph},
    {"small-jobs", "batch", Nothing, SmallJobs},
    {"program", "host", Nothing, Program},
};

}  // namespace

std::span<const Twin> Twins() { return kTwins; }

const Twin* FindTwin(const std::string& name) {
  for (const Twin& twin : kTwins) {
    if (name == twin.name) return &twin;
  }
  return nullptr;
}

Status RunTwin(const Twin& twin, bool mended, uint32_t rounds, int device, Region* region) {
  AXL_TRY(axlSetDevice(device));
  TwinRun run(mended);
  STATUS_TRY(run.Create());
  STATUS_TRY(twin.prepare(&run));
  SleepUntilStart();
  region->Begin();
  for (uint32_t round = 0; round < rounds; ++round) STATUS_TRY(twin.round(&run, round));
  AXL_TRY(axlDeviceSynchronize());
  region->End();
  if (mended && run.pages != nullptr) AXL_TRY(axlHostUnregister(run.pages.get()));
  return Status();
}

}  // namespace acceltrace::workloads
