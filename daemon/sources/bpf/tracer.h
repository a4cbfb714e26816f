// SPDX-License-Identifier: Apache-2.0
//
// The BPF object shared by the sources of this folder: its programs and its maps.
#ifndef DAEMON_SOURCES_BPF_TRACER_H_
#define DAEMON_SOURCES_BPF_TRACER_H_

#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/sources/bpf/bpf_options.h"
#include "libtrace/base/result.h"

struct tracer_bpf;

namespace acceltrace::daemon {

struct LinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, LinkDeleter>;

// Says why attaching failed; `error` is negative.
std::string AttachReason(int error);

class Tracer {
 public:
  explicit Tracer(BpfOptions options) : options_(std::move(options)) {}
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Fails without permission, or if the kernel lacks BPF, its BTF, or a feature.
  Status Load();

  const BpfOptions& options() const { return options_; }
  // Jobs and waits come from the drivers' own rings instead. Must be called before anything is
  // attached.
  void LeaveJobs() { options_.jobs = false; }
  // Valid after Load: see daemon/bpf/tracer.skel.h.
  tracer_bpf* skeleton() const { return skeleton_; }

  // What the kernel has measured of the programs so far.
  struct Cost {
    uint64_t run_ns = 0, runs = 0, missed = 0;
  };
  Cost ReadCost() const;
  // Includes programs outside of the object, which must exist as long as costs are read.
  void CountAlso(const std::vector<UniqueFd>* programs) { others_ = programs; }

 private:
  BpfOptions options_;
  tracer_bpf* skeleton_ = nullptr;
  const std::vector<UniqueFd>* others_ = nullptr;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_TRACER_H_
