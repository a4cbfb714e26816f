// SPDX-License-Identifier: Apache-2.0
//
// The state of the process: its devices, streams, events and graphs. Internal.
#ifndef LIBTRACE_RUNTIME_RUNTIME_H_
#define LIBTRACE_RUNTIME_RUNTIME_H_

#include <memory>
#include <mutex>
#include <vector>

#include "libtrace/runtime/axl.h"
#include "libtrace/runtime/commands.h"
#include "libtrace/runtime/device.h"
#include "libtrace/runtime/handles.h"
#include "libtrace/runtime/kernel.h"
#include "libtrace/runtime/stream.h"

namespace acceltrace::runtime {

struct Graph {
  std::mutex mutex;
  CommandList commands;
  std::shared_ptr<Device> device;  // of its pointers; null while it has no nodes
};

class Runtime {
 public:
  static Runtime& Get();

  // For tests: forgets everything and then uses `kernel` (nullptr: the real one).
  void Restart(Kernel* kernel);

  axlError_t DeviceCount(int* count);
  axlError_t SetDevice(int ordinal);
  int CurrentDevice() const;
  // Returns the driver's number for this incarnation (incarnation.h), using a file that is kept for
  // devices to join. Returns 0 if there is no device or it cannot be opened.
  uint32_t AskForClient();
  // Opens the device at its first use.
  axlError_t GetDevice(int ordinal, std::shared_ptr<Device>* device);
  axlError_t GetCurrentDevice(std::shared_ptr<Device>* device) {
    return GetDevice(CurrentDevice(), device);
  }
  axlError_t GetPointerDevice(const void* pointer, std::shared_ptr<Device>* device);
  axlError_t ResetDevice(int ordinal);
  // A null handle means the current device's own stream.
  axlError_t GetStream(axlStream_t handle, std::shared_ptr<Stream>* stream);
  axlError_t GetEvent(axlEvent_t handle, std::shared_ptr<Event>* event) const;
  axlError_t GetGraph(axlGraph_t handle, std::shared_ptr<Graph>* graph) const;
  // Returns the number of the stream in probes, or 0 if there is none.
  uint32_t StreamId(axlStream_t handle) const;

  Handles<Stream, axlStream_t, 'S'>& streams() { return streams_; }
  Handles<Event, axlEvent_t, 'E'>& events() { return events_; }
  Handles<Graph, axlGraph_t, 'G'>& graphs() { return graphs_; }

 private:
  struct Entry {
    uint32_t index;      // N of /dev/axlN
    uint32_t token = 0;  // of the incarnation that opened it
    std::shared_ptr<Device> device;
    std::shared_ptr<Stream> stream;
  };
  axlError_t FindDevicesLocked();
  axlError_t EntryLocked(int ordinal, Entry** entry);

  mutable std::mutex mutex_;
  Kernel* kernel_ = &LinuxKernel();
  std::vector<Entry> entries_;
  int identity_ = -1;  // the file with the client's number
  uint32_t identity_token_ = 0;
  Handles<Stream, axlStream_t, 'S'> streams_;
  Handles<Event, axlEvent_t, 'E'> events_;
  Handles<Graph, axlGraph_t, 'G'> graphs_;
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_RUNTIME_H_
