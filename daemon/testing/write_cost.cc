// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of writing a recording's blocks in each way that io_uring offers: from pages
// looked up at each write, from buffers registered once, and with O_DIRECT.
//
//   axl-write-cost FILE plain|registered|direct MIB
//
// Prints CPU time of this process and of the kernel, and elapsed time, in microseconds per MiB. The
// file is rewritten and is on the disk at the end.
#include <fcntl.h>
#include <liburing.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr unsigned kBlocks = 8;  // as a recording has
constexpr size_t kBlockBytes = 256 << 10, kPage = 4096;

double CpuUs() {
  rusage use = {};
  getrusage(RUSAGE_SELF, &use);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(use.ru_utime) + us(use.ru_stime);
}

// Writes blocks with as many in flight as exist; returns false if a write failed.
bool Write(int fd, bool registered, uint64_t bytes, char* blocks) {
  io_uring ring;
  if (io_uring_queue_init(kBlocks, &ring, 0) != 0) return false;
  iovec vectors[kBlocks];
  for (unsigned i = 0; i < kBlocks; ++i) vectors[i] = {blocks + i * kBlockBytes, kBlockBytes};
  bool ok = !registered || io_uring_register_buffers(&ring, vectors, kBlocks) == 0;
  uint64_t offset = 0;
  unsigned in_flight = 0;
  for (unsigned next = 0; ok && (offset < bytes || in_flight > 0);) {
    if (offset < bytes && in_flight < kBlocks) {
      io_uring_sqe* sqe = io_uring_get_sqe(&ring);
      const auto size = static_cast<unsigned>(kBlockBytes);
      if (registered) {
        io_uring_prep_write_fixed(sqe, fd, vectors[next].iov_base, size, offset,
                                  static_cast<int>(next));
      } else {
        io_uring_prep_write(sqe, fd, vectors[next].iov_base, size, offset);
      }
      io_uring_submit(&ring);
      offset += kBlockBytes;
      next = (next + 1) % kBlocks;
      ++in_flight;
      continue;
    }
    io_uring_cqe* cqe = nullptr;
    ok = io_uring_wait_cqe(&ring, &cqe) == 0 && cqe->res == static_cast<int>(kBlockBytes);
    if (cqe != nullptr) io_uring_cqe_seen(&ring, cqe);
    --in_flight;
  }
  io_uring_queue_exit(&ring);
  return ok && fdatasync(fd) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc == 4 ? argv[2] : "";
  if (way != "plain" && way != "registered" && way != "direct") {
    fprintf(stderr, "usage: axl-write-cost FILE plain|registered|direct MIB\n");
    return 2;
  }
  const int direct = way == "direct" ? O_DIRECT : 0;
  const int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | direct, 0600);
  auto* blocks = static_cast<char*>(aligned_alloc(kPage, kBlocks * kBlockBytes));
  if (fd < 0 || blocks == nullptr) {
    perror(argv[1]);
    return 1;
  }
  memset(blocks, 'x', kBlocks * kBlockBytes);
  const uint64_t mib = strtoull(argv[3], nullptr, 10);
  const double cpu_us = CpuUs();
  const auto begin = std::chrono::steady_clock::now();
  if (!Write(fd, way == "registered", mib << 20, blocks)) {
    fprintf(stderr, "axl-write-cost: %s: a write failed\n", argv[1]);
    return 1;
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  const auto each = static_cast<double>(mib);
  printf("%.3f %.3f\n", (CpuUs() - cpu_us) / each, took.count() / each);
  return 0;
}
