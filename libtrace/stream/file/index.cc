// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libtrace/stream/bytes/framing.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/packet_decoder.h"
#include "libtrace/stream/file/index_times.h"
#include "libtrace/stream/file/packet_times.h"

namespace acceltrace::stream {
namespace {

using proto::Packet;

constexpr uint64_t kMaxTail = kMaxPacketBytes + 64;

class Bytes {
 public:
  virtual ~Bytes() = default;
  // Returns the number of bytes read, which is less than `size` only at the end.
  virtual size_t ReadTo(uint64_t offset, char* to, size_t size) const = 0;
  std::string Read(uint64_t offset, uint64_t bytes) const {
    std::string data(std::min(bytes, size() - std::min(size(), offset)), '\0');
    data.resize(ReadTo(offset, data.data(), data.size()));
    return data;
  }
  virtual uint64_t size() const = 0;
};

// The bytes must outlive it.
class BytesInMemory : public Bytes {
 public:
  explicit BytesInMemory(std::string_view bytes) : bytes_(bytes) {}
  size_t ReadTo(uint64_t offset, char* to, size_t size) const override {
    return offset < bytes_.size() ? bytes_.copy(to, size, offset) : 0;
  }
  uint64_t size() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

class File : public Bytes {
 public:
  explicit File(const std::string& path) {
    // Opening and closing a pipe would end the process that writes to it.
    struct stat about {};
    if (stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return;
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0 || fstat(fd_, &about) != 0 || !S_ISREG(about.st_mode)) return;
    bytes_ = static_cast<uint64_t>(about.st_size);
  }
  ~File() override {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  uint64_t size() const override { return bytes_; }
  size_t ReadTo(uint64_t offset, char* to, size_t size) const override {
    size_t done = 0;
    while (done < size) {
      const ssize_t got = pread(fd_, to + done, size - done, static_cast<off_t>(offset + done));
      if (got <= 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

 private:
  int fd_ = -1;
  uint64_t bytes_ = 0;
};

bool ParsePacket(std::string_view bytes, bool to_end, Packet* packet) {
  const Frame frame = ParseFrame(bytes);
  if (frame.state != Frame::State::kWhole) return false;
  if (to_end && frame.total_bytes != bytes.size()) return false;
  return packet->ParseFromArray(frame.packet.data(), static_cast<int>(frame.packet.size()));
}

// Finds the last packet, and returns true if it is a footer.
bool FindFooter(const Bytes& file, Packet* packet) {
  for (uint64_t size = 1 << 16;; size *= 16) {
    const std::string tail = file.Read(file.size() - std::min(file.size(), size), size);
    size_t sync = tail.rfind(kSyncField);
    // Few places look like the start of a packet without being one.
    for (int tries = 0; sync != std::string::npos && tries < 64; ++tries) {
      for (size_t length = 1; length <= kMaxLengthBytes && length + 1 <= sync; ++length) {
        const size_t begin = sync - length - 1;
        if (tail[begin] != kPacketTag) continue;
        if (ParsePacket(std::string_view(tail).substr(begin), true, packet)) {
          return packet->has_footer();
        }
      }
      if (sync == 0) break;
      sync = tail.rfind(kSyncField, sync - 1);
    }
    if (size >= file.size() || size > kMaxTail) return false;
  }
}

// Returns all parts of the index, from the first packets to the footer, or an empty vector if a
// part is not where the next one says.
std::vector<proto::Footer> ReadParts(const Bytes& file, const proto::Footer& footer) {
  std::vector<proto::Footer> parts = {footer};
  for (uint64_t before = file.size(); parts.back().index_offset() != 0;) {
    const uint64_t offset = parts.back().index_offset();
    Packet packet;
    if (offset >= before || !ParsePacket(file.Read(offset, kMaxTail), false, &packet) ||
        !packet.has_index()) {
      return {};
    }
    before = offset;
    parts.push_back(std::move(*packet.mutable_index()));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

uint32_t BodyOf(uint32_t body, uint32_t table) {
  if (body == Packet::kBlock || body == Packet::kPackedBlock) {
    return static_cast<uint32_t>(BatchOf(table));
  }
  return body == Packet::kPacked ? table : body;
}

class IndexedFile : public FileIndex {
 public:
  explicit IndexedFile(std::unique_ptr<Bytes> file) : file_(std::move(file)) {
    bytes_ = file_->size();
  }

  bool Find() {
    Packet last;
    if (bytes_ == 0 || !FindFooter(*file_, &last)) return false;
    const std::vector<proto::Footer> parts = ReadParts(*file_, last.footer());
    events_ = last.footer().total_events();
    last_sequence_ = last.sequence();
    return !parts.empty() && std::all_of(parts.begin(), parts.end(),
                                         [this](const proto::Footer& part) { return List(part); });
  }

  bool Read(size_t place, PacketDecoder* decoder, Packet* packet) const override {
    std::string buffer;
    return Read(place, &buffer, decoder, packet);
  }
  // The buffer and the decoder keep their memory for the next packet.
  bool Read(size_t place, std::string* buffer, PacketDecoder* decoder, Packet* packet) const {
    std::string_view bytes;
    if (!ReadBytes(place, buffer, &bytes) || !PacketDecoder::Parse(bytes, packet)) return false;
    const size_t worth_bytes = PacketDecoder::WorthOf(*packet, bytes.size());
    return decoder->Decode(worth_bytes, packet).ok() &&
           static_cast<uint32_t>(packet->body_case()) == packets_[place].body;
  }

  bool ReadBytes(size_t place, std::string* buffer, std::string_view* packet) const override {
    const PacketPlace& at = packets_[place];
    const size_t length = std::min<uint64_t>(at.end_bytes - at.offset_bytes, kMaxTail);
    if (buffer->size() < length) buffer->assign(length, '\0');
    const size_t have = file_->ReadTo(at.offset_bytes, buffer->data(), length);
    const Frame frame = ParseFrame(std::string_view(buffer->data(), have));
    if (frame.state != Frame::State::kWhole || !Lists(listed_at_[place], at.offset_bytes, frame)) {
      return false;
    }
    *packet = frame.packet;
    return true;
  }

  bool Whole() const override {
    std::vector<char> buffer(std::clamp<uint64_t>(bytes_, 1, 4 << 20));
    uint64_t at = 0, sequence = 0;
    size_t next = 0;
    while (at < bytes_) {
      std::string_view left(buffer.data(), file_->ReadTo(at, buffer.data(), buffer.size()));
      Frame frame = ParseFrame(left);
      if (frame.state == Frame::State::kNeedMore && frame.total_bytes > buffer.size()) {
        buffer.resize(frame.total_bytes);
        continue;
      }
      if (frame.state != Frame::State::kWhole) return false;
      for (; frame.state == Frame::State::kWhole; frame = ParseFrame(left)) {
        if (frame.sequence != ++sequence || !Lists(next, at, frame)) return false;
        ++next, at += frame.total_bytes;
        left.remove_prefix(frame.total_bytes);
      }
    }
    return next == listed_.size() + 1;  // the footer
  }

  bool Complete() const override {
    return has_times_ && !listed_.empty() && listed_.front().offset == 0 &&
           last_sequence_ == listed_.size() + 1;
  }

  PacketTimes Times(size_t place) const override {
    if (has_times_) return listed_[listed_at_[place]].times;
    return TimesInside(place).value_or(PacketTimes());
  }

  size_t CountWrongTimes(const std::vector<SeenTimes>& seen) const override {
    size_t wrong = 0;
    auto next = seen.begin();  // both are in the order of the file
    for (size_t place = 0; has_times_ && place < packets_.size(); ++place) {
      const PacketPlace& at = packets_[place];
      while (next != seen.end() && next->offset_bytes < at.offset_bytes) ++next;
      const bool was_seen = next != seen.end() && next->offset_bytes == at.offset_bytes &&
                            next->end_bytes <= at.end_bytes;
      const std::optional<PacketTimes> inside =
          was_seen ? std::optional(next->times) : TimesInside(place);
      wrong += inside.has_value() && *inside != Times(place);
    }
    return wrong;
  }

  std::unique_ptr<Reader> Choose(std::vector<size_t> places) const override;

 private:
  // Returns the times of the packet's rows by the packet, or nothing if it is damaged.
  std::optional<PacketTimes> TimesInside(size_t place) const {
    std::string buffer;
    std::string_view bytes;
    Packet packet;
    if (!ReadBytes(place, &buffer, &bytes) || !PacketDecoder::Parse(bytes, &packet)) {
      return std::nullopt;
    }
    return TimesOf(packet);
  }

  // Returns true if the packet is the one that the index lists there. The footer follows all of
  // them.
  bool Lists(size_t packet, uint64_t offset, const Frame& frame) const {
    if (packet >= listed_.size()) return packet == listed_.size();
    const Listed& listed = listed_[packet];
    return listed.offset == offset &&
           (!listed.has_checksum || listed.checksum == ChecksumOf(frame.packet));
  }
  static uint32_t ChecksumOf(std::string_view packet) {
    uint32_t checksum = 0;
    for (size_t i = 0; i < 4; ++i) {
      checksum |= uint32_t{static_cast<uint8_t>(packet[packet.size() - 4 + i])} << (8 * i);
    }
    return checksum;
  }

  bool List(const proto::Footer& part) {
    const int listed = part.offset_delta_size();
    if (part.body_size() != listed) return false;
    const std::vector<PacketTimes> times = IndexTimesOf(part);
    has_times_ = has_times_ && times.size() == static_cast<size_t>(listed);
    uint64_t offset = 0;
    for (int i = 0; i < listed; ++i) {
      offset += part.offset_delta(i);
      if (offset >= bytes_ || (any_ && offset <= last_offset_)) return false;
      if (!packets_.empty()) {
        packets_.back().end_bytes = std::min(packets_.back().end_bytes, offset);
      }
      any_ = true, last_offset_ = offset;
      listed_.push_back({offset, i < part.checksum_size() ? part.checksum(i) : 0,
                         i < part.checksum_size(),
                         has_times_ ? times[static_cast<size_t>(i)] : PacketTimes()});
      if (part.body(i) == Packet::kIndex) continue;
      const uint32_t table = i < part.table_size() ? part.table(i) : 0;
      const uint64_t events = i < part.events_size() ? part.events(i) : 0;
      listed_at_.push_back(listed_.size() - 1);
      packets_.push_back({offset, bytes_, BodyOf(part.body(i), table), events});
    }
    return true;
  }

  std::unique_ptr<Bytes> file_;
  bool any_ = false, has_times_ = true;
  uint64_t last_offset_ = 0, last_sequence_ = 0;
  // Includes the parts of the index.
  struct Listed {
    uint64_t offset;
    uint32_t checksum;
    bool has_checksum;
    PacketTimes times;  // if the index has them
  };
  std::vector<Listed> listed_;
  std::vector<size_t> listed_at_;  // position in listed_ of each place
};

class ChosenPackets : public Reader {
 public:
  ChosenPackets(const IndexedFile* file, std::vector<size_t> places)
      : file_(*file), places_(std::move(places)) {
    stats_.has_footer = true;
  }

  Next Read(Packet* packet) override {
    while (next_ < places_.size()) {
      const size_t place = places_[next_++];
      const PacketPlace& at = file_.packets()[place];
      const uint64_t length = at.end_bytes - at.offset_bytes;
      stats_.bytes += length;
      // A packed packet may be worth three times its size in the file.
      stats_.worth_bytes += kPackedWorth * length;
      packet->Clear();
      if (file_.Read(place, &buffer_, &decoder_, packet)) {
        ++stats_.packets;
        return Next::kPacket;
      }
      ++stats_.gap_count;
      stats_.gaps.push_back({at.offset_bytes, length, 1, "malformed"});
    }
    return Next::kEnd;
  }
  const TableRows* columns() const override { return decoder_.rows(); }
  uint64_t written_rows() const override { return decoder_.written_rows(); }
  const ReadStats& stats() const override { return stats_; }

 private:
  const IndexedFile& file_;
  const std::vector<size_t> places_;
  size_t next_ = 0;
  std::string buffer_;
  PacketDecoder decoder_;
  ReadStats stats_;
};

std::unique_ptr<Reader> IndexedFile::Choose(std::vector<size_t> places) const {
  return std::make_unique<ChosenPackets>(this, std::move(places));
}

}  // namespace

std::unique_ptr<FileIndex> FileIndex::Open(const std::string& path) {
  auto index = std::make_unique<IndexedFile>(std::make_unique<File>(path));
  if (!index->Find()) return nullptr;
  return index;
}

std::unique_ptr<FileIndex> FileIndex::FromMemory(std::string_view bytes) {
  auto index = std::make_unique<IndexedFile>(std::make_unique<BytesInMemory>(bytes));
  if (!index->Find()) return nullptr;
  return index;
}

}  // namespace acceltrace::stream
