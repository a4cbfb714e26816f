// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/recording_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/host_info.h"
#include "daemon/base/privileges.h"

namespace acceltrace::daemon {
namespace {

constexpr int64_t kNsPerS = 1'000'000'000;
constexpr int64_t kPublishNs = kNsPerS / 2;

UniqueFd NewEvent() { return UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void Signal(int fd) {
  const uint64_t one = 1;
  (void)!write(fd, &one, sizeof(one));
}

void Clear(int fd) {
  uint64_t count;
  (void)!read(fd, &count, sizeof(count));
}

void SendLine(int fd, std::string line) {
  line += '\n';
  (void)!send(fd, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Mailbox::Mailbox() : event_(NewEvent()) {}

void Mailbox::Post(Message message) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    messages_.push_back(std::move(message));
  }
  Signal(event_.get());
}

std::vector<Mailbox::Message> Mailbox::Take() {
  Clear(event_.get());
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(messages_, {});
}

RecordingThread::RecordingThread(uint32_t session, RecordOptions options,
                                 std::vector<UniqueFd> outputs, std::string output_name,
                                 uint64_t ticket, std::shared_ptr<ByteQuota> quota,
                                 Mailbox* mailbox)
    : session_(session),
      mailbox_(mailbox),
      event_(NewEvent()),
      quota_(std::move(quota)),
      output_name_(output_name) {
  thread_ = std::thread(&RecordingThread::Run, this, std::move(options), std::move(outputs),
                        std::move(output_name), ticket);
}

RecordingThread::~RecordingThread() {
  Stop("service stopped", -1, 0);
  thread_.join();
}

void RecordingThread::Ask(Request request) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    requests_.push_back(std::move(request));
  }
  Signal(event_.get());
}

void RecordingThread::Track(uint32_t pid, uint64_t ticket) {
  Ask([this, pid, ticket](Recorder* recorder) {
    mailbox_->Post(
        {Mailbox::Message::Kind::kAnswer, session_, ticket, recorder->Track(pid), {}, nullptr});
  });
}

void RecordingThread::Snapshot(UniqueFd output, std::string output_name, uint64_t ticket) {
  // std::function requires copyable captures.
  auto shared = std::make_shared<UniqueFd>(std::move(output));
  Ask([this, shared, output_name = std::move(output_name), ticket](Recorder* recorder) {
    mailbox_->Post({Mailbox::Message::Kind::kAnswer,
                    session_,
                    ticket,
                    recorder->Snapshot(std::move(*shared), output_name),
                    {},
                    nullptr});
  });
}

void RecordingThread::Stop(std::string reason, int32_t command_status, uint64_t ticket) {
  Ask([this, reason = std::move(reason), command_status, ticket](Recorder* recorder) {
    Mailbox::Message message;
    message.kind = Mailbox::Message::Kind::kStopped;
    message.session = session_;
    message.ticket = ticket;
    message.summary = recorder->Stop(reason, command_status);
    Publish(recorder);
    last_message_ = std::move(message);
  });
}

void RecordingThread::AddLiveReader(UniqueFd fd, std::string hello, std::string refusal) {
  auto shared = std::make_shared<UniqueFd>(std::move(fd));
  Ask([shared, hello = std::move(hello), refusal = std::move(refusal)](Recorder* recorder) {
    const int socket = shared->get();
    if (recorder->live_readers_full()) {
      if (!refusal.empty()) SendLine(socket, refusal);
      return;
    }
    if (!hello.empty()) SendLine(socket, hello);
    (void)recorder->AddLiveReader(std::move(*shared));
  });
}

RecorderStats RecordingThread::Stats() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

void RecordingThread::Notify(const JournalKind& notice, const std::string& what) {
  Mailbox::Message message;
  message.kind = Mailbox::Message::Kind::kNotice;
  message.session = session_;
  message.notice = &notice;
  message.status = Status::Error(output_name_ + ": " + what);
  mailbox_->Post(std::move(message));
}

void RecordingThread::Publish(Recorder* recorder) {
  RecorderStats stats = recorder->Stats();
  const RecorderStats before = Stats();
  if (stats.pauses > before.pauses) {
    Notify(kRecordingPaused, "no space left on its disk; events are lost until there is some");
  }
  if (!stats.paused && (before.paused || stats.pauses > before.pauses)) {
    Notify(kRecordingResumed, "there is space again; the recording goes on");
  }
  if (stats.removed && !before.removed) {
    Notify(kOutputRemoved, "the file was removed; what is recorded is lost when it ends");
  }
  const uint64_t written = stats.bytes - std::min(stats.bytes, charged_bytes_);
  charged_bytes_ += written;
  if (quota_ != nullptr && !over_quota_) {
    Status status = quota_->Charge(written, MonotonicNs());
    over_quota_ = !status.ok();
    if (over_quota_) {
      mailbox_->Post({Mailbox::Message::Kind::kQuota, session_, 0, std::move(status), {}, nullptr});
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  stats_ = std::move(stats);
}

void RecordingThread::Wait(const Recorder& recorder, int64_t pause_ns) {
  const WithRights rights(Rights::kNone);
  pollfd fds[] = {{event_.get(), POLLIN, 0}, {recorder.wake_fd(), POLLIN, 0}};
  const timespec timeout = {pause_ns / kNsPerS, pause_ns % kNsPerS};
  ppoll(fds, std::size(fds), &timeout, nullptr);
}

void RecordingThread::Serve(Recorder* recorder) {
  Clear(event_.get());
  while (!last_message_) {
    Request request;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (requests_.empty()) return;
      request = std::move(requests_.front());
      requests_.pop_front();
    }
    request(recorder);
  }
}

void RecordingThread::Run(RecordOptions options, std::vector<UniqueFd> outputs,
                          std::string output_name, uint64_t ticket) {
  const Status dropped = DropAllButNeeded();
  const WithRights rights(Rights::kRecording);
  auto recorder = dropped.ok()
                      ? Recorder::Start(options, std::move(outputs), std::move(output_name))
                      : Result<std::unique_ptr<Recorder>>(dropped);
  Mailbox::Message started;
  started.kind = Mailbox::Message::Kind::kStarted;
  started.session = session_;
  started.ticket = ticket;
  started.status = recorder.status();
  mailbox_->Post(std::move(started));
  if (!recorder.ok()) return;
  bool reported_failure = false;
  while (!last_message_) {
    const int64_t pause_ns = (*recorder)->Poll();
    if (const int64_t now_ns = MonotonicNs(); now_ns >= next_publish_ns_) {
      next_publish_ns_ = now_ns + kPublishNs;
      Publish(recorder->get());
    }
    if (!reported_failure && !(*recorder)->failure().ok()) {
      reported_failure = true;
      mailbox_->Post(
          {Mailbox::Message::Kind::kFailed, session_, 0, (*recorder)->failure(), {}, nullptr});
    }
    Wait(**recorder, pause_ns);
    Serve(recorder->get());
  }
  // Detaching takes time, so it is done before the end is announced: a new recording may then start
  // at once.
  recorder->reset();
  mailbox_->Post(*std::move(last_message_));
}

}  // namespace acceltrace::daemon
