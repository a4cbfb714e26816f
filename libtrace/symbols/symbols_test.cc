// SPDX-License-Identifier: Apache-2.0
//
// Reads this test's own file, copies of it and files that are no ELF files.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "libtrace/symbols/demangle.h"
#include "libtrace/symbols/frame_names.h"
#include "tests/catch.h"

namespace acceltrace::symbols {

// A function whose name the test knows.
__attribute__((noinline)) int KnownPlace(int number) {
  volatile int twice = 2 * number;
  return twice;
}

namespace {

namespace fs = std::filesystem;

// Returns the offset in the program's file that a pointer into the program belongs to.
uint64_t OffsetOf(const void* place) {
  struct Wanted {
    uint64_t address, offset;
  } wanted = {reinterpret_cast<uint64_t>(place), 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        auto& found = *static_cast<Wanted*>(to);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || found.address < begin ||
              found.address >= begin + segment.p_filesz) {
            continue;
          }
          found.offset = found.address - begin + segment.p_offset;
        }
        return found.offset != 0 ? 1 : 0;
      },
      &wanted);
  return wanted.offset;
}

const void* Place() { return reinterpret_cast<const void*>(&KnownPlace); }

struct Folder {
  Folder() {
    char name[] = "/tmp/symbols_XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

void Run(const std::string& command) {
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);
}

// A small program with a build id and one function with a name of its own.
constexpr char kBuildId[] = "0123456789abcdef0123456789abcdef01234500";

std::string Self() { return fs::read_symlink("/proc/self/exe").string(); }

std::string OwnBuildId() {
  std::ifstream in(Self(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const FileBytes file = {bytes.size(), [&](uint64_t offset, size_t count, char* to) {
                            REQUIRE(offset + count <= bytes.size());
                            std::memcpy(to, bytes.data() + offset, count);
                            return true;
                          }};
  const auto symbols = ElfSymbols::Read(file);
  REQUIRE(symbols.ok());
  CHECK(symbols->functions() > 100);
  return symbols->build_id();
}

}  // namespace

TEST_CASE("a function of this program by its place in the file") {
  FrameNames names;
  const uint64_t offset = OffsetOf(Place());
  REQUIRE(offset != 0);
  const std::string id = OwnBuildId();
  CHECK(names.Name(Self(), id, offset, false) == "acceltrace::symbols::KnownPlace(int)");
  CHECK(names.Name(Self(), id, offset + 1, true) == "acceltrace::symbols::KnownPlace(int)");
  // An address at the first byte of a function returns from a call in the function before.
  CHECK(names.Name(Self(), id, offset, true) != "acceltrace::symbols::KnownPlace(int)");
  // The build id says that another file has replaced this one.
  CHECK(names.Name(Self(), "00ff00ff", 0x1234, true) ==
        fs::path(Self()).filename().string() + "+0x1234");
}

TEST_CASE("a build id decides, and what was stripped is found by it") {
  const Folder folder;
  const std::string at = folder.path.string();
  std::ofstream(at + "/small.c") << "int total;\n"
                                    "__attribute__((noinline)) int Inner(int n) {"
                                    " return total += n; }\n"
                                    "int main(int n, char** v) { (void)v; return Inner(n); }\n";
  Run("gcc -O1 -g -fno-omit-frame-pointer -Wl,--build-id=0x" + std::string(kBuildId) + " -o " + at +
      "/small " + at + "/small.c");
  FILE* nm = popen(("nm " + at + "/small | grep ' T Inner'").c_str(), "r");
  REQUIRE(nm != nullptr);
  unsigned long address = 0;
  REQUIRE(fscanf(nm, "%lx", &address) == 1);
  pclose(nm);
  // In a small program text has the same offset in the file as in memory.
  const uint64_t inside = address + 2;
  const std::string small = at + "/small";
  CHECK(FrameNames(at).Name(small, kBuildId, inside, false) == "Inner");
  // The kernel pads ids with zeros, so zeros at the end of an id may or may not belong to it.
  CHECK(FrameNames(at).Name(small, std::string(kBuildId).substr(0, 38), inside, false) == "Inner");
  CHECK(FrameNames(at).Name(small, "ab" + std::string(kBuildId), inside, false) ==
        "small+0x" + [&] {
          char text[32];
          snprintf(text, sizeof(text), "%lx", inside);
          return std::string(text);
        }());
  const std::string ids = at + "/.build-id/01";
  fs::create_directories(ids);
  Run("objcopy --only-keep-debug " + small + " " + ids + "/" + std::string(kBuildId).substr(2) +
      ".debug");
  Run("strip " + small);
  CHECK(FrameNames(at).Name(small, kBuildId, inside, false) == "Inner");
  CHECK(FrameNames(at + "/none").Name(small, kBuildId, inside, false).substr(0, 6) == "small+");
}

TEST_CASE("what is no program has no names") {
  const Folder folder;
  const std::string at = folder.path.string();
  FrameNames names;
  CHECK(names.Name("", "", 0x7f001234, false) == "0x7f001234");
  CHECK(names.Name("", "abcdef0123", 0x10, true) == "build-id:abcdef0123+0x10");
  CHECK(names.Name("relative/path", "", 0x10, true) == "path+0x10");
  CHECK(names.Name(at, "", 0x10, true) == fs::path(at).filename().string() + "+0x10");
  // Opening a pipe must not block.
  REQUIRE(mkfifo((at + "/pipe").c_str(), 0600) == 0);
  CHECK(names.Name(at + "/pipe", "", 0x10, true) == "pipe+0x10");
  CHECK(names.Name("/dev/zero", "", 0x10, true) == "zero+0x10");
  CHECK(names.Name(std::string("/proc/self/exe\0/x", 17), "", 0x10, true).substr(0, 1) == "x");
  std::ofstream(at + "/short") << "\177ELF";
  CHECK(names.Name(at + "/short", "", 0x10, true) == "short+0x10");
}

TEST_CASE("so much is read of what a trace names, and no more") {
  const std::string id = OwnBuildId();
  const uint64_t offset = OffsetOf(Place());
  CHECK(FrameNames("/none", 4096).Name(Self(), id, offset, false).find('+') != std::string::npos);
  CHECK(FrameNames("/none").Name("/" + std::string(256, 'x'), id, 0x10, true) == "?+0x10");
  CHECK(FrameNames("/none").Name("", "no number", 0x10, true) == "?+0x10");
  // No symbols are read from a file with another build id.
  std::ifstream in(Self(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  uint64_t most = 0;
  const FileBytes file = {bytes.size(), [&](uint64_t at, size_t count, char* to) {
                            most = std::max<uint64_t>(most, count);
                            std::memcpy(to, bytes.data() + at, count);
                            return true;
                          }};
  const auto other = ElfSymbols::Read(file, [](const std::string&) { return false; });
  REQUIRE(other.ok());
  CHECK((other->functions() == 0 && other->build_id() == id && most <= 65536));
}

TEST_CASE("a damaged file is refused or has fewer names, and nothing else") {
  std::ifstream in(Self(), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto read = [&](uint64_t size) {
    const FileBytes file = {size, [&](uint64_t offset, size_t count, char* to) {
                              REQUIRE(offset + count <= size);
                              std::memcpy(to, bytes.data() + offset, count);
                              return true;
                            }};
    return ElfSymbols::Read(file).ok();
  };
  CHECK(read(bytes.size()));
  for (size_t size = 0; size < 4096; size += 7) (void)read(size);
  CHECK_FALSE(read(63));
  // Damages one byte of the header at a time.
  for (size_t i = 0; i < 64; ++i) {
    const char was = bytes[i];
    for (const int value : {0, 1, 127, 255}) {
      bytes[i] = static_cast<char>(value);
      (void)read(bytes.size());
    }
    bytes[i] = was;
  }
}

TEST_CASE("C++ names") {
  CHECK(Demangle("main") == "main");
  CHECK(Demangle("_ZN4shop5OrderEi") == "shop::Order(int)");
  CHECK(Demangle("_Znonsense") == "_Znonsense");
  // Each pair consists of two of the previous pairs: twenty levels would expand to megabytes.
  std::string bomb = "_Z1fSt4pairIiiE";
  for (char level = 'A'; level < 'U'; ++level)
    bomb += std::string("S_IS") + level + "_S" + level + "_E";
  CHECK(Demangle(bomb) == bomb);
  CHECK(Demangle("_Z" + std::string(5000, 'P') + "i") == "_Z" + std::string(5000, 'P') + "i");
}

}  // namespace acceltrace::symbols
