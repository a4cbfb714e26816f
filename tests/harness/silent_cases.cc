// SPDX-License-Identifier: Apache-2.0
//
// Cases that catch_main.cc must accept, and cases that it must reject: harness_test.py runs this
// with the names of cases.
#include "tests/catch.h"

TEST_CASE("loud: sections vary what the case asserts") {
  int x = 0;
  SECTION("one") { x = 1; }
  SECTION("two") { x = 2; }
  CHECK(x > 0);
}

TEST_CASE("loud: asserts in the inner section") {
  SECTION("outer") {
    SECTION("inner") { CHECK(true); }
  }
}

TEST_CASE("silent: nothing at all") {}

TEST_CASE("silent: one of its runs") {
  SECTION("asserts") { CHECK(true); }
  SECTION("does not") {}
}
