// SPDX-License-Identifier: Apache-2.0
//
// Converts the call sites of API calls to JSON.
#include "libtrace/view/json/json_parts.h"

namespace acceltrace::view {
namespace {

void AddUse(const analysis::SiteUse& use, Json* to) {
  (*to)["calls"] = use.calls;
  (*to)["failed"] = use.failed;
  (*to)["bytes"] = use.bytes;
  (*to)["jobs"] = use.jobs;
  (*to)["time_ns"] = use.time_ns;
  (*to)["device_ns"] = use.device_ns;
}

}  // namespace

Json CallSitesJson(const analysis::Report& report) {
  const analysis::CallSites& found = report.call_sites;
  Json sites = Json::array(), stacks = Json::array();
  for (const analysis::CallSite& site : found.sites) {
    Json row = {{"site", site.site}, {"object", site.object}};
    AddUse(site.use, &row);
    sites.push_back(std::move(row));
  }
  for (const analysis::StackUse& stack : found.stacks) {
    Json frames = Json::array();
    for (const uint32_t name : stack.frames) frames.push_back(found.names[name]);
    Json row = {{"frames", std::move(frames)}, {"site", stack.site}};
    AddUse(stack.use, &row);
    stacks.push_back(std::move(row));
  }
  return {{"without", found.without}, {"sites", sites}, {"stacks", stacks}};
}

}  // namespace acceltrace::view
