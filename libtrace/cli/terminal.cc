// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "libtrace/cli/allocator.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/view/format.h"

namespace acceltrace::cli {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What the locale says; where nothing is set, as nearly every terminal does today.
bool SpeaksUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = Environment(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos;
  }
  return true;
}

view::Style StdoutStyle() {
  view::Style style;
  style.width = 80;
  style.ascii = !SpeaksUtf8();
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  style.colour = terminal && Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
  constexpr int kLeast = 40, kMost = 1000;
  winsize size{};
  const int columns = std::atoi(std::string(Environment("COLUMNS")).c_str());
  if (columns >= kLeast) {
    style.width = std::min(columns, kMost);
  } else if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kLeast) {
    style.width = size.ws_col;
  }
  return style;
}

Status PrintText(std::string_view text) { return WriteStdout(view::Fitted(StdoutStyle(), text)); }

Progress::Progress(std::string what, uint64_t total)
    : what_(std::move(what)),
      total_(total),
      begin_ns_(NowNs()),
      last_ns_(begin_ns_),
      terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::Update(uint64_t done) {
  constexpr int64_t kEveryNs = 100'000'000;
  if (!terminal_) return;
  const int64_t now_ns = NowNs();
  if (now_ns - last_ns_ < kEveryNs) return;
  last_ns_ = now_ns;
  shown_ = true;
  if (total_ > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(total_);
    std::fprintf(stderr, "\r%s %s %s\033[K", what_.c_str(), view::Bar(share, 30).c_str(),
                 view::FormatShare(std::min(share, 1.0)).c_str());
  } else {
    std::fprintf(stderr, "\r%s %s\033[K", what_.c_str(), view::FormatBytes(done).c_str());
  }
}

std::string FindingsText(const std::vector<analysis::Finding>& findings) {
  if (findings.empty()) return "no findings";
  std::string text = view::Counted(findings.size(), "finding", "findings");
  text += ": " + findings.front().kind + ": " + findings.front().text;
  return findings.size() == 1 ? text : text + "; the others are in acceltrace verify";
}

uint64_t ExpectFile(const std::string& path) {
  struct stat about {};
  uint64_t bytes = 0;
  if (path != "-" && stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode)) {
    bytes = static_cast<uint64_t>(about.st_size);
  }
  ExpectTrace(bytes);
  return bytes;
}

Result<std::unique_ptr<model::Model>> LoadTrace(const std::string& path, uint64_t max_rows,
                                                bool checks_only, const model::Wanted* wanted) {
  const uint64_t bytes = ExpectFile(path);
  Progress progress("reading", bytes);
  model::LoadOptions options;
  options.max_rows = std::min(options.max_rows, max_rows);
  options.checks_only = checks_only;
  options.wanted = wanted;
  options.progress = [&progress](uint64_t done) { progress.Update(done); };
  return model::LoadFile(path, options);
}

}  // namespace acceltrace::cli
