// SPDX-License-Identifier: Apache-2.0
//
// The rows of a batch, by protobuf's parser and without it.
#include "libtrace/stream/batch_rows.h"

#include <random>
#include <string>
#include <vector>

#include "libtrace/stream/batches.h"
#include "libtrace/stream/block.h"
#include "libtrace/stream/codec.h"
#include "libtrace/stream/columns.h"
#include "libtrace/stream/framing.h"
#include "libtrace/stream/numbers.h"
#include "libtrace/stream/packed.h"
#include "libtrace/stream/packet_times.h"
#include "libtrace/stream/validate.h"
#include "libtrace/stream/wire.h"
#include "tests/catch.h"

namespace acceltrace::stream {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using proto::Packet;

// Numbers of all lengths, most of them alike.
uint64_t Number(std::mt19937_64& random, int shape) {
  switch (shape) {
    case 0:
      return random() % 2;
    case 1:
      return random() % 128;
    case 2:
      return 128 + random() % 16'000;
    case 3:
      return 20'000 + random() % 100'000;
    default:
      return random() >> random() % 64;
  }
}

void FillColumns(std::mt19937_64& random, int rows, Message* batch) {
  const auto& reflection = *batch->GetReflection();
  for (int i = 0; i < batch->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = batch->GetDescriptor()->field(i);
    if (!field->is_repeated()) continue;
    const std::string& name = field->name();
    const bool first = name == "kind" || name.find("fetched_ticks_d") == 0 ||
                       name.find("doorbell_ticks_d") == 0 || name == "begin_ns_delta";
    if (!first && random() % 4 == 0) continue;
    const bool flag = name == "has_irq" || name == "open" || name == "began_before" ||
                      name == "in_flight" || name == "device";
    const bool small = name == "kind" || name == "unit", time = name.find("_ns") + 3 <= name.size();
    const int shape = flag ? 0 : small ? 1 : time ? 2 : static_cast<int>(random() % 5);
    const int stalls = name == "stall_ticks" ? 3 : 1;
    for (int row = 0; row < rows * stalls; ++row) {
      const uint64_t value = small ? random() % 16 : Number(random, shape);
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_UINT32:
          reflection.AddUInt32(batch, field, static_cast<uint32_t>(value));
          break;
        case FieldDescriptor::CPPTYPE_INT32:
          reflection.AddInt32(batch, field, static_cast<int32_t>(value));
          break;
        case FieldDescriptor::CPPTYPE_INT64:
          reflection.AddInt64(batch, field, static_cast<int64_t>(value));
          break;
        default:
          reflection.AddUInt64(batch, field, value);
      }
    }
  }
}

Packet RandomBatch(std::mt19937_64& random) {
  Packet packet;
  packet.set_sync(kSync), packet.set_sequence(1 + random() % 1000);
  packet.set_crc32c(static_cast<uint32_t>(random()));
  const int rows = 1 + static_cast<int>(random() % (random() % 16 == 0 ? 3000 : 60));
  switch (random() % 4) {
    case 0:
      packet.mutable_commands()->set_device(random() % 4);
      FillColumns(random, rows, packet.mutable_commands());
      break;
    case 1:
      packet.mutable_jobs()->set_device(random() % 4);
      FillColumns(random, rows, packet.mutable_jobs());
      break;
    case 2:
      FillColumns(random, rows, packet.mutable_api());
      break;
    default:
      FillColumns(random, rows, packet.mutable_host());
  }
  return packet;
}

TableRows RowsOf(const Packet& packet) {
  if (packet.has_commands()) return TableRows(packet.commands());
  if (packet.has_jobs()) return TableRows(packet.jobs());
  return packet.has_api() ? TableRows(packet.api()) : TableRows(packet.host());
}

template <typename T>
size_t Differences(const TableRows& a, const TableRows& b, int column) {
  std::vector<T> x(a.rows()), y(b.rows());
  a.Read(column, x.data()), b.Read(column, y.data());
  return x != y;
}

size_t Differences(TableRows a, TableRows b) {
  size_t different = a.rows() != b.rows() || a.stalls() != b.stalls();
  while (different == 0 && a.rows() > 0) {
    const TableRows part_a = a.Take(17), part_b = b.Take(17);
    for (int column = 1; column < static_cast<int>(TableRows::kColumns); ++column) {
      different += part_a.has(column) != part_b.has(column);
      different += Differences<uint64_t>(part_a, part_b, column);
      different += Differences<uint32_t>(part_a, part_b, column);
      different += Differences<int32_t>(part_a, part_b, column);
      different += Differences<uint8_t>(part_a, part_b, column);
    }
    std::vector<uint64_t> x(part_a.rows() * part_a.stalls()), y = x;
    part_a.ReadStalls(x.data()), part_b.ReadStalls(y.data());
    different += x != y;
  }
  return different;
}

// Whether the bytes were taken; what is taken is what the parser and the checks make of them.
bool TakenAlike(const std::string& bytes, size_t* says_when) {
  static BatchRows rows;  // as a reader has it: its room is used again
  Packet packet, parsed;
  packet.set_sequence(77);
  if (!rows.Open(bytes, bytes.size(), &packet)) {
    REQUIRE(packet.sequence() == 77);
    return false;
  }
  REQUIRE(IsModest(bytes));
  REQUIRE(parsed.ParseFromString(bytes));
  const bool packed = parsed.has_packed();
  REQUIRE(rows.written_body() == static_cast<uint32_t>(parsed.body_case()));
  REQUIRE(rows.worth() == bytes.size() * (packed ? kPackedWorth : 1));
  uint64_t written_rows = 0;
  REQUIRE(Expand(&parsed, &written_rows).ok());
  REQUIRE(Validate(parsed, rows.worth()).ok());
  REQUIRE(packet.body_case() == parsed.body_case());
  REQUIRE(packet.sequence() == parsed.sequence());
  REQUIRE(packet.crc32c() == parsed.crc32c());
  REQUIRE(packet.sync() == parsed.sync());
  REQUIRE(packet.commands().device() == parsed.commands().device());
  REQUIRE(packet.jobs().device() == parsed.jobs().device());
  REQUIRE(rows.rows().rows() == Rows(parsed));
  REQUIRE(Differences(rows.rows(), RowsOf(parsed)) == 0);
  // Where it says when they were, the bytes do.
  std::string frame(1, kPacketTag);
  AppendVarint(bytes.size(), &frame);
  frame += bytes;
  const PacketTimes times = rows.Times();
  if (times.clock != PacketTimes::Clock::kUnknown) {
    REQUIRE(times == TimesOf(BytesInMemory(frame), 0, frame.size()));
  }
  *says_when += times.clock != PacketTimes::Clock::kUnknown;
  return true;
}

void Mutate(std::mt19937_64& random, std::string* bytes) {
  for (size_t times = 1 + random() % 3; times > 0; --times) {
    (*bytes)[random() % bytes->size()] =
        static_cast<char>(random() % 2 == 0 ? random() : 0x80 | random() % 4);
  }
  if (random() % 8 == 0) bytes->resize(random() % bytes->size());
}

TEST_CASE("rows from the bytes of a batch are those of its message") {
  std::mt19937_64 random(23);
  size_t taken = 0, sound = 0, of_mutants = 0, say_when = 0, mutants_say = 0;
  for (int i = 0; i < 400; ++i) {
    const Packet packet = RandomBatch(random);
    std::string bytes = packet.SerializeAsString();
    const bool is_sound = Validate(packet, bytes.size()).ok();
    sound += is_sound;
    const bool is_taken = TakenAlike(bytes, &say_when);
    taken += is_taken;
    if (is_taken) REQUIRE(is_sound);
    for (int mutant = 0; mutant < 60; ++mutant) {
      std::string other = bytes;
      Mutate(random, &other);
      of_mutants += TakenAlike(other, &mutants_say);
    }
  }
  // What PacketEncoder writes is taken.
  CHECK(sound > 200);
  CHECK(taken == sound);
  CHECK(of_mutants > 1000);
  CHECK(say_when > taken * 3 / 4);  // host events may have no times
  CHECK(mutants_say > 800);
}

Packet Packed(int body, const std::string& bytes) {
  Packet packet;
  packet.set_sequence(9);
  packet.set_crc32c(7);
  proto::Packed& packed = *packet.mutable_packed();
  packed.set_body(static_cast<uint32_t>(body));
  packed.set_size(static_cast<uint32_t>(bytes.size()));
  Compressor().Compress(bytes, 3, packed.mutable_data());
  return packet;
}

TEST_CASE("rows of a batch that came packed are those that it unpacks to") {
  std::mt19937_64 random(37);
  size_t taken = 0, sound = 0, of_mutants = 0, say_when = 0;
  for (int i = 0; i < 200; ++i) {
    const Packet batch = RandomBatch(random);
    const std::string body = Body(batch)->SerializeAsString();
    Packet packed = Packed(batch.body_case(), body);
    if (i % 2 == 0) packed.mutable_packed()->set_filling(std::string(1 + random() % 99, '\0'));
    const std::string bytes = packed.SerializeAsString();
    const bool is_sound = Validate(batch, bytes.size() * kPackedWorth).ok();
    const bool is_taken = TakenAlike(bytes, &say_when);
    CHECK(is_taken == is_sound);
    sound += is_sound, taken += is_taken;
    for (int mutant = 0; mutant < 30; ++mutant) {
      std::string other = bytes, inner = body;
      Mutate(random, &other), Mutate(random, &inner);
      of_mutants += TakenAlike(other, &say_when);
      of_mutants += TakenAlike(Packed(batch.body_case(), inner).SerializeAsString(), &say_when);
    }
  }
  CHECK(sound > 100);
  CHECK(of_mutants > 1000);
  CHECK(say_when > 1000);
}

TEST_CASE("what is packed too tightly, or in another way, is left to the parser") {
  proto::HostBatch host;
  for (int i = 0; i < 5000; ++i) {
    host.add_kind(proto::HostBatch::KIND_SUBMIT), host.add_time_ns_delta(1000);
  }
  const std::string body = host.SerializeAsString();
  size_t say_when = 0;
  Packet packet = Packed(Packet::kHost, body);
  CHECK_FALSE(TakenAlike(packet.SerializeAsString(), &say_when));
  packet.mutable_packed()->set_filling(std::string(5000 * 5 / 3, '\0'));
  CHECK(TakenAlike(packet.SerializeAsString(), &say_when));
  CHECK(say_when == 1);
  for (int i = 0; i < 6; ++i) {
    Packet other = packet;
    proto::Packed& bad = *other.mutable_packed();
    if (i == 0) bad.set_size(bad.size() + 1);
    if (i == 1) bad.set_size(bad.size() - 1);
    if (i == 2) bad.set_codec(1);
    if (i == 3) bad.set_body(Packet::kRanges);
    if (i == 4) bad.set_body(Packet::kInfo);
    if (i == 5) bad.mutable_data()->pop_back();
    CHECK_FALSE(TakenAlike(other.SerializeAsString(), &say_when));
  }
  // What it says of itself behind the data.
  std::string message = packet.packed().SerializeAsString();
  message = message.substr(2) + message.substr(0, 2);
  std::string bytes;
  AppendVarint(uint64_t{Packet::kPacked} << 3 | 2, &bytes);
  AppendVarint(message.size(), &bytes);
  bytes += message;
  REQUIRE(packet.ParseFromString(bytes));
  CHECK(packet.packed().body() == Packet::kHost);
  CHECK_FALSE(TakenAlike(bytes, &say_when));
}

TEST_CASE("what is written in another way is left to the parser") {
  Packet packet;
  packet.set_sequence(5);
  for (int i = 0; i < 3; ++i) packet.mutable_api()->add_begin_ns_delta(i);
  const std::string bytes = packet.SerializeAsString();
  size_t says_when = 0;
  const auto taken = [&](const std::string& of) { return TakenAlike(of, &says_when); };
  CHECK(taken(bytes));
  CHECK_FALSE(taken(bytes + bytes));                     // the body twice: the parser joins them
  CHECK_FALSE(taken(bytes + std::string("\x32\0", 2)));  // another body behind it
  CHECK_FALSE(taken(bytes + "\x98\x3f\x01"));            // a field that nobody knows
  CHECK_FALSE(taken(""));
  packet.mutable_api()->clear_begin_ns_delta();
  packet.mutable_api()->add_pid(3);
  CHECK_FALSE(taken(packet.SerializeAsString()));  // no column of begins
  // Fields in another order are taken, but when they were is looked up in the bytes.
  packet.Clear();
  packet.set_sequence(5);
  packet.mutable_host()->add_time_ns_delta(7);
  packet.mutable_host()->add_kind(proto::HostBatch::KIND_SUBMIT);
  std::string other = packet.SerializeAsString();
  const size_t kind = other.find(std::string("\x0a\x01\x01\x12\x01\x0e", 6));
  REQUIRE(kind != std::string::npos);
  says_when = 0;
  CHECK(taken(other));
  CHECK(says_when == 1);
  other.replace(kind, 6, std::string("\x12\x01\x0e\x0a\x01\x01", 6));
  CHECK(taken(other));
  CHECK(says_when == 1);
}

TEST_CASE("numbers of a column, many at a time") {
  std::mt19937_64 random(29);
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    std::vector<uint64_t> plain;
    const int shape = static_cast<int>(random() % 6);
    for (size_t count = random() % 300; count > 0; --count) {
      plain.push_back(Number(random, shape == 5 ? static_cast<int>(random() % 5) : shape));
      AppendVarint(plain.back(), &bytes);
    }
    size_t count = 0;
    for (const VarintOps* ops : {&Varints(), &PortableVarints()}) {
      REQUIRE(CountSoundNumbers(bytes, &count, *ops));
      REQUIRE(count == plain.size());
    }
    const size_t first = plain.empty() ? 0 : random() % plain.size();
    std::string_view left = bytes;
    SkipNumbers(first, &left);
    std::vector<uint64_t> values(plain.size() - first);
    REQUIRE(TakeNumbers(values.size(), &left, values.data()));
    REQUIRE(left.empty());
    REQUIRE(
        std::equal(values.begin(), values.end(), plain.begin() + static_cast<ptrdiff_t>(first)));
    uint64_t more = 0;
    REQUIRE_FALSE(TakeNumbers(1, &left, &more));
  }
}

TEST_CASE("numbers of alike and of all lengths beside each other") {
  std::mt19937_64 random(41);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    std::vector<uint64_t> plain;
    while (plain.size() < 300) {
      const uint32_t bits = 1 + random() % 64;
      for (uint64_t run = 1 + random() % 70; run > 0; --run) {
        plain.push_back((random() >> 1 | uint64_t{1} << 63) >> (64 - bits));
        AppendVarint(plain.back(), &bytes);
      }
    }
    // With other bytes behind them, and nothing.
    for (const size_t behind : {0, 100}) {
      const std::string all = bytes + std::string(behind, '\x01');
      for (const VarintOps* ops : {&Varints(), &PortableVarints()}) {
        std::string_view left = all;
        std::vector<uint64_t> values(plain.size());
        const size_t first = random() % plain.size();
        REQUIRE(TakeNumbers(first, &left, values.data(), *ops));
        REQUIRE(TakeNumbers(plain.size() - first, &left, values.data() + first, *ops));
        REQUIRE(values == plain);
        REQUIRE(left.size() == behind);
      }
    }
  }
}

TEST_CASE("differences to sums, many at a time") {
  std::mt19937_64 random(43);
  for (size_t count = 0; count < 40; ++count) {
    std::vector<uint64_t> plain(count), sums;
    for (uint64_t& value : plain) value = random() >> random() % 64;
    sums = plain;
    uint64_t before = random(), sum = before;
    SumZigzags(sums.data(), count, &before);
    for (size_t i = 0; i < count; ++i) {
      sum += FromZigzag(plain[i]);
      REQUIRE(sums[i] == sum);
    }
    REQUIRE(before == sum);
    sums = plain;
    FromZigzags(sums.data(), count);
    for (size_t i = 0; i < count; ++i) REQUIRE(sums[i] == FromZigzag(plain[i]));
  }
}

TEST_CASE("columns of numbers that are too long, or cut") {
  std::mt19937_64 random(31);
  size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes;
    const size_t size = random() % (round % 2 == 0 ? 40 : 300);
    const uint64_t rare = 1 + random() % 12;  // in so many bytes one is a number's last
    for (size_t i = 0; i < size; ++i) {
      bytes += static_cast<char>(random() % rare == 0 ? random() % 128 : 128 + random() % 128);
    }
    std::string_view left = bytes;
    size_t numbers = 0, count = 0;
    uint64_t value = 0;
    while (!left.empty() && TakeNumber(&left, &value)) ++numbers;
    const bool sound = left.empty() && (bytes.empty() || static_cast<uint8_t>(bytes.back()) < 0x80);
    for (const VarintOps* ops : {&Varints(), &PortableVarints()}) {
      REQUIRE(CountSoundNumbers(bytes, &count, *ops) == sound);
      if (sound) REQUIRE(count == numbers);
    }
    refused += !sound;
  }
  CHECK(refused > 1000);
}

TEST_CASE("a number that is one byte too long is found wherever it lies") {
  for (size_t before = 0; before < 140; ++before) {
    for (const size_t length : {9, 10, 11}) {
      const std::string bytes = std::string(before, '\x01') + std::string(length - 1, '\x80') +
                                std::string(1 + before % 70, '\x01');
      size_t count = 0;
      for (const VarintOps* ops : {&Varints(), &PortableVarints()}) {
        INFO(before << " before one of " << length);
        REQUIRE(CountSoundNumbers(bytes, &count, *ops) == (length <= 10));
      }
    }
  }
}

}  // namespace
}  // namespace acceltrace::stream
