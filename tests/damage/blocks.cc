// SPDX-License-Identifier: Apache-2.0
#include "tests/damage/blocks.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/stream/columns/batches.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/block_writer.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/packed.h"
#include "libtrace/stream/file/test_batches.h"

namespace acceltrace::test {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using proto::Block;
using proto::HostBatch;
using proto::Packet;

using Values = std::vector<uint64_t>;

constexpr size_t kRoom = 64;  // the writer pads its arrays after the last row

// A column by value; delta columns are summed up.
Values ValuesOf(const Message& batch, const FieldDescriptor* field, size_t rows) {
  const auto& r = *batch.GetReflection();
  Values values(rows);
  const auto have = std::min(rows, static_cast<size_t>(r.FieldSize(batch, field)));
  for (size_t i = 0; i < have; ++i) {
    const int at = static_cast<int>(i);
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        values[i] = static_cast<uint64_t>(r.GetRepeatedInt64(batch, field, at));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        values[i] = r.GetRepeatedUInt64(batch, field, at);
        break;
      default:
        values[i] = r.GetRepeatedUInt32(batch, field, at);
    }
  }
  if (field->name().ends_with("_delta")) {
    for (size_t i = 1; i < rows; ++i) values[i] += values[i - 1];
  }
  return values;
}

// Finds COLUMN_FETCHED_TICKS for fetched_ticks_delta.
bool ColumnOf(std::string name, Block::Column* column) {
  const std::string delta = "_delta";
  if (name.ends_with(delta)) name.resize(name.size() - delta.size());
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return Block::Column_Parse("COLUMN_" + name, column);
}

class Writer {
 public:
  Writer(Block* block, size_t rows, Random* random) : block_(*block), rows_(rows), random_(random) {
    writer_.Begin(block, rows);
  }
  void Put(Block::Column column, Values values) {
    if (std::all_of(values.begin(), values.end(), [](uint64_t v) { return v == 0; })) return;
    const bool narrow =
        std::all_of(values.begin(), values.end(), [](uint64_t v) { return v >> 32 == 0; });
    values.resize(rows_ + kRoom);
    const int earlier = block_.column_size();
    const size_t mode = random_->Below(4);
    if (mode == 0) {
      writer_.Delta(column, values.data());
    } else if (mode == 1 && narrow) {
      std::vector<uint32_t> small(values.begin(), values.end());
      writer_.Narrow(column, small.data());
    } else if (mode == 2 && earlier > 0) {
      const auto to = block_.column(static_cast<int>(random_->Below(static_cast<size_t>(earlier))));
      const Values& base = put_[to];
      for (size_t i = 0; i < rows_; ++i) values[i] -= base[i];
      Values differences = values;
      writer_.Reference(column, differences.data(), static_cast<Block::Column>(to));
      for (size_t i = 0; i < rows_; ++i) values[i] += base[i];
    } else {
      writer_.Wide(column, values.data());
    }
    put_[column] = std::move(values);
  }
  void Finish() { writer_.Finish(); }

 private:
  // Its buffers grow to the largest block, so it is reused.
  inline static thread_local stream::BlockWriter writer_;
  Block& block_;
  size_t rows_;
  Random* random_;
  std::map<uint32_t, Values> put_;
};

// Commands and jobs: column by column.
void PutBatch(const Message& batch, size_t rows, Writer* writer) {
  for (int i = 0; i < batch.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = batch.GetDescriptor()->field(i);
    Block::Column column;
    if (!field->is_repeated() || stream::IsRowMajor(*field)) continue;
    if (ColumnOf(field->name(), &column)) writer->Put(column, ValuesOf(batch, field, rows));
  }
}

uint32_t PutStalls(const proto::CommandBatch& batch, size_t rows, Writer* writer) {
  const size_t stalls = std::min<size_t>(static_cast<size_t>(batch.stall_ticks_size()) / rows, 32);
  for (size_t s = 0; s < stalls; ++s) {
    Values values(rows);
    for (size_t row = 0; row < rows; ++row) {
      values[row] = batch.stall_ticks(static_cast<int>(row * stalls + s));
    }
    writer->Put(static_cast<Block::Column>(Block::COLUMN_STALL_TICKS + static_cast<int>(s)),
                std::move(values));
  }
  return static_cast<uint32_t>(stalls);
}

// One row for each job, from its recorded events.
std::vector<std::map<Block::Column, uint64_t>> HostRows(const HostBatch& batch, size_t rows) {
  std::map<std::pair<uint64_t, uint64_t>, std::map<Block::Column, uint64_t>> jobs;
  std::map<std::string, Values> columns;
  for (int i = 0; i < batch.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = batch.GetDescriptor()->field(i);
    columns[field->name()] = ValuesOf(batch, field, rows);
  }
  for (size_t row = 0; row < rows; ++row) {
    const auto at = [&](const char* name) { return columns[name][row]; };
    if (at("job") == 0) continue;
    auto& job = jobs[{at("device"), at("job")}];
    for (const char* name : {"pid", "tid", "device", "context", "queue", "job", "sequence"}) {
      Block::Column column;
      if (ColumnOf(name, &column)) job[column] = at(name);
    }
    job[Block::COLUMN_CORRELATION] = at("correlation_delta");
    switch (at("kind")) {
      case HostBatch::KIND_SUBMIT:
        job[Block::COLUMN_SUBMIT_NS] = at("time_ns_delta");
        job[Block::COLUMN_KNOWN] |= 1;
        job[Block::COLUMN_COMMANDS] = at("arg0"), job[Block::COLUMN_COPY_BYTES] = at("arg1");
        break;
      case HostBatch::KIND_DOORBELL:
        job[Block::COLUMN_DOORBELL_NS] = at("time_ns_delta");
        break;
      case HostBatch::KIND_SUBMIT_END:
        job[Block::COLUMN_SUBMIT_END_NS] = at("time_ns_delta");
        break;
      case HostBatch::KIND_COMPLETE:
        job[Block::COLUMN_COMPLETE_NS] = at("time_ns_delta");
        job[Block::COLUMN_IRQ_NS] = at("time_ns_delta") - 400;
        job[Block::COLUMN_KNOWN] |= 6;
        job[Block::COLUMN_STATUS] = at("arg0"), job[Block::COLUMN_DEVICE_TICKS] = at("arg1");
        break;
      default:
        break;
    }
  }
  std::vector<std::map<Block::Column, uint64_t>> found;
  for (auto& [key, job] : jobs) found.push_back(std::move(job));
  return found;
}

}  // namespace

bool ToBlock(Packet* packet, Random* random) {
  const size_t rows = packet->has_commands() || packet->has_jobs() || packet->has_host()
                          ? stream::Rows(*packet)
                          : 0;
  if (rows == 0 || rows > stream::kMaxBlockRows) return false;
  Packet fresh;
  Block* block = fresh.mutable_block();
  if (packet->has_host()) {
    const auto jobs = HostRows(packet->host(), rows);
    if (jobs.empty()) return false;
    block->set_table(Block::TABLE_HOST_JOBS);
    block->set_rows(static_cast<uint32_t>(jobs.size()));
    std::map<Block::Column, Values> columns;
    for (size_t row = 0; row < jobs.size(); ++row) {
      for (const auto& [column, value] : jobs[row]) {
        columns.try_emplace(column, jobs.size()).first->second[row] = value;
      }
    }
    Writer writer(block, jobs.size(), random);
    for (auto& [column, values] : columns) writer.Put(column, std::move(values));
    writer.Finish();
  } else {
    const bool commands = packet->has_commands();
    block->set_table(commands ? Block::TABLE_COMMANDS : Block::TABLE_DEVICE_JOBS);
    block->set_device(commands ? packet->commands().device() : packet->jobs().device());
    block->set_rows(static_cast<uint32_t>(rows));
    Writer writer(block, rows, random);
    PutBatch(*stream::Body(*packet), rows, &writer);
    if (commands) block->set_stalls(PutStalls(packet->commands(), rows, &writer));
    writer.Finish();
  }
  fresh.set_sequence(packet->sequence());
  *packet = std::move(fresh);
  return true;
}

bool FromBlock(Packet* packet) {
  if (!packet->has_block() && !packet->has_packed() && !packet->has_packed_block()) return false;
  Packet fresh = *packet;
  if (!stream::ToBatch(&fresh).ok() || fresh.body_case() == Packet::BODY_NOT_SET) {
    return false;
  }
  *packet = std::move(fresh);
  return true;
}

bool Pack(Packet* packet) {
  static stream::Packing packing;
  Packet fresh;
  if (packet->has_block()) {
    stream::BlockColumns columns;
    if (!columns.Decode(packet->block()).ok()) return false;
    stream::RowColumns rows;
    rows.rows = columns.rows();
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      rows.columns[i] = columns.AllOf(static_cast<int>(i));
    }
    Block& block = *fresh.mutable_packed_block();
    block.set_table(packet->block().table());
    block.set_device(packet->block().device());
    block.set_stalls(packet->block().stalls());
    block.set_first(packet->block().first());
    block.set_last(packet->block().last());
    if (!packing.Pack(rows, &block)) return false;
  } else if (!packing.Pack(*packet, &fresh)) {
    return false;
  }
  fresh.set_sequence(packet->sequence());
  *packet = std::move(fresh);
  return true;
}

}  // namespace acceltrace::test
