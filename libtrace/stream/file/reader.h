// SPDX-License-Identifier: Apache-2.0
//
// Reads packets from bytes.
#ifndef LIBTRACE_STREAM_FILE_READER_H_
#define LIBTRACE_STREAM_FILE_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::stream {

class TableRows;

// A part of the stream that could not be read.
struct Gap {
  uint64_t offset_bytes = 0;     // where it starts
  uint64_t length_bytes = 0;     // how much was skipped
  uint64_t missing_packets = 0;  // by sequence number; 0 if unknown (end of file)
  // "checksum", "truncated", "sequence", "malformed", or "read error: ..." for input that could not
  // be read to its end.
  std::string reason;
};

// The times of the rows of a packet.
struct PacketTimes {
  enum class Clock { kUnknown, kHost, kDevice };
  Clock clock = Clock::kUnknown;
  uint32_t device = 0;  // number in the trace, for device times
  // Smallest and largest time, in ns or in raw ticks. For host times of plain batches, `last`
  // includes the ends of rows; for blocks, both are of the table's first column.
  uint64_t first = 0, last = 0;
  bool operator==(const PacketTimes&) const = default;
};

// The times of the packet whose frame is at this place.
struct SeenTimes {
  uint64_t offset_bytes = 0, end_bytes = 0;
  PacketTimes times;
};

struct ReadStats {
  uint64_t bytes = 0;
  // The same, but packed packets count as much as they may be worth (docs/stream.md, Limits). It
  // limits what a reader may allocate.
  uint64_t worth_bytes = 0;
  uint64_t packets = 0;
  // By sequence numbers, over the whole stream: a packet that came late is not missing.
  uint64_t missing_packets = 0;
  uint64_t duplicate_packets = 0;  // sequence number seen before: skipped
  uint64_t reordered_packets = 0;  // after one with a higher number: read
  uint64_t bad_packets = 0;        // valid frame and checksum, but invalid content
  uint64_t unknown_packets = 0;    // valid, but of a kind that this version does not know
  bool has_footer = false;         // the last packet is the footer: the recording ended properly
  // The number of packets that differ from the footer's list, and how the first one does. Only for
  // undamaged streams.
  uint64_t index_differences = 0;
  std::string index_note;
  std::vector<Gap> gaps;  // the first 1000; further ones are only counted
  uint64_t gap_count = 0;
  std::vector<SeenTimes> times;  // if KeepTimes() was called
};

// Reads packets in order, skips damage and records each gap.
class Reader {
 public:
  enum class Next { kPacket, kEnd };

  virtual ~Reader() = default;

  // path: a file, "-" for standard input, or a Unix socket of the daemon.
  // Errors: cannot open; empty; not a trace (no valid packet in the first 1 MiB).
  static Result<std::unique_ptr<Reader>> Open(const std::string& path);
  // The same, but blocks and packed packets are returned undecoded and unchecked.
  static Result<std::unique_ptr<Reader>> OpenRaw(const std::string& path);
  // The bytes must outlive the reader.
  static Result<std::unique_ptr<Reader>> FromMemory(std::string_view bytes);

  // Fills *packet with the next valid one. Packets with invalid content (columns of unequal length,
  // ids out of range) are skipped and counted in stats().bad_packets, those whose sequence number
  // was seen before in stats().duplicate_packets.
  virtual Next Read(proto::Packet* packet) = 0;

  // Returns the rows of the packet of the last Read if it has commands, device jobs, host events or
  // API calls, else nullptr. The body of that packet is then the batch of its table, which only has
  // the device: the rows are only here. They are valid until the next Read, or for as many Reads as
  // KeepColumns() returned.
  virtual const TableRows* columns() const = 0;

  // The number of rows that the packet was written with: a row of a block may be several host
  // events.
  virtual uint64_t written_rows() const = 0;

  virtual const ReadStats& stats() const = 0;

  // From the next Read on, columns() stay valid for the returned number of Reads, which is `reads`
  // if the reader supports this. Those of a packet of more than kLargeBytes are only valid until
  // the next Read.
  static constexpr uint64_t kLargeBytes = uint64_t{1} << 20;
  virtual size_t KeepColumns(size_t) { return 1; }
  // From the next Read on, stats().times records when the rows of each packet were.
  virtual void KeepTimes() {}

  // Before the first Read: returns true if Again() can be called later.
  virtual bool CanReadAgain() const { return false; }
  // Returns a reader of the same bytes from the first one on. It replaces this one, which may only
  // be destroyed afterwards.
  virtual Result<std::unique_ptr<Reader>> Again() { return Status::Error("it is gone"); }
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FILE_READER_H_
