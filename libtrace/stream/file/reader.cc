// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "libtrace/base/sequence_set.h"
#include "libtrace/stream/bytes/framing.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/packet_decoder.h"
#include "libtrace/stream/file/descriptor.h"
#include "libtrace/stream/file/packet_times.h"
#include "libtrace/stream/file/source.h"

namespace acceltrace::stream {

namespace {

constexpr size_t kMaxGaps = 1000;
// A file without a sync mark in its first part is considered something else.
constexpr size_t kProbeBytes = size_t{1} << 20;
constexpr size_t kScanBytes = size_t{64} << 10;
// Longest frame header before the sync field: tag and length.
constexpr size_t kMaxHeaderBytes = 1 + kMaxLengthBytes;
// Limits on checksums that are computed for marks that turn out not to start a packet. Damage costs
// at most one for each damaged packet, so that only a malicious file exceeds them.
constexpr uint64_t kWasteBytes = uint64_t{64} << 20;
constexpr uint64_t kWasteFactor = 4;
// Packets that are remembered until the footer; a larger index may have been truncated.
constexpr size_t kMaxRemembered = 500'000;
constexpr size_t kMinFullIndex = 450'000;
constexpr size_t kMaxTimes = size_t{1} << 22;

size_t FindSync(std::string_view bytes, size_t from) {
  if (from >= bytes.size()) return std::string_view::npos;
  const void* found =
      memmem(bytes.data() + from, bytes.size() - from, kSyncField.data(), kSyncField.size());
  return found == nullptr ? std::string_view::npos : static_cast<const char*>(found) - bytes.data();
}

class PacketReader : public Reader {
 public:
  PacketReader(std::unique_ptr<Source> source, bool raw) : source_(std::move(source)), raw_(raw) {
    decoders_.push_back(std::make_unique<PacketDecoder>());
  }

  // Finds the first packet, so that Open can refuse what is not a trace.
  Status Start(const std::string& name) {
    name_ = name;
    if (source_->Peek(1).empty()) {
      const std::string error = source_->error();
      if (!error.empty()) return Status::Error("cannot read " + name + ": " + error);
      return Status::Error(name + " is empty: nothing was recorded into it");
    }
    probing_ = true;
    proto::Packet packet;
    if (Read(&packet) == Next::kEnd) {
      return Status::Error(name +
                           " is not a trace: no valid packet at its start; acceltrace "
                           "record writes traces");
    }
    probing_ = false;
    first_ = std::move(packet);
    return {};
  }

  Next Read(proto::Packet* packet) override {
    if (first_) {
      *packet = *std::move(first_);
      first_.reset();  // written_rows_ still belongs to it
      return Next::kPacket;
    }
    PacketDecoder& decoder = NextDecoder();
    while (!stopped_) {
      std::string_view bytes = source_->Peek(kMinFrameBytes);
      if (bytes.empty()) break;
      Frame frame = ParseFrame(bytes);
      if (frame.state == Frame::State::kNeedMore) {
        bytes = source_->Peek(frame.total_bytes);
        frame = ParseFrame(bytes);
      }
      if (frame.state != Frame::State::kWhole) {
        const bool cut_short = frame.state == Frame::State::kNeedMore;
        SkipDamage(cut_short ? "truncated" : frame.reason, frame.summed_bytes);
        continue;
      }
      large_ |= frame.total_bytes > kLargeBytes;
      const bool good = Take(frame, &decoder, packet);
      Advance(frame.total_bytes);
      if (good) return Next::kPacket;
    }
    CloseDamage(0);
    stats_.missing_packets = sequences_.Missing();
    if (!source_->error().empty() && !std::exchange(error_noted_, true)) {
      AddGap({stats_.bytes, 0, 0, source_->error()});
    }
    return Next::kEnd;
  }

  size_t KeepColumns(size_t reads) override {
    // The rows of the packet that Start() has read are still to be returned.
    if (!first_) decoders_.clear(), rows_ = nullptr;
    while (decoders_.size() < reads) decoders_.push_back(std::make_unique<PacketDecoder>());
    reads_ = 0, large_ = false;
    return reads;
  }
  void KeepTimes() override { keep_times_ = true; }

  bool CanReadAgain() const override { return first_.has_value() && source_->CanRewind(); }
  Result<std::unique_ptr<Reader>> Again() override {
    source_->Rewind();
    auto again = std::make_unique<PacketReader>(std::move(source_), raw_);
    Status status = again->Start(name_);
    if (!status.ok()) return status;
    return std::unique_ptr<Reader>(std::move(again));
  }

  const TableRows* columns() const override { return rows_; }

  uint64_t written_rows() const override { return written_rows_; }

  const ReadStats& stats() const override { return stats_; }

 private:
  // Returns the decoder of the next packet. Decoders alternate, so that rows stay valid for as many
  // reads. The memory of a large packet is not kept several times.
  PacketDecoder& NextDecoder() {
    std::unique_ptr<PacketDecoder>& last = decoders_[reads_ % decoders_.size()];
    if (decoders_.size() > 1 && large_) last = std::make_unique<PacketDecoder>();
    large_ = false;
    return *decoders_[++reads_ % decoders_.size()];
  }

  void Advance(size_t count) {
    source_->Consume(count);
    stats_.bytes += count;
  }

  void AddGap(Gap gap) {
    ++stats_.gap_count;
    if (stats_.gaps.size() < kMaxGaps) stats_.gaps.push_back(std::move(gap));
  }

  void CloseDamage(uint64_t missing_packets) {
    if (!damage_) return;
    damage_->length_bytes = stats_.bytes - damage_->offset_bytes;
    damage_->missing_packets = missing_packets;
    AddGap(*std::exchange(damage_, std::nullopt));
  }

  // Returns true if the content of a parsed packet is valid.
  bool Decode(const Frame& frame, PacketDecoder* decoder, proto::Packet* packet) {
    if (raw_ && (packet->has_packed() || packet->has_packed_block() || packet->has_block())) {
      written_rows_ = packet->has_block() ? packet->block().rows() : packet->packed_block().rows();
      return true;
    }
    const size_t worth_bytes = PacketDecoder::WorthOf(*packet, frame.packet.size());
    stats_.worth_bytes += worth_bytes;
    // A block contains the times of its rows; the decoder compares them with the rows.
    const bool block = packet->has_block() || packet->has_packed_block();
    PacketTimes times = keep_times_ && block ? TimesOf(*packet) : PacketTimes();
    if (!decoder->Decode(worth_bytes, packet).ok()) return false;
    written_rows_ = decoder->written_rows();
    rows_ = decoder->rows();
    if (keep_times_ && !block) times = TimesOf(*packet);
    if (keep_times_ && stats_.times.size() < kMaxTimes) {
      stats_.times.push_back({stats_.bytes, stats_.bytes + frame.total_bytes, times});
    }
    return true;
  }

  // Takes a packet with a valid frame. Returns true if its content is valid, too.
  bool Take(const Frame& frame, PacketDecoder* decoder, proto::Packet* packet) {
    const bool late = frame.sequence < expected_sequence_;
    const uint64_t missing = late ? 0 : frame.sequence - expected_sequence_;
    if (damage_) {
      // The length pointed beyond the end, but the stream continued.
      if (damage_->reason == "truncated") damage_->reason = "malformed";
      CloseDamage(missing);
    } else if (missing > 0) {
      AddGap({stats_.bytes, 0, missing, "sequence"});
    }
    if (!sequences_.Add(frame.sequence)) {
      ++stats_.duplicate_packets;
      return false;
    }
    stats_.reordered_packets += late;
    expected_sequence_ = std::max(expected_sequence_, frame.sequence + 1);
    rows_ = nullptr;
    if (!PacketDecoder::Parse(frame.packet, packet)) {
      ++stats_.bad_packets;
      return false;
    }
    const auto body = static_cast<uint32_t>(packet->body_case());
    if (!Decode(frame, decoder, packet)) {
      ++stats_.bad_packets;
      return false;
    }
    if (packet->body_case() == proto::Packet::BODY_NOT_SET) {
      Remember(frame, body, *packet);
      ++stats_.unknown_packets;
      return false;
    }
    ++stats_.packets;
    stats_.has_footer = packet->has_footer();
    if (packet->has_footer()) {
      CheckIndex(packet->footer());
      return true;
    }
    if (packet->has_index()) {
      CheckIndex(packet->index());
      seen_.clear();
      earlier_offset_ = stats_.bytes;
    }
    Remember(frame, body, *packet);
    return true;
  }

  // body: as it was written.
  void Remember(const Frame& frame, uint32_t body, const proto::Packet& packet) {
    if (seen_.size() >= kMaxRemembered) return;
    seen_.push_back({stats_.bytes, packet.crc32c(), body, frame.sequence});
  }

  void NoteIndex(const std::string& what) {
    if (stats_.index_differences++ == 0) stats_.index_note = what;
  }

  // Compares a footer, or a part of the index before it, with what was read since the last such
  // part. If bytes are missing, that is reported already.
  void CheckIndex(const proto::Footer& footer) {
    const size_t listed = static_cast<size_t>(footer.offset_delta_size());
    const uint64_t earlier = std::exchange(earlier_packets_, earlier_packets_ + listed);
    if (stats_.gap_count > 0 || stats_.bad_packets > 0) return;
    if (listed > seen_.size() || (listed < seen_.size() && listed < kMinFullIndex)) {
      NoteIndex(std::to_string(listed) + " packets were written, " + std::to_string(seen_.size()) +
                " are there");
      return;
    }
    if (footer.index_offset() != earlier_offset_ || footer.earlier_packets() != earlier) {
      NoteIndex("another part of the index was written before it");
    }
    uint64_t offset = 0;
    for (size_t i = 0; i < listed; ++i) {
      const int row = static_cast<int>(i);
      offset += footer.offset_delta(row);
      indexed_events_ += ColumnAt(footer.events(), i);
      const std::string packet =
          "packet " + std::to_string(seen_[i].sequence) + " (" + BodyName(seen_[i].body) + ")";
      if (offset != seen_[i].offset) {
        NoteIndex(packet + " was written at byte " + std::to_string(offset) + ", not " +
                  std::to_string(seen_[i].offset));
        return;
      }
      // For kinds that this version does not know, nothing else can be compared.
      if (seen_[i].body != 0 && ColumnAt(footer.body(), i) != seen_[i].body) {
        NoteIndex(packet + " was of another kind");
      } else if (footer.checksum_size() > row && footer.checksum(row) != seen_[i].checksum) {
        NoteIndex(packet + " is not as it was written");
      }
    }
    if (listed == seen_.size() && indexed_events_ != footer.total_events()) {
      NoteIndex("its sum of events is not that of its packets");
    }
  }

  static std::string BodyName(uint32_t body) {
    const auto* field = proto::Packet::descriptor()->FindFieldByNumber(static_cast<int>(body));
    return field == nullptr ? "of an unknown kind" : field->name();
  }

  // At bytes that are not a packet: moves to the next packet or to the end.
  void SkipDamage(const char* reason, size_t wasted_bytes) {
    if (!damage_) damage_ = Gap{stats_.bytes, 0, 0, reason};
    wasted_bytes_ += wasted_bytes;
    size_t from = 1;  // the frame at 0 is known to be bad
    while (true) {
      std::string_view bytes = source_->Peek(from + kScanBytes);
      const size_t mark = FindSync(bytes, from);
      if (mark == std::string_view::npos) {
        const size_t keep = kMaxHeaderBytes + kSyncField.size() - 1;
        if (bytes.size() < from + kScanBytes) return Stop(bytes.size());
        Advance(bytes.size() - keep);
        from = 0;
        if (probing_ && stats_.bytes > kProbeBytes + (mark_seen_ ? kMaxPacketBytes : 0)) {
          return Stop(0);
        }
        continue;
      }
      mark_seen_ = true;
      if (const std::optional<size_t> header = HeaderBefore(mark, from)) {
        Advance(*header);
        const size_t mark_now = mark - *header;
        if (StartsPacket()) return;
        from = mark_now + 1;
      } else {
        from = mark + 1;
      }
      if (wasted_bytes_ > kWasteBytes + kWasteFactor * stats_.bytes) {
        damage_->reason = "malformed";
        return Stop(source_->Peek(0).size());
      }
    }
  }

  // Returns where the frame header of a sync field at `mark` may start, not before `from`.
  std::optional<size_t> HeaderBefore(size_t mark, size_t from) {
    const std::string_view bytes = source_->Peek(mark);
    for (size_t length_bytes = 1; length_bytes <= kMaxLengthBytes; ++length_bytes) {
      if (mark < from + 1 + length_bytes) break;
      const size_t header = mark - 1 - length_bytes;
      uint64_t length = 0;
      if (bytes[header] == kPacketTag &&
          ParseVarint(bytes.substr(header + 1, length_bytes), length_bytes, &length) ==
              length_bytes &&
          length >= kMinPacketBytes && length <= kMaxPacketBytes) {
        return header;
      }
    }
    return std::nullopt;
  }

  bool StartsPacket() {
    Frame frame = ParseFrame(source_->Peek(kMinFrameBytes));
    if (frame.state == Frame::State::kNeedMore) {
      frame = ParseFrame(source_->Peek(frame.total_bytes));
    }
    wasted_bytes_ += frame.state == Frame::State::kWhole ? 0 : frame.summed_bytes;
    return frame.state == Frame::State::kWhole;
  }

  void Stop(size_t rest) {
    Advance(rest);
    stopped_ = true;
  }

  // What the footer must list.
  struct Seen {
    uint64_t offset;
    uint32_t checksum, body;
    uint64_t sequence;
  };

  std::unique_ptr<Source> source_;
  std::string name_;
  bool raw_;
  std::vector<std::unique_ptr<PacketDecoder>> decoders_;  // as many as KeepColumns() requested
  size_t reads_ = 0;
  bool large_ = false;  // true if the last packet was
  bool keep_times_ = false;
  const TableRows* rows_ = nullptr;  // of the last packet
  std::vector<Seen> seen_;           // since the last part of the index
  uint64_t earlier_offset_ = 0, earlier_packets_ = 0, indexed_events_ = 0;  // from its parts so far
  ReadStats stats_;
  std::optional<proto::Packet> first_;
  std::optional<Gap> damage_;  // being skipped
  SequenceSet sequences_;
  uint64_t expected_sequence_ = 1;
  uint64_t written_rows_ = 0;
  uint64_t wasted_bytes_ = 0;
  bool probing_ = false;
  bool mark_seen_ = false;
  bool stopped_ = false;
  bool error_noted_ = false;
};

Result<std::unique_ptr<Reader>> Start(std::unique_ptr<Source> source, const std::string& name,
                                      bool raw = false) {
  auto reader = std::make_unique<PacketReader>(std::move(source), raw);
  Status status = reader->Start(name);
  if (!status.ok()) return status;
  return std::unique_ptr<Reader>(std::move(reader));
}

}  // namespace

Result<std::unique_ptr<Reader>> Reader::Open(const std::string& path) {
  Result<std::unique_ptr<Source>> source = OpenSource(path);
  if (!source.ok()) return source.status();
  return Start(std::move(source).value(), path == "-" ? "standard input" : path);
}

Result<std::unique_ptr<Reader>> Reader::OpenRaw(const std::string& path) {
  Result<std::unique_ptr<Source>> source = OpenSource(path);
  if (!source.ok()) return source.status();
  return Start(std::move(source).value(), path, true);
}

Result<std::unique_ptr<Reader>> OpenDescriptor(int fd, const std::string& name) {
  return Start(MakeDescriptorSource(fd), name);
}

Result<std::unique_ptr<Reader>> Reader::FromMemory(std::string_view bytes) {
  return Start(MakeMemorySource(bytes), "the trace");
}

}  // namespace acceltrace::stream
