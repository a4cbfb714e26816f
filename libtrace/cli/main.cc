// SPDX-License-Identifier: Apache-2.0
//
// acceltrace: where did the time go, how sure are we, and what would have to
// change to get it back?
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

#include "libtrace/cli/command.h"
#include "libtrace/cli/inherited.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/stream/output.h"
#include "libtrace/stream/version.h"
#include "libtrace/view/format.h"

namespace acceltrace::cli {

int Fail(int status, const std::string& message) {
  // It may quote file names, and what a trace holds.
  std::fprintf(stderr, "acceltrace: %s\n", view::Printable(message).c_str());
  return status;
}

void AddTraceFile(Verb* verb, std::string* file) {
  verb->AddOption("FILE", file, "a trace, - for stdin, or a daemon's live socket")
      .TypeName("")
      .Required();
}

namespace {

// What is wrong with the command line. An unknown word may stand where a known one
// is missed: it is named first.
std::string Misuse(const CLI::App& app, const CLI::ParseError& error) {
  for (const std::string& word : app.remaining(true)) {
    if (word != "--") return (word[0] == '-' ? "unknown option " : "unexpected word ") + word;
  }
  return error.what();
}

// What is read and would be written to by printing an answer; empty: nothing.
std::string ReadAndWritten(const CLI::App& app) {
  const stream::FileId out = stream::RegularFile(STDOUT_FILENO);
  if (out == stream::FileId()) return "";
  for (const CLI::App* verb : app.get_subcommands()) {
    for (const CLI::Option* option : verb->get_options()) {
      if (option->check_lname("output") || option->check_lname("junit")) continue;
      for (const std::string& word : option->results()) {
        if (stream::RegularFile(word) == out) return word;
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

// To describe the options of all verbs takes as long as a short answer: where it is one of these
// the others are not there. False: it is not.
bool AddOnly(std::string_view asked, Verb* verbs, Run* run) {
  constexpr std::pair<std::string_view, void (*)(Verb*, Run*)> kVerbs[] = {
      {"report", AddReport}, {"verify", AddVerify}, {"export", AddExport},
      {"check", AddCheck},   {"query", AddQuery},   {"diff", AddDiff}};
  for (const auto& [name, add] : kVerbs) {
    if (asked == name) return add(verbs, run), true;
  }
  return false;
}

// CLI11 takes a -- behind an option of several words as the end of these alone: with an option that
// says nothing between, it ends all options.
std::vector<const char*> EndOptions(CLI::App* app, std::vector<const char*> words) {
  static constexpr char kNothing[] = "--no-more-options";
  for (CLI::App* verb : app->get_subcommands([](CLI::App*) { return true; })) {
    verb->add_flag(kNothing)->group("");  // is not in help
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
  // What follows after -- belongs to the command that is recorded; of other verbs they are words
  // that are no options.
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
  // Which verbs there are is more help than that one is missing.
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
  // What a damaged trace holds is told in our own words.
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
