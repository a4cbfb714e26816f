// SPDX-License-Identifier: Apache-2.0
//
// acceltrace record: a client of the capture service or of a private daemon.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "libtrace/base/part_name.h"
#include "libtrace/base/utf8.h"
#include "libtrace/cli/child.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/command_files.h"
#include "libtrace/cli/daemon_client.h"
#include "libtrace/cli/group_witness.h"
#include "libtrace/cli/inherited.h"
#include "libtrace/cli/pack.h"
#include "libtrace/cli/record_options.h"
#include "libtrace/cli/service_client.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/cli/trace_files.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::cli {
namespace {

// Only one daemon can read a device, so recordings that begin later join the daemon of the first
// one.
constexpr char kSharePath[] = "/run/acceltrace-private/socket";

// Signals that would end this program, and those that it needs for its command.
constexpr int kTaken[] = {SIGHUP,  SIGINT,    SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                          SIGALRM, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGCHLD};

struct Options {
  RecordOptions record;
  std::string socket;
  double duration_s = 0;
  bool quiet = false, own_daemon = false, pack = false;
};

// Converts run.atrace to run.snapshot-1.atrace.
std::string SnapshotName(const std::string& output, int number) {
  return PartName(output, "snapshot-" + std::to_string(number));
}

// Waits for the first of these: the end of the command, a signal, the duration, the end of the
// daemon.
class Recording {
 public:
  Recording(const Options& options, TraceFiles* files, CaptureSession* daemon, int signals,
            const std::vector<int>& processes)
      : options_(options),
        files_(*files),
        daemon_(*daemon),
        signals_(signals),
        processes_(processes) {}

  // kAgain: try again with another daemon.
  static constexpr int kAgain = -1;
  int Run() {
    const Status ready = daemon_.WaitUntilReady(signals_, [this] { return HandleSignal(); });
    if (!ready.ok()) {
      if (interrupted_by_ != 0) killed_by_ = interrupted_by_;
      if (daemon_.refused()) return kMisuse;  // it has reported what is wrong with the options
      if (daemon_.again()) return kAgain;
      return Fail(kFailed, ready.message());
    }
    ready_ = true;
    files_.Close();
    if (!options_.record.command.empty()) {
      int status = kFailed;
      const Status started = StartCommand(&status);
      if (!started.ok()) {
        (void)daemon_.Stop(status);
        return Fail(status, started.message());
      }
    }
    const Status placed = files_.Place();
    placed_ = placed.ok() || Fail(kOk, placed.message()) != kOk;
    Wait();
    return Finish();
  }
  // The signal that killed the command or arrived before the command ran; 0 = none.
  int killed_by() const { return killed_by_; }

 private:
  std::string Ended() { return daemon_.WaitForExit(); }

  Status StartCommand(int* status) {
    group_ = std::make_unique<GroupWitness>();
    std::vector<std::string> files = CommandFiles(options_.record.command);
    const std::vector<std::string>& libraries = options_.record.recording.libraries;
    files.insert(files.end(), libraries.begin(), libraries.end());
    const MappedFiles seen_before_it_runs(files);
    Result<Child> child = Child::Prepare(options_.record.command, files_.takes_stdout());
    if (!child.ok()) return child.status();
    child_ = std::make_unique<Child>(std::move(child).value());
    const Status known = daemon_.Track(child_->pid());
    if (!known.ok()) return known;
    return child_->Release(status);
  }

  void Wait() {
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (options_.duration_s > 0) {
      itimerspec when{};
      when.it_value.tv_sec = static_cast<time_t>(options_.duration_s);
      when.it_value.tv_nsec = static_cast<long>(
          (options_.duration_s - static_cast<double>(when.it_value.tv_sec)) * 1e9);
      timerfd_settime(timer, 0, &when, nullptr);
    }
    bool recording = true;
    std::vector<pollfd> processes;  // for --pid; readable when the process has ended
    for (int fd : processes_) processes.push_back({fd, POLLIN, 0});
    while (recording || child_ != nullptr) {
      std::vector<pollfd> fds = {{signals_, POLLIN, 0},
                                 {recording ? timer : -1, POLLIN, 0},
                                 {recording && !daemon_gone_ ? daemon_.fd() : -1, POLLIN, 0}};
      fds.insert(fds.end(), processes.begin(), processes.end());
      if (poll(fds.data(), fds.size(), -1) < 0) {
        if (errno == EINTR) continue;
        break;
      }
      std::erase_if(processes, [&](const pollfd& process) {
        return std::any_of(fds.begin() + 3, fds.end(), [&](const pollfd& ready) {
          return ready.fd == process.fd && ready.revents != 0;
        });
      });
      if (!processes_.empty() && processes.empty() && child_ == nullptr &&
          !options_.record.recording.system_wide) {
        recording = false;  // all recorded processes have ended
      }
      if (fds[1].revents != 0) recording = StopEarly();
      if (fds[2].revents != 0) HearDaemon();
      if (fds[0].revents != 0 && HandleSignal()) recording = false;
      if (daemon_gone_ && child_ == nullptr) break;
      if (child_ != nullptr && child_->ended()) {
        command_status_ = child_->status();
        killed_by_ = child_->signal();
        break;
      }
    }
    close(timer);
  }

  // The duration has passed: the trace ends here, but the command continues.
  bool StopEarly() {
    if (child_ != nullptr) {
      done_ = daemon_.Stop(-1);
      stopped_ = true;
    }
    return false;
  }

  void HearDaemon() {
    if (!daemon_.Hear()) {
      daemon_gone_ = true;
      Fail(kFailed, fmt::format("the capture daemon died ({}): {} holds what it had written",
                                Ended(), options_.record.output));
      return;
    }
    if (!daemon_.early_failure().empty() && !reported_failure_) {
      reported_failure_ = true;
      Fail(kFailed, "the recording ends here, and keeps what it has: " + daemon_.early_failure());
    }
  }

  // Returns true if the signal requests the end.
  bool HandleSignal() {
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof(info)) != sizeof(info)) return false;
    if (info.ssi_signo == SIGCHLD) {
      if (child_ != nullptr) child_->Reap();
      return false;
    }
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGUSR1 && (child_ == nullptr || options_.record.recording.ring_bytes != 0)) {
      TakeSnapshot();
      return false;
    }
    if (child_ != nullptr) {
      // Signals of the terminal, and those to the process group, have reached the command already;
      // others only reached this process and are forwarded. It is up to the command how it reacts:
      // the recording ends with it.
      const bool of_terminal =
          info.ssi_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT || signal == SIGHUP);
      if (!of_terminal && !group_->Saw(signal)) child_->Kill(signal);
      return false;
    }
    // Without a command, this process obeys the signal itself. With nohup, SIGHUP is ignored
    // regardless of its sender. A script's & only makes the terminal's keys ignored: an interrupt
    // that is sent to this very process is meant.
    if (WasIgnored(signal) && (signal == SIGHUP || info.ssi_code == SI_KERNEL)) return false;
    interrupted_by_ = signal;
    return true;
  }

  void TakeSnapshot() {
    if (!ready_ || stopped_ || daemon_gone_) return;
    if (options_.record.recording.ring_bytes == 0) {
      Fail(kFailed, "a snapshot is of a flight recorder: record with --ring SIZE");
      return;
    }
    const std::string name = SnapshotName(
        files_.is_file() ? options_.record.output : DefaultTraceName("acceltrace"), ++snapshots_);
    const Status taken = daemon_.Snapshot(name);
    if (!taken.ok()) {
      Fail(kFailed, "no snapshot: " + taken.message());
    } else if (!options_.quiet) {
      Fail(kOk, name + ": snapshot");
    }
  }

  int Finish() {
    if (!stopped_ && !daemon_gone_) done_ = daemon_.Stop(command_status_);
    bool good = !daemon_gone_;
    if (good && !done_->ok()) {
      good = false;
      Fail(kFailed, fmt::format("{}: {} holds what it had written, see acceltrace verify",
                                done_->message(), options_.record.output));
    } else if (good) {
      good = Summarise(done_->value());
    }
    if (command_status_ > 0) return command_status_;
    return good && placed_ ? kOk : kFailed;
  }

  // Returns the size of the packed trace, or nullopt if it was not packed.
  std::optional<uint64_t> Pack() {
    const std::string& output = options_.record.output;
    if (!options_.pack || !files_.is_file() || !placed_) return std::nullopt;
    const auto packed = PackFile(output, output);
    if (!packed.ok()) {
      if (!options_.quiet) Fail(kOk, "not packed: " + packed.message());
      return std::nullopt;
    }
    return packed.value().after_bytes;
  }

  bool Summarise(const std::string& text) {
    const auto done = nlohmann::json::parse(text, nullptr, false);
    if (!done.is_object()) {
      Fail(kFailed, "the capture daemon's last word is damaged; see acceltrace verify");
      return false;
    }
    const auto number = [&](const char* name) -> uint64_t {
      const auto found = done.find(name);
      return found != done.end() && found->is_number() ? found->get<uint64_t>() : 0;
    };
    const auto error = done.value("error", std::string());
    const std::string lost = view::FormatCount(number("lost"));
    const std::string length = view::FormatNs(static_cast<int64_t>(number("duration_ns")));
    const std::string size = view::FormatBytes(Pack().value_or(number("bytes")));
    std::string older;  // of a flight recorder
    if (number("parts") > 1) {
      older = fmt::format(
          " and {} files",
          std::min<uint64_t>(number("parts"), 1 + control::MoreFiles(options_.record.recording)));
    }
    if (number("triggered") > 0) {
      older += fmt::format(", {} saved for {} that fired", number("saved"), number("triggered"));
    }
    if (number("overwritten") > 0) {
      older += fmt::format(", {} older ones overwritten", view::FormatCount(number("overwritten")));
    }
    if (!error.empty() && !reported_failure_) {
      Fail(kFailed, error);
    } else if (options_.quiet) {
      // The exit status and earlier messages suffice.
    } else if (!error.empty()) {
      Fail(kFailed, fmt::format("{}: {} kept, {} events lost", options_.record.output, size, lost));
    } else {
      std::fprintf(stderr, "acceltrace: %s: %s events in %s%s, %s lost, %s recorded\n",
                   Printable(options_.record.output).c_str(),
                   view::FormatCount(number("events")).c_str(), size.c_str(), older.c_str(),
                   lost.c_str(), length.c_str());
    }
    return error.empty();
  }

  const Options& options_;
  TraceFiles& files_;
  CaptureSession& daemon_;
  int signals_;
  const std::vector<int>& processes_;
  std::unique_ptr<GroupWitness> group_;
  std::unique_ptr<Child> child_;
  std::optional<Result<std::string>> done_;
  int command_status_ = -1, killed_by_ = 0;
  int interrupted_by_ = 0, snapshots_ = 0;
  bool ready_ = false, placed_ = false;
  bool daemon_gone_ = false, reported_failure_ = false, stopped_ = false;
};

Result<std::unique_ptr<CaptureSession>> StartIn(std::unique_ptr<ServiceClient> service,
                                                const RecordOptions& record,
                                                const TraceFiles& files) {
  const Status begun = service->Begin(StartRequest(record), files.fds());
  // If the daemon is already gone, this is noticed when waiting for the answer, and another one is
  // searched.
  if (!begun.ok() && !service->again()) return begun;
  return std::unique_ptr<CaptureSession>(std::move(service));
}

// Uses the service if there is one and it supports the options. Returns null if there is none.
Result<std::unique_ptr<CaptureSession>> BeginInService(const Options& options,
                                                       const TraceFiles& files) {
  const RecordOptions& record = options.record;
  const bool named = options.socket != kServiceSocket;
  if (options.own_daemon || !record.request.priority().empty() || !record.request.cpu().empty() ||
      !files.regular()) {
    if (!named) return std::unique_ptr<CaptureSession>();
    return Status::Error(
        "the service at --socket takes no --private, --priority and --cpu, and writes regular "
        "files only");
  }
  auto service = ServiceClient::Connect(options.socket);
  if (!service.ok()) return service.status();
  if (service.value() == nullptr) {
    if (!named) return std::unique_ptr<CaptureSession>();
    return Status::Error("no capture service at " + options.socket);
  }
  return StartIn(std::move(service).value(), record, files);
}

// Uses the daemon of another private recording. Returns null if there is none.
Result<std::unique_ptr<CaptureSession>> BeginWithOthers(const RecordOptions& record,
                                                        const TraceFiles& files) {
  if (record.share.empty()) return std::unique_ptr<CaptureSession>();
  auto daemon = ServiceClient::Join(record.share);
  if (!daemon.ok()) return daemon.status();
  if (daemon.value() == nullptr) return std::unique_ptr<CaptureSession>();
  return StartIn(std::move(daemon).value(), record, files);
}

Result<std::unique_ptr<CaptureSession>> Begin(const Options& options, const TraceFiles& files) {
  auto service = BeginInService(options, files);
  if (service.ok() && service.value() == nullptr) service = BeginWithOthers(options.record, files);
  if (!service.ok() || service.value() != nullptr) return service;
  auto daemon = DaemonClient::Start(DaemonArguments(options.record), files.fds());
  if (!daemon.ok()) return daemon.status();
  return std::unique_ptr<CaptureSession>(new DaemonClient(std::move(daemon).value()));
}

// If several recordings begin at the same time, one has the daemon that the others join. This
// daemon may end between being found and being asked.
int RecordSomewhere(const Options& options, TraceFiles* files, int signals,
                    const std::vector<int>& processes, int* killed_by) {
  constexpr int kTries = 200;
  constexpr auto kPause = std::chrono::milliseconds(20);
  for (int i = 0; i < kTries; ++i) {
    auto session = Begin(options, *files);
    if (!session.ok()) return Fail(kFailed, session.message());
    Recording recording(options, files, session.value().get(), signals, processes);
    const int status = recording.Run();
    *killed_by = recording.killed_by();
    if (status != Recording::kAgain) return status;
    std::this_thread::sleep_for(kPause);
  }
  return Fail(kFailed, fmt::format("another recording is beginning at {} and does not get ready",
                                   options.record.share));
}

int RunRecord(Options options) {
  const RecordOptions& record = options.record;
  if (record.command.empty() && record.request.pids().empty() && !record.request.system()) {
    return Fail(kMisuse, "nothing to record: give -- CMD, --pid or --system");
  }
  if (Status status = Complete(&options.record); !status.ok()) {
    return Fail(kMisuse, status.message());
  }
  if (!record.command.empty()) {
    int status = kFailed;
    const Status found = Child::Find(record.command.front(), &status);
    if (!found.ok()) return Fail(status, found.message());
  }
  std::vector<int> processes;
  for (uint32_t pid : record.recording.pids) {
    const long fd = syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) {
      return Fail(kMisuse, fmt::format("cannot record process {}: {}", pid, std::strerror(errno)));
    }
    processes.push_back(static_cast<int>(fd));
  }
  auto files = TraceFiles::Open(record);
  if (!files.ok()) return Fail(kFailed, files.message());
  if (isatty(files->fds().front()) != 0) {
    return Fail(kMisuse, "a trace is binary: redirect stdout, or name a file with -o");
  }
  sigset_t mask;
  sigemptyset(&mask);
  for (int signal : kTaken) sigaddset(&mask, signal);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  const int signals = signalfd(-1, &mask, SFD_CLOEXEC);
  if (signals < 0) {
    return Fail(kFailed, fmt::format("signalfd: {}{}", std::strerror(errno),
                                     errno == EMFILE ? ": raise ulimit -n" : ""));
  }
  int killed_by = 0;
  const int status = RecordSomewhere(options, &*files, signals, processes, &killed_by);
  close(signals);
  for (int fd : processes) close(fd);
  if (killed_by != 0) DieOf(killed_by);
  return status;
}

// Parses 1.5s, 200ms or 2m, or seconds without a unit. Returns a negative number for anything else.
double ParseSeconds(const std::string& text) {
  size_t used = 0;
  double value = -1;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    return -1;
  }
  const std::string unit = text.substr(used);
  const std::pair<const char*, double> units[] = {
      {"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"min", 60}, {"h", 3600}};
  for (const auto& [name, seconds] : units) {
    if (unit == name) return value * seconds;
  }
  return -1;
}

}  // namespace

void AddRecord(Verb* app, Run* run, const std::vector<std::string>* trailing) {
  Verb* verb = app->AddVerb("record", "Record a command (after --), processes or the system");
  auto options = std::make_shared<Options>();
  AddRecordOptions(verb, &options->record);
  const auto parse_duration = [options](const std::string& word) {
    options->duration_s = ParseSeconds(word);
    const bool fine = options->duration_s > 0 && options->duration_s <= 1e9;
    return fine ? std::string() : "--duration: " + word + " is no time: 10, 500ms, 2m";
  };
  verb->AddParsed("--duration", parse_duration, "stop after this time: 10, 500ms, 2m")
      .Once()
      .TypeName("TIME");
  proto::RecordRequest* request = &options->record.request;
  AddRequestOption(verb, "--priority", "P",
                   "of the recorder: auto (default), idle, normal or a nice value", request);
  AddRequestOption(verb, "--cpu", "LIST", "processors that the recorder runs on: 0,2-3", request);
  AddSocketOption(verb, &options->socket);
  verb->AddFlag("--private", &options->own_daemon,
                "with a daemon of its own, also where the capture service runs");
  verb->AddOption("--share", &options->record.share,
                  "where recordings of root without the service share a daemon "
                  "[/run/acceltrace-private/socket, with a device]")
      .TypeName("PATH");
  verb->AddFlag("--pack", &options->pack, "the trace is packed at the end, see acceltrace pack");
  verb->AddFlag("-q,--quiet", &options->quiet, "no summary at the end");
  verb->Footer(
      "The command follows after --: acceltrace record -o run.atrace -- ./train --steps 3");
  verb->Callback([options, run, trailing] {
    options->record.command = *trailing;
    if (options->record.share.empty() && !options->record.request.no_device() && geteuid() == 0) {
      options->record.share = kSharePath;
    }
    *run = [options] { return RunRecord(*options); };
  });
}

}  // namespace acceltrace::cli
