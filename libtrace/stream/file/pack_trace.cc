// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/pack_trace.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/packed.h"
#include "libtrace/stream/columns/table_rows.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/writer.h"

namespace acceltrace::stream {
namespace {

using proto::Block;
using proto::Packet;

// Rows are not moved further than this in the stream, by its clock samples: for clocks that wrap,
// the place in the stream determines the time.
constexpr int64_t kMostMoveNs = 1'000'000'000;
constexpr size_t kWriteBytes = size_t{1} << 20;

// The index entry of a packet.
struct Entry {
  int64_t first_ns = 0;
  uint32_t events = 0;
};

Status Unfit(const std::string& path, const std::string& why) {
  return Status::Error(path + " stays as it is: " + why + "; see acceltrace verify");
}

void AddEntries(const proto::Footer& footer, std::vector<Entry>* entries) {
  DeltaDecoder first(footer.first_ns_delta());
  for (size_t i = 0; i < static_cast<size_t>(footer.offset_delta_size()); ++i) {
    entries->push_back({first.Next(), ColumnAt(footer.events(), i)});
  }
}

// The first pass: checks that the whole trace is valid, and collects what its index says of each
// packet.
Status Examine(const std::string& path, std::vector<Entry>* entries, uint64_t* bytes) {
  auto opened = Reader::Open(path);
  if (!opened.ok()) return opened.status();
  Reader& reader = *opened.value();
  Packet packet;
  while (reader.Read(&packet) == Reader::Next::kPacket) {
    if (packet.has_index()) AddEntries(packet.index(), entries);
    if (packet.has_footer()) AddEntries(packet.footer(), entries);
  }
  const ReadStats& stats = reader.stats();
  *bytes = stats.bytes;
  if (stats.gap_count + stats.bad_packets + stats.missing_packets + stats.duplicate_packets +
          stats.reordered_packets + stats.index_differences >
      0) {
    return Unfit(path, "it is damaged");
  }
  if (!stats.has_footer) return Unfit(path, "it was not finished");
  if (stats.unknown_packets > 0) return Unfit(path, "a newer version wrote it");
  if (entries->size() + 1 != stats.packets) return Unfit(path, "it is not indexed to its end");
  return {};
}

// Rows of a table that wait for others to share a block.
struct Waiting {
  RowColumns rows;
  Entry entry;
  uint64_t first = UINT64_MAX, last = 0;
};

// Converts the columns of batches of earlier versions to those of a block.
void FromBatch(const TableRows& from, RowColumns* to) {
  to->rows = from.rows();
  for (size_t column = 0; column < TableRows::kColumns; ++column) {
    if (!from.has(static_cast<int>(column))) continue;
    to->columns[column].resize(from.rows());
    from.Read(static_cast<int>(column), to->columns[column].data());
  }
}

// The first column of a table, whose range the header of a block has.
int TimeColumn(uint32_t table) {
  switch (table) {
    case Block::TABLE_COMMANDS:
      return Block::COLUMN_FETCHED_TICKS;
    case Block::TABLE_DEVICE_JOBS:
      return Block::COLUMN_DOORBELL_TICKS;
    case Block::TABLE_HOST_JOBS:
      return Block::COLUMN_SUBMIT_NS;
    case Block::TABLE_HOST_WAITS:
      return Block::COLUMN_WAIT_NS;
    default:
      return Block::COLUMN_BEGIN_NS;
  }
}

class Packer {
 public:
  explicit Packer(const std::function<Status(std::string_view)>& write) : write_(write) {}

  // from: the rows of the packet if it is a batch.
  Status Add(Packet* packet, const TableRows* from, const Entry& entry) {
    uint32_t table = 0, device = 0, stalls = 0;
    RowColumns rows;
    if (packet->has_block() || packet->has_packed_block()) {
      const bool packed = packet->has_packed_block();
      const Block& block = packed ? packet->packed_block() : packet->block();
      BlockColumns columns;
      const Status status = packed ? columns.DecodePacked(block) : columns.Decode(block);
      if (!status.ok()) return status;
      rows.rows = columns.rows();
      for (size_t i = 0; i < rows.columns.size(); ++i) {
        rows.columns[i] = columns.AllOf(static_cast<int>(i));
      }
      table = block.table(), device = block.device(), stalls = block.stalls();
    } else if (from != nullptr && from->rows() > 0 && !packet->has_host()) {
      // A row of a block of host jobs is several host events, so these stay a batch.
      if (packet->has_commands()) {
        table = Block::TABLE_COMMANDS, device = packet->commands().device();
        stalls = static_cast<uint32_t>(from->stalls());
      } else if (packet->has_jobs()) {
        table = Block::TABLE_DEVICE_JOBS, device = packet->jobs().device();
      } else {
        table = Block::TABLE_API_CALLS;
      }
      FromBatch(*from, &rows);
    }
    if (table != 0) return AddRows({table, device, stalls}, std::move(rows), entry);
    // Waiting rows are written before a clock sample that is too far from them, and before the end
    // of the recording.
    if (packet->has_clocks() && MovedTooFar(packet->clocks())) {
      if (Status status = FlushAll(); !status.ok()) return status;
    }
    if (packet->has_accounts()) {
      if (Status status = FlushAll(); !status.ok()) return status;
    }
    Packet packed;
    const bool smaller = packing_.Pack(*packet, &packed);
    return Put(smaller ? &packed : packet, entry);
  }

  Status Finish() {
    if (Status status = FlushAll(); !status.ok()) return status;
    encoder_.AppendFooter(&out_);
    return Write();
  }
  uint64_t bytes() const { return encoder_.bytes(); }

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // table, device, stall causes

  bool MovedTooFar(const proto::ClockBatch& batch) {
    DeltaDecoder before(batch.host_before_ns_delta());
    for (int i = 0; i < batch.host_before_ns_delta_size(); ++i) {
      newest_sample_ns_ = std::max(newest_sample_ns_, before.Next());
    }
    return newest_sample_ns_ - flushed_ns_ > kMostMoveNs;
  }

  Status AddRows(const Key& key, RowColumns rows, const Entry& entry) {
    Waiting& waiting = waiting_[key];
    // A block has one entry for each run of the interrupt handler, so merging blocks would reduce
    // their number.
    if (std::get<0>(key) == Block::TABLE_HOST_JOBS) {
      if (Status status = Flush(key, &waiting); !status.ok()) return status;
    }
    // A large batch of an earlier version is split into several blocks.
    size_t done = 0;
    while (done < rows.rows) {
      const size_t take = std::min(rows.rows - done, kMaxBlockRows - waiting.rows.rows);
      for (size_t i = 0; i < rows.columns.size(); ++i) {
        const std::vector<uint64_t>& from = rows.columns[i];
        std::vector<uint64_t>& to = waiting.rows.columns[i];
        if (from.empty() && to.empty()) continue;
        to.resize(waiting.rows.rows);  // zeros
        if (from.empty()) {
          to.resize(waiting.rows.rows + take);
        } else {
          to.insert(to.end(), from.begin() + static_cast<ptrdiff_t>(done),
                    from.begin() + static_cast<ptrdiff_t>(done + take));
        }
      }
      waiting.rows.rows += take;
      done += take;
      if (entry.first_ns != 0 &&
          (waiting.entry.first_ns == 0 || entry.first_ns < waiting.entry.first_ns)) {
        waiting.entry.first_ns = entry.first_ns;
      }
      if (waiting.rows.rows == kMaxBlockRows) {
        if (Status status = Flush(key, &waiting); !status.ok()) return status;
      }
    }
    return {};
  }

  Status Flush(const Key& key, Waiting* waiting) {
    if (waiting->rows.rows == 0) return {};
    Packet packet;
    Block& block = *packet.mutable_packed_block();
    const auto [table, device, stalls] = key;
    block.set_table(table);
    block.set_device(device);
    block.set_stalls(stalls);
    if (const auto& times = waiting->rows.columns[TimeColumn(table)]; !times.empty()) {
      const auto [first, last] = std::minmax_element(times.begin(), times.end());
      block.set_first(*first);
      block.set_last(*last);
    }
    if (!packing_.Pack(waiting->rows, &block)) return Status::Error("out of memory");
    const Entry entry = {waiting->entry.first_ns, static_cast<uint32_t>(waiting->rows.rows)};
    *waiting = {};
    return Put(&packet, entry);
  }

  Status FlushAll() {
    flushed_ns_ = newest_sample_ns_;
    for (auto& [key, waiting] : waiting_) {
      if (Status status = Flush(key, &waiting); !status.ok()) return status;
    }
    return {};
  }

  Status Put(Packet* packet, const Entry& entry) {
    if (!encoder_.Append(packet, entry.first_ns, entry.events, &out_)) {
      return Status::Error("a packet of it would be too large");
    }
    return out_.size() < kWriteBytes ? Status() : Write();
  }

  Status Write() {
    const Status status = write_(out_);
    out_.clear();
    return status;
  }

  const std::function<Status(std::string_view)>& write_;
  Packing packing_;
  PacketEncoder encoder_;
  std::string out_;
  std::map<Key, Waiting> waiting_;
  int64_t newest_sample_ns_ = 0, flushed_ns_ = 0;
};

}  // namespace

Result<PackedSize> PackTrace(const std::string& path,
                             const std::function<Status(std::string_view)>& write) {
  PackedSize size;
  std::vector<Entry> entries;
  if (Status status = Examine(path, &entries, &size.before_bytes); !status.ok()) return status;
  auto opened = Reader::OpenRaw(path);
  if (!opened.ok()) return opened.status();
  Packer packer(write);
  Packet packet;
  for (size_t at = 0; opened.value()->Read(&packet) == Reader::Next::kPacket; ++at) {
    if (packet.has_footer()) break;
    if (at >= entries.size()) return Unfit(path, "it changed meanwhile");
    size.events += entries[at].events;
    if (packet.has_index()) continue;  // the new file gets its own
    if (Status status = packer.Add(&packet, opened.value()->columns(), entries[at]); !status.ok())
      return status;
  }
  if (Status status = packer.Finish(); !status.ok()) return status;
  size.after_bytes = packer.bytes();
  return size;
}

}  // namespace acceltrace::stream
