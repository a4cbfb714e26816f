// SPDX-License-Identifier: Apache-2.0
//
// Handles for the application, with a kind, a generation and an index, so that a stale or invented
// handle is detected and never followed. Thread-safe; a lookup only takes its own slot's lock.
// Internal.
#ifndef LIBTRACE_RUNTIME_HANDLES_H_
#define LIBTRACE_RUNTIME_HANDLES_H_

#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace acceltrace::runtime {

// Held for a few instructions at a time. Yields, since its holder may have been preempted.
class SpinLock {
 public:
  void lock() {
    for (int spins = 0; held_.exchange(true, std::memory_order_acquire); ++spins) {
      if (spins >= 100) sched_yield();
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

// kKind is a letter, Opaque the public pointer type.
template <typename T, typename Opaque, char kKind>
class Handles {
 public:
  // Returns null if there are too many.
  Opaque Add(std::shared_ptr<T> object) {
    std::lock_guard lock(mutex_);
    uint32_t index;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      if (used_ == kChunks * kChunkSlots) return nullptr;
      if (used_ % kChunkSlots == 0) {
        owned_.push_back(std::make_unique<Chunk>());
        chunks_[used_ / kChunkSlots].store(owned_.back().get(), std::memory_order_release);
      }
      index = used_++;
    }
    Slot& slot = *At(index);
    std::lock_guard slot_lock(slot.lock);
    slot.object = std::move(object);
    return Make(index, slot.generation);
  }

  // Returns null for a handle that is not valid (any more).
  std::shared_ptr<T> Find(Opaque handle) const {
    const uint64_t bits = reinterpret_cast<uint64_t>(handle);
    Slot* const slot = At(bits & kIndexMask);
    if (!slot) return nullptr;
    std::lock_guard lock(slot->lock);
    if (Make(bits & kIndexMask, slot->generation) != handle) return nullptr;
    return slot->object;
  }

  std::shared_ptr<T> Remove(Opaque handle) {
    const uint32_t index = reinterpret_cast<uint64_t>(handle) & kIndexMask;
    Slot* const slot = At(index);
    if (!slot) return nullptr;
    std::lock_guard lock(mutex_);
    std::lock_guard slot_lock(slot->lock);
    if (Make(index, slot->generation) != handle || !slot->object) return nullptr;
    return Release(*slot, index);
  }

  // Removes all that `match`. Objects are destroyed outside of the locks.
  template <typename Match>
  void RemoveIf(Match&& match) {
    std::vector<std::shared_ptr<T>> removed;
    std::unique_lock lock(mutex_);
    for (uint32_t index = 0; index < used_; ++index) {
      Slot& slot = *At(index);
      std::shared_ptr<T> object;
      {
        std::lock_guard slot_lock(slot.lock);
        object = slot.object;
      }
      if (!object || !match(*object)) continue;
      std::lock_guard slot_lock(slot.lock);
      removed.push_back(Release(slot, index));
    }
    lock.unlock();
  }

 private:
  static constexpr uint32_t kChunkSlots = 256;
  static constexpr uint32_t kChunks = 256;
  static constexpr uint32_t kIndexMask = 0xffffff;

  struct Slot {
    SpinLock lock;
    uint32_t generation = 1;
    std::shared_ptr<T> object;
  };
  using Chunk = std::array<Slot, kChunkSlots>;

  static Opaque Make(uint32_t index, uint32_t generation) {
    return reinterpret_cast<Opaque>(static_cast<uint64_t>(kKind) << 56 |
                                    static_cast<uint64_t>(generation & kIndexMask) << 24 | index);
  }
  Slot* At(uint32_t index) const {
    if (index >= kChunks * kChunkSlots) return nullptr;
    Chunk* const chunk = chunks_[index / kChunkSlots].load(std::memory_order_acquire);
    return chunk ? &(*chunk)[index % kChunkSlots] : nullptr;
  }
  std::shared_ptr<T> Release(Slot& slot, uint32_t index) {
    ++slot.generation;
    free_.push_back(index);
    return std::exchange(slot.object, nullptr);
  }

  std::mutex mutex_;  // for adding and removing
  std::array<std::atomic<Chunk*>, kChunks> chunks_ = {};
  std::vector<std::unique_ptr<Chunk>> owned_;
  std::vector<uint32_t> free_;
  uint32_t used_ = 0;
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_HANDLES_H_
