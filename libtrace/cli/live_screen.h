// SPDX-License-Identifier: Apache-2.0
//
// A terminal that is drawn anew again and again, or plain text where there is none.
#ifndef LIBTRACE_CLI_LIVE_SCREEN_H_
#define LIBTRACE_CLI_LIVE_SCREEN_H_

#include <termios.h>

#include <string>
#include <vector>

#include "libtrace/stream/result.h"
#include "libtrace/view/text_live.h"

namespace acceltrace::cli {

class LiveScreen {
 public:
  enum Want { kNothing, kRedraw, kQuit };

  // whole_screen: where stdout is a terminal that can move its cursor; else frame follows frame.
  // Signals that end or stop the program are taken from now on: Wanted() answers them. To be made
  // before there are threads, which then do not get them.
  explicit LiveScreen(bool whole_screen);
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;
  ~LiveScreen() { End(); }

  int key_fd() const { return keys_ ? 0 : -1; }  // readable: ask Wanted()
  int signal_fd() const { return signal_fd_; }
  // What keys and signals ask for; does not wait.
  Want Wanted();
  // Of the terminal as it is now.
  view::LiveStyle style() const;
  Status Draw(const std::vector<std::string>& lines);
  // The terminal as it was.
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
