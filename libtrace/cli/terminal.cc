// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "libtrace/base/utf8.h"
#include "libtrace/cli/allocator.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/view/common/format.h"

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

// Depends on the locale; if none is set, assumes UTF-8, as nearly every terminal uses it.
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

Status PrintJson(std::string_view text) {
  if (isatty(STDOUT_FILENO) == 0) return WriteStdout(text);
  std::string safe;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    char32_t code = NextCharacter(text, &at);
    const std::string_view bytes = text.substr(begin, at - begin);
    constexpr char32_t kBeyond = 0x10000;
    if (bytes == "\n" || Printable(bytes) == bytes) {
      safe += bytes;
    } else if (code < kBeyond) {
      safe += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
    } else {
      code -= kBeyond;
      safe += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + static_cast<uint32_t>(code >> 10),
                          0xdc00 + static_cast<uint32_t>(code & 0x3ff));
    }
  }
  return WriteStdout(safe);
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

SilenceNote::SilenceNote(const std::string& path) {
  struct stat about {};
  const int known = path == "-" ? fstat(STDIN_FILENO, &about) : stat(path.c_str(), &about);
  if (known != 0 || S_ISREG(about.st_mode)) return;
  thread_ = std::thread([this, path] {
    constexpr auto kQuiet = std::chrono::seconds(2);
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kQuiet, [this] { return came_; })) return;
    Fail(kOk, fmt::format("{}: nothing came for {} s; waiting for the first packet, Ctrl-C ends it",
                          path == "-" ? "stdin" : path, kQuiet.count()));
  });
}

void SilenceNote::Came() {
  {
    const std::lock_guard lock(mutex_);
    came_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
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

namespace {

// Returns the newest file in the folder with a default name of acceltrace record, or an empty
// string.
std::string NewestTrace(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  std::string newest;
  fs::file_time_type when;
  std::error_code error;
  for (fs::directory_iterator it(folder.empty() ? "." : folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("acceltrace-") || !name.ends_with(".atrace")) continue;
    std::error_code gone;
    const fs::file_time_type written = it->last_write_time(gone);
    if (gone || (!newest.empty() && written <= when)) continue;
    newest = (folder / name).string(), when = written;
  }
  return newest;
}

}  // namespace

Result<std::unique_ptr<model::Model>> LoadTrace(const std::string& path, uint64_t max_rows,
                                                bool checks_only, const model::Wanted* wanted) {
  const uint64_t bytes = ExpectFile(path);
  Progress progress("reading", bytes);
  SilenceNote silence(path);
  model::LoadOptions options;
  options.max_rows = std::min(options.max_rows, max_rows);
  options.checks_only = checks_only;
  options.wanted = wanted;
  options.progress = [&](uint64_t done) {
    silence.Came();
    progress.Update(done);
  };
  auto model = model::LoadFile(path, options);
  if (model.ok() || path == "-" || access(path.c_str(), F_OK) == 0) return model;
  const std::string newest = NewestTrace(path);
  if (newest.empty()) return model;
  return Status::Error(model.message() + ": the newest trace there is " + newest);
}

}  // namespace acceltrace::cli
