// SPDX-License-Identifier: Apache-2.0
//
// What the output goes to.
#ifndef LIBTRACE_CLI_TERMINAL_H_
#define LIBTRACE_CLI_TERMINAL_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "libtrace/analysis/report.h"
#include "libtrace/model/model.h"
#include "libtrace/stream/result.h"
#include "libtrace/view/table.h"

namespace acceltrace::cli {

// Colours, width and characters of stdout: COLUMNS or what the terminal says, 80 when piped;
// colours on a terminal only, and not with NO_COLOR or TERM=dumb; ASCII where the locale has
// nothing else.
view::Style StdoutStyle();
// A variable of the environment, empty if it is not set.
std::string_view Environment(const char* name);
bool SpeaksUtf8();

// A text for people, as wide and in the characters that stdout takes.
Status PrintText(std::string_view text);

// JSON to stdout. On a terminal what Printable() replaces in text for people is written as \uXXXX,
// which says the same.
Status PrintJson(std::string_view text);

// A progress bar on stderr, when that is a terminal and the work takes long.
class Progress {
 public:
  // total 0 = unknown.
  Progress(std::string what, uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void Update(uint64_t done);

 private:
  std::string what_;
  uint64_t total_;
  bool shown_ = false;
  int64_t begin_ns_ = 0, last_ns_ = 0;
  bool terminal_;
};

// Says once on stderr what is waited for, when `path`, which is no regular file, has given nothing
// for some seconds: until Came(), or the end of this.
class SilenceNote {
 public:
  explicit SilenceNote(const std::string& path);
  SilenceNote(const SilenceNote&) = delete;
  SilenceNote& operator=(const SilenceNote&) = delete;
  ~SilenceNote() { Came(); }
  void Came();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool came_ = false;
  std::thread thread_;
};

// Findings in one line: the first, and how many more.
std::string FindingsText(const std::vector<analysis::Finding>& findings);

// Before a trace is read in part (allocator.h); its size, 0 where there is none. LoadTrace does it.
uint64_t ExpectFile(const std::string& path);

// Reads a trace with a progress bar; of more rows than that none.
Result<std::unique_ptr<model::Model>> LoadTrace(const std::string& path,
                                                uint64_t max_rows = model::LoadOptions().max_rows,
                                                bool checks_only = false,
                                                const model::Wanted* wanted = nullptr);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_TERMINAL_H_
