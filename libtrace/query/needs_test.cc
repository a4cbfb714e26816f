// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/needs.h"

#include <algorithm>
#include <string>

#include "tests/catch.h"

namespace acceltrace::query {
namespace {

using proto::CommandBatch;

bool Asks(const Needs& needs, uint32_t field) {
  const auto& fields = *needs.command_fields;
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

TEST_CASE("What a query needs is what it reads, wherever that stands") {
  const Needs sums = NeedsOf("SELECT count(*), sum(bytes) FROM commands WHERE job > 7");
  REQUIRE(sums.command_fields);
  CHECK(sums.events);
  CHECK(Asks(sums, CommandBatch::kBytesFieldNumber));
  CHECK(Asks(sums, CommandBatch::kJobFieldNumber));
  CHECK_FALSE(Asks(sums, CommandBatch::kUnitFieldNumber));
  const Needs ops = NeedsOf(
      "SELECT op FROM (SELECT * FROM (SELECT op, work FROM commands)) "
      "ORDER BY (SELECT max(row_hits) FROM commands)");
  REQUIRE(ops.command_fields);
  CHECK(Asks(ops, CommandBatch::kTagFieldNumber));
  CHECK(Asks(ops, CommandBatch::kRowHitsFieldNumber));
  CHECK(NeedsOf("SELECT count(*) FROM commands").command_fields);
  const Needs busy = NeedsOf("SELECT op, sum(busy_ticks) FROM commands GROUP BY op");
  REQUIRE(busy.command_fields);
  CHECK(Asks(busy, CommandBatch::kStallTicksFieldNumber));
  CHECK(Asks(busy, CommandBatch::kEndTicksAfterFieldNumber));
  const Needs starts = NeedsOf("SELECT min(start_ticks), max(head_raw_ticks) FROM commands");
  REQUIRE(starts.command_fields);
  CHECK(Asks(starts, CommandBatch::kHeadTicksAfterFieldNumber));
  CHECK(Asks(starts, CommandBatch::kStartTicksAfterFieldNumber));
  CHECK_FALSE(Asks(starts, CommandBatch::kEndTicksAfterFieldNumber));
  for (const char* more :
       {"SELECT * FROM commands", "SELECT start_ns FROM commands", "SELECT job FROM jobs",
        "SELECT bytes FROM commands WHERE end_ns > 5", "SELECT head_lo_ns FROM commands",
        "SELECT c.bytes FROM commands c JOIN jobs USING (device, job)",
        "SELECT bytes FROM commands WHERE job IN (SELECT job FROM jobs)"}) {
    INFO(more);
    CHECK_FALSE(NeedsOf(more).command_fields);
    CHECK(NeedsOf(more).events);
  }
  CHECK(NeedsOf("SELECT a.name FROM api a JOIN api b USING (tid)").calls_only);
  CHECK(NeedsOf("SELECT count(*) FROM api").calls_only);
  CHECK_FALSE(NeedsOf("SELECT name FROM api JOIN jobs USING (pid)").calls_only);
  CHECK_FALSE(NeedsOf("SELECT 1").calls_only);
}

TEST_CASE("What a query looks at of one table may lie between two times") {
  constexpr int64_t kMargin = 1'000'000;
  const auto between = [](const char* sql, int64_t lo_ns, int64_t hi_ns) {
    INFO(sql);
    const std::optional<Times> times = NeedsOf(sql).times;
    REQUIRE(times);
    CHECK(times->lo_ns == (lo_ns == INT64_MIN ? lo_ns : lo_ns - kMargin));
    CHECK(times->hi_ns == (hi_ns == INT64_MAX ? hi_ns : hi_ns + kMargin));
  };
  between("SELECT sum(bytes) FROM commands WHERE start_ns >= 50 AND start_ns < 70", 50, 70);
  between("SELECT name FROM api WHERE begin_ns BETWEEN 1e9 AND 2e9 + 1.5 ORDER BY name LIMIT 3",
          1'000'000'000, 2'000'000'002);
  between("SELECT count(*) FROM jobs WHERE submit_ns > 5 AND completion_ns < 9 AND job != 7", 5, 9);
  between("SELECT count(*) FROM api WHERE 7 = begin_ns", 7, 7);
  between("SELECT count(*) FROM ranges WHERE end_ns > 7 GROUP BY name", 7, INT64_MAX);
  between("SELECT count(*) FROM host_events WHERE time_ns <= -5", INT64_MIN, -5);
  between("SELECT 1 FROM api WHERE begin_ns > 9223372036854775807", INT64_MAX, INT64_MAX);
  for (const char* other :
       {"SELECT count(*) FROM api", "SELECT count(*) FROM api WHERE correlation > 5",
        "SELECT count(*) FROM api WHERE begin_ns + 0 > 5",
        "SELECT count(*) FROM api WHERE begin_ns > 5 OR end_ns < 3",
        "SELECT count(*) FROM api WHERE NOT begin_ns > 5",
        "SELECT count(*) FROM api WHERE begin_ns > '5'", "SELECT rowid FROM api WHERE begin_ns > 5",
        "SELECT count(*) FROM jobs WHERE wake_ns > 5",
        "SELECT count(*) FROM commands WHERE start_lo_ns > 5",
        "SELECT a.name FROM api a JOIN api b USING (tid) WHERE a.begin_ns > 5",
        "SELECT a.name FROM api a LEFT JOIN api b ON a.end_ns = b.begin_ns AND b.begin_ns > 5",
        "SELECT name FROM api WHERE begin_ns > 5 UNION SELECT name FROM api",
        "SELECT name FROM api WHERE begin_ns > 5 AND tid IN (SELECT tid FROM api)",
        "SELECT name, (SELECT count(*) FROM api) FROM api WHERE begin_ns > 5",
        "SELECT c.bytes FROM commands c JOIN jobs USING (device, job) WHERE start_ns > 5",
        "SELECT count(*) FROM api WHERE begin_ns < (SELECT begin_ns FROM trace)",
        "SELECT count(*) FROM counters WHERE time_ns > 5"}) {
    INFO(other);
    CHECK_FALSE(NeedsOf(other).times);
  }
}

TEST_CASE("What was not read is refused, not answered") {
  model::Model model;
  model.commands.device.push_back(0);
  model.commands.bytes.push_back(7);
  model.devices.emplace_back();
  const auto database = Database::Open(model, {});
  REQUIRE(database.ok());
  (*database)->Only({{"commands", {"bytes"}}});
  class Nothing final : public RowSink {
    Status Begin(const std::vector<std::string>&) override { return {}; }
    Status Row(const std::vector<Value>&) override { return {}; }
  } sink;
  CHECK((*database)->Run("SELECT bytes FROM commands", &sink).state == Answer::State::kDone);
  CHECK((*database)->Run("SELECT work FROM commands", &sink).state != Answer::State::kDone);
}

TEST_CASE("What says something of the whole trace needs the whole trace") {
  for (const char* whole : {"SELECT damaged_stretches FROM trace", "SELECT * FROM hops",
                            "SELECT count(*) FROM commands WHERE bytes > (SELECT bytes FROM trace)",
                            "SELECT * FROM ops", "SELECT * FROM losses", "SELECT * FROM clocks"}) {
    INFO(whole);
    CHECK_FALSE(NeedsOf(whole).events);
    CHECK_FALSE(NeedsOf(whole).command_fields);
  }
  for (const char* wrong :
       {"", "SELECT", "SELECT stall_link_ticks FROM commands", "DROP TABLE api", "SELECT 1"}) {
    INFO(wrong);
    CHECK_FALSE(NeedsOf(wrong).command_fields);
  }
  CHECK_FALSE(NeedsOf("SELECT").events);
}

TEST_CASE("An answer is not computed for a query that does not name it") {
  model::Model model;
  const auto database = Database::Open(model, {});
  REQUIRE(database.ok());
  // These changes would not be seen if the tables had been computed already.
  model.begin_ns = 5, model.end_ns = 9;
  proto::Accounts::Hop* hop = model.accounts.add_hops();
  hop->set_name("late");
  class Count final : public RowSink {
   public:
    Status Begin(const std::vector<std::string>&) override { return {}; }
    Status Row(const std::vector<Value>& values) override {
      text = std::string(std::get<std::string_view>(values[0]));
      return {};
    }
    std::string text;
  } answer;
  CHECK((*database)->Run("SELECT hop FROM hops", &answer).state == Answer::State::kDone);
  CHECK(answer.text == "late");
}

}  // namespace
}  // namespace acceltrace::query
