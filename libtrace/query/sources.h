// SPDX-License-Identifier: Apache-2.0
//
// Why is a table empty?
//
// A table without rows does not tell if nothing happened or if nothing was recorded. The trace has
// the sources that were recorded.
#ifndef LIBTRACE_QUERY_SOURCES_H_
#define LIBTRACE_QUERY_SOURCES_H_

#include <string>
#include <string_view>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::query {

// A source that was not recorded, so that the trace has no data of it.
struct AbsentSource {
  std::string name;  // stable: sched, irq, ...
  std::string
      text;  // one sentence without its full stop: what was not recorded, why, and how to record it
  std::vector<std::string_view> tables,
      sections;  // what is empty without it: tables of queries, sections of the report
};
std::vector<AbsentSource> AbsentSources(const model::Model& model);

// Returns AbsentSource::text, or an empty string if the table has rows or its source was recorded.
std::string WhyEmpty(const std::vector<AbsentSource>& absent, std::string_view table);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_SOURCES_H_
