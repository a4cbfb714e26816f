// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/tables/job_owners.h"

#include <algorithm>

#include "libtrace/model/tables/permute.h"

namespace acceltrace::model {

uint32_t JobOwners::Of(size_t job) {
  if (const uint32_t pid = model_.jobs.pid[job]; pid != 0) return pid;
  const uint32_t number = ClientOf(model_.jobs.correlation[job]);
  if (number == 0) return 0;
  if (!built_) Build();
  const Client* const client = Find(number);
  if (client == nullptr || client->several) return 0;
  if (client->pid != 0) return client->pid;
  return client->recorded && !client->has_others ? number : 0;
}

JobOwners::Client* JobOwners::Find(uint32_t number) {
  const auto found = std::lower_bound(
      clients_.begin(), clients_.end(), number,
      [](const Client& client, uint32_t wanted) { return client.number < wanted; });
  return found == clients_.end() || found->number != number ? nullptr : &*found;
}

void JobOwners::FindAsked() {
  std::vector<uint32_t> numbers;
  EachRow(
      [&](size_t, uint32_t pid, uint64_t correlation) {
        const uint32_t number = ClientOf(correlation);
        if (pid != 0 || number == 0) return true;
        if (numbers.empty() || numbers.back() != number) numbers.push_back(number);
        return true;
      },
      model_.jobs.pid, model_.jobs.correlation);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  clients_.resize(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) clients_[i].number = numbers[i];
}

void JobOwners::SeeProcess(uint32_t pid) {
  if (Client* const same = Find(pid)) same->recorded = true;
}

void JobOwners::See(uint32_t client, uint32_t pid) {
  if (pid == 0) return;
  if (Client* const known = Find(client)) {
    known->several = known->several || (known->pid != 0 && known->pid != pid);
    known->pid = pid;
  }
  if (Client* const same = Find(pid)) {
    same->recorded = true;
    same->has_others = same->has_others || (client != 0 && client != pid);
  }
}

void JobOwners::Build() {
  built_ = true;
  FindAsked();
  uint32_t last_client = 0, last_pid = 0;
  // Rows of one client are consecutive.
  const auto see = [&](size_t, uint64_t correlation, uint32_t pid) {
    const uint32_t client = ClientOf(correlation);
    if (client != last_client || pid != last_pid) See(client, pid);
    last_client = client, last_pid = pid;
    return true;
  };
  EachRow(see, model_.api.correlation, model_.api.pid);
  EachRow(see, model_.jobs.correlation, model_.jobs.pid);
  for (const Process& process : model_.processes) SeeProcess(process.pid);
  EachRow([this](size_t, uint32_t pid) { return SeeProcess(pid), true; },
          model_.process_events.pid);
}

}  // namespace acceltrace::model
