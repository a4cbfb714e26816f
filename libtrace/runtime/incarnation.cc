// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/incarnation.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <new>

#include "libtrace/ring/segment.h"
#include "libtrace/runtime/runtime.h"

namespace acceltrace::runtime {
namespace {

// All zero in a child, which recognises itself by that.
struct Incarnation {
  std::atomic<uint32_t> client{0};  // 0 = not requested yet
  std::atomic<uint32_t> calls{0};
  std::atomic<uint32_t> token{0};
  std::mutex asking;
};

thread_local uint64_t last_correlation = 0;

// Not wiped, since a child continues its parent's count.
std::atomic<uint32_t> last_token{0};

// If the kernel cannot wipe memory (before Linux 4.14), a child of fork() is detected by a handler.
Incarnation* WithoutWiping() {
  static Incarnation incarnation;
  pthread_atfork(nullptr, nullptr, [] { new (&incarnation) Incarnation; });
  return &incarnation;
}

Incarnation& Mine() {
  static Incarnation& mine = *[] {
    void* const memory = ring::MapWipedOnFork(sizeof(Incarnation));
    return memory != nullptr ? new (memory) Incarnation : WithoutWiping();
  }();
  return mine;
}

__attribute__((cold, noinline)) uint32_t AskForClient(Incarnation* incarnation) {
  std::lock_guard lock(incarnation->asking);
  uint32_t client = incarnation->client.load(std::memory_order_relaxed);
  if (client != 0) return client;
  client = Runtime::Get().AskForClient();
  if (client == 0) client = kNoDriversClient | static_cast<uint32_t>(getpid());
  incarnation->client.store(client, std::memory_order_relaxed);
  return client;
}

}  // namespace

uint32_t ThisClient() {
  Incarnation& mine = Mine();
  const uint32_t client = mine.client.load(std::memory_order_relaxed);
  return __builtin_expect(client != 0, 1) ? client : AskForClient(&mine);
}

uint64_t NextCorrelation() {
  Incarnation& mine = Mine();
  uint32_t client = mine.client.load(std::memory_order_relaxed);
  if (__builtin_expect(client == 0, 0)) client = AskForClient(&mine);
  last_correlation =
      uint64_t{client} << 32 | (mine.calls.fetch_add(1, std::memory_order_relaxed) + 1);
  return last_correlation;
}

uint64_t LastCorrelation() { return last_correlation; }

uint32_t IncarnationToken() {
  Incarnation& mine = Mine();
  uint32_t token = mine.token.load(std::memory_order_relaxed);
  if (__builtin_expect(token != 0, 1)) return token;
  uint32_t fresh = last_token.fetch_add(1, std::memory_order_relaxed) + 1;
  if (fresh == 0) fresh = last_token.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine.token.compare_exchange_strong(token, fresh) ? fresh : token;
}

void SetClient(uint32_t client) { Mine().client.store(client, std::memory_order_relaxed); }

}  // namespace acceltrace::runtime
