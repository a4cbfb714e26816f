// SPDX-License-Identifier: Apache-2.0
//
// acceltraced.
#include <cstdio>

#include "daemon/base/say.h"
#include "daemon/options.h"
#include "daemon/private_mode.h"
#include "daemon/service/config.h"
#include "daemon/service/service.h"
#include "libtrace/base/version.h"
#include "libtrace/stream/file/descriptor.h"

int main(int argc, char** argv) {
  acceltrace::stream::OpenStandardDescriptors();
  using acceltrace::daemon::Options;
  const auto options = acceltrace::daemon::ParseOptions(argc, argv);
  if (!options.ok()) {
    acceltrace::daemon::Say(options.message());
    return 2;
  }
  switch (options->mode) {
    case Options::Mode::kHelp:
      fputs(acceltrace::daemon::kUsage, stdout);
      return 0;
    case Options::Mode::kVersion:
      printf("acceltraced %s\n", acceltrace::kVersion);
      return 0;
    case Options::Mode::kPrivate:
      return acceltrace::daemon::RunPrivate(*options);
    case Options::Mode::kCheckConfig:
      return acceltrace::daemon::CheckConfig(options->config);
    case Options::Mode::kService:
      return acceltrace::daemon::RunService(*options);
  }
  return 2;
}
