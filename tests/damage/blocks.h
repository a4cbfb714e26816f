// SPDX-License-Identifier: Apache-2.0
//
// Converts batches to blocks of packed columns and back.
#ifndef TESTS_DAMAGE_BLOCKS_H_
#define TESTS_DAMAGE_BLOCKS_H_

#include "tests/damage/mutator.h"

namespace acceltrace::test {

// Turns a batch of commands, jobs or host events into an equivalent block (only the jobs' host
// events). The modes of its columns are the writer's choice, or random. Returns false and leaves
// the packet unchanged if a block cannot hold it.
bool ToBlock(proto::Packet* packet, Random* random);
// Turns a valid block, or a valid packed body, into its batch.
bool FromBlock(proto::Packet* packet);
// Packs a block or another body. Returns false and leaves the packet unchanged if it would not
// shrink.
bool Pack(proto::Packet* packet);

}  // namespace acceltrace::test

#endif  // TESTS_DAMAGE_BLOCKS_H_
