// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "libtrace/cli/http_library.h"

namespace acceltrace::cli {
namespace {

constexpr unsigned kIdleTimeoutS = 30;
constexpr size_t kTokenBytes = 20;
constexpr size_t kMostArguments = 16;

const HttpLibrary& Library() { return HttpLibrary::Get(); }

Result<std::string> RandomToken() {
  unsigned char bytes[kTokenBytes];
  if (getrandom(bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) {
    return Status::Error("no random numbers to be had for the page's address");
  }
  std::string token;
  for (unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// Takes as long whatever differs.
bool Same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differs = 0;
  for (size_t i = 0; i < a.size(); ++i) differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differs == 0;
}

std::string_view Header(MHD_Connection* connection, const char* name) {
  const char* value = Library().lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}

// Closed unless taken.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  void Release() { fd_ = -1; }

 private:
  int fd_;
};

// Bound and listening; *port is the one that it got.
Result<int> Listen(uint16_t* port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_port = htons(*port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  socklen_t size = sizeof(address);
  if (socket.fd() < 0 ||
      setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
      bind(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(socket.fd(), SOMAXCONN) != 0 ||
      getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return Status::Error(fmt::format("cannot listen on port {} of 127.0.0.1: {}{}", *port,
                                     std::strerror(errno),
                                     errno == EADDRINUSE ? "; name another one with --port" : ""));
  }
  *port = ntohs(address.sin_port);
  const int fd = socket.fd();
  socket.Release();
  return fd;
}

MHD_Result AddArgument(void* to, MHD_ValueKind, const char* name, const char* value) {
  auto* arguments = static_cast<std::map<std::string, std::string>*>(to);
  if (arguments->size() == kMostArguments) return MHD_NO;
  arguments->emplace(name, value == nullptr ? "" : value);
  return MHD_YES;
}

// No other site may read, frame or keep an answer.
constexpr std::pair<const char*, const char*> kHeaders[] = {
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Content-Security-Policy", "frame-ancestors 'none'"},
};

MHD_Result Send(MHD_Connection* connection, const HttpAnswer& answer) {
  MHD_Response* response = Library().create_response_from_buffer(
      answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  for (const auto& [name, value] : kHeaders) Library().add_response_header(response, name, value);
  Library().add_response_header(response, "Content-Type",
                                answer.type.empty() ? "application/json" : answer.type.c_str());
  if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    Library().add_response_header(response, "Allow", "GET, HEAD");
  }
  const MHD_Result queued =
      Library().queue_response(connection, static_cast<unsigned>(answer.status), response);
  Library().destroy_response(response);
  return queued;
}

HttpAnswer Refusal(int status, const char* why) {
  return {status, "text/plain; charset=utf-8", std::string(why) + "\n"};
}

}  // namespace

struct HttpCallbacks {
  static MHD_Result OnRequest(void* to, MHD_Connection* connection, const char* url,
                              const char* method, const char*, const char*, size_t*, void**) {
    auto* self = static_cast<HttpServer*>(to);
    {
      const std::lock_guard lock(self->mutex_);
      self->clients_[connection].busy = true;
    }
    return Send(connection, self->Answer(connection, url, method));
  }
  static void OnCompleted(void* to, MHD_Connection* connection, void**,
                          MHD_RequestTerminationCode) {
    auto* self = static_cast<HttpServer*>(to);
    const std::lock_guard lock(self->mutex_);
    HttpServer::Client& client = self->clients_[connection];
    client.busy = false, client.since = std::chrono::steady_clock::now();
  }
  static void OnConnection(void* to, MHD_Connection* connection, void**,
                           MHD_ConnectionNotificationCode code) {
    auto* self = static_cast<HttpServer*>(to);
    const std::lock_guard lock(self->mutex_);
    if (code != MHD_CONNECTION_NOTIFY_STARTED) {
      self->clients_.erase(connection);
      return;
    }
    const MHD_ConnectionInfo* info =
        Library().get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    self->clients_[connection] = {info == nullptr ? -1 : info->connect_fd, false,
                                  std::chrono::steady_clock::now()};
  }
  // What the library complains of is the clients' doing.
  static void OnLog(void*, const char*, va_list) {}
};

Result<std::unique_ptr<HttpServer>> HttpServer::Start(uint16_t port, Handle handle) {
  if (!Library().whole) return Status::Error("libmicrohttpd is not installed: serve needs it");
  auto token = RandomToken();
  if (!token.ok()) return token.status();
  const auto fd = Listen(&port);
  if (!fd.ok()) return fd.status();
  std::unique_ptr<HttpServer> server(new HttpServer);
  server->handle_ = std::move(handle);
  server->token_ = std::move(token).value();
  server->hosts_[0] = fmt::format("127.0.0.1:{}", port);
  server->hosts_[1] = fmt::format("localhost:{}", port);
  server->url_ = fmt::format("http://127.0.0.1:{}/{}/", port, server->token_);
  server->daemon_ = Library().start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | MHD_USE_ERROR_LOG, 0, nullptr, nullptr,
      &HttpCallbacks::OnRequest, server.get(), MHD_OPTION_EXTERNAL_LOGGER, &HttpCallbacks::OnLog,
      nullptr, MHD_OPTION_LISTEN_SOCKET, *fd, MHD_OPTION_CONNECTION_LIMIT, kMostConnections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMostRequestBytes, MHD_OPTION_CONNECTION_TIMEOUT,
      kIdleTimeoutS, MHD_OPTION_NOTIFY_COMPLETED, &HttpCallbacks::OnCompleted, server.get(),
      MHD_OPTION_NOTIFY_CONNECTION, &HttpCallbacks::OnConnection, server.get(), MHD_OPTION_END);
  if (server->daemon_ == nullptr) {
    close(*fd);
    return Status::Error("cannot start the web server");
  }
  return server;
}

HttpServer::~HttpServer() {
  if (daemon_ != nullptr) Library().stop_daemon(daemon_);
}

// One that sends its request too slowly, or does not take its answer, loses its place.
void HttpServer::EndSlowOnes() {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  for (auto& [connection, client] : clients_) {
    if (now - client.since < std::chrono::milliseconds(kRequestTimeoutMs)) continue;
    if (client.busy && now - client.since < 6 * std::chrono::milliseconds(kRequestTimeoutMs)) {
      continue;
    }
    shutdown(client.fd, SHUT_RDWR);
  }
}

bool HttpServer::IsForUs(MHD_Connection* connection) const {
  const std::string_view host = Header(connection, "Host");
  if (host != hosts_[0] && host != hosts_[1]) return false;
  // A browser says whether another site asks. A link that a person follows may be anywhere.
  const std::string_view site = Header(connection, "Sec-Fetch-Site");
  const bool follows = Header(connection, "Sec-Fetch-Mode") == "navigate" &&
                       Header(connection, "Sec-Fetch-Dest") == "document";
  return site.empty() || site == "same-origin" || site == "none" || follows;
}

std::optional<std::string> HttpServer::AfterToken(std::string_view path) const {
  if (path.size() < token_.size() + 2 || path[0] != '/' || path[token_.size() + 1] != '/' ||
      !Same(path.substr(1, token_.size()), token_)) {
    return std::nullopt;
  }
  return std::string(path.substr(token_.size() + 2));
}

HttpAnswer HttpServer::Answer(MHD_Connection* connection, std::string_view path,
                              std::string_view method) {
  const auto rest = AfterToken(path);
  if (!rest || !IsForUs(connection)) {
    return Refusal(MHD_HTTP_FORBIDDEN, "use the address that acceltrace serve printed");
  }
  if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD) {
    return Refusal(MHD_HTTP_METHOD_NOT_ALLOWED, "only GET");
  }
  HttpRequest request;
  request.path = *rest;
  Library().get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &AddArgument,
                                  &request.arguments);
  return handle_(request);
}

}  // namespace acceltrace::cli
