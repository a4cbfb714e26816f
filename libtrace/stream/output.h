// SPDX-License-Identifier: Apache-2.0
//
// The one way to open what is written to.
//
// Nothing that was there before is touched until Place(). A file is written beside its place, in
// the same folder, and gets its name by a rename; a link is followed, and what it leads to is
// replaced. What is no file (a pipe, a device, a descriptor that is open already) is written to as
// it is.
#ifndef LIBTRACE_STREAM_OUTPUT_H_
#define LIBTRACE_STREAM_OUTPUT_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/stream/result.h"

namespace acceltrace::stream {

struct OutputOptions {
  // The output is none of these files, by whatever name; "-" is stdin.
  std::vector<std::string> inputs = {};
  // Of a new file, less the umask. One that is replaced hands on its owner and mode.
  mode_t mode = 0666;
  // Of a descriptor that is a file: nobody else writes to it, and nothing is in it yet.
  bool alone = false;
};

// What root records is root's to read.
mode_t RecordingMode();

// A file by what it is, not by its name.
using FileId = std::pair<dev_t, ino_t>;
// Of a regular file; {0, 0} of anything else. "-" is stdin.
FileId RegularFile(int fd);
FileId RegularFile(const std::string& path);

class Output {
 public:
  // "-" is stdout. Errors are one line with the path and what to do.
  static Result<Output> Create(const std::string& path, const OutputOptions& options = {});
  // A file that may be needed later and is written over where it is, by its descriptor. One that
  // was made for it and is empty in the end is removed.
  static Result<Output> Reserve(const std::string& path, const OutputOptions& options = {});
  Output(Output&& other) noexcept { *this = std::move(other); }
  Output& operator=(Output&& other) noexcept;
  ~Output();  // what did not get its name is removed

  int fd() const { return fd_; }
  // For messages.
  const std::string& name() const { return name_; }
  // It gets its name by Place(); until then it has this one.
  bool is_file() const { return kind_ == Kind::kFile; }
  const std::string& partial() const { return *partial_; }
  // It is this very descriptor.
  bool is_descriptor(int fd) const { return descriptor_ == fd; }

  // Gives the file its name. What is written later goes there, too.
  Status Place();
  // Nothing is removed at the end. Returns where it is.
  std::string Leave();
  Status Close();

  // In a signal handler that ends the program: removes what has no name yet.
  static void RemoveAll();

 private:
  enum class Kind { kNone, kFile, kReserved, kStream };

  Output() = default;
  Status Open(const OutputOptions& options);
  Status OpenDescriptor(const OutputOptions& options);
  Status OpenReserved(const OutputOptions& options);
  Status CheckOther(FileId file, const OutputOptions& options) const;
  Status CheckReplaceable(const struct stat& about) const;
  // Opens what is written to beside the place; nobody else writes there or to the place.
  Status Claim(mode_t mode);
  Status CannotCreate(int error) const;
  void Forget();

  Kind kind_ = Kind::kNone;
  int fd_ = -1, descriptor_ = -1;
  bool created_ = false;                  // of a reserved one
  std::string name_, path_;               // as it was given; links followed
  std::unique_ptr<std::string> partial_;  // where it lies still, known to RemoveAll()
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_OUTPUT_H_
