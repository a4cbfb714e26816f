// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/text/text_live.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libtrace/model/tables/container.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::view {
namespace {

// Returns the character at text[*at] and moves past it. Returns 0 for invalid UTF-8.
uint32_t Next(std::string_view text, size_t* at) {
  const auto byte = static_cast<unsigned char>(text[(*at)++]);
  if (byte < 0x80) return byte;
  const int more = byte >= 0xc2 && byte < 0xe0 ? 1 : byte >= 0xe0 && byte < 0xf0 ? 2 : 0;
  if (more == 0 || *at + static_cast<size_t>(more) > text.size()) return 0;
  uint32_t code = byte & (more == 1 ? 0x1f : 0x0f);
  for (int i = 0; i < more; ++i) {
    const auto next = static_cast<unsigned char>(text[*at]);
    if ((next & 0xc0) != 0x80) return 0;
    code = code << 6 | (next & 0x3f), ++*at;
  }
  return code;
}

// Returns true if the character takes one column on every terminal and moves nothing: Latin, Greek,
// Cyrillic.
bool IsPlain(uint32_t code, bool ascii) {
  if (code >= 0x20 && code < 0x7f) return true;
  if (ascii) return false;
  return (code >= 0xa1 && code < 0x250 && code != 0xad) ||
         (code >= 0x386 && code < 0x400 && code != 0x387) || (code >= 0x400 && code < 0x483) ||
         (code >= 0x48a && code < 0x530);
}

std::string Utf8(uint32_t code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

class Screen {
 public:
  Screen(const LiveFrame& frame, const LiveStyle& style)
      : frame_(frame),
        style_(style),
        width_(static_cast<size_t>(std::max(40, style.style.width))) {}

  std::vector<std::string> Lines() {
    Head();
    // Distribute the lines: engines come first, processes get what is left.
    const size_t transfers = static_cast<size_t>(
        std::count_if(frame_.engines.begin(), frame_.engines.end(),
                      [](const LiveEngine& engine) { return engine.transfers; }));
    size_t left =
        style_.height == 0 ? SIZE_MAX / 2 : style_.height - std::min(style_.height, Fixed());
    const size_t engines = Take(frame_.engines.size(), &left, style_.height == 0 ? SIZE_MAX : 8);
    const size_t moves = Take(transfers, &left, style_.height == 0 ? SIZE_MAX : 4);
    const size_t queues = Take(frame_.queues.size(), &left, left / 2 + 1);
    const size_t processes = Take(frame_.processes.size(), &left, SIZE_MAX);
    Engines(engines);
    Transfers(moves);
    Queues(queues);
    Processes(processes);
    if (style_.height != 0 && lines_.size() > style_.height) lines_.resize(style_.height);
    return std::move(lines_);
  }

 private:
  // Lines that are always there: two, and a title and a gap for each table.
  size_t Fixed() const { return lines_.size() + 4 * 2; }
  static size_t Take(size_t wanted, size_t* left, size_t most) {
    const size_t taken = std::min({wanted, *left, most});
    *left -= taken;
    return taken;
  }

  std::string Name(std::string_view name, size_t width) const {
    return TerminalName(name, width, style_.ascii);
  }
  std::string Time(int64_t ns) const {
    std::string text = FormatNs(ns);
    const size_t micro = text.find("µ");
    if (style_.ascii && micro != std::string::npos) text.replace(micro, 2, "u");
    return text;
  }
  // Pads to `width` columns; longer texts are not cut.
  static std::string Fit(const std::string& text, size_t width, bool right) {
    const size_t wide = DisplayWidth(text);
    if (wide >= width) return text;
    const std::string space(width - wide, ' ');
    return right ? space + text : text + space;
  }
  double PerSecond(uint64_t count) const {
    return frame_.Seconds() > 0 ? static_cast<double>(count) / frame_.Seconds() : 0;
  }
  static std::string Rate(double per_s) {
    return per_s >= 99.5 ? FormatCount(static_cast<uint64_t>(std::llround(per_s)))
                         : fmt::format("{:.3g}", per_s);
  }

  static std::string Trimmed(std::string text, size_t width) {
    while (DisplayWidth(text) > width) {
      while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) {
        text.pop_back();
      }
      text.pop_back();
    }
    return text;
  }

  void Line(const std::string& plain, Ink ink = Ink::kPlain) {
    lines_.push_back(Paint(style_.style, ink, Trimmed(plain, width_)));
  }
  void Title(const std::string& text) {
    Line("");
    Line(text, Ink::kBold);
  }
  void More(size_t shown, size_t all) {
    if (shown >= all) return;
    const std::string more = fmt::format("  (+{})", all - shown);
    lines_.back() = Trimmed(lines_.back(), width_ - more.size()) + more;
  }

  void Head() {
    const auto ran = static_cast<double>(frame_.end_ns - frame_.start_ns) / 1e9;
    const std::string right = fmt::format("{:.1f} s{}", ran, frame_.ended ? ", ended" : "");
    std::string who = Name(frame_.command.empty() ? "the system" : frame_.command, width_ / 2);
    if (!frame_.host.empty()) who += " on " + Name(frame_.host, 16);
    const std::string left = "acceltrace top  " + who;
    const size_t room = width_ - std::min(width_, right.size());
    Line(Fit(Shortened(left, room > 2 ? room - 2 : 0), room, false) + right, Ink::kBold);
    std::string tracer = "unknown";
    if (frame_.tracer_cpu_share >= 0) tracer = FormatShare(frame_.tracer_cpu_share) + " of a CPU";
    const double mega = frame_.Seconds() > 0
                            ? static_cast<double>(frame_.stream_bytes) / 1e6 / frame_.Seconds()
                            : 0;
    Line(fmt::format("over {}: {} events/s, {:.2f} MB/s; tracer {}",
                     Time(frame_.end_ns - frame_.begin_ns), Rate(PerSecond(frame_.rows)), mega,
                     tracer));
    Losses();
  }

  void Losses() {
    std::string text;
    for (const auto& [hop, count] : frame_.losses) {
      text += (text.empty() ? "" : ", ") + Name(hop, 20) + " " + FormatCount(count);
    }
    if (frame_.missed_packets > 0) {
      text += fmt::format("{}missed here {} packets", text.empty() ? "" : ", ",
                          FormatCount(frame_.missed_packets));
    }
    if (frame_.bad_packets > 0) {
      text +=
          fmt::format("{}unreadable {}", text.empty() ? "" : ", ", FormatCount(frame_.bad_packets));
    }
    Line("lost: " + (text.empty() ? "none" : text), text.empty() ? Ink::kDim : Ink::kBad);
  }

  std::string Gauge(double share, size_t width) const {
    if (!style_.ascii) {
      const std::string bar = Bar(share, static_cast<int>(width));
      return Fit(bar, width, false);
    }
    const auto full =
        static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width)));
    return std::string(full, '#') + std::string(width - full, '.');
  }

  std::string History(const std::vector<float>& shares, size_t width) const {
    static constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static constexpr const char* kAscii[] = {" ", ".", ".", ":", ":", "-", "=", "+", "#"};
    std::string text;
    const size_t from = shares.size() > width ? shares.size() - width : 0;
    for (size_t i = from; i < shares.size(); ++i) {
      const int level = static_cast<int>(std::ceil(std::clamp(shares[i], 0.0f, 1.0f) * 8));
      text += style_.ascii ? kAscii[level] : kBlocks[level];
    }
    return Fit(text, width, true);
  }

  bool ManyDevices() const {
    for (const LiveEngine& engine : frame_.engines) {
      if (engine.device != frame_.engines[0].device) return true;
    }
    return false;
  }
  std::string Of(const std::string& device, const std::string& name, size_t width) const {
    if (!ManyDevices()) return Name(name, width);
    return Name(Name(device, width / 2) + " " + Name(name, width), width);
  }

  void Engines(size_t most) {
    const size_t bar = width_ >= 100 ? 20 : 12, history = width_ >= 100 ? 24 : 10;
    Title(Fit("ENGINE", 16, false) + Fit("busy", bar + 9, true) + "  " +
          Fit("before", history, false) + Fit("commands/s", 11, true) + "  most stalled by");
    if (frame_.engines.empty()) Line("no device yet", Ink::kDim);
    for (size_t i = 0; i < most; ++i) {
      const LiveEngine& engine = frame_.engines[i];
      std::string stall;
      if (engine.cause_share > 0) {
        stall = Name(engine.cause, 12) + " " + FormatShare(engine.cause_share);
      }
      Line(Fit(Of(engine.device, engine.unit, 15), 16, false) + Gauge(engine.busy, bar) +
           Fit(FormatShare(engine.busy), 9, true) + "  " + History(engine.history, history) +
           Fit(Rate(PerSecond(engine.commands)), 11, true) + "  " + stall);
    }
    More(most, frame_.engines.size());
  }

  void Transfers(size_t most) {
    Title(Fit("TRANSFERS", 16, false) + Fit("now", 12, true) + Fit("while running", 16, true) +
          Fit("of the link", 13, true) + Fit("mean size", 14, true));
    size_t shown = 0, all = 0;
    for (const LiveEngine& engine : frame_.engines) {
      if (!engine.transfers) continue;
      ++all;
      if (shown >= most) continue;
      ++shown;
      const double ceiling = engine.ceiling_bytes_per_s;
      Line(Fit(Of(engine.device, engine.unit, 15), 16, false) +
           Fit(FormatRate(engine.bytes_per_s, "B"), 12, true) +
           Fit(engine.running_bytes_per_s > 0 ? FormatRate(engine.running_bytes_per_s, "B") : "-",
               16, true) +
           Fit(ceiling > 0 ? FormatShare(engine.bytes_per_s / ceiling) : "-", 13, true) +
           Fit(engine.commands > 0 ? FormatBytes(engine.bytes / engine.commands) : "-", 14, true));
    }
    if (all == 0) Line("none", Ink::kDim);
    More(shown, all);
  }

  void Queues(size_t most) {
    Title(Fit("QUEUE", 16, false) + Fit("in flight", 12, true) + Fit("submitted/s", 16, true) +
          Fit("completed/s", 13, true));
    if (frame_.queues.empty()) Line("no jobs yet", Ink::kDim);
    for (size_t i = 0; i < most; ++i) {
      const LiveQueue& queue = frame_.queues[i];
      Line(Fit(Of(queue.device, std::to_string(queue.queue), 15), 16, false) +
           Fit(FormatCount(queue.in_flight), 12, true) +
           Fit(Rate(PerSecond(queue.submitted)), 16, true) +
           Fit(Rate(PerSecond(queue.completed)), 13, true));
    }
    More(most, frame_.queues.size());
  }

  void Processes(size_t most) {
    const bool contained =
        std::any_of(frame_.processes.begin(), frame_.processes.end(),
                    [](const LiveProcess& process) { return !process.container.empty(); });
    // With eighty columns, container and name share the space that a name has otherwise.
    const size_t container = contained ? 13 : 0, name = contained && width_ < 95 ? 12 : 25;
    Title(Fit("PROCESS", 9, true) + "  " + Fit("name", name, false) +
          Fit(contained ? "container" : "", container, false) + Fit("device time", 14, true) +
          Fit("share", 10, true) + Fit("jobs/s", 10, true) +
          Fit("memory", width_ >= 82 ? 12 : 10, true));
    if (frame_.processes.empty()) Line("no process yet", Ink::kDim);
    for (size_t i = 0; i < most; ++i) {
      const LiveProcess& process = frame_.processes[i];
      const bool seen = process.pid != 0;
      Line(Fit(seen ? std::to_string(process.pid) : "?", 9, true) + "  " +
           Fit(Name(seen ? process.name : "not seen to submit", name - 1), name, false) +
           Fit(Name(model::ShortContainer(process.container), contained ? 12 : 0), container,
               false) +
           Fit(Time(std::llround(process.device_ns)), 14, true) +
           Fit(FormatShare(process.share), 10, true) +
           Fit(Rate(PerSecond(process.jobs)), 10, true) +
           Fit(FormatBytes(process.memory_bytes), width_ >= 82 ? 12 : 10, true));
    }
    More(most, frame_.processes.size());
  }

  const LiveFrame& frame_;
  const LiveStyle& style_;
  size_t width_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string TerminalName(std::string_view name, size_t width, bool ascii) {
  std::vector<uint32_t> codes;
  for (size_t at = 0; at < name.size() && codes.size() < 4096;) {
    const uint32_t code = Next(name, &at);
    codes.push_back(IsPlain(code, ascii) ? code : '?');
  }
  std::string text;
  const size_t tail = width >= 8 ? width / 3 : 0, dots = width >= 8 ? 2 : 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    if (codes.size() > width && i >= width - tail - dots) {
      if (i == width - tail - dots) text += std::string(dots, '.');
      if (i + tail < codes.size()) continue;
    }
    text += Utf8(codes[i]);
  }
  return text;
}

std::vector<std::string> TextLive(const LiveFrame& frame, const LiveStyle& style) {
  return Screen(frame, style).Lines();
}

}  // namespace acceltrace::view
