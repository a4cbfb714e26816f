// SPDX-License-Identifier: Apache-2.0
//
// The service's metrics in the text format of Prometheus (0.0.4), and the small part of HTTP that
// serving them takes.
#ifndef DAEMON_SERVICE_METRICS_H_
#define DAEMON_SERVICE_METRICS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/recorder_stats.h"
#include "daemon/unix_socket.h"

namespace acceltrace::daemon {

// The sums over recordings.
struct Totals {
  struct Count {
    uint64_t in = 0, out = 0, lost = 0, bad = 0;
  };
  std::map<std::string, Count> hops;
  uint64_t bytes = 0;
  uint64_t stalls = 0;
  int64_t stall_ns = 0;
  uint64_t pauses = 0;
  uint64_t live_dropped = 0;

  void Add(const RecorderStats& stats);
};

struct MetricsData {
  struct Running {
    uint32_t session = 0;
    uint32_t user = 0;
    int64_t age_ns = 0;
    uint64_t ring_capacity = 0;
    RecorderStats stats;
  };
  Totals ended;  // of recordings that have ended
  std::vector<Running> running;
  uint64_t started = 0, failed = 0, refused = 0;
  uint64_t connections = 0;
  uint64_t devices = 0;  // the accelerators of the machine
};

// Renders all metrics with HELP and TYPE; counters never decrease.
std::string RenderMetrics(const MetricsData& data);

// Serves one scraper at a time, with a request of at most 4 KiB and within two seconds.
class MetricsServer {
 public:
  // If `listener` is invalid, no metrics are served.
  using Render = std::function<std::string()>;
  MetricsServer(UniqueFd listener, Render render)
      : listener_(std::move(listener)), render_(std::move(render)) {}

  // The descriptor to poll, or -1 while a client is served: the listener waits for its end.
  int listen_fd() const { return client_.valid() ? -1 : listener_.get(); }
  int client_fd() const { return client_.get(); }
  short events() const;
  void Stop() { Close(); }
  // -1 if no client is served.
  int TimeoutMs(int64_t now_ns) const;

  void Accept(int64_t now_ns);
  // Must be called when the client can be read from or written to, or its time is over.
  void Serve(int64_t now_ns);

 private:
  void Answer(std::string_view status, std::string_view type, const std::string& body);
  void Respond();
  void Close();

  UniqueFd listener_, client_;
  Render render_;
  std::string input_, output_;
  int64_t deadline_ns_ = 0;
};

// Returns a listening socket for a path or for a loopback address with a port.
Result<UniqueFd> ListenForMetrics(const std::string& where);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_METRICS_H_
