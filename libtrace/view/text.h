// SPDX-License-Identifier: Apache-2.0
//
// Reports for people. The same report gives the same bytes for the same style.
#ifndef LIBTRACE_VIEW_TEXT_H_
#define LIBTRACE_VIEW_TEXT_H_

#include <string>

#include "libtrace/analysis/report.h"
#include "libtrace/view/table.h"

namespace acceltrace::view {

// The whole report.
std::string TextReport(const analysis::Report& report, const Style& style);
// What was checked, with counts, then the findings.
std::string TextVerify(const analysis::Report& report,
                       const std::vector<analysis::Finding>& findings, const Style& style);

// Sections of the report.
namespace text {
std::string Heading(const analysis::Report& report, const Style& style);
std::string Breakdown(const analysis::Report& report, const Style& style);
std::string ToChange(const analysis::Report& report, const Style& style);
std::string Help(const analysis::Report& report, const Style& style);
std::string Utilisation(const analysis::Report& report, const Style& style);
std::string Latency(const analysis::Report& report, const Style& style);
std::string Calls(const analysis::Report& report, const Style& style);
std::string Transfers(const analysis::Report& report, const Style& style);
std::string Memory(const analysis::Report& report, const Style& style);
std::string Ops(const analysis::Report& report, const Style& style);
std::string Ranges(const analysis::Report& report, const Style& style);
std::string Clocks(const analysis::Report& report, const Style& style);
std::string Losses(const analysis::Report& report, const Style& style);
std::string Checks(const analysis::Report& report, const Style& style);
std::string Tracer(const analysis::Report& report, const Style& style);
}  // namespace text

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TEXT_H_
