// SPDX-License-Identifier: Apache-2.0
//
// acceltrace serve: the page of a whole trace, from this machine to this machine.
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
#include <string>
#include <vector>

#include "libtrace/analysis/report.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/filters.h"
#include "libtrace/cli/http_server.h"
#include "libtrace/cli/live_trace.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/view/page_source.h"

namespace acceltrace::cli {
namespace {

constexpr size_t kMostTracks = 1000;

struct Options {
  std::string file;
  uint16_t port = 0;
  bool no_browser = false, live = false;
  Part selection;
};

// Of the page's times, which are fractions at times.
bool ParseTime(const std::string& text, int64_t* time) {
  const char* begin = text.data();
  const auto [end, error] = std::from_chars(begin, begin + text.size(), *time);
  return error == std::errc() && end == begin + text.size() && *time > INT64_MIN / 4 &&
         *time < INT64_MAX / 4;
}

HttpAnswer Bad(const char* what) {
  return {400, "text/plain; charset=utf-8", std::string(what) + "\n"};
}

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
  return {404, "text/plain; charset=utf-8", "no such thing here\n"};
}

// Shows the address in the user's browser. Not on a command line, where all users of the machine
// could read it: in a file that only this user may.
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
    auto output = OutputFile::Create(file_);
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
  // Twice forked, so that it is not ours to wait for.
  void Open() const {
    const pid_t child = fork();
    if (child < 0) return;
    if (child > 0) {
      waitpid(child, nullptr, 0);
      return;
    }
    if (fork() != 0) _exit(0);
    setsid();
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    execlp("xdg-open", "xdg-open", file_.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }

  std::string folder_, file_;
};

// What ends the program is waited for; no thread of the server's gets it.
int BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// said: called when the address was printed.
template <typename Said>
int Serve(const Options& options, int signals, HttpServer::Handle handle, const Said& said) {
  const auto server = HttpServer::Start(options.port, std::move(handle));
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
  const int status = Serve(
      options, signals, [&source](const HttpRequest& request) { return Handle(source, request); },
      [&] { VerdictStatus(options.file, report.verdict); });
  close(signals);
  return status;
}

int ServeLive(const Options& options) {
  const int signals = BlockSignals();
  if (signals < 0) return Fail(kFailed, "cannot wait for signals");
  const auto live = LiveTrace::Open(options.file);
  if (!live.ok()) return Fail(kFailed, live.message());
  // There is nothing to show before something came.
  pollfd ended = {signals, POLLIN, 0};
  while ((*live)->Now() == nullptr) {
    const std::string error = (*live)->error();
    if (!error.empty()) return Fail(kFailed, fmt::format("{}: {}", options.file, error));
    if (poll(&ended, 1, 100) > 0) return kOk;
  }
  const int status = Serve(
      options, signals,
      [&live](const HttpRequest& request) {
        if (request.path == "state") return HttpAnswer{200, "", (*live)->StateJson()};
        return Handle(*(*live)->Now()->source, request);
      },
      [] {});
  close(signals);
  return status;
}

int RunServe(const Options& options) {
  if (options.live && options.selection.any()) {
    return Fail(kMisuse, "a part of a trace that still grows cannot be chosen: leave out --live");
  }
  return options.live ? ServeLive(options) : ServeWhole(options);
}

}  // namespace

void AddServe(Verb* app, Run* run) {
  Verb* verb = app->AddVerb(
      "serve", "The page of a whole trace, however large, in a browser of this machine");
  auto options = std::make_shared<Options>();
  AddTraceFile(verb, &options->file);
  verb->AddOption("--port", &options->port, "port of 127.0.0.1 (default: any that is free)")
      .TypeName("N")
      .InRange(0, 65535);
  verb->AddFlag("--live", &options->live,
                "FILE is still being written, or is a live socket: show it as it grows");
  verb->AddFlag("--no-browser", &options->no_browser, "print the address, open nothing");
  AddFilters(verb, &options->selection);
  AddMemory(verb, &options->selection.memory_bytes);
  verb->Callback([options, run] { *run = [options] { return RunServe(*options); }; });
}

}  // namespace acceltrace::cli
