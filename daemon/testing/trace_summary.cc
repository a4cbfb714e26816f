// SPDX-License-Identifier: Apache-2.0
//
// axl-trace-summary FILE: prints the contents of a trace as a JSON object, for the daemon's tests.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/test_batches.h"

namespace {

using acceltrace::proto::Packet;
using acceltrace::stream::ColumnAt;
using acceltrace::stream::DecodeDeltas;
using acceltrace::stream::Reader;
using acceltrace::stream::Rows;
using nlohmann::json;

class Summary {
 public:
  void Add(const Packet& packet) {
    if (packet.has_strings()) AddStrings(packet.strings());
    if (packet.has_info()) AddInfo(packet.info());
    if (packet.has_device()) result_["devices"].push_back(packet.device().name());
    if (packet.has_api()) AddApi(packet);
    if (packet.has_ranges()) AddRanges(packet);
    if (packet.has_host()) AddHost(packet);
    if (packet.has_processes()) {
      for (int i = 0; i < packet.processes().pid_size(); ++i) {
        // The column is absent if no name in the packet could be read: short-lived threads.
        const uint32_t name = ColumnAt(packet.processes().name(), static_cast<size_t>(i));
        processes_[packet.processes().pid(i)].insert(Text(name));
      }
    }
    if (packet.has_op_names()) {
      for (int i = 0; i < packet.op_names().pid_size(); ++i) {
        const uint32_t name = ColumnAt(packet.op_names().name(), static_cast<size_t>(i));
        result_["ops"].push_back(Text(name));
      }
    }
    if (packet.has_losses()) {
      for (size_t i = 0; i < Rows(packet); ++i) {
        Count("losses", Text(ColumnAt(packet.losses().hop(), i)),
              ColumnAt(packet.losses().count(), i));
      }
    }
    if (!packet.has_footer()) Count("rows", "all", Rows(packet));
    if (packet.has_commands()) Count("rows", "commands", Rows(packet));
    if (packet.has_jobs()) Count("rows", "jobs", Rows(packet));
    if (packet.has_counters()) Count("rows", "counters", Rows(packet));
    if (packet.has_clocks()) Count("rows", "clocks", Rows(packet));
    if (packet.has_device_events()) Count("rows", "device_events", Rows(packet));
    if (packet.has_accounts()) AddAccounts(packet.accounts());
  }

  json Finish(const acceltrace::stream::ReadStats& stats) {
    result_["footer"] = stats.has_footer;
    result_["gaps"] = stats.gap_count;
    result_["bad_packets"] = stats.bad_packets;
    for (const auto& [pid, names] : processes_) result_["processes"][std::to_string(pid)] = names;
    for (const auto& [key, digest] : digests_) {
      result_["digests"][std::to_string(key.first)][key.second] = std::to_string(digest);
    }
    return result_;
  }

 private:
  std::string Text(uint32_t id) { return strings_.count(id) != 0 ? strings_[id] : "?"; }

  void Count(const char* group, const std::string& name, uint64_t count) {
    json& number = result_[group][name];
    number = (number.is_null() ? 0 : number.get<uint64_t>()) + count;
  }

  // Digest of all columns of a process's rows except times, in their order (FNV-1a).
  void Digest(const char* table, uint32_t pid, std::initializer_list<std::string> fields) {
    auto [digest, fresh] = digests_.try_emplace({pid, table}, 0xcbf29ce484222325u);
    for (const std::string& field : fields) {
      for (const char c : field + "|") {
        digest->second = (digest->second ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
      }
    }
  }

  void AddStrings(const acceltrace::proto::Strings& strings) {
    for (int i = 0; i < strings.id_size(); ++i) strings_[strings.id(i)] = strings.value(i);
  }

  void AddInfo(const acceltrace::proto::TraceInfo& info) {
    result_["command"] = std::vector<std::string>(info.command().begin(), info.command().end());
    for (const auto& probe : info.probes()) result_["probes"][probe.name()] = probe.attached();
    result_["tsc_hz"] = info.tsc_hz();
    result_["start_ns"] = info.start_ns();
  }

  void AddApi(const Packet& packet) {
    const auto& api = packet.api();
    const size_t rows = Rows(packet);
    const auto begin = DecodeDeltas<int64_t>(api.begin_ns_delta(), rows);
    const auto correlation = DecodeDeltas<uint64_t>(api.correlation_delta(), rows);
    Count("rows", "api", rows);
    for (size_t i = 0; i < rows; ++i) {
      Count("calls", Text(ColumnAt(api.name(), i)), 1);
      Count("api_by_pid", std::to_string(ColumnAt(api.pid(), i)), 1);
      if (ColumnAt(api.open(), i) != 0) Count("rows", "api_open", 1);
      Digest("api", ColumnAt(api.pid(), i),
             {Text(ColumnAt(api.name(), i)), std::to_string(correlation[i] & UINT32_MAX),
              std::to_string(ColumnAt(api.bytes(), i)), std::to_string(ColumnAt(api.stream(), i)),
              std::to_string(ColumnAt(api.result(), i)), std::to_string(ColumnAt(api.open(), i))});
      json& highest = result_["last_call"][std::to_string(ColumnAt(api.pid(), i))];
      const uint64_t number = correlation[i] & UINT32_MAX;
      if (highest.is_null() || highest.get<uint64_t>() < number) highest = number;
      if (ColumnAt(api.began_before(), i) != 0) {
        Count("rows", "api_began_before", 1);
        continue;  // little is known of it
      }
      const bool right = ColumnAt(api.bytes(), i) == 4096 && ColumnAt(api.stream(), i) == 7 &&
                         (ColumnAt(api.open(), i) != 0 || ColumnAt(api.result(), i) == -5) &&
                         correlation[i] >> 32 == ColumnAt(api.pid(), i);
      if (!right) Count("rows", "api_unexpected", 1);
      // By their begin within a thread, across packets.
      const auto thread = std::pair(ColumnAt(api.pid(), i), ColumnAt(api.tid(), i));
      if (begin[i] < last_begin_[thread]) Count("rows", "api_out_of_order", 1);
      last_begin_[thread] = begin[i];
      threads_.insert(thread);
    }
    result_["threads"] = threads_.size();
  }

  void AddRanges(const Packet& packet) {
    const auto& ranges = packet.ranges();
    for (size_t i = 0; i < Rows(packet); ++i) {
      const bool mark = ColumnAt(ranges.mark(), i) != 0;
      Count("rows", mark ? "marks" : "ranges", 1);
      if (ColumnAt(ranges.began_before(), i) != 0) Count("rows", "ranges_began_before", 1);
      Count(mark ? "mark_names" : "range_names", Text(ColumnAt(ranges.name(), i)), 1);
      Digest(mark ? "marks" : "ranges", ColumnAt(ranges.pid(), i),
             {Text(ColumnAt(ranges.name(), i)), std::to_string(ColumnAt(ranges.depth(), i)),
              std::to_string(ColumnAt(ranges.open(), i))});
    }
  }

  void AddHost(const Packet& packet) {
    for (size_t i = 0; i < Rows(packet); ++i) {
      const auto kind =
          static_cast<acceltrace::proto::HostBatch::Kind>(ColumnAt(packet.host().kind(), i));
      Count("host", acceltrace::proto::HostBatch::Kind_Name(kind), 1);
    }
  }

  void AddAccounts(const acceltrace::proto::Accounts& accounts) {
    for (const auto& hop : accounts.hops()) {
      result_["hops"][hop.name()] = {
          {"in", hop.in()},   {"out", hop.out()},         {"lost", hop.lost()},
          {"bad", hop.bad()}, {"waiting", hop.waiting()}, {"into", hop.into()},
      };
    }
    result_["accounts"] = {{"stop_ns", accounts.stop_ns()},
                           {"cpu_ns", accounts.cpu_ns()},
                           {"bpf_ns", accounts.bpf_ns()},
                           {"bytes_written", accounts.bytes_written()},
                           {"overwritten_rows", accounts.overwritten_rows()},
                           {"whole_since_ns", accounts.whole_since_ns()}};
    result_["stop_reason"] = accounts.stop_reason();
    result_["command_status"] = accounts.command_status();
    result_["bpf_ns"] = accounts.bpf_ns();
    result_["api_bound_ns"] = accounts.api_bound_ns();
    for (const auto& unseen : accounts.unseen()) {
      result_["unseen"][std::to_string(unseen.pid())] = unseen.reason();
    }
  }

  json result_ = json::object();
  std::map<uint32_t, std::string> strings_;
  std::map<uint32_t, std::set<std::string>> processes_;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> last_begin_;
  std::set<std::pair<uint32_t, uint32_t>> threads_;
  std::map<std::pair<uint32_t, std::string>, uint64_t> digests_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto reader = Reader::Open(argv[1]);
  if (!reader.ok()) {
    fprintf(stderr, "axl-trace-summary: %s\n", reader.message().c_str());
    return 1;
  }
  Summary summary;
  Packet packet;
  while (acceltrace::stream::ReadBatch(reader.value().get(), &packet) == Reader::Next::kPacket)
    summary.Add(packet);
  puts(summary.Finish(reader.value()->stats()).dump(1).c_str());
  return 0;
}
