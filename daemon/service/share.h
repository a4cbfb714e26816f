// SPDX-License-Identifier: Apache-2.0
//
// A private daemon that others can join. A device's trace ring has only one reader. Therefore a
// user's first `acceltrace record` opens a socket at a known path, and later ones are recorded by
// its daemon, as by the service, while it runs. The daemon ends after the last recording.
//
// A lock file beside the socket decides which daemon owns the path. The kernel releases the lock
// when its holder ends for whatever reason; a stale socket is replaced.
#ifndef DAEMON_SERVICE_SHARE_H_
#define DAEMON_SERVICE_SHARE_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/base/unique_fd.h"
#include "daemon/unix_socket.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

class Share {
 public:
  // Takes the path; returns null if another daemon has it. Connections wait until Serve(). Must be
  // called before the calling thread gives up priority, CPUs or privileges.
  static Result<std::unique_ptr<Share>> Open(const std::string& path);
  // Ends current recordings in an orderly way.
  ~Share();
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  void Serve();
  // Gives the path up once nothing is served any more. Returns whether something still is.
  bool Leave();
  // After Leave: readable when the last client has gone.
  int ended_fd() const { return ended_.get(); }

 private:
  enum class State { kServing, kOthersGoOn, kEnded };

  Share(UniqueFd lock, Listener listener);
  void Run(Listener listener);
  void Become(State state);

  UniqueFd lock_;
  UniqueFd go_, leave_, stop_, ended_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kServing;
  std::thread thread_;  // last, as it uses the other members
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_SHARE_H_
