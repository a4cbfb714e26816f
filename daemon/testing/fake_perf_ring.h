// SPDX-License-Identifier: Apache-2.0
//
// A perf ring in plain memory, with the kernel's side of it.
#ifndef DAEMON_TESTING_FAKE_PERF_RING_H_
#define DAEMON_TESTING_FAKE_PERF_RING_H_

#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace acceltrace::daemon {

class FakePerfRing {
 public:
  static constexpr uint64_t kBytes = 512;

  struct Task {
    uint32_t pid = 1, tid = 1;
  };

  const char* data() const { return memory_.data(); }
  uint64_t head = 0, tail = 0;

  // raw is the tracepoint's record, padded as the kernel does.
  void Sample(int64_t time_ns, const Task& task, std::string raw) {
    while ((raw.size() + 4) % 8 != 0) raw += '\0';
    std::string body;
    Add(&body, task.pid);
    Add(&body, task.tid);
    Add(&body, time_ns);
    Add(&body, static_cast<uint32_t>(raw.size()));
    body += raw;
    Record(PERF_RECORD_SAMPLE, body);
  }
  void Lost(uint64_t count, int64_t time_ns) {
    std::string body;
    Add(&body, uint64_t{1});
    Add(&body, count);
    Add(&body, uint64_t{0});
    Add(&body, time_ns);
    Record(PERF_RECORD_LOST, body);
  }
  // wrong is added to the length field.
  void Record(uint32_t type, const std::string& body, int wrong = 0) {
    perf_event_header header = {};
    header.type = type;
    header.size = static_cast<uint16_t>(static_cast<int>(sizeof(header) + body.size()) + wrong);
    std::string all;
    Add(&all, header);
    all += body;
    for (const char c : all) memory_[head++ % kBytes] = c;
  }

  template <typename T>
  static void Add(std::string* to, T value) {
    to->append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

 private:
  std::vector<char> memory_ = std::vector<char>(kBytes);
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_TESTING_FAKE_PERF_RING_H_
