// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/service.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "daemon/base/host_info.h"
#include "daemon/base/privileges.h"
#include "daemon/service/client_outputs.h"
#include "daemon/signals.h"

namespace acceltrace::daemon {
namespace {

using nlohmann::json;

std::string Members(const json& object) {
  const std::string text = object.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.substr(1, text.size() - 2);
}

constexpr uint64_t kRefusalsLogged = 20;  // per minute
constexpr int kTendMs = 500;
constexpr int64_t kNsPerMinute = 60'000'000'000;

}  // namespace

Service::Service(Parts parts)
    : control_(std::move(parts.control)),
      live_(std::move(parts.live)),
      signals_(std::move(parts.signals)),
      group_(parts.group),
      config_(std::move(parts.config)),
      reload_(std::move(parts.reload)),
      journal_(std::move(parts.journal)),
      shared_(parts.shared),
      leave_fd_(parts.leave_fd),
      on_leave_(std::move(parts.on_leave)),
      end_ns_(parts.end_ns),
      give_up_(std::move(parts.give_up)),
      metrics_(std::move(parts.metrics), [this] { return Metrics(); }),
      intake_event_(std::make_shared<UniqueFd>(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      refusals_(kRefusalsLogged, kNsPerMinute) {}

Service::Recording* Service::Find(const Peer& peer, uint32_t session) {
  if (session != 0) {
    const auto found = recordings_.find(session);
    if (found == recordings_.end() || !MayUse(peer, found->second)) return nullptr;
    return &found->second;
  }
  for (auto entry = recordings_.rbegin(); entry != recordings_.rend(); ++entry) {
    if (entry->second.running && MayUse(peer, entry->second)) return &entry->second;
  }
  return nullptr;
}

Result<Service::Recording*> Service::FindToChange(const Client& client, uint32_t session) {
  if (session != 0) {
    Recording* recording = Find(client.peer(), session);
    if (recording != nullptr && !recording->stopping) return recording;
    return Status::Error("no recording " + std::to_string(session) + " of yours is running");
  }
  std::string others;
  for (auto entry = recordings_.rbegin(); entry != recordings_.rend(); ++entry) {
    Recording& recording = entry->second;
    if (recording.stopping || !MayUse(client.peer(), recording)) continue;
    if (recording.running && recording.client == client.number()) return &recording;
    others += (others.empty() ? "" : ", ") + std::to_string(recording.session);
  }
  if (others.empty()) return Status::Error("no recording of yours is running");
  return Status::Error("this connection has started none that is running; name a session: " +
                       others);
}

uint64_t Service::NewTicket(Client* client, const Command& command, uint32_t session) {
  ++client->pending;
  requests_[++last_ticket_] = {client->number(), command.id, session, {}};
  return last_ticket_;
}

void Service::Answer(uint64_t ticket, Status status, const std::string& members) {
  const auto found = requests_.find(ticket);
  if (found == requests_.end()) return;
  for (Output& output : found->second.outputs) {
    const WithRights rights(Rights::kRecording);
    if (status.ok()) status = output.Place();
  }
  for (Client& client : clients_) {
    if (client.number() != found->second.client) continue;
    --client.pending;
    client.Send(status.ok() ? OkAnswer(found->second.id, members)
                            : ErrorAnswer(found->second.id, status.message()));
  }
  requests_.erase(found);
}

Status Service::MayStart(const Peer& peer, const RecordOptions& options) {
  if (shared_) return {};
  const UserLimits& limits = config_.LimitsOf(peer.uid);
  if (options.priority.nice < 0) {
    return Status::Error("'priority' above the ordinary is of acceltrace record --private only");
  }
  if (!peer.root()) {
    if (options.system_wide) return Status::Error("only root may record the whole system");
    if (!options.libraries.empty()) {
      return Status::Error("only root may choose the libraries that are probed");
    }
  }
  size_t own = 0;
  uint64_t own_ring = options.ring_bytes, all_ring = options.ring_bytes;
  for (const auto& [session, recording] : recordings_) {
    all_ring += recording.ring_bytes;
    if (recording.owner != peer.uid) continue;
    ++own;
    own_ring += recording.ring_bytes;
  }
  if (recordings_.size() >= config_.max_recordings || (!peer.root() && own >= limits.recordings)) {
    return Status::Error("too many recordings at once; stop one first");
  }
  if (all_ring > config_.max_ring_bytes || (!peer.root() && own_ring > limits.ring_bytes)) {
    return Status::Error(
        "flight recorders would take more memory than acceltraced.conf allows; ask for a smaller "
        "ring, or stop another recording");
  }
  return accounts_.MayStart(peer.uid, MonotonicNs());
}

// Two recordings would damage a common file, even if they reached it by different paths.
Status Service::CheckFree(const std::vector<FileId>& files) const {
  for (const auto& [session, recording] : recordings_) {
    for (const FileId& file : files) {
      if (std::find(recording.files.begin(), recording.files.end(), file) ==
          recording.files.end()) {
        continue;
      }
      return Status::Error("recording " + std::to_string(session) +
                           " writes to this file: choose another one");
    }
  }
  return {};
}

Status Service::Start(Client* client, const Command& command) {
  const Peer& peer = client->peer();
  RecordOptions options = command.record;
  if (Status status = MayStart(peer, options); !status.ok()) return status;
  if (!peer.root()) options.owner = peer.uid;
  options.own_process = shared_;
  options.pause_when_full = config_.pause_when_full;
  options.sync = config_.sync;
  Recording recording;
  recording.ring_bytes = options.ring_bytes;
  auto outputs = TakeOutputs(client, command.output, options, KindsFor(*client));
  if (!outputs.ok()) return outputs.status();
  if (Status status = CheckFree(outputs->ids); !status.ok()) return status;
  recording.outputs = std::move(outputs->named);
  recording.files = std::move(outputs->ids);
  recording.session = ++last_session_;
  recording.owner = peer.uid;
  recording.client = command.detach ? 0 : client->number();
  recording.output = command.output.empty() ? "the client's file" : command.output;
  recording.start_ns = MonotonicNs();
  const uint64_t ticket = NewTicket(client, command, recording.session);
  std::shared_ptr<ByteQuota> quota;
  if (!peer.root()) quota = accounts_.Of(peer.uid, MonotonicNs()).bytes;
  recording.thread = std::make_unique<RecordingThread>(recording.session, std::move(options),
                                                       std::move(outputs->files), recording.output,
                                                       ticket, std::move(quota), &mailbox_);
  recordings_.emplace(recording.session, std::move(recording));
  return {};
}

void Service::Execute(Client* client, const Command& command) {
  if (command.verb == Command::Verb::kStart) {
    if (Status status = Start(client, command); !status.ok()) {
      Refuse(client->peer(), status.message());
      client->Send(ErrorAnswer(command.id, status.message()));
    }
    return;
  }
  if (command.verb == Command::Verb::kStatus) {
    client->Send(StatusAnswer(*client, command.id));
    return;
  }
  Recording* recording = Find(client->peer(), command.session);
  if (command.verb == Command::Verb::kStop || command.verb == Command::Verb::kPid) {
    const auto own = FindToChange(*client, command.session);
    if (!own.ok()) {
      client->Send(ErrorAnswer(command.id, own.message()));
      return;
    }
    recording = *own;
  }
  if (recording == nullptr || recording->stopping) {
    client->Send(ErrorAnswer(command.id, command.session == 0
                                             ? "no recording of yours is running"
                                             : "no recording " + std::to_string(command.session) +
                                                   " of yours is running"));
    return;
  }
  RecordingThread* thread = recording->thread.get();
  switch (command.verb) {
    case Command::Verb::kPid:
      thread->Track(command.pid, NewTicket(client, command, recording->session));
      break;
    case Command::Verb::kStop:
      Stop(recording, "client", command.status, NewTicket(client, command, recording->session));
      break;
    case Command::Verb::kSnapshot: {
      auto output = TakeOutputs(client, command.output, RecordOptions(), KindsFor(*client));
      const Status status = output.ok() ? CheckFree(output->ids) : output.status();
      if (!status.ok()) {
        client->Send(ErrorAnswer(command.id, status.message()));
        break;
      }
      const uint64_t ticket = NewTicket(client, command, recording->session);
      requests_[ticket].outputs = std::move(output->named);
      thread->Snapshot(std::move(output->files.front()),
                       command.output.empty() ? "the client's file" : command.output, ticket);
      break;
    }
    case Command::Verb::kLive:
      if (client->wants_to_send()) {
        client->Send(ErrorAnswer(command.id, "read the earlier answers first"));
        break;
      }
      thread->AddLiveReader(
          client->Release(),
          OkAnswer(command.id, "\"session\":" + std::to_string(recording->session)),
          ErrorAnswer(command.id, "this recording has too many live readers; end one of them"));
      break;
    default:
      break;
  }
}

std::string Service::StatusAnswer(const Client& client, uint64_t id) const {
  json sessions = json::array();
  for (const auto& [session, recording] : recordings_) {
    if (!MayUse(client.peer(), recording)) continue;
    const char* state = recording.stopping  ? "stopping"
                        : recording.running ? "running"
                                            : "starting";
    sessions.push_back({{"session", session},
                        {"user", recording.owner},
                        {"state", state},
                        {"output", recording.output},
                        {"duration_ns", MonotonicNs() - recording.start_ns}});
  }
  return OkAnswer(id, Members({{"sessions", sessions},
                               {"clients", clients_.size()},
                               {"max_sessions", config_.max_recordings}}));
}

void Service::Stop(Recording* recording, const std::string& reason, int32_t status,
                   uint64_t ticket) {
  if (recording->stopping) return;
  recording->stopping = true;
  recording->thread->Stop(reason, status, ticket);
}

void Service::Forget(uint32_t session) {
  // The requests that the thread did not handle.
  std::vector<uint64_t> left;
  for (const auto& [ticket, request] : requests_) {
    if (request.session == session) left.push_back(ticket);
  }
  for (const uint64_t ticket : left) {
    Answer(ticket, Status::Error("the recording has ended"), "");
  }
  const WithRights rights(Rights::kRecording);  // to remove unused files that root named
  recordings_.erase(session);
}

void Service::Hear(const Mailbox::Message& message) {
  const auto found = recordings_.find(message.session);
  if (found == recordings_.end()) return;
  Recording& recording = found->second;
  using Kind = Mailbox::Message::Kind;
  switch (message.kind) {
    case Kind::kAnswer:
      Answer(message.ticket, message.status, "");
      break;
    case Kind::kStarted:
      recording.running = message.status.ok();
      if (recording.running && !recording.outputs.empty()) {
        const WithRights rights(Rights::kRecording);
        const Status placed = recording.outputs.front().Place();
        if (!placed.ok()) Fail(&recording, "output failed", placed.message());
      }
      Answer(message.ticket, message.status, "\"session\":" + std::to_string(message.session));
      if (message.status.ok()) {
        ++started_;
        Say(kRecordingStarted, recording, "started: " + recording.output);
      } else {
        ++failed_;
        Say(kRefused, recording, "not started: " + message.status.message());
        Forget(message.session);
      }
      break;
    case Kind::kFailed:
      Fail(&recording, "output failed", message.status.message());
      break;
    case Kind::kQuota:
      Fail(&recording, "quota", message.status.message());
      break;
    case Kind::kNotice:
      Say(*message.notice, recording, message.status.message());
      break;
    case Kind::kStopped:
      ended_.Add(recording.thread->Stats());
      SayEnd(recording, message.summary);
      Answer(message.ticket, Status(), "\"summary\":" + message.summary.ToJson());
      Forget(message.session);
      break;
  }
}

void Service::Fail(Recording* recording, const std::string& reason, const std::string& error) {
  ++failed_;
  Say(kRecordingFailed, *recording, error);
  for (Client& client : clients_) {
    if (client.number() != recording->client) continue;
    client.Send("{" +
                Members({{"event", "failed"}, {"session", recording->session}, {"error", error}}) +
                "}");
  }
  Stop(recording, reason, -1, 0);
}

// Without a limit if nothing is in progress: a service without recordings sleeps.
int Service::TimeoutMs() const {
  const int64_t now_ns = MonotonicNs();
  for (const Client& client : clients_) {
    if (client.has_line()) return 0;
  }
  const bool tends = std::any_of(clients_.begin(), clients_.end(),
                                 [](const Client& client) { return client.receiving(); });
  if (tends || closer_.busy()) return kTendMs;
  const int watchdog = watchdog_.TimeoutMs(now_ns), metrics = metrics_.TimeoutMs(now_ns);
  if (watchdog < 0 || metrics < 0) return std::max(watchdog, metrics);
  return std::min(watchdog, metrics);
}

bool Service::Left(bool asked) {
  leaving_ = leaving_ || asked;
  if (!leaving_) return false;
  Accept();  // accept clients that have connected already
  const bool served = !clients_.empty() || !recordings_.empty();
  if (asked) on_leave_(served);
  return !served;
}

void Service::Run() {
  for (;;) {
    std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0},
                               {closer_.busy() ? -1 : control_.fd(), POLLIN, 0},
                               {closer_.busy() ? -1 : live_.fd(), POLLIN, 0},
                               {mailbox_.fd(), POLLIN, 0},
                               {metrics_.listen_fd(), POLLIN, 0},
                               {metrics_.client_fd(), metrics_.events(), 0},
                               {leaving_ ? -1 : leave_fd_, POLLIN, 0},
                               {intake_event_->get(), POLLIN, 0}};
    const size_t first_client = fds.size();
    for (const Client& client : clients_) {
      const bool waits = client.receiving() && !client.wants_to_send();
      fds.push_back({waits ? -1 : client.fd(),
                     static_cast<short>((client.receiving() ? 0 : POLLIN) |
                                        (client.wants_to_send() ? POLLOUT : 0)),
                     0});
    }
    watchdog_.Watch(!recordings_.empty());
    if (poll(fds.data(), fds.size(), TimeoutMs()) < 0) continue;
    const int64_t now_ns = MonotonicNs();
    watchdog_.Tick(now_ns);
    if (fds[0].revents != 0) {
      if (TakeSignal(signals_.get()) != SIGHUP) break;
      Reload();
    }
    metrics_.Serve(now_ns);
    if (fds[4].revents != 0) metrics_.Accept(now_ns);
    uint64_t count;
    if (fds[7].revents != 0) (void)!read(intake_event_->get(), &count, sizeof(count));
    TendClients(now_ns);
    size_t index = first_client;
    for (Client& client : clients_) {
      const short ready = fds[index++].revents;
      if ((ready & (POLLOUT | POLLHUP | POLLERR)) != 0) client.Flush();
      if ((ready & (POLLIN | POLLHUP | POLLERR)) != 0 || client.has_line()) Serve(&client);
    }
    if (fds[3].revents != 0) {
      for (const Mailbox::Message& message : mailbox_.Take()) Hear(message);
    }
    DropClosedClients();
    if (fds[1].revents != 0) Accept();
    if (fds[2].revents != 0) AcceptLive();
    if (Left(fds[6].revents != 0)) break;
  }
  metrics_.Stop();
  EndRecordings();
  for (Client& client : clients_) closer_.Close(client.Release());
}

// Ends all at once: one that is blocked in the kernel by a disk, or by what a process does to its
// own memory, must not keep the others from an orderly end, nor the service from ending.
void Service::EndRecordings() {
  for (auto& [session, recording] : recordings_) Stop(&recording, "service stopped", -1, 0);
  const int64_t end_ns = MonotonicNs() + end_ns_;
  for (int64_t now_ns = MonotonicNs(); !recordings_.empty() && now_ns < end_ns;
       now_ns = MonotonicNs()) {
    pollfd mail = {mailbox_.fd(), POLLIN, 0};
    (void)poll(&mail, 1,
               static_cast<int>(std::min<int64_t>((end_ns - now_ns) / 1'000'000 + 1, kTendMs)));
    watchdog_.Tick(MonotonicNs());
    for (const Mailbox::Message& message : mailbox_.Take()) Hear(message);
  }
  if (recordings_.empty()) return;
  for (const auto& [session, recording] : recordings_) {
    Say(kRecordingFailed, recording,
        "does not end, since something outside keeps it waiting; its file has no footer");
  }
  give_up_();
}

}  // namespace acceltrace::daemon
