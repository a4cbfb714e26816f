// SPDX-License-Identifier: Apache-2.0
//
// Converts the quality of a clock to JSON; docs/json.md has the fields.
#ifndef LIBTRACE_VIEW_JSON_CLOCK_JSON_H_
#define LIBTRACE_VIEW_JSON_CLOCK_JSON_H_

#include <nlohmann/json.hpp>

#include "libtrace/clock/estimator.h"

namespace acceltrace::view {

nlohmann::ordered_json FitJson(const clock::Quality& fit);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_JSON_CLOCK_JSON_H_
