// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
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

// Compares in constant time.
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

// Closes the descriptor unless it is released.
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

// Returns a listening socket; *port is the port that was assigned.
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

// Other sites must not read or frame an answer, and it must not be cached.
constexpr std::pair<const char*, const char*> kHeaders[] = {
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};

MHD_Result Send(MHD_Connection* connection, const HttpAnswer& answer) {
  MHD_Response* response = Library().create_response_from_buffer(
      answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  for (const auto& [name, value] : kHeaders) Library().add_response_header(response, name, value);
  Library().add_response_header(response, "X-Frame-Options", answer.framed ? "SAMEORIGIN" : "DENY");
  Library().add_response_header(
      response, "Content-Security-Policy",
      answer.framed ? "frame-ancestors 'self'" : "frame-ancestors 'none'");
  Library().add_response_header(response, "Content-Type",
                                answer.type.empty() ? "application/json" : answer.type.c_str());
  if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    Library().add_response_header(response, "Allow", answer.allowed);
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
                              const char* method, const char*, const char* upload,
                              size_t* upload_size, void**) {
    auto* self = static_cast<HttpServer*>(to);
    const bool post = std::string_view(method) == MHD_HTTP_METHOD_POST;
    const std::string_view more(upload == nullptr ? "" : upload, *upload_size);
    const auto refused = self->Refused(connection, url, method);
    // The body of a refused request is not waited for.
    const bool whole = refused || self->TakeBody(connection, more, post);
    *upload_size = 0;
    if (!whole) return MHD_YES;
    std::string body;
    {
      const std::lock_guard lock(self->mutex_);
      HttpServer::Client& client = self->clients_[connection];
      body.swap(client.body);
      self->BeginAnswer(&client);
    }
    const MHD_Result sent =
        Send(connection, refused ? *refused : self->Answer(connection, url, post, std::move(body)));
    self->EndAnswer(connection);
    return sent;
  }
  static void OnCompleted(void* to, MHD_Connection* connection, void**,
                          MHD_RequestTerminationCode) {
    auto* self = static_cast<HttpServer*>(to);
    const std::lock_guard lock(self->mutex_);
    HttpServer::Client& client = self->clients_[connection];
    client.busy = client.begun = false, client.since = std::chrono::steady_clock::now();
    client.body.clear();
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
    HttpServer::Client& client = self->clients_[connection];
    client.fd = info == nullptr ? -1 : info->connect_fd;
    client.since = std::chrono::steady_clock::now();
  }
  // Clients cause the errors that the library logs, so they are ignored.
  static void OnLog(void*, const char*, va_list) {}
};

Result<std::unique_ptr<HttpServer>> HttpServer::Start(uint16_t port, Handle handle,
                                                      std::set<std::string> posts) {
  if (!Library().whole) return Status::Error("libmicrohttpd is not installed: serve needs it");
  auto token = RandomToken();
  if (!token.ok()) return token.status();
  const auto fd = Listen(&port);
  if (!fd.ok()) return fd.status();
  std::unique_ptr<HttpServer> server(new HttpServer);
  server->handle_ = std::move(handle);
  server->posts_ = std::move(posts);
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

void HttpServer::BeginAnswer(Client* client) {
  client->busy = true;
  answering_ = std::chrono::steady_clock::now();
}

void HttpServer::EndAnswer(MHD_Connection* connection) {
  const std::lock_guard lock(mutex_);
  const auto took = std::chrono::steady_clock::now() - *answering_;
  for (auto& [other, client] : clients_) {
    if (other != connection && !client.busy) client.since += took;
  }
  answering_.reset();
}

// Closes connections that send their request too slowly or do not accept their answer.
void HttpServer::EndSlowOnes() {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  for (auto& [connection, client] : clients_) {
    const auto until = answering_ && !client.busy ? *answering_ : now;
    if (until - client.since < std::chrono::milliseconds(kRequestTimeoutMs)) continue;
    if (client.busy && now - client.since < 6 * std::chrono::milliseconds(kRequestTimeoutMs)) {
      continue;
    }
    shutdown(client.fd, SHUT_RDWR);
  }
}

// The library calls this once before the body, then for each piece of it, and finally without one.
bool HttpServer::TakeBody(MHD_Connection* connection, std::string_view more, bool post) {
  const std::lock_guard lock(mutex_);
  Client& client = clients_[connection];
  if (!std::exchange(client.begun, true) && post) return false;
  if (more.empty()) return true;
  // One byte beyond the limit shows that there was more.
  client.body.append(more.substr(0, kMostBodyBytes + 1 - client.body.size()));
  return false;
}

bool HttpServer::IsForUs(MHD_Connection* connection, bool post) const {
  const std::string_view host = Header(connection, "Host");
  if (host != hosts_[0] && host != hosts_[1]) return false;
  // A browser tells whether another site sends the request. Links may come from any site, but
  // cannot request an action.
  const std::string_view origin = Header(connection, "Origin");
  if (!origin.empty() && origin != "http://" + hosts_[0] && origin != "http://" + hosts_[1]) {
    return false;
  }
  const std::string_view site = Header(connection, "Sec-Fetch-Site");
  const bool follows = Header(connection, "Sec-Fetch-Mode") == "navigate" &&
                       Header(connection, "Sec-Fetch-Dest") == "document";
  if (site.empty() || site == "same-origin") return true;
  return !post && (site == "none" || follows);
}

std::optional<std::string> HttpServer::AfterToken(std::string_view path) const {
  if (path.size() < token_.size() + 2 || path[0] != '/' || path[token_.size() + 1] != '/' ||
      !Same(path.substr(1, token_.size()), token_)) {
    return std::nullopt;
  }
  return std::string(path.substr(token_.size() + 2));
}

std::optional<HttpAnswer> HttpServer::Refused(MHD_Connection* connection, std::string_view path,
                                              std::string_view method) const {
  const auto rest = AfterToken(path);
  const bool post = method == MHD_HTTP_METHOD_POST;
  if (!rest || !IsForUs(connection, post)) {
    return Refusal(MHD_HTTP_FORBIDDEN, "use the address that acceltrace serve printed");
  }
  if (posts_.count(*rest) != 0) {
    HttpAnswer only = Refusal(MHD_HTTP_METHOD_NOT_ALLOWED, "only POST");
    only.allowed = "POST";
    if (!post) return only;
    const std::string_view length = Header(connection, "Content-Length");
    uint64_t bytes = 0;
    const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bytes);
    const bool known = error == std::errc() && end == length.data() + length.size();
    if (!length.empty() && (!known || bytes > kMostBodyBytes)) {
      return Refusal(MHD_HTTP_CONTENT_TOO_LARGE, "at most 64 KiB can be sent");
    }
    return std::nullopt;
  }
  if (method == MHD_HTTP_METHOD_GET || method == MHD_HTTP_METHOD_HEAD) return std::nullopt;
  return Refusal(MHD_HTTP_METHOD_NOT_ALLOWED, "only GET");
}

HttpAnswer HttpServer::Answer(MHD_Connection* connection, std::string_view path, bool post,
                              std::string body) {
  if (body.size() > kMostBodyBytes) {
    return Refusal(MHD_HTTP_CONTENT_TOO_LARGE, "at most 64 KiB can be sent");
  }
  HttpRequest request;
  request.path = *AfterToken(path);
  request.post = post, request.body = std::move(body);
  Library().get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &AddArgument,
                                  &request.arguments);
  return handle_(request);
}

}  // namespace acceltrace::cli
