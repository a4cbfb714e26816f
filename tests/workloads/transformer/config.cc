// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/transformer/config.h"

#include <string>

namespace acceltrace::workloads {

Status Config::Check() const {
  const auto bad = [](const char* what) {
    return Status::Error(std::string("this model does not work: ") + what);
  };
  if (!layers || layers > 1024) return bad("give 1 to 1024 --layers");
  if (!heads || !dim || dim > 65536 || dim % heads != 0)
    return bad("--dim must be a multiple of --heads and at most 65536");
  if (head_dim() % 2 != 0) return bad("--dim divided by --heads must be even (rotary pairs)");
  if (!ffn || ffn > 262144) return bad("give 1 to 262144 for --ffn");
  if (vocab < 2 || vocab > 262144) return bad("give 2 to 262144 for --vocab");
  if (!prompt || prompt > 65536) return bad("give 1 to 65536 for --prompt");
  if (tokens > 65536) return bad("give at most 65536 --tokens");
  return Status();
}

LayerLayout::LayerLayout(const Config& config) {
  const size_t d = config.dim, f = config.ffn;
  attn_norm = 0;
  qkv = attn_norm + d;
  out = qkv + d * 3 * d;
  ffn_norm = out + d * d;
  gate = ffn_norm + d;
  up = gate + d * f;
  down = up + d * f;
  floats = down + f * d;
}

}  // namespace acceltrace::workloads
