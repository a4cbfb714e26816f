// SPDX-License-Identifier: Apache-2.0
//
// Batches as blocks of packed columns.
#ifndef TESTS_DAMAGE_BLOCKS_H_
#define TESTS_DAMAGE_BLOCKS_H_

#include "tests/damage/mutator.h"

namespace acceltrace::test {

// A batch of commands, jobs or host events becomes a block that says the same (of host events:
// those of jobs). The modes of its columns are as the writer likes, or random. False: none that
// a block can hold, the packet is as it was.
bool ToBlock(proto::Packet* packet, Random* random);
// A sound block, or what is packed soundly, becomes its batch.
bool FromBlock(proto::Packet* packet);
// A block or another body is packed. False: there is nothing to gain, the packet is as it was.
bool Pack(proto::Packet* packet);

}  // namespace acceltrace::test

#endif  // TESTS_DAMAGE_BLOCKS_H_
