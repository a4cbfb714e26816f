// SPDX-License-Identifier: Apache-2.0
//
// The fuzzer's seeds are the sample trace whole, cut, and packet by packet.
// `unit-stream [corpus]`, run at the top of the repository, writes them anew.
#include <fstream>

#include "libtrace/stream/sample_trace.h"
#include "tests/catch.h"

namespace acceltrace::stream {

TEST_CASE("write the seeds of the fuzzer", "[.corpus]") {
  const auto write = [](const std::string& name, const std::string& bytes) {
    std::ofstream file("libtrace/stream/corpus/" + name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    REQUIRE(file.good());
  };
  const std::vector<proto::Packet> packets = SamplePackets();
  const std::string bytes = Encode(packets);
  write("whole", bytes);
  write("cut", bytes.substr(0, bytes.size() - 20));
  for (const proto::Packet& packet : packets) {
    write("body-" + std::to_string(packet.body_case()), packet.SerializeAsString());
  }
}

}  // namespace acceltrace::stream
