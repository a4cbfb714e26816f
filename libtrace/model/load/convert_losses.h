// SPDX-License-Identifier: Apache-2.0
//
// Converts losses to the host's clock. Internal.
#ifndef LIBTRACE_MODEL_LOAD_CONVERT_LOSSES_H_
#define LIBTRACE_MODEL_LOAD_CONVERT_LOSSES_H_

#include "libtrace/model/load/decode.h"
#include "libtrace/model/load/windows.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// Consumes the decoder's losses, after clocks are fitted. windows: nullptr if none of them has
// device times.
void ConvertLosses(const Windows* windows, Decoder* decoder, Model* model);

// Does the same and nothing else. Returns false if some have device times.
bool ConvertLosses(Decoder* decoder, Model* model);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_CONVERT_LOSSES_H_
