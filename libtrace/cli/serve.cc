// SPDX-License-Identifier: Apache-2.0
//
// acceltrace serve: serves the page of a whole trace, on this machine only.
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/compare.h"
#include "libtrace/cli/filters.h"
#include "libtrace/cli/http_server.h"
#include "libtrace/cli/inherited.h"
#include "libtrace/cli/live_trace.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/query_runner.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/view/html/compare.h"
#include "libtrace/view/html/page_source.h"

namespace acceltrace::cli {
namespace {

constexpr size_t kMostTracks = 1000;

struct Options {
  std::string file, other;  // `other` is compared with it
  uint16_t port = 0;
  uint64_t query_seconds = QueryRunner::kSeconds;
  bool no_browser = false, live = false;
  Part selection;
};

// Parses times of the page, which may be fractions.
bool ParseTime(const std::string& text, int64_t* time) {
  const char* begin = text.data();
  const auto [end, error] = std::from_chars(begin, begin + text.size(), *time);
  return error == std::errc() && end == begin + text.size() && *time > INT64_MIN / 4 &&
         *time < INT64_MAX / 4;
}

HttpAnswer Bad(const char* what) {
  return {400, "text/plain; charset=utf-8", std::string(what) + "\n"};
}

HttpAnswer NotThere() { return {404, "text/plain; charset=utf-8", "no such thing here\n"}; }

class Arguments {
 public:
  explicit Arguments(const HttpRequest& request) : request_(request) {}
  const std::string& Text(const char* name) const {
    static const std::string none;
    const auto found = request_.arguments.find(name);
    return found == request_.arguments.end() ? none : found->second;
  }
  bool Window(int64_t* from, int64_t* to) const {
    return ParseTime(Text("from"), from) && ParseTime(Text("to"), to) && *from < *to;
  }

 private:
  const HttpRequest& request_;
};

HttpAnswer Handle(const view::PageSource& source, const HttpRequest& request) {
  const Arguments arguments(request);
  const auto event = source.ParseEvent(arguments.Text("s"));
  view::PageView view;
  int64_t number = 0;
  if (request.path.empty()) return {200, "text/html; charset=utf-8", source.Html()};
  if (request.path == "head") return {200, "", source.Head()};
  if (request.path == "window") {
    if (!arguments.Window(&view.from, &view.to) || !ParseTime(arguments.Text("pixels"), &number) ||
        number < 1) {
      return Bad("window?from=NS&to=NS&pixels=N[&s=KIND.ROW]");
    }
    view.pixels = static_cast<uint64_t>(number), view.selected = event;
    return {200, "", source.Window(view)};
  }
  if (request.path == "event") {
    return {200, "", event ? source.Event(*event) : "null"};
  }
  if (request.path == "step") {
    if (!event || !ParseTime(arguments.Text("by"), &number)) return Bad("step?s=KIND.ROW&by=1");
    return {200, "", source.Step(*event, number < 0 ? -1 : 1)};
  }
  if (request.path == "search") {
    if (!ParseTime(arguments.Text("at"), &number) || arguments.Text("q").empty()) {
      return Bad("search?q=TEXT&at=NS");
    }
    return {200, "", source.Search(arguments.Text("q"), number)};
  }
  if (request.path == "area") {
    if (!arguments.Window(&view.from, &view.to)) return Bad("area?from=NS&to=NS&tracks=ID,ID");
    std::vector<std::string> tracks(1);
    for (char c : arguments.Text("tracks")) {
      if (c != ',') {
        tracks.back() += c;
      } else if (tracks.size() < kMostTracks) {
        tracks.emplace_back();
      }
    }
    return {200, "", source.Area(view.from, view.to, tracks)};
  }
  return NotThere();
}

// Handles requests for the tables and for queries on them.
std::optional<HttpAnswer> HandleQuery(const model::Model& model, QueryRunner* queries,
                                      const HttpRequest& request) {
  const Arguments arguments(request);
  if (request.path == "tables") return HttpAnswer{200, "", queries->TablesJson(model)};
  if (request.path == "query") {
    const auto begun = queries->Start(model, request.body);
    if (!begun.ok()) return HttpAnswer{429, "text/plain; charset=utf-8", begun.message() + "\n"};
    return HttpAnswer{200, "", fmt::format("{{\"id\":{}}}", *begun)};
  }
  if (request.path != "answer" && request.path != "cancel") return std::nullopt;
  int64_t number = 0;
  if (!ParseTime(arguments.Text("id"), &number) || number < 1) return Bad("answer?id=N");
  if (request.path == "cancel") {
    if (!queries->Cancel(static_cast<uint64_t>(number))) return NotThere();
    return HttpAnswer{200, "", "{}"};
  }
  const auto answer = queries->Answer(static_cast<uint64_t>(number));
  return answer ? HttpAnswer{200, "", *answer} : NotThere();
}

// Returns the requests for an action; all others only read.
std::set<std::string> Posts() {
  std::set<std::string> posts;
  for (const std::string side : {"", "a/", "b/"}) {
    posts.insert(side + "query"), posts.insert(side + "cancel");
  }
  return posts;
}

// Opens the address in the user's browser. The address must not be on a command line, which all
// users of the machine can read, so it is in a file that only this user can read.
class BrowserPage {
 public:
  explicit BrowserPage(const std::string& url) {
    if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
    const char* temporary = std::getenv("TMPDIR");
    folder_ = fmt::format("{}/acceltrace-{}", temporary == nullptr ? "/tmp" : temporary,
                          std::string(6, 'X'));
    if (mkdtemp(folder_.data()) == nullptr) {
      folder_.clear();
      return;
    }
    file_ = folder_ + "/open.html";
    auto output = OutputFile::Create(file_, {});
    if (!output.ok() || chmod(folder_.c_str(), 0700) != 0) return;
    if (!output
             ->Write(fmt::format("<!DOCTYPE html><meta name=\"referrer\" content=\"no-referrer\">"
                                 "<meta http-equiv=\"refresh\" content=\"0;url={}\">",
                                 url))
             .ok() ||
        !output->Finish().ok()) {
      return;
    }
    Open();
  }
  BrowserPage(const BrowserPage&) = delete;
  BrowserPage& operator=(const BrowserPage&) = delete;
  ~BrowserPage() {
    if (!file_.empty()) unlink(file_.c_str());
    if (!folder_.empty()) rmdir(folder_.c_str());
  }

 private:
  // Forks twice, so that the browser is not a child to wait for.
  void Open() const {
    const pid_t child = fork();
    if (child < 0) return;
    if (child > 0) {
      waitpid(child, nullptr, 0);
      return;
    }
    if (fork() != 0) _exit(0);
    setsid();
    RestoreInheritance();
    execlp("xdg-open", "xdg-open", file_.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }

  std::string folder_, file_;
};

// The main thread waits for the signals that end the program; the server's threads must not get
// them.
int BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!WasIgnored(signal)) sigaddset(&set, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Calls `said` when the address has been printed.
template <typename Said>
int Serve(const Options& options, int signals, HttpServer::Handle handle, const Said& said) {
  const auto server = HttpServer::Start(options.port, std::move(handle), Posts());
  if (!server.ok()) return Fail(kFailed, server.message());
  const Status wrote = WriteStdout((*server)->url() + "\n");
  if (!wrote.ok()) return Fail(kFailed, wrote.message());
  said();
  std::unique_ptr<BrowserPage> page;
  if (!options.no_browser) page = std::make_unique<BrowserPage>((*server)->url());
  pollfd ended = {signals, POLLIN, 0};
  while (poll(&ended, 1, 1000) <= 0) (*server)->EndSlowOnes();
  return kOk;
}

int ServeWhole(const Options& options) {
  int loading = kFailed;
  const auto loaded = LoadSelected(options.file, options.selection, Laws::kIfWhole, &loading);
  if (!loaded.ok()) return Fail(loading, loaded.message());
  const analysis::Report report = loaded->Report(analysis::Predictions::kAll);
  const view::PageSource source(report);
  const int signals = BlockSignals();
  if (signals < 0) return Fail(kFailed, "cannot wait for signals");
  QueryRunner queries(options.query_seconds);
  const int status = Serve(
      options, signals,
      [&](const HttpRequest& request) {
        const auto answer = HandleQuery(*report.model, &queries, request);
        return answer ? *answer : Handle(source, request);
      },
      [&] { VerdictStatus(options.file, report.verdict); });
  close(signals);
  return status;
}

// Serves two traces: their pages are below a/ and b/, in frames of a page that shows the
// differences.
int ServeBoth(const Options& options) {
  int loading = kFailed;
  const auto compared = Compare(options.file, options.other, options.selection,
                                analysis::Predictions::kAll, &loading);
  if (!compared.ok()) return Fail(loading, compared.message());
  const Compared& both = **compared;
  const view::PageSource source_a(both.report_a), source_b(both.report_b);
  const int signals = BlockSignals();
  if (signals < 0) return Fail(kFailed, "cannot wait for signals");
  QueryRunner queries(options.query_seconds);
  const auto handle = [&](const HttpRequest& request) -> HttpAnswer {
    if (request.path.empty()) {
      return {200, "text/html; charset=utf-8",
              view::ServedComparison(both.diff, {both.name_a, &both.report_a},
                                     {both.name_b, &both.report_b})};
    }
    const bool of_a = request.path.starts_with("a/");
    if (!of_a && !request.path.starts_with("b/")) return NotThere();
    HttpRequest of_side = request;
    of_side.path.erase(0, 2);
    const auto answer = HandleQuery(of_a ? *both.a.model : *both.b.model, &queries, of_side);
    HttpAnswer page = answer ? *answer : Handle(of_a ? source_a : source_b, of_side);
    page.framed = of_side.path.empty();
    return page;
  };
  const int status = Serve(options, signals, handle, [&] { ComparedStatus(both); });
  close(signals);
  return status;
}

int ServeLive(const Options& options) {
  const int signals = BlockSignals();
  if (signals < 0) return Fail(kFailed, "cannot wait for signals");
  const auto live = LiveTrace::Open(options.file);
  if (!live.ok()) return Fail(kFailed, live.message());
  // Wait until there is something to show.
  pollfd ended = {signals, POLLIN, 0};
  SilenceNote silence(options.file);
  while ((*live)->Now() == nullptr) {
    const std::string error = (*live)->error();
    if (!error.empty()) return Fail(kFailed, fmt::format("{}: {}", options.file, error));
    if (poll(&ended, 1, 100) > 0) return kOk;
  }
  silence.Came();
  QueryRunner queries(options.query_seconds);
  const int status = Serve(
      options, signals,
      [&](const HttpRequest& request) {
        if (request.path == "state") return HttpAnswer{200, "", (*live)->StateJson()};
        const auto now = (*live)->Now();
        const auto answer = HandleQuery(*now->model, &queries, request);
        return answer ? *answer : Handle(*now->source, request);
      },
      [] {});
  close(signals);
  return status;
}

int RunServe(const Options& options) {
  if (options.live && options.selection.any()) {
    return Fail(kMisuse, "a part of a trace that still grows cannot be chosen: leave out --live");
  }
  if (options.live && !options.other.empty()) {
    return Fail(kMisuse, "two traces are compared when both have ended: leave out --live");
  }
  if (!options.other.empty()) return ServeBoth(options);
  return options.live ? ServeLive(options) : ServeWhole(options);
}

}  // namespace

void AddServe(Verb* app, Run* run) {
  Verb* verb = app->AddVerb(
      "serve", "The page of a whole trace, however large, in a browser of this machine");
  auto options = std::make_shared<Options>();
  AddTraceFile(verb, &options->file);
  verb->AddOption("B", &options->other, "another trace: both above each other, and what differs")
      .TypeName("");
  verb->AddOption("--port", &options->port, "port of 127.0.0.1 (default: any that is free)")
      .TypeName("N")
      .InRange(0, 65535);
  verb->AddFlag("--live", &options->live,
                "FILE is still being written, or is a live socket: show it as it grows");
  verb->AddOption("--query-time", &options->query_seconds,
                  "end a query of the page after so many seconds (default 30)")
      .TypeName("S")
      .InRange(uint64_t{1}, uint64_t{86'400});
  verb->AddFlag("--no-browser", &options->no_browser, "print the address, open nothing");
  AddFilters(verb, &options->selection);
  AddMemory(verb, &options->selection.memory_bytes);
  verb->Callback([options, run] { *run = [options] { return RunServe(*options); }; });
}

}  // namespace acceltrace::cli
