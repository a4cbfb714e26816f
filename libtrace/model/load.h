// SPDX-License-Identifier: Apache-2.0
//
// Packets to a model. Internal: model.h and partial.h are what others include.
#ifndef LIBTRACE_MODEL_LOAD_H_
#define LIBTRACE_MODEL_LOAD_H_

#include <memory>

#include "libtrace/model/model.h"

namespace acceltrace::model {

// As Load(). part: the reader gives a part of a trace, and records that are not there were not
// lost.
Result<std::unique_ptr<Model>> LoadRows(stream::Reader* reader, const LoadOptions& options,
                                        bool part);

// In order of their begins; of those that begin together the longest first.
void SortApi(ApiCalls* api);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_H_
