// SPDX-License-Identifier: Apache-2.0
//
// Writes tables as comma-separated values (RFC 4180 with \n), beginning with a line of names. An
// empty field means "not recorded".
#ifndef LIBTRACE_VIEW_COMMON_CSV_H_
#define LIBTRACE_VIEW_COMMON_CSV_H_

#include <string>
#include <string_view>

#include "libtrace/base/result.h"
#include "libtrace/query/tables.h"
#include "libtrace/view/common/export.h"

namespace acceltrace::view {

// Appends a field, quoted if necessary.
void AppendCsvText(std::string_view text, std::string* out);
Status WriteCsv(const query::PlainTable& table, const Sink& sink);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_COMMON_CSV_H_
