// SPDX-License-Identifier: Apache-2.0
//
// A web server for one page and for whoever was given its address: on the loopback interface only,
// below a path that is a random token.
//
// Whoever may open a socket on this machine may send anything. A request is answered if it names
// this server as its host (a page of another site whose name was made to point here does not),
// begins with the token and, where the browser says who asks, comes from the page itself; nothing
// is read from files. Connections, the size of a request and the time that one may take to be sent
// are limited.
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

#include "libtrace/stream/result.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace acceltrace::cli {

struct HttpRequest {
  std::string path;  // after the token and its slash
  std::map<std::string, std::string> arguments;
  bool post = false;  // asks to do something
  std::string body;   // likewise
};

struct HttpAnswer {
  int status = 200;
  std::string type;  // of the content; empty: JSON
  std::string body;
  const char* allowed = "GET, HEAD";  // with status 405
  bool framed = false;                // a page of this server may show it in a frame
};

class HttpServer {
 public:
  static constexpr unsigned kMostConnections = 64;
  static constexpr size_t kMostRequestBytes = 32 * 1024, kMostBodyBytes = 64 * 1024;
  static constexpr int kRequestTimeoutMs = 5'000;

  // handle: called by a thread of the server's, one request at a time. port 0: any. posts: paths of
  // requests that ask to do something; of no others a body is read.
  using Handle = std::function<HttpAnswer(const HttpRequest&)>;
  static Result<std::unique_ptr<HttpServer>> Start(uint16_t port, Handle handle,
                                                   std::set<std::string> posts = {});
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
    std::string body;   // what came of it so far
    bool begun = false;
    std::chrono::steady_clock::time_point since;
  };

  HttpServer() = default;
  bool IsForUs(MHD_Connection* connection, bool post) const;
  // What follows the token, if the path begins with it.
  std::optional<std::string> AfterToken(std::string_view path) const;
  // What is said to a request that is not answered, as far as can be told without its body.
  std::optional<HttpAnswer> Refused(MHD_Connection* connection, std::string_view path,
                                    std::string_view method) const;
  HttpAnswer Answer(MHD_Connection* connection, std::string_view path, bool post, std::string body);
  // Whether all of a request is there: its body comes in pieces.
  bool TakeBody(MHD_Connection* connection, std::string_view more, bool post);

  Handle handle_;
  std::set<std::string> posts_;
  std::string token_, url_, hosts_[2];
  MHD_Daemon* daemon_ = nullptr;
  // Time in which the server answers somebody is no other client's slowness.
  void BeginAnswer(Client* client);
  void EndAnswer(MHD_Connection* connection);

  std::mutex mutex_;
  std::map<MHD_Connection*, Client> clients_;
  std::optional<std::chrono::steady_clock::time_point> answering_;  // since then
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_HTTP_SERVER_H_
