// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/device_description.h"

#include "kmod/uapi/axl_counters.h"

namespace acceltrace::daemon {
namespace {

struct CodeName {
  uint32_t code;
  const char* name;
};

// In the order of enum axl_stall.
constexpr const char* kStalls[AXL_NUM_STALLS] = {"semaphore", "memory",   "pcie",
                                                 "tag",       "dispatch", "throttle"};
constexpr proto::Device::StallKind kStallKinds[AXL_NUM_STALLS] = {
    proto::Device::STALL_WAIT, proto::Device::STALL_MEMORY,   proto::Device::STALL_LINK,
    proto::Device::STALL_TAGS, proto::Device::STALL_DISPATCH, proto::Device::STALL_THROTTLE};
// docs/device-model.md, "A command's life".
constexpr uint32_t kQueueWindow = 64, kQueueFifo = 16;
// In the order of enum axl_limiter.
constexpr const char* kLimiters[] = {"compute", "semaphore", "memory",  "pcie",
                                     "tag",     "dispatch",  "throttle"};
// In the order of enum axl_status.
constexpr const char* kStatuses[] = {"ok",          "bad opcode", "bad field",
                                     "bad address", "dma error",  "poisoned",
                                     "ring error",  "hang",       "canceled"};
constexpr CodeName kOpcodes[] = {
    {AXL_OP_NOP, "nop"},
    {AXL_OP_COPY_H2D, "copy_h2d"},
    {AXL_OP_COPY_D2H, "copy_d2h"},
    {AXL_OP_MATMUL, "matmul"},
    {AXL_OP_VEC_FILL, "fill"},
    {AXL_OP_VEC_COPY, "copy"},
    {AXL_OP_VEC_ADD, "add"},
    {AXL_OP_VEC_MUL, "mul"},
    {AXL_OP_VEC_SCALE, "scale"},
    {AXL_OP_VEC_SILU, "silu"},
    {AXL_OP_VEC_SILU_MUL, "silu_mul"},
    {AXL_OP_VEC_GELU, "gelu"},
    {AXL_OP_VEC_RMSNORM, "rmsnorm"},
    {AXL_OP_VEC_SOFTMAX, "softmax"},
    {AXL_OP_VEC_ROPE, "rope"},
    {AXL_OP_VEC_GATHER, "gather"},
    {AXL_OP_VEC_ARGMAX, "argmax"},
    {AXL_OP_VEC_SUM, "sum"},
};
constexpr CodeName kCounterUnits[] = {
#define COUNTER_UNIT(NAME, name, unit, scope, text) {AXL_CTR_##NAME, #unit},
    AXL_COUNTERS(COUNTER_UNIT)
#undef COUNTER_UNIT
};
struct CounterText {
  const char* name;
  const char* text;
};
constexpr CounterText kCounterTexts[] = {
#define COUNTER_TEXT(NAME, name, unit, scope, text) {#name, text},
    AXL_COUNTERS(COUNTER_TEXT)
#undef COUNTER_TEXT
};

constexpr uint32_t kEngineCounters = AXL_CTR_ENGINE(AXL_NUM_ENGINES);

void AddUnit(const char* name, proto::Unit::Kind kind, double peak_work_per_s,
             const char* work_unit, proto::Device* device) {
  proto::Unit* unit = device->add_units();
  unit->set_name(name);
  unit->set_kind(kind);
  unit->set_peak_work_per_s(peak_work_per_s);
  unit->set_work_unit(work_unit);
}

}  // namespace

proto::Device DescribeDevice(const axl_info& info) {
  proto::Device device;
  device.set_device(info.device_index);
  device.set_name("axl" + std::to_string(info.device_index));
  device.set_driver("axl");
  device.set_model("axl " + std::to_string(info.hw_version >> 16) + "." +
                   std::to_string(info.hw_version & 0xffff));
  device.mutable_clock()->set_nominal_hz(info.clock_hz);
  device.mutable_clock()->set_bits(info.clock_bits);
  device.mutable_clock()->set_ptm((info.features & AXL_FEATURE_PTM) != 0);

  // In the order of enum axl_engine. The maximum rate of DMA depends on the link, so the peak in
  // TLPs is unknown.
  const double hz = static_cast<double>(info.engine_hz);
  AddUnit("h2d", proto::Unit::KIND_DMA_TO_DEVICE, 0, "TLPs", &device);
  AddUnit("d2h", proto::Unit::KIND_DMA_FROM_DEVICE, 0, "TLPs", &device);
  AddUnit("matrix", proto::Unit::KIND_MATRIX,
          hz * static_cast<double>(info.matrix_rows) * static_cast<double>(info.matrix_cols),
          "MACs", &device);
  AddUnit("vector", proto::Unit::KIND_VECTOR, hz * static_cast<double>(info.vector_lanes),
          "elements", &device);

  for (const char* stall : kStalls) device.add_stalls(stall);
  for (const proto::Device::StallKind kind : kStallKinds) device.add_stall_kinds(kind);
  device.set_queue_window(kQueueWindow);
  device.set_queue_fifo(kQueueFifo);
  device.set_command_bytes(sizeof(axl_desc));
  for (const char* limiter : kLimiters) device.add_limiters(limiter);
  for (const char* status : kStatuses) device.add_statuses(status);
  for (const CodeName& opcode : kOpcodes) {
    proto::Opcode* added = device.add_opcodes();
    added->set_code(opcode.code);
    added->set_name(opcode.name);
  }
  for (uint32_t i = 0; i < AXL_NUM_COUNTERS && i < info.num_counters; ++i) {
    proto::Counter* counter = device.add_counters();
    counter->set_name(kCounterTexts[i].name);
    counter->set_unit(kCounterUnits[i].name);
    counter->set_text(kCounterTexts[i].text);
    counter->set_unit_index(i < kEngineCounters ? static_cast<int32_t>(i / AXL_CTR_ENGINE(1)) : -1);
  }
  device.set_memory_bytes(info.dram_bytes);
  device.set_memory_bytes_per_s(info.dram_bytes_per_s);
  device.set_num_queues(info.num_queues);
  device.set_num_contexts(info.num_contexts);
  return device;
}

}  // namespace acceltrace::daemon
