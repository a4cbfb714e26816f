// SPDX-License-Identifier: Apache-2.0
//
// acceltraced as a service: clients, recordings, and who may do what.
#ifndef DAEMON_SERVICE_SERVICE_H_
#define DAEMON_SERVICE_SERVICE_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/options.h"
#include "daemon/service/client.h"
#include "daemon/service/control.h"
#include "daemon/service/recording_thread.h"
#include "daemon/unix_socket.h"

namespace acceltrace::daemon {

// Returns the exit status.
int RunService(const Options& options);

class Service {
 public:
  // Bounds, so that no client can use up what the others need.
  static constexpr size_t kMaxClients = 64;
  static constexpr size_t kMaxClientsPerUser = 16;
  static constexpr size_t kMaxRecordings = 8;
  static constexpr size_t kMaxRecordingsPerUser = 2;  // root: all
  static constexpr uint32_t kMaxPending = 16;         // unanswered requests of a client

  // group: its members may record their own processes; none = only root.
  Service(Listener control, Listener live, UniqueFd signals, std::optional<gid_t> group)
      : control_(std::move(control)),
        live_(std::move(live)),
        signals_(std::move(signals)),
        group_(group) {}

  // Until SIGTERM or SIGINT.
  void Run();

 private:
  struct Recording {
    uint32_t session = 0;
    uid_t owner = 0;
    uint64_t client = 0;  // 0 = none, goes on by itself
    bool running = false;
    bool stopping = false;
    std::string output;
    std::vector<std::string> created;  // paths that were not there before
    int64_t start_ns = 0;
    std::unique_ptr<RecordingThread> thread;
  };
  // A request on its way through a recording's thread.
  struct Request {
    uint64_t client = 0;
    uint64_t id = 0;
    uint32_t session = 0;
  };

  void Accept();
  void AcceptLive();
  // The peer if it may talk to the service at all.
  Result<Peer> Admit(int fd) const;
  void Serve(Client* client);
  void Execute(Client* client, const Command& command);
  Status Start(Client* client, const Command& command);
  std::string StatusAnswer(const Client& client, uint64_t id) const;
  void Hear(const Mailbox::Message& message);
  void Stop(Recording* recording, const std::string& reason, int32_t status, uint64_t ticket);
  void Forget(uint32_t session);
  void DropClosedClients();

  static bool MayUse(const Peer& peer, const Recording& recording) {
    return peer.root() || peer.uid == recording.owner;
  }
  // session 0: the newest that runs. nullptr: none that the peer may use.
  Recording* Find(const Peer& peer, uint32_t session);
  // For what changes a recording. session 0: the newest that this very client started.
  Result<Recording*> FindToChange(const Client& client, uint32_t session);
  uint64_t NewTicket(Client* client, const Command& command, uint32_t session);
  void Answer(uint64_t ticket, const Status& status, const std::string& members);

  Listener control_;
  Listener live_;
  UniqueFd signals_;
  std::optional<gid_t> group_;
  Mailbox mailbox_;
  std::list<Client> clients_;
  std::map<uint32_t, Recording> recordings_;
  std::map<uint64_t, Request> requests_;
  uint64_t last_client_ = 0;
  uint32_t last_session_ = 0;
  uint64_t last_ticket_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_SERVICE_H_
