// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>

#include "libtrace/runtime/testing/fixture.h"
#include "tests/catch.h"
#include "tests/workloads/transformer/compare.h"
#include "tests/workloads/transformer/inference.h"

using namespace acceltrace;
using namespace acceltrace::workloads;
using acceltrace::runtime::FakeKernel;
using acceltrace::runtime::Fixture;

namespace {

Config Small() {
  Config config;
  config.layers = 2;
  config.dim = 16;
  config.heads = 2;
  config.ffn = 24;
  config.vocab = 40;
  config.prompt = 5;
  config.tokens = 4;
  return config;
}

Comparison RunBoth(const Config& config, const RunOptions& options) {
  auto inference = Inference::Create(config, options);
  INFO(inference.message());
  REQUIRE(inference.ok());
  const auto prompt = MakePrompt(config);
  const auto generation = (*inference)->Run(prompt);
  INFO(generation.message());
  REQUIRE(generation.ok());
  return Compare(*generation, RunReference(config, (*inference)->weights(), prompt), config.vocab);
}

}  // namespace

TEST_CASE("the device's result is the reference's, in any legal order of execution") {
  RunOptions options;
  options.stream_weights = GENERATE(true, false);
  options.sync_each_step = GENERATE(true, false);
  options.rebuild_graphs = GENERATE(true, false);
  options.tile = GENERATE(7u, 16u, 96u);
  const uint32_t seed = GENERATE(1u, 2u, 3u);
  Fixture f({0}, seed);
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  const Comparison c = RunBoth(Small(), options);
  INFO(c.max_rel_error);
  REQUIRE(c.equal_tokens == c.steps);
  REQUIRE(c.ok());
  REQUIRE_FALSE(f.kernel.deadlocked());
}

TEST_CASE("other shapes") {
  Fixture f;
  Config config = Small();
  SECTION("one layer") { config.layers = 1; }
  SECTION("one token of prompt") { config.prompt = 1; }
  SECTION("prefill only") { config.tokens = 0; }
  SECTION("one head") { config.heads = 1; }
  SECTION("many heads") { config.heads = 8; }
  SECTION("odd sizes") {
    config.ffn = 37;
    config.vocab = 101;
    config.tokens = 7;
  }
  REQUIRE(RunBoth(config, RunOptions()).ok());
}

TEST_CASE("a small scratchpad makes buffers fall back to DRAM") {
  Fixture f;
  f.kernel.info().scratch_bytes = 8192;
  REQUIRE(RunBoth(Small(), RunOptions()).ok());
}

TEST_CASE("a wrong device is noticed") {
  const Config config = Small();
  std::vector<float> memory(Weights::Floats(config));
  const Weights weights(config, memory.data());
  const Generation reference = RunReference(config, weights, MakePrompt(config));
  REQUIRE(Compare(reference, reference, config.vocab).ok());
  Generation other = reference;
  SECTION("token") {
    other.tokens[2] ^= 1;
    REQUIRE(Compare(other, reference, config.vocab).equal_tokens == config.steps() - 1);
  }
  SECTION("logit") { other.logits[3] += 0.01f; }
  SECTION("NaN") { other.logits[3] = NAN; }
  SECTION("missing steps") { other.tokens.clear(); }
  REQUIRE_FALSE(Compare(other, reference, config.vocab).ok());
}

TEST_CASE("a failing command is reported by name") {
  Fixture f;
  f.kernel.FailCommand(AXL_ST_POISONED, 20);
  auto inference = Inference::Create(Small(), RunOptions());
  REQUIRE(inference.ok());
  const auto generation = (*inference)->Run(MakePrompt(Small()));
  REQUIRE_FALSE(generation.ok());
  INFO(generation.message());
  REQUIRE(generation.message().find("axlErrorLaunchFailure") != std::string::npos);
}

TEST_CASE("models that cannot work are refused") {
  Config config = Small();
  SECTION("heads") { config.heads = 3; }
  SECTION("odd head") { config.heads = 16; }
  SECTION("nothing") { config.dim = 0; }
  SECTION("layers") { config.layers = 0; }
  SECTION("vocab") { config.vocab = 1; }
  SECTION("prompt") { config.prompt = 0; }
  REQUIRE_FALSE(config.Check().ok());
}

TEST_CASE("the reference: attention over equal values is that value, rotary keeps lengths") {
  // With all weights but the embedding and head zero, the residual passes unchanged.
  Config config = Small();
  std::vector<float> memory(Weights::Floats(config));
  Weights weights(config, memory.data());
  float* const layers = memory.data() + config.vocab * config.dim;
  std::fill(layers, layers + config.layers * weights.layer_floats(), 0.0f);
  const auto prompt = MakePrompt(config);
  const Generation g = RunReference(config, weights, prompt);
  // Logits by hand: norm(embedding[last]) * gain * head.
  const float* const e = weights.embedding() + prompt.back() * config.dim;
  double square = 0;
  for (uint32_t i = 0; i < config.dim; ++i) square += e[i] * e[i];
  const double scale = 1 / std::sqrt(square / config.dim + kNormEpsilon);
  for (uint32_t t = 0; t < config.vocab; ++t) {
    double logit = 0;
    for (uint32_t i = 0; i < config.dim; ++i)
      logit += e[i] * scale * weights.final_norm()[i] * weights.head()[i * config.vocab + t];
    REQUIRE(g.logits[t] == Approx(logit).margin(1e-5));
  }
}

TEST_CASE("weights depend on the seed and on nothing else") {
  Config config = Small();
  std::vector<float> a(Weights::Floats(config)), b(a.size()), c(a.size());
  Weights wa(config, a.data()), wb(config, b.data());
  config.seed = 2;
  Weights wc(config, c.data());
  REQUIRE(a == b);
  REQUIRE(a != c);
  double sum = 0, square = 0;
  for (size_t i = 0; i < config.vocab * config.dim; ++i) sum += a[i], square += a[i] * a[i];
  const double n = config.vocab * config.dim;
  REQUIRE(std::abs(sum / n) < 0.1);
  REQUIRE(square / n == Approx(1).margin(0.15));
}
