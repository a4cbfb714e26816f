// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/http_library.h"

#include <dlfcn.h>

#include <type_traits>

namespace acceltrace::cli {
namespace {

// The number is that of the interface that the header describes.
constexpr char kLibrary[] = "libmicrohttpd.so.12";

HttpLibrary Load() {
  HttpLibrary library;
  void* const handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // never closed
  if (handle == nullptr) return library;
  bool whole = true;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(dlsym(handle, name));
    whole = whole && *function != nullptr;
  };
  find("MHD_start_daemon", &library.start_daemon);
  find("MHD_stop_daemon", &library.stop_daemon);
  find("MHD_get_connection_info", &library.get_connection_info);
  find("MHD_get_connection_values", &library.get_connection_values);
  find("MHD_lookup_connection_value", &library.lookup_connection_value);
  find("MHD_create_response_from_buffer", &library.create_response_from_buffer);
  find("MHD_add_response_header", &library.add_response_header);
  find("MHD_queue_response", &library.queue_response);
  find("MHD_destroy_response", &library.destroy_response);
  library.whole = whole;
  return library;
}

}  // namespace

const HttpLibrary& HttpLibrary::Get() {
  static const HttpLibrary library = Load();
  return library;
}

}  // namespace acceltrace::cli
