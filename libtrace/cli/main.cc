// SPDX-License-Identifier: Apache-2.0
//
// acceltrace: where did the time go, how certain is that, and what would have to change to get it
// back?
#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libtrace/base/output.h"
#include "libtrace/base/utf8.h"
#include "libtrace/base/version.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/inherited.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::cli {

int Fail(int status, const std::string& message) {
  // The message may quote file names and contents of a trace.
  std::fprintf(stderr, "acceltrace: %s\n", Printable(message).c_str());
  return status;
}

void AddTraceFile(Verb* verb, std::string* file) {
  verb->AddOption("FILE", file, "a trace, - for stdin, or a daemon's live socket")
      .TypeName("")
      .Required();
}

namespace {

// Describes what is wrong with the command line. An unknown word may be in the place of a known
// one, so it is named first.
std::string Misuse(const CLI::App& app, const CLI::ParseError& error) {
  for (const std::string& word : app.remaining(true)) {
    if (word != "--") return (word[0] == '-' ? "unknown option " : "unexpected word ") + word;
  }
  return error.what();
}

// Returns a file that is read and that printing the answer would overwrite, or an empty string.
std::string ReadAndWritten(const CLI::App& app) {
  const FileId out = RegularFile(STDOUT_FILENO);
  if (out == FileId()) return "";
  for (const CLI::App* verb : app.get_subcommands()) {
    for (const CLI::Option* option : verb->get_options()) {
      if (option->check_lname("output") || option->check_lname("junit")) continue;
      for (const std::string& word : option->results()) {
        if (RegularFile(word) == out) return word;
      }
    }
  }
  return "";
}

void AddAll(Verb* verbs, Run* run, std::vector<std::string>* trailing) {
  AddRecord(verbs, run, trailing);
  AddService(verbs, run);
  AddReport(verbs, run);
  AddVerify(verbs, run);
  AddExport(verbs, run);
  AddHtml(verbs, run);
  AddServe(verbs, run);
  AddCriticalPath(verbs, run);
  AddWhatIf(verbs, run);
  AddCheck(verbs, run);
  AddQuery(verbs, run);
  AddDiff(verbs, run);
  AddTop(verbs, run);
  AddPack(verbs, run);
  AddDevices(verbs, run);
  AddProviders(verbs, run);
}

// Describing the options of all verbs takes as long as a short answer, so for these verbs, only the
// selected one is added. Returns false for other verbs.
bool AddOnly(std::string_view asked, Verb* verbs, Run* run) {
  constexpr std::pair<std::string_view, void (*)(Verb*, Run*)> kVerbs[] = {
      {"report", AddReport}, {"verify", AddVerify}, {"export", AddExport},
      {"check", AddCheck},   {"query", AddQuery},   {"diff", AddDiff}};
  for (const auto& [name, add] : kVerbs) {
    if (asked == name) return add(verbs, run), true;
  }
  return false;
}

// After an option with several words, CLI11 takes -- as the end of these words only. An option
// without effect in between makes it end all options.
std::vector<const char*> EndOptions(CLI::App* app, std::vector<const char*> words) {
  static constexpr char kNothing[] = "--no-more-options";
  for (CLI::App* verb : app->get_subcommands([](CLI::App*) { return true; })) {
    verb->add_flag(kNothing)->group("");  // hidden in help
  }
  const auto end = std::find(words.begin(), words.end(), std::string_view("--"));
  if (end - words.begin() >= 2 && end != words.end()) words.insert(end, kNothing);
  return words;
}

int Main(int argc, char** argv) {
  CLI::App app("Tracing and performance analysis for PCIe accelerators.", "acceltrace");
  app.set_version_flag("--version", std::string("acceltrace ") + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 fine; 1 a finding or a failed run: also a trace that is damaged, lossy or "
      "cut "
      "short, or a verdict that is withheld; 2 misuse. See acceltrace(1).");
  Verb verbs(&app);
  Run run;
  // For record, the words after -- are the recorded command; for other verbs, they are arguments
  // that are not options.
  std::vector<std::string> trailing;
  const bool records = argc >= 2 && std::string_view(argv[1]) == "record";
  for (int i = 2; records && i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    trailing.assign(argv + i + 1, argv + argc);
    argc = i;
  }
  const bool alone = AddOnly(argc >= 2 ? argv[1] : "", &verbs, &run);
  if (!alone) AddAll(&verbs, &run, &trailing);
  const std::vector<const char*> words = EndOptions(&app, {argv, argv + argc});
  // Listing the verbs is more helpful than CLI11's message that one is missing.
  if (argc >= 2 && argv[1][0] != '-') {
    std::string verbs;
    bool known = false;
    for (const CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) {
      known = known || verb->get_name() == argv[1];
      verbs += (verbs.empty() ? "" : ", ") + verb->get_name();
    }
    if (!known) {
      return Fail(kMisuse, std::string("no verb ") + argv[1] + ": one of " + verbs);
    }
  }
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::string help = "acceltrace --help";
    for (const CLI::App* verb : app.get_subcommands()) {
      help = "acceltrace " + verb->get_name() + " --help";
    }
    return Fail(kMisuse, Misuse(app, error) + "; see " + help);
  }
  if (const std::string file = ReadAndWritten(app); !file.empty()) {
    return Fail(kMisuse, (file == "-" ? "stdin" : file) +
                             " is read, and stdout is the same file: send the answer elsewhere");
  }
  return run ? run() : kMisuse;
}

}  // namespace
}  // namespace acceltrace::cli

int main(int argc, char** argv) {
  acceltrace::cli::TakeInheritance();
  acceltrace::cli::EndTidily();
  // Errors in a damaged trace are reported by our own code.
  google::protobuf::SetLogHandler(nullptr);
  try {
    return acceltrace::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    return acceltrace::cli::Fail(acceltrace::cli::kFailed,
                                 "the memory that this process may have, or the room in TMPDIR for "
                                 "what a long export keeps there, is not enough: ask for less of "
                                 "the trace, by --from and --to");
  }
}
