// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/checks/conservation.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <utility>

#include "libtrace/analysis/checks/laws.h"
#include "libtrace/analysis/checks/once.h"

namespace acceltrace::analysis {
namespace {

// Checks the tracer's own accounts, for each hop and from hop to hop.
void AccountLaws(const Losses& losses, std::vector<Law>* laws) {
  Tally accounts("accounts", "in = out + lost + bad, at every hop of the tracer");
  Tally chain("hops", "what hops gave away = what the next one took");
  std::map<std::string, uint64_t> given;
  for (const HopUse& hop : losses.hops) {
    accounts.Case(hop.in, hop.out + hop.lost + hop.bad + hop.waiting, [&] {
      return fmt::format("{}: {} in, {} out, {} lost, {} bad", hop.name, hop.in, hop.out, hop.lost,
                         hop.bad);
    });
    if (!hop.into.empty()) given[hop.into] += hop.out;
  }
  for (const auto& [name, events] : given) {
    uint64_t taken = 0;
    for (const HopUse& hop : losses.hops) taken += hop.name == name ? hop.in : 0;
    chain.Case(events, taken, [&, &name = name, &events = events] {
      return fmt::format("{}: {} given to it, {} taken", name, events, taken);
    });
  }
  if (!losses.has_accounts) {
    accounts.Because("the recording has no end: its accounts are missing");
    chain.Because("the recording has no end: its accounts are missing");
  }
  if (given.empty()) chain.Because("hops do not say which one takes what they give away");
  laws->push_back(accounts.Done());
  laws->push_back(chain.Done());
}

class Laws : public ConservationSum {
 public:
  Laws(const Losses& losses, LawPass* pass)
      : model_(pass->model()), losses_(losses), coverage_(model_) {
    // A recording that was not ended in order may lack its last events.
    const bool complete = losses.None() && losses.has_accounts && model_.read.has_footer;
    groups_.push_back(JobLaws(coverage_, complete, pass));
    groups_.push_back(CallLaws(coverage_, complete, pass));
    for (uint32_t device = 0; device < model_.devices.size(); ++device) {
      groups_.push_back(CounterLaws(coverage_, device, complete, pass));
    }
  }

  std::vector<Law> Finish() override {
    std::vector<Law> laws;
    for (const auto& group : groups_) group->Finish(&laws);
    laws.push_back(OnceLaw(model_));
    AccountLaws(losses_, &laws);
    return laws;
  }

 private:
  const model::Model& model_;
  const Losses& losses_;
  const Coverage coverage_;
  std::vector<std::unique_ptr<LawGroup>> groups_;
};

}  // namespace

std::unique_ptr<ConservationSum> SumConservation(const Losses& losses, LawPass* pass) {
  return std::make_unique<Laws>(losses, pass);
}

std::vector<Law> ComputeConservation(const model::Model& model, const Losses& losses) {
  const auto pass = std::make_unique<LawPass>(model);
  const auto sum = SumConservation(losses, pass.get());
  pass->Run();
  return sum->Finish();
}

}  // namespace acceltrace::analysis
