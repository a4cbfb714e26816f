// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/live_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "libtrace/cli/inherited.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/terminal.h"

namespace acceltrace::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT};

// Returns true for a terminal that understands the escape sequences for moving the cursor.
bool MovesCursor() {
  const std::string_view term = Environment("TERM");
  return isatty(STDOUT_FILENO) != 0 && !term.empty() && term != "dumb";
}

bool CanRead(int fd) {
  pollfd ready = {fd, POLLIN, 0};
  return poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN) != 0;
}

}  // namespace

LiveScreen::LiveScreen(bool whole_screen) : whole_(whole_screen && MovesCursor()) {
  if (!whole_screen) return;
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kSignals) {
    if (!WasIgnored(signal)) sigaddset(&set, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (whole_) Begin();
}

void LiveScreen::Begin() {
  // If stdin is the terminal, read single keys without echo.
  keys_ = isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &before_) == 0;
  if (keys_) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 1, raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
  }
  began_ = true;
  // Use the alternate screen, without a cursor and without wrapping lines.
  if (!WriteStdout("\033[?1049h\033[?25l\033[?7l\033[2J").ok()) began_ = false;
}

void LiveScreen::Restore() {
  if (!began_) return;
  began_ = false;
  const Status wrote = WriteStdout("\033[?7h\033[?25h\033[?1049l");
  if (keys_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  if (!wrote.ok()) return;  // the terminal is gone
}

void LiveScreen::End() {
  Restore();
  if (signal_fd_ >= 0) close(signal_fd_);
  signal_fd_ = -1;
}

// For Ctrl-Z, restores the terminal for the shell.
void LiveScreen::Suspend() {
  Restore();
  raise(SIGSTOP);
  if (whole_) Begin();
}

LiveScreen::Want LiveScreen::Wanted() {
  Want want = kNothing;
  signalfd_siginfo info{};
  while (signal_fd_ >= 0 && read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) return kQuit;
    if (signal == SIGTSTP) Suspend();
    want = kRedraw;
  }
  while (keys_ && CanRead(STDIN_FILENO)) {
    char key = 0;
    if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q' || key == 4) return kQuit;
    want = kRedraw;
  }
  return want;
}

view::LiveStyle LiveScreen::style() const {
  view::LiveStyle style;
  style.ascii = !SpeaksUtf8() || Environment("TERM") == "dumb";
  style.style.colour = MovesCursor() && Environment("NO_COLOR").empty();
  style.style.width = 80;
  const int columns = std::atoi(std::string(Environment("COLUMNS")).c_str());
  winsize size{};
  const bool sized = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (sized) {
    style.style.width = size.ws_col;
  } else if (columns > 0) {
    style.style.width = columns;
  }
  style.style.width = std::clamp(style.style.width, 40, 500);
  if (whole_) style.height = sized && size.ws_row > 0 ? size.ws_row : 24;
  return style;
}

Status LiveScreen::Draw(const std::vector<std::string>& lines) {
  std::string text;
  if (!whole_) {
    if (frames_++ > 0) text += "\n";
    for (const std::string& line : lines) text += line + "\n";
    return WriteStdout(text);
  }
  text = "\033[H";
  for (size_t i = 0; i < lines.size(); ++i) {
    text += (i == 0 ? "" : "\r\n") + lines[i] + "\033[K";
  }
  return WriteStdout(text + "\033[J");
}

}  // namespace acceltrace::cli
