// SPDX-License-Identifier: Apache-2.0
#include "daemon/options.h"

#include <charconv>
#include <cstdlib>

#include "libtrace/control/options.h"

namespace acceltrace::daemon {
namespace {

template <typename T>
bool ParseNumber(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// The command line as a queue of words.
class Words {
 public:
  Words(int argc, const char* const* argv) : end_(argv + argc), next_(argv + 1) {}

  bool Next() {
    if (next_ >= end_) return false;
    word_ = *next_++;
    inline_value_.reset();
    const size_t equals = word_.find('=');
    if (word_.substr(0, 2) == "--" && equals != std::string_view::npos) {
      inline_value_ = word_.substr(equals + 1);
      word_ = word_.substr(0, equals);
    }
    return true;
  }
  std::string_view word() const { return word_; }
  bool has_inline_value() const { return inline_value_.has_value(); }
  std::optional<std::string_view> Value() {
    if (inline_value_) return inline_value_;
    if (next_ >= end_) return std::nullopt;
    return *next_++;
  }
  std::vector<std::string> Rest() {
    std::vector<std::string> rest(next_, end_);
    next_ = end_;
    return rest;
  }

 private:
  const char* const* end_;
  const char* const* next_;
  std::string_view word_;
  std::optional<std::string_view> inline_value_;
};

Status Bad(std::string_view option, std::string_view value, const char* wanted) {
  return Status::Error(std::string(option) + " " + std::string(value) + ": " + wanted);
}

// One option that takes a value. known: whether there is such an option.
Status ApplyValue(std::string_view option, std::string_view value, Options* options, bool* known) {
  RecordOptions& record = options->record;
  *known = true;
  if (option == "--output" || option == "-o") {
    options->output = value;
  } else if (option == "--output-fd") {
    int fd = -1;
    if (!ParseNumber(value, &fd) || fd < 0) return Bad(option, value, "not a file descriptor");
    options->output_fds.push_back(fd);
  } else if (option == "--output-name") {
    options->output_name = value;
  } else if (option == "--control-fd") {
    if (!ParseNumber(value, &options->control_fd) || options->control_fd < 0) {
      return Bad(option, value, "not a file descriptor");
    }
  } else if (option == "--live-socket") {
    options->live_socket = value;
  } else if (option == "--share") {
    options->share = value;
  } else if (option == "--socket") {
    options->socket = value;
  } else if (option == "--group") {
    options->group = value;
  } else if (option == "--metrics") {
    options->metrics = value;
  } else if (option == "--config") {
    options->config = value;
  } else if (option == "--check-config") {
    options->config = value;
    options->mode = Options::Mode::kCheckConfig;
  } else if (option == "--when-full") {
    if (value != "end" && value != "pause") return Bad(option, value, "neither end nor pause");
    record.pause_when_full = value == "pause";
  } else if (option == "--sync") {
    if (value != "yes" && value != "no") return Bad(option, value, "neither yes nor no");
    record.sync = value == "yes";
  } else {
    *known = false;
  }
  return {};
}

Status Check(const Options& options) {
  if (options.mode == Options::Mode::kPrivate) {
    if (!options.config.empty() || !options.metrics.empty()) {
      return Status::Error("--config and --metrics are of the service, not of --private");
    }
  } else {
    const RecordOptions& record = options.record;
    if (!options.output.empty() || !options.output_fds.empty() || options.control_fd >= 0 ||
        !options.share.empty() || !record.pids.empty() || record.system_wide ||
        !record.command.empty() || MoreFiles(record) != 0) {
      return Status::Error("recording options need --private (see --help)");
    }
    return {};
  }
  if (options.output.empty() == options.output_fds.empty()) {
    return Status::Error("--private needs one of --output FILE and --output-fd N");
  }
  if (options.control_fd < 0 && options.record.pids.empty() && !options.record.system_wide) {
    return Status::Error("nothing to record: give --pid, --system or --control-fd");
  }
  return {};
}

}  // namespace

const char kUsage[] =
    "usage: acceltraced [--config FILE] [--socket PATH] [--live-socket PATH] [--group NAME]\n"
    "                   [--metrics ADDRESS]\n"
    "       acceltraced --check-config FILE\n"
    "       acceltraced --private (--output FILE | --output-fd N) [options] [-- CMD ARG...]\n"
    "\n"
    "Without --private: the service; clients start recordings over its socket. What is given\n"
    "here comes before what the configuration says.\n"
    "  --config FILE         configuration [/etc/acceltrace/acceltraced.conf, if it is there]\n"
    "  --check-config FILE   all mistakes in a configuration, one a line; then exit\n"
    "  --socket PATH         control socket [/run/acceltrace/acceltraced.sock]\n"
    "  --live-socket PATH    live readers connect here [live.sock beside the control socket]\n"
    "  --group NAME          members may record their own processes [acceltrace]\n"
    "  --metrics ADDRESS     figures for Prometheus: 127.0.0.1:PORT, [::1]:PORT, a socket's path\n"
    "                        [off]\n"
    "With --private: one recording, for `acceltrace record`.\n"
    "  --output FILE         trace file, -o for short; --output-fd N: an open one; again for each\n"
    "                        further file; --output-name TEXT: for messages\n"
    "  --control-fd N        socket pair to the client, see acceltraced(8)\n"
    "  --pid PID             record this process and its descendants; repeatable\n"
    "  --system              record every process\n"
    "  --device NAME|BDF     only this accelerator; repeatable; default all\n"
    "  --no-device           host events only\n"
    "  --probes LIST         of api,usdt,driver,tracepoints,device,counters,clock\n"
    "                        [all but usdt and tracepoints]\n"
    "  --sources LIST        of the host besides: of sched,irq,pressure,memory,cpu,block,net,\n"
    "                        pcie,numa,cgroup, or all [none]\n"
    "  --stacks              user stacks of API calls, which then come by probes\n"
    "  --libaxl FILE         API library whose probes are attached; repeatable\n"
    "  --counter-period T    device counter samples, such as 500us; 0 = only at start and end "
    "[1ms]\n"
    "  --overhead full|low   low: the driver's events of a job's begin and end only, no counter\n"
    "                        samples, the daemon wakes up rarely [full]\n"
    "  --priority P          recorder's: auto, idle, normal or a nice value [auto]\n"
    "  --cpu LIST            processors it runs on, such as 0,2-3 [all]\n"
    "  --ring SIZE           flight recorder: keep the last SIZE bytes in memory\n"
    "  --trigger RULE        save that when a rule fires: job>10ms, begin:NAME, range:NAME,\n"
    "                        range:NAME>20ms; repeatable\n"
    "  --rotate-size SIZE    go on in the next file at this size; --rotate-time T: after this "
    "time\n"
    "  --keep N              files of a rotation, then the oldest goes [8]; of triggers [4]\n"
    "  --when-full WHAT      end or pause: a full disk ends the recording, or is waited for [end]\n"
    "  --sync WHAT           yes or no: each flush to the disk itself, so that a power cut leaves "
    "it "
    "[yes]\n"
    "  --live-socket PATH    live readers may connect here [none]\n"
    "  --share PATH          others of root may join this daemon here, see acceltraced(8) [none]\n"
    "Both: --help, --version.\n"
    "Exit status: 0 fine, 1 failed, 2 misuse.\n";

Result<Options> ParseOptions(int argc, const char* const* argv) {
  using control::OptionKind;
  Options options;
  proto::RecordRequest request;
  Words words(argc, argv);
  while (words.Next()) {
    const std::string_view word = words.word();
    if (word == "--") {
      for (std::string& each : words.Rest()) request.add_command(std::move(each));
      break;
    }
    if (word == "--help" || word == "-h") {
      options.mode = Options::Mode::kHelp;
      return options;
    }
    if (word == "--version") {
      options.mode = Options::Mode::kVersion;
      return options;
    }
    const OptionKind kind = control::KindOf(word);
    if (word == "--private" || kind == OptionKind::kFlag) {
      if (words.has_inline_value()) return Status::Error(std::string(word) + " takes no value");
      if (word == "--private") options.mode = Options::Mode::kPrivate;
      if (kind == OptionKind::kFlag) (void)control::SetOption(word, "", &request);
      continue;
    }
    // Unknown options are reported as such even when they are the last word.
    bool known = kind != OptionKind::kUnknown;
    Options probe;
    if (!known) (void)ApplyValue(word, "", &probe, &known);
    if (!known) return Status::Error("unknown option '" + std::string(word) + "' (see --help)");
    const auto value = words.Value();
    if (!value) return Status::Error(std::string(word) + " needs a value (see --help)");
    const Status status = kind != OptionKind::kUnknown ? control::SetOption(word, *value, &request)
                                                       : ApplyValue(word, *value, &options, &known);
    if (!status.ok()) return status;
  }
  auto recording = control::Check(request);
  if (!recording.ok()) return recording.status();
  static_cast<control::Recording&>(options.record) = std::move(recording).value();
  if (Status status = Check(options); !status.ok()) return status;
  return options;
}

}  // namespace acceltrace::daemon
