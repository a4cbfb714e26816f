// SPDX-License-Identifier: Apache-2.0
//
// Writes packets as bytes.
#ifndef LIBTRACE_STREAM_FILE_WRITER_H_
#define LIBTRACE_STREAM_FILE_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/file/index.h"

namespace acceltrace::stream {

// Encodes packets as the bytes of a stream: fills in sync, sequence and crc32c, adds the length
// prefix, and collects the index. It does no I/O: the caller appends the bytes to a file or a
// socket in the given order. Not thread-safe.
class PacketEncoder {
 public:
  // index_packets: only differs from kIndexPackets in tests.
  explicit PacketEncoder(int index_packets = kIndexPackets)
      : index_packets_(static_cast<size_t>(index_packets)) {}

  // A part of the index is written after this many packets, so that a footer stays well below
  // kMaxPacketBytes (an entry takes at most 60 bytes). The writer keeps two parts in memory.
  static constexpr int kIndexPackets = 65'536;

  // Appends the framed packet to *out, and a part of the index if one is due. first_host_ns:
  // earliest host time inside, 0 if none; events: the number of its rows (both go to the index).
  // Empties columns of zeros in *packet and replaces bytes that are not UTF-8 in its strings by
  // '?', because readers refuse such packets. Returns false if the packet is larger than
  // kMaxPacketBytes (framing.h): nothing was appended, and the caller has to count its events as
  // lost.
  bool Append(proto::Packet* packet, int64_t first_host_ns, uint32_t events, std::string* out);

  // Forgets the packets that end after this offset: the caller could not store them and continues
  // to write there. Their sequence numbers stay used, so that a reader sees how many are missing.
  // At most kIndexPackets are forgotten.
  void TruncateTo(uint64_t offset);

  // Uses up the number of a packet that will never be stored.
  void Skip() { ++sequence_; }

  // Appends the footer packet; nothing may follow.
  void AppendFooter(std::string* out);

  uint64_t packets() const { return sequence_; }
  uint64_t bytes() const { return offset_; }

 private:
  bool AppendFramed(proto::Packet* packet, std::string* out);
  void Index(const proto::Packet& packet, uint64_t offset, int64_t first_host_ns, uint32_t events,
             const PacketTimes& times);
  void AppendIndex(std::string* out);

  uint64_t sequence_ = 0;
  uint64_t offset_ = 0;
  uint64_t last_indexed_offset_ = 0;
  int64_t last_indexed_ns_ = 0;
  uint64_t total_events_ = 0;
  proto::Footer footer_;                         // for the packets since the last part of the index
  proto::Footer part_;                           // the last part
  std::vector<PacketTimes> times_, part_times_;  // of the packets in both
  bool has_part_ = false;
  size_t index_packets_;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FILE_WRITER_H_
