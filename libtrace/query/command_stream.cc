// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/command_stream.h"

#include <algorithm>
#include <string>
#include <utility>

namespace acceltrace::query {
namespace {

using model::CommandRows;
using proto::CommandBatch;
using Type = PlainTable::Type;

// Columns of the rows that are there, named as in tables.cc.
class StreamTable {
 public:
  StreamTable(const model::Model& model, CommandRows* const* rows) : model_(model), rows_(rows) {
    table_.name = "commands";
    table_.rows = [rows] { return *rows == nullptr ? 0 : (*rows)->rows(); };
  }

  // values: of all rows that are there.
  template <typename Values>
  void Add(std::string name, const Values& values) {
    CommandRows* const* const rows = rows_;
    const auto cell = [rows, values](size_t row) -> Cell { return values(*rows)[row]; };
    const auto cells = [rows, values](size_t first, size_t count, ColumnCells* out) {
      std::copy_n(values(*rows) + first, count, out->Integers(ColumnCells::Kind::kUnsigned, count));
    };
    table_.columns.push_back({std::move(name), Type::kInteger, cell, cells, nullptr});
  }
  void AddField(std::string name, uint32_t field) {
    Add(std::move(name), [field](CommandRows* rows) { return rows->Field(field); });
  }
  void AddTicks(const std::string& name, uint32_t field) {
    const auto values = [field](CommandRows* rows) { return rows->Ticks(field); };
    // The clock neither wraps nor jumps, or rows would not come one by one.
    Add(name + "_raw_ticks", values), Add(name + "_ticks", values);
  }
  // A text for each number of a device.
  template <typename Keys, typename Text>
  void AddText(std::string name, const Keys& keys, const Text& text) {
    CommandRows* const* const rows = rows_;
    const auto cell = [rows, keys, text](size_t row) -> Cell {
      return std::string_view(text((*rows)->device(), keys(*rows)[row]));
    };
    const auto cells = [cell](size_t first, size_t count, ColumnCells* out) {
      Cell* const to = out->Any(count);
      for (size_t i = 0; i < count; ++i) to[i] = cell(first + i);
    };
    const auto numbers = [rows, keys](size_t first, size_t count, uint64_t* out) {
      const uint64_t device = uint64_t{(*rows)->device()} << 32, *const from = keys(*rows) + first;
      for (size_t i = 0; i < count; ++i) out[i] = device | from[i];
    };
    table_.columns.push_back({std::move(name), Type::kText, cell, cells, numbers});
  }
  void AddName(std::string name, uint32_t field,
               const std::string& (model::Device::*text)(uint32_t) const) {
    AddText(
        std::move(name), [field](CommandRows* rows) { return rows->Field(field); },
        [&model = model_, text](uint32_t device, uint64_t number) -> const std::string& {
          return (model.devices[device].*text)(static_cast<uint32_t>(number));
        });
  }

  PlainTable Done() { return std::move(table_); }

 private:
  const model::Model& model_;
  CommandRows* const* const rows_;
  PlainTable table_;
};

PlainTable MakeTable(const model::Model& model, CommandRows* const* rows) {
  StreamTable table(model, rows);
  // Any field that is there for each device alike.
  table.AddText(
      "device",
      [](CommandRows* of) {
        static const std::vector<uint64_t> alike(CommandRows::kAtOnce);
        (void)of;
        return alike.data();
      },
      [&model](uint32_t device, uint64_t) -> const std::string& {
        return model.devices[device].about.name();
      });
  table.AddField("job", CommandBatch::kJobFieldNumber);
  table.AddField("index", CommandBatch::kIndexFieldNumber);
  table.AddField("context", CommandBatch::kContextFieldNumber);
  table.AddField("queue", CommandBatch::kQueueFieldNumber);
  table.AddField("correlation", CommandBatch::kCorrelationDeltaFieldNumber);
  table.AddName("unit", CommandBatch::kUnitFieldNumber, &model::Device::UnitName);
  table.AddName("opcode", CommandBatch::kOpcodeFieldNumber, &model::Device::OpcodeName);
  table.AddText(
      "op", [](CommandRows* of) { return of->Ops(); },
      [&model](uint32_t, uint64_t name) -> const std::string& {
        return model.strings.Get(static_cast<uint32_t>(name));
      });
  table.AddField("tag", CommandBatch::kTagFieldNumber);
  table.AddName("status", CommandBatch::kStatusFieldNumber, &model::Device::StatusName);
  table.AddName("limiter", CommandBatch::kLimiterFieldNumber, &model::Device::LimiterName);
  table.AddField("work", CommandBatch::kWorkFieldNumber);
  table.AddField("bytes", CommandBatch::kBytesFieldNumber);
  table.AddField("memory_bytes", CommandBatch::kMemoryBytesFieldNumber);
  table.AddField("row_hits", CommandBatch::kRowHitsFieldNumber);
  table.AddField("row_misses", CommandBatch::kRowMissesFieldNumber);
  table.AddTicks("fetched", CommandBatch::kFetchedTicksDeltaFieldNumber);
  table.AddTicks("head", CommandBatch::kHeadTicksAfterFieldNumber);
  table.AddTicks("start", CommandBatch::kStartTicksAfterFieldNumber);
  table.AddTicks("end", CommandBatch::kEndTicksAfterFieldNumber);
  table.Add("busy_ticks", [](CommandRows* of) { return of->BusyTicks(); });
  return table.Done();
}

}  // namespace

CommandStream::CommandStream(const model::PartialTrace* trace, std::vector<uint32_t> fields,
                             model::Model* model)
    : trace_(*trace), fields_(std::move(fields)), model_(*model) {
  table_ = MakeTable(model_, &rows_);
}

bool CommandStream::EachPart(const std::function<bool(size_t rows)>& each) {
  const bool all = trace_.EachCommand(
      fields_,
      [&](CommandRows* rows) {
        rows_ = rows;
        return each(rows->rows());
      },
      &model_);
  rows_ = nullptr;
  return all;
}

}  // namespace acceltrace::query
