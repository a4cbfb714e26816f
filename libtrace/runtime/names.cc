// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/names.h"

#include <array>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>

#include "libtrace/runtime/incarnation.h"
#include "libtrace/runtime/probes.h"

namespace acceltrace::runtime {
namespace {

constexpr std::string_view kOverflowText = "(too many names)";

std::atomic<uint32_t> seen_tracers{0};
std::atomic<uint64_t> epoch{0};
std::atomic<int64_t> epoch_second{0};

int64_t CoarseSecond() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

uint64_t CurrentEpoch(uint32_t tracers) {
  const int64_t second = CoarseSecond();
  if (seen_tracers.exchange(tracers) < tracers || epoch_second.load() != second) {
    epoch_second.store(second);
    return epoch.fetch_add(1) + 1;
  }
  return epoch.load();
}

}  // namespace

uint32_t NameTable::Intern(std::string_view text) {
  text = text.substr(0, kMaxNameBytes);
  {
    std::shared_lock lock(mutex_);
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    if (overflow_) return overflow_;
  }
  std::unique_lock lock(mutex_);
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  if (names_.size() + 1 < kMaxNames) return Add(text);
  if (!overflow_) overflow_ = Add(kOverflowText);
  return overflow_;
}

uint32_t NameTable::Add(std::string_view text) {
  Name& name = names_.emplace_back();
  name.text = text;
  const uint32_t number = base_ + static_cast<uint32_t>(names_.size());
  numbers_.emplace(name.text, number);
  return number;
}

NameTable::Name* NameTable::Find(uint32_t number) {
  std::shared_lock lock(mutex_);
  const uint32_t place = number - base_ - 1;
  return place < names_.size() ? &names_[place] : nullptr;
}

// Leaked on purpose: threads may still call this while static objects are destroyed.
NameTable& OpNames() {
  static_assert(NameTable::kMaxNames == 1 << 16);
  static NameTable& table = *std::make_unique<NameTable>(ThisClient() << 16).release();
  return table;
}

uint32_t OpTag(const char* name) {
  // Compared by pointer and then by contents, since the pointer may refer to other text by now.
  struct Entry {
    const char* pointer = nullptr;
    const char* text = nullptr;
    uint32_t tag = 0;
  };
  constexpr size_t kEntries = 256;
  // Not thread-local as a whole: dlopen() has space for only some hundred bytes of a library's.
  thread_local std::unique_ptr<Entry[]> cache;
  if (!cache) cache = std::make_unique<Entry[]>(kEntries);
  const auto bits = reinterpret_cast<uintptr_t>(name);
  Entry& entry = cache[(bits ^ bits >> 5 ^ bits >> 13) % kEntries];
  if (entry.pointer == name && std::strcmp(entry.text, name) == 0) return entry.tag;
  NameTable& names = OpNames();
  const uint32_t tag = names.Intern(name);
  entry = {name, names.Find(tag)->text.c_str(), tag};
  return tag;
}

namespace {

bool OpNamesTraced() {
  if (Traced(libaxl_op_name_semaphore) || Traced(libaxl_ring_ready_semaphore)) return true;
  if (seen_tracers.load(std::memory_order_relaxed)) seen_tracers.store(0);
  return false;
}

struct Announced {
  uint64_t reader = 0;
  uint32_t tag = 0;
};

// The last ops of this thread: most submissions have one command, and a loop launches few ops
// alternately. Like current_writer, they are accessed without a function call.
constexpr size_t kLastAnnounced = 4;
thread_local constinit Announced last_announced[kLastAnnounced]
    __attribute__((tls_model("initial-exec"))) = {};

// The names that a thread has announced to a reader: as many as most models have, each in a place
// of its own.
struct AnnouncedHere {
  uint64_t reader = 0;
  std::array<uint32_t, 1024> tags = {};
};

// Announces to the reader of this thread's ring what this thread has not announced yet. Other
// threads may repeat it. Takes a few instructions per command, since graphs have thousands.
__attribute__((noinline)) void AnnounceAll(std::span<const axl_desc> commands, uint64_t reader) {
  thread_local std::unique_ptr<AnnouncedHere> announced_here;  // allocated as in OpTag
  if (!announced_here) announced_here = std::make_unique<AnnouncedHere>();
  AnnouncedHere& here = *announced_here;
  if (here.reader != reader) here = {reader, {}};
  for (const axl_desc& command : commands) {
    uint32_t& tag = here.tags[command.tag % here.tags.size()];
    if (tag == command.tag) continue;
    const NameTable::Name* name = OpNames().Find(command.tag);
    if (name && ring::WriteText(ring::Kind::kOpName, command.tag, name->text)) tag = command.tag;
  }
  if (commands.size() != 1) return;
  const uint32_t tag = commands[0].tag;
  if (here.tags[tag % here.tags.size()] == tag)
    last_announced[tag % kLastAnnounced] = {reader, tag};
}

inline void AnnounceInRing(std::span<const axl_desc> commands) {
  if (commands.size() == 1 && commands[0].tag == 0) return;  // usually a copy, which has no name
  const uint64_t reader = uint64_t{ring::ReaderGeneration()} << 32 | IncarnationToken();
  if (commands.size() == 1) {
    const Announced& last = last_announced[commands[0].tag % kLastAnnounced];
    if (last.tag == commands[0].tag && last.reader == reader) return;
  }
  AnnounceAll(commands, reader);
}

void AnnounceByProbe(std::span<const axl_desc> commands) {
  const uint64_t now = CurrentEpoch(libaxl_op_name_semaphore);
  for (const axl_desc& command : commands) {
    NameTable::Name* name = OpNames().Find(command.tag);
    if (name && name->announced.exchange(now) != now) FireOpName(command.tag, name->text.c_str());
  }
}

}  // namespace

void AnnounceOps(std::span<const axl_desc> commands) {
  if (!OpNamesTraced()) return;
  if (Traced(libaxl_ring_ready_semaphore)) AnnounceInRing(commands);
  if (Traced(libaxl_op_name_semaphore)) AnnounceByProbe(commands);
}

}  // namespace acceltrace::runtime
