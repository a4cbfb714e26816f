// SPDX-License-Identifier: Apache-2.0
//
// Plants faults in a real trace, with correct checksums and a correct index: each must be found and
// named. The trace without them has no faults.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/stream/columns/batches.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/file/test_batches.h"
#include "libtrace/stream/file/writer.h"
#include "tests/catch.h"

namespace acceltrace::analysis {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::RepeatedField;
using proto::HostBatch;
using proto::Packet;
using Packets = std::vector<Packet>;

const Packets& Original() {
  static const Packets* packets = [] {
    auto* read = new Packets;
    auto reader = stream::Reader::Open("tests/golden/demo.atrace");
    REQUIRE(reader.ok());
    Packet packet;
    while (stream::ReadBatch(reader->get(), &packet) == stream::Reader::Next::kPacket) {
      read->push_back(packet);
    }
    read->pop_back();  // the footer is written again
    // Newer recordings note that all events of the session come from these hops.
    for (auto& hop : *read->back().mutable_accounts()->mutable_hops()) {
      const bool gives =
          hop.name() != "bpf-process" && hop.name() != "session" && hop.name() != "output";
      if (gives) hop.set_into("session");
    }
    return read;
  }();
  return *packets;
}

std::vector<Finding> FindingsOf(const std::string& bytes) {
  auto reader = stream::Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  auto model = model::Load(reader->get());
  REQUIRE(model.ok());
  const std::vector<Finding> findings = FindProblems(ComputeReport(**model));
  // Load it as `verify` does, which skips some columns and checks others differently.
  auto again = stream::Reader::FromMemory(bytes);
  model::LoadOptions options;
  options.checks_only = true;
  auto checked = model::Load(again->get(), options);
  REQUIRE(checked.ok());
  const std::vector<Finding> same = FindProblems(ComputeVerification(**checked));
  CHECK(std::equal(
      findings.begin(), findings.end(), same.begin(), same.end(),
      [](const Finding& a, const Finding& b) { return a.kind == b.kind && a.text == b.text; }));
  return findings;
}

std::string Encode(Packets packets) {
  stream::PacketEncoder encoder;
  std::string bytes;
  for (Packet& packet : packets) {
    const auto rows = static_cast<uint32_t>(stream::Rows(packet));
    REQUIRE(encoder.Append(&packet, 0, rows, &bytes));
  }
  encoder.AppendFooter(&bytes);
  return bytes;
}

// Returns the n-th packet of a kind that has enough rows.
Packet* Find(Packets* packets, Packet::BodyCase body, size_t rows = 0) {
  for (Packet& packet : *packets) {
    if (packet.body_case() == body && stream::Rows(packet) >= rows) return &packet;
  }
  FAIL("no such packet");
  return nullptr;
}

// A batch as rows of values without deltas. Omitted columns are zeros.
class Table {
 public:
  explicit Table(Packet* packet) : batch_(stream::MutableBody(packet)) {
    rows_ = stream::Rows(*packet);
    const auto& reflection = *batch_->GetReflection();
    for (int f = 0; f < batch_->GetDescriptor()->field_count(); ++f) {
      const FieldDescriptor* field = batch_->GetDescriptor()->field(f);
      if (!field->is_repeated() || field->name() == "counter") continue;
      Column column = {field, {}};
      const auto size = static_cast<size_t>(reflection.FieldSize(*batch_, field));
      column.width =
          stream::IsRowMajor(*field) && rows_ > 0 ? std::max<size_t>(size / rows_, 1) : 1;
      column.values.resize(rows_ * column.width);
      for (size_t i = 0; i < size; ++i) column.values[i] = Get(field, static_cast<int>(i));
      if (IsDelta(field)) {
        for (size_t i = column.width; i < size; ++i) {
          column.values[i] += column.values[i - column.width];
        }
      }
      columns_.push_back(std::move(column));
    }
  }
  ~Table() {
    const auto& reflection = *batch_->GetReflection();
    for (Column& column : columns_) {
      reflection.ClearField(batch_, column.field);
      if (IsDelta(column.field)) {
        for (size_t i = column.values.size(); i-- > column.width;) {
          column.values[i] -= column.values[i - column.width];
        }
      }
      for (const uint64_t value : column.values) Add(column.field, value);
    }
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  size_t rows() const { return rows_; }
  uint64_t& At(const std::string& name, size_t row, size_t part = 0) {
    for (Column& column : columns_) {
      if (column.field->name() == name) return column.values[row * column.width + part];
    }
    FAIL("no column " << name);
    return columns_[0].values[0];
  }
  // Returns the first row, from the middle on, that meets the condition.
  size_t Where(const std::function<bool(size_t)>& wanted) {
    for (size_t row = rows_ / 2; row < rows_; ++row) {
      if (wanted(row)) return row;
    }
    FAIL("no such row");
    return 0;
  }
  void Drop(size_t row) {
    for (Column& column : columns_) {
      const auto at = column.values.begin() + static_cast<ptrdiff_t>(row * column.width);
      column.values.erase(at, at + static_cast<ptrdiff_t>(column.width));
    }
    --rows_;
  }
  void Repeat(size_t row) {
    for (Column& column : columns_) {
      const auto at = static_cast<ptrdiff_t>(row * column.width);
      const std::vector<uint64_t> copy(
          column.values.begin() + at,
          column.values.begin() + at + static_cast<ptrdiff_t>(column.width));
      column.values.insert(column.values.begin() + at, copy.begin(), copy.end());
    }
    ++rows_;
  }
  void Swap(size_t a, size_t b) {
    for (Column& column : columns_) {
      for (size_t i = 0; i < column.width; ++i) {
        std::swap(column.values[a * column.width + i], column.values[b * column.width + i]);
      }
    }
  }

 private:
  struct Column {
    const FieldDescriptor* field;
    std::vector<uint64_t> values;
    size_t width = 1;
  };
  static bool IsDelta(const FieldDescriptor* field) {
    const std::string& name = field->name();
    return name.size() > 6 && name.compare(name.size() - 6, 6, "_delta") == 0;
  }
  uint64_t Get(const FieldDescriptor* field, int i) const {
    const auto& reflection = *batch_->GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return static_cast<uint64_t>(reflection.GetRepeatedInt32(*batch_, field, i));
      case FieldDescriptor::CPPTYPE_INT64:
        return static_cast<uint64_t>(reflection.GetRepeatedInt64(*batch_, field, i));
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection.GetRepeatedUInt32(*batch_, field, i);
      default:
        return reflection.GetRepeatedUInt64(*batch_, field, i);
    }
  }
  void Add(const FieldDescriptor* field, uint64_t value) {
    const auto& reflection = *batch_->GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.AddInt32(batch_, field, static_cast<int32_t>(value));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.AddInt64(batch_, field, static_cast<int64_t>(value));
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection.AddUInt32(batch_, field, static_cast<uint32_t>(value));
      default:
        return reflection.AddUInt64(batch_, field, value);
    }
  }

  Message* batch_;
  size_t rows_ = 0;
  std::vector<Column> columns_;
};

struct Fault {
  const char* what;
  const char* kind;   // of a finding
  const char* named;  // part of its text
  std::function<void(Packets*)> plant;
};

// Changes one table, from its middle on.
std::function<void(Packets*)> In(Packet::BodyCase body, std::function<void(Table*)> change) {
  return [body, change](Packets* packets) {
    Table table(Find(packets, body, 8));
    change(&table);
  };
}

std::function<void(Packets*)> HostRow(HostBatch::Kind kind,
                                      std::function<void(Table*, size_t)> change) {
  return In(Packet::kHost, [kind, change](Table* table) {
    change(table, table->Where([&](size_t i) {
      return table->At("kind", i) == static_cast<uint64_t>(kind);
    }));
  });
}

size_t Counter(const std::string& name) {
  for (const Packet& packet : Original()) {
    if (!packet.has_device()) continue;
    for (int i = 0; i < packet.device().counters_size(); ++i) {
      if (packet.device().counters(i).name() == name) return static_cast<size_t>(i);
    }
  }
  FAIL("no counter " << name);
  return 0;
}

// Changes a single value of one snapshot.
std::function<void(Packets*)> CounterFault(const std::string& name, uint64_t more) {
  return In(Packet::kCounters, [name, more](Table* table) {
    table->At("value_delta", table->rows() / 2, Counter(name)) += more;
  });
}

std::function<void(Packets*)> WithoutPacket(Packet::BodyCase body) {
  return [body](Packets* packets) {
    packets->erase(packets->begin() + (Find(packets, body) - packets->data()));
  };
}

std::function<void(Packets*)> InAccounts(std::function<void(proto::Accounts*)> change) {
  return
      [change](Packets* packets) { change(Find(packets, Packet::kAccounts)->mutable_accounts()); };
}

// Returns the row of a call that submitted a job.
size_t SubmittingCall(Table* table) {
  std::set<uint64_t> ids;
  Packets packets = Original();
  Table jobs(Find(&packets, Packet::kJobs));
  for (size_t i = 0; i < jobs.rows(); ++i) ids.insert(jobs.At("correlation_delta", i));
  return table->Where([&](size_t i) { return ids.count(table->At("correlation_delta", i)) != 0; });
}

bool IsDma(Table* table, size_t row) { return table->At("unit", row) < 2; }

std::vector<Fault> FaultsOfCommands() {
  return {
      {"a command is lost", "law", "commands retired",
       In(Packet::kCommands, [](Table* t) { t->Drop(t->rows() / 2); })},
      {"a command is there twice", "rows", "command records seen twice",
       In(Packet::kCommands, [](Table* t) { t->Repeat(t->rows() / 2); })},
      {"commands in another order", "rows", "another order",
       In(Packet::kCommands, [](Table* t) { t->Swap(t->rows() / 2, t->rows() / 2 + 1); })},
      {"another correlation of a command", "law", "correlation of driver",
       In(Packet::kCommands, [](Table* t) { t->At("correlation_delta", t->rows() / 2) += 3; })},
      {"a command on another unit", "law", "counters of each unit",
       In(Packet::kCommands,
          [](Table* t) {
            const size_t row = t->Where([&](size_t i) { return t->At("unit", i) == 3; });
            t->At("unit", row) = 2;
          })},
      {"a stall of a tick more", "law", "counters of each unit",
       In(Packet::kCommands, [](Table* t) { ++t->At("stall_ticks", t->rows() / 2, 1); })},
      {"a stall longer than its command", "rows", "stalls that are longer",
       In(Packet::kCommands,
          [](Table* t) { t->At("stall_ticks", t->rows() / 2, 1) += uint64_t{1} << 20; })},
      {"a command ends before it starts", "order", "command_start > command_end",
       In(Packet::kCommands, [](Table* t) { t->At("end_ticks_after", t->rows() / 2) = -1; })},
      {"a command ends years after it starts", "order", "command_end > completion",
       In(Packet::kCommands,
          [](Table* t) { t->At("end_ticks_after", t->rows() / 2) = uint64_t{1} << 58; })},
      {"a command starts before its head", "order", "command_head > command_start",
       In(Packet::kCommands, [](Table* t) { t->At("start_ticks_after", t->rows() / 2) = -500; })},
      {"a command ends a tick later", "law", "counters of each unit",
       In(Packet::kCommands, [](Table* t) { ++t->At("end_ticks_after", t->rows() / 2); })},
      {"a command runs a microsecond later", "order", "overlap on an in-order unit",
       In(Packet::kCommands,
          [](Table* t) {
            t->At("fetched_ticks_delta", t->Where([&](size_t i) { return IsDma(t, i); })) += 1000;
          })},
      {"a copy of other size", "law", "bytes the driver was asked to copy",
       In(Packet::kCommands,
          [](Table* t) { t->At("bytes", t->Where([&](size_t i) { return IsDma(t, i); })) += 64; })},
      {"a command of another job", "law", "commands retired",
       In(Packet::kCommands, [](Table* t) { t->At("job", t->rows() / 2) += 100'000; })},
      {"a command of another index", "rows", "command records seen twice",
       In(Packet::kCommands,
          [](Table* t) {
            const size_t row = t->Where([&](size_t i) { return t->At("index", i) > 0; });
            --t->At("index", row);
          })},
      {"a command of another queue", "law", "queue of job, command",
       In(Packet::kCommands, [](Table* t) { ++t->At("queue", t->rows() / 2); })},
      {"a command of another context", "law", "context of job, command",
       In(Packet::kCommands, [](Table* t) { ++t->At("context", t->rows() / 2); })},
      {"a record's number again", "rows", "numbers were seen before",
       In(Packet::kCommands,
          [](Table* t) {
            t->At("record_delta", t->rows() / 2) = t->At("record_delta", t->rows() / 2 + 1);
          })},
  };
}

std::vector<Fault> FaultsOfJobs() {
  return {
      {"a job is lost", "law", "never completed by the device",
       In(Packet::kJobs, [](Table* t) { t->Drop(t->rows() / 2); })},
      {"a job is there twice", "rows", "job records seen twice",
       In(Packet::kJobs, [](Table* t) { t->Repeat(t->rows() / 2); })},
      {"a job of a command more", "law", "commands submitted",
       In(Packet::kJobs, [](Table* t) { ++t->At("commands", t->rows() / 2); })},
      {"another correlation of a job", "law", "correlation of driver",
       In(Packet::kJobs, [](Table* t) { t->At("correlation_delta", t->rows() / 2) += 3; })},
      {"a completion before its end", "order", "end > completion",
       In(Packet::kJobs,
          [](Table* t) {
            const size_t row = t->rows() / 2;
            t->At("completion_ticks_after", row) = t->At("last_end_ticks_after", row) - 1;
          })},
      {"a first start of another time", "law", "of its commands",
       In(Packet::kJobs, [](Table* t) { ++t->At("first_start_ticks_after", t->rows() / 2); })},
      {"a doorbell before it was rung", "order", "doorbell > device_doorbell",
       In(Packet::kJobs,
          [](Table* t) {
            // Only move the doorbell: what is recorded after it stays.
            const size_t row = t->rows() / 2;
            t->At("doorbell_ticks_delta", row) -= 1'000'000;
            for (const char* name :
                 {"fetched_ticks_after", "first_start_ticks_after", "last_end_ticks_after",
                  "completion_ticks_after", "irq_ticks_after"}) {
              t->At(name, row) += 1'000'000;
            }
          })},
      {"jobs in another order", "rows", "another order",
       In(Packet::kJobs, [](Table* t) { t->Swap(t->rows() / 2, t->rows() / 2 + 1); })},
  };
}

std::vector<Fault> FaultsOfHost() {
  return {
      {"a submission is lost", "law", "never submitted",
       HostRow(HostBatch::KIND_SUBMIT, [](Table* t, size_t i) { t->Drop(i); })},
      {"a submission is there twice", "rows", "job records seen twice",
       HostRow(HostBatch::KIND_SUBMIT, [](Table* t, size_t i) { t->Repeat(i); })},
      {"another correlation of a submission", "law", "correlation of driver",
       HostRow(HostBatch::KIND_SUBMIT,
               [](Table* t, size_t i) { ++t->At("correlation_delta", i); })},
      {"a submission of a command more", "law", "commands submitted",
       HostRow(HostBatch::KIND_SUBMIT, [](Table* t, size_t i) { ++t->At("arg0", i); })},
      {"a submission of other size", "law", "asked to copy",
       HostRow(HostBatch::KIND_SUBMIT, [](Table* t, size_t i) { t->At("arg1", i) += 64; })},
      {"a submission of another job", "law", "jobs submitted",
       HostRow(HostBatch::KIND_SUBMIT, [](Table* t, size_t i) { t->At("job", i) += 100'000; })},
      {"a completion is not consumed", "law", "but not for the driver",
       HostRow(HostBatch::KIND_COMPLETE, [](Table* t, size_t i) { t->Drop(i); })},
      {"a completion is consumed twice", "law", "in the trace once",
       HostRow(HostBatch::KIND_COMPLETE, [](Table* t, size_t i) { t->Repeat(i); })},
      {"a completion is consumed before it is written", "order", "> consumed",
       HostRow(HostBatch::KIND_COMPLETE,
               [](Table* t, size_t i) { t->At("time_ns_delta", i) -= 1'000'000; })},
      {"a doorbell after its call", "law", "happened during it",
       HostRow(HostBatch::KIND_DOORBELL,
               [](Table* t, size_t i) { t->At("time_ns_delta", i) += 1'000'000; })},
      {"a waiter wakes before the completion", "order", "> wake",
       HostRow(HostBatch::KIND_WAKE,
               [](Table* t, size_t i) { t->At("time_ns_delta", i) -= 1'000'000; })},
      {"a call is lost", "law", "the call that submitted it",
       In(Packet::kApi, [](Table* t) { t->Drop(SubmittingCall(t)); })},
      {"a call is lost that went through a ring", "law", "the call that submitted it",
       [](Packets* packets) {
         for (proto::Probe& probe :
              *Find(packets, Packet::kInfo)->mutable_info()->mutable_probes()) {
           if (probe.name().find("api_begin") != std::string::npos) probe.set_name("ring_ready");
         }
         Table table(Find(packets, Packet::kApi, 8));
         table.Drop(SubmittingCall(&table));
       }},
      {"a call is there twice", "law", "in the trace once",
       In(Packet::kApi, [](Table* t) { t->Repeat(t->rows() / 2); })},
      {"another correlation of a call", "law", "the call that submitted it",
       In(Packet::kApi,
          [](Table* t) { t->At("correlation_delta", SubmittingCall(t)) += 1'000'000; })},
      {"a call ends early", "law", "happened during it",
       In(Packet::kApi, [](Table* t) { t->At("duration_ns", SubmittingCall(t)) = 10; })},
  };
}

std::vector<Fault> FaultsOfTheRest() {
  return {
      {"a call begins late", "order", "api_begin > submit",
       In(Packet::kApi,
          [](Table* t) {
            const size_t row = SubmittingCall(t);
            t->At("begin_ns_delta", row) += t->At("duration_ns", row);
          })},
      {"a call ends in the next one", "law", "lie within each other",
       In(Packet::kApi,
          [](Table* t) {
            const size_t row = t->rows() / 2;
            t->At("duration_ns", row) =
                t->At("begin_ns_delta", row + 1) + 1 - t->At("begin_ns_delta", row);
          })},
      {"a range ends in the next one", "law", "lie within each other",
       In(Packet::kRanges,
          [](Table* t) {
            const size_t row = t->Where([&](size_t i) { return t->At("depth", i) > 0; });
            t->At("duration_ns", row) += 1'000'000'000;
          })},
      {"a range is there twice", "law", "in the trace once",
       In(Packet::kRanges, [](Table* t) { t->Repeat(t->rows() / 2); })},
      {"a counter of busy ticks", "law", "busy + stalls + idle = elapsed",
       CounterFault("matrix_busy", 1)},
      {"the counter of elapsed ticks", "law", "elapsed ticks between",
       CounterFault("elapsed_ticks", 1)},
      {"a snapshot of another time", "law", "elapsed ticks between",
       In(Packet::kCounters, [](Table* t) { ++t->At("time_ticks_delta", t->rows() / 2); })},
      {"a snapshot is there twice", "law", "in the trace once",
       In(Packet::kCounters, [](Table* t) { t->Repeat(t->rows() / 2); })},
      {"a counter goes back", "law", "counters do not go back",
       CounterFault("dram_read_bytes", -uint64_t{1} << 40)},
      {"a hop's account", "law", "in = out + lost + bad",
       InAccounts([](proto::Accounts* a) { a->mutable_hops(0)->set_out(a->hops(0).out() - 1); })},
      {"an event between two hops, in either's account", "law", "what hops gave away",
       InAccounts([](proto::Accounts* a) {
         proto::Accounts::Hop* hop = a->mutable_hops(1);
         hop->set_in(hop->in() - 1), hop->set_out(hop->out() - 1);
       })},
      {"an account of the hop that takes what others give", "law", "what hops gave away",
       InAccounts([](proto::Accounts* a) {
         for (auto& hop : *a->mutable_hops()) {
           if (hop.name() == "session") hop.set_name("sessions");
         }
       })},
      {"a loss that was reported", "loss", "5 events lost", InAccounts([](proto::Accounts* a) {
         a->mutable_hops(0)->set_lost(5);
         a->mutable_hops(0)->set_in(a->hops(0).in() + 5);
       })},
      {"no accounts", "damage", "accounts are missing", WithoutPacket(Packet::kAccounts)},
      {"no first packet", "damage", "first packet is missing", WithoutPacket(Packet::kInfo)},
      {"no device", "rows", "not described", WithoutPacket(Packet::kDevice)},
      {"a packet of commands is lost", "law", "command records", WithoutPacket(Packet::kCommands)},
      {"a packet of host events is lost", "law", "", WithoutPacket(Packet::kHost)},
      {"a packet of jobs is lost", "law", "jobs completed", WithoutPacket(Packet::kJobs)},
      {"a packet of calls is lost", "law", "", WithoutPacket(Packet::kApi)},
      {"a packet of clock samples is lost", "damage", "by the accounts",
       WithoutPacket(Packet::kClocks)},
  };
}

std::vector<Fault> Faults() {
  std::vector<Fault> all;
  for (const auto& some : {FaultsOfCommands(), FaultsOfJobs(), FaultsOfHost(), FaultsOfTheRest()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST_CASE("the trace that faults are planted in is sound") {
  for (const Finding& finding : FindingsOf(Encode(Original()))) {
    FAIL_CHECK(finding.kind << ": " << finding.text);
  }
}

TEST_CASE("each planted fault is found and named, though its checksums are right") {
  CHECK(Faults().size() >= 40);
  size_t found = 0;
  for (const Fault& fault : Faults()) {
    Packets packets = Original();
    fault.plant(&packets);
    const std::vector<Finding> findings = FindingsOf(Encode(packets));
    const bool named = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.kind == fault.kind && finding.text.find(fault.named) != std::string::npos;
    });
    found += named;
    if (named) continue;
    UNSCOPED_INFO(fault.what << ", wanted " << fault.kind << ": " << fault.named);
    for (const Finding& finding : findings) UNSCOPED_INFO(finding.kind << ": " << finding.text);
    FAIL_CHECK("not found, or not named");
  }
  std::printf("# figure planted_faults %zu of %zu\n", found, Faults().size());  // for the bench
}

// No law covers names and times within their bounds, but the index does.
TEST_CASE("a packet that is not as it was written is reported, whatever was changed") {
  const std::string before = Encode(Original());
  stream::PacketEncoder encoder;
  std::string first, bytes;
  for (const Packet& original : Original()) {
    Packet packet = original;
    if (packet.has_op_names()) packet.mutable_op_names()->set_tag(0, packet.op_names().tag(0) ^ 1);
    REQUIRE(encoder.Append(&packet, 0, static_cast<uint32_t>(stream::Rows(packet)), &bytes));
  }
  REQUIRE(bytes.size() < before.size());
  bytes += before.substr(bytes.size());  // the original footer
  const std::vector<Finding> findings = FindingsOf(bytes);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == "damage");
  CHECK(findings[0].text.find("(op_names) is not as it was written") != std::string::npos);
}

}  // namespace
}  // namespace acceltrace::analysis
