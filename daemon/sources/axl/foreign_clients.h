// SPDX-License-Identifier: Apache-2.0
//
// A cache of the driver's clients that are not recorded, for one drain of a ring. Asking the kernel
// for each of their records takes longer than another CPU needs to write one.
#ifndef DAEMON_SOURCES_AXL_FOREIGN_CLIENTS_H_
#define DAEMON_SOURCES_AXL_FOREIGN_CLIENTS_H_

#include <array>
#include <cstdint>

namespace acceltrace::daemon {

class ForeignClients {
 public:
  // Must be called for each drain, as a client may have become known since. This loses nothing: a
  // recorded process's client is known before its first record.
  void Clear() { clients_.fill(0); }
  void Add(uint32_t client) { clients_[client % kClients] = client; }
  bool Has(uint32_t client) const { return client != 0 && clients_[client % kClients] == client; }

 private:
  static constexpr uint32_t kClients = 64;
  std::array<uint32_t, kClients> clients_{};
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_FOREIGN_CLIENTS_H_
