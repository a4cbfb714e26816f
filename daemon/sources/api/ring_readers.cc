// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/ring_readers.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace acceltrace::daemon {
namespace {

struct All {
  std::mutex mutex;
  std::vector<const RingUser*> users;
};

All& Everyone() {
  static All all;
  return all;
}

}  // namespace

RingUser::RingUser(std::function<bool(uint32_t)> records) : records_(std::move(records)) {
  All& all = Everyone();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.users.push_back(this);
}

RingUser::~RingUser() {
  All& all = Everyone();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.users.erase(std::remove(all.users.begin(), all.users.end(), this), all.users.end());
}

void RingUser::HasProbes() {
  const std::lock_guard<std::mutex> lock(Everyone().mutex);
  probes_ = true;
}

bool RingUser::Other(const std::function<bool(const RingUser&)>& is) const {
  All& all = Everyone();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return std::any_of(all.users.begin(), all.users.end(),
                     [&](const RingUser* user) { return user != this && is(*user); });
}

bool RingUser::AnyOther() const {
  return Other([](const RingUser&) { return true; });
}

bool RingUser::OtherRecords(uint32_t pid) const {
  return Other([&](const RingUser& user) { return user.records_(pid); });
}

bool RingUser::LeavesTo(uint32_t pid) const {
  return Other(
      [&](const RingUser& user) { return probes_ && !user.probes_ && user.records_(pid); });
}

}  // namespace acceltrace::daemon
