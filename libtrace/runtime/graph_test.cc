// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "libtrace/runtime/names.h"
#include "libtrace/runtime/testing/fixture.h"
#include "tests/catch.h"

using namespace acceltrace::runtime;

namespace {

template <typename T>
T* Malloc(size_t count) {
  void* p = nullptr;
  AXL_OK(axlMalloc(&p, count * sizeof(T)));
  return static_cast<T*>(p);
}

std::string OpName(const axl_desc& command) {
  const auto* name = OpNames().Find(command.tag);
  return name ? name->text : "?";
}

// A graph of nodes that each read one cell and change another. Cells have one float each, and a
// node depends on the last writer and on all later readers of its cells.
class RandomGraph {
 public:
  static constexpr size_t kCells = 6;

  explicit RandomGraph(uint32_t seed) : random_(seed), cells_(Malloc<float>(kCells)) {
    void* host;
    AXL_OK(axlHostAlloc(&host, kCells * sizeof(float)));
    shadow_ = static_cast<float*>(host);
    AXL_OK(axlMemcpy(cells_, expected_.data(), sizeof expected_, axlMemcpyHostToDevice));
    AXL_OK(axlGraphCreate(&graph_));
  }

  axlGraph_t graph() const { return graph_; }

  axlNode AddNode() {
    const size_t from = random_() % kCells, to = random_() % kCells;
    switch (random_() % 4) {
      case 0:
        return AddSum(from, to);
      case 1:
        return AddSquare(from, to);
      case 2:
        return AddCopyOut(from, to);
      default:
        return AddCopyIn(from, to);
    }
  }

  void CheckResult() const {
    std::vector<float> result(kCells);
    AXL_OK(axlMemcpy(result.data(), cells_, sizeof expected_, axlMemcpyDeviceToHost));
    for (size_t i = 0; i < kCells; ++i) {
      INFO(i);
      REQUIRE(std::memcmp(&result[i], &expected_[i], 4) == 0);
      REQUIRE(std::memcmp(&shadow_[i], &shadow_expected_[i], 4) == 0);
    }
  }

 private:
  struct Uses {
    int writer = -1;
    std::vector<int> readers;
  };

  // Returns the dependencies of a node that reads one cell and writes the other.
  std::vector<axlNode> Dependencies(const void* read, const void* written) {
    std::set<axlNode> deps;
    for (const void* cell : {read, written}) {
      if (uses_[cell].writer >= 0) deps.insert(static_cast<axlNode>(uses_[cell].writer));
    }
    for (const int reader : uses_[written].readers) deps.insert(static_cast<axlNode>(reader));
    return {deps.begin(), deps.end()};
  }
  axlNode Added(axlNode node, const void* read, const void* written) {
    uses_[written].writer = static_cast<int>(node);
    uses_[written].readers.clear();
    if (read != written) uses_[read].readers.push_back(static_cast<int>(node));
    return node;
  }

  axlNode AddSum(size_t from, size_t to) {  // vector: cells[to] += cells[from]
    const auto deps = Dependencies(&cells_[from], &cells_[to]);
    axlVector vec = {};
    vec.src0 = &cells_[to];
    vec.src1 = &cells_[from];
    vec.dst = &cells_[to];
    vec.rows = vec.cols = 1;
    axlNode node;
    AXL_OK(axlGraphAddVector(graph_, &node, deps.data(), deps.size(), "add", axlVecAdd, &vec));
    expected_[to] += expected_[from];
    return Added(node, &cells_[from], &cells_[to]);
  }
  axlNode AddSquare(size_t from, size_t to) {  // matrix: cells[to] = 0.5 * cells[from]^2
    const auto deps = Dependencies(&cells_[from], &cells_[to]);
    axlMatmul mm = {};
    mm.a = mm.b = &cells_[from];
    mm.c = &cells_[to];
    mm.m = mm.n = mm.k = 1;
    mm.alpha = 0.5f;
    axlNode node;
    AXL_OK(axlGraphAddMatmul(graph_, &node, deps.data(), deps.size(), "square", &mm));
    expected_[to] = expected_[from] * expected_[from] * 0.5f;
    return Added(node, &cells_[from], &cells_[to]);
  }
  axlNode AddCopyOut(size_t from, size_t to) {
    const auto deps = Dependencies(&cells_[from], &shadow_[to]);
    axlNode node;
    AXL_OK(axlGraphAddMemcpy(graph_, &node, deps.data(), deps.size(), "out", &shadow_[to],
                             &cells_[from], 4, axlMemcpyDeviceToHost));
    shadow_expected_[to] = expected_[from];
    return Added(node, &cells_[from], &shadow_[to]);
  }
  axlNode AddCopyIn(size_t from, size_t to) {
    const auto deps = Dependencies(&shadow_[from], &cells_[to]);
    axlNode node;
    AXL_OK(axlGraphAddMemcpy(graph_, &node, deps.data(), deps.size(), "in", &cells_[to],
                             &shadow_[from], 4, axlMemcpyHostToDevice));
    expected_[to] = shadow_expected_[from];
    return Added(node, &shadow_[from], &cells_[to]);
  }

  std::mt19937 random_;
  float* const cells_;
  float* shadow_;
  std::array<float, kCells> expected_ = {1, 2, 3, 4, 5, 6}, shadow_expected_ = {};
  std::map<const void*, Uses> uses_;
  axlGraph_t graph_;
};

}  // namespace

TEST_CASE("random graphs over all engines give the sequential result") {
  const uint32_t seed = GENERATE(range(1u, 41u));
  Fixture f({0}, seed);
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  RandomGraph graph(seed);
  for (axlNode i = 0; i < 60; ++i) REQUIRE(graph.AddNode() == i);
  AXL_OK(axlGraphLaunch(graph.graph(), nullptr));
  AXL_OK(axlDeviceSynchronize());
  REQUIRE(f.kernel.jobs().size() == 2);  // the first copy, and the graph as one job
  graph.CheckResult();
  REQUIRE_FALSE(f.kernel.deadlocked());
}

TEST_CASE("dependencies on three other engines take a join, two do not") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  void* host;
  AXL_OK(axlHostAlloc(&host, 64));
  float* x = Malloc<float>(16);
  float* y = Malloc<float>(16);
  axlGraph_t g;
  AXL_OK(axlGraphCreate(&g));
  axlNode h2d, d2h, mm_node, v;
  AXL_OK(axlGraphAddMemcpy(g, &h2d, nullptr, 0, nullptr, x, host, 4, axlMemcpyHostToDevice));
  AXL_OK(axlGraphAddMemcpy(g, &d2h, nullptr, 0, nullptr, static_cast<float*>(host) + 8, y, 4,
                           axlMemcpyDeviceToHost));
  axlMatmul mm = {};
  mm.a = mm.b = y;
  mm.c = y + 4;
  mm.m = mm.n = mm.k = 1;
  mm.alpha = 1;
  AXL_OK(axlGraphAddMatmul(g, &mm_node, nullptr, 0, nullptr, &mm));
  axlVector vec = {};
  vec.dst = y + 8;
  vec.rows = vec.cols = 1;
  const axlNode deps[] = {h2d, d2h, mm_node};
  const size_t num_deps = GENERATE(2u, 3u);
  AXL_OK(axlGraphAddVector(g, &v, deps, num_deps, "last", axlVecFill, &vec));
  AXL_OK(axlGraphLaunch(g, nullptr));
  const auto job = f.kernel.jobs().back();
  REQUIRE(job.commands.size() == (num_deps == 2 ? 4 : 5));
  REQUIRE(OpName(job.commands[3]) == (num_deps == 2 ? "last" : "join"));
  REQUIRE(OpName(job.commands.back()) == "last");
  AXL_OK(axlGraphLaunch(g, nullptr));  // its roots must wait for all of the first launch
  AXL_OK(axlDeviceSynchronize());
  REQUIRE_FALSE(f.kernel.deadlocked());
}

TEST_CASE("independent nodes do not wait for each other") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  void* host;
  AXL_OK(axlHostAlloc(&host, 64));
  float* x = Malloc<float>(16);
  axlGraph_t g;
  AXL_OK(axlGraphCreate(&g));
  axlVector vec = {};
  vec.dst = x;
  vec.rows = vec.cols = 1;
  for (int i = 0; i < 3; ++i) {
    AXL_OK(axlGraphAddMemcpy(g, nullptr, nullptr, 0, "in", x + 1, host, 4, axlMemcpyHostToDevice));
    AXL_OK(axlGraphAddVector(g, nullptr, nullptr, 0, "fill", axlVecFill, &vec));
  }
  AXL_OK(axlGraphLaunch(g, nullptr));
  const auto job = f.kernel.jobs().back();
  for (const axl_desc& command : job.commands) {
    REQUIRE(command.wait_sem[0] == AXL_SEM_NONE);
    REQUIRE(command.wait_sem[1] == AXL_SEM_NONE);
  }
}

TEST_CASE("a graph of more than 1024 commands becomes several jobs in order") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  float* x = Malloc<float>(1);
  void* host;
  AXL_OK(axlHostAlloc(&host, 4));
  AXL_OK(axlMemsetD32Async(x, 0, 1, nullptr));
  axlGraph_t g;
  AXL_OK(axlGraphCreate(&g));
  axlVector vec = {};
  vec.src0 = vec.dst = x;
  vec.rows = vec.cols = 1;
  vec.alpha = 1;
  vec.beta = 1;
  axlNode previous = 0;
  constexpr int kCommands = 3000;
  for (int i = 0; i < kCommands; ++i)
    AXL_OK(axlGraphAddVector(g, &previous, &previous, i ? 1 : 0, "inc", axlVecScale, &vec));
  AXL_OK(axlGraphAddMemcpy(g, nullptr, &previous, 1, "out", host, x, 4, axlMemcpyDeviceToHost));
  AXL_OK(axlGraphLaunch(g, nullptr));
  REQUIRE(f.kernel.jobs().size() == 1 + 3);
  AXL_OK(axlDeviceSynchronize());
  REQUIRE(*static_cast<float*>(host) == kCommands);

  SECTION("when the second job is refused, the first one still counts") {
    f.kernel.FailIoctl(AXL_IOCTL_SUBMIT, ENOMEM, 1, 1);
    REQUIRE(axlGraphLaunch(g, nullptr) == axlErrorOutOfHostMemory);
    AXL_OK(axlMemcpyAsync(host, x, 4, axlMemcpyDeviceToHost, nullptr));
    AXL_OK(axlDeviceSynchronize());
    REQUIRE(*static_cast<float*>(host) > kCommands);
    REQUIRE_FALSE(f.kernel.deadlocked());
  }
}

TEST_CASE("graph errors") {
  Fixture f;
  float* x = Malloc<float>(4);
  axlGraph_t g;
  AXL_OK(axlGraphCreate(&g));
  AXL_OK(axlGraphLaunch(g, nullptr));  // the graph is empty
  axlVector vec = {};
  vec.dst = x;
  vec.rows = vec.cols = 1;
  axlNode n;
  const axlNode self = 0;
  REQUIRE(axlGraphAddVector(g, &n, &self, 1, nullptr, axlVecFill, &vec) == axlErrorInvalidValue);
  REQUIRE(axlGraphAddVector(g, &n, nullptr, 1, nullptr, axlVecFill, &vec) == axlErrorInvalidValue);
  REQUIRE(axlGraphAddVector(g, &n, nullptr, 0, nullptr, axlVecFill, nullptr) ==
          axlErrorInvalidValue);
  AXL_OK(axlGraphAddVector(g, &n, nullptr, 0, nullptr, axlVecFill, &vec));
  REQUIRE(n == 0);
  int pageable;
  REQUIRE(axlGraphAddMemcpy(g, &n, nullptr, 0, nullptr, x, &pageable, 4, axlMemcpyHostToDevice) ==
          axlErrorInvalidHostPointer);
  REQUIRE(axlGraphAddMemcpy(g, &n, nullptr, 0, nullptr, x, &pageable, 0, axlMemcpyHostToDevice) ==
          axlErrorInvalidValue);
  AXL_OK(axlGraphReset(g));
  AXL_OK(axlGraphAddVector(g, &n, nullptr, 0, nullptr, axlVecFill, &vec));
  REQUIRE(n == 0);
  AXL_OK(axlGraphDestroy(g));
  REQUIRE(axlGraphDestroy(g) == axlErrorInvalidHandle);
  REQUIRE(axlGraphLaunch(g, nullptr) == axlErrorInvalidHandle);
  REQUIRE(axlGraphCreate(nullptr) == axlErrorInvalidValue);
}

TEST_CASE("a graph belongs to one device") {
  Fixture f({0, 1});
  float* x0 = Malloc<float>(4);
  AXL_OK(axlSetDevice(1));
  float* x1 = Malloc<float>(4);
  axlGraph_t g;
  AXL_OK(axlGraphCreate(&g));
  axlVector vec = {};
  vec.rows = vec.cols = 1;
  vec.dst = x0;
  AXL_OK(axlGraphAddVector(g, nullptr, nullptr, 0, nullptr, axlVecFill, &vec));
  vec.dst = x1;
  REQUIRE(axlGraphAddVector(g, nullptr, nullptr, 0, nullptr, axlVecFill, &vec) ==
          axlErrorInvalidDevicePointer);
  REQUIRE(axlGraphLaunch(g, nullptr) == axlErrorInvalidValue);  // the current device's own stream
  AXL_OK(axlSetDevice(0));
  AXL_OK(axlGraphLaunch(g, nullptr));
}

TEST_CASE("a batch is one job in stream order") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  axlStream_t s;
  axlEvent_t e;
  AXL_OK(axlStreamCreate(&s));
  AXL_OK(axlEventCreate(&e));
  float* x = Malloc<float>(4);
  void* host;
  AXL_OK(axlHostAlloc(&host, 16));
  REQUIRE(axlBatchEnd(s) == axlErrorBatchState);
  AXL_OK(axlBatchBegin(s));
  REQUIRE(axlBatchBegin(s) == axlErrorBatchState);
  AXL_OK(axlMemsetD32Async(x, 0x40000000, 4, s));  // 2.0f
  axlVector vec = {};
  vec.src0 = vec.dst = x;
  vec.rows = 1;
  vec.cols = 4;
  vec.alpha = 3;
  AXL_OK(axlLaunchVector("triple", axlVecScale, &vec, s));
  AXL_OK(axlMemcpyAsync(host, x, 16, axlMemcpyDeviceToHost, s));
  int pageable[4];
  REQUIRE(axlMemcpyAsync(pageable, x, 16, axlMemcpyDeviceToHost, s) == axlErrorBatchState);
  REQUIRE(axlStreamSynchronize(s) == axlErrorBatchState);
  REQUIRE(axlStreamQuery(s) == axlErrorBatchState);
  REQUIRE(axlEventRecord(e, s) == axlErrorBatchState);
  REQUIRE(f.kernel.jobs().empty());
  AXL_OK(axlBatchEnd(s));
  REQUIRE(f.kernel.jobs().size() == 1);
  REQUIRE(f.kernel.jobs()[0].commands.size() == 3);
  uint64_t correlation;
  AXL_OK(axlGetCorrelation(&correlation));
  REQUIRE(f.kernel.jobs()[0].correlation == correlation);  // that of axlBatchEnd
  AXL_OK(axlStreamSynchronize(s));
  REQUIRE(static_cast<float*>(host)[3] == 6);
  AXL_OK(axlBatchBegin(s));
  AXL_OK(axlBatchEnd(s));
  REQUIRE(f.kernel.jobs().size() == 1);  // an empty batch is no job
}
