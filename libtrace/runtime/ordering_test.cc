// SPDX-License-Identifier: Apache-2.0
//
// Random programs over streams, events, batches and graphs: whatever legal order the device
// chooses, the result must be that of the order of the calls.
#include <map>
#include <random>
#include <string>
#include <vector>

#include "libtrace/runtime/testing/fixture.h"
#include "tests/catch.h"

using namespace acceltrace::runtime;

namespace {

constexpr size_t kStreams = 5, kCells = 4, kCalls = 150;

// Any stream may access any cell of device memory, so each access must be ordered after the
// previous one, by the stream itself or by an event. Each access changes a cell's value by x := x *
// a + b, which is exact in float as long as the integers are small.
class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {
    void* p = nullptr;
    AXL_OK(axlMalloc(&p, kCells * sizeof(float)));
    cells_ = static_cast<float*>(p);
    AXL_OK(axlHostAlloc(&p, sizeof(float) * 2));
    one_ = static_cast<float*>(p);
    one_[0] = one_[1] = 1;
    AXL_OK(axlMalloc(&p, sizeof(float)));
    device_one_ = static_cast<float*>(p);
    AXL_OK(axlMemcpy(device_one_, one_, sizeof(float), axlMemcpyHostToDevice));
    const std::vector<float> zeros(kCells);
    AXL_OK(axlMemcpy(cells_, zeros.data(), kCells * sizeof(float), axlMemcpyHostToDevice));
    for (auto& stream : streams_) AXL_OK(axlStreamCreate(&stream));
    for (auto& event : events_) {
      AXL_OK(
          axlEventCreateWithFlags(&event, random_() % 2 ? axlEventDefault : axlEventDisableTiming));
    }
    AXL_OK(axlGraphCreate(&graph_));
  }

  void Run() {
    for (size_t call = 0; call < kCalls; ++call) {
      const size_t stream = random_() % kStreams, cell = random_() % kCells;
      Order(cell, stream);
      switch (random_() % 5) {
        case 0:
          Vector(cell, streams_[stream]);
          break;
        case 1:
          Matrix(cell, streams_[stream]);
          break;
        case 2:
          In(cell, streams_[stream]);
          break;
        case 3:
          Batch(cell, streams_[stream]);
          break;
        case 4:
          Graph(cell, stream);
          break;
      }
      if (random_() % 20 == 0) AXL_OK(axlStreamSynchronize(streams_[random_() % kStreams]));
      if (random_() % 40 == 0) Recreate();
    }
    AXL_OK(axlDeviceSynchronize());
    std::vector<float> result(kCells);
    AXL_OK(axlMemcpy(result.data(), cells_, kCells * sizeof(float), axlMemcpyDeviceToHost));
    for (size_t i = 0; i < kCells; ++i) {
      INFO(i);
      REQUIRE(result[i] == expected_[i]);
    }
  }

 private:
  // If the cell's last user was another stream, wait for it.
  void Order(size_t cell, size_t stream) {
    const size_t last = user_[cell];
    user_[cell] = stream;
    if (last == stream || last >= kStreams) return;
    const size_t event = next_event_++ % events_.size();
    AXL_OK(axlEventRecord(events_[event], streams_[last]));
    AXL_OK(axlStreamWaitEvent(streams_[stream], events_[event]));
  }

  axlVector Add(size_t cell) {
    axlVector vec = {};
    vec.src0 = vec.dst = cells_ + cell;
    vec.rows = vec.cols = 1;
    vec.alpha = expected_[cell] > 1000 ? 0.0f : 2.0f;
    vec.beta = static_cast<float>(random_() % 5);
    expected_[cell] = expected_[cell] * vec.alpha + vec.beta;
    return vec;
  }
  axlMatmul Increment(size_t cell) {  // adds 1 * 1
    axlMatmul mm = {};
    mm.a = mm.b = device_one_;
    mm.c = cells_ + cell;
    mm.m = mm.n = mm.k = 1;
    mm.alpha = 1;
    mm.flags = axlMatmulAccumulate;
    expected_[cell] += 1;
    return mm;
  }

  void Vector(size_t cell, axlStream_t stream) {
    const axlVector vec = Add(cell);
    AXL_OK(axlLaunchVector("add", axlVecScale, &vec, stream));
  }
  void Matrix(size_t cell, axlStream_t stream) {
    const axlMatmul mm = Increment(cell);
    AXL_OK(axlLaunchMatmul("increment", &mm, stream));
  }
  void In(size_t cell, axlStream_t stream) {
    AXL_OK(axlMemcpyAsync(cells_ + cell, one_, sizeof(float), axlMemcpyHostToDevice, stream));
    expected_[cell] = 1;
  }
  void Batch(size_t cell, axlStream_t stream) {
    AXL_OK(axlBatchBegin(stream));
    Vector(cell, stream);
    Matrix(cell, stream);
    Vector(cell, stream);
    AXL_OK(axlBatchEnd(stream));
  }
  // Several cells at once, each of which is a chain over two engines.
  void Graph(size_t cell, size_t stream) {
    AXL_OK(axlGraphReset(graph_));
    for (size_t other = 0; other < kCells; ++other) {
      if (other != cell && random_() % 2) continue;
      Order(other, stream);
      axlNode node;
      const axlVector first = Add(other);
      AXL_OK(axlGraphAddVector(graph_, &node, nullptr, 0, "first", axlVecScale, &first));
      if (random_() % 3 == 0) continue;
      const axlMatmul mm = Increment(other);
      AXL_OK(axlGraphAddMatmul(graph_, &node, &node, 1, "middle", &mm));
      if (random_() % 3 == 0) continue;
      const axlVector last = Add(other);
      AXL_OK(axlGraphAddVector(graph_, &node, &node, 1, "last", axlVecScale, &last));
    }
    AXL_OK(axlGraphLaunch(graph_, streams_[stream]));
  }
  // Destroys a stream with work in flight and reuses its slot. Only an event orders the new stream
  // after the old one's accesses.
  void Recreate() {
    const size_t stream = random_() % kStreams;
    const size_t event = next_event_++ % events_.size();
    AXL_OK(axlEventRecord(events_[event], streams_[stream]));
    AXL_OK(axlStreamDestroy(streams_[stream]));
    AXL_OK(axlStreamCreate(&streams_[stream]));
    AXL_OK(axlStreamWaitEvent(streams_[stream], events_[event]));
  }

  std::mt19937 random_;
  float* cells_ = nullptr;
  float* one_ = nullptr;
  float* device_one_ = nullptr;
  std::vector<float> expected_ = std::vector<float>(kCells);
  std::vector<axlStream_t> streams_ = std::vector<axlStream_t>(kStreams);
  std::vector<axlEvent_t> events_ = std::vector<axlEvent_t>(3);
  axlGraph_t graph_ = nullptr;
  std::vector<size_t> user_ = std::vector<size_t>(kCells, kStreams);
  size_t next_event_ = 0;
};

}  // namespace

TEST_CASE("random programs give the result of their order of calls") {
  const uint32_t seed = GENERATE(range(1u, 201u));
  Fixture f({0}, seed);
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  Program(seed * 7919).Run();
  REQUIRE_FALSE(f.kernel.deadlocked());
}

TEST_CASE("streams are spread over the context's queues") {
  Fixture f;
  axlStream_t a, b;
  AXL_OK(axlStreamCreate(&a));
  AXL_OK(axlStreamCreate(&b));
  void* p;
  AXL_OK(axlMalloc(&p, 64));
  AXL_OK(axlMemsetD32Async(p, 0, 4, a));
  AXL_OK(axlMemsetD32Async(p, 0, 4, b));
  REQUIRE(f.kernel.jobs()[0].queue != f.kernel.jobs()[1].queue);
}
