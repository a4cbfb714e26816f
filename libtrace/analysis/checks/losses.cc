// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/checks/losses.h"

#include <algorithm>

namespace acceltrace::analysis {

Losses ComputeLosses(const model::Model& model) {
  Losses losses;
  losses.has_accounts = model.has_accounts;
  for (const auto& hop : model.accounts.hops()) {
    losses.hops.push_back(
        {hop.name(), hop.in(), hop.out(), hop.lost(), hop.bad(), hop.waiting(), hop.into()});
    losses.lost += hop.lost();
    losses.bad += hop.bad();
  }
  for (const auto& unseen : model.accounts.unseen()) {
    losses.unseen.emplace_back(unseen.pid(), unseen.reason());
  }
  uint64_t recorded = 0;
  for (const model::Loss& loss : model.losses) {
    recorded += loss.count;
    if (losses.spans.size() == Losses::kMaxSpans) {
      ++losses.more_spans;
      continue;
    }
    losses.spans.push_back({model.strings.Get(loss.hop), loss.count, loss.first_ns, loss.last_ns});
  }
  // Loss records repeat what the accounts sum up. Either may be incomplete, so use the larger one.
  losses.lost = std::max(losses.lost, recorded);
  losses.damaged_stretches = model.read.gap_count;
  for (const stream::Gap& gap : model.read.gaps) losses.damaged_bytes += gap.length_bytes;
  losses.missing_packets = model.read.missing_packets;
  losses.bad_packets = model.read.bad_packets;
  losses.unusable_rows = model.load.unknown_device_rows + model.load.bad_rows +
                         model.load.duplicate_commands + model.load.duplicate_jobs;
  return losses;
}

}  // namespace acceltrace::analysis
