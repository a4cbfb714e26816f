// SPDX-License-Identifier: Apache-2.0
//
// Loads packets into a model. Internal: other folders include model.h and partial.h.
#ifndef LIBTRACE_MODEL_LOAD_LOAD_H_
#define LIBTRACE_MODEL_LOAD_LOAD_H_

#include <memory>

#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// Like Load(). part: the reader only returns a part of a trace, so that missing records were not
// lost.
Result<std::unique_ptr<Model>> LoadRows(stream::Reader* reader, const LoadOptions& options,
                                        bool part);

// Sorts calls by begin; of those with the same begin, the longest is first.
void SortApi(ApiCalls* api);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_LOAD_H_
