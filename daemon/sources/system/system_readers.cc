// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/system_readers.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "daemon/base/text_files.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxCpus = 4096, kMaxIdleStates = 16, kMaxPorts = 16;
constexpr uint64_t kSectorBytes = 512;  // the unit of diskstats, independently of the disk

// Splits a line into words.
class Words {
 public:
  explicit Words(std::string_view line) : left_(line) {}
  std::string_view Next() {
    const size_t begin = std::min(left_.find_first_not_of(" \t:"), left_.size());
    left_.remove_prefix(begin);
    const std::string_view word = left_.substr(0, left_.find_first_of(" \t:"));
    left_.remove_prefix(word.size());
    return word;
  }
  bool Number(uint64_t* value) {
    const std::string_view word = Next();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value);
    return error == std::errc() && end == word.data() + word.size() && !word.empty();
  }

 private:
  std::string_view left_;
};

template <typename Use>
void ForEachLine(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

template <size_t kCount>
bool IsOneOf(const std::string_view (&names)[kCount], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool ReadNumber(const std::string& path, uint64_t* value) {
  const std::string text = ReadText(path);
  std::string_view line = text;
  line = line.substr(0, line.find('\n'));
  return Words(line).Number(value);
}

// Returns the CPU folders such as "cpu3", in order of their numbers.
std::vector<std::string> Cpus(const std::string& root) {
  std::vector<std::pair<uint64_t, std::string>> found;
  DIR* folder = opendir((root + "/sys/devices/system/cpu").c_str());
  if (folder == nullptr) return {};
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    uint64_t number = 0;
    if (name.substr(0, 3) != "cpu" || !Words(name.substr(3)).Number(&number)) continue;
    if (found.size() < kMaxCpus) found.emplace_back(number, name);
  }
  closedir(folder);
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [number, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace

// Parses lines such as "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234".
void ParsePressure(std::string_view text, const std::string& object, Readings* readings) {
  ForEachLine(text, [&](std::string_view line) {
    const size_t at = line.find(" total=");
    uint64_t us = 0;
    if (at == std::string_view::npos || !Words(line.substr(at + 7)).Number(&us)) return;
    const std::string_view who = line.substr(0, line.find(' '));
    readings->push_back({object, std::string(who) + " waited", "us", us});
  });
}

// Parses lines such as "MemFree:  123 kB".
void ParseMeminfo(std::string_view text, Readings* readings) {
  static constexpr std::string_view kWanted[] = {
      "MemFree",  "MemAvailable", "Cached",  "Dirty", "Writeback",
      "SwapFree", "AnonPages",    "Mlocked", "Shmem", "HugePages_Free"};
  ForEachLine(text, [&](std::string_view line) {
    Words words(line);
    const std::string_view name = words.Next();
    uint64_t value = 0;
    if (!IsOneOf(kWanted, name) || !words.Number(&value)) return;
    const bool kib = words.Next() == "kB";
    readings->push_back(
        {"", std::string(name), kib ? "bytes" : "count", kib ? value << 10 : value, false});
  });
}

void ParseVmstat(std::string_view text, Readings* readings) {
  static constexpr std::string_view kWanted[] = {"pgfault",
                                                 "pgmajfault",
                                                 "pswpin",
                                                 "pswpout",
                                                 "pgscan_direct",
                                                 "pgsteal_direct",
                                                 "allocstall_dma32",
                                                 "allocstall_normal",
                                                 "allocstall_movable",
                                                 "compact_stall",
                                                 "oom_kill",
                                                 "numa_miss",
                                                 "numa_pages_migrated",
                                                 "thp_fault_alloc",
                                                 "thp_split_page"};
  ForEachLine(text, [&](std::string_view line) {
    Words words(line);
    const std::string_view name = words.Next();
    uint64_t value = 0;
    if (!IsOneOf(kWanted, name) || !words.Number(&value)) return;
    readings->push_back({"", std::string(name), "count", value});
  });
}

// Parses lines such as "cpu0 user nice system idle iowait irq softirq steal guest guest_nice".
void ParseStat(std::string_view text, uint64_t ticks_per_s, Readings* readings) {
  static constexpr const char* kColumns[] = {"user",   "nice", "system",  "idle",
                                             "iowait", "irq",  "softirq", "steal"};
  if (ticks_per_s == 0) return;
  ForEachLine(text, [&](std::string_view line) {
    Words words(line);
    const std::string_view name = words.Next();
    uint64_t value = 0;
    if (name == "ctxt" && words.Number(&value)) {
      readings->push_back({"", "context switches", "count", value});
    }
    if (name.size() < 4 || name.substr(0, 3) != "cpu") return;
    for (const char* column : kColumns) {
      if (!words.Number(&value)) return;
      readings->push_back({std::string(name), column, "us", value * (1'000'000 / ticks_per_s)});
    }
  });
}

// Parses lines such as "8 0 sda reads merged sectors ms writes merged sectors ms in-flight ms ...".
void ParseDiskstats(std::string_view text, Readings* readings) {
  ForEachLine(text, [&](std::string_view line) {
    Words words(line);
    words.Next();
    words.Next();
    const std::string name(words.Next());
    uint64_t v[10];
    for (uint64_t& value : v) {
      if (!words.Number(&value)) return;
    }
    if (v[0] + v[4] == 0) return;  // never used
    readings->push_back({name, "reads", "count", v[0]});
    readings->push_back({name, "read", "bytes", v[2] * kSectorBytes});
    readings->push_back({name, "read time", "us", v[3] * 1000});
    readings->push_back({name, "writes", "count", v[4]});
    readings->push_back({name, "written", "bytes", v[6] * kSectorBytes});
    readings->push_back({name, "write time", "us", v[7] * 1000});
    readings->push_back({name, "in flight", "count", v[8], false});
    readings->push_back({name, "busy", "us", v[9] * 1000});
  });
}

// Parses lines such as "eth0: bytes packets errs drop fifo frame compressed multicast bytes packets
// errs drop ...".
void ParseNetDev(std::string_view text, Readings* readings) {
  ForEachLine(text, [&](std::string_view line) {
    if (line.find(':') == std::string_view::npos) return;
    Words words(line);
    const std::string name(words.Next());
    uint64_t v[12];
    for (uint64_t& value : v) {
      if (!words.Number(&value)) return;
    }
    if (v[1] + v[9] == 0) return;
    const auto add = [&](const char* what, const char* unit, uint64_t value) {
      readings->push_back({name, what, unit, value});
    };
    add("received", "bytes", v[0]);
    add("packets received", "count", v[1]);
    add("receive errors", "count", v[2]);
    add("receive drops", "count", v[3]);
    add("sent", "bytes", v[8]);
    add("packets sent", "count", v[9]);
    add("send errors", "count", v[10]);
    add("send drops", "count", v[11]);
  });
}

// Parses lines such as "RxErr 0".
void ParseAer(std::string_view text, const std::string& object, const std::string& prefix,
              uint32_t device, Readings* readings) {
  ForEachLine(text, [&](std::string_view line) {
    Words words(line);
    const std::string_view name = words.Next();
    uint64_t value = 0;
    if (!words.Number(&value)) return;
    const bool sum = name.substr(0, 9) == "TOTAL_ERR";
    if (!sum && value == 0) return;
    readings->push_back({object, sum ? prefix + " errors" : prefix + " " + std::string(name),
                         "count", value, true, device});
  });
}

uint64_t ParseLinkSpeed(std::string_view text) {
  double gt_per_s = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gt_per_s);
  const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc() || rest.substr(0, 5) != " GT/s" || gt_per_s < 0 || gt_per_s > 1e6) {
    return 0;
  }
  return static_cast<uint64_t>(gt_per_s * 1000 + 0.5);
}

std::string ParseCgroup(std::string_view text) {
  std::string first;
  std::string unified;
  ForEachLine(text, [&](std::string_view line) {
    const size_t name = line.find(':');
    const size_t path = line.find(':', std::min(name, line.size() - 1) + 1);
    if (name == std::string_view::npos || path == std::string_view::npos) return;
    if (line.substr(0, name) == "0") unified = line.substr(path + 1);
    if (first.empty()) first = line.substr(path + 1);
  });
  return unified.empty() || (unified == "/" && !first.empty()) ? first : unified;
}

void ReadPressure(const std::string& root, Readings* readings) {
  for (const char* object : {"cpu", "memory", "io", "irq"}) {
    ParsePressure(ReadText(root + "/proc/pressure/" + object), object, readings);
  }
}

void ReadMemory(const std::string& root, Readings* readings) {
  ParseMeminfo(ReadText(root + "/proc/meminfo"), readings);
  ParseVmstat(ReadText(root + "/proc/vmstat"), readings);
}

void ReadCpus(const std::string& root, Readings* readings) {
  ParseStat(ReadText(root + "/proc/stat"), static_cast<uint64_t>(sysconf(_SC_CLK_TCK)), readings);
  for (const std::string& cpu : Cpus(root)) {
    const std::string folder = root + "/sys/devices/system/cpu/" + cpu;
    uint64_t value = 0;
    if (ReadNumber(folder + "/cpufreq/scaling_cur_freq", &value)) {
      readings->push_back({cpu, "frequency", "Hz", value * 1000, false});
    }
    for (size_t state = 0; state < kMaxIdleStates; ++state) {
      const std::string idle = folder + "/cpuidle/state" + std::to_string(state);
      const std::string name = FirstLine(idle + "/name");
      if (name.empty()) break;
      if (ReadNumber(idle + "/time", &value)) {
        readings->push_back({cpu, "idle " + name, "us", value});
      }
      if (ReadNumber(idle + "/usage", &value)) {
        readings->push_back({cpu, "entered " + name, "count", value});
      }
    }
  }
}

void ReadBlock(const std::string& root, Readings* readings) {
  Readings all;
  ParseDiskstats(ReadText(root + "/proc/diskstats"), &all);
  // Partitions are omitted, since they are counted with their disk.
  for (Reading& reading : all) {
    std::string name = reading.object;
    std::replace(name.begin(), name.end(), '/', '!');
    if (access((root + "/sys/block/" + name).c_str(), F_OK) == 0) {
      readings->push_back(std::move(reading));
    }
  }
}

void ReadNet(const std::string& root, Readings* readings) {
  // The interfaces of process 1 are those of the host: the service itself has none
  // (PrivateNetwork).
  std::string text = ReadText(root + "/proc/1/net/dev");
  if (text.empty()) text = ReadText(root + "/proc/net/dev");
  ParseNetDev(text, readings);
}

void ReadPcie(const std::string& root, const std::vector<std::pair<uint32_t, std::string>>& devices,
              Readings* readings) {
  std::vector<std::string> seen;
  for (const auto& [number, address] : devices) {
    char resolved[PATH_MAX];
    if (realpath((root + "/sys/bus/pci/devices/" + address).c_str(), resolved) == nullptr) continue;
    std::string folder = resolved;
    // Iterates up to the root of its hierarchy, whose folder is not that of a function.
    for (size_t level = 0; level < kMaxPorts; ++level) {
      const std::string object = folder.substr(folder.rfind('/') + 1);
      if (std::count(object.begin(), object.end(), ':') != 2 ||
          std::find(seen.begin(), seen.end(), object) != seen.end()) {
        break;
      }
      seen.push_back(object);
      const uint32_t device = level == 0 ? number + 1 : 0;
      uint64_t width = 0;
      const uint64_t speed = ParseLinkSpeed(FirstLine(folder + "/current_link_speed"));
      if (speed != 0) readings->push_back({object, "link speed", "MT/s", speed, false, device});
      if (ReadNumber(folder + "/current_link_width", &width) && width != 0) {
        readings->push_back({object, "link width", "lanes", width, false, device});
      }
      for (const char* kind : {"correctable", "nonfatal", "fatal"}) {
        ParseAer(ReadText(folder + "/aer_dev_" + kind), object, kind, device, readings);
      }
      folder.resize(folder.rfind('/'));
    }
  }
}

void ReadNuma(const std::string& root, const std::vector<std::pair<uint32_t, std::string>>& devices,
              Readings* readings) {
  uint64_t node = 0;
  for (const auto& [number, address] : devices) {
    if (ReadNumber(root + "/sys/bus/pci/devices/" + address + "/numa_node", &node)) {
      readings->push_back({address, "node", "", node, false, number + 1});
    }
  }
  for (const std::string& cpu : Cpus(root)) {
    for (node = 0; node < 64; ++node) {
      const std::string link =
          root + "/sys/devices/system/cpu/" + cpu + "/node" + std::to_string(node);
      if (access(link.c_str(), F_OK) != 0) continue;
      readings->push_back({cpu, "node", "", node, false});
      break;
    }
  }
}

}  // namespace acceltrace::daemon
