// SPDX-License-Identifier: Apache-2.0
//
// acceltrace pack: makes a finished trace smaller.
#include "libtrace/cli/pack.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <memory>

#include "libtrace/base/utf8.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::cli {
namespace {

int RunPack(const std::string& file, const std::string& target) {
  struct stat about {};
  if (file == "-" || (stat(file.c_str(), &about) == 0 && !S_ISREG(about.st_mode))) {
    return Fail(kMisuse, file + " is no file: it is read twice; write it to a file first");
  }
  // If it is packed in place, the file is only written after all of it has been read.
  const auto packed = target.empty() ? PackFile(file, file) : PackFile(file, target, {file});
  if (!packed.ok()) return Fail(kFailed, packed.message());
  const stream::PackedSize& size = packed.value();
  const double each =
      size.events == 0 ? 0
                       : static_cast<double>(size.after_bytes) / static_cast<double>(size.events);
  std::fprintf(stderr, "acceltrace: %s: %s, was %s; %.1f bytes an event\n",
               Printable(target.empty() ? file : target).c_str(),
               view::FormatBytes(size.after_bytes).c_str(),
               view::FormatBytes(size.before_bytes).c_str(), each);
  return kOk;
}

}  // namespace

Result<stream::PackedSize> PackFile(const std::string& file, const std::string& target,
                                    const std::vector<std::string>& inputs) {
  auto output = OutputFile::Create(target, inputs);
  if (!output.ok()) return output.status();
  auto packed =
      stream::PackTrace(file, [&](std::string_view bytes) { return output.value().Write(bytes); });
  if (!packed.ok()) return packed;
  if (Status status = output.value().Finish(); !status.ok()) return status;
  return packed;
}

void AddPack(Verb* app, Run* run) {
  Verb* verb = app->AddVerb("pack", "Write a finished trace in less room");
  auto file = std::make_shared<std::string>();
  auto output = std::make_shared<std::string>();
  verb->AddOption("FILE", file.get(), "a trace").TypeName("").Required();
  verb->AddOption("-o,--output", output.get(), "where to; FILE itself by default").TypeName("FILE");
  verb->Footer("It says the same as before. acceltrace record --pack does this at the end.");
  verb->Callback(
      [file, output, run] { *run = [file, output] { return RunPack(*file, *output); }; });
}

}  // namespace acceltrace::cli
