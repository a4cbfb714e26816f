// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/timeline/chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "libtrace/base/version.h"
#include "libtrace/view/common/page_columns.h"
#include "libtrace/view/common/text_buffer.h"
#include "libtrace/view/timeline/timeline.h"

namespace acceltrace::view {
namespace {

// JSON readers that only have doubles can still distinguish this.
constexpr uint64_t kMostExact = uint64_t{1} << 53;
// Lanes that are not a thread's own get numbers above every tid of Linux (2^22).
constexpr int32_t kFirstLaneTid = 1 << 24;
constexpr size_t kFlushBytes = 1 << 20;

class Writer {
 public:
  Writer(const model::Model& model, const Sink& sink)
      : model_(model), sink_(sink), about_(model), reader_(model) {
    for (const std::string& name : about_.Names()) {
      argument_names_.push_back((IsPlain(name) ? '"' + name + '"' : PageString(name)) + ':');
    }
  }

  Result<ExportStats> Run() {
    const Timeline timeline = BuildTimeline(model_);
    stats_.skipped = timeline.skipped;
    stats_.tracks = timeline.tracks.size();
    FindFlows(timeline);
    fmt::format_to(
        std::back_inserter(buffer_),
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"tool\":\"acceltrace {}\",\"clock\":"
        "\"CLOCK_MONOTONIC\",\"host\":{},\"realtime_offset_ns\":\"{}\"}},\n\"traceEvents\":[",
        kVersion, PageString(model_.info.host()), model_.info.realtime_offset_ns());
    for (uint32_t t = 0; t < timeline.tracks.size() && status_.ok(); ++t) {
      WriteTrack(timeline, t);
    }
    buffer_ += "\n]}\n";
    Flush();
    if (!status_.ok()) return status_;
    return stats_;
  }

 private:
  void Flush() {
    if (status_.ok() && buffer_.size() > 0) status_ = sink_(buffer_.text());
    buffer_.clear();
  }

  // Begins a new event, including the comma and the line break before it.
  void Begin() {
    if (buffer_.size() >= kFlushBytes) Flush();
    if (any_) buffer_ += ',';
    buffer_ += "\n{";
    any_ = true;
  }

  // Writes µs with the full precision of ns.
  void Time(int64_t ns) {
    const auto size = static_cast<uint64_t>(ns);  // times are never negative
    buffer_.Integer(size / 1000);
    const auto rest = static_cast<unsigned>(size % 1000);
    const char digits[] = {'.', static_cast<char>('0' + rest / 100),
                           static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
    buffer_ += std::string_view(digits, sizeof(digits));
  }

  static bool IsPlain(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
  }

  // Most texts are plain and are written as they are. A text at the address of a known plain one is
  // not checked again; `stays` means that no other text will be at its address.
  void Text(std::string_view text, bool stays = true) {
    std::string_view& known = plain_[reinterpret_cast<uintptr_t>(text.data()) / 8 % plain_.size()];
    if (!stays || known.data() != text.data() || known.size() != text.size()) {
      if (!IsPlain(text)) {
        buffer_ += PageString(text);
        return;
      }
      if (stays) known = text;
    }
    buffer_ += '"';
    buffer_ += text;
    buffer_ += '"';
  }

  static std::string Place(int32_t pid, int32_t tid) {
    return fmt::format("\"pid\":{},\"tid\":{},", pid, tid);
  }

  void Meta(const char* name, int32_t pid, int32_t tid, const std::string& arguments) {
    Begin();
    buffer_ += "\"ph\":\"M\",";
    buffer_ += Place(pid, tid);
    fmt::format_to(std::back_inserter(buffer_), "\"name\":\"{}\",\"args\":{{{}}}}}", name,
                   arguments);
  }

  void WriteTrack(const Timeline& timeline, uint32_t t) {
    const Track& track = timeline.tracks[t];
    size_t root = t;
    while (timeline.tracks[root].parent >= 0) {
      root = static_cast<size_t>(timeline.tracks[root].parent);
    }
    const int32_t pid = timeline.tracks[root].pid;
    const int32_t tid =
        track.kind == Track::Kind::kThread ? track.tid : kFirstLaneTid + static_cast<int32_t>(t);
    const auto name = [&] { return "\"name\":" + PageString(track.name); };
    switch (track.kind) {
      case Track::Kind::kProcess:
      case Track::Kind::kDevice:
        Meta("process_name", pid, 0, name());
        Meta("process_sort_index", pid, 0, fmt::format("\"sort_index\":{}", t));
        break;
      case Track::Kind::kThread:
      case Track::Kind::kLane:
        Meta("thread_name", pid, tid, name());
        Meta("thread_sort_index", pid, tid,
             fmt::format("\"sort_index\":{}", track.kind == Track::Kind::kThread ? 0 : track.rank));
        break;
      case Track::Kind::kGroup:
        return;
      case Track::Kind::kCounter:
        WriteCounter(track, pid);
        return;
    }
    const std::string place = Place(pid, tid);
    for (uint32_t i = 0; i < track.slices.size() && status_.ok(); ++i) {
      WriteSlice(timeline, track.slices[i], place);
      WriteFlows(timeline, track.slices[i], t, i, place);
    }
  }

  void WriteCounter(const Track& track, int32_t pid) {
    const std::string before =
        fmt::format("\"ph\":\"C\",\"pid\":{},\"name\":{},\"ts\":", pid, PageString(track.name));
    const std::string after = fmt::format(",\"args\":{{{}:", PageString(track.unit));
    for (const auto& [at_ns, value] : track.values) {
      Begin();
      buffer_ += before;
      Time(at_ns);
      buffer_ += after;
      Number(value);
      buffer_ += "}}";
      ++stats_.counter_values;
      if (!status_.ok()) return;
    }
  }

  void Number(double value) {
    constexpr double kMost = 1e6;  // whole numbers below this are written without an exponent
    if (value >= 0 && value < kMost && value == std::floor(value) && !std::signbit(value)) {
      buffer_.Integer(static_cast<uint64_t>(value));
    } else if (std::isfinite(value)) {
      fmt::format_to(std::back_inserter(buffer_), "{}", value);
    } else {
      buffer_ += "null";
    }
  }

  void WriteSlice(const Timeline& timeline, const Slice& slice, std::string_view place) {
    Begin();
    if (slice.instant) {
      buffer_ += "\"ph\":\"i\",\"s\":\"t\",";
    } else {
      buffer_ += "\"ph\":\"X\",";
    }
    ++(slice.instant ? stats_.instants : stats_.slices);
    buffer_ += place;
    buffer_ += "\"ts\":";
    Time(slice.begin_ns);
    if (!slice.instant) {
      buffer_ += ",\"dur\":";
      Time(slice.end_ns - slice.begin_ns);
    }
    bool stays = false;
    const std::string_view name = reader_.Name(timeline, slice, &stays);
    buffer_ += ",\"cat\":\"";
    buffer_ += std::string_view(CategoryOf(slice));
    buffer_ += "\",\"name\":";
    if (name.empty()) {
      buffer_ += "\"(unnamed)\"";
    } else {
      Text(name, stays);
    }
    WriteArguments(about_.Of(timeline, slice));
    buffer_ += '}';
  }

  void Hex(uint64_t number) {
    char digits[18];
    size_t at = sizeof(digits);
    for (; number != 0; number >>= 4) digits[--at] = "0123456789abcdef"[number & 15];
    digits[--at] = 'x', digits[--at] = '0';
    buffer_ += std::string_view(digits + at, sizeof(digits) - at);
  }

  template <typename T>
  void Integer(T value, bool exact) {
    if (!exact) buffer_ += '"';
    buffer_.Integer(value);
    if (!exact) buffer_ += '"';
  }

  void WriteArguments(std::span<const Argument> arguments) {
    if (arguments.empty()) return;
    buffer_ += ",\"args\":{";
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Value& value = arguments[i].value;
      if (i > 0) buffer_ += ',';
      buffer_ += std::string_view(argument_names_[arguments[i].name]);
      if (const auto* u = std::get_if<uint64_t>(&value)) {
        Integer(*u, *u <= kMostExact);
      } else if (const auto* s = std::get_if<int64_t>(&value)) {
        const uint64_t size = *s < 0 ? 0 - static_cast<uint64_t>(*s) : static_cast<uint64_t>(*s);
        Integer(*s, size <= kMostExact);
      } else if (const auto* d = std::get_if<double>(&value)) {
        Number(*d);
      } else {
        Text(std::get<std::string_view>(value));
      }
    }
    buffer_ += '}';
  }

  // ---- arrows ----

  // A slice, in order of time.
  struct Where {
    int64_t at_ns = 0;
    uint32_t track = 0, slice = 0;
    bool operator<(const Where& other) const {
      return std::tie(at_ns, track, slice) < std::tie(other.at_ns, other.track, other.slice);
    }
    bool operator==(const Where& other) const {
      return track == other.track && slice == other.slice;
    }
  };
  // The begin and the end of a flow.
  struct Ends {
    Where first, last;
    bool any = false;
  };

  Ends* EndsOf(uint64_t flow) { return &ends_[FlowPlace(model_, flow)]; }

  void FindFlows(const Timeline& timeline) {
    ends_.resize(CountFlowPlaces(model_, timeline));
    for (uint32_t t = 0; t < timeline.tracks.size(); ++t) {
      const Track& track = timeline.tracks[t];
      for (uint32_t i = 0; i < track.slices.size(); ++i) {
        const Where here{track.slices[i].begin_ns, t, i};
        flows_.clear();
        reader_.AppendFlows(timeline, track.slices[i], &flows_);
        for (uint64_t flow : flows_) {
          Ends* ends = EndsOf(flow);
          if (!ends->any || here < ends->first) ends->first = here;
          if (!ends->any || ends->last < here) ends->last = here;
          ends->any = true;
        }
      }
    }
    for (const Ends& ends : ends_) stats_.flows += ends.any && !(ends.first == ends.last);
  }

  void WriteFlows(const Timeline& timeline, const Slice& slice, uint32_t t, uint32_t i,
                  std::string_view place) {
    flows_.clear();
    reader_.AppendFlows(timeline, slice, &flows_);
    const Where here{slice.begin_ns, t, i};
    for (uint64_t flow : flows_) {
      const Ends& ends = *EndsOf(flow);
      if (ends.first == ends.last) continue;
      Begin();
      const char phase = here == ends.first ? 's' : here == ends.last ? 'f' : 't';
      buffer_ += "\"ph\":\"", buffer_ += phase;
      buffer_ += "\",\"bp\":\"e\",\"id\":\"";
      Hex(flow);
      buffer_ += "\",";
      buffer_ += place;
      buffer_ += "\"ts\":";
      Time(slice.begin_ns);
      buffer_ += ",\"cat\":\"flow\",\"name\":\"";
      buffer_ += std::string_view((flow & 3) == kLaunchFlow       ? "launch"
                                  : (flow & 3) == kCompletionFlow ? "completion"
                                  : (flow & 3) == kDependencyFlow ? "dependency"
                                                                  : "command");
      buffer_ += "\"}";
    }
  }

  const model::Model& model_;
  const Sink& sink_;
  Status status_;
  ExportStats stats_;
  TextBuffer buffer_{kFlushBytes + kFlushBytes / 8};
  bool any_ = false;
  std::vector<Ends> ends_;
  std::vector<uint64_t> flows_;  // of the current slice
  std::array<std::string_view, 256> plain_;
  Arguments about_;
  std::vector<std::string> argument_names_;  // each as the beginning of a member
  SliceReader reader_;
};

}  // namespace

Result<ExportStats> ExportChrome(const model::Model& model, const Sink& sink) {
  return Writer(model, sink).Run();
}

}  // namespace acceltrace::view
