// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/call_stacks.h"

#include <algorithm>
#include <utility>

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxImages = 1 << 18;  // remembered; those of more are not known
constexpr size_t kMaxStacks = 1 << 16;  // of a trace
constexpr size_t kMaxFrames = 1 << 20;  // of all of them
constexpr size_t kMaxObjects = 16384;   // remembered
constexpr int kRows = 1024;             // of a packet of calls
constexpr int32_t kByBuildId = 1;       // act_frame::status

std::string Hex(const uint8_t* bytes, size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// The kernel fills up shorter build ids with zeros, and does not say which are its own: an id of
// one of the usual lengths may end with zeros itself.
std::string BuildId(const act_frame& frame) {
  constexpr size_t kUsual[] = {0, 8, 16, sizeof(frame.build_id)};
  size_t size = sizeof(frame.build_id);
  while (size > 0 && frame.build_id[size - 1] == 0) --size;
  return Hex(frame.build_id, *std::lower_bound(std::begin(kUsual), std::end(kUsual), size));
}

}  // namespace

// The address says which file it is, as long as the process is there; the build id what other
// processes have said of it.
CallStacks::Frame CallStacks::Resolve(uint32_t pid, uint64_t address, const act_frame* told,
                                      int64_t now_ns) {
  Frame frame;
  std::string build_id;
  if (told != nullptr && told->status == kByBuildId) build_id = BuildId(*told);
  if (!build_id.empty()) {
    frame.build_id = handler_->Intern(build_id);
    frame.offset = told->place;
  }
  const MappedCode* code = maps_.Find(pid, address, now_ns);
  // Something else may lie there since: then it is not where the kernel found the code.
  const uint64_t offset = code == nullptr ? 0 : address - code->begin + code->offset;
  const bool found = code != nullptr && (build_id.empty() || offset == told->place);
  if (found) frame.object = handler_->Intern(code->path);
  if (!build_id.empty()) {
    if (objects_.size() >= kMaxObjects) objects_.clear();
    uint32_t& known = objects_[build_id];
    if (found) {
      known = frame.object;
    } else {
      frame.object = known;
    }
    return frame;
  }
  frame.offset = found ? offset : address;
  return frame;
}

uint32_t CallStacks::Number(const std::vector<Frame>& frames, int64_t now_ns) {
  const auto known = numbers_.find(frames);
  if (known != numbers_.end()) return known->second;
  if (numbers_.size() >= kMaxStacks || frames_ + frames.size() > kMaxFrames) return 0;
  const auto number = static_cast<uint32_t>(numbers_.size() + 1);
  numbers_.emplace(frames, number);
  frames_ += frames.size();
  proto::Packet packet;
  proto::StackFrames* rows = packet.mutable_stack_frames();
  for (size_t place = 0; place < frames.size(); ++place) {
    rows->add_stack(number);
    rows->add_place(static_cast<uint32_t>(place));
    rows->add_object(frames[place].object);
    rows->add_build_id(frames[place].build_id);
    rows->add_offset(frames[place].offset);
  }
  handler_->OnBlock(&packet, now_ns, static_cast<uint32_t>(frames.size()), 0);
  return number;
}

bool CallStacks::OnStack(const act_stack& record) {
  const uint32_t count = record.h.extra;
  if (count == 0 || count > ACT_MAX_FRAMES || record.id == 0) return false;
  const auto now_ns = static_cast<int64_t>(record.h.time_ns);
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < count; ++i) {
    frames.push_back(Resolve(record.h.pid, record.address[i], &record.frame[i], now_ns));
    // Newer kernels see themselves that the frame pointer is still the caller's.
    const bool missing =
        i == 0 && record.caller != 0 && (count == 1 || record.address[1] != record.caller);
    if (missing) frames.push_back(Resolve(record.h.pid, record.caller, nullptr, now_ns));
  }
  const Image image = {record.h.pid, record.id};
  const bool fresh = stacks_.insert_or_assign(image, Number(frames, now_ns)).second;
  if (fresh) oldest_.push_back(image);
  if (stacks_.size() > kMaxImages) {
    stacks_.erase(oldest_.front());
    oldest_.pop_front();
  }
  return true;
}

bool CallStacks::OnCall(const act_call_stack& record) {
  const auto found = stacks_.find({record.h.pid, record.stack});
  if (found == stacks_.end() || found->second == 0) return false;
  proto::CallStacks* rows = calls_.mutable_call_stacks();
  time_.Append(uint64_t{record.h.time_ns}, rows->mutable_time_ns_delta());
  correlation_.Append(uint64_t{record.correlation}, rows->mutable_correlation_delta());
  rows->add_stack(found->second);
  if (rows->stack_size() >= kRows) Flush();
  return true;
}

void CallStacks::Flush() {
  if (!calls_.has_call_stacks()) return;
  proto::Packet packet = std::exchange(calls_, {});
  const auto& times = packet.call_stacks().time_ns_delta();
  int64_t time_ns = 0, first_ns = INT64_MAX;
  for (const int64_t delta : times) first_ns = std::min(first_ns, time_ns += delta);
  const auto count = static_cast<uint32_t>(packet.call_stacks().stack_size());
  time_ = {};
  correlation_ = {};
  handler_->OnBlock(&packet, first_ns, count, count);
}

}  // namespace acceltrace::daemon
