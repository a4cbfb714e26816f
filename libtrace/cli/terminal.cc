// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "libtrace/view/format.h"

namespace acceltrace::cli {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

view::Style StdoutStyle() {
  view::Style style;
  style.width = 120;
  if (isatty(STDOUT_FILENO) == 0) return style;
  const char* no_colour = std::getenv("NO_COLOR");
  style.colour = no_colour == nullptr || *no_colour == '\0';
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) style.width = size.ws_col;
  return style;
}

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

Result<std::unique_ptr<model::Model>> LoadTrace(const std::string& path) {
  struct stat about {};
  uint64_t bytes = 0;
  if (path != "-" && stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode)) {
    bytes = static_cast<uint64_t>(about.st_size);
  }
  Progress progress("reading", bytes);
  model::LoadOptions options;
  options.progress = [&progress](uint64_t done) { progress.Update(done); };
  return model::LoadFile(path, options);
}

}  // namespace acceltrace::cli
