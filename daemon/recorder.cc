// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "daemon/base/give_way.h"
#include "daemon/base/host_info.h"
#include "daemon/base/privileges.h"
#include "daemon/sources/common/clock_watch.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::daemon {
namespace {

// How often to poll: a sleeping recorder does not disturb what it records. It is woken when a ring
// is a quarter full. Otherwise it has a slow tick, at multiples of its period, which becomes faster
// only if that was not sufficient.
constexpr int64_t kMinPauseNs = 1'000'000;
constexpr int64_t kMaxPauseNs = 100'000'000;
// Unused idle time would be missing when a burst fills a ring.
constexpr int64_t kMaxIdlePauseNs = 4'000'000;
constexpr int64_t kLightPauseNs = 1'000'000'000;
constexpr int kMaxWakeEvents = 8;
constexpr int kMaxDrains = 10'000;  // per poll: more than the sources' buffers hold
constexpr uint32_t kBusyPermille = 500;
constexpr uint32_t kIdlePermille = 300;
constexpr uint32_t kIdleBusyPermille = 60;  // for a recorder in idle time
// What a crash may lose. A recorder that is lifted because it is late has the same time again to
// catch up.
constexpr int64_t kFlushNs = 100'000'000;
constexpr int64_t kFlushWaitNs = 2 * kMostLateNs;

std::atomic<uint32_t> recorders_started{0};  // in this process

}  // namespace

std::string Summary::ToJson() const {
  const nlohmann::json json = {
      {"output", output},
      {"bytes", bytes},
      {"packets", packets},
      {"events", events},
      {"lost", lost},
      {"bad", bad},
      {"overwritten", overwritten},
      {"parts", parts},
      {"triggered", triggered},
      {"saved", saved},
      {"duration_ns", duration_ns},
      {"cpu_ns", cpu_ns},
      {"bpf_ns", bpf_ns},
      {"stop_reason", stop_reason},
      {"error", error},
  };
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Recorder::Recorder(const RecordOptions& options, std::vector<UniqueFd> files,
                   std::string output_name)
    : output_name_(std::move(output_name)),
      files_(std::move(files)),
      rotate_bytes_(options.rotate_bytes),
      rotate_ns_(static_cast<int64_t>(options.rotate_ns)),
      pause_when_full_(options.pause_when_full),
      sync_(options.sync),
      router_(options.ring_bytes),
      session_(&router_),
      flush_(options.light ? kLightPauseNs : kFlushNs, kFlushWaitNs),
      wake_fd_(epoll_create1(EPOLL_CLOEXEC)),
      watermark_fd_(epoll_create1(EPOLL_CLOEXEC)),
      urgent_fd_(epoll_create1(EPOLL_CLOEXEC)),
      max_pause_ns_(kMaxPauseNs),
      pause_ns_(kMaxPauseNs) {
  UniqueFd output(fcntl(files_.front().get(), F_DUPFD_CLOEXEC, 0));
  if (rotate_bytes_ != 0 || rotate_ns_ != 0) {
    file_events_.resize(files_.size());
  } else {
    files_.erase(files_.begin());
  }
  if (options.priority.idle) write_thread_ = std::make_unique<WriteThread>();
  part_ = std::make_unique<Part>(std::move(output), output_name_, write_thread_.get(), sync_);
  if (pause_when_full_) part_->output.PauseWhenFull();
  router_.SetFile(&part_->output, 1);
}

Recorder::~Recorder() = default;

Result<std::unique_ptr<Recorder>> Recorder::Start(const RecordOptions& options,
                                                  std::vector<UniqueFd> files,
                                                  std::string output_name) {
  if (files.size() != 1 + MoreFiles(options)) {
    return Status::Error("such a recording needs " + std::to_string(1 + MoreFiles(options)) +
                         " files, not " + std::to_string(files.size()));
  }
  std::unique_ptr<Recorder> recorder(
      new Recorder(options, std::move(files), std::move(output_name)));
  recorder->wake_ = MeasureWakeUp();
  {
    const WithRights rights(Rights::kAttaching);
    if (Status status = recorder->Attach(options); !status.ok()) return status;
  }
  for (const uint32_t pid : options.pids) {
    if (recorder->tracked_ == nullptr) break;
    if (Status status = recorder->tracked_->MayTrack(pid); !status.ok()) return status;
  }
  recorder->part_->sink.Begin();
  for (const auto& source : recorder->sources_) source->Begin();
  proto::TraceInfo info = DescribeHost();
  for (const std::string& word : options.command) info.add_command(word);
  (*info.mutable_notes())["output"] = recorder->part_->sink.method();
  if (options.ring_bytes > 0) {
    (*info.mutable_notes())["flight-recorder-bytes"] = std::to_string(options.ring_bytes);
  }
  // What is lost when more events arrive than can be stored.
  (*info.mutable_notes())["overload"] = options.ring_bytes > 0 ? "overwrite-oldest" : "drop-newest";
  // The most that a file without an end can lack.
  (*info.mutable_notes())["flush-ns"] = std::to_string(recorder->flush_.longest_ns());
  if (!options.triggers.empty()) recorder->session_.Watch(options.triggers);
  recorder->start_ns_ = info.start_ns();
  recorder->flush_.Flushed(info.start_ns());
  recorder->part_begin_ns_ = info.start_ns();
  recorder->own_process_ = options.own_process;
  recorder->start_cpu_ns_ = ProcessCpuNs();
  recorder->start_thread_cpu_ns_ = ThreadCpuNs();
  ++recorders_started;
  recorder->light_ = options.light;
  if (options.light) recorder->max_pause_ns_ = recorder->pause_ns_ = kLightPauseNs;
  recorder->session_.Begin(std::move(info));
  recorder->part_->sink.Kick();  // from here on, the file is a valid trace
  recorder->Warn(options);
  if (options.system_wide) recorder->NoteClients();
  for (const uint32_t pid : options.pids) {
    if (Status status = recorder->Track(pid); !status.ok()) return status;
  }
  recorder->Poll();
  std::string warning;
  auto priority =
      DrainPriority::Apply(options.priority, options.cpus,
                           {recorder->watermark_fd_.get(), recorder->urgent_fd_.get(),
                            [self = recorder.get()] { return self->FillPermille(); },
                            recorder->write_thread_ ? recorder->write_thread_->helper() : nullptr,
                            &recorder->watch_log_},
                           &warning);
  if (!priority.ok()) return priority.status();
  recorder->priority_ = std::move(priority).value();
  if (recorder->priority_->idle() && !options.light) {
    recorder->max_pause_ns_ = recorder->pause_ns_ = kMaxIdlePauseNs;
  }
  if (!warning.empty()) recorder->warnings_.push_back(std::move(warning));
  return recorder;
}

void Recorder::Warn(const RecordOptions& options) {
  for (const proto::Probe& probe : session_.probes()) {
    const bool quiet = (options.sources & kSourceQuiet) != 0 && probe.name().starts_with("sched");
    if (!probe.attached() && !quiet) {
      warnings_.push_back("probe " + probe.name() + " is not attached: " + probe.reason());
    }
  }
}

// If there are other recordings in this process, only the thread's time is certainly this
// recording's.
uint64_t Recorder::CpuNs() const {
  if (own_process_ && recorders_started == 1) return ProcessCpuNs() - start_cpu_ns_;
  return ThreadCpuNs() - start_thread_cpu_ns_ + (write_thread_ ? write_thread_->cpu_ns() : 0);
}

Status Recorder::Track(uint32_t pid) {
  if (tracked_ == nullptr) return {};
  if (Status status = tracked_->Track(pid); !status.ok()) return status;
  NoteClients();
  return {};
}

// Must be called after a process was added: what it opens later is noted at that time.
void Recorder::NoteClients() {
  if (tracked_ == nullptr) return;
  for (const auto& device : devices_) tracked_->NoteClients(device->Clients());
}

Pace Recorder::DrainSources(int64_t now_ns) {
  Pace all;
  for (const auto& source : sources_) {
    const Pace pace = source->Drain(now_ns);
    GiveWay();
    all.fill_permille = std::max(all.fill_permille, pace.fill_permille);
    all.next_ns = std::min(all.next_ns, pace.next_ns);
  }
  return all;
}

uint32_t Recorder::FillPermille() const {
  uint32_t fill_permille = 0;
  for (const auto& source : sources_) {
    fill_permille = std::max(fill_permille, source->fill_permille());
  }
  return fill_permille;
}

std::vector<Hop> Recorder::SourceHops() {
  std::vector<Hop> hops;
  for (const auto& source : sources_) {
    for (Hop& hop : source->Hops()) hops.push_back(std::move(hop));
  }
  return hops;
}

void Recorder::MarkSources() {
  for (const auto& source : sources_) source->Mark();
}

bool Recorder::PassedMarks() {
  return std::all_of(sources_.begin(), sources_.end(),
                     [](const auto& source) { return source->PassedMark(); });
}

// Limited, as more may arrive than is read.
void Recorder::DrainWhatWaits() {
  MarkSources();
  for (int rounds = 0; rounds < kMaxDrains; ++rounds) {
    const int64_t now_ns = MonotonicNs();
    if (DrainSources(now_ns).next_ns != now_ns || PassedMarks()) return;
  }
}

void Recorder::FlushSources() {
  for (const auto& source : sources_) source->Flush();
}

void Recorder::TraceJobsInFlight() {
  for (const auto& device : devices_) device->TraceJobsInFlight();
}

void Recorder::WakeOn(WakeFd wake) {
  if (wake.fd < 0) return;
  epoll_event event = {};
  event.events = EPOLLIN;
  if (wake.kind != WakeFd::kLevel) event.events |= EPOLLET;
  epoll_ctl(wake_fd_.get(), EPOLL_CTL_ADD, wake.fd, &event);
  if (wake.kind == WakeFd::kOwnedEdge) return;
  const UniqueFd& kind = wake.kind == WakeFd::kLevel ? watermark_fd_ : urgent_fd_;
  epoll_ctl(kind.get(), EPOLL_CTL_ADD, wake.fd, &event);
}

void Recorder::Keep(std::unique_ptr<Source> source) {
  WakeOn(source->wake());
  sources_.push_back(std::move(source));
}

int64_t Recorder::Poll() {
  GiveWay();
  const WorkLog::Stretch stretch(&work_log_);
  epoll_event events[kMaxWakeEvents];
  (void)epoll_wait(wake_fd_.get(), events, kMaxWakeEvents, 0);  // consumes edge-triggered events
  const int64_t now_ns = MonotonicNs();
  if (flush_.MustMark(now_ns)) {
    flush_.Marked();
    MarkSources();
  }
  const Pace pace = DrainSources(now_ns);
  Adapt(now_ns, pace);
  const bool caught_up = pace.next_ns != now_ns;
  if (flush_.MustFlush(now_ns, caught_up || (flush_.marked() && PassedMarks()))) {
    flush_.Flushed(now_ns);
    FlushSources();
    session_.Flush();
    part_->sink.Kick();
  }
  part_->sink.Tend();
  TendFiles(now_ns);
  router_.live().Pump();
  // Polls again at once only while a flood is handled, never because of a clock.
  caught_up_ns_ = 0;
  if (!caught_up) {
    if (priority_ != nullptr) priority_->Working(flush_.due_ns(), pace.fill_permille);
    return 0;
  }
  const int64_t tick_ns = NextMultiple(now_ns + kMinPauseNs, pause_ns_);
  const int64_t next_ns = std::min({pace.next_ns, tick_ns, flush_.due_ns()});
  const int64_t pause_ns = std::max(next_ns - now_ns, kMinPauseNs);
  if (priority_ != nullptr) priority_->CaughtUp(flush_.due_ns());
  caught_up_ns_ = now_ns;
  return pause_ns;
}

// Work in idle time costs others nothing, and unused idle time is not available any more when a
// ring is full. Therefore the rings are kept almost empty.
void Recorder::Adapt(int64_t now_ns, const Pace& pace) {
  const bool idle = priority_ != nullptr && priority_->idle();
  if (pace.fill_permille > (idle ? kIdleBusyPermille : kBusyPermille)) {
    pause_ns_ = std::max(pause_ns_ / 2, kMinPauseNs);
    if (idle && caught_up_ns_ != 0) {
      const int64_t wanted_ns = (now_ns - caught_up_ns_) * kIdleBusyPermille / pace.fill_permille;
      pause_ns_ = std::clamp(wanted_ns, kMinPauseNs, pause_ns_);
    }
  } else if (pace.fill_permille < (idle ? kIdleBusyPermille / 2 : kIdlePermille)) {
    pause_ns_ = std::min(pause_ns_ * 2, max_pause_ns_);
  }
}

}  // namespace acceltrace::daemon
