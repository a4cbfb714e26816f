// SPDX-License-Identifier: Apache-2.0
//
// Runs a recording in a thread of its own, so that attaching, stopping and writing one never delays
// another.
#ifndef DAEMON_SERVICE_RECORDING_THREAD_H_
#define DAEMON_SERVICE_RECORDING_THREAD_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/recorder.h"
#include "daemon/service/journal.h"
#include "daemon/service/quota.h"

namespace acceltrace::daemon {

// Messages from recording threads to the service, which wake its loop by an eventfd.
class Mailbox {
 public:
  struct Message {
    enum class Kind {
      kStarted,  // `status` tells whether it started
      kAnswer,   // to a request; `status`
      kFailed,   // the output has failed; `status`
      kQuota,    // its user has used up the quota; `status`
      kNotice,   // for the journal: `notice`, `status`
      kStopped,  // `summary`; the thread has ended
    };
    Kind kind = Kind::kAnswer;
    uint32_t session = 0;
    uint64_t ticket = 0;  // of the request
    Status status;
    Summary summary;
    const JournalKind* notice = nullptr;
  };

  Mailbox();
  int fd() const { return event_.get(); }
  void Post(Message message);
  std::vector<Message> Take();

 private:
  UniqueFd event_;
  std::mutex mutex_;
  std::vector<Message> messages_;
};

class RecordingThread {
 public:
  // Starts at once; kStarted follows. `mailbox` must outlive the thread. `outputs` are the file and
  // then further ones. Written bytes are charged to `quota`, which may be null.
  RecordingThread(uint32_t session, RecordOptions options, std::vector<UniqueFd> outputs,
                  std::string output_name, uint64_t ticket, std::shared_ptr<ByteQuota> quota,
                  Mailbox* mailbox);
  // Stops the recording if necessary and waits for the thread.
  ~RecordingThread();

  // Each is answered by kAnswer with the ticket; Stop by kStopped.
  void Track(uint32_t pid, uint64_t ticket);
  void Snapshot(UniqueFd output, std::string output_name, uint64_t ticket);
  void Stop(std::string reason, int32_t command_status, uint64_t ticket);
  // Sends `hello` and then the stream to the socket, or `refusal` and the error as a line.
  void AddLiveReader(UniqueFd fd, std::string hello, std::string refusal);

  // At most half a second old; final once kStopped was received.
  RecorderStats Stats();

 private:
  using Request = std::function<void(Recorder*)>;

  void Run(RecordOptions options, std::vector<UniqueFd> outputs, std::string output_name,
           uint64_t ticket);
  void Ask(Request request);
  void Wait(const Recorder& recorder, int64_t pause_ns);
  void Serve(Recorder* recorder);
  void Publish(Recorder* recorder);
  void Notify(const JournalKind& notice, const std::string& what);

  const uint32_t session_;
  Mailbox* const mailbox_;
  UniqueFd event_;
  std::mutex mutex_;
  std::deque<Request> requests_;
  RecorderStats stats_;  // as last published
  std::shared_ptr<ByteQuota> quota_;
  std::string output_name_;
  uint64_t charged_bytes_ = 0;
  bool over_quota_ = false;
  int64_t next_publish_ns_ = 0;
  std::optional<Mailbox::Message> last_message_;  // set by Stop; only used by the thread
  std::thread thread_;                            // last, as it uses the other members
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_RECORDING_THREAD_H_
