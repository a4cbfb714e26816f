// SPDX-License-Identifier: Apache-2.0
//
// The service's reports: to the journal, to the service manager, and as metrics.
#include "daemon/base/host_info.h"
#include "daemon/service/service.h"
#include "daemon/sources/axl/axl_devices.h"

namespace acceltrace::daemon {

void Service::Reload() {
  constexpr int64_t kNsPerUs = 1000;
  NotifyManager("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(MonotonicNs() / kNsPerUs));
  std::optional<ServiceConfig> config = reload_ ? reload_() : std::nullopt;
  if (config) {
    const bool later = config->socket != config_.socket ||
                       config->live_socket != config_.live_socket ||
                       config->group != config_.group || config->metrics != config_.metrics;
    config_ = *std::move(config);
    accounts_.Update();
    journal_.Say(kConfigRead, later ? "configuration read again; the sockets and the group are as "
                                      "before until the service is restarted"
                                    : "configuration read again");
  } else {
    journal_.Say(
        kConfigWrong,
        "the configuration has mistakes (acceltraced --check-config); nothing was changed");
  }
  NotifyManager("READY=1");
}

void Service::Refuse(const Peer& peer, const std::string& why) {
  ++refused_;
  if (shared_) return;
  // Refused users may retry at once, but must not fill the journal.
  if (!refusals_.Take(1, MonotonicNs())) return;
  journal_.Say(kRefused, "refused user " + std::to_string(peer.uid) + ": " + why,
               {{"ACCELTRACE_USER", std::to_string(peer.uid)},
                {"ACCELTRACE_PID", std::to_string(peer.pid)}});
}

void Service::Say(const JournalKind& kind, const Recording& recording, const std::string& what,
                  Journal::Fields more) {
  if (shared_) return;  // the client prints it
  const std::string session = std::to_string(recording.session);
  const std::string user = std::to_string(recording.owner);
  more.emplace_back("ACCELTRACE_SESSION", session);
  more.emplace_back("ACCELTRACE_USER", user);
  more.emplace_back("ACCELTRACE_OUTPUT", recording.output);
  journal_.Say(kind, "recording " + session + " of user " + user + ": " + what, more);
}

void Service::SayEnd(const Recording& recording, const Summary& summary) {
  const std::string events = std::to_string(summary.events), lost = std::to_string(summary.lost);
  const std::string bytes = std::to_string(summary.bytes);
  Say(kRecordingEnded, recording,
      "ended (" + summary.stop_reason + "): " + events + " events, " + lost + " lost, " + bytes +
          " bytes",
      {{"ACCELTRACE_EVENTS", events},
       {"ACCELTRACE_LOST", lost},
       {"ACCELTRACE_BYTES", bytes},
       {"ACCELTRACE_REASON", summary.stop_reason}});
}

std::string Service::Metrics() const {
  MetricsData data;
  data.ended = ended_;
  data.started = started_;
  data.failed = failed_;
  data.refused = refused_;
  data.connections = clients_.size();
  data.devices = CountAxlDevices();
  const int64_t now_ns = MonotonicNs();
  for (const auto& [session, recording] : recordings_) {
    if (!recording.running) continue;
    data.running.push_back({session, recording.owner, now_ns - recording.start_ns,
                            recording.ring_bytes, recording.thread->Stats()});
  }
  return RenderMetrics(data);
}

}  // namespace acceltrace::daemon
