// SPDX-License-Identifier: Apache-2.0
//
// Accounts of what each user has used of what the configuration allows.
#ifndef DAEMON_SERVICE_QUOTA_H_
#define DAEMON_SERVICE_QUOTA_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "daemon/service/config.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

// A token bucket: allows `capacity` per period, and no more than that at once; used capacity is
// regained evenly.
class Bucket {
 public:
  Bucket(uint64_t capacity, int64_t period_ns) : capacity_(capacity), period_ns_(period_ns) {}

  // Takes the amount if that much is left.
  bool Take(uint64_t amount, int64_t now_ns);
  // Takes the amount in any case; returns false if it was more than what was left.
  bool Charge(uint64_t amount, int64_t now_ns);
  // Returns the time until some capacity is available again.
  int64_t WaitNs(int64_t now_ns);
  bool full(int64_t now_ns) {
    Refill(now_ns);
    return used_ == 0;
  }
  // Does not change how much is used.
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
  // `bytes_per_hour` 0 means no limit.
  explicit ByteQuota(uint64_t bytes_per_hour);

  void SetLimit(uint64_t bytes_per_hour);
  // Returns an error once more was written than allowed.
  Status Charge(uint64_t bytes, int64_t now_ns);
  Status Check(int64_t now_ns);
  bool untouched(int64_t now_ns);

 private:
  Status Verdict(int64_t now_ns);

  std::mutex mutex_;
  uint64_t limit_;
  Bucket bucket_;
};

// Keeps the accounts of all users who were active recently.
class UserAccounts {
 public:
  struct Account {
    explicit Account(const UserLimits& limits);
    UserLimits limits;
    Bucket starts, requests;
    std::shared_ptr<ByteQuota> bytes;
  };

  explicit UserAccounts(const ServiceConfig* config) : config_(config) {}

  // Must be called when the configuration was read again.
  void Update();

  Account& Of(uid_t uid, int64_t now_ns);
  // Fails if the user may not make one more request or start one more recording. Root always may.
  Status MayAsk(uid_t uid, int64_t now_ns);
  Status MayStart(uid_t uid, int64_t now_ns);

 private:
  static constexpr size_t kMaxAccounts = 1024;

  const ServiceConfig* config_;
  std::map<uid_t, Account> accounts_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_QUOTA_H_
