// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/read_ahead.h"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "libtrace/stream/columns/table_rows.h"
#include "libtrace/stream/file/descriptor.h"
#include "libtrace/stream/file/test_batches.h"
#include "libtrace/stream/file/writer.h"
#include "tests/catch.h"
#include "tests/golden/temporary_file.h"

namespace acceltrace::stream {
namespace {

using proto::Packet;

// Creates a trace with batches of commands, one of them very large and one damaged.
std::string Trace() {
  PacketEncoder encoder;
  std::string bytes;
  for (uint32_t batch = 0; batch < 60; ++batch) {
    Packet packet;
    proto::CommandBatch& commands = *packet.mutable_commands();
    const uint32_t more = batch % 11 == 5 ? 9'000 : batch % 7 == 3 ? 3'000 : 0;
    const uint32_t rows = batch == 20 ? 105'000 : 100 + batch + more;
    for (uint32_t row = 0; row < rows; ++row) {
      commands.add_job(batch + 1), commands.add_unit(row % 4), commands.add_index(row);
      commands.add_fetched_ticks_delta(1000 + row),
          commands.add_bytes((uint64_t{batch + 1} << 42) + row);
    }
    REQUIRE(encoder.Append(&packet, 0, rows, &bytes));
    if (batch == 40) bytes[bytes.size() - 9] ^= 1;
  }
  encoder.AppendFooter(&bytes);
  return bytes;
}

struct All {
  std::vector<uint64_t> sums, rows, bytes, worth;
  bool operator==(const All&) const = default;
};

// most: number of packets after which reading stops.
All Read(const std::string& path, size_t threads, uint64_t from, size_t most = 1000) {
  auto reader = Reader::Open(path);  // the bytes of files do not stay in memory
  REQUIRE(reader.ok());
  All all;
  EachPacket(
      reader->get(), threads,
      [&](const PacketRead& read) {
        uint64_t sum = 0;
        if (read.columns != nullptr) {
          std::vector<uint64_t> values(read.columns->rows());
          for (const int column : {proto::Block::COLUMN_BYTES, proto::Block::COLUMN_JOB,
                                   proto::Block::COLUMN_FETCHED_TICKS}) {
            read.columns->Read(column, values.data());
            for (const uint64_t value : values) sum = sum * 31 + value;
          }
        }
        all.sums.push_back(sum), all.rows.push_back(read.written_rows);
        all.bytes.push_back(read.bytes), all.worth.push_back(read.worth_bytes);
        return all.sums.size() < most;
      },
      from);
  if (most == 1000) {
    CHECK((*reader)->stats().gap_count == 1);
    CHECK((*reader)->stats().has_footer);
  }
  return all;
}

TEST_CASE("packets that are read ahead are those that are read one by one") {
  const test::TemporaryFile file(Trace());
  const std::string& trace = file.path();
  const All alone = Read(trace, 1, 0);
  CHECK(alone.sums.size() == 60);  // one is damaged, and the footer counts
  for (const uint64_t from : {0, 5'000, 200'000, 100'000'000}) {
    for (int times = 0; times < 5; ++times) CHECK(Read(trace, 2, from) == alone);
  }
  for (const size_t most : {1, 2, 7, 21, 22, 59}) {
    CHECK(Read(trace, 2, 0, most) == Read(trace, 1, 0, most));
  }
}

TEST_CASE("a file can be read once more, a stream cannot") {
  const test::TemporaryFile file(Trace());
  auto reader = Reader::Open(file.path());
  REQUIRE(reader.ok());
  REQUIRE((*reader)->CanReadAgain());
  Packet packet;
  std::vector<std::string> first, second;
  while (stream::ReadBatch(reader->get(), &packet) == Reader::Next::kPacket) {
    first.push_back(packet.SerializeAsString());
  }
  CHECK_FALSE((*reader)->CanReadAgain());
  for (const size_t until : {size_t{1}, size_t{7}, first.size()}) {
    auto again = (*reader)->Again();
    REQUIRE(again.ok());
    *reader = std::move(*again);
    second.clear();
    while (second.size() < until &&
           stream::ReadBatch(reader->get(), &packet) == Reader::Next::kPacket) {
      second.push_back(packet.SerializeAsString());
    }
    CHECK(std::equal(second.begin(), second.end(), first.begin()));
    CHECK(second.size() == until);
  }
  CHECK(stream::ReadBatch(reader->get(), &packet) == Reader::Next::kEnd);
  CHECK((*reader)->stats().has_footer);

  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const std::string some = Trace().substr(0, 4000);  // few enough to fit into a pipe
  REQUIRE(write(ends[1], some.data(), some.size()) == static_cast<ssize_t>(some.size()));
  close(ends[1]);
  auto piped = OpenDescriptor(ends[0], "a pipe");
  REQUIRE(piped.ok());
  CHECK_FALSE((*piped)->CanReadAgain());
  close(ends[0]);
}

TEST_CASE("whoever takes packets may throw") {
  const std::string trace = Trace();
  auto reader = Reader::FromMemory(trace);
  REQUIRE(reader.ok());
  size_t taken = 0;
  const auto all = [&] {
    EachPacket(
        reader->get(), 2,
        [&](const PacketRead&) -> bool {
          if (++taken == 10) throw std::runtime_error("ten");
          return true;
        },
        0);
  };
  CHECK_THROWS_AS(all(), std::runtime_error);
  CHECK(taken == 10);
}

}  // namespace
}  // namespace acceltrace::stream
