// SPDX-License-Identifier: Apache-2.0
//
// A terminal screen that is redrawn repeatedly, or plain text if there is no terminal.
#ifndef LIBTRACE_CLI_LIVE_SCREEN_H_
#define LIBTRACE_CLI_LIVE_SCREEN_H_

#include <termios.h>

#include <string>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/view/text/text_live.h"

namespace acceltrace::cli {

class LiveScreen {
 public:
  enum Want { kNothing, kRedraw, kQuit };

  // whole_screen requires that stdout is a terminal that can move its cursor; otherwise frames
  // follow each other. From now on, signals that end or stop the program are blocked, and Wanted()
  // handles them. It must be made before any threads, so that these do not get the signals.
  explicit LiveScreen(bool whole_screen);
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;
  ~LiveScreen() { End(); }

  int key_fd() const { return keys_ ? 0 : -1; }  // if readable, call Wanted()
  int signal_fd() const { return signal_fd_; }
  // Returns what keys and signals request, without waiting.
  Want Wanted();
  // Returns the present style of the terminal.
  view::LiveStyle style() const;
  Status Draw(const std::vector<std::string>& lines);
  // Restores the terminal.
  void End();

 private:
  void Begin();
  void Restore();
  void Suspend();

  bool whole_ = false, keys_ = false, began_ = false;
  int signal_fd_ = -1;
  uint64_t frames_ = 0;
  termios before_{};
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_LIVE_SCREEN_H_
