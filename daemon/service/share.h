// SPDX-License-Identifier: Apache-2.0
//
// A private daemon that others join. A device's trace ring has one reader, so that the first
// `acceltrace record` of a user opens a socket at a known path, and those that come while it is
// there are recorded by its daemon, as by the service. The daemon stays until the last has ended.
//
// Who has the place is decided by a lock beside the socket, which the kernel lets go of when its
// holder dies, however that comes about; a socket that is left behind is replaced.
#ifndef DAEMON_SERVICE_SHARE_H_
#define DAEMON_SERVICE_SHARE_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/base/unique_fd.h"
#include "daemon/unix_socket.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

class Share {
 public:
  // Takes the place; null: another daemon has it. Who connects waits until Serve(). To be called
  // before the calling thread gives up priority, processors or privileges.
  static Result<std::unique_ptr<Share>> Open(const std::string& path);
  // Ends what goes on, in good order.
  ~Share();
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  void Serve();
  // The place is given up once nobody is served any more. Returns whether somebody is.
  bool Leave();
  // After Leave: readable when the last one has gone.
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
  std::thread thread_;  // last: uses the others
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_SHARE_H_
