// SPDX-License-Identifier: Apache-2.0
//
// libmicrohttpd, which is only loaded when it is needed. It and its dependencies (TLS, which is not
// used) would take a fourth of the program's start-up time.
#ifndef LIBTRACE_CLI_HTTP_LIBRARY_H_
#define LIBTRACE_CLI_HTTP_LIBRARY_H_

#include <microhttpd.h>

namespace acceltrace::cli {

struct HttpLibrary {
  decltype(&MHD_start_daemon) start_daemon = nullptr;
  decltype(&MHD_stop_daemon) stop_daemon = nullptr;
  decltype(&MHD_get_connection_info) get_connection_info = nullptr;
  decltype(&MHD_get_connection_values) get_connection_values = nullptr;
  decltype(&MHD_lookup_connection_value) lookup_connection_value = nullptr;
  decltype(&MHD_create_response_from_buffer) create_response_from_buffer = nullptr;
  decltype(&MHD_add_response_header) add_response_header = nullptr;
  decltype(&MHD_queue_response) queue_response = nullptr;
  decltype(&MHD_destroy_response) destroy_response = nullptr;

  // All functions were found; otherwise, the library cannot be used. It stays loaded.
  bool whole = false;
  static const HttpLibrary& Get();
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_HTTP_LIBRARY_H_
