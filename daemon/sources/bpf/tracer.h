// SPDX-License-Identifier: Apache-2.0
//
// The BPF object that the sources of this folder share: its programs and its maps.
#ifndef DAEMON_SOURCES_BPF_TRACER_H_
#define DAEMON_SOURCES_BPF_TRACER_H_

#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/sources/bpf/bpf_options.h"
#include "libtrace/stream/result.h"

struct tracer_bpf;

namespace acceltrace::daemon {

struct LinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, LinkDeleter>;

// Why attaching failed; error: negative.
std::string AttachReason(int error);

class Tracer {
 public:
  explicit Tracer(BpfOptions options) : options_(std::move(options)) {}
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Errors: no permission; the kernel lacks BPF, its BTF, or a feature.
  Status Load();

  const BpfOptions& options() const { return options_; }
  // The drivers' own rings have jobs and waits; before anything is attached.
  void LeaveJobs() { options_.jobs = false; }
  // After Load: see daemon/bpf/tracer.skel.h.
  tracer_bpf* skeleton() const { return skeleton_; }

  // What the kernel measured of the programs so far.
  struct Cost {
    uint64_t run_ns = 0, runs = 0, missed = 0;
  };
  Cost ReadCost() const;
  // Programs besides those of the object, which must be there as long as costs are read.
  void CountAlso(const std::vector<UniqueFd>* programs) { others_ = programs; }

 private:
  BpfOptions options_;
  tracer_bpf* skeleton_ = nullptr;
  const std::vector<UniqueFd>* others_ = nullptr;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_TRACER_H_
