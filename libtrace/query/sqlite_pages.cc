// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/sqlite_pages.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

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

constexpr size_t kMostVarint = 9;
// Before a record's types: how long it is, its number, how long its header is.
constexpr size_t kFront = 3 * kMostVarint;

constexpr uint8_t kRealType = 7;
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

// A number's bits, sign apart.
inline uint64_t SizeOf(uint64_t number) {
  return number ^ static_cast<uint64_t>(static_cast<int64_t>(number) >> 63);
}

// Without branches: which numbers are 0 or 1 is anyone's guess.
inline uint8_t TypeOf(uint64_t number) {
  const uint8_t type = kTypeOfZeros[static_cast<size_t>(__builtin_clzll(SizeOf(number) | 1))];
  return number <= 1 ? static_cast<uint8_t>(8 + number) : type;
}

// The bytes of a number of that type, as they lie in memory.
inline uint64_t BodyOf(uint64_t number, uint8_t type) {
  static constexpr uint8_t kShift[] = {0, 56, 48, 40, 32, 16, 0, 0, 0, 0};
  number <<= kShift[type];
  return std::endian::native == std::endian::little ? __builtin_bswap64(number) : number;
}

// The bits in which they differ from the first one.
uint64_t Differences(std::span<const uint64_t> numbers) {
  const uint64_t first = numbers[0];
  uint64_t differ[4] = {};
  size_t i = 0;
  for (; i + 4 <= numbers.size(); i += 4) {
    for (size_t n = 0; n < 4; ++n) differ[n] |= numbers[i + n] ^ first;
  }
  for (; i < numbers.size(); ++i) differ[0] |= numbers[i] ^ first;
  return differ[0] | differ[1] | differ[2] | differ[3];
}

// By itself, so that the compiler knows no bound of the size: for up to some KB it would take an
// instruction that is slow to start.
[[gnu::noinline]] void Copy(std::string_view from, char* to) {
  std::memcpy(to, from.data(), from.size());
}

size_t VarintBytes(uint64_t number) {
  return number >> 56 != 0 ? kMostVarint
                           : (static_cast<size_t>(std::bit_width(number | 1)) + 6) / 7;
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

void SqliteRows::PutText(std::string_view text, uint32_t column, Record* record) {
  const size_t type = text.size() * 2 + kTextType;
  const size_t at = kFront + column + record->wider, more = VarintBytes(type) - 1;
  const size_t end = record->end + more + text.size();
  // What comes after it has room as well.
  const size_t room = (columns_ + 1) * sizeof(uint64_t);
  if (record_.size() < end + room) record_.resize(2 * (end + room));
  char* const base = record_.data();
  // One byte of its type has its place already.
  if (more != 0) std::memmove(base + at + 1 + more, base + at + 1, record->end - at - 1);
  char* out = base + at;
  PutVarint(type, &out);
  text.copy(base + record->end + more, text.size());
  record->wider += more, record->end = end;
}

void SqliteRows::PutCell(const Cell& cell, PlainTable::Type type, uint32_t column, Record* record) {
  const bool real = type == PlainTable::Type::kReal;
  double number = 0;
  uint64_t whole = 0;
  bool is_real = real;
  if (const auto* i = std::get_if<int64_t>(&cell)) {
    number = static_cast<double>(*i), whole = static_cast<uint64_t>(*i);
  } else if (const auto* u = std::get_if<uint64_t>(&cell)) {
    if (!real && *u > INT64_MAX) return PutText(std::to_string(*u), column, record);
    number = static_cast<double>(*u), whole = *u;
  } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
    return PutText(*text, column, record);
  } else if (const auto* d = std::get_if<double>(&cell)) {
    number = *d, is_real = true;
  } else {
    number = std::numeric_limits<double>::quiet_NaN(), is_real = true;
  }
  // As SQLite does, what is no number is nothing.
  const bool none = is_real && std::isnan(number);
  const uint8_t of = none ? 0 : is_real ? kRealType : TypeOf(whole);
  const uint64_t body = BodyOf(is_real ? std::bit_cast<uint64_t>(number) : whole, of);
  char* const base = record_.data();
  base[kFront + column + record->wider] = static_cast<char>(of);
  // There is room for all of it: what is too much is written over.
  std::memcpy(base + record->end, &body, sizeof(body));
  record->end += kBytesOfType[of];
}

bool SqliteRows::Encode(const ColumnCells& cells, size_t rows, PlainTable::Type type,
                        Encoded* out) {
  using Kind = ColumnCells::Kind;
  out->mixed = out->one = false;
  if (cells.kind() == Kind::kAny) return EncodeTexts(cells, rows, out);
  if (type == PlainTable::Type::kReal) return false;
  if (!EncodeNumbers(cells.integers(), cells.kind() == Kind::kSigned, out)) return false;
  const std::span<const uint8_t> seen = cells.seen();
  if (std::find(seen.begin(), seen.end(), 0) == seen.end()) return true;
  if (!out->mixed) out->types.fill(out->type);
  if (out->one) out->bodies.fill(out->bodies[0]);
  out->mixed = true, out->one = false;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] == 0) out->types[i] = 0;
  }
  return true;
}

bool SqliteRows::EncodeNumbers(std::span<const uint64_t> numbers, bool is_signed, Encoded* out) {
  const uint64_t first = numbers[0], differ = Differences(numbers);
  // More is text to SQLite.
  if (!is_signed && (first | differ) > INT64_MAX) return false;
  const uint8_t type = out->type = TypeOf(first);
  uint64_t* bodies = out->bodies.data();
  // Many columns have one value in all rows, and most others values of one length.
  if (differ == 0) {
    out->one = true;
    *bodies = BodyOf(first, type);
    return true;
  }
  if (const uint64_t size = SizeOf(first); size > 1 && differ < std::bit_floor(size)) {
    for (const uint64_t number : numbers) *bodies++ = BodyOf(number, type);
    return true;
  }
  uint8_t* types = out->types.data();
  for (const uint64_t number : numbers) {
    const uint8_t of = TypeOf(number);
    *types++ = of, *bodies++ = BodyOf(number, of);
  }
  out->mixed = true;
  return true;
}

bool SqliteRows::EncodeTexts(const ColumnCells& cells, size_t rows, Encoded* out) {
  std::string_view last;
  uint64_t body = 0;
  out->one = out->mixed = false;
  for (size_t i = 0; i < rows; ++i) {
    const auto* text = std::get_if<std::string_view>(&cells.any(i));
    if (text == nullptr || text->size() > kMostShort) return false;
    if (text->data() != last.data() || text->size() != last.size()) {
      last = *text;
      last.copy(reinterpret_cast<char*>(&body), last.size());
    }
    out->types[i] = static_cast<uint8_t>(kTextType + 2 * last.size());
    out->mixed |= out->types[i] != out->types[0];
    out->bodies[i] = body;
  }
  out->type = out->types[0];
  return true;
}

void SqliteRows::Plan(std::span<const ColumnCells> columns, size_t rows,
                      std::span<const PlainTable::Type> types) {
  columns_ = columns.size();
  encoded_.resize(columns_), types_.resize(columns_);
  steps_.clear();
  for (uint32_t c = 0; c < columns_; ++c) {
    Encoded& encoded = encoded_[c];
    auto kind = Step::Kind::kCell;
    uint8_t bytes = 0;
    if (Encode(columns[c], rows, types[c], &encoded)) {
      kind = encoded.mixed ? Step::Kind::kMixed : Step::Kind::kFixed;
      types_[c] = static_cast<char>(encoded.type);
      bytes = kBytesOfType[encoded.type];
      if (!encoded.mixed && bytes == 0) continue;
    }
    steps_.push_back({encoded.bodies.data(), encoded.types.data(),
                      encoded.one ? size_t{0} : SIZE_MAX, c, kind, bytes});
  }
}

void SqliteRows::Add(std::span<const ColumnCells> columns, size_t rows,
                     std::span<const PlainTable::Type> types) {
  Plan(columns, rows, types);
  // A number's type is a byte; what it is takes up to eight, more than which is written over.
  const size_t values = kFront + columns_;
  record_.resize(std::max(record_.size(), values + (columns_ + 1) * sizeof(uint64_t)));
  for (size_t i = 0; i < rows; ++i) {
    Record record{0, values};
    char *base = record_.data(), *body = base + values;
    types_.copy(base + kFront, columns_);
    for (const Step& step : steps_) {
      // Of a cell that is put by itself it is written over.
      std::memcpy(body, step.bodies + (i & step.rows), sizeof(uint64_t));
      if (step.kind == Step::Kind::kFixed) {
        body += step.bytes;
      } else if (step.kind == Step::Kind::kMixed) {
        const uint8_t type = step.types[i];
        base[kFront + step.column + record.wider] = static_cast<char>(type);
        body += kBytesOfType[type];
      } else {
        record.end = static_cast<size_t>(body - base);
        PutCell(columns[step.column][i], types[step.column], step.column, &record);
        base = record_.data(), body = base + record.end;
      }
    }
    record.end = static_cast<size_t>(body - base);
    AddRecord(record);
  }
}

void SqliteRows::AddRecord(const Record& record) {
  // A record: how long its header is, with that number itself, the header, the values.
  const size_t types = columns_ + record.wider;
  const size_t header = types + (types < 127 ? 1 : types < 16382 ? 2 : 3);
  const size_t payload = header + record.end - kFront - types;
  ++row_;
  const size_t before = VarintBytes(payload) + VarintBytes(row_), size = before + payload;
  char* const cell = record_.data() + kFront + types - header - before;
  char* front = cell;
  PutVarint(payload, &front), PutVarint(row_, &front), PutVarint(header, &front);
  if (payload <= kMostLocal) {
    Copy({cell, size}, RoomOnPage(size));
    return;
  }
  size_t local = kLeastLocal + (payload - kLeastLocal) % (kPage - 4);
  if (local > kMostLocal) local = kLeastLocal;
  const size_t here = before + local;
  const uint32_t more = Overflow({cell + here, size - here});
  char* const out = RoomOnPage(here + 4);
  Copy({cell, here}, out);
  Store(more, out + here);
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
