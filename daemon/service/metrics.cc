// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/metrics.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "daemon/base/host_info.h"

namespace acceltrace::daemon {
namespace {

constexpr double kNsPerS = 1e9;

// Escapes label values: a backslash, a quote and a newline become two characters each.
std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Number(double value) {
  char text[40];
  if (value >= 0 && value < 9e15 && value == static_cast<double>(static_cast<uint64_t>(value))) {
    snprintf(text, sizeof(text), "%" PRIu64, static_cast<uint64_t>(value));
  } else {
    snprintf(text, sizeof(text), "%.9g", value);
  }
  return text;
}

class Page {
 public:
  void Family(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += std::string("# HELP ") + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
  }
  void Value(uint64_t value, const std::string& labels = "") {
    Line(std::to_string(value), labels);
  }
  void Real(double value, const std::string& labels = "") { Line(Number(value), labels); }
  std::string Take() { return std::move(text_); }

 private:
  void Line(const std::string& value, const std::string& labels) {
    text_ += name_;
    if (!labels.empty()) text_ += '{' + labels + '}';
    text_ += ' ' + value + '\n';
  }
  std::string name_, text_;
};

std::string Label(const char* name, std::string_view value) {
  return std::string(name) + "=\"" + Escape(value) + '"';
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t OpenFiles() {
  uint64_t count = 0;
  if (DIR* dir = opendir("/proc/self/fd")) {
    while (const dirent* entry = readdir(dir)) count += entry->d_name[0] != '.' ? 1 : 0;
    closedir(dir);
    --count;  // without the folder itself
  }
  return count;
}

void Process(Page* page) {
  page->Family("process_cpu_seconds_total", "counter", "CPU time of the daemon.");
  page->Real(static_cast<double>(ProcessCpuNs()) / kNsPerS);
  page->Family("process_resident_memory_bytes", "gauge", "Memory of the daemon.");
  page->Value(ResidentBytes());
  page->Family("process_open_fds", "gauge", "Open descriptors of the daemon.");
  page->Value(OpenFiles());
}

void Hops(Page* page, const Totals& all) {
  const auto family = [&](const char* name, const char* help, uint64_t Totals::Count::*member) {
    page->Family(name, "counter", help);
    for (const auto& [hop, count] : all.hops) page->Value(count.*member, Label("hop", hop));
  };
  family("acceltrace_hop_events_total", "Events that a hop has taken.", &Totals::Count::in);
  family("acceltrace_hop_passed_events_total", "Events that a hop has passed on.",
         &Totals::Count::out);
  family("acceltrace_hop_lost_events_total", "Events that a hop had no room for.",
         &Totals::Count::lost);
  family("acceltrace_hop_bad_events_total", "Events that a hop refused.", &Totals::Count::bad);
}

void Recordings(Page* page, const MetricsData& data) {
  const auto family = [&](const char* name, const char* help, auto value) {
    page->Family(name, "gauge", help);
    for (const MetricsData::Running& running : data.running) {
      page->Real(static_cast<double>(value(running)),
                 Label("session", std::to_string(running.session)) + ',' +
                     Label("user", std::to_string(running.user)));
    }
  };
  using Running = MetricsData::Running;
  family("acceltrace_session_age_seconds", "How long a recording has been running.",
         [](const Running& r) { return static_cast<double>(r.age_ns) / kNsPerS; });
  family("acceltrace_session_written_bytes", "Bytes that it has written.",
         [](const Running& r) { return static_cast<double>(r.stats.bytes); });
  family("acceltrace_session_ring_fill_ratio", "How full the fullest ring of its sources is.",
         [](const Running& r) { return r.stats.fill_permille / 1000.0; });
  family("acceltrace_session_flight_recorder_fill_ratio", "How full its flight recorder is.",
         [](const Running& r) {
           return r.ring_capacity == 0 ? 0.0
                                       : static_cast<double>(r.stats.ring_bytes) /
                                             static_cast<double>(r.ring_capacity);
         });
  family("acceltrace_session_processes", "Processes that it records now.",
         [](const Running& r) { return static_cast<double>(r.stats.processes); });
  family("acceltrace_session_live_readers", "Its live readers.",
         [](const Running& r) { return static_cast<double>(r.stats.live_readers); });
  family("acceltrace_session_paused", "1 while it has no room to write to.",
         [](const Running& r) { return r.stats.paused ? 1.0 : 0.0; });
  page->Family("acceltrace_session_device", "gauge", "1 for each device that it records.");
  for (const Running& running : data.running) {
    for (const std::string& device : running.stats.devices) {
      page->Value(
          1, Label("session", std::to_string(running.session)) + ',' + Label("device", device));
    }
  }
}

}  // namespace

void Totals::Add(const RecorderStats& stats) {
  for (const Hop& hop : stats.hops) {
    Count& count = hops[hop.name];
    count.in += hop.in;
    count.out += hop.out;
    count.lost += hop.lost;
    count.bad += hop.bad;
  }
  bytes += stats.bytes;
  stalls += stats.stalls;
  stall_ns += stats.stall_ns;
  pauses += stats.pauses;
  live_dropped += stats.live_dropped;
}

std::string RenderMetrics(const MetricsData& data) {
  Totals all = data.ended;
  for (const MetricsData::Running& running : data.running) all.Add(running.stats);
  Page page;
  const auto one = [&](const char* name, const char* type, const char* help, uint64_t value) {
    page.Family(name, type, help);
    page.Value(value);
  };
  one("acceltrace_sessions", "gauge", "Recordings that are running.", data.running.size());
  one("acceltrace_sessions_started_total", "counter", "Recordings that were started.",
      data.started);
  one("acceltrace_sessions_failed_total", "counter", "Recordings that an error has ended.",
      data.failed);
  one("acceltrace_refused_total", "counter", "Requests and connections that were refused.",
      data.refused);
  one("acceltrace_connections", "gauge", "Clients that are connected.", data.connections);
  one("acceltrace_devices", "gauge", "Accelerators that are present.", data.devices);
  uint64_t processes = 0;
  for (const MetricsData::Running& running : data.running) processes += running.stats.processes;
  one("acceltrace_attached_processes", "gauge", "Processes that are recorded, by all recordings.",
      processes);
  one("acceltrace_written_bytes_total", "counter", "Bytes written to files.", all.bytes);
  one("acceltrace_disk_waits_total", "counter", "Times a recording waited for the disk.",
      all.stalls);
  page.Family("acceltrace_disk_wait_seconds_total", "counter", "And for how long in all.");
  page.Real(static_cast<double>(all.stall_ns) / kNsPerS);
  one("acceltrace_disk_full_total", "counter", "Times a recording found the disk full.",
      all.pauses);
  one("acceltrace_live_dropped_packets_total", "counter", "Packets that live readers missed.",
      all.live_dropped);
  Hops(&page, all);
  Recordings(&page, data);
  Process(&page);
  return page.Take();
}

}  // namespace acceltrace::daemon
