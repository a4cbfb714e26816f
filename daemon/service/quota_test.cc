// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/quota.h"

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kStartNs = 1000 * kSecondNs;

TEST_CASE("a bucket gives what it holds, and what has come back") {
  Bucket bucket(10, 10 * kSecondNs);
  for (int i = 0; i < 10; ++i) CHECK(bucket.Take(1, kStartNs));
  CHECK_FALSE(bucket.Take(1, kStartNs));
  CHECK_FALSE(bucket.Take(1, kStartNs + kSecondNs / 2));
  CHECK(bucket.Take(1, kStartNs + kSecondNs));
  CHECK_FALSE(bucket.Take(1, kStartNs + kSecondNs));
  // A clock that goes backwards adds nothing.
  CHECK_FALSE(bucket.Take(1, kStartNs));
  CHECK(bucket.full(kStartNs + 100 * kSecondNs));
}

TEST_CASE("bytes of a user") {
  ByteQuota quota(3600);
  CHECK(quota.Check(kStartNs).ok());
  CHECK(quota.Charge(3599, kStartNs).ok());
  const Status over = quota.Charge(1000, kStartNs);
  REQUIRE_FALSE(over.ok());
  CHECK(over.message().find("bytes-per-hour") != std::string::npos);
  CHECK_FALSE(quota.Check(kStartNs + 100 * kSecondNs).ok());
  CHECK(quota.Check(kStartNs + 1100 * kSecondNs).ok());
  // Without a limit nothing is counted.
  quota.SetLimit(0);
  CHECK(quota.Charge(1 << 30, kStartNs).ok());
}

TEST_CASE("users are distinguished, root is not bounded") {
  ServiceConfig config;
  config.users.starts_per_minute = 2;
  config.users.requests_per_second = 1;
  config.named_users[7] = config.users;
  config.named_users[7].starts_per_minute = 3;
  UserAccounts accounts(&config);
  const auto starts = [&](uid_t uid) {
    int count = 0;
    while (count < 10 && accounts.MayStart(uid, kStartNs).ok()) ++count;
    return count;
  };
  CHECK(starts(5) == 2);
  CHECK(starts(6) == 2);
  CHECK(starts(7) == 3);
  CHECK(starts(0) == 10);
  CHECK(accounts.MayAsk(5, kStartNs).ok());
  CHECK_FALSE(accounts.MayAsk(5, kStartNs).ok());
  CHECK(accounts.MayAsk(0, kStartNs).ok());
  // A changed limit does not reset what was used.
  config.users.starts_per_minute = 4;
  accounts.Update();
  CHECK(starts(5) == 2);
}

TEST_CASE("many users are forgotten when nothing is against them") {
  ServiceConfig config;
  UserAccounts accounts(&config);
  for (uid_t uid = 1; uid < 100'000; ++uid) {
    // They come a minute apart: earlier users have their whole quota again.
    CHECK(accounts.MayStart(uid, kStartNs + uid * 60 * kSecondNs).ok());
  }
}

}  // namespace
}  // namespace acceltrace::daemon
