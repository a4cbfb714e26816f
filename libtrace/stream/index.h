// SPDX-License-Identifier: Apache-2.0
//
// Where the packets of a finished file lie, by the index in its footer (docs/stream.md): what is
// wanted is read, the rest of the file is not.
//
// The file is untrusted: an index that does not fit it is none, and each packet that is read is
// checked as stream::Reader checks it.
#ifndef LIBTRACE_STREAM_INDEX_H_
#define LIBTRACE_STREAM_INDEX_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/reader.h"

namespace acceltrace::stream {

class PacketDecoder;

struct PacketPlace {
  uint64_t offset_bytes = 0, end_bytes = 0;
  // Field number in proto::Packet of what a reader makes of it (a block's batch, say); 0: of a
  // kind that this version does not know.
  uint32_t body = 0;
  uint64_t events = 0;
};

class FileIndex {
 public:
  // nullptr: no regular file, no footer at its end, or one that does not fit.
  static std::unique_ptr<FileIndex> Open(const std::string& path);
  // The same of bytes, which must outlive it.
  static std::unique_ptr<FileIndex> FromMemory(std::string_view bytes);
  virtual ~FileIndex() = default;

  // In the order of the file; the footer and the parts of the index are not among them.
  const std::vector<PacketPlace>& packets() const { return packets_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t events() const { return events_; }

  // Reads every byte: all packets are there, in order and as they were written, and nothing else
  // is. What is in them is not looked at.
  virtual bool Whole() const = 0;
  // Without reading them: by their numbers none was lost before it was written, and the index
  // says when the rows of each were. What is read later is compared with the index, so that
  // packets that are not asked for can be damaged but not be missed.
  virtual bool Complete() const = 0;
  // Reads one packet, with its rows in *decoder. Returns false if it is damaged or another one than
  // the index says.
  virtual bool Read(size_t place, PacketDecoder* decoder, proto::Packet* packet) const = 0;
  // The same packet as it was written, in *buffer, without a look at what is in it.
  virtual bool ReadBytes(size_t place, std::string* buffer, std::string_view* packet) const = 0;
  virtual PacketTimes Times(size_t place) const = 0;
  // Of how many packets the index says other times than their rows have, so that who asks for a
  // part of the time would miss them; 0 if it says none. seen: what a reader of the whole file
  // found, in ReadStats::times.
  virtual size_t CountWrongTimes(const std::vector<SeenTimes>& seen) const = 0;
  // Reads these packets, which rise, as if the file held no others. The index must outlive it. A
  // packet that cannot be read is a gap.
  virtual std::unique_ptr<Reader> Choose(std::vector<size_t> places) const = 0;

 protected:
  std::vector<PacketPlace> packets_;
  uint64_t bytes_ = 0, events_ = 0;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_INDEX_H_
