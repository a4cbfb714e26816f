// SPDX-License-Identifier: Apache-2.0
//
// A trace that is still being recorded, shown as pages of what has arrived so far.
//
// A file is read in place; data from a socket is stored in a temporary unnamed file. Whenever there
// is more, a thread reads and analyses it from the beginning. It then pauses for at least twice as
// long as that took, so that it uses at most a third of one CPU.
#ifndef LIBTRACE_CLI_LIVE_TRACE_H_
#define LIBTRACE_CLI_LIVE_TRACE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "libtrace/analysis/report/report.h"
#include "libtrace/base/result.h"
#include "libtrace/model/tables/model.h"
#include "libtrace/view/html/page_source.h"

namespace acceltrace::cli {

class LiveTrace {
 public:
  // Data of a socket beyond this is discarded; the earlier data can still be viewed.
  static constexpr uint64_t kMostSpooledBytes = uint64_t{4} << 30;

  // The data at some time. Its members refer to each other.
  struct Version {
    std::unique_ptr<model::Model> model;
    analysis::Report report;
    std::unique_ptr<view::PageSource> source;
    uint64_t number = 0;  // 1, 2, ...
  };

  // `path` is a growing file or a socket.
  static Result<std::unique_ptr<LiveTrace>> Open(const std::string& path);
  LiveTrace(const LiveTrace&) = delete;
  LiveTrace& operator=(const LiveTrace&) = delete;
  ~LiveTrace();

  // Returns the latest version, or nullptr if nothing can be shown yet.
  std::shared_ptr<const Version> Now() const;
  // Without a version, returns why there will be none; empty if there may be one.
  std::string error() const;
  // Returns {"generation", "going", "bytes", "note"}: the number of the latest version, and whether
  // there may be more.
  std::string StateJson() const;

 private:
  LiveTrace() = default;
  void Spool();
  void Follow();
  // Returns the number of bytes received so far.
  uint64_t Bytes() const;
  void Load();

  std::string path_;  // the file to read
  int socket_ = -1, spool_ = -1;
  std::atomic<uint64_t> spooled_{0};
  std::thread spooler_, follower_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const Version> version_;
  std::string error_, note_;
  bool ended_ = false;     // there will be no more data
  bool finished_ = false;  // and all of it has been read
  bool stop_ = false;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_LIVE_TRACE_H_
