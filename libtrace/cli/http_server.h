// SPDX-License-Identifier: Apache-2.0
//
// A web server for one page and for whoever was given its address: on the loopback interface only,
// below a path that is a random token.
//
// Whoever may open a socket on this machine may send anything. A request is answered if it names
// this server as its host (a page of another site whose name was made to point here does not) and
// begins with the token; nothing is read from files. Connections, the size of a request and the
// time that one may take to be sent are limited.
#ifndef LIBTRACE_CLI_HTTP_SERVER_H_
#define LIBTRACE_CLI_HTTP_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "libtrace/stream/result.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace acceltrace::cli {

struct HttpRequest {
  std::string path;  // after the token and its slash
  std::map<std::string, std::string> arguments;
};

struct HttpAnswer {
  int status = 200;
  std::string type;  // of the content; empty: JSON
  std::string body;
};

class HttpServer {
 public:
  static constexpr unsigned kMostConnections = 64;
  static constexpr size_t kMostRequestBytes = 32 * 1024;
  static constexpr int kRequestTimeoutMs = 5'000;

  // handle: called by a thread of the server's, one request at a time. port 0: any.
  using Handle = std::function<HttpAnswer(const HttpRequest&)>;
  static Result<std::unique_ptr<HttpServer>> Start(uint16_t port, Handle handle);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  const std::string& url() const { return url_; }
  // To be called now and then: ends connections that are too slow.
  void EndSlowOnes();

 private:
  friend struct HttpCallbacks;
  struct Client {
    int fd = -1;
    bool busy = false;  // is being answered
    std::chrono::steady_clock::time_point since;
  };

  HttpServer() = default;
  bool IsForUs(MHD_Connection* connection) const;
  // What follows the token, if the path begins with it.
  std::optional<std::string> AfterToken(std::string_view path) const;
  HttpAnswer Answer(MHD_Connection* connection, std::string_view path, std::string_view method);

  Handle handle_;
  std::string token_, url_, hosts_[2];
  MHD_Daemon* daemon_ = nullptr;
  std::mutex mutex_;
  std::map<MHD_Connection*, Client> clients_;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_HTTP_SERVER_H_
