// SPDX-License-Identifier: Apache-2.0
//
// Only loads a trace into the model, to measure the cost.
//
//   load-trace TRACE     one line of JSON
#include <cstdio>

#include "libtrace/model/tables/model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: load-trace TRACE\n", stderr);
    return 2;
  }
  const auto loaded = acceltrace::model::LoadFile(argv[1]);
  if (!loaded.ok()) {
    std::fprintf(stderr, "load-trace: %s\n", loaded.message().c_str());
    return 1;
  }
  const acceltrace::model::Model& model = *loaded.value();
  std::printf("{\"events\": %zu}\n", model.api.size() + model.ranges.size() + model.host.size() +
                                         model.jobs.size() + model.commands.size());
  return 0;
}
