// SPDX-License-Identifier: Apache-2.0
//
// One include for both Catch2 generations: v2 (Debian 12) and v3 (Debian 13).
#ifndef TESTS_CATCH_H_
#define TESTS_CATCH_H_

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
// Like v3's, for the body of a case; tests/run recognises it by this warning.
#define SKIP(reason)          \
  do {                        \
    WARN("skipped: " reason); \
    SUCCEED();                \
    return;                   \
  } while (false)
#endif

#endif  // TESTS_CATCH_H_
