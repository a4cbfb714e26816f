// SPDX-License-Identifier: Apache-2.0
//
// Blocks of bytes to a file, asynchronously where the kernel allows.
#ifndef DAEMON_SINK_BLOCK_WRITER_H_
#define DAEMON_SINK_BLOCK_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace acceltrace::daemon {

struct Block {
  std::vector<char> data;
  size_t used = 0;      // bytes of data to be written
  uint64_t offset = 0;  // in the file
  size_t done = 0;      // bytes that are in the file
  int error = 0;        // errno; done < used then
};

// A block that was submitted belongs to the writer until Reap returns it, either
// whole (done == used) or with an error. Short writes are carried on inside.
class BlockWriter {
 public:
  virtual ~BlockWriter() = default;
  virtual void Submit(Block* block) = 0;
  // A finished block; nullptr if there is none (wait: only if none is in flight).
  virtual Block* Reap(bool wait) = 0;
  // Starts bringing what was written to the disk itself, where a power cut leaves it. false: not
  // now, the one before is still under way.
  virtual bool Sync() = 0;
  // errno of a Sync that did not work, once; what this file cannot do at all is none.
  virtual int TakeSyncError() = 0;
  virtual const char* name() const = 0;
};

// max_blocks: how many are in flight at most. nullptr if the kernel refuses io_uring.
std::unique_ptr<BlockWriter> MakeUringWriter(int fd, unsigned max_blocks);

// One block at a time, in Submit. seekable: pwrite at the offset, else write.
std::unique_ptr<BlockWriter> MakePlainWriter(int fd, bool seekable);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_BLOCK_WRITER_H_
