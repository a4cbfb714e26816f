// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/tables/container.h"

#include <algorithm>
#include <cstddef>

namespace acceltrace::model {
namespace {

constexpr size_t kWholeId = 64, kShortId = 12, kLeastAsked = 4;

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
bool IsId(std::string_view text, size_t least) {
  return text.size() >= least && text.size() <= kWholeId && IsHex(text);
}

bool TakeHead(std::string_view head, std::string_view* text) {
  if (!text->starts_with(head)) return false;
  text->remove_prefix(head.size());
  return true;
}
bool TakeTail(std::string_view tail, std::string_view* text) {
  if (!text->ends_with(tail)) return false;
  text->remove_suffix(tail.size());
  return true;
}

// Docker, podman, containerd, CRI-O. Names with anything else between prefix and id are not those
// of containers: libpod-conmon-ID and crio-conmon-ID belong to the process that monitors one.
std::string_view IdIn(std::string_view name) {
  // A bare id (cgroupfs), or one in SLICE:cri-containerd:ID.
  const std::string_view last = name.substr(name.rfind(':') + 1);
  if (IsId(last, kWholeId)) return last;
  TakeTail(".scope", &name);
  for (const std::string_view runtime :
       {"docker-", "libpod-payload-", "libpod-", "cri-containerd-", "crio-", "nerdctl-"}) {
    std::string_view id = name;
    if (TakeHead(runtime, &id) && IsId(id, kShortId)) return id;
  }
  return {};
}

// systemd writes \x2d for a hyphen in the name of a unit. Non-printable characters stay escaped.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view digits = text.substr(std::min(text.size(), at + 2), 2);
    if (text.substr(at, 2) == "\\x" && digits.size() == 2 && IsHex(digits)) {
      const int byte = std::stoi(std::string(digits), nullptr, 16);
      if (byte >= 0x20 && byte < 0x7f) {
        plain += static_cast<char>(byte);
        at += 3;
        continue;
      }
    }
    plain += text[at];
  }
  return plain;
}

// A machine of systemd, except for virtual machines of libvirt (qemu-NUMBER-NAME).
std::string MachineIn(std::string_view name) {
  const bool machine = (TakeHead("machine-", &name) && TakeTail(".scope", &name)) ||
                       (TakeHead("systemd-nspawn@", &name) && TakeTail(".service", &name));
  if (!machine) return {};
  const std::string plain = Unescaped(name);
  std::string_view rest = plain;
  const bool is_virtual =
      TakeHead("qemu-", &rest) && !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
  return is_virtual ? "" : plain;
}

}  // namespace

std::string ContainerOf(std::string_view group) {
  TakeTail(" (deleted)", &group);  // how the kernel marks removed groups
  std::string_view inner;
  while (!group.empty()) {
    const size_t slash = group.rfind('/');
    const std::string_view name = group.substr(slash + 1);
    group = group.substr(0, slash == std::string_view::npos ? 0 : slash);
    const std::string_view outer = group.substr(group.rfind('/') + 1);
    if (const std::string_view id = IdIn(name); !id.empty()) return std::string(id);
    std::string_view lxc = name;
    if (outer == "lxc" || outer == "lxc.payload" || TakeHead("lxc.payload.", &lxc)) {
      if (!lxc.empty()) return std::string(lxc);
    }
    // systemd-nspawn itself is in a group with this name beside that of the container.
    if (inner != "supervisor") {
      if (std::string machine = MachineIn(name); !machine.empty()) return machine;
    }
    inner = name;
  }
  return {};
}

std::string ShortContainer(std::string_view container) {
  return std::string(container.substr(0, IsId(container, kShortId) ? kShortId : container.size()));
}

bool MayMean(std::string_view asked, std::string_view container) {
  if (asked == container) return true;
  return asked.size() >= kLeastAsked && IsId(container, kShortId) && container.starts_with(asked);
}

}  // namespace acceltrace::model
