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
  // It would not see what comes after it was computed.
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
