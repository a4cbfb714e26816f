// SPDX-License-Identifier: Apache-2.0
//
// axl-transformer: decoder-only transformer inference on the accelerator, checked
// against the CPU. Exits 0 when right, 1 when wrong or failed, 2 on misuse.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "tests/workloads/common/program.h"
#include "tests/workloads/transformer/compare.h"
#include "tests/workloads/transformer/inference.h"

using namespace acceltrace;             // NOLINT: a program
using namespace acceltrace::workloads;  // NOLINT

namespace {

struct Arguments {
  Config config;
  RunOptions run;
  int device = 0;
  int devices = 1;  // 0 = all
  bool check = true;
  bool json = false;
};

void AddOptions(CLI::App& app, Arguments& a) {
  app.add_option("--layers", a.config.layers, "transformer blocks")->capture_default_str();
  app.add_option("--dim", a.config.dim, "width of the residual stream")->capture_default_str();
  app.add_option("--heads", a.config.heads, "attention heads")->capture_default_str();
  app.add_option("--ffn", a.config.ffn, "width of the MLP")->capture_default_str();
  app.add_option("--vocab", a.config.vocab, "tokens there are")->capture_default_str();
  app.add_option("--prompt", a.config.prompt, "tokens given")->capture_default_str();
  app.add_option("--tokens", a.config.tokens, "tokens decoded after the prefill's own")
      ->capture_default_str();
  app.add_option("--seed", a.config.seed, "of weights and prompt")->capture_default_str();
  app.add_option("--tile", a.run.tile, "columns of one matmul command")->capture_default_str();
  app.add_flag("--stream-weights,!--no-stream-weights", a.run.stream_weights,
               "send each layer's weights while the layer before runs (default), or keep all in "
               "device memory");
  app.add_flag("--sync-each-step", a.run.sync_each_step,
               "wait for each token before submitting the next step");
  app.add_flag("--rebuild-graphs", a.run.rebuild_graphs,
               "build each graph when it is needed, not all before the start");
  app.add_option("--device", a.device, "number of the accelerator")->capture_default_str();
  app.add_option("--devices", a.devices, "run on this many accelerators at once; 0 = all")
      ->capture_default_str();
  app.add_flag("--check,!--no-check", a.check, "compare with the CPU (default), or do not");
  app.add_flag("--json", a.json, "print one JSON object");
}

// The same inference on one device.
struct Replica {
  int device = 0;
  Status status;
  Generation generation;
  RunStats stats;
  std::optional<Comparison> comparison;

  bool ok() const { return status.ok() && (!comparison || comparison->ok()); }
};

Status RunReplica(const Arguments& a, Replica* replica) {
  AXL_TRY(axlSetDevice(replica->device));
  auto inference = Inference::Create(a.config, a.run);
  if (!inference.ok()) return inference.status();
  const std::vector<uint32_t> prompt = MakePrompt(a.config);
  auto generation = (*inference)->Run(prompt);
  if (!generation.ok()) return generation.status();
  replica->generation = *std::move(generation);
  replica->stats = (*inference)->stats();
  if (!a.check) return Status();
  axlRange range("check");
  const Generation reference = RunReference(a.config, (*inference)->weights(), prompt);
  replica->comparison = Compare(replica->generation, reference, a.config.vocab);
  return Status();
}

Status DevicesToUse(const Arguments& a, std::vector<Replica>* replicas) {
  int there = 0;
  AXL_TRY(axlGetDeviceCount(&there));
  const int first = a.devices == 1 ? a.device : 0;
  const int count = a.devices == 0 ? there : a.devices;
  if (first < 0 || count < 0 || first + count > there)
    return Status::Error("there are " + std::to_string(there) + " devices, from 0");
  replicas->resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) (*replicas)[static_cast<size_t>(i)].device = first + i;
  return Status();
}

void RunAll(const Arguments& a, std::vector<Replica>* replicas) {
  if (replicas->size() == 1) {
    replicas->front().status = RunReplica(a, &replicas->front());
    return;
  }
  std::vector<std::thread> threads;
  for (Replica& replica : *replicas)
    threads.emplace_back([&a, &replica] { replica.status = RunReplica(a, &replica); });
  for (std::thread& thread : threads) thread.join();
}

double HostMs(const Replica& replica) {
  return static_cast<double>(replica.stats.region.duration_ns()) / 1e6;
}

nlohmann::json ToJson(const Replica& replica) {
  const RunStats& stats = replica.stats;
  nlohmann::json out = {{"device", replica.device},
                        {"tokens", replica.generation.tokens},
                        {"jobs", stats.jobs},
                        {"commands", stats.commands},
                        {"host_ms", HostMs(replica)},
                        {"checked", replica.comparison.has_value()},
                        {"ok", replica.ok()},
                        {"region_ns", stats.region.duration_ns()},
                        {"begin_tsc", stats.region.begin_tsc()},
                        {"end_tsc", stats.region.end_tsc()}};
  if (stats.device_ms >= 0) out["device_ms"] = stats.device_ms;
  if (replica.comparison) {
    out["equal_tokens"] = replica.comparison->equal_tokens;
    out["max_abs_error"] = replica.comparison->max_abs_error;
    out["max_rel_error"] = replica.comparison->max_rel_error;
  }
  if (!replica.status.ok()) out["error"] = replica.status.message();
  return out;
}

void PrintJson(const Arguments& a, const std::vector<Replica>& replicas) {
  const Config& c = a.config;
  nlohmann::json out = {{"schema", "axl-transformer/1"},
                        {"config",
                         {{"layers", c.layers},
                          {"dim", c.dim},
                          {"heads", c.heads},
                          {"ffn", c.ffn},
                          {"vocab", c.vocab},
                          {"prompt", c.prompt},
                          {"tokens", c.tokens},
                          {"seed", c.seed},
                          {"tile", a.run.tile},
                          {"stream_weights", a.run.stream_weights}}},
                        {"runs", nlohmann::json::array()}};
  for (const Replica& replica : replicas) out["runs"].push_back(ToJson(replica));
  std::printf("%s\n", out.dump(2).c_str());
}

void Print(const Arguments& a, const std::vector<Replica>& replicas) {
  const Config& c = a.config;
  std::printf("model: %u layers, dim %u, %u heads, ffn %u, vocab %u, weights %s\n", c.layers, c.dim,
              c.heads, c.ffn, c.vocab, a.run.stream_weights ? "streamed" : "resident");
  for (const Replica& replica : replicas) {
    if (!replica.status.ok()) continue;
    if (replicas.size() > 1) std::printf("device %d\n", replica.device);
    std::printf("tokens:");
    for (const uint32_t token : replica.generation.tokens) std::printf(" %u", token);
    std::printf("\n%llu jobs, %llu commands, host %.3f ms",
                static_cast<unsigned long long>(replica.stats.jobs),
                static_cast<unsigned long long>(replica.stats.commands), HostMs(replica));
    if (replica.stats.device_ms >= 0) std::printf(", device %.3f ms", replica.stats.device_ms);
    std::printf("\n");
    if (!replica.comparison) continue;
    const Comparison& k = *replica.comparison;
    std::printf("check: %u of %u tokens equal, logits max error %.3g absolute, %.3g relative: %s\n",
                k.equal_tokens, k.steps, k.max_abs_error, k.max_rel_error, k.ok() ? "ok" : "WRONG");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs decoder-only transformer inference on axl accelerators and checks it.");
  AddOptions(app, arguments);
  if (const auto status = ParseArguments(app, argc, argv)) return *status;
  if (const Status status = arguments.config.Check(); !status.ok())
    return Fail("axl-transformer", status, 2);
  std::vector<Replica> replicas;
  if (const Status status = DevicesToUse(arguments, &replicas); !status.ok())
    return Fail("axl-transformer", status);
  RunAll(arguments, &replicas);
  if (arguments.json) {
    PrintJson(arguments, replicas);
  } else {
    Print(arguments, replicas);
  }
  bool ok = true;
  for (const Replica& replica : replicas) {
    ok = ok && replica.ok();
    if (!replica.status.ok()) Fail("axl-transformer", replica.status);
  }
  return ok ? 0 : 1;
}
