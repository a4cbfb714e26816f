// SPDX-License-Identifier: Apache-2.0
//
// Writes blocks of bytes to a file, asynchronously if the kernel supports it.
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

// A submitted block belongs to the writer until Reap returns it, either complete (done == used) or
// with an error. Short writes are continued internally.
class BlockWriter {
 public:
  virtual ~BlockWriter() = default;
  virtual void Submit(Block* block) = 0;
  // Returns a finished block or nullptr. With `wait`, nullptr means that none is in flight.
  virtual Block* Reap(bool wait) = 0;
  // Starts flushing written data to the disk, so that it survives a power failure. Returns false if
  // the previous sync is still in progress.
  virtual bool Sync() = 0;
  // The errno of a failed Sync, reported once. Files that cannot be synchronised are not an error.
  virtual int TakeSyncError() = 0;
  virtual const char* name() const = 0;
};

// max_blocks limits the blocks in flight. Returns nullptr if the kernel refuses io_uring.
std::unique_ptr<BlockWriter> MakeUringWriter(int fd, unsigned max_blocks);

// Writes one block at a time, in Submit: with pwrite if seekable, else with write.
std::unique_ptr<BlockWriter> MakePlainWriter(int fd, bool seekable);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_BLOCK_WRITER_H_
