// SPDX-License-Identifier: Apache-2.0
//
// Stacks of API calls, from packets to call sites. The files that they name do not exist.
#include "libtrace/analysis/usage/call_sites.h"

#include <fmt/format.h>

#include <utility>

#include "libtrace/analysis/rows/names.h"
#include "libtrace/model/part/select.h"
#include "libtrace/stream/columns/validate.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr uint32_t kProgram = 9001, kLibrary = 9002, kId = 9003;  // strings
constexpr uint64_t kFirst = 0x6400000001;

struct FrameSpec {
  uint32_t stack, place, object;
  uint64_t offset;
};

// Calls n = 1, 2, ... take n us and have n bytes each. `stacks` are the ids of their stacks, 0 =
// not known.
std::vector<proto::Packet> Packets(const std::vector<FrameSpec>& frames,
                                   const std::vector<uint32_t>& stacks) {
  TraceBuilder builder;
  builder.AddDevice();
  proto::Packet strings, frame_rows, calls;
  int64_t time_ns = 0;
  uint64_t correlation = 0;
  for (size_t i = 0; i < stacks.size(); ++i) {
    const auto at_ns = 10'000'000 + 100'000 * static_cast<int64_t>(i);
    const auto us = static_cast<int64_t>(i + 1);
    builder.AddApi("Call", 100, kFirst + i, at_ns, at_ns + 1000 * us, us);
    if (stacks[i] == 0) continue;
    auto* rows = calls.mutable_call_stacks();
    rows->add_time_ns_delta(at_ns - std::exchange(time_ns, at_ns));
    rows->add_correlation_delta(
        static_cast<int64_t>(kFirst + i - std::exchange(correlation, kFirst + i)));
    rows->add_stack(stacks[i]);
  }
  const std::pair<uint32_t, const char*> texts[] = {
      {kProgram, "/none/program"}, {kLibrary, "/none/libcalls.so"}, {kId, "abcdef"}};
  for (const auto& [id, text] : texts) {
    strings.mutable_strings()->add_id(id);
    strings.mutable_strings()->add_value(text);
  }
  for (const FrameSpec& frame : frames) {
    auto* rows = frame_rows.mutable_stack_frames();
    rows->add_stack(frame.stack);
    rows->add_place(frame.place);
    rows->add_object(frame.object);
    rows->add_build_id(frame.object == 0 ? 0 : kId);
    rows->add_offset(frame.offset);
  }
  std::vector<proto::Packet> packets = builder.Packets();
  const auto at = packets.begin() + 1;
  // They occur twice, as in the trace of a flight recorder.
  if (frame_rows.has_stack_frames()) packets.insert(at, {strings, frame_rows, frame_rows});
  if (calls.has_call_stacks()) packets.push_back(calls);
  return packets;
}

// "name calls/ns/bytes"
std::string Text(const CallSites& found) {
  std::string text;
  for (const CallSite& site : found.sites) {
    text += (text.empty() ? "" : ", ") + site.site + " " + std::to_string(site.use.calls) + "/" +
            std::to_string(site.use.time_ns) + "/" + std::to_string(site.use.bytes);
  }
  return text;
}

std::string Frames(const CallSites& found, size_t stack) {
  std::string text;
  for (const uint32_t name : found.stacks.at(stack).frames) text += found.names.at(name) + " ";
  return text;
}

CallSites Sites(const model::Model& model) {
  symbols::FrameNames names;
  return ComputeCallSites(model, &names);
}

const std::vector<FrameSpec> kFrames = {
    // Two paths into the library from the same place.
    {5, 0, kLibrary, 0x10}, {5, 1, kLibrary, 0x20}, {5, 2, kProgram, 0x100},
    {5, 3, kProgram, 0x8},  {6, 0, kLibrary, 0x30}, {6, 1, kProgram, 0x100},
    {6, 2, kProgram, 0x8},  {9, 0, kProgram, 0x40}, {9, 1, kProgram, 0x50},
    {9, 2, kProgram, 0x60}, {10, 0, 0, 0x7000}};

TEST_CASE("calls are made by the innermost frame outside the library") {
  const auto model = LoadPackets(Packets(kFrames, {5, 6, 9, 10, 0, 5}));
  const CallSites found = Sites(*model);
  CHECK(Text(found) == "program+0x100 3/9000/9, 0x7000 1/4000/4, program+0x50 1/3000/3");
  CHECK(found.without == 1);
  CHECK(found.sites[0].object == "/none/program");
  REQUIRE(found.stacks.size() == 4);
  CHECK(found.stacks[0].use.calls == 2);
  CHECK(Frames(found, 0) == "libcalls.so+0x10 libcalls.so+0x20 program+0x100 program+0x8 ");
  CHECK(found.stacks[0].site == 2);
  for (const StackUse& stack : found.stacks) {
    CHECK(Text(found).find(found.names[stack.frames[stack.site]] + " ") != std::string::npos);
  }
}

TEST_CASE("stacks without frames, and calls without a stack") {
  const auto model = LoadPackets(Packets(kFrames, {77, 5, 78}));
  CHECK(Text(Sites(*model)) == "program+0x100 1/2000/2");
  CHECK(Sites(*model).without == 2);
  CHECK(Text(Sites(*LoadPackets(Packets({}, {77})))).empty());
  const auto none = LoadPackets(Packets({}, {0, 0}));
  CHECK(none->stacks.of_call.empty());
  CHECK((Text(Sites(*none)).empty() && Sites(*none).without == 0));
}

TEST_CASE("a part of a trace keeps the stacks of its calls") {
  const auto model = LoadPackets(Packets(kFrames, {5, 6, 9, 10}));
  const size_t calls = model->api.size();
  REQUIRE(model->stacks.of_call.size() == calls);
  model::Selection wanted;
  wanted.from_ns = 150'000;
  const auto status = model::Select(wanted, model.get());
  INFO(status.message());
  REQUIRE(status.ok());
  REQUIRE(model->api.size() < calls);
  CHECK(model->stacks.of_call.size() == model->api.size());
  CHECK(Text(Sites(*model)) == "0x7000 1/4000/4, program+0x50 1/3000/3");
}

TEST_CASE("the stacks and sites with most time are named, the rest is one row") {
  std::vector<FrameSpec> frames;
  std::vector<uint32_t> stacks;
  for (uint32_t stack = 1; stack <= kMaxNamedRows + 10; ++stack) {
    frames.push_back({stack, 0, kLibrary, 0x10});
    frames.push_back({stack, 1, kProgram, stack});
    stacks.push_back(stack);
  }
  const auto model = LoadPackets(Packets(frames, stacks));
  const CallSites found = Sites(*model);
  REQUIRE(found.sites.size() == kMaxNamedRows + 1);
  REQUIRE(found.stacks.size() == kMaxStackRows + 1);
  CHECK(found.sites[0].site == fmt::format("program+{:#x}", kMaxNamedRows + 10));
  CHECK((found.sites.back().site == kOtherNames && found.sites.back().use.calls == 10));
  CHECK(found.sites.back().use.time_ns == 55'000);
  CHECK(Frames(found, 0) == fmt::format("libcalls.so+0x10 program+{:#x} ", kMaxNamedRows + 10));
  CHECK(Frames(found, kMaxStackRows) == std::string(kOtherNames) + " ");
  CHECK(found.stacks.back().use.calls == kMaxNamedRows + 10 - kMaxStackRows);
}

TEST_CASE("names of places take so much memory and no more") {
  std::vector<FrameSpec> frames;
  for (uint32_t place = 0; place < 200'000; ++place) {
    frames.push_back({1 + place / 100, place % 100, kProgram, place});
  }
  const auto model = LoadPackets(Packets(frames, {1}));
  symbols::FrameNames files;
  const StackNames names = NameStacks(*model, &files);
  CHECK((names.of_frame.size() == 200'000 && names.names.size() == (1 << 17) + 1));
  CHECK((names.Of(5) == "program+0x5" && names.Of(199'999) == kOtherNames));
}

TEST_CASE("what stacks may say is limited") {
  const auto is_sound = [](uint32_t stack, uint32_t place, int64_t time_ns) {
    proto::Packet frames, calls;
    frames.mutable_stack_frames()->add_stack(stack);
    frames.mutable_stack_frames()->add_place(place);
    calls.mutable_call_stacks()->add_time_ns_delta(time_ns);
    calls.mutable_call_stacks()->add_stack(stack);
    return stream::Validate(frames, 100).ok() && stream::Validate(calls, 100).ok();
  };
  CHECK(is_sound(stream::kMaxStacks, stream::kMaxFrames - 1, 1000));
  CHECK_FALSE(is_sound(stream::kMaxStacks + 1, 0, 1000));
  CHECK_FALSE(is_sound(1, stream::kMaxFrames, 1000));
  CHECK_FALSE(is_sound(1, 0, -1));
  CHECK_FALSE(is_sound(1, 0, stream::kMaxTimeNs + 1));
}

}  // namespace
}  // namespace acceltrace::analysis
