// SPDX-License-Identifier: Apache-2.0
//
// Why is a table empty?
//
// Nothing happened, or nobody recorded it: a table without rows does not tell which. The trace
// says of which sources it is.
#ifndef LIBTRACE_QUERY_SOURCES_H_
#define LIBTRACE_QUERY_SOURCES_H_

#include <string>
#include <string_view>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::query {

// A source of which the trace holds nothing, since it was not recorded.
struct AbsentSource {
  std::string name;  // stable: sched, irq, ...
  std::string
      text;  // one sentence without its full stop: what was not recorded, why, and how it is
  std::vector<std::string_view> tables,
      sections;  // what it leaves empty: of queries, of the report
};
std::vector<AbsentSource> AbsentSources(const model::Model& model);

// AbsentSource::text; empty: the table has rows, or what it is of was recorded.
std::string WhyEmpty(const std::vector<AbsentSource>& absent, std::string_view table);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_SOURCES_H_
