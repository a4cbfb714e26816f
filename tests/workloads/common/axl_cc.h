// SPDX-License-Identifier: Apache-2.0
//
// libaxl for the C++ programs of this folder: owners of its objects, and its errors as
// acceltrace::Status.
#ifndef TESTS_WORKLOADS_COMMON_AXL_CC_H_
#define TESTS_WORKLOADS_COMMON_AXL_CC_H_

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/runtime/axl.h"

namespace acceltrace::workloads {

inline Status ToStatus(axlError_t error, const char* call) {
  if (error == axlSuccess) return Status();
  std::string message = std::string(call) + ": " + axlGetErrorName(error) + ": ";
  const std::string detail = axlGetErrorDetail();
  return Status::Error(message + (detail.empty() ? axlGetErrorString(error) : detail));
}

// Returns from the function with the error of a libaxl call, or of a Status.
#define AXL_TRY(call)                                                                         \
  do {                                                                                        \
    const axlError_t axl_try_error = (call);                                                  \
    if (axl_try_error != axlSuccess)                                                          \
      return ::acceltrace::workloads::ToStatus(                                               \
          axl_try_error, std::string(#call).substr(0, std::string(#call).find('(')).c_str()); \
  } while (0)
#define STATUS_TRY(expression)                      \
  do {                                              \
    ::acceltrace::Status status_try = (expression); \
    if (!status_try.ok()) return status_try;        \
  } while (0)

// An owned libaxl object: Handle<axlStream_t, axlStreamDestroy>.
template <typename T, axlError_t (*kDestroy)(T)>
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      Reset();
      value_ = std::exchange(other.value_, nullptr);
    }
    return *this;
  }
  ~Handle() { Reset(); }

  T get() const { return value_; }
  // For the creating call; destroys the previously owned object.
  T* out() {
    Reset();
    return &value_;
  }
  void Reset() {
    if (value_) (void)kDestroy(std::exchange(value_, nullptr));
  }

 private:
  T value_ = nullptr;
};

using Stream = Handle<axlStream_t, axlStreamDestroy>;
using Event = Handle<axlEvent_t, axlEventDestroy>;
using DeviceMemory = Handle<void*, axlFree>;
using HostMemory = Handle<void*, axlHostFree>;

// A graph under construction. After the first error, which is kept, calls do nothing.
class GraphBuilder {
 public:
  using Deps = std::vector<axlNode>;

  Status Create() {
    AXL_TRY(axlGraphCreate(graph_.out()));
    return Status();
  }
  void Clear() {
    nodes_ = 0;
    error_ = ToStatus(axlGraphReset(graph_.get()), "axlGraphReset");
  }
  axlNode Matmul(const std::string& op, const axlMatmul& args, const Deps& deps) {
    return Add("axlGraphAddMatmul", [&](axlNode* node) {
      return axlGraphAddMatmul(graph_.get(), node, deps.data(), deps.size(), op.c_str(), &args);
    });
  }
  axlNode Vector(const std::string& op, axlVectorOp code, const axlVector& args, const Deps& deps) {
    return Add("axlGraphAddVector", [&](axlNode* node) {
      return axlGraphAddVector(graph_.get(), node, deps.data(), deps.size(), op.c_str(), code,
                               &args);
    });
  }
  axlNode Copy(const std::string& op, void* dst, const void* src, size_t bytes, axlMemcpyKind kind,
               const Deps& deps) {
    return Add("axlGraphAddMemcpy", [&](axlNode* node) {
      return axlGraphAddMemcpy(graph_.get(), node, deps.data(), deps.size(), op.c_str(), dst, src,
                               bytes, kind);
    });
  }
  Status Launch(axlStream_t stream) {
    if (error_.ok()) error_ = ToStatus(axlGraphLaunch(graph_.get(), stream), "axlGraphLaunch");
    return error_;
  }
  size_t nodes() const { return nodes_; }
  const Status& status() const { return error_; }

 private:
  template <typename Call>
  axlNode Add(const char* name, Call&& call) {
    axlNode node = 0;
    if (!error_.ok()) return node;
    error_ = ToStatus(call(&node), name);
    ++nodes_;
    return node;
  }

  Handle<axlGraph_t, axlGraphDestroy> graph_;
  size_t nodes_ = 0;
  Status error_;
};

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_COMMON_AXL_CC_H_
