// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/config.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <set>

#include "daemon/base/unique_fd.h"
#include "libtrace/base/byte_order_mark.h"
#include "libtrace/control/quantities.h"
#include "libtrace/control/recording.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxFileBytes = 256 << 10;
constexpr size_t kMaxLineBytes = 1024;
constexpr size_t kMaxMistakes = 100;
constexpr size_t kMaxUsers = 1024;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

bool IsPlain(std::string_view line) {
  for (const char c : line) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r') return false;
  }
  return true;
}

class Parser {
 public:
  Parser(std::string name, const Names& names, std::vector<std::string>* mistakes)
      : name_(std::move(name)), names_(names), mistakes_(mistakes) {}

  ServiceConfig Parse(std::string_view text) {
    text = WithoutMark(text);
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      ++line_;
      Line(text.substr(begin, end - begin));
      begin = end + 1;
    }
    CheckTogether();
    return std::move(config_);
  }

 private:
  enum class Section { kService, kUsers, kUser, kUnknown };

  void Wrong(const std::string& what) { WrongAt(line_, what); }
  void WrongAt(size_t line, const std::string& what) {
    if (mistakes_->size() < kMaxMistakes) {
      mistakes_->push_back(name_ + ":" + std::to_string(line) + ": " + what);
    }
  }

  void Line(std::string_view line) {
    if (line.size() > kMaxLineBytes) return Wrong("longer than 1024 bytes; shorten it");
    if (!IsPlain(line)) return Wrong("has a control character; type the line anew");
    line = Trim(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') return;
    if (line[0] == '[') return OpenSection(line);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return Wrong("'" + std::string(line.substr(0, 40)) + "' is no setting; write NAME = VALUE");
    }
    const std::string key(Trim(line.substr(0, equals)));
    std::string value(Trim(line.substr(equals + 1)));
    if (key.empty()) return Wrong("no name before '='; write NAME = VALUE");
    // A comment may follow the value after a blank.
    if (const size_t hash = value.find(" #"); hash != std::string::npos) {
      value = std::string(Trim(value.substr(0, hash)));
    }
    Set(key, value);
  }

  void OpenSection(std::string_view line) {
    section_ = Section::kUnknown;
    const size_t close = line.find(']');
    if (close == std::string_view::npos) return Wrong("no ']' after '['; write [users]");
    if (close + 1 != line.size() && Trim(line.substr(close + 1))[0] != '#') {
      return Wrong("text after ']'; put it on a line of its own");
    }
    const std::string_view title = Trim(line.substr(1, close - 1));
    const size_t space = title.find_first_of(" \t");
    const std::string_view kind = title.substr(0, space);
    const std::string who(space == std::string_view::npos ? "" : Trim(title.substr(space)));
    if (kind == "users" && who.empty()) {
      if (seen_users_) return Wrong("a second [users]; put all of it into one");
      seen_users_ = true;
      section_ = Section::kUsers;
      keys_.clear();
      return;
    }
    if (kind != "user") {
      return Wrong("no section [" + std::string(title.substr(0, 40)) +
                   "]; there are [users] and [user NAME]");
    }
    OpenUser(who);
  }

  void OpenUser(const std::string& who) {
    if (who.empty()) return Wrong("[user] without a name; write [user NAME], or [users] for all");
    const auto uid = names_.user(who);
    if (!uid) return Wrong("no user '" + who + "' here; correct the name or remove the section");
    if (*uid == 0) return Wrong("root has no limits; remove the section");
    if (!sections_.insert(*uid).second) {
      return Wrong("a second section for user '" + who + "'; put all of it into one");
    }
    if (sections_.size() > kMaxUsers) {
      return Wrong("more than 1024 users; use [users] for what many of them have");
    }
    section_ = Section::kUser;
    keys_.clear();
    uid_ = *uid;
  }

  void Set(const std::string& key, const std::string& value) {
    if (section_ == Section::kUnknown) return;  // its header was reported already
    const bool service = section_ == Section::kService;
    const auto of_service = ServiceKeys().find(key);
    const auto of_users = UserKeys().find(key);
    const bool is_of_service = of_service != ServiceKeys().end();
    const bool is_of_users = of_users != UserKeys().end();
    if (service ? !is_of_service : !is_of_users) {
      if (is_of_users) {
        return Wrong("'" + key + "' is of users; put it below [users] or [user NAME]");
      }
      if (is_of_service) {
        return Wrong("'" + key + "' is of the service; put it before the first section");
      }
      return Wrong("no setting '" + key.substr(0, 40) + "' here; there are " +
                   (service ? Listed(ServiceKeys()) : Listed(UserKeys())));
    }
    if (const auto first = keys_.find(key); first != keys_.end()) {
      return Wrong("'" + key + "' again, it is in line " + std::to_string(first->second) +
                   " already; remove one");
    }
    keys_[key] = line_;
    if (service) service_lines_[key] = line_;
    if (value.empty()) return Wrong("'" + key + "' has no value; write one or remove the line");
    if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0]) {
      return Wrong("'" + key + "' is in quotes; write it without");
    }
    if (service) {
      (this->*of_service->second)(key, value);
    } else if (section_ == Section::kUsers) {
      (this->*of_users->second)(key, value, &config_.users);
    } else {
      own_[uid_].push_back({key, value, line_});
    }
  }

  using Text = const std::string&;
  using ForService = void (Parser::*)(Text key, Text value);
  using ForUser = void (Parser::*)(Text key, Text value, UserLimits* limits);

  // The possible settings, one per line.
  static const std::map<std::string, ForService>& ServiceKeys() {
    static const auto* keys = new std::map<std::string, ForService>{
        {"group", &Parser::Group},
        {"live-socket", &Parser::PathOf<&ServiceConfig::live_socket>},
        {"max-connections", &Parser::NumberOf<&ServiceConfig::max_connections, 1024>},
        {"max-recordings", &Parser::NumberOf<&ServiceConfig::max_recordings, 64>},
        {"max-ring", &Parser::MaxRing},
        {"metrics", &Parser::Metrics},
        {"socket", &Parser::PathOf<&ServiceConfig::socket>},
        {"when-full", &Parser::WhenFull},
        {"sync", &Parser::Sync},
    };
    return *keys;
  }
  static const std::map<std::string, ForUser>& UserKeys() {
    static const auto* keys = new std::map<std::string, ForUser>{
        {"allowed", &Parser::Allowed},
        {"bytes-per-hour", &Parser::BytesPerHour},
        {"connections", &Parser::LimitOf<&UserLimits::connections, 1024>},
        {"recordings", &Parser::LimitOf<&UserLimits::recordings, 64>},
        {"requests-per-second", &Parser::LimitOf<&UserLimits::requests_per_second, 100'000>},
        {"ring", &Parser::Ring},
        {"starts-per-minute", &Parser::LimitOf<&UserLimits::starts_per_minute, 10'000>},
    };
    return *keys;
  }
  template <typename T>
  static std::string Listed(const std::map<std::string, T>& keys) {
    std::string text;
    size_t left = keys.size();
    for (const auto& [key, set] : keys) {
      text += key;
      if (--left > 0) text += left == 1 ? " and " : ", ";
    }
    return text;
  }

  template <std::string ServiceConfig::*kField>
  void PathOf(Text key, Text value) {
    Path(key, value, &(config_.*kField));
  }
  template <uint32_t ServiceConfig::*kField, uint32_t kMax>
  void NumberOf(Text key, Text value) {
    Number(key, value, 1, kMax, &(config_.*kField));
  }
  template <uint32_t UserLimits::*kField, uint32_t kMax>
  void LimitOf(Text key, Text value, UserLimits* limits) {
    Number(key, value, 1, kMax, &(limits->*kField));
  }
  void Group(Text, Text value) {
    if (!names_.group(value)) {
      return Wrong("no group '" + value + "' here; create it: groupadd --system " + value);
    }
    config_.group = value;
  }
  void MaxRing(Text key, Text value) {
    Bytes(key, value, control::kMinRingBytes, control::kMaxRingBytes, &config_.max_ring_bytes);
  }
  void WhenFull(Text key, Text value) {
    if (value != "pause" && value != "end") {
      return Wrong("'" + key + "' is '" + value + "'; write pause or end");
    }
    config_.pause_when_full = value == "pause";
  }
  void Sync(Text key, Text value) {
    if (value != "yes" && value != "no") {
      return Wrong("'" + key + "' is '" + value + "'; write yes or no");
    }
    config_.sync = value == "yes";
  }
  void Allowed(Text key, Text value, UserLimits* limits) {
    if (value != "yes" && value != "no") {
      return Wrong("'" + key + "' is '" + value + "'; write yes or no");
    }
    limits->allowed = value == "yes";
  }
  void Ring(Text key, Text value, UserLimits* limits) {
    Bytes(key, value, control::kMinRingBytes, control::kMaxRingBytes, &limits->ring_bytes);
  }
  void BytesPerHour(Text key, Text value, UserLimits* limits) {
    limits->bytes_per_hour = 0;
    if (value != "unlimited") {
      Bytes(key, value, 1 << 20, uint64_t{1} << 60, &limits->bytes_per_hour);
    }
  }

  void Number(const std::string& key, const std::string& value, uint32_t min, uint32_t max,
              uint32_t* number) {
    uint32_t read = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
    const std::string range =
        "write a number from " + std::to_string(min) + " to " + std::to_string(max);
    if (end != value.data() + value.size() || error == std::errc::invalid_argument) {
      return Wrong("'" + key + "' is '" + value + "', which is no number; " + range);
    }
    if (error != std::errc() || read < min || read > max) {
      return Wrong("'" + key + "' is " + value + ", out of range; " + range);
    }
    *number = read;
  }

  void Bytes(const std::string& key, const std::string& value, uint64_t min, uint64_t max,
             uint64_t* bytes) {
    const auto read = control::ParseBytes(value);
    if (!read) {
      return Wrong("'" + key + "' is '" + value + "', which is no size; write one such as 64M");
    }
    if (*read < min || *read > max) {
      return Wrong("'" + key + "' is " + value + ", out of range; write a size from " +
                   std::to_string(min) + " to " + std::to_string(max) + " bytes");
    }
    *bytes = *read;
  }

  // Parses a path where a socket can be created.
  bool Path(const std::string& key, const std::string& value, std::string* path) {
    if (value[0] != '/') {
      Wrong("'" + key + "' is '" + value + "', which is not an absolute path; begin it with /");
    } else if (value.size() >= sizeof(sockaddr_un::sun_path)) {
      Wrong("'" + key + "' is longer than the 107 bytes of a socket's path; choose a shorter one");
    } else if (value.back() == '/') {
      Wrong("'" + key + "' ends with /; name a socket in that folder");
    } else {
      *path = value;
      return true;
    }
    return false;
  }

  void Metrics(Text key, Text value) {
    if (value == "off") return config_.metrics.clear();
    if (value[0] == '/') {
      Path(key, value, &config_.metrics);
      return;
    }
    const auto address = ParseLoopback(value);
    if (!address.ok()) return Wrong("'" + key + "' is '" + value + "': " + address.message());
    config_.metrics = value;
  }

  void CheckTogether() {
    // A user's own settings replace the common ones, even if [users] comes later in the file.
    for (const auto& [uid, settings] : own_) {
      UserLimits limits = config_.users;
      for (const Setting& setting : settings) {
        line_ = setting.line;
        (this->*UserKeys().at(setting.key))(setting.key, setting.value, &limits);
      }
      config_.named_users[uid] = limits;
    }
    const std::string& socket = config_.socket;
    const std::string live = config_.live_socket.empty()
                                 ? socket.substr(0, socket.rfind('/') + 1) + "live.sock"
                                 : config_.live_socket;
    if (live == socket) {
      WrongAt(service_lines_[config_.live_socket.empty() ? "socket" : "live-socket"],
              "the same path as the other socket; choose another");
    }
    if (!config_.metrics.empty() && (config_.metrics == socket || config_.metrics == live)) {
      WrongAt(service_lines_["metrics"], "'metrics' is another socket's path; choose another");
    }
  }

  struct Setting {
    std::string key, value;
    size_t line;
  };

  std::string name_;
  const Names& names_;
  std::vector<std::string>* mistakes_;
  ServiceConfig config_;
  size_t line_ = 0;
  Section section_ = Section::kService;
  bool seen_users_ = false;
  uid_t uid_ = 0;
  std::set<uid_t> sections_;
  std::map<std::string, size_t> keys_, service_lines_;  // the line of each setting
  std::map<uid_t, std::vector<Setting>> own_;
};

Result<std::string> ReadWhole(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about = {};
  if (!fd.valid() || fstat(fd.get(), &about) != 0) {
    return Status::Error(std::string("cannot be read: ") + strerror(errno));
  }
  if (!S_ISREG(about.st_mode)) return Status::Error("is no regular file; name one");
  if (static_cast<size_t>(about.st_size) > kMaxFileBytes) {
    return Status::Error("is larger than 256 KiB; shorten it");
  }
  std::string text(kMaxFileBytes + 1, '\0');
  size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t got = read(fd.get(), text.data() + bytes, text.size() - bytes);
    if (got <= 0) break;
    bytes += static_cast<size_t>(got);
  }
  text.resize(std::min(bytes, kMaxFileBytes));
  return text;
}

}  // namespace

Names SystemNames() {
  Names names;
  names.user = [](const std::string& name) -> std::optional<uid_t> {
    const passwd* entry = getpwnam(name.c_str());
    if (entry == nullptr) return std::nullopt;
    return entry->pw_uid;
  };
  names.group = [](const std::string& name) { return getgrnam(name.c_str()) != nullptr; };
  return names;
}

Result<LoopbackAddress> ParseLoopback(const std::string& text) {
  constexpr std::string_view kV4 = "127.0.0.1:", kV6 = "[::1]:";
  LoopbackAddress address;
  address.v6 = text.rfind(kV6, 0) == 0;
  if (!address.v6 && text.rfind(kV4, 0) != 0) {
    return Status::Error(
        "neither a path nor a loopback address; write off, a path, 127.0.0.1:PORT or [::1]:PORT");
  }
  const char* begin = text.data() + (address.v6 ? kV6 : kV4).size();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, address.port);
  if (error != std::errc() || stop != end || address.port == 0) {
    return Status::Error("no port behind the address; write a number from 1 to 65535");
  }
  return address;
}

ServiceConfig ParseConfig(std::string_view text, const std::string& name, const Names& names,
                          std::vector<std::string>* mistakes) {
  return Parser(name, names, mistakes).Parse(text);
}

ServiceConfig LoadConfig(const std::string& path, bool required,
                         std::vector<std::string>* mistakes) {
  if (!required && access(path.c_str(), F_OK) != 0 && errno == ENOENT) return {};
  const auto text = ReadWhole(path);
  if (!text.ok()) {
    mistakes->push_back(path + ": " + text.message());
    return {};
  }
  return ParseConfig(*text, path, SystemNames(), mistakes);
}

int CheckConfig(const std::string& path) {
  std::vector<std::string> mistakes;
  (void)LoadConfig(path, true, &mistakes);
  for (const std::string& mistake : mistakes) fprintf(stderr, "%s\n", mistake.c_str());
  if (!mistakes.empty()) return 1;
  printf("%s: fine\n", path.c_str());
  return 0;
}

}  // namespace acceltrace::daemon
