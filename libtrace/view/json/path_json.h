// SPDX-License-Identifier: Apache-2.0
//
// Internal.
#ifndef LIBTRACE_VIEW_JSON_PATH_JSON_H_
#define LIBTRACE_VIEW_JSON_PATH_JSON_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "libtrace/analysis/report/advice.h"
#include "libtrace/analysis/report/limiter.h"

namespace acceltrace::view {

nlohmann::ordered_json LimiterJson(const analysis::Limiter& limiter);
nlohmann::ordered_json AdviceJson(const std::vector<analysis::Advice>& list);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_JSON_PATH_JSON_H_
