// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/columns.h"

#include "libtrace/stream/columns/batches.h"
#include "tests/catch.h"

namespace acceltrace::stream {

namespace {

using google::protobuf::FieldDescriptor;

// Adds `value` to each numeric column in the body of the given kind.
void FillColumns(proto::Packet* packet, const FieldDescriptor* body, int value) {
  auto* batch = packet->GetReflection()->MutableMessage(packet, body);
  const auto& reflection = *batch->GetReflection();
  for (int i = 0; i < batch->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = batch->GetDescriptor()->field(i);
    if (!field->is_repeated()) continue;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        reflection.AddInt32(batch, field, value);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.AddInt64(batch, field, value);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection.AddUInt32(batch, field, static_cast<uint32_t>(value));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection.AddUInt64(batch, field, static_cast<uint64_t>(value));
        break;
      default:
        break;
    }
  }
}

int PresentColumns(const proto::Packet& packet) {
  const auto* batch = Body(packet);
  int present = 0;
  for (int i = 0; i < batch->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = batch->GetDescriptor()->field(i);
    if (field->is_repeated() && field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
      present += batch->GetReflection()->FieldSize(*batch, field) > 0;
    }
  }
  return present;
}

}  // namespace

TEST_CASE("columns of zeros go, the batch keeps its rows, for each batch of the schema") {
  const auto* body = proto::Packet::descriptor()->FindOneofByName("body");
  int batches = 0;
  for (int i = 0; i < body->field_count(); ++i) {
    if (!IsBatch(static_cast<proto::Packet::BodyCase>(body->field(i)->number()))) continue;
    ++batches;
    CAPTURE(body->field(i)->name());
    proto::Packet zeros, ones;
    FillColumns(&zeros, body->field(i), 0);
    FillColumns(&ones, body->field(i), 1);
    const int all = PresentColumns(ones);
    DropZeroColumns(&zeros);
    DropZeroColumns(&ones);
    // Counters keep their numbers and times.
    CHECK(PresentColumns(zeros) == (zeros.has_counters() ? 2 : 1));
    CHECK(PresentColumns(ones) == all);
    CHECK(Rows(ones) == 1);
    if (!zeros.has_strings()) CHECK(Rows(zeros) == 1);
  }
  CHECK(batches == 23);
}

TEST_CASE("differences wrap without harm") {
  google::protobuf::RepeatedField<int64_t> column;
  DeltaEncoder encoder;
  const std::vector<uint64_t> values{5, 3, ~uint64_t{0}, 0, uint64_t{1} << 63};
  for (uint64_t value : values) encoder.Append(value, &column);
  CHECK(DecodeDeltas<uint64_t>(column, values.size()) == values);
  CHECK(DecodeDeltas<uint64_t>(column, 7).size() == 7);
  CHECK(DecodeDeltas<int64_t>({}, 2) == std::vector<int64_t>{0, 0});
}

}  // namespace acceltrace::stream
