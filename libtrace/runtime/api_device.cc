// SPDX-License-Identifier: Apache-2.0
//
// The public functions on devices and memory.
#include <cstdio>
#include <cstring>

#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/probes.h"
#include "libtrace/runtime/runtime.h"

using acceltrace::runtime::ApiCall;
using acceltrace::runtime::Device;
using acceltrace::runtime::Fail;
using acceltrace::runtime::NoStream;
using acceltrace::runtime::Runtime;

axlError_t axlGetDeviceCount(int* count) {
  return ApiCall("axlGetDeviceCount", 0, NoStream(), [&](uint64_t) {
    if (!count) return Fail(axlErrorInvalidValue, "axlGetDeviceCount: count is NULL");
    return Runtime::Get().DeviceCount(count);
  });
}

axlError_t axlSetDevice(int device) {
  return ApiCall("axlSetDevice", 0, NoStream(),
                 [&](uint64_t) { return Runtime::Get().SetDevice(device); });
}

axlError_t axlGetDevice(int* device) {
  return ApiCall("axlGetDevice", 0, NoStream(), [&](uint64_t) {
    if (!device) return Fail(axlErrorInvalidValue, "axlGetDevice: device is NULL");
    *device = Runtime::Get().CurrentDevice();
    return axlSuccess;
  });
}

axlError_t axlGetDeviceProperties(axlDeviceProp* prop, int device) {
  return ApiCall("axlGetDeviceProperties", 0, NoStream(), [&](uint64_t) {
    if (!prop) return Fail(axlErrorInvalidValue, "axlGetDeviceProperties: prop is NULL");
    std::shared_ptr<Device> opened;
    if (axlError_t e = Runtime::Get().GetDevice(device, &opened)) return e;
    axl_info info;
    if (axlError_t e = opened->ReadInfo(&info)) return e;
    *prop = {};
    std::snprintf(prop->name, sizeof prop->name, "axl%u", opened->index());
    std::snprintf(prop->pciAddress, sizeof prop->pciAddress, "%s", info.pci_name);
    prop->totalMem = info.dram_bytes;
    prop->freeMem = info.dram_free_bytes;
    prop->scratchMem = info.scratch_bytes;
    prop->memBandwidth = info.dram_bytes_per_s;
    prop->engineClockHz = info.engine_hz;
    prop->clockHz = info.clock_hz;
    prop->matrixRows = info.matrix_rows;
    prop->matrixCols = info.matrix_cols;
    prop->vectorLanes = info.vector_lanes;
    prop->queues = info.num_queues;
    prop->contexts = info.num_contexts;
    prop->pcieGen = info.link_speed;
    prop->pcieWidth = info.link_width;
    prop->pcieGenMax = info.link_speed_max;
    prop->pcieWidthMax = info.link_width_max;
    prop->numaNode = info.numa_node;
    prop->bf16 = info.features & AXL_FEATURE_BF16 ? 1 : 0;
    return axlSuccess;
  });
}

axlError_t axlDeviceSynchronize(void) {
  return ApiCall("axlDeviceSynchronize", 0, NoStream(), [&](uint64_t correlation) {
    std::shared_ptr<Device> device;
    if (axlError_t e = Runtime::Get().GetCurrentDevice(&device)) return e;
    return device->Synchronize(correlation);
  });
}

axlError_t axlDeviceReset(void) {
  return ApiCall("axlDeviceReset", 0, NoStream(), [&](uint64_t) {
    Runtime& runtime = Runtime::Get();
    return runtime.ResetDevice(runtime.CurrentDevice());
  });
}
