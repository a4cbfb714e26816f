// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/timing/tests/model.h"

#include <algorithm>
#include <cstdlib>

#include "qemu-device/frontend/decode.h"

namespace acceltrace::device {
namespace {

struct Property {
  const char* name;
  int64_t AxlKnobs::*knob;
  int64_t AxlFaults::*fault;
};

const Property kProperties[] = {
#define AXL_KNOB(field, name, def, min, max, when, text) {name, &AxlKnobs::field, nullptr},
#include "qemu-device/knobs/knobs.def"
#undef AXL_KNOB
#define AXL_FAULT(field, name, def, min, max, text) {name, nullptr, &AxlFaults::field},
#include "qemu-device/knobs/faults.def"
#undef AXL_FAULT
};

class ModelBench : public Bench {
 public:
  explicit ModelBench(const std::string& properties) : properties_(properties) {}
  bool Set(const std::string& property, int64_t value) override {
    properties_ += "," + property + "=" + std::to_string(value);
    return Model(properties_).Set(property, value);
  }
  uint64_t HostMemory(uint64_t /*bytes*/) override { return uint64_t{1} << 32; }
  Outcome Run(axl_desc d) override {
    Model model(properties_);
    d.job = 1;
    if (!model.Start(d)) return {};
    model.Finish();
    const Model::Ended& e = model.ended(d.engine);
    const auto& n = e.amounts;
    return {e.life_ns(),
            n[AXL_T_MRD] + n[AXL_T_CPLD] + n[AXL_T_MWR],
            n[AXL_T_ROW_HITS],
            n[AXL_T_ROW_MISSES],
            n[AXL_T_ROW_CONFLICTS],
            n[AXL_T_DRAM_READ] + n[AXL_T_DRAM_WRITE],
            n[AXL_T_DRAM_USEFUL]};
  }

 private:
  std::string properties_;
};

}  // namespace

Model::Model(const std::string& properties) {
  axl_knobs_init(&knob_, &fault_);
  timing_.knob = &knob_;
  timing_.fault = &fault_;
  timing_.memory = &memory_;
  due_.fill(AXL_NEVER);
  for (size_t at = 0; at < properties.size();) {
    size_t equals = properties.find('=', at);
    size_t end = std::min(properties.find(',', at + 1), properties.size());
    if (!Set(properties.substr(at + 1, equals - at - 1),
             std::stoll(properties.substr(equals + 1, end - equals - 1)))) {
      std::abort();
    }
    at = end;
  }
  if (axl_memory_map(&memory_, static_cast<uint64_t>(knob_.dram_bytes),
                     static_cast<uint64_t>(knob_.scratch_bytes)) != 0) {
    std::abort();
  }
  axl_dram_reset(&timing_.dram);
  UpdateLink();
}

Model::~Model() { axl_memory_unmap(&memory_); }

bool Model::Set(const std::string& property, int64_t value) {
  for (const Property& p : kProperties) {
    if (property != p.name) continue;
    Elapse(now_);
    (p.knob ? knob_.*p.knob : fault_.*p.fault) = value;
    UpdateLink();
    Share();
    return true;
  }
  return false;
}

void Model::UpdateLink() {
  axl_link_update(&timing_);
  timing_.link.mps = static_cast<unsigned>(knob_.pcie_mps ? knob_.pcie_mps : 256);
  timing_.link.mrrs = static_cast<unsigned>(knob_.pcie_mrrs ? knob_.pcie_mrrs : 512);
}

bool Model::Start(const axl_desc& d, const std::vector<axl_sg>& list, unsigned priority) {
  AxlWork& work = work_[d.engine];
  work = {};
  if (axl_decode(&knob_, &d, &work) != AXL_ST_OK) return false;
  axl_cost_least(&timing_, &d, &work);
  if (!list.empty()) axl_cost_list(&timing_, &work, static_cast<uint32_t>(list.size()));
  axl_cost(&timing_, &d, list.empty() ? nullptr : list.data(), &work);
  run_[d.engine].priority = priority;
  ended_[d.engine] = {};
  ended_[d.engine].start_ns = now_;
  due_[d.engine] = now_ + axl_run_start(&timing_, &run_[d.engine], &work);
  return true;
}

void Model::Count(unsigned e, const AxlCharge& charge) {
  for (unsigned c = 0; c < AXL_NUM_CAUSES; c++) ended_[e].ticks[c] += charge.ticks[c];
  for (unsigned t = 0; t < AXL_NUM_TALLIES; t++) ended_[e].amounts[t] += charge.amount[t];
}

void Model::Elapse(int64_t to_ns) {
  const int64_t ns = to_ns - now_;
  now_ = to_ns;
  for (unsigned e = 0; ns > 0 && e < AXL_NUM_ENGINES; e++) {
    if (!run_[e].work) continue;
    AxlCharge charge;
    axl_run_elapse(&run_[e], static_cast<double>(ns), static_cast<uint64_t>(ns), ns, &charge);
    Count(e, charge);
  }
}

void Model::Share() {
  AxlRun* run[AXL_NUM_ENGINES];
  for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) run[e] = &run_[e];
  axl_share(&timing_, run, AXL_NUM_ENGINES, now_);
  for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
    if (axl_run_streams(run[e])) due_[e] = run[e]->end_ns;
  }
}

bool Model::Step(int64_t until_ns) {
  const auto next = std::min_element(due_.begin(), due_.end());
  const auto e = static_cast<unsigned>(next - due_.begin());
  if (*next == AXL_NEVER || *next > until_ns) {
    if (until_ns != AXL_NEVER) Elapse(until_ns);
    return *next != AXL_NEVER;
  }
  Elapse(*next);
  *next = AXL_NEVER;
  int64_t ns = 0;
  switch (axl_run_next(&run_[e], &ns)) {
    case AXL_NEXT_PHASE:
      due_[e] = now_ + ns;
      break;
    case AXL_NEXT_STREAM:
      Share();
      break;
    case AXL_NEXT_HUNG:
      break;
    case AXL_NEXT_END: {
      AxlCharge charge;
      axl_work_finish(&work_[e], &charge);
      Count(e, charge);
      axl_run_stop(&run_[e]);
      ended_[e].done = true;
      ended_[e].end_ns = now_;
      ended_[e].work = work_[e];
      Share();
      break;
    }
  }
  return true;
}

void Model::Finish() {
  while (Step()) {
  }
}

void Model::Traffic(uint64_t wire_bytes, bool rx) {
  bool changed = false;
  for (AxlRun& run : run_) {
    if (axl_run_uses(&run, rx)) changed |= axl_run_delay(&run, wire_bytes, rx);
  }
  if (changed) Share();
}

std::unique_ptr<Bench> MakeModelBench(const std::string& properties) {
  return std::make_unique<ModelBench>(properties);
}

}  // namespace acceltrace::device
