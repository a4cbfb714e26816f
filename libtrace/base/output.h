// SPDX-License-Identifier: Apache-2.0
//
// Opens all files that are written.
//
// Nothing that exists is modified until Place(). A file is written under another name in the same
// folder and then renamed; a link is followed, and its target is replaced. Anything else (a pipe, a
// device, an open descriptor) is written to directly.
#ifndef LIBTRACE_BASE_OUTPUT_H_
#define LIBTRACE_BASE_OUTPUT_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/base/result.h"

namespace acceltrace {

struct OutputOptions {
  // The output must not be any of these files, under any name; "-" is stdin.
  std::vector<std::string> inputs = {};
  // Mode of a new file, before the umask. A replaced file passes on its owner and mode.
  mode_t mode = 0666;
  // Only for a descriptor that is a file: it is empty, and there are no other writers.
  bool alone = false;
};

// Only root may read what root records.
mode_t RecordingMode();

// Identifies a file independently of its name.
using FileId = std::pair<dev_t, ino_t>;
// Returns {0, 0} for anything but a regular file. "-" is stdin.
FileId RegularFile(int fd);
FileId RegularFile(const std::string& path);

class Output {
 public:
  // "-" is stdout. Errors are one line with the path and what to do.
  static Result<Output> Create(const std::string& path, const OutputOptions& options = {});
  // Opens a file that may be needed later and is overwritten in place, by its descriptor. If it was
  // created for this and is empty in the end, it is removed.
  static Result<Output> Reserve(const std::string& path, const OutputOptions& options = {});
  Output(Output&& other) noexcept { *this = std::move(other); }
  Output& operator=(Output&& other) noexcept;
  ~Output();  // removes a file that has not got its name

  int fd() const { return fd_; }
  // For messages.
  const std::string& name() const { return name_; }
  // Place() renames the file; until then, its name is partial().
  bool is_file() const { return kind_ == Kind::kFile; }
  const std::string& partial() const { return *partial_; }
  // Returns true if the output is this descriptor.
  bool is_descriptor(int fd) const { return descriptor_ == fd; }

  // Gives the file its name. Later writes go there, too.
  Status Place();
  // Prevents the removal of the file at the end. Returns where it is.
  std::string Leave();
  Status Close();

  // Removes files that have no name yet. For a signal handler that ends the program.
  static void RemoveAll();

 private:
  enum class Kind { kNone, kFile, kReserved, kStream };

  Output() = default;
  Status Open(const OutputOptions& options);
  Status OpenDescriptor(const OutputOptions& options);
  Status OpenReserved(const OutputOptions& options);
  Status CheckOther(FileId file, const OutputOptions& options) const;
  Status CheckReplaceable(const struct stat& about) const;
  // Opens the file beside the place, and excludes other writers of it and of the place.
  Status Claim(mode_t mode);
  Status CannotCreate(int error) const;
  void Forget();

  Kind kind_ = Kind::kNone;
  int fd_ = -1, descriptor_ = -1;
  bool created_ = false;                  // for a reserved file
  std::string name_, path_;               // as it was given; with links followed
  std::unique_ptr<std::string> partial_;  // current name, known to RemoveAll()
};

}  // namespace acceltrace

#endif  // LIBTRACE_BASE_OUTPUT_H_
