// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/table_columns.h"

#include <google/protobuf/descriptor.h>

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace acceltrace::stream {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// `begin_ns_delta` of a batch is COLUMN_BEGIN_NS of a block.
int ColumnOfBlock(std::string name) {
  constexpr std::string_view kDelta = "_delta";
  if (name.ends_with(kDelta)) name.resize(name.size() - kDelta.size());
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  proto::Block::Column column = proto::Block::COLUMN_UNKNOWN;
  return proto::Block::Column_Parse("COLUMN_" + name, &column) ? column : 0;
}

std::vector<TableColumn> Describe(const Descriptor& batch) {
  std::vector<TableColumn> columns;
  const bool host = &batch == proto::HostBatch::descriptor();
  for (int i = 0; i < batch.field_count(); ++i) {
    const FieldDescriptor& field = *batch.field(i);
    const auto number = static_cast<size_t>(field.number());
    if (columns.size() <= number) columns.resize(number + 1);
    if (!field.is_repeated()) continue;
    TableColumn& column = columns[number];
    column.column = host ? field.number() : ColumnOfBlock(field.name());
    column.narrow = field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
                    field.cpp_type() == FieldDescriptor::CPPTYPE_INT32;
    column.deltas = std::string_view(field.name()).ends_with("_delta");
    column.by_cause = !host && column.column == proto::Block::COLUMN_STALL_TICKS;
    column.field = &field;
  }
  return columns;
}

}  // namespace

std::span<const TableColumn> TableColumnsOf(uint32_t body) {
  using proto::Packet;
  static const auto commands = Describe(*proto::CommandBatch::descriptor());
  static const auto jobs = Describe(*proto::JobBatch::descriptor());
  static const auto host = Describe(*proto::HostBatch::descriptor());
  static const auto calls = Describe(*proto::ApiBatch::descriptor());
  switch (body) {
    case Packet::kCommands:
      return commands;
    case Packet::kJobs:
      return jobs;
    case Packet::kHost:
      return host;
    case Packet::kApi:
      return calls;
    default:
      return {};
  }
}

}  // namespace acceltrace::stream
