// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/quota.h"

#include <algorithm>
#include <string>

namespace acceltrace::daemon {
namespace {

constexpr int64_t kNsPerS = 1'000'000'000;
constexpr int64_t kNsPerMinute = 60 * kNsPerS;
constexpr int64_t kNsPerHour = 60 * kNsPerMinute;

}  // namespace

void Bucket::Refill(int64_t now_ns) {
  const auto passed = static_cast<double>(std::max<int64_t>(now_ns - at_ns_, 0));
  used_ -= passed * static_cast<double>(capacity_) / static_cast<double>(period_ns_);
  used_ = std::max(used_, 0.0);
  at_ns_ = std::max(at_ns_, now_ns);
}

bool Bucket::Take(uint64_t amount, int64_t now_ns) {
  Refill(now_ns);
  if (used_ + static_cast<double>(amount) > static_cast<double>(capacity_)) return false;
  used_ += static_cast<double>(amount);
  return true;
}

bool Bucket::Charge(uint64_t amount, int64_t now_ns) {
  Refill(now_ns);
  used_ += static_cast<double>(amount);
  return used_ <= static_cast<double>(capacity_);
}

int64_t Bucket::WaitNs(int64_t now_ns) {
  Refill(now_ns);
  const double over = used_ - static_cast<double>(capacity_);
  if (over < 0 || capacity_ == 0) return 0;
  return static_cast<int64_t>(over / static_cast<double>(capacity_) *
                              static_cast<double>(period_ns_)) +
         kNsPerS;
}

ByteQuota::ByteQuota(uint64_t bytes_per_hour)
    : limit_(bytes_per_hour), bucket_(bytes_per_hour, kNsPerHour) {}

void ByteQuota::SetLimit(uint64_t bytes_per_hour) {
  const std::lock_guard<std::mutex> lock(mutex_);
  limit_ = bytes_per_hour;
  bucket_.SetCapacity(bytes_per_hour);
}

Status ByteQuota::Verdict(int64_t now_ns) {
  const int64_t wait_ns = limit_ == 0 ? 0 : bucket_.WaitNs(now_ns);
  if (wait_ns == 0) return {};
  return Status::Error("the quota of " + std::to_string(limit_) +
                       " bytes an hour is used up (bytes-per-hour in acceltraced.conf); record "
                       "again in " +
                       std::to_string((wait_ns + kNsPerMinute - 1) / kNsPerMinute) + " min");
}

Status ByteQuota::Charge(uint64_t bytes, int64_t now_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (limit_ == 0) return {};
  (void)bucket_.Charge(bytes, now_ns);
  return Verdict(now_ns);
}

Status ByteQuota::Check(int64_t now_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Verdict(now_ns);
}

bool ByteQuota::untouched(int64_t now_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return limit_ == 0 || bucket_.full(now_ns);
}

UserAccounts::Account::Account(const UserLimits& user_limits)
    : limits(user_limits),
      starts(limits.starts_per_minute, kNsPerMinute),
      requests(limits.requests_per_second, kNsPerS),
      bytes(std::make_shared<ByteQuota>(limits.bytes_per_hour)) {}

void UserAccounts::Update() {
  for (auto& [uid, account] : accounts_) {
    account.limits = config_->LimitsOf(uid);
    account.starts.SetCapacity(account.limits.starts_per_minute);
    account.requests.SetCapacity(account.limits.requests_per_second);
    account.bytes->SetLimit(account.limits.bytes_per_hour);
  }
}

UserAccounts::Account& UserAccounts::Of(uid_t uid, int64_t now_ns) {
  const auto found = accounts_.find(uid);
  if (found != accounts_.end()) return found->second;
  // Accounts without any usage are the same as new ones.
  for (auto entry = accounts_.begin();
       accounts_.size() >= kMaxAccounts && entry != accounts_.end();) {
    Account& account = entry->second;
    const bool idle = account.bytes.use_count() == 1 && account.bytes->untouched(now_ns) &&
                      account.starts.full(now_ns) && account.requests.full(now_ns);
    entry = idle ? accounts_.erase(entry) : std::next(entry);
  }
  return accounts_.try_emplace(uid, config_->LimitsOf(uid)).first->second;
}

Status UserAccounts::MayAsk(uid_t uid, int64_t now_ns) {
  if (uid == 0 || Of(uid, now_ns).requests.Take(1, now_ns)) return {};
  return Status::Error("too many requests a second; ask less often");
}

Status UserAccounts::MayStart(uid_t uid, int64_t now_ns) {
  if (uid == 0) return {};
  Account& account = Of(uid, now_ns);
  if (Status status = account.bytes->Check(now_ns); !status.ok()) return status;
  if (account.starts.Take(1, now_ns)) return {};
  return Status::Error("more than " + std::to_string(account.limits.starts_per_minute) +
                       " starts in a minute; wait, or record for longer at a time");
}

}  // namespace acceltrace::daemon
