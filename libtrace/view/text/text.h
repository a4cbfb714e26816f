// SPDX-License-Identifier: Apache-2.0
//
// Formats reports for people. The same report results in the same bytes for the same style.
#ifndef LIBTRACE_VIEW_TEXT_TEXT_H_
#define LIBTRACE_VIEW_TEXT_TEXT_H_

#include <string>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/view/common/table.h"

namespace acceltrace::view {

// Shows what limits the run, what to change and where its time went; fits on a terminal of 24
// lines.
std::string TextAnswer(const analysis::Report& report, const Style& style);
// The whole report.
std::string TextReport(const analysis::Report& report, const Style& style);

// A section of the report; its text is empty if the trace has nothing for it.
struct Section {
  const char* name;
  std::string (*write)(const analysis::Report& report, const Style& style);
  bool of_answer = false;  // analysis::ComputeAnswer() computes all of it
};
// In the order of the report.
const std::vector<Section>& Sections();
// Returns the sections with these names.
std::string TextSections(const analysis::Report& report, const std::vector<std::string>& names,
                         const Style& style);
// Lists what was checked, with counts, then the findings.
std::string TextVerify(const analysis::Report& report,
                       const std::vector<analysis::Finding>& findings, const Style& style);

// The sections of the report.
namespace text {
std::string Heading(const analysis::Report& report, const Style& style);
std::string Verdict(const analysis::Report& report, const Style& style);
std::string ToChange(const analysis::Report& report, const Style& style);
// Returns as many changes as fit into a number of lines, but at least one.
std::string Changes(const analysis::Report& report, const Style& style, size_t lines);
std::string Time(const analysis::Report& report, const Style& style);
std::string Help(const analysis::Report& report, const Style& style);
std::string Utilisation(const analysis::Report& report, const Style& style);
std::string Latency(const analysis::Report& report, const Style& style);
std::string Calls(const analysis::Report& report, const Style& style);
std::string CallSites(const analysis::Report& report, const Style& style);
std::string Transfers(const analysis::Report& report, const Style& style);
std::string Memory(const analysis::Report& report, const Style& style);
std::string Ops(const analysis::Report& report, const Style& style);
std::string Ranges(const analysis::Report& report, const Style& style);
std::string FoundPhases(const analysis::Report& report, const Style& style);
std::string Roofline(const analysis::Report& report, const Style& style);
std::string System(const analysis::Report& report, const Style& style);
std::string Clocks(const analysis::Report& report, const Style& style);
std::string Losses(const analysis::Report& report, const Style& style);
std::string Checks(const analysis::Report& report, const Style& style);
std::string Tracer(const analysis::Report& report, const Style& style);
}  // namespace text

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TEXT_TEXT_H_
