// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/command_files.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "libtrace/cli/child.h"

namespace acceltrace::cli {
namespace {

constexpr size_t kMaxPrograms = 8;
constexpr size_t kMaxWords = 256;
constexpr size_t kMaxFiles = 256;
constexpr size_t kMaxListBytes = 1 << 20;
constexpr int kListMs = 5000;
constexpr std::string_view kBetweenWords = " \t\n;&|()`'\"<>";

// Returns a descriptor or -1. Words of a command may name devices, where opening could have side
// effects.
int OpenRegular(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return -1;
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

// Returns the loader of an ELF program, or an empty string for other files and static programs.
std::string LoaderOf(const std::string& path) {
  const int fd = OpenRegular(path);
  if (fd < 0) return "";
  std::string loader;
  Elf64_Ehdr header;
  const auto read_at = [&](uint64_t offset, void* into, size_t bytes) {
    return pread(fd, into, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  };
  if (read_at(0, &header, sizeof(header)) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
      header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(Elf64_Phdr)) {
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr part;
      if (!read_at(header.e_phoff + i * sizeof(part), &part, sizeof(part))) break;
      if (part.p_type != PT_INTERP || part.p_filesz < 2 || part.p_filesz > 4096) continue;
      loader.resize(part.p_filesz - 1);
      if (!read_at(part.p_offset, loader.data(), loader.size())) loader.clear();
      break;
    }
  }
  close(fd);
  return loader;
}

// Reads everything until the end or the time limit.
std::string ReadAll(int fd) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(kListMs);
  std::string text;
  while (text.size() < kMaxListBytes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready = {fd, POLLIN, 0};
    const int polled = left > 0 ? poll(&ready, 1, static_cast<int>(left)) : 0;
    if (polled < 0 && errno == EINTR) continue;
    char bytes[4096];
    const ssize_t got = polled > 0 ? read(fd, bytes, sizeof(bytes)) : 0;
    if (got <= 0) break;
    text.append(bytes, static_cast<size_t>(got));
  }
  return text;
}

// Parses the loader's output: lines "NAME => PATH (0x...)" and "PATH (0x...)".
std::vector<std::string> PathsIn(std::string_view text) {
  std::vector<std::string> paths;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t arrow = line.find("=> /");
    const size_t begin = arrow != std::string_view::npos ? arrow + 3 : line.find('/');
    const size_t behind = line.rfind(" (0x");
    if (begin < behind && behind != std::string_view::npos) {
      paths.emplace_back(line.substr(begin, behind - begin));
    }
  }
  return paths;
}

// The loader maps and searches libraries, but runs nothing of the program.
std::vector<std::string> LibrariesOf(const std::string& program,
                                     const std::vector<std::string>& settings) {
  std::string loader = LoaderOf(program);
  int ends[2];
  if (loader.empty() || pipe2(ends, O_CLOEXEC) != 0) return {};
  std::string path = program, list = "--list";
  char* argv[] = {loader.data(), list.data(), path.data(), nullptr};
  std::vector<std::string> variables = settings;
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view known(*variable);
    const std::string_view name = known.substr(0, known.find('=') + 1);
    if (std::none_of(settings.begin(), settings.end(),
                     [&](const std::string& setting) { return setting.starts_with(name); })) {
      environment.push_back(*variable);
    }
  }
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const bool spawned =
      posix_spawn(&pid, loader.c_str(), &actions, nullptr, argv, environment.data()) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::vector<std::string> paths;
  if (spawned) {
    paths = PathsIn(ReadAll(ends[0]));
    kill(pid, SIGKILL);  // in case a file system does not respond
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  return paths;
}

// Returns the words within the command's words, as in those of a shell's -c.
std::vector<std::string> WordsIn(const std::vector<std::string>& command) {
  std::vector<std::string> words = {command.front()};
  for (size_t i = 1; i < command.size(); ++i) {
    std::string_view rest = command[i];
    while (!rest.empty() && words.size() < kMaxWords) {
      const size_t begin = std::min(rest.find_first_not_of(kBetweenWords), rest.size());
      rest.remove_prefix(begin);
      const size_t end = std::min(rest.find_first_of(kBetweenWords), rest.size());
      if (end > 0) words.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
  }
  return words;
}

// Adds the libraries in LD_LIBRARY_PATH, where programs find the API library if they load it by
// name.
void AddFrom(std::string_view folders, std::vector<std::string>* files) {
  while (!folders.empty()) {
    const size_t end = std::min(folders.find_first_of(":;"), folders.size());
    const std::string pattern = std::string(folders.substr(0, end)) + "/libaxl.so*";
    folders.remove_prefix(std::min(end + 1, folders.size()));
    glob_t found = {};
    if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
      files->insert(files->end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    globfree(&found);
  }
}

}  // namespace

std::vector<std::string> CommandFiles(const std::vector<std::string>& command) {
  constexpr std::string_view kFolders = "LD_LIBRARY_PATH=";
  std::vector<std::string> files, programs, settings;
  for (const std::string& word : WordsIn(command)) {
    if (word.starts_with("LD_") && word.find('=') != std::string::npos) {
      settings.push_back(word);
    } else if (programs.size() < kMaxPrograms) {
      const std::string program = FileOfCommand(word);
      if (program.empty() || LoaderOf(program).empty() ||
          std::find(programs.begin(), programs.end(), program) != programs.end()) {
        continue;
      }
      programs.push_back(program);
    }
  }
  const char* folders = std::getenv("LD_LIBRARY_PATH");
  AddFrom(folders == nullptr ? "" : folders, &files);
  for (const std::string& setting : settings) {
    if (setting.starts_with(kFolders)) {
      AddFrom(std::string_view(setting).substr(kFolders.size()), &files);
    }
  }
  for (const std::string& program : programs) {
    files.push_back(program);
    const std::vector<std::string> libraries = LibrariesOf(program, settings);
    files.insert(files.end(), libraries.begin(), libraries.end());
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  if (files.size() > kMaxFiles) files.resize(kMaxFiles);
  return files;
}

MappedFiles::MappedFiles(const std::vector<std::string>& files) {
  const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const std::string& file : files) {
    const int fd = OpenRegular(file);
    if (fd < 0) continue;
    void* address = mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    close(fd);
    if (address != MAP_FAILED) mapped_.emplace_back(address, bytes);
  }
}

MappedFiles::~MappedFiles() {
  for (const auto& [address, bytes] : mapped_) munmap(address, bytes);
}

}  // namespace acceltrace::cli
