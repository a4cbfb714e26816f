// SPDX-License-Identifier: Apache-2.0
//
// The source of readings of /proc and /sys at the beginning, at the end and once per second in
// between.
#ifndef DAEMON_SOURCES_SYSTEM_SAMPLED_SOURCE_H_
#define DAEMON_SOURCES_SYSTEM_SAMPLED_SOURCE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "daemon/sources/common/source.h"
#include "daemon/sources/system/system_readers.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::daemon {

class SampledSource : public Source {
 public:
  using Read = std::function<void(Readings* readings)>;

  // `name` is that of --sources; its counters are numbered from first_counter, at most kMaxCounters
  // of them. `without` is the error if there is nothing to read.
  static constexpr uint32_t kMaxCounters = 4096;
  SampledSource(std::string name, std::string without, uint32_t first_counter, Read read,
                EventHandler* handler)
      : name_(std::move(name)),
        without_(std::move(without)),
        first_counter_(first_counter),
        read_(std::move(read)),
        handler_(handler) {}

  Status Start() override;
  Pace Drain(int64_t now_ns) override;
  void Checkpoint() override { Sample(); }
  std::vector<Hop> Hops() override;
  void Stop() override;

 private:
  void Sample();
  // Returns the number of a counter, which is described if it is new; 0 if there are too many.
  uint32_t NumberOf(const Reading& reading, proto::SystemCounters* described);

  std::string name_, without_;
  uint32_t first_counter_;
  Read read_;
  EventHandler* handler_;
  std::map<std::pair<std::string, std::string>, uint32_t> numbers_;  // by object and name
  int64_t next_ns_ = 0;
  uint64_t rows_ = 0, refused_ = 0, reported_refused_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SYSTEM_SAMPLED_SOURCE_H_
