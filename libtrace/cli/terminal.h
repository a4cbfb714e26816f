// SPDX-License-Identifier: Apache-2.0
//
// Writes to the terminal or to where the output goes instead.
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

#include "libtrace/analysis/report/report.h"
#include "libtrace/base/result.h"
#include "libtrace/base/utf8.h"
#include "libtrace/model/tables/model.h"
#include "libtrace/view/common/table.h"

namespace acceltrace::cli {

// Returns the colours, width and character set of stdout. The width is COLUMNS, or that of the
// terminal, or 80 in a pipe. Colours are only used on a terminal, unless there is NO_COLOR or
// TERM=dumb. Text is ASCII if the locale has nothing else.
view::Style StdoutStyle();
// Returns an environment variable, or an empty string if it is not set.
std::string_view Environment(const char* name);
bool SpeaksUtf8();

// Prints text for people in the width and character set of stdout.
Status PrintText(std::string_view text);

// Prints JSON to stdout. On a terminal, characters that Printable() would replace are written as
// \uXXXX, which is equivalent.
Status PrintJson(std::string_view text);

// A progress bar on stderr, if that is a terminal and the work takes long.
class Progress {
 public:
  // total 0 = not known.
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

// Notes once on stderr what is being waited for, if `path`, which is not a regular file, has sent
// nothing for some seconds. Ends with Came() or this object.
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

// Returns the first finding and the number of others on one line.
std::string FindingsText(const std::vector<analysis::Finding>& findings);

// Prepares for reading a trace in part (allocator.h). Returns its size, or 0 if it has none.
// LoadTrace does this itself.
uint64_t ExpectFile(const std::string& path);

// Reads a trace with a progress bar; fails if it has more rows.
Result<std::unique_ptr<model::Model>> LoadTrace(const std::string& path,
                                                uint64_t max_rows = model::LoadOptions().max_rows,
                                                bool checks_only = false,
                                                const model::Wanted* wanted = nullptr);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_TERMINAL_H_
