// SPDX-License-Identifier: Apache-2.0
//
// Clients of the driver that are not recorded, as long as a drain of a ring lasts: to ask the
// kernel for each of their records takes longer than another processor needs to write one.
#ifndef DAEMON_SOURCES_AXL_FOREIGN_CLIENTS_H_
#define DAEMON_SOURCES_AXL_FOREIGN_CLIENTS_H_

#include <array>
#include <cstdint>

namespace acceltrace::daemon {

class ForeignClients {
 public:
  // Whose client is recorded is so before its first record: in the next drain it may be known.
  void Clear() { clients_.fill(0); }
  void Add(uint32_t client) { clients_[client % kClients] = client; }
  bool Has(uint32_t client) const { return client != 0 && clients_[client % kClients] == client; }

 private:
  static constexpr uint32_t kClients = 64;
  std::array<uint32_t, kClients> clients_{};
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_FOREIGN_CLIENTS_H_
