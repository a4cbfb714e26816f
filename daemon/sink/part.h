// SPDX-License-Identifier: Apache-2.0
//
// One complete file of a recording.
#ifndef DAEMON_SINK_PART_H_
#define DAEMON_SINK_PART_H_

#include <string>
#include <utility>

#include "daemon/base/unique_fd.h"
#include "daemon/sink/file_output.h"
#include "daemon/sink/file_sink.h"

namespace acceltrace::daemon {

struct Part {
  // sync: flushed data survives a power failure.
  Part(UniqueFd fd, const std::string& name, WriteThread* thread, bool sync)
      : sink(std::move(fd), name, Options(thread, sync)), output(&sink) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  static FileSinkOptions Options(WriteThread* thread, bool sync) {
    FileSinkOptions options;
    options.thread = thread;
    options.sync = sync;
    return options;
  }

  FileSink sink;
  FileOutput output;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_PART_H_
