// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/function_source.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "daemon/bpf/tracer.skel.h"
#include "daemon/sources/bpf/bpf_calibration.h"

namespace acceltrace::daemon {

FunctionSource::FunctionSource(std::shared_ptr<Tracer> tracer, BpfSource* bpf,
                               EventHandler* handler)
    : tracer_(std::move(tracer)), bpf_(bpf), handler_(handler) {
  tracer_->CountAlso(&system_calls_.programs());
}

void FunctionSource::ReportSystemCallCost() {
  tracer_bpf* skeleton = tracer_->skeleton();
  const Measured cost = CalibrateSystemCall(skeleton->progs.calibrate_system_call_begin,
                                            skeleton->progs.calibrate_system_call_end);
  EventCost call = {"system-call", cost.ns, cost.error_ns};
  call.events = [skeleton] { return skeleton->bss->system_calls; };
  handler_->OnEventCost(call);
}

Status FunctionSource::Attach(const LibraryFunction& function, uint32_t index,
                              std::vector<Link>* returns) {
  tracer_bpf* skeleton = tracer_->skeleton();
  if (function.library == provider::kKernel) {
    if (system_calls_.empty()) ReportSystemCallCost();
    return system_calls_.Attach(skeleton->progs.system_call_begin, skeleton->progs.system_call_end,
                                function.name, index);
  }
  bpf_->ReportProbeCost();
  LIBBPF_OPTS(bpf_uprobe_opts, at, .bpf_cookie = index, .retprobe = true,
              .func_name = function.name.c_str());
  Link end(bpf_program__attach_uprobe_opts(skeleton->progs.function_end, -1,
                                           function.library.c_str(), 0, &at));
  at.retprobe = false;
  Link begin(end ? bpf_program__attach_uprobe_opts(skeleton->progs.function_begin, -1,
                                                   function.library.c_str(), 0, &at)
                 : nullptr);
  if (!begin) return Status::Error(AttachReason(-errno));
  links_.push_back(std::move(begin));
  returns->push_back(std::move(end));
  return {};
}

// Attaches returns before entries, and detaches them after these, so that no call begins whose end
// is not recorded. A function that cannot be attached is reported and skipped.
Status FunctionSource::Start() {
  const std::vector<LibraryFunction>& functions = tracer_->options().functions;
  std::vector<Link> returns;
  bool attached = false;
  std::string why;
  for (uint32_t index = 0; index < functions.size(); ++index) {
    const LibraryFunction& function = functions[index];
    if (bpf_map_update_elem(bpf_map__fd(tracer_->skeleton()->maps.functions), &index,
                            &function.config, BPF_ANY) != 0) {
      return Status::Error("cannot describe " + function.name +
                           " to the kernel: " + strerror(errno));
    }
    const Status done = Attach(function, index, &returns);
    const bool in_kernel = function.library == provider::kKernel;
    handler_->OnProbe(
        (in_kernel ? "system-call:" : "uprobe:" + function.library + ":") + function.name,
        done.ok(), done.message());
    if (done.ok()) {
      bpf_->events().NameFunction(index, function.name);
    } else if (why.empty()) {
      why = done.message();
    }
    attached = attached || done.ok();
  }
  for (Link& link : returns) links_.push_back(std::move(link));
  if (attached) return {};
  return Status::Error("cannot attach to any function of " + functions[0].library + ": " + why);
}

void FunctionSource::BeforeStop() {
  system_calls_.Detach();
  links_.clear();
}

}  // namespace acceltrace::daemon
