// SPDX-License-Identifier: Apache-2.0
//
// Bytes to packets.
#ifndef LIBTRACE_STREAM_READER_H_
#define LIBTRACE_STREAM_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/result.h"

namespace acceltrace::stream {

class TableRows;

// A stretch of the stream that could not be read.
struct Gap {
  uint64_t offset_bytes = 0;     // where it starts
  uint64_t length_bytes = 0;     // how much was skipped
  uint64_t missing_packets = 0;  // by sequence number; 0 = unknown (end of file)
  // "checksum", "truncated", "sequence", "malformed", or "read error: ..." for
  // input that could not be read to its end.
  std::string reason;
};

// When the rows of a packet were.
struct PacketTimes {
  enum class Clock { kUnknown, kHost, kDevice };
  Clock clock = Clock::kUnknown;
  uint32_t device = 0;  // its number in the trace, of device times
  // Smallest and largest, in ns or in raw ticks. Of host times the ends are in `last` as well where
  // the packet is a plain batch; of a block they are the table's first column.
  uint64_t first = 0, last = 0;
  bool operator==(const PacketTimes&) const = default;
};

// Of a packet whose frame lies there.
struct SeenTimes {
  uint64_t offset_bytes = 0, end_bytes = 0;
  PacketTimes times;
};

struct ReadStats {
  uint64_t bytes = 0;
  // The same with packed packets counted as what they may be worth (docs/stream.md, Limits): what
  // a reader may allocate is measured by it.
  uint64_t worth_bytes = 0;
  uint64_t packets = 0;
  // By sequence numbers, over the whole stream: a packet that came late is not missing.
  uint64_t missing_packets = 0;
  uint64_t duplicate_packets = 0;  // a number that was there before: skipped
  uint64_t reordered_packets = 0;  // behind one with a higher number: read
  uint64_t bad_packets = 0;        // framed and summed right, but with invalid content
  uint64_t unknown_packets = 0;    // sound, but of a kind that this version does not know
  bool has_footer = false;         // the last packet is the footer: the recording ended in order
  // Packets that are not those that the footer lists, and what is wrong with the first. An
  // undamaged stream only.
  uint64_t index_differences = 0;
  std::string index_note;
  std::vector<Gap> gaps;  // the first 1000; more are only counted
  uint64_t gap_count = 0;
  std::vector<SeenTimes> times;  // Reader::KeepTimes()
};

// Reads packets one after the other, skipping damage and noting each gap.
class Reader {
 public:
  enum class Next { kPacket, kEnd };

  virtual ~Reader() = default;

  // path: a file, "-" for standard input, or a Unix socket of the daemon.
  // Errors: cannot open; empty; not a trace (no valid packet in the first 1 MiB).
  static Result<std::unique_ptr<Reader>> Open(const std::string& path);
  // The same, but blocks and packed packets come as they are, their content unchecked.
  static Result<std::unique_ptr<Reader>> OpenRaw(const std::string& path);
  // The bytes must outlive the reader.
  static Result<std::unique_ptr<Reader>> FromMemory(std::string_view bytes);

  // Fills *packet with the next valid one. Invalid content (columns of unequal length, ids out of
  // range) is counted in stats().bad_packets and skipped, and a packet whose sequence number was
  // there before in stats().duplicate_packets.
  virtual Next Read(proto::Packet* packet) = 0;

  // The rows of the packet that Read gave last if it has commands, device jobs, host events or API
  // calls, else nullptr. Its body is then the batch of that table, with its device; the rows of the
  // batch are only here. They stay until the next Read, or for as many Reads as KeepColumns() says.
  virtual const TableRows* columns() const = 0;

  // How many rows that packet was written with: a row of a block may be several host events.
  virtual uint64_t written_rows() const = 0;

  virtual const ReadStats& stats() const = 0;

  // From the next Read on columns() stay for so many Reads as this returns, which is `reads` if the
  // reader can do that. Those of a packet of more than kLargeBytes go with the next Read.
  static constexpr uint64_t kLargeBytes = uint64_t{1} << 20;
  virtual size_t KeepColumns(size_t) { return 1; }
  // From the next Read on stats().times has when the rows of each packet were.
  virtual void KeepTimes() {}

  // Before the first Read: whether Again() can be called later.
  virtual bool CanReadAgain() const { return false; }
  // The same bytes from the first one on. Takes the place of this one, which is only to be deleted.
  virtual Result<std::unique_ptr<Reader>> Again() { return Status::Error("it is gone"); }
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_READER_H_
