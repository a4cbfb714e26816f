// SPDX-License-Identifier: Apache-2.0
//
// A trace that is still being recorded, as pages of what has come so far.
//
// A file is read where it is; what comes through a socket goes to a temporary file that has no
// name. Whenever there is more, a thread reads and analyses it from the beginning: it rests at
// least twice as long as that took, so that watching costs no more than a third of one CPU.
#ifndef LIBTRACE_CLI_LIVE_TRACE_H_
#define LIBTRACE_CLI_LIVE_TRACE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "libtrace/analysis/report.h"
#include "libtrace/model/model.h"
#include "libtrace/stream/result.h"
#include "libtrace/view/page_source.h"

namespace acceltrace::cli {

class LiveTrace {
 public:
  // More than this of a socket is not kept: what came before stays to be seen.
  static constexpr uint64_t kMostSpooledBytes = uint64_t{4} << 30;

  // What there was at some time. Its parts refer to each other.
  struct Version {
    std::unique_ptr<model::Model> model;
    analysis::Report report;
    std::unique_ptr<view::PageSource> source;
    uint64_t number = 0;  // 1, 2, ...
  };

  // path: a file that grows, or a socket.
  static Result<std::unique_ptr<LiveTrace>> Open(const std::string& path);
  LiveTrace(const LiveTrace&) = delete;
  LiveTrace& operator=(const LiveTrace&) = delete;
  ~LiveTrace();

  // The newest; nullptr: nothing can be shown yet.
  std::shared_ptr<const Version> Now() const;
  // Why nothing more will come while there is no version; empty: it may.
  std::string error() const;
  // {"generation", "going", "bytes", "note"}: the newest version's number; whether more may come.
  std::string StateJson() const;

 private:
  LiveTrace() = default;
  void Spool();
  void Follow();
  // How many bytes there are.
  uint64_t Bytes() const;
  void Load();

  std::string path_;  // to read from
  int socket_ = -1, spool_ = -1;
  std::atomic<uint64_t> spooled_{0};
  std::thread spooler_, follower_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const Version> version_;
  std::string error_, note_;
  bool ended_ = false;     // no more will come
  bool finished_ = false;  // ... and all of it was read
  bool stop_ = false;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_LIVE_TRACE_H_
