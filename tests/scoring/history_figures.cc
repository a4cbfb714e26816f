// SPDX-License-Identifier: Apache-2.0
#include "tests/scoring/history_figures.h"

#include "libtrace/analysis/report/report.h"
#include "libtrace/view/json/json.h"

namespace acceltrace::scoring {

FigureScore CheckFigures(const model::Model& model, const History& history) {
  RunTruth truth;
  truth.commands.resize(model.commands.size());
  truth.jobs.resize(model.jobs.size());
  const auto number = [&](uint32_t row) { return model.devices[row].about.device(); };
  FigureScore none;
  for (size_t i = 0; i < model.commands.size(); ++i) {
    const auto found = history.truth.commands.find(
        {number(model.commands.device[i]), model.commands.job[i], model.commands.index[i]});
    if (found == history.truth.commands.end()) return none;
    const auto& t = found->second;
    truth.commands[i] = {t.fetched,
                         t.head,
                         t.start,
                         t.end,
                         t.end - t.start - t.stalled,
                         {t.start - t.head, t.stalled}};
  }
  for (size_t j = 0; j < model.jobs.size(); ++j) {
    if (!model.jobs.on_device[j]) continue;
    const auto found = history.truth.jobs.find({number(model.jobs.device[j]), model.jobs.job[j]});
    if (found == history.truth.jobs.end()) return none;
    const auto& t = found->second;
    truth.jobs[j] = {t.doorbell, t.fetched,    t.first_start,
                     t.last_end, t.completion, t.has_irq ? t.irq : 0};
  }
  return ScoreFigures(
      model, nlohmann::json::parse(view::JsonReport(analysis::ComputeReport(model))), truth);
}

}  // namespace acceltrace::scoring
