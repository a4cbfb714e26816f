// SPDX-License-Identifier: Apache-2.0
//
// Joins the host side and the device side of each job to one row. Internal.
#ifndef LIBTRACE_MODEL_LOAD_JOIN_H_
#define LIBTRACE_MODEL_LOAD_JOIN_H_

#include <map>
#include <utility>

#include "libtrace/model/load/decode.h"
#include "libtrace/model/tables/host_jobs.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// Fills model->jobs and the columns of model->commands that refer to it. The other tables must be
// sorted and their device times converted. op_names: nullptr leaves the op of commands empty.
// host_jobs: must not be used afterwards. known_only: only fills in the times of jobs and their
// processes.
void JoinJobs(DeviceJobs* device_jobs, HostJobs* host_jobs,
              const std::map<std::pair<uint32_t, uint32_t>, uint32_t>* op_names, bool known_only,
              Model* model);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_JOIN_H_
