// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/names.h"

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"

using namespace acceltrace::runtime;

TEST_CASE("names: numbers are dense from 1, the same text has the same number and pointer") {
  NameTable names;
  REQUIRE(names.Intern("a") == 1);
  REQUIRE(names.Intern("b") == 2);
  REQUIRE(names.Intern(std::string("a")) == 1);
  const char* pointer = names.Find(1)->text.c_str();
  for (int i = 0; i < 1000; ++i) names.Intern(std::to_string(i));
  REQUIRE(names.Find(1)->text.c_str() == pointer);
  REQUIRE(names.Find(1)->text == "a");
  REQUIRE(names.Find(0) == nullptr);
  REQUIRE(names.Find(2000) == nullptr);
}

TEST_CASE("names: long ones are cut, too many share one") {
  NameTable names;
  const std::string longest(NameTable::kMaxNameBytes, 'x');
  REQUIRE(names.Intern(longest) == names.Intern(longest + "y"));
  for (size_t i = 0; i < NameTable::kMaxNames + 10; ++i) names.Intern(std::to_string(i));
  const uint32_t overflow = names.Intern("one more");
  REQUIRE(overflow == NameTable::kMaxNames);
  REQUIRE(names.Intern("and another") == overflow);
  REQUIRE(names.Find(overflow)->text == "(too many names)");
  REQUIRE(names.Intern("5") != overflow);  // known names keep their numbers
}

TEST_CASE("names: threads agree") {
  NameTable names;
  std::vector<std::vector<uint32_t>> numbers(4);
  std::vector<std::thread> threads;
  for (auto& mine : numbers) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) mine.push_back(names.Intern("op" + std::to_string(i % 100)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint32_t> all;
  for (const auto& mine : numbers) {
    REQUIRE(mine == numbers[0]);
    all.insert(mine.begin(), mine.end());
  }
  REQUIRE(all.size() == 100);
  REQUIRE(*all.rbegin() == 100);
}
