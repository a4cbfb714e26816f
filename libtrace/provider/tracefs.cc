// SPDX-License-Identifier: Apache-2.0
#include "libtrace/provider/tracefs.h"

#include <algorithm>

#include "libtrace/provider/words.h"

namespace acceltrace::provider {
namespace {

constexpr uint64_t kMaxRecordBytes = 1 << 16;
constexpr size_t kMaxFields = 256;

// Returns the number after "NAME:" in a line of a format file.
std::optional<uint64_t> NumberAt(std::string_view line, std::string_view name) {
  const size_t at = line.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + name.size());
  const auto number = ParseNumber(Trim(rest.substr(0, rest.find(';'))));
  return number.ok() ? std::optional(*number) : std::nullopt;
}

// Parses a line such as "field:__u32 nsid; offset:28; size:4; signed:0;".
std::optional<TraceField> ParseLine(std::string_view line) {
  const auto offset = NumberAt(line, "offset:"), size = NumberAt(line, "size:");
  std::string_view declared =
      Trim(line.substr(6, line.find(';') - std::min<size_t>(6, line.size())));
  if (!offset || !size || *offset > kMaxRecordBytes || *size > kMaxRecordBytes) return std::nullopt;
  TraceField field;
  field.elsewhere = declared.substr(0, 10) == "__data_loc" || declared.substr(0, 9) == "__rel_loc";
  const bool relative = declared.substr(0, 9) == "__rel_loc";
  const size_t bracket = declared.find('[');
  const bool array = bracket != std::string_view::npos;
  field.text = array && declared.find("char") < bracket;
  // In "__data_loc char[] name" the brackets precede the name.
  if (array && !field.elsewhere) declared = Trim(declared.substr(0, bracket));
  const size_t blank = declared.find_last_of(" \t*");
  if (blank == std::string_view::npos) return std::nullopt;
  field.name = declared.substr(blank + 1);
  field.offset = static_cast<uint32_t>(*offset);
  field.size = static_cast<uint32_t>(*size);
  if (relative) field.text = false;  // not supported here
  if (!IsName(field.name)) return std::nullopt;
  return field;
}

Result<Place> PlaceField(const TraceFormat& format, const FieldRef& ref) {
  const TraceField* field = format.Find(ref.field);
  if (field == nullptr) {
    std::string known;
    for (const TraceField& other : format.fields) {
      if (other.name.rfind("common_", 0) == 0) continue;
      known += (known.empty() ? "" : ", ") + other.name;
    }
    return Status::Error("no field " + Quoted(ref.field) + ": it has " + known);
  }
  Place place = {field->offset, field->size};
  if (ref.part) {
    if (field->elsewhere || ref.offset + ref.size > field->size) {
      return Status::Error("field " + ref.field + " has " + std::to_string(field->size) +
                           " bytes: [" + std::to_string(ref.offset) + ":" +
                           std::to_string(ref.size) + "] is not inside");
    }
    place = {field->offset + ref.offset, ref.size};
  } else if (field->text || field->elsewhere) {
    place.text = field->text;
    place.elsewhere = field->elsewhere;
    return place;
  }
  if (place.size != 1 && place.size != 2 && place.size != 4 && place.size != 8) {
    return Status::Error("field " + ref.field + " has " + std::to_string(field->size) +
                         " bytes: name a part of it, as in " + ref.field + "[0:8]");
  }
  return place;
}

}  // namespace

const TraceField* TraceFormat::Find(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const TraceField& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

Result<TraceFormat> ParseFormat(std::string_view text) {
  TraceFormat format;
  bool has_id = false;
  for (std::string_view line : Words(text.substr(0, kMaxRecordBytes), "\n")) {
    line = Trim(line);
    if (line.substr(0, 3) == "ID:") {
      const auto id = NumberAt(line, "ID:");
      if (!id || *id > kMaxRecordBytes) return Status::Error("its id is no number");
      format.id = static_cast<uint32_t>(*id);
      has_id = true;
    } else if (line.substr(0, 6) == "field:") {
      auto field = ParseLine(line);
      if (!field) return Status::Error("cannot make sense of " + Quoted(line));
      if (format.fields.size() >= kMaxFields) return Status::Error("more than 256 fields");
      format.fields.push_back(std::move(*field));
    }
  }
  if (!has_id || format.fields.empty()) return Status::Error("is no format of a tracepoint");
  return format;
}

Result<Placed> PlaceFields(const Tracepoint& tracepoint, const TraceFormat& format) {
  Placed placed;
  placed.id = format.id;
  for (const Condition& condition : tracepoint.where) {
    auto place = PlaceField(format, {condition.field});
    if (!place.ok()) return place.status();
    const bool wants_text =
        condition.text || condition.name == "address" || condition.name == "driver";
    if (place->text != wants_text) {
      return Status::Error("field " + condition.field +
                           (wants_text
                                ? " is no text: compare it with a number"
                                : " is a text: compare it with \"text\", address or driver"));
    }
    placed.where.push_back({std::move(place).value(), &condition});
  }
  struct Item {
    const std::optional<FieldRef>* from;
    std::optional<Place>* to;
  };
  const std::optional<FieldRef> bytes =
      tracepoint.bytes ? std::optional(tracepoint.bytes->from) : std::nullopt;
  for (const Item& item : {Item{&tracepoint.queue, &placed.queue},
                           {&tracepoint.job, &placed.job},
                           {&tracepoint.opcode, &placed.opcode},
                           {&tracepoint.status, &placed.status},
                           {&tracepoint.waits_for, &placed.waits_for},
                           {&tracepoint.waits_for_queue, &placed.waits_for_queue},
                           {&bytes, &placed.bytes}}) {
    if (!item.from->has_value()) continue;
    auto place = PlaceField(format, **item.from);
    if (!place.ok()) return place.status();
    if (place->text || place->elsewhere) {
      return Status::Error("field " + (**item.from).field + " is no number: choose another one");
    }
    *item.to = std::move(place).value();
  }
  return placed;
}

}  // namespace acceltrace::provider
