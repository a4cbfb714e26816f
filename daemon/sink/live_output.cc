// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/live_output.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxWaitingBytes = 16 << 20;
constexpr int kCloseTimeoutMs = 1000;

}  // namespace

Status LiveOutput::Add(UniqueFd fd, const BasePackets& base) {
  if (full()) {
    return Status::Error("this recording has " + std::to_string(kMaxReaders) +
                         " live readers already; end one of them");
  }
  readers_.emplace_back();
  Reader& reader = readers_.back();
  reader.fd = std::move(fd);
  base.Replay([&](proto::Packet* packet) { Encode(&reader, packet, 0, 0); });
  Send(&reader);
  return {};
}

void LiveOutput::Encode(Reader* reader, proto::Packet* packet, int64_t first_ns, uint32_t rows) {
  ++packets_;
  frame_.clear();
  const bool encoded = reader->encoder.Append(packet, first_ns, rows, &frame_);
  // Base packets are always sent, since the rest is unreadable without them.
  const bool fits = reader->waiting.size() - reader->sent < kMaxWaitingBytes;
  if (!encoded || (!fits && !BasePackets::IsBase(*packet))) {
    ++dropped_;
    return;
  }
  reader->waiting += frame_;
}

void LiveOutput::Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) {
  for (Reader& reader : readers_) Encode(&reader, packet, first_ns, rows);
}

void LiveOutput::Send(Reader* reader) {
  while (!reader->gone && reader->sent < reader->waiting.size()) {
    const ssize_t sent = send(reader->fd.get(), reader->waiting.data() + reader->sent,
                              reader->waiting.size() - reader->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      reader->sent += static_cast<size_t>(sent);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      reader->gone = true;
    }
  }
  // Compacting costs time, so it is not done for every few bytes.
  if (reader->sent > reader->waiting.size() / 2) {
    reader->waiting.erase(0, reader->sent);
    reader->sent = 0;
  }
}

void LiveOutput::Pump() {
  for (Reader& reader : readers_) Send(&reader);
  readers_.remove_if([](const Reader& reader) { return reader.gone; });
}

void LiveOutput::Close() {
  for (Reader& reader : readers_) {
    reader.encoder.AppendFooter(&reader.waiting);
    for (Send(&reader); !reader.gone && reader.sent < reader.waiting.size(); Send(&reader)) {
      pollfd ready = {reader.fd.get(), POLLOUT, 0};
      if (poll(&ready, 1, kCloseTimeoutMs) <= 0) break;
    }
  }
  readers_.clear();
}

}  // namespace acceltrace::daemon
