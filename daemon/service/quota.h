// SPDX-License-Identifier: Apache-2.0
//
// What each user has used of what the configuration allows.
#ifndef DAEMON_SERVICE_QUOTA_H_
#define DAEMON_SERVICE_QUOTA_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "daemon/service/config.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// So much in a period, and no more than that at once; what was used comes back evenly.
class Bucket {
 public:
  Bucket(uint64_t capacity, int64_t period_ns) : capacity_(capacity), period_ns_(period_ns) {}

  // Takes it if there is so much left.
  bool Take(uint64_t amount, int64_t now_ns);
  // Takes it whether there is or not; false if it was too much.
  bool Charge(uint64_t amount, int64_t now_ns);
  // Until something is left again.
  int64_t WaitNs(int64_t now_ns);
  bool full(int64_t now_ns) {
    Refill(now_ns);
    return used_ == 0;
  }
  // What was used stays used.
  void SetCapacity(uint64_t capacity) { capacity_ = capacity; }

 private:
  void Refill(int64_t now_ns);

  uint64_t capacity_;
  int64_t period_ns_;
  double used_ = 0;
  int64_t at_ns_ = 0;
};

// Bytes written to files for one user. Thread-safe: recordings charge it while they run.
class ByteQuota {
 public:
  // bytes_per_hour: 0 = no limit.
  explicit ByteQuota(uint64_t bytes_per_hour);

  void SetLimit(uint64_t bytes_per_hour);
  // Not fine once more was written than is allowed.
  Status Charge(uint64_t bytes, int64_t now_ns);
  Status Check(int64_t now_ns);
  bool untouched(int64_t now_ns);

 private:
  Status Verdict(int64_t now_ns);

  std::mutex mutex_;
  uint64_t limit_;
  Bucket bucket_;
};

// Of all users who have been there lately.
class UserAccounts {
 public:
  struct Account {
    explicit Account(const UserLimits& limits);
    UserLimits limits;
    Bucket starts, requests;
    std::shared_ptr<ByteQuota> bytes;
  };

  explicit UserAccounts(const ServiceConfig* config) : config_(config) {}

  // The configuration was read again.
  void Update();

  Account& Of(uid_t uid, int64_t now_ns);
  // May this user ask for one more thing, start one more recording? root may always.
  Status MayAsk(uid_t uid, int64_t now_ns);
  Status MayStart(uid_t uid, int64_t now_ns);

 private:
  static constexpr size_t kMaxAccounts = 1024;

  const ServiceConfig* config_;
  std::map<uid_t, Account> accounts_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_QUOTA_H_
