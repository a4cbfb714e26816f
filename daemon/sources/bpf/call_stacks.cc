// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/call_stacks.h"

#include <algorithm>
#include <utility>

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxImages = 1 << 17;  // remembered; several times ACT_MAX_STACKS
constexpr size_t kMaxStacks = 1 << 16;  // per trace
constexpr size_t kMaxFrames = 1 << 20;  // of all stacks
constexpr size_t kMaxObjects = 16384;   // remembered
constexpr int kRows = 1024;             // per packet of calls
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

// The kernel pads shorter build ids with zeros without giving their length. An id of one of the
// usual lengths may end with zeros itself.
std::string BuildId(const act_frame& frame) {
  constexpr size_t kUsual[] = {0, 8, 16, sizeof(frame.build_id)};
  size_t size = sizeof(frame.build_id);
  while (size > 0 && frame.build_id[size - 1] == 0) --size;
  return Hex(frame.build_id, *std::lower_bound(std::begin(kUsual), std::end(kUsual), size));
}

}  // namespace

// The address tells the file, as long as the process exists; the build id tells what other
// processes reported. If the kernel has no build id (it waits neither for a file's pages nor for
// the process to change its mappings), it may have had one for another address of the mapping.
CallStacks::Frame CallStacks::Resolve(uint32_t pid, uint64_t address, const act_frame* placed,
                                      int64_t now_ns) {
  Frame frame;
  std::string build_id;
  if (placed != nullptr && placed->status == kByBuildId) build_id = BuildId(*placed);
  if (!build_id.empty()) {
    frame.build_id = handler_->Intern(build_id);
    frame.offset = placed->place;
  }
  MappedCode* code = maps_.Find(pid, address, now_ns);
  // Another file may have been mapped there since: then the place differs from the kernel's.
  const uint64_t offset = code == nullptr ? 0 : address - code->begin + code->offset;
  const bool found = code != nullptr && (build_id.empty() || offset == placed->place);
  if (found) frame.object = handler_->Intern(code->path);
  if (!build_id.empty()) {
    if (objects_.size() >= kMaxObjects) objects_.clear();
    uint32_t& known = objects_[build_id];
    if (found) {
      known = frame.object;
      code->build_id = frame.build_id;
    } else {
      frame.object = known;
    }
    return frame;
  }
  if (found) frame.build_id = code->build_id;
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
  const uint32_t pid = record.h.pid;
  std::vector<Frame> frames(count);
  for (const bool placed : {true, false}) {
    for (uint32_t i = 0; i < count; ++i) {
      if ((record.frame[i].status == kByBuildId) != placed) continue;
      frames[i] = Resolve(pid, record.address[i], &record.frame[i], now_ns);
    }
  }
  // Newer kernels detect themselves that the frame pointer is still the caller's.
  if (record.caller != 0 && (count == 1 || record.address[1] != record.caller)) {
    frames.insert(frames.begin() + 1, Resolve(pid, record.caller, nullptr, now_ns));
  }
  const Image image = {pid, record.id};
  const auto [known, fresh] = stacks_.try_emplace(image);
  if (fresh) known->second.used = used_.insert(used_.end(), image);
  known->second.number = Number(frames, now_ns);
  Use(&known->second);
  if (stacks_.size() > kMaxImages) {
    stacks_.erase(used_.front());
    used_.pop_front();
  }
  return true;
}

// Recently used stacks are kept, since BPF programs remember them as well and do not report them
// again.
void CallStacks::Use(Known* known) { used_.splice(used_.end(), used_, known->used); }

bool CallStacks::OnCall(const act_call_stack& record) {
  const auto found = stacks_.find({record.h.pid, record.stack});
  if (found == stacks_.end()) return false;
  Use(&found->second);
  if (found->second.number == 0) return false;
  proto::CallStacks* rows = calls_.mutable_call_stacks();
  time_.Append(uint64_t{record.h.time_ns}, rows->mutable_time_ns_delta());
  correlation_.Append(uint64_t{record.correlation}, rows->mutable_correlation_delta());
  rows->add_stack(found->second.number);
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
