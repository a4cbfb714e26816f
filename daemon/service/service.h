// SPDX-License-Identifier: Apache-2.0
//
// acceltraced as a service: its clients, their recordings and their permissions.
#ifndef DAEMON_SERVICE_SERVICE_H_
#define DAEMON_SERVICE_SERVICE_H_

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/options.h"
#include "daemon/service/client.h"
#include "daemon/service/config.h"
#include "daemon/service/control.h"
#include "daemon/service/file_intake.h"
#include "daemon/service/journal.h"
#include "daemon/service/manager.h"
#include "daemon/service/metrics.h"
#include "daemon/service/quota.h"
#include "daemon/service/recording_thread.h"
#include "daemon/unix_socket.h"
#include "libtrace/base/output.h"

namespace acceltrace::daemon {

// Returns the exit status.
int RunService(const Options& options);

class Service {
 public:
  // Limits in addition to the configuration's, so that no client can use up what others need.
  static constexpr size_t kMaxRootClients = 16;
  static constexpr uint32_t kMaxPending = 16;  // unanswered requests per client

  struct Parts {
    Listener control, live;
    UniqueFd metrics = UniqueFd();  // a listening socket, or invalid
    UniqueFd signals = UniqueFd();
    // Its members may record their own processes; if unset, only root may record.
    std::optional<gid_t> group = std::nullopt;
    ServiceConfig config = {};
    // Reads the configuration again; nullopt if it has mistakes, which have been reported.
    std::function<std::optional<ServiceConfig>()> reload = nullptr;
    Journal journal = Journal();
    // True for a private daemon that others have joined (share.h): all admitted users could also
    // run a daemon of their own, so there are no limits.
    bool shared = false;
    // When it is readable, the service ends as soon as it has no clients and recordings; on_leave
    // is told whether it still has any.
    int leave_fd = -1;
    std::function<void(bool served)> on_leave = nullptr;
    // How long recordings may take to end, less than the unit's TimeoutStopSec. Threads that are
    // still blocked in the kernel then end with the process, by give_up.
    int64_t end_ns = 20'000'000'000;
    std::function<void()> give_up = [] { _exit(1); };
  };
  explicit Service(Parts parts);

  // Runs until SIGTERM or SIGINT (or, with leave_fd, until nothing is served), and then until all
  // recordings have ended or end_ns has passed.
  void Run();

 private:
  struct Recording {
    uint32_t session = 0;
    uid_t owner = 0;
    uint64_t client = 0;  // 0 = continues without a client
    bool running = false;
    bool stopping = false;
    std::string output;
    std::vector<Output> outputs;  // those that root named by paths
    std::vector<FileId> files;    // all regular ones
    int64_t start_ns = 0;
    uint64_t ring_bytes = 0;
    std::unique_ptr<RecordingThread> thread;
  };
  // A request that a recording's thread handles.
  struct Request {
    uint64_t client = 0;
    uint64_t id = 0;
    uint32_t session = 0;
    std::vector<Output> outputs = {};  // of a snapshot, if root named it by a path
  };

  // In service_clients.cc.
  void Accept();
  void AcceptLive();
  // Returns the peer if it may use the service at all.
  Result<Peer> Admit(int fd) const;
  void Serve(Client* client);
  FileIntake::Kinds KindsFor(const Client& client) const;
  void TendClients(int64_t now_ns);
  void DropClosedClients();

  void Execute(Client* client, const Command& command);
  Status CheckFree(const std::vector<FileId>& files) const;
  Status MayStart(const Peer& peer, const RecordOptions& options);
  Status Start(Client* client, const Command& command);
  std::string StatusAnswer(const Client& client, uint64_t id) const;
  void Hear(const Mailbox::Message& message);
  void Stop(Recording* recording, const std::string& reason, int32_t status, uint64_t ticket);
  void Fail(Recording* recording, const std::string& reason, const std::string& error);
  void Forget(uint32_t session);
  void EndRecordings();
  // Returns true if, with leave_fd, nothing is served any more.
  bool Left(bool asked);
  int TimeoutMs() const;
  // In service_report.cc.
  void Reload();
  std::string Metrics() const;
  void Refuse(const Peer& peer, const std::string& why);
  void Say(const JournalKind& kind, const Recording& recording, const std::string& what,
           Journal::Fields more = {});
  void SayEnd(const Recording& recording, const Summary& summary);

  static bool MayUse(const Peer& peer, const Recording& recording) {
    return peer.root() || peer.uid == recording.owner;
  }
  // `session` 0 is the newest running recording. Returns null if there is none that the peer may
  // use.
  Recording* Find(const Peer& peer, uint32_t session);
  // For commands that change a recording. `session` 0 is the newest that this same client started.
  Result<Recording*> FindToChange(const Client& client, uint32_t session);
  uint64_t NewTicket(Client* client, const Command& command, uint32_t session);
  void Answer(uint64_t ticket, Status status, const std::string& members);

  Listener control_;
  Listener live_;
  UniqueFd signals_;
  std::optional<gid_t> group_;
  ServiceConfig config_;
  std::function<std::optional<ServiceConfig>()> reload_;
  Journal journal_;
  const bool shared_;
  const int leave_fd_;
  std::function<void(bool)> on_leave_;
  const int64_t end_ns_;
  std::function<void()> give_up_;
  bool leaving_ = false;
  UserAccounts accounts_{&config_};
  MetricsServer metrics_;
  Watchdog watchdog_;
  Mailbox mailbox_;
  Closer closer_;
  std::shared_ptr<UniqueFd> intake_event_;
  std::vector<std::pair<uid_t, std::shared_ptr<FileIntake>>> stuck_;  // of clients that are gone
  std::list<Client> clients_;
  std::map<uint32_t, Recording> recordings_;
  std::map<uint64_t, Request> requests_;
  uint64_t last_client_ = 0;
  uint32_t last_session_ = 0;
  uint64_t last_ticket_ = 0;
  Totals ended_;
  uint64_t started_ = 0, failed_ = 0, refused_ = 0;
  Bucket refusals_;  // limits how many are written to the journal
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_SERVICE_H_
