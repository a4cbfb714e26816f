// SPDX-License-Identifier: Apache-2.0
//
// The public functions that launch single commands and graphs.
#include "libtrace/runtime/encode.h"
#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/pointers.h"
#include "libtrace/runtime/probes.h"
#include "libtrace/runtime/runtime.h"

namespace acceltrace::runtime {
namespace {

// `encode` fills a descriptor, given the device to which `pointer` belongs.
template <typename Encode>
axlError_t AddNode(axlGraph_t handle, axlNode* node, const axlNode* deps, size_t num_deps,
                   const void* pointer, Encode&& encode) {
  if (num_deps && !deps) return Fail(axlErrorInvalidValue, "deps is NULL");
  std::shared_ptr<Graph> graph;
  if (axlError_t e = Runtime::Get().GetGraph(handle, &graph)) return e;
  std::lock_guard lock(graph->mutex);
  std::shared_ptr<Device> device;
  if (!graph->device) {
    if (axlError_t e = Runtime::Get().GetPointerDevice(pointer, &device)) return e;
  } else if (graph->device->ordinal() != PointerOrdinal(pointer)) {
    return Fail(axlErrorInvalidDevicePointer,
                "%p is not of device %d, on which the graph's other nodes run", pointer,
                graph->device->ordinal());
  }
  axl_desc command;
  if (axlError_t e = encode((device ? device : graph->device)->buffers(), &command)) return e;
  const uint32_t number = static_cast<uint32_t>(graph->commands.size());
  if (axlError_t e = graph->commands.Add(command, std::span(deps, num_deps))) return e;
  if (device) graph->device = std::move(device);
  if (node) *node = number;
  return axlSuccess;
}

axlError_t AddCopy(axlGraph_t graph, axlNode* node, const axlNode* deps, size_t num_deps,
                   const char* op, const CopyArgs& args) {
  if (axlError_t e = CheckCopy(args)) return e;
  if (CopyBytes(args) == 0)
    return Fail(axlErrorInvalidValue, "a copy of 0 bytes can't be a node of a graph");
  const void* device_side = args.kind == axlMemcpyDeviceToHost ? args.src : args.dst;
  return AddNode(graph, node, deps, num_deps, device_side,
                 [&](const Buffers& buffers, axl_desc* command) {
                   return EncodeCopy(buffers, op, args, command, nullptr);
                 });
}

}  // namespace
}  // namespace acceltrace::runtime

using acceltrace::runtime::AddCopy;
using acceltrace::runtime::AddNode;
using acceltrace::runtime::ApiCall;
using acceltrace::runtime::Buffers;
using acceltrace::runtime::CopyArgs;
using acceltrace::runtime::CopyBytes;
using acceltrace::runtime::EncodeMatmul;
using acceltrace::runtime::EncodeVector;
using acceltrace::runtime::Fail;
using acceltrace::runtime::Graph;
using acceltrace::runtime::NoStream;
using acceltrace::runtime::Runtime;
using acceltrace::runtime::Stream;

axlError_t axlLaunchMatmul(const char* op, const axlMatmul* args, axlStream_t stream) {
  return ApiCall("axlLaunchMatmul", 0, stream, [&](uint64_t correlation) {
    if (!args) return Fail(axlErrorInvalidValue, "axlLaunchMatmul: args is NULL");
    std::shared_ptr<Stream> target;
    if (axlError_t e = Runtime::Get().GetStream(stream, &target)) return e;
    axl_desc command;
    if (axlError_t e = EncodeMatmul(target->device().buffers(), op, *args, &command)) return e;
    return target->Enqueue(command, correlation, nullptr);
  });
}

axlError_t axlLaunchVector(const char* op, axlVectorOp code, const axlVector* args,
                           axlStream_t stream) {
  return ApiCall("axlLaunchVector", 0, stream, [&](uint64_t correlation) {
    if (!args) return Fail(axlErrorInvalidValue, "axlLaunchVector: args is NULL");
    std::shared_ptr<Stream> target;
    if (axlError_t e = Runtime::Get().GetStream(stream, &target)) return e;
    axl_desc command;
    if (axlError_t e = EncodeVector(target->device().buffers(), op, code, *args, &command))
      return e;
    return target->Enqueue(command, correlation, nullptr);
  });
}

axlError_t axlGraphCreate(axlGraph_t* graph) {
  return ApiCall("axlGraphCreate", 0, NoStream(), [&](uint64_t) {
    if (!graph) return Fail(axlErrorInvalidValue, "axlGraphCreate: graph is NULL");
    *graph = Runtime::Get().graphs().Add(std::make_shared<Graph>());
    return *graph ? axlSuccess : Fail(axlErrorLimit, "too many graphs: destroy some");
  });
}

axlError_t axlGraphDestroy(axlGraph_t graph) {
  return ApiCall("axlGraphDestroy", 0, NoStream(), [&](uint64_t) {
    if (Runtime::Get().graphs().Remove(graph)) return axlSuccess;
    return Fail(axlErrorInvalidHandle, "%p is not a graph (destroyed twice?)",
                static_cast<void*>(graph));
  });
}

axlError_t axlGraphReset(axlGraph_t graph) {
  return ApiCall("axlGraphReset", 0, NoStream(), [&](uint64_t) {
    std::shared_ptr<Graph> found;
    if (axlError_t e = Runtime::Get().GetGraph(graph, &found)) return e;
    std::lock_guard lock(found->mutex);
    found->commands.Clear();
    found->device.reset();
    return axlSuccess;
  });
}

axlError_t axlGraphAddMatmul(axlGraph_t graph, axlNode* node, const axlNode* deps, size_t num_deps,
                             const char* op, const axlMatmul* args) {
  return ApiCall("axlGraphAddMatmul", 0, NoStream(), [&](uint64_t) {
    if (!args) return Fail(axlErrorInvalidValue, "axlGraphAddMatmul: args is NULL");
    return AddNode(graph, node, deps, num_deps, args->c,
                   [&](const Buffers& buffers, axl_desc* command) {
                     return EncodeMatmul(buffers, op, *args, command);
                   });
  });
}

axlError_t axlGraphAddVector(axlGraph_t graph, axlNode* node, const axlNode* deps, size_t num_deps,
                             const char* op, axlVectorOp code, const axlVector* args) {
  return ApiCall("axlGraphAddVector", 0, NoStream(), [&](uint64_t) {
    if (!args) return Fail(axlErrorInvalidValue, "axlGraphAddVector: args is NULL");
    return AddNode(graph, node, deps, num_deps, args->dst,
                   [&](const Buffers& buffers, axl_desc* command) {
                     return EncodeVector(buffers, op, code, *args, command);
                   });
  });
}

axlError_t axlGraphAddMemcpy(axlGraph_t graph, axlNode* node, const axlNode* deps, size_t num_deps,
                             const char* op, void* dst, const void* src, size_t bytes,
                             axlMemcpyKind kind) {
  return ApiCall("axlGraphAddMemcpy", bytes, NoStream(), [&](uint64_t) {
    return AddCopy(graph, node, deps, num_deps, op, {dst, bytes, src, bytes, bytes, 1, kind});
  });
}

axlError_t axlGraphAddMemcpy2D(axlGraph_t graph, axlNode* node, const axlNode* deps,
                               size_t num_deps, const char* op, void* dst, size_t dst_pitch,
                               const void* src, size_t src_pitch, size_t width, size_t height,
                               axlMemcpyKind kind) {
  const CopyArgs args = {dst, dst_pitch, src, src_pitch, width, height, kind};
  return ApiCall("axlGraphAddMemcpy2D", CopyBytes(args), NoStream(),
                 [&](uint64_t) { return AddCopy(graph, node, deps, num_deps, op, args); });
}

axlError_t axlGraphLaunch(axlGraph_t graph, axlStream_t stream) {
  return ApiCall("axlGraphLaunch", 0, stream, [&](uint64_t correlation) {
    std::shared_ptr<Graph> found;
    if (axlError_t e = Runtime::Get().GetGraph(graph, &found)) return e;
    std::shared_ptr<Stream> target;
    if (axlError_t e = Runtime::Get().GetStream(stream, &target)) return e;
    std::lock_guard lock(found->mutex);
    if (found->device && found->device.get() != &target->device())
      return Fail(axlErrorInvalidValue, "the graph is of device %d, the stream of %d",
                  found->device->ordinal(), target->device().ordinal());
    return target->Launch(found->commands, correlation);
  });
}
