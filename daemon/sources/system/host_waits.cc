// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/host_waits.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

namespace acceltrace::daemon {
namespace {

// Set on the kernel's command line by scripts/vm.
constexpr std::string_view kWord = "acceltrace.icount";
// The account is only non-zero if the guest waited; libtrace/analysis knows the name.
constexpr char kHopName[] = "host-file-waits";

}  // namespace

bool HostWaits::Applies() const {
  std::ifstream line(proc_ + "/cmdline");
  for (std::string word; line >> word;) {
    if (word == kWord) return true;
  }
  return false;
}

Status HostWaits::Start() {
  Begin();
  return {};
}

// The host's folders are mounted by virtio, whose answers are interrupts named "virtioN-requests":
// each line has the counts of all CPUs, followed by words.
uint64_t HostWaits::Count() const {
  constexpr std::string_view kBefore = "virtio", kBehind = "-requests";
  std::ifstream lines(proc_ + "/interrupts");
  uint64_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;  // the interrupt's number
    uint64_t of_line = 0, number = 0;
    while (words >> number) of_line += number;
    words.clear();
    bool found = false;
    while (words >> word) found |= word.starts_with(kBefore) && word.ends_with(kBehind);
    if (found) count += of_line;
  }
  return count;
}

std::vector<Hop> HostWaits::Hops() {
  const uint64_t count = Count();
  Hop hop = {kHopName};
  hop.in = hop.out = count - std::min(count, before_);
  return {std::move(hop)};
}

void HostWaits::Stop() { handler_->OnHop(Hops().front()); }

}  // namespace acceltrace::daemon
