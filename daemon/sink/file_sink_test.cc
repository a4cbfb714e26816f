// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/file_sink.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "daemon/sink/file_output.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/test_batches.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

class TempDir {
 public:
  TempDir() {
    path_ = "/tmp/sink-" + std::string(6, 'X');  // what mkdtemp replaces
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~TempDir() {
    if (mounted_) umount(path_.c_str());
    if (system(("rm -rf " + path_).c_str()) != 0) WARN("left " << path_);
  }
  bool MountTmpfs(const char* size) {
    mounted_ = mount("none", path_.c_str(), "tmpfs", 0, size) == 0;
    return mounted_;
  }
  std::string File() const { return path_ + "/x.atrace"; }

 private:
  std::string path_;
  bool mounted_ = false;
};

UniqueFd Create(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A file size limit, lifted at the end.
class FileLimit {
 public:
  explicit FileLimit(uint64_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

void WriteHostEvents(FileOutput* output, int packets) {
  for (int p = 0; p < packets; ++p) {
    proto::Packet packet;
    for (int i = 0; i < 1000; ++i) {
      packet.mutable_host()->add_kind(1);
      packet.mutable_host()->add_time_ns_delta(1 + i * 7919);
      packet.mutable_host()->add_arg0(static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15);
    }
    output->Write(&packet, 1, 1000);
  }
}

// The content of the file as a reader sees it.
struct Found {
  uint64_t rows = 0;
  uint64_t missing = 0;
  bool footer = false, accounts = false;
  std::string gaps;
};
Found ReadBack(const std::string& path) {
  Found found;
  auto reader = stream::Reader::Open(path);
  REQUIRE(reader.ok());
  proto::Packet packet;
  while (stream::ReadBatch(reader.value().get(), &packet) == stream::Reader::Next::kPacket) {
    found.rows += static_cast<uint64_t>(packet.host().kind_size());
    found.accounts = found.accounts || packet.has_accounts();
  }
  found.footer = reader.value()->stats().has_footer;
  for (const auto& gap : reader.value()->stats().gaps) {
    found.gaps += gap.reason + " ";
    found.missing += gap.missing_packets;
  }
  return found;
}

TEST_CASE("frames arrive whole and in order, by io_uring, one after the other, by a thread") {
  WriteThread thread;
  for (const std::string method : {"io_uring", "pwrite", "thread"}) {
    TempDir dir;
    FileSinkOptions options;
    options.use_uring = method == "io_uring";
    options.thread = method == "thread" ? &thread : nullptr;
    options.block_bytes = 4096;
    options.blocks = 3;
    FileSink sink(Create(dir.File()), dir.File(), options);
    std::string expected;
    for (int i = 0; i < 3000; ++i) {
      std::string frame(static_cast<size_t>(i * 37 % 900), static_cast<char>('a' + i % 26));
      if (i % 500 == 0) frame.resize(20'000, 'z');  // longer than a block
      expected += frame;
      sink.Append(frame, 1);
      if (i % 100 == 0) sink.Kick();
    }
    sink.Close();
    CHECK(sink.status().ok());
    CHECK(sink.valid_bytes() == expected.size());
    CHECK(sink.frames_lost() == 0);
    CHECK(Read(dir.File()) == expected);
    CHECK(sink.method() == method);
  }
  CHECK(thread.log().size() > 0);
  CHECK(thread.cpu_ns() > 0);
  CHECK(thread.helper()->since_ns == IdleHelper::kNothing);
}

// Holds submitted blocks until released, like a kernel that defers writes to a thread.
class HeldWriter : public BlockWriter {
 public:
  explicit HeldWriter(size_t* most_held) : most_held_(*most_held) {}
  void Submit(Block* block) override {
    held_.push_back(block);
    most_held_ = std::max(most_held_, held_.size());
  }
  Block* Reap(bool wait) override {
    if (!wait || held_.empty()) return nullptr;
    Block* block = held_.back();  // in no particular order
    held_.pop_back();
    block->done = block->used;
    return block;
  }
  bool Sync() override { return true; }
  int TakeSyncError() override { return 0; }
  const char* name() const override { return "held"; }

 private:
  std::vector<Block*> held_;
  size_t& most_held_;
};

TEST_CASE(
    "a block is written when the one before it is in the file, so that a kill leaves no hole") {
  TempDir dir;
  size_t most_held = 0;
  FileSink sink(Create(dir.File()), dir.File(), {true, 512, 4, 4096},
                std::make_unique<HeldWriter>(&most_held));
  for (int i = 0; i < 30; ++i) {
    sink.Append(std::string(500, 'a'), 1);
    sink.Kick();
  }
  CHECK(sink.stalls() > 0);
  sink.Drain();
  CHECK(sink.valid_bytes() == 15'000);
  CHECK(most_held == 1);
}

TEST_CASE("a pipe is written in order") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::string expected;
  {
    FileSink sink(UniqueFd(ends[1]), "pipe", {true, 512, 2, 4096});
    for (int i = 0; i < 100; ++i) {
      const std::string frame(100, static_cast<char>('a' + i % 26));
      expected += frame;
      sink.Append(frame, 1);
    }
    sink.Close();
    CHECK(sink.status().ok());
    CHECK(std::string(sink.method()) == "write");
  }
  std::string got(expected.size() + 1, 0);
  size_t bytes = 0;
  for (ssize_t n; (n = read(ends[0], got.data() + bytes, got.size() - bytes)) > 0;) {
    bytes += static_cast<size_t>(n);
  }
  close(ends[0]);
  got.resize(bytes);
  CHECK(got == expected);
}

void CheckFullFile(const std::string& path, FileSinkOptions options) {
  FileSink sink(Create(path), path, options);
  FileOutput output(&sink);
  WriteHostEvents(&output, 400);
  output.BeginClosing();
  REQUIRE_FALSE(sink.status().ok());
  CHECK(sink.status().message().find(path) != std::string::npos);
  CHECK(output.rows_lost() > 0);
  proto::Packet accounts;
  accounts.mutable_accounts()->set_stop_reason("output failed");
  // As long as a busy recorder's: it must fit into the reserve, not into space free by chance.
  for (uint64_t i = 0; i < 2'000; ++i) {
    accounts.mutable_accounts()->add_work_begin_ns_delta(i == 0 ? 1 : 900'000);
    accounts.mutable_accounts()->add_work_ns(70'000 + i);
    accounts.mutable_accounts()->add_work_cpu_ns(60'000 + i);
    accounts.mutable_accounts()->add_work_cpu(1);
    accounts.mutable_accounts()->add_work_wakes(1);
  }
  output.Write(&accounts, 0, 0);
  output.Close();

  const Found found = ReadBack(path);
  // All rows that are not in the file are in the accounts, and the tail is complete.
  CHECK(found.rows > 0);
  CHECK(found.rows + output.rows_lost() == output.rows());
  CHECK(found.accounts);
  CHECK(found.footer);
  CHECK(found.missing == sink.frames_lost());
  CHECK(found.gaps == "sequence ");
}

TEST_CASE("at the file size limit what was written stays valid and closes in order") {
  for (const bool uring : {true, false}) {
    TempDir dir;
    FileLimit limit(1'000'000);
    CheckFullFile(dir.File(), {uring, 64 << 10, 4, 64 << 10});
  }
  WriteThread thread;
  TempDir dir;
  FileLimit limit(1'000'000);
  CheckFullFile(dir.File(), {true, 64 << 10, 4, 64 << 10, true, &thread});
}

TEST_CASE("on a full disk what was written stays valid and closes in order") {
  TempDir dir;
  if (!dir.MountTmpfs("size=1m")) {
    SKIP("no privilege to mount a tmpfs");
  }
  CheckFullFile(dir.File(), {true, 64 << 10, 4, 64 << 10});
  CheckFullFile(dir.File(), {false, 64 << 10, 4, 64 << 10});
  WriteThread thread;
  CheckFullFile(dir.File(), {true, 64 << 10, 4, 64 << 10, true, &thread});
}

TEST_CASE("what fits of the first block is kept") {
  for (const bool uring : {true, false}) {
    TempDir dir;
    FileLimit limit(100'000);
    CheckFullFile(dir.File(), {uring, 1 << 20, 4, 32 << 10});
    CHECK(Read(dir.File()).size() > 50'000);
  }
}

TEST_CASE("nothing can be written at all") {
  TempDir dir;
  FileLimit limit(0);
  FileSink sink(Create(dir.File()), dir.File());
  FileOutput output(&sink);
  WriteHostEvents(&output, 3);
  output.BeginClosing();
  CHECK_FALSE(sink.status().ok());
  output.Close();
  CHECK(sink.valid_bytes() == 0);
  CHECK(output.rows_lost() == 3000);
}

TEST_CASE("a good file has a footer, no gaps and no slack") {
  TempDir dir;
  FileSink sink(Create(dir.File()), dir.File());
  FileOutput output(&sink);
  WriteHostEvents(&output, 20);
  output.BeginClosing();
  output.Close();
  const Found found = ReadBack(dir.File());
  CHECK(found.rows == 20'000);
  CHECK(found.footer);
  CHECK(found.gaps.empty());
  struct stat info;
  REQUIRE(stat(dir.File().c_str(), &info) == 0);
  CHECK(static_cast<uint64_t>(info.st_size) == sink.valid_bytes());
  CHECK(info.st_blocks * 512 < info.st_size + 16384);  // the reserve was given back
}

TEST_CASE("what was flushed is asked to be on the disk, unless nobody wants that") {
  for (const bool use_uring : {true, false}) {
    for (const bool sync : {true, false}) {
      TempDir dir;
      FileSinkOptions options;
      options.use_uring = use_uring;
      options.sync = sync;
      FileSink sink(Create(dir.File()), "x", options);
      sink.Begin();
      sink.Kick();  // nothing to be written
      CHECK(sink.syncs() == 0);
      for (uint64_t turn = 1; turn <= 3; ++turn) {
        sink.Append("flushed", 1);
        sink.Kick();
        // The end of the last block, and of one still being written, cannot be predicted.
        while (sync && sink.syncs() < turn) sink.Tend();
      }
      sink.Tend();
      CHECK(sink.syncs() == (sync ? 3 : 0));
      sink.Close();
      CHECK(sink.status().ok());
      CHECK(Read(dir.File()) == "flushedflushedflushed");
    }
  }
}

TEST_CASE("a pipe is not asked to be on a disk") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const UniqueFd reader(ends[0]);
  FileSink sink(UniqueFd(ends[1]), "x");
  sink.Begin();
  sink.Append("flushed", 1);
  sink.Kick();
  CHECK(sink.syncs() == 0);
  sink.Close();
  CHECK(sink.status().ok());
}

}  // namespace
}  // namespace acceltrace::daemon
