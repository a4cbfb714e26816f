// SPDX-License-Identifier: Apache-2.0
//
// Tables as comma-separated values (RFC 4180, \n, a line of names first; an
// empty field is "not seen").
#ifndef LIBTRACE_VIEW_CSV_H_
#define LIBTRACE_VIEW_CSV_H_

#include <string>
#include <string_view>

#include "libtrace/query/tables.h"
#include "libtrace/stream/result.h"
#include "libtrace/view/export.h"

namespace acceltrace::view {

// A field, quoted where need be.
void AppendCsvText(std::string_view text, std::string* out);
Status WriteCsv(const query::PlainTable& table, const Sink& sink);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_CSV_H_
