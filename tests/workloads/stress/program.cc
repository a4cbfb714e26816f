// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/stress/program.h"

#include <algorithm>
#include <vector>

namespace acceltrace::workloads {

Status StressProgram::SetUp() {
  AXL_TRY(axlMalloc(cells_.out(), kCells * kCellBytes));
  AXL_TRY(axlMalloc(identity_.out(), kCellBytes));
  AXL_TRY(axlMallocScratch(ones_.out(), kCellBytes));
  AXL_TRY(axlHostAlloc(in_.out(), kCellBytes));
  AXL_TRY(axlHostAlloc(out_.out(), kReadBacks * kCellBytes));
  std::vector<float> identity(kFloats), zeros(kCells * kFloats);
  for (uint32_t i = 0; i < kSide; ++i) identity[i * kSide + i] = 1;
  std::fill_n(static_cast<float*>(in_.get()), kFloats, 3.0f);
  streams_.resize(options_.streams);
  for (uint32_t i = 0; i < options_.streams; ++i) STATUS_TRY(CreateStream(i));
  events_.resize(kEvents);
  for (Event& event : events_)
    AXL_TRY(axlEventCreateWithFlags(event.out(), Pick(2) ? axlEventDisableTiming : 0));
  STATUS_TRY(graph_.Create());
  const axlStream_t first = streams_[0].get();
  AXL_TRY(
      axlMemcpyAsync(identity_.get(), identity.data(), kCellBytes, axlMemcpyHostToDevice, first));
  AXL_TRY(axlMemcpyAsync(cells_.get(), zeros.data(), kCells * kCellBytes, axlMemcpyHostToDevice,
                         first));
  AXL_TRY(axlMemsetD32Async(ones_.get(), 0x3f800000, kFloats, first));
  AXL_TRY(axlStreamSynchronize(first));
  return Status();
}

Status StressProgram::CreateStream(uint32_t stream) {
  const int priority = options_.priorities ? static_cast<int>(Pick(2)) : 1;
  AXL_TRY(axlStreamCreateWithPriority(streams_[stream].out(), priority));
  return Status();
}

Status StressProgram::Run() {
  axlRange range("stress");
  STATUS_TRY(SetUp());
  for (uint32_t i = 0; i < options_.calls; ++i) {
    STATUS_TRY(Call());
    ++stats_.calls;
  }
  STATUS_TRY(Settle());
  std::vector<float> last(kCells * kFloats);
  AXL_TRY(axlMemcpyAsync(last.data(), cells_.get(), kCells * kCellBytes, axlMemcpyDeviceToHost,
                         streams_[0].get()));
  for (uint32_t cell = 0; cell < kCells; ++cell)
    Check(last.data() + cell * kFloats, expected_[cell]);
  return Status();
}

Status StressProgram::Call() {
  const uint32_t index = Pick(options_.streams), cell = Pick(kCells);
  const axlStream_t stream = streams_[index].get();
  const uint32_t kind = Pick(32);
  if (kind == 0) return Settle();
  if (kind == 1) return Recreate(index);
  if (kind <= 7) return Graph(index);
  STATUS_TRY(Order(cell, index));
  switch (kind % 8) {
    case 0:
      return CopyIn(cell, stream);
    case 1:
      return CopyOut(cell, stream);
    case 2:
      return CopyAcross(cell, Pick(kCells), index);
    case 3:
      return Batch(cell, stream);
    case 4:
      return CopyPageable(cell, stream);
    case 5:
      return Matrix(cell, stream);
    default:
      return Vector(cell, stream);
  }
}

// If the cell was last used on another stream, an event orders this access after it.
Status StressProgram::Order(uint32_t cell, uint32_t stream) {
  const uint32_t last = std::exchange(user_[cell], stream);
  if (last == stream) return Status();
  const axlEvent_t event = events_[next_event_++ % kEvents].get();
  AXL_TRY(axlEventRecord(event, streams_[last].get()));
  AXL_TRY(axlStreamWaitEvent(streams_[stream].get(), event));
  return Status();
}

// Numbers stay small integers, which floats hold exactly.
axlVector StressProgram::NextScale(uint32_t cell) {
  axlVector vec = {};
  vec.src0 = vec.dst = Cell(cell);
  vec.rows = vec.cols = kSide;
  vec.alpha = expected_[cell] > 1000 ? 0.0f : 2.0f;
  vec.beta = static_cast<float>(Pick(5));
  expected_[cell] = expected_[cell] * vec.alpha + vec.beta;
  return vec;
}

// += identity * ones
axlMatmul StressProgram::NextIncrement(uint32_t cell) {
  axlMatmul mm = {};
  mm.a = identity_.get();
  mm.b = ones_.get();
  mm.c = Cell(cell);
  mm.m = mm.n = mm.k = kSide;
  mm.alpha = 1;
  mm.flags = axlMatmulAccumulate;
  expected_[cell] += 1;
  return mm;
}

Status StressProgram::Vector(uint32_t cell, axlStream_t stream) {
  const axlVector vec = NextScale(cell);
  AXL_TRY(axlLaunchVector("stress.scale", axlVecScale, &vec, stream));
  ++stats_.commands;
  return Status();
}

Status StressProgram::Matrix(uint32_t cell, axlStream_t stream) {
  const axlMatmul mm = NextIncrement(cell);
  AXL_TRY(axlLaunchMatmul("stress.increment", &mm, stream));
  ++stats_.commands;
  return Status();
}

Status StressProgram::CopyIn(uint32_t cell, axlStream_t stream) {
  AXL_TRY(axlMemcpyAsync(Cell(cell), in_.get(), kCellBytes, axlMemcpyHostToDevice, stream));
  expected_[cell] = 3;
  ++stats_.commands;
  return Status();
}

// The data is checked when everything has finished.
Status StressProgram::CopyOut(uint32_t cell, axlStream_t stream) {
  const uint32_t slot = next_read_back_++ % kReadBacks;
  if (read_backs_[slot].open) {
    STATUS_TRY(Settle());
  }
  AXL_TRY(axlMemcpyAsync(OutCell(slot), Cell(cell), kCellBytes, axlMemcpyDeviceToHost, stream));
  read_backs_[slot] = {true, expected_[cell]};
  ++stats_.commands;
  return Status();
}

Status StressProgram::CopyAcross(uint32_t from, uint32_t to, uint32_t stream) {
  if (from == to) return Status();
  STATUS_TRY(Order(to, stream));
  AXL_TRY(axlMemcpyAsync(Cell(to), Cell(from), kCellBytes, axlMemcpyDeviceToDevice,
                         streams_[stream].get()));
  expected_[to] = expected_[from];
  ++stats_.commands;
  return Status();
}

Status StressProgram::CopyPageable(uint32_t cell, axlStream_t stream) {
  std::vector<float> copy(kFloats);
  AXL_TRY(axlMemcpyAsync(copy.data(), Cell(cell), kCellBytes, axlMemcpyDeviceToHost, stream));
  Check(copy.data(), expected_[cell]);
  std::fill(copy.begin(), copy.end(), 5.0f);
  AXL_TRY(axlMemcpyAsync(Cell(cell), copy.data(), kCellBytes, axlMemcpyHostToDevice, stream));
  expected_[cell] = 5;
  stats_.commands += 2;
  return Status();
}

Status StressProgram::Batch(uint32_t cell, axlStream_t stream) {
  AXL_TRY(axlBatchBegin(stream));
  STATUS_TRY(Vector(cell, stream));
  STATUS_TRY(Matrix(cell, stream));
  STATUS_TRY(Vector(cell, stream));
  AXL_TRY(axlBatchEnd(stream));
  return Status();
}

// Some cells, each with its own chain across two engines.
Status StressProgram::Graph(uint32_t stream) {
  graph_.Clear();
  for (uint32_t cell = 0; cell < kCells; ++cell) {
    if (Pick(2)) continue;
    STATUS_TRY(Order(cell, stream));
    const axlVector first = NextScale(cell);
    axlNode node = graph_.Vector("stress.first", axlVecScale, first, {});
    if (Pick(3) == 0) continue;
    const axlMatmul mm = NextIncrement(cell);
    node = graph_.Matmul("stress.middle", mm, {node});
    if (Pick(3) == 0) continue;
    const axlVector last = NextScale(cell);
    graph_.Vector("stress.last", axlVecScale, last, {node});
  }
  stats_.commands += graph_.nodes();
  return graph_.Launch(streams_[stream].get());
}

// A stream is destroyed while its work is in flight; the next one must not overtake it.
Status StressProgram::Recreate(uint32_t stream) {
  const axlEvent_t event = events_[next_event_++ % kEvents].get();
  AXL_TRY(axlEventRecord(event, streams_[stream].get()));
  STATUS_TRY(CreateStream(stream));
  AXL_TRY(axlStreamWaitEvent(streams_[stream].get(), event));
  return Status();
}

Status StressProgram::Settle() {
  for (const Stream& stream : streams_) AXL_TRY(axlStreamSynchronize(stream.get()));
  for (uint32_t i = 0; i < kReadBacks; ++i) {
    if (read_backs_[i].open) Check(OutCell(i), read_backs_[i].expected);
    read_backs_[i].open = false;
  }
  return Status();
}

void StressProgram::Check(const float* cell, float expected) {
  ++stats_.checked;
  const bool right =
      std::all_of(cell, cell + kFloats, [&](float value) { return value == expected; });
  stats_.wrong += !right;
}

}  // namespace acceltrace::workloads
