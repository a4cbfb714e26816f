// SPDX-License-Identifier: Apache-2.0
//
// Clients of the service: connections, their commands and their end. Nothing here waits for a
// client.
#include <algorithm>

#include "daemon/base/host_info.h"
#include "daemon/service/service.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxLinesAtOnce = 16;  // per client, before the others have their turn

}  // namespace

Result<Peer> Service::Admit(int fd) const {
  auto peer = PeerOf(fd);
  if (!peer.ok() || peer->root()) return peer;
  if (!config_.LimitsOf(peer->uid).allowed) {
    return Status::Error("user " + std::to_string(peer->uid) +
                         " may not record: acceltraced.conf says so");
  }
  if (group_ && peer->InGroup(*group_)) return peer;
  return Status::Error("user " + std::to_string(peer->uid) +
                       " may not record: not root and not a member of the daemon's group");
}

void Service::Accept() {
  // Clients whose files still block a thread count as connections of their user.
  std::erase_if(stuck_, [](const auto& intake) { return intake.second->over(); });
  for (UniqueFd fd = control_.Accept(); fd.valid(); fd = control_.Accept()) {
    auto peer = Admit(fd.get());
    Client client(++last_client_, std::move(fd), peer.ok() ? *peer : Peer());
    const auto same_user = static_cast<size_t>(
        std::count_if(clients_.begin(), clients_.end(),
                      [&](const Client& other) { return other.peer().uid == client.peer().uid; }) +
        std::count_if(stuck_.begin(), stuck_.end(),
                      [&](const auto& intake) { return intake.first == client.peer().uid; }));
    const size_t most =
        client.peer().root() ? kMaxRootClients : config_.LimitsOf(client.peer().uid).connections;
    if (!peer.ok()) {
      Refuse(PeerOf(client.fd()).ok() ? *PeerOf(client.fd()) : Peer(), peer.message());
      client.Send(ErrorAnswer(0, peer.message()));
      closer_.Close(client.Release());
    } else if (!shared_ && (clients_.size() >= config_.max_connections || same_user >= most)) {
      Refuse(client.peer(), "too many connections");
      client.Send(ErrorAnswer(0, "too many connections; close some"));
      closer_.Close(client.Release());
    } else {
      clients_.push_back(std::move(client));
    }
  }
}

void Service::AcceptLive() {
  for (UniqueFd fd = live_.Accept(); fd.valid(); fd = live_.Accept()) {
    const auto peer = Admit(fd.get());
    // Refused readers receive an empty stream.
    Recording* recording = peer.ok() ? Find(*peer, 0) : nullptr;
    if (recording == nullptr) {
      closer_.Close(std::move(fd));
    } else {
      recording->thread->AddLiveReader(std::move(fd), "", "");
    }
  }
}

void Service::Serve(Client* client) {
  if (!client->has_line()) client->Receive(KindsFor(*client), intake_event_);
  for (size_t lines = 0; lines < kMaxLinesAtOnce; ++lines) {
    const auto line = client->NextLine();
    if (!line || client->closed()) return;
    uint64_t id = 0;
    const auto command = ParseCommand(*line, &id);
    if (!command.ok()) {
      client->Send(ErrorAnswer(id, command.message()));
    } else if (client->pending >= kMaxPending) {
      client->Send(ErrorAnswer(id, "too many requests at once; wait for answers"));
    } else if (const Status may = accounts_.MayAsk(client->peer().uid, MonotonicNs()); !may.ok()) {
      client->Send(ErrorAnswer(id, may.message()));
      ++refused_;
    } else {
      Execute(client, *command);
    }
  }
}

void Service::DropClosedClients() {
  for (const Client& client : clients_) {
    if (!client.closed()) continue;
    for (auto& [session, recording] : recordings_) {
      if (recording.client == client.number()) Stop(&recording, "client gone", -1, 0);
    }
  }
  clients_.remove_if([this](Client& client) {
    if (!client.closed()) return false;
    closer_.Close(client.Release());
    return true;
  });
}

// Root may write anywhere, but files of others must not be able to block a thread. Clients that
// join a private daemon could also run one of their own.
FileIntake::Kinds Service::KindsFor(const Client& client) const {
  if (shared_) return FileIntake::Kinds::kAny;
  return client.peer().root() ? FileIntake::Kinds::kRegular : FileIntake::Kinds::kRegularOfKernel;
}

void Service::TendClients(int64_t now_ns) {
  for (Client& client : clients_) {
    auto stuck = client.Tend(now_ns);
    if (stuck != nullptr) stuck_.emplace_back(client.peer().uid, std::move(stuck));
  }
}

}  // namespace acceltrace::daemon
