// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/tables/orders.h"

#include <limits>
#include <unordered_map>
#include <vector>

#include "libtrace/model/tables/permute.h"
#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::model {
namespace {

using proto::HostBatch;

// The last job of a device that a thread waited for.
struct Awaited {
  uint32_t device = 0, job = 0;
  std::vector<uint32_t> used;  // devices with submissions since then
};

// Returns true if all events of devices are of the same one, as in most traces.
bool IsOneDevice(const HostEvents& host) {
  uint32_t first = kNoRow;
  return EachChunk(
      [&](size_t, size_t rows, const uint32_t* devices) {
        uint32_t least = devices[0], most = devices[0];
        stream::WidenTo(devices, rows, &least, &most);
        for (size_t i = 0; i < rows && most == kNoRow; ++i) {
          // Events without a device do not count.
          if (devices[i] == kNoRow) continue;
          if (first == kNoRow) first = devices[i];
          if (devices[i] != first) return false;
        }
        if (most == kNoRow) return true;
        if (first == kNoRow) first = least;
        return least == first && most == first;
      },
      host.device);
}

}  // namespace

DeviceOrders FindOrders(const HostEvents& host) {
  DeviceOrders orders;
  if (IsOneDevice(host)) return orders;
  // By thread and device. There are few devices, so that searching a list is faster than a map.
  std::unordered_map<uint32_t, std::vector<Awaited>> threads;
  for (size_t i = 0; i < host.size(); ++i) {
    const uint32_t device = host.device[i];
    if (device == kNoRow || host.job[i] == 0) continue;
    if (host.kind[i] == HostBatch::KIND_WAKE) {
      // A thread that gave up did not see a completion.
      if (host.arg0[i] == std::numeric_limits<uint32_t>::max()) continue;
      std::vector<Awaited>& awaited = threads[host.tid[i]];
      size_t k = 0;
      while (k < awaited.size() && awaited[k].device != device) ++k;
      if (k == awaited.size()) awaited.emplace_back();
      awaited[k] = {device, host.job[i], {}};
    } else if (host.kind[i] == HostBatch::KIND_SUBMIT) {
      const auto thread = threads.find(host.tid[i]);
      if (thread == threads.end()) continue;
      for (Awaited& from : thread->second) {
        if (from.device == device) continue;
        bool known = false;
        for (uint32_t other : from.used) known |= other == device;
        if (known) continue;
        from.used.push_back(device);
        orders.from_device.push_back(from.device);
        orders.from_job.push_back(from.job);
        orders.to_device.push_back(device);
        orders.to_job.push_back(host.job[i]);
      }
    }
  }
  return orders;
}

}  // namespace acceltrace::model
