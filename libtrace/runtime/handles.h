// SPDX-License-Identifier: Apache-2.0
//
// Handles given to the application: a kind, a generation and an index, so that a
// stale or invented one is recognised and never followed. Thread-safe.
// Room: libtrace/runtime, internal.
#ifndef LIBTRACE_RUNTIME_HANDLES_H_
#define LIBTRACE_RUNTIME_HANDLES_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace acceltrace::runtime {

// kKind: one letter; Opaque: the public pointer type.
template <typename T, typename Opaque, char kKind>
class Handles {
 public:
  static constexpr size_t kMaxHandles = 1u << 20;

  // Null when there are too many.
  Opaque Add(std::shared_ptr<T> object) {
    std::unique_lock lock(mutex_);
    uint32_t index;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      if (slots_.size() >= kMaxHandles) return nullptr;
      index = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    }
    slots_[index].object = std::move(object);
    return Make(index, slots_[index].generation);
  }

  // Null for a handle that is not (or no longer) valid.
  std::shared_ptr<T> Find(Opaque handle) const {
    std::shared_lock lock(mutex_);
    const Slot* slot = Lookup(handle);
    return slot ? slot->object : nullptr;
  }

  std::shared_ptr<T> Remove(Opaque handle) {
    std::unique_lock lock(mutex_);
    Slot* slot = const_cast<Slot*>(Lookup(handle));
    return slot ? Release(*slot) : nullptr;
  }

  // Removes all that `match`. Objects are destroyed outside the lock.
  template <typename Match>
  void RemoveIf(Match&& match) {
    std::vector<std::shared_ptr<T>> removed;
    std::unique_lock lock(mutex_);
    for (Slot& slot : slots_) {
      if (slot.object && match(*slot.object)) removed.push_back(Release(slot));
    }
    lock.unlock();
  }

 private:
  struct Slot {
    uint32_t generation = 1;
    std::shared_ptr<T> object;
  };

  static Opaque Make(uint32_t index, uint32_t generation) {
    return reinterpret_cast<Opaque>(static_cast<uint64_t>(kKind) << 56 |
                                    static_cast<uint64_t>(generation & 0xffffff) << 24 | index);
  }
  const Slot* Lookup(Opaque handle) const {
    const uint64_t bits = reinterpret_cast<uint64_t>(handle);
    const uint32_t index = bits & 0xffffff;
    if (index >= slots_.size() || !slots_[index].object) return nullptr;
    return Make(index, slots_[index].generation) == handle ? &slots_[index] : nullptr;
  }
  std::shared_ptr<T> Release(Slot& slot) {
    ++slot.generation;
    free_.push_back(static_cast<uint32_t>(&slot - slots_.data()));
    return std::exchange(slot.object, nullptr);
  }

  mutable std::shared_mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_HANDLES_H_
