// SPDX-License-Identifier: Apache-2.0
//
// A web server for one page, for anyone who knows its address: on the loopback interface only,
// below a path that is a random token.
//
// Every process that can open a socket on this machine can send anything. A request is only
// answered if it names this server as its host (unlike a page of another site whose name resolves
// to this address), begins with the token and, if the browser tells the origin, comes from the page
// itself. No files are read. The number of connections, the size of a request and the time for
// sending it are limited.
#ifndef LIBTRACE_CLI_HTTP_SERVER_H_
#define LIBTRACE_CLI_HTTP_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "libtrace/base/result.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace acceltrace::cli {

struct HttpRequest {
  std::string path;  // after the token and its slash
  std::map<std::string, std::string> arguments;
  bool post = false;  // requests an action
  std::string body;   // for POST
};

struct HttpAnswer {
  int status = 200;
  std::string type;  // of the content; empty = JSON
  std::string body;
  const char* allowed = "GET, HEAD";  // with status 405
  bool framed = false;                // may be shown in a frame by a page of this server
};

class HttpServer {
 public:
  static constexpr unsigned kMostConnections = 64;
  static constexpr size_t kMostRequestBytes = 32 * 1024, kMostBodyBytes = 64 * 1024;
  static constexpr int kRequestTimeoutMs = 5'000;

  // `handle` is called by a thread of the server, for one request at a time. With port 0, any port
  // is used. `posts` are the paths of requests for an action; other requests have no body.
  using Handle = std::function<HttpAnswer(const HttpRequest&)>;
  static Result<std::unique_ptr<HttpServer>> Start(uint16_t port, Handle handle,
                                                   std::set<std::string> posts = {});
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  const std::string& url() const { return url_; }
  // Must be called regularly: closes connections that are too slow.
  void EndSlowOnes();

 private:
  friend struct HttpCallbacks;
  struct Client {
    int fd = -1;
    bool busy = false;  // is being answered
    std::string body;   // the part received so far
    bool begun = false;
    std::chrono::steady_clock::time_point since;
  };

  HttpServer() = default;
  bool IsForUs(MHD_Connection* connection, bool post) const;
  // Returns what follows the token if the path begins with it.
  std::optional<std::string> AfterToken(std::string_view path) const;
  // Returns the answer to a request that is refused, as far as this can be decided without its
  // body.
  std::optional<HttpAnswer> Refused(MHD_Connection* connection, std::string_view path,
                                    std::string_view method) const;
  HttpAnswer Answer(MHD_Connection* connection, std::string_view path, bool post, std::string body);
  // Returns true if the request is complete: its body arrives in pieces.
  bool TakeBody(MHD_Connection* connection, std::string_view more, bool post);

  Handle handle_;
  std::set<std::string> posts_;
  std::string token_, url_, hosts_[2];
  MHD_Daemon* daemon_ = nullptr;
  // Time in which the server answers a request does not count as slowness of other clients.
  void BeginAnswer(Client* client);
  void EndAnswer(MHD_Connection* connection);

  std::mutex mutex_;
  std::map<MHD_Connection*, Client> clients_;
  std::optional<std::chrono::steady_clock::time_point> answering_;  // since when
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_HTTP_SERVER_H_
