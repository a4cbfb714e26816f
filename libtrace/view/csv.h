// SPDX-License-Identifier: Apache-2.0
//
// Tables as comma-separated values (RFC 4180, \n, a line of names first; an
// empty field is "not seen"). Room: libtrace/view.
#ifndef LIBTRACE_VIEW_CSV_H_
#define LIBTRACE_VIEW_CSV_H_

#include "libtrace/stream/result.h"
#include "libtrace/view/export.h"
#include "libtrace/view/tables.h"

namespace acceltrace::view {

Status WriteCsv(const PlainTable& table, const Sink& sink);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_CSV_H_
