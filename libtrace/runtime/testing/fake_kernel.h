// SPDX-License-Identifier: Apache-2.0
//
// A driver and devices in memory. Commands are really executed, according to the device's rules:
// each engine takes a queue's commands in order, semaphores block them, jobs of a queue complete in
// order. The test decides when they run. For tests only. Thread-safe.
#ifndef LIBTRACE_RUNTIME_TESTING_FAKE_KERNEL_H_
#define LIBTRACE_RUNTIME_TESTING_FAKE_KERNEL_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "kmod/uapi/axl.h"
#include "libtrace/runtime/kernel.h"

namespace acceltrace::runtime {

class FakeKernel : public Kernel {
 public:
  enum class Mode {
    kEager,   // a job runs as far as it can when it is submitted
    kRandom,  // nothing runs before a wait, which runs commands in random order
    kHeld,    // nothing runs; waits block until another mode is set
  };

  explicit FakeKernel(std::vector<uint32_t> devices = {0}, uint32_t seed = 1);
  ~FakeKernel() override;

  std::vector<uint32_t> Devices() override;
  int Open(uint32_t index) override;
  int Close(int fd) override;
  int Ioctl(int fd, unsigned long request, void* argument) override;
  int Map(int fd, uint64_t offset, size_t bytes, void** address) override;
  int Unmap(void* address, size_t bytes) override;

  // Settings, which may be changed before or between calls.
  void SetMode(Mode mode);
  axl_info& info() { return info_; }
  void set_devices(std::vector<uint32_t> devices) { devices_ = std::move(devices); }
  void set_open_errno(int error) { open_errno_ = error; }
  // After `skip` calls of that ioctl, the next `times` calls return -error.
  void FailIoctl(unsigned long request, int error, int times = 1, int skip = 0);
  // After `skip` more commands, the next one ends with this status.
  void FailCommand(uint32_t status, uint64_t skip = 0);
  void set_num_contexts_free(uint32_t n) { contexts_free_ = n; }

  // The jobs that were submitted.
  struct Job {
    uint32_t device, ctx, queue, job;
    uint64_t sequence, correlation;
    std::vector<axl_desc> commands;
  };
  std::vector<Job> jobs() const;
  uint64_t executed() const;
  bool deadlocked() const;  // a thread waited for work that can never run
  size_t open_fds() const;
  size_t live_buffers() const;
  uint64_t ioctls(unsigned long request) const;

 private:
  struct Buffer {
    uint32_t kind;
    uint64_t bytes;
    std::byte* memory;  // owned by this or by the user
    std::vector<std::byte> owned;
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> last_use;  // (ctx, queue) to sequence
  };
  struct Pending {
    size_t job;
    axl_desc command;
    bool done = false;
  };
  struct Queue {
    uint64_t submitted = 0, completed = 0, failed = 0;
    uint32_t failed_status = 0, failed_index = 0;
    std::map<uint64_t, uint64_t> ticks;  // of completed sequences
    std::map<uint64_t, size_t> open;     // sequence to commands not done
    std::deque<std::pair<uint64_t, Pending>> fifo[AXL_NUM_ENGINES];
  };
  struct Ctx {
    bool alive = false, dead = false;
    std::vector<Queue> queues;
    std::vector<uint64_t> sems;
  };
  struct File {
    uint32_t device = 0;
    uint32_t client = 0;
    std::vector<Ctx> contexts;
    std::map<uint32_t, std::unique_ptr<Buffer>> buffers;
    uint32_t next_handle = 1;
  };
  struct Failure {
    int error, times, skip;
  };

  int Dispatch(File& file, unsigned long request, void* argument,
               std::unique_lock<std::mutex>& lock);
  int Join(File& file, axl_join* join);
  int CreateContext(File& file, axl_ctx_create* create);
  int CreateBuffer(File& file, axl_buf_create* create);
  int DestroyBuffer(File& file, uint32_t handle);
  int Submit(File& file, axl_submit* submit);
  int Wait(File& file, axl_wait* wait, std::unique_lock<std::mutex>& lock);
  bool RunOne(File& file);  // returns false if nothing can run
  void Execute(File& file, Ctx& ctx, Queue& queue, uint32_t engine);
  void Settle(Queue& queue);
  void NoteUse(File& file, const axl_submit& submit, const axl_desc& command);
  Ctx* FindCtx(File& file, uint32_t handle);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::mt19937 random_;
  Mode mode_ = Mode::kEager;
  axl_info info_ = {};
  std::vector<uint32_t> devices_;
  int open_errno_ = 0;
  std::map<unsigned long, Failure> failures_;
  std::map<unsigned long, uint64_t> calls_;
  uint32_t fail_status_ = 0;
  uint64_t fail_skip_ = 0;
  uint32_t contexts_free_ = AXL_MAX_CONTEXTS;
  std::map<int, std::unique_ptr<File>> files_;
  int next_fd_ = 100;
  uint32_t last_client_ = 0;
  std::vector<Job> jobs_;
  uint64_t executed_ = 0;
  uint64_t clock_ = 1000000;
  bool deadlocked_ = false;
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_TESTING_FAKE_KERNEL_H_
