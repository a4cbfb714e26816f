// SPDX-License-Identifier: Apache-2.0
//
// axl-transformer: decoder-only transformer inference on the accelerator, checked
// against the CPU. Exits 0 when right, 1 when wrong or failed, 2 on misuse.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/workloads/transformer/compare.h"
#include "tests/workloads/transformer/inference.h"

using namespace acceltrace;             // NOLINT: a program
using namespace acceltrace::workloads;  // NOLINT

namespace {

struct Arguments {
  Config config;
  RunOptions run;
  int device = 0;
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
  app.add_flag("--check,!--no-check", a.check, "compare with the CPU (default), or do not");
  app.add_flag("--json", a.json, "print one JSON object");
}

nlohmann::json ToJson(const Arguments& a, const Generation& generation, const RunStats& stats,
                      const std::optional<Comparison>& comparison) {
  nlohmann::json out = {{"schema", "axl-transformer/1"},
                        {"config",
                         {{"layers", a.config.layers},
                          {"dim", a.config.dim},
                          {"heads", a.config.heads},
                          {"ffn", a.config.ffn},
                          {"vocab", a.config.vocab},
                          {"prompt", a.config.prompt},
                          {"tokens", a.config.tokens},
                          {"seed", a.config.seed},
                          {"tile", a.run.tile},
                          {"stream_weights", a.run.stream_weights}}},
                        {"device", a.device},
                        {"tokens", generation.tokens},
                        {"jobs", stats.jobs},
                        {"commands", stats.commands},
                        {"host_ms", stats.host_ms},
                        {"checked", comparison.has_value()}};
  if (stats.device_ms >= 0) out["device_ms"] = stats.device_ms;
  if (comparison) {
    out["equal_tokens"] = comparison->equal_tokens;
    out["max_abs_error"] = comparison->max_abs_error;
    out["max_rel_error"] = comparison->max_rel_error;
    out["ok"] = comparison->ok();
  }
  return out;
}

void Print(const Arguments& a, const Generation& generation, const RunStats& stats,
           const std::optional<Comparison>& comparison) {
  const Config& c = a.config;
  std::printf("model: %u layers, dim %u, %u heads, ffn %u, vocab %u, weights %s\n", c.layers, c.dim,
              c.heads, c.ffn, c.vocab, a.run.stream_weights ? "streamed" : "resident");
  std::printf("tokens:");
  for (const uint32_t token : generation.tokens) std::printf(" %u", token);
  std::printf("\n%llu jobs, %llu commands, host %.3f ms",
              static_cast<unsigned long long>(stats.jobs),
              static_cast<unsigned long long>(stats.commands), stats.host_ms);
  if (stats.device_ms >= 0) std::printf(", device %.3f ms", stats.device_ms);
  std::printf("\n");
  if (!comparison) return;
  std::printf("check: %u of %u tokens equal, logits max error %.3g absolute, %.3g relative: %s\n",
              comparison->equal_tokens, comparison->steps, comparison->max_abs_error,
              comparison->max_rel_error, comparison->ok() ? "ok" : "WRONG");
}

Status Run(const Arguments& a, bool* ok) {
  AXL_TRY(axlSetDevice(a.device));
  auto inference = Inference::Create(a.config, a.run);
  if (!inference.ok()) return inference.status();
  const std::vector<uint32_t> prompt = MakePrompt(a.config);
  const auto generation = (*inference)->Run(prompt);
  if (!generation.ok()) return generation.status();
  std::optional<Comparison> comparison;
  if (a.check) {
    axlRange range("check");
    const Generation reference = RunReference(a.config, (*inference)->weights(), prompt);
    comparison = Compare(*generation, reference, a.config.vocab);
  }
  const RunStats& stats = (*inference)->stats();
  if (a.json)
    std::printf("%s\n", ToJson(a, *generation, stats, comparison).dump(2).c_str());
  else
    Print(a, *generation, stats, comparison);
  *ok = !comparison || comparison->ok();
  return Status();
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs decoder-only transformer inference on an axl accelerator and checks it.");
  AddOptions(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (const Status status = arguments.config.Check(); !status.ok()) {
    std::fprintf(stderr, "axl-transformer: %s\n", status.message().c_str());
    return 2;
  }
  bool ok = false;
  if (const Status status = Run(arguments, &ok); !status.ok()) {
    std::fprintf(stderr, "axl-transformer: %s\n", status.message().c_str());
    return 1;
  }
  return ok ? 0 : 1;
}
