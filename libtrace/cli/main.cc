// SPDX-License-Identifier: Apache-2.0
//
// acceltrace: where did the time go, how sure are we, and what would have to
// change to get it back?
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libtrace/cli/command.h"
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
  // What follows after -- belongs to the command that is recorded.
  std::vector<std::string> trailing;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    trailing.assign(argv + i + 1, argv + argc);
    argc = i;
  }
  const bool alone = AddOnly(argc >= 2 ? argv[1] : "", &verbs, &run);
  if (!alone) AddAll(&verbs, &run, &trailing);
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
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::string help = "acceltrace --help";
    for (const CLI::App* verb : app.get_subcommands()) {
      help = "acceltrace " + verb->get_name() + " --help";
    }
    return Fail(kMisuse, Misuse(app, error) + "; see " + help);
  }
  if (!trailing.empty() && (alone || !app.got_subcommand("record"))) {
    return Fail(kMisuse, "a command after -- is for acceltrace record only");
  }
  return run ? run() : kMisuse;
}

}  // namespace
}  // namespace acceltrace::cli

int main(int argc, char** argv) {
  // A peer that goes away is an error of write(), not a death; see WriteAll() for stdout.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return acceltrace::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    return acceltrace::cli::Fail(acceltrace::cli::kFailed,
                                 "the memory that this process may have, or the room in TMPDIR for "
                                 "what a long export keeps there, is not enough: ask for less of "
                                 "the trace, by --from and --to");
  }
}
