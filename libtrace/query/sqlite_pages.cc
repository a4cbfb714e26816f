// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/sqlite_pages.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace acceltrace::query {
namespace {

constexpr size_t kPage = SqlitePages::kPageBytes;
constexpr size_t kLeafHeader = 8, kInteriorHeader = 12;
constexpr char kLeaf = 0x0d, kInterior = 0x05;
constexpr size_t kFlushPages = 512;
// A cell of more goes on in pages of its own.
constexpr size_t kMostLocal = kPage - 35, kLeastLocal = (kPage - 12) * 32 / 255 - 23;
// Children of an interior page, each with a number of up to 9 bytes.
constexpr size_t kMostChildren = (kPage - kInteriorHeader) / (2 + 4 + 9);

// Big-endian.
template <typename T>
void Store(T number, char* out) {
  if constexpr (std::endian::native == std::endian::little) {
    if constexpr (sizeof(T) == 2) number = __builtin_bswap16(number);
    if constexpr (sizeof(T) == 4) number = __builtin_bswap32(number);
    if constexpr (sizeof(T) == 8) number = __builtin_bswap64(number);
  }
  std::memcpy(out, &number, sizeof(T));
}

// SQLite's: 7 bits a byte, the highest first; all 8 of the ninth.
void PutVarint(uint64_t number, char** out) {
  if (number < 0x80) {
    *(*out)++ = static_cast<char>(number);
    return;
  }
  if (number >> 56 != 0) {
    (*out)[8] = static_cast<char>(number);
    number >>= 8;
    for (int n = 8; n-- > 0; number >>= 7) (*out)[n] = static_cast<char>(number | 0x80);
    *out += 9;
    return;
  }
  const int bytes = (std::bit_width(number) + 6) / 7;
  for (int n = bytes; n-- > 0; number >>= 7) {
    (*out)[n] = static_cast<char>((number & 0x7f) | (n == bytes - 1 ? 0 : 0x80));
  }
  *out += bytes;
}

// What a number or a text may take: its type in the header, its bytes in the body.
constexpr size_t kMostOfNumber = 20, kMostVarint = 9;

using Record = SqliteRecord;

// Without branches: which numbers are 0 or 1 is anyone's guess.
inline __attribute__((always_inline)) void PutInteger(int64_t number, Record* to) {
  const uint64_t size = static_cast<uint64_t>(number < 0 ? ~number : number);
  // By how many bytes its bits, the sign included, take.
  static constexpr uint8_t kTypes[] = {1, 1, 2, 3, 4, 5, 5, 6, 6};
  static constexpr uint8_t kBytes[] = {1, 1, 2, 3, 4, 6, 6, 8, 8};
  const int wide = (std::bit_width(size) + 1 + 7) / 8;
  const bool in_type = static_cast<uint64_t>(number) <= 1;
  const unsigned type = in_type ? 8 + static_cast<unsigned>(number) : kTypes[wide];
  const unsigned bytes = in_type ? 0 : kBytes[wide];
  *to->header++ = static_cast<char>(type);
  // There is room for all of it: what is too much is written over.
  Store(static_cast<uint64_t>(number) << ((64 - 8 * bytes) & 63), to->body);
  to->body += bytes;
}

void PutText(std::string_view text, Record* to) {
  PutVarint(text.size() * 2 + 13, &to->header);
  to->body += text.copy(to->body, text.size());
}

void PutReal(double number, Record* to) {
  if (std::isnan(number)) {  // as SQLite does
    *to->header++ = 0;
    return;
  }
  *to->header++ = 7;
  Store(std::bit_cast<uint64_t>(number), to->body);
  to->body += 8;
}

}  // namespace

void SqlitePages::Write(std::string_view bytes, uint64_t at) {
  while (error_ == 0 && !bytes.empty()) {
    const ssize_t wrote = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      error_ = wrote < 0 ? errno : ENOSPC;
      return;
    }
    bytes.remove_prefix(static_cast<size_t>(wrote)), at += static_cast<uint64_t>(wrote);
  }
}

void SqlitePages::Flush() {
  Write(buffer_, uint64_t{pages_ - written_} * kPageBytes);
  buffer_.clear(), written_ = 0;
}

uint32_t SqlitePages::Append(std::string_view page) {
  if (pages_ == UINT32_MAX - 1) error_ = EFBIG;
  if (error_ != 0) return pages_;
  buffer_ += page;
  ++pages_;
  if (++written_ == kFlushPages) Flush();
  return pages_;
}

void SqlitePages::WriteAt(uint32_t number, std::string_view page) {
  Flush();
  Write(page, uint64_t{number - 1} * kPageBytes);
}

int SqlitePages::Finish() {
  Flush();
  constexpr uint64_t kSizeAt = 28;  // in the file's header
  char size[4];
  Store(pages_, size);
  Write({size, sizeof(size)}, kSizeAt);
  return error_;
}

void SqliteRows::StartPage() {
  page_.assign(kPage, '\0');
  content_ = kPage, num_cells_ = 0;
}

void SqliteRows::EndPage() {
  page_[0] = kLeaf;
  Store(static_cast<uint16_t>(num_cells_), &page_[3]);
  Store(static_cast<uint16_t>(content_), &page_[5]);
}

uint32_t SqliteRows::Overflow(std::string_view rest) {
  // From the last one back, since each names the next.
  constexpr size_t kRoom = kPage - 4;
  uint32_t next = 0;
  for (size_t parts = (rest.size() + kRoom - 1) / kRoom; parts-- > 0;) {
    std::string page(kPage, '\0');
    Store(next, page.data());
    const std::string_view part = rest.substr(parts * kRoom, kRoom);
    part.copy(&page[4], part.size());
    next = pages_->Append(page);
  }
  return next;
}

void SqliteRows::PutLongText(std::string_view text, size_t room, Record* record) {
  const auto used = static_cast<size_t>(record->body - body_.data());
  if (body_.size() < used + text.size() + room) {
    body_.resize(2 * (used + text.size() + room));
    record->body = body_.data() + used;
  }
  PutText(text, record);
}

void SqliteRows::Add(const RowCells& cells, std::span<const PlainTable::Type> types) {
  const size_t columns = cells.size(), numbers = columns * kMostOfNumber;
  if (header_.size() < columns * kMostVarint) header_.resize(columns * kMostVarint);
  if (body_.size() < numbers) body_.resize(numbers);
  Record record = {header_.data(), body_.data()};
  for (size_t c = 0; c < columns; ++c) {
    const Cell& cell = cells[c];
    int64_t number = 0;
    if (const auto* i = std::get_if<int64_t>(&cell)) {
      number = *i;
    } else if (const auto* u = std::get_if<uint64_t>(&cell)) {
      number = static_cast<int64_t>(*u);
      if (number < 0) {
        if (types[c] == PlainTable::Type::kReal) {
          PutReal(static_cast<double>(*u), &record);
        } else {
          PutLongText(std::to_string(*u), numbers, &record);
        }
        continue;
      }
    } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
      PutLongText(*text, numbers, &record);
      continue;
    } else if (const auto* real = std::get_if<double>(&cell)) {
      PutReal(*real, &record);
      continue;
    } else {
      *record.header++ = 0;
      continue;
    }
    if (types[c] == PlainTable::Type::kReal) {
      PutReal(static_cast<double>(number), &record);
    } else {
      PutInteger(number, &record);
    }
  }
  AddRecord({header_.data(), static_cast<size_t>(record.header - header_.data())},
            {body_.data(), static_cast<size_t>(record.body - body_.data())});
}

void SqliteRows::AddRecord(std::string_view types, std::string_view body) {
  // A record: how long its header is, with that number itself, the header, the values.
  const size_t header = types.size() + (types.size() < 127 ? 1 : types.size() < 16382 ? 2 : 3);
  const size_t payload = header + body.size();
  ++row_;
  char front[3 * kMostVarint];
  char* end = front;
  PutVarint(payload, &end), PutVarint(row_, &end);
  const auto before = static_cast<size_t>(end - front);
  PutVarint(header, &end);
  const std::string_view head(front, static_cast<size_t>(end - front));
  const auto write = [&](char* out) {
    out += head.copy(out, head.size());
    out += types.copy(out, types.size());
    body.copy(out, body.size());
  };
  if (payload <= kMostLocal) return write(RoomOnPage(before + payload));
  cell_.resize(std::max(cell_.size(), before + payload + 4));
  write(cell_.data());
  size_t local = kLeastLocal + (payload - kLeastLocal) % (kPage - 4);
  if (local > kMostLocal) local = kLeastLocal;
  const uint32_t more = Overflow(std::string_view(cell_).substr(before + local, payload - local));
  Store(more, &cell_[before + local]);
  const size_t size = before + local + 4;
  cell_.copy(RoomOnPage(size), size);
}

char* SqliteRows::RoomOnPage(size_t size) {
  if (page_.empty()) StartPage();
  if (kLeafHeader + 2 * (size_t{num_cells_} + 1) + size > content_) {
    EndPage();
    leaves_.push_back({pages_->Append(page_), row_ - 1});
    StartPage();
  }
  content_ -= size;
  Store(static_cast<uint16_t>(content_), &page_[kLeafHeader + 2 * size_t{num_cells_}]);
  ++num_cells_;
  return &page_[content_];
}

std::string SqliteRows::Interior(std::span<const Child> children) const {
  std::string page(kPage, '\0');
  size_t content = kPage;
  for (size_t i = 0; i + 1 < children.size(); ++i) {
    char bytes[4 + kMostVarint];
    Store(children[i].page, bytes);
    char* end = bytes + 4;
    PutVarint(children[i].last, &end);
    const std::string_view cell(bytes, static_cast<size_t>(end - bytes));
    content -= cell.size();
    cell.copy(&page[content], cell.size());
    Store(static_cast<uint16_t>(content), &page[kInteriorHeader + 2 * i]);
  }
  page[0] = kInterior;
  Store(static_cast<uint16_t>(children.size() - 1), &page[3]);
  Store(static_cast<uint16_t>(content), &page[5]);
  Store(children.back().page, &page[8]);
  return page;
}

void SqliteRows::Finish() {
  if (row_ == 0) return;  // as SQLite made it
  EndPage();
  if (leaves_.empty()) {
    pages_->WriteAt(root_, page_);
    return;
  }
  leaves_.push_back({pages_->Append(page_), row_});
  while (leaves_.size() > kMostChildren) {
    std::vector<Child> above;
    // No page has one child only: the last two share what is left.
    for (size_t i = 0; i < leaves_.size();) {
      size_t n = std::min(kMostChildren, leaves_.size() - i);
      if (leaves_.size() - i - n == 1) --n;
      const std::span<const Child> children = std::span<const Child>(leaves_).subspan(i, n);
      above.push_back({pages_->Append(Interior(children)), children.back().last});
      i += n;
    }
    leaves_ = std::move(above);
  }
  pages_->WriteAt(root_, Interior(leaves_));
}

}  // namespace acceltrace::query
