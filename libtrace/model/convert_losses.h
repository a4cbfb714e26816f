// SPDX-License-Identifier: Apache-2.0
//
// What was lost, on the host's clock. Internal.
#ifndef LIBTRACE_MODEL_CONVERT_LOSSES_H_
#define LIBTRACE_MODEL_CONVERT_LOSSES_H_

#include "libtrace/model/decode.h"
#include "libtrace/model/model.h"
#include "libtrace/model/windows.h"

namespace acceltrace::model {

// Once clocks are fitted; takes the decoder's losses. windows: null if none has times of a device.
void ConvertLosses(const Windows* windows, Decoder* decoder, Model* model);

// No more than losses. False: some have times of a device.
bool ConvertLosses(Decoder* decoder, Model* model);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_CONVERT_LOSSES_H_
