// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/irq_source.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>

#include "daemon/base/host_info.h"
#include "daemon/base/text_files.h"
#include "daemon/bpf/irq.skel.h"
#include "daemon/bpf/irq_records.h"
#include "daemon/sources/common/bpf_error.h"
#include "daemon/sources/common/bpf_misses.h"
#include "daemon/sources/common/processes.h"
#include "daemon/sources/system/system_readers.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::daemon {
namespace {

static_assert(ACT_IRQ_HARD == int{proto::InterruptBatch::KIND_HARD});
static_assert(ACT_IRQ_SOFT == int{proto::InterruptBatch::KIND_SOFT});

constexpr const char* kHopName = "irq";
constexpr int64_t kPeriodNs = 1'000'000'000;
// In the order of the kernel's numbers.
constexpr const char* kSoftirqs[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

// Returns the handlers of an interrupt, such as "axl0-0", separated by commas.
std::string ActionsOf(uint32_t number) {
  return FirstLine("/sys/kernel/irq/" + std::to_string(number) + "/actions");
}

// Returns the message-signalled interrupts of a PCI device.
std::vector<uint32_t> InterruptsOf(const std::string& address) {
  std::vector<uint32_t> numbers;
  DIR* folder = opendir(("/sys/bus/pci/devices/" + address + "/msi_irqs").c_str());
  if (folder == nullptr) return numbers;
  while (const dirent* entry = readdir(folder)) {
    const int number = atoi(entry->d_name);
    if (number > 0) numbers.push_back(static_cast<uint32_t>(number));
  }
  closedir(folder);
  return numbers;
}

}  // namespace

struct IrqSource::Impl {
  Impl(IrqOptions options_in, EventHandler* handler_in)
      : options(std::move(options_in)), handler(handler_in) {}
  ~Impl() { irq_bpf__destroy(skeleton); }

  using Key = std::pair<uint32_t, uint32_t>;  // kind and number

  // Reads what happened since the last time, and passes it on if `report`.
  void Read(bool report);
  void ReportNoRoom(bool report, int64_t begin_ns, int64_t end_ns);
  uint32_t NameOf(const Key& key);

  IrqOptions options;
  EventHandler* handler;
  irq_bpf* skeleton = nullptr;
  std::map<Key, std::vector<act_irq_sums>> before;  // by CPU
  std::map<Key, uint32_t> names;                    // string ids
  std::map<uint32_t, uint32_t> devices;             // by number: 1 + the device
  int64_t begin_ns = 0, last_ns = 0;
  uint64_t rows = 0;
  uint64_t missed_before = 0;  // before the recording
  uint64_t missed = 0;         // during the recording
  uint64_t seen_no_room = 0;   // up to the last read
  uint64_t lost_no_room = 0;   // those during the recording
};

IrqSource::IrqSource(IrqOptions options, EventHandler* handler)
    : impl_(std::make_unique<Impl>(std::move(options), handler)) {}

IrqSource::~IrqSource() = default;

Status IrqSource::Start() {
  Impl& impl = *impl_;
  impl.skeleton = irq_bpf__open();
  if (impl.skeleton == nullptr) return Status::Error(strerror(errno));
  impl.skeleton->rodata->self_pid = static_cast<uint32_t>(getpid());
  impl.skeleton->rodata->pid_ns = PidNamespace();
  impl.skeleton->rodata->system_wide = impl.options.system_wide;
  if (impl.options.system_wide) {
    (void)bpf_map__set_max_entries(impl.skeleton->maps.tracked, 1);
  } else if (bpf_map__reuse_fd(impl.skeleton->maps.tracked, impl.options.tracked_fd) != 0) {
    return Status::Error(std::string("its maps are refused: ") + strerror(errno));
  }
  if (const int error = irq_bpf__load(impl.skeleton)) return BpfLoadError(error);
  if (const int error = irq_bpf__attach(impl.skeleton)) {
    return Status::Error(std::string("cannot attach to the tracepoints of interrupts: ") +
                         strerror(-error));
  }
  for (const auto& [device, address] : impl.options.devices) {
    for (const uint32_t number : InterruptsOf(address)) impl.devices[number] = device + 1;
  }
  impl.handler->OnProbe(kHopName, true, "");
  return {};
}

uint32_t IrqSource::Impl::NameOf(const Key& key) {
  const auto [entry, fresh] = names.try_emplace(key, 0);
  if (!fresh) return entry->second;
  const auto [kind, number] = key;
  std::string name;
  if (kind == ACT_IRQ_HARD) name = ActionsOf(number);
  if (kind == ACT_IRQ_SOFT && number < std::size(kSoftirqs)) name = kSoftirqs[number];
  if (name.empty()) name = std::to_string(number);
  return entry->second = handler->Intern(name);
}

void IrqSource::Impl::Read(bool report) {
  const int map = bpf_map__fd(skeleton->maps.interrupt_sums);
  std::vector<act_irq_sums> sums(static_cast<size_t>(std::max(libbpf_num_possible_cpus(), 1)));
  const int64_t now_ns = MonotonicNs();
  // From now on, the longest interrupts are stored in another slot.
  const uint64_t epoch = __atomic_fetch_add(&skeleton->data->epoch, 1, __ATOMIC_RELAXED);
  const size_t slot = epoch & 1;
  proto::Packet packet;
  proto::InterruptBatch* batch = packet.mutable_interrupts();
  stream::DeltaEncoder end;
  act_irq_key key = {}, *last = nullptr;
  for (act_irq_key next = {}; bpf_map_get_next_key(map, last, &next) == 0; last = &key) {
    key = next;
    if (bpf_map_lookup_elem(map, &key, sums.data()) != 0) continue;
    std::vector<act_irq_sums>& sums_before = before[{key.kind, key.number}];
    sums_before.resize(sums.size());
    for (uint32_t cpu = 0; cpu < sums.size(); ++cpu) {
      const act_irq_sums& now = sums[cpu];
      act_irq_sums& then = sums_before[cpu];
      const uint64_t count = now.count - then.count;
      if (count > 0 && report) {
        end.Append(now_ns, batch->mutable_end_ns_delta());
        batch->add_stretch_ns(static_cast<uint64_t>(now_ns - last_ns));
        batch->add_kind(key.kind);
        batch->add_cpu(cpu);
        batch->add_number(key.number);
        batch->add_name(NameOf({key.kind, key.number}));
        batch->add_count(count);
        batch->add_total_ns(now.total_ns - then.total_ns);
        batch->add_longest_ns(now.longest_epoch[slot] == epoch ? now.longest_ns[slot] : 0);
        batch->add_hits(now.hits - then.hits);
        batch->add_hit_ns(now.hit_ns - then.hit_ns);
        const auto device = devices.find(key.number);
        batch->add_device(key.kind == ACT_IRQ_HARD && device != devices.end() ? device->second : 0);
      }
      then = now;
    }
  }
  const int64_t begin_ns = std::exchange(last_ns, now_ns);
  if (const auto count = static_cast<uint32_t>(batch->end_ns_delta_size()); count > 0) {
    rows += count;
    handler->OnBlock(&packet, begin_ns, count, count);
  }
  ReportNoRoom(report, begin_ns, now_ns);
}

// Interrupts without space in the map have no rows: the loss has their number.
void IrqSource::Impl::ReportNoRoom(bool report, int64_t begin_ns, int64_t end_ns) {
  const uint64_t all = __atomic_load_n(&skeleton->bss->no_room, __ATOMIC_RELAXED);
  Loss loss;
  loss.hop = kHopName;
  loss.count = all - std::exchange(seen_no_room, all);
  // Losses before the recording are not counted.
  if (!report || loss.count == 0) return;
  lost_no_room += loss.count;
  loss.first = begin_ns;
  loss.last = end_ns;
  handler->OnLoss(loss);
}

void IrqSource::Begin() {
  impl_->missed_before = CountRuns(impl_->skeleton->obj).missed;
  impl_->Read(false);
  impl_->begin_ns = impl_->last_ns;
}

Pace IrqSource::Drain(int64_t now_ns) {
  if (now_ns - impl_->last_ns >= kPeriodNs) impl_->Read(true);
  Pace pace;
  pace.next_ns = impl_->last_ns + kPeriodNs;
  return pace;
}

void IrqSource::Checkpoint() { impl_->Read(true); }

// Rows are sums, since interrupts are not events of the recording.
std::vector<Hop> IrqSource::Hops() {
  const uint64_t lost = impl_->lost_no_room + impl_->missed;
  return {{kHopName, impl_->rows + lost, impl_->rows, lost, 0, kSessionHop}};
}

void IrqSource::Stop() {
  irq_bpf__detach(impl_->skeleton);
  impl_->Read(true);
  const BpfRuns runs = CountRuns(impl_->skeleton->obj);
  impl_->handler->OnBpfCost(runs.run_ns, runs.runs);
  impl_->missed = runs.missed - impl_->missed_before;
  if (impl_->missed > 0) {
    Loss loss;
    loss.hop = kHopName;
    loss.count = impl_->missed;
    loss.first = impl_->begin_ns;
    loss.last = impl_->last_ns;
    impl_->handler->OnLoss(loss);
  }
  for (const Hop& hop : Hops()) impl_->handler->OnHop(hop);
}

}  // namespace acceltrace::daemon
