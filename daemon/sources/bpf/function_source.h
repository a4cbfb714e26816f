// SPDX-License-Identifier: Apache-2.0
//
// The source of library functions and system calls that providers name as API calls. They are
// attached here; their records come through the BPF ring.
#ifndef DAEMON_SOURCES_BPF_FUNCTION_SOURCE_H_
#define DAEMON_SOURCES_BPF_FUNCTION_SOURCE_H_

#include <memory>
#include <vector>

#include "daemon/sources/bpf/bpf_source.h"
#include "daemon/sources/bpf/system_calls.h"
#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

class FunctionSource : public Source, public BpfSource::Companion {
 public:
  // All must outlive the source.
  FunctionSource(std::shared_ptr<Tracer> tracer, BpfSource* bpf, EventHandler* handler);

  // Fails if none of the functions can be attached.
  Status Start() override;
  Pace Drain(int64_t) override { return {}; }
  std::vector<Hop> Hops() override { return {}; }  // their hops are BpfSource's
  void Stop() override {}

  void BeforeStop() override;

 private:
  Status Attach(const LibraryFunction& function, uint32_t index, std::vector<Link>* returns);
  void ReportSystemCallCost();

  std::shared_ptr<Tracer> tracer_;
  BpfSource* bpf_;
  EventHandler* handler_;
  SystemCalls system_calls_;
  std::vector<Link> links_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_FUNCTION_SOURCE_H_
