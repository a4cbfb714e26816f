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
  if (number < 0x4000) {
    *(*out)++ = static_cast<char>(number >> 7 | 0x80);
    *(*out)++ = static_cast<char>(number & 0x7f);
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

// The types of texts go on from there, by twos.
constexpr size_t kTextType = 13;
// Cells of up to so many bytes are encoded a column at a time.
constexpr size_t kMostShort = sizeof(uint64_t);

// Bytes that the values of types take, as far as they are short.
constexpr auto kBytesOfType = [] {
  std::array<uint8_t, kTextType + 2 * kMostShort + 1> bytes = {0, 1, 2, 3, 4, 6, 8, 8};
  for (size_t text = 0; text <= kMostShort; ++text) {
    bytes[kTextType + 2 * text] = static_cast<uint8_t>(text);
  }
  return bytes;
}();

// By how many zeros are before a number's highest bit, sign apart.
constexpr auto kTypeOfZeros = [] {
  std::array<uint8_t, 64> types{};
  for (size_t zeros = 0; zeros < types.size(); ++zeros) {
    const size_t bytes = (64 - zeros + 1 + 7) / 8;
    types[zeros] = static_cast<uint8_t>(bytes <= 4 ? bytes : bytes <= 6 ? 5 : 6);
  }
  return types;
}();

// Without branches: which numbers are 0 or 1 is anyone's guess.
inline uint8_t TypeOf(uint64_t number) {
  const uint64_t size = number ^ static_cast<uint64_t>(static_cast<int64_t>(number) >> 63);
  const uint8_t type = kTypeOfZeros[static_cast<size_t>(__builtin_clzll(size | 1))];
  return number <= 1 ? static_cast<uint8_t>(8 + number) : type;
}

// The bytes of a number of that type, as they lie in memory.
inline uint64_t BodyOf(uint64_t number, uint8_t type) {
  static constexpr uint8_t kShift[] = {0, 56, 48, 40, 32, 16, 0, 0, 0, 0};
  number <<= kShift[type];
  return std::endian::native == std::endian::little ? __builtin_bswap64(number) : number;
}

void PutInteger(int64_t number, Record* to) {
  const uint8_t type = TypeOf(static_cast<uint64_t>(number));
  *to->header++ = static_cast<char>(type);
  // There is room for all of it: what is too much is written over.
  const uint64_t body = BodyOf(static_cast<uint64_t>(number), type);
  std::memcpy(to->body, &body, sizeof(body));
  to->body += kBytesOfType[type];
}

void PutText(std::string_view text, Record* to) {
  const size_t type = text.size() * 2 + kTextType;
  if (type < 0x80) {
    *to->header++ = static_cast<char>(type);
  } else {
    PutVarint(type, &to->header);
  }
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
  page_.resize(kPage);
  content_ = kPage, num_cells_ = 0;
}

void SqliteRows::EndPage() {
  // What a page before had there.
  const size_t pointers = kLeafHeader + 2 * size_t{num_cells_};
  std::fill_n(page_.begin(), kLeafHeader, '\0');
  std::fill(page_.begin() + static_cast<ptrdiff_t>(pointers),
            page_.begin() + static_cast<ptrdiff_t>(content_), '\0');
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

void SqliteRows::PutCell(const Cell& cell, PlainTable::Type type, size_t room, Record* record) {
  const bool real = type == PlainTable::Type::kReal;
  if (const auto* i = std::get_if<int64_t>(&cell)) {
    return real ? PutReal(static_cast<double>(*i), record) : PutInteger(*i, record);
  }
  if (const auto* u = std::get_if<uint64_t>(&cell)) {
    if (real) return PutReal(static_cast<double>(*u), record);
    if (*u > INT64_MAX) return PutLongText(std::to_string(*u), room, record);
    return PutInteger(static_cast<int64_t>(*u), record);
  }
  if (const auto* text = std::get_if<std::string_view>(&cell)) {
    return PutLongText(*text, room, record);
  }
  if (const auto* number = std::get_if<double>(&cell)) return PutReal(*number, record);
  *record->header++ = 0;
}

bool SqliteRows::Encode(const ColumnCells& cells, size_t rows, PlainTable::Type type,
                        Encoded* out) {
  using Kind = ColumnCells::Kind;
  if (cells.kind() == Kind::kAny) return EncodeTexts(cells, rows, out);
  if (type == PlainTable::Type::kReal) return false;
  const std::span<const uint64_t> numbers = cells.integers();
  uint64_t all = numbers[0];
  uint8_t* types = out->types.data();
  uint64_t* bodies = out->bodies.data();
  // Many columns have one value in all rows.
  if (std::all_of(numbers.begin(), numbers.end(), [all](uint64_t n) { return n == all; })) {
    const uint8_t of = TypeOf(all);
    std::fill_n(types, rows, of);
    std::fill_n(bodies, rows, BodyOf(all, of));
  } else {
    for (const uint64_t number : numbers) {
      const uint8_t of = TypeOf(number);
      *types++ = of, *bodies++ = BodyOf(number, of);
      all |= number;
    }
  }
  const std::span<const uint8_t> seen = cells.seen();
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] == 0) out->types[i] = 0;
  }
  // More is text to SQLite.
  return cells.kind() == Kind::kSigned || all <= INT64_MAX;
}

bool SqliteRows::EncodeTexts(const ColumnCells& cells, size_t rows, Encoded* out) {
  std::string_view last;
  uint64_t body = 0;
  for (size_t i = 0; i < rows; ++i) {
    const auto* text = std::get_if<std::string_view>(&cells.any(i));
    if (text == nullptr || text->size() > kMostShort) return false;
    if (text->data() != last.data() || text->size() != last.size()) {
      last = *text;
      last.copy(reinterpret_cast<char*>(&body), last.size());
    }
    out->types[i] = static_cast<uint8_t>(kTextType + 2 * last.size());
    out->bodies[i] = body;
  }
  return true;
}

// Of a row, those up to the first one that is not encoded; that one.
const SqliteRows::Encoded* SqliteRows::Put(const Encoded* from, const Encoded* to, size_t row,
                                           SqliteRecord* record) {
  char *header = record->header, *body = record->body;
  for (; from != to && from->done; ++from) {
    // There is room for all of it: what is too much is written over.
    const uint64_t bytes = from->bodies[row];
    std::memcpy(body, &bytes, sizeof(bytes));
    const size_t type = from->types[row];
    body += kBytesOfType[type];
    *header++ = static_cast<char>(type);
  }
  *record = {header, body};
  return from;
}

void SqliteRows::Add(std::span<const ColumnCells> columns, size_t rows,
                     std::span<const PlainTable::Type> types) {
  const size_t numbers = columns.size() * kMostOfNumber;
  if (header_.size() < columns.size() * kMostVarint) header_.resize(columns.size() * kMostVarint);
  if (body_.size() < numbers) body_.resize(numbers);
  encoded_.resize(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    encoded_[c].done = Encode(columns[c], rows, types[c], &encoded_[c]);
  }
  const Encoded* const end = encoded_.data() + encoded_.size();
  for (size_t i = 0; i < rows; ++i) {
    Record record = {header_.data(), body_.data()};
    const Encoded* at = Put(encoded_.data(), end, i, &record);
    while (at != end) {
      const auto c = static_cast<size_t>(at - encoded_.data());
      PutCell(columns[c][i], types[c], numbers, &record);
      at = Put(at + 1, end, i, &record);
    }
    AddRecord({header_.data(), static_cast<size_t>(record.header - header_.data())},
              {body_.data(), static_cast<size_t>(record.body - body_.data())});
  }
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
  const auto head = static_cast<size_t>(end - front);
  const auto write = [&](char* out) {
    std::memcpy(out, front, head);
    std::memcpy(out + head, types.data(), types.size());
    std::memcpy(out + head + types.size(), body.data(), body.size());
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
