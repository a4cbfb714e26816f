// SPDX-License-Identifier: Apache-2.0
//
// Random access to the packets of a finished file by the index in its footer (docs/stream.md),
// without reading the rest of the file.
//
// The file is untrusted: an index that does not fit the file is ignored, and each packet that is
// read is checked as stream::Reader checks it.
#ifndef LIBTRACE_STREAM_FILE_INDEX_H_
#define LIBTRACE_STREAM_FILE_INDEX_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/file/reader.h"

namespace acceltrace::stream {

class PacketDecoder;

struct PacketPlace {
  uint64_t offset_bytes = 0, end_bytes = 0;
  // Field number in proto::Packet of what a reader converts the packet to (for example, the batch
  // for a block); 0 for kinds that this version does not know.
  uint32_t body = 0;
  uint64_t events = 0;
};

class FileIndex {
 public:
  // Returns nullptr if it is not a regular file, or has no footer at its end or one that does not
  // fit.
  static std::unique_ptr<FileIndex> Open(const std::string& path);
  // The same for bytes, which must outlive the index.
  static std::unique_ptr<FileIndex> FromMemory(std::string_view bytes);
  virtual ~FileIndex() = default;

  // Packets in the order of the file, without the footer and the parts of the index.
  const std::vector<PacketPlace>& packets() const { return packets_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t events() const { return events_; }

  // Reads every byte. Returns true if the file consists of all packets, in order and unchanged, and
  // nothing else. Their contents are not checked.
  virtual bool Whole() const = 0;
  // Returns true if no packet was lost before it was written, as the sequence numbers show, and the
  // index has the times of the rows of each one. This does not read the packets: those that are
  // read later are compared with the index, so that packets that are not requested may be damaged,
  // but cannot be missed.
  virtual bool Complete() const = 0;
  // Reads one packet, and its rows into *decoder. Returns false if it is damaged or does not match
  // the index.
  virtual bool Read(size_t place, PacketDecoder* decoder, proto::Packet* packet) const = 0;
  // Reads the same packet unparsed and unchecked into *buffer.
  virtual bool ReadBytes(size_t place, std::string* buffer, std::string_view* packet) const = 0;
  virtual PacketTimes Times(size_t place) const = 0;
  // Returns for how many packets the index has other times than their rows, so that a query for a
  // part of the time would miss them; 0 if it has no times. seen: ReadStats::times of a reader of
  // the whole file.
  virtual size_t CountWrongTimes(const std::vector<SeenTimes>& seen) const = 0;
  // Returns a reader of these packets, in rising order, as if the file held no others. The index
  // must outlive it. A packet that cannot be read is a gap.
  virtual std::unique_ptr<Reader> Choose(std::vector<size_t> places) const = 0;

 protected:
  std::vector<PacketPlace> packets_;
  uint64_t bytes_ = 0, events_ = 0;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FILE_INDEX_H_
