// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/record_rows.h"

#include <algorithm>
#include <cstring>

namespace acceltrace::daemon {
namespace {

using proto::Block;
using stream::BlockWriter;

bool InRange(const BlockWriter& writer, uint64_t lowest, uint64_t highest) {
  return writer.lowest() <= writer.highest() && writer.lowest() >= lowest &&
         writer.highest() <= highest;
}

void SetTimes(const uint64_t* ticks, size_t rows, Block* block) {
  uint64_t first = ticks[0], last = ticks[0];
  for (size_t row = 1; row < rows; ++row) {
    first = std::min(first, ticks[row]);
    last = std::max(last, ticks[row]);
  }
  block->set_first(first);
  block->set_last(last);
}

constexpr Block::Column StallColumn(int stall) {
  return static_cast<Block::Column>(Block::COLUMN_STALL_TICKS + stall);
}

// Words of struct axl_rec_cmd.
enum Word {
  kHeadSequence = 0,
  kTime = 1,
  kFetched = 2,
  kHead = 3,
  kStart = 4,
  kEnd = 5,
  kCorrelation = 6,
  kJobWhat = 7,
  kTagStall0 = 8,
  kStall12 = 9,
  kStall34 = 10,
  kStall5Limiter = 11,
  kWork = 12,
  kBytes = 13,
  kMemoryBytes = 14,
  kHitsMisses = 15,
};
static_assert(offsetof(axl_rec_cmd, fetched) == 8 * kFetched &&
              offsetof(axl_rec_cmd, correlation) == 8 * kCorrelation &&
              offsetof(axl_rec_cmd, job) == 8 * kJobWhat &&
              offsetof(axl_rec_cmd, tag) == 8 * kTagStall0 &&
              offsetof(axl_rec_cmd, stall) == 8 * kTagStall0 + 4 &&
              offsetof(axl_rec_cmd, limiter) == 8 * kStall5Limiter + 4 &&
              offsetof(axl_rec_cmd, work) == 8 * kWork &&
              offsetof(axl_rec_cmd, row_hits) == 8 * kHitsMisses && AXL_NUM_STALLS == 6);

typedef uint64_t Longs __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t SignedLongs __attribute__((vector_size(32)));
typedef uint32_t Words __attribute__((vector_size(32), aligned(4), may_alias));

// Handles several rows at a time. Returns false if, in any row, times are wider than the clock, or
// the head is not the start minus the semaphore stall.
inline __attribute__((always_inline)) bool DeriveBody(CommandRows::Columns* c, size_t rows,
                                                      uint64_t mask) {
#define WORDS(which, i) (*reinterpret_cast<const Longs*>(&c->word[which][i]))
#define PUT(to, value) (*reinterpret_cast<Longs*>(&c->of.to[i]) = (value))
// Splits eight words into their low and high halves.
#define HALVES(which, low, high)                                            \
  do {                                                                      \
    const Words a = (Words)WORDS(which, i), b = (Words)WORDS(which, i + 4); \
    *reinterpret_cast<Words*>(&c->of.low[i]) =                              \
        __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);           \
    *reinterpret_cast<Words*>(&c->of.high[i]) =                             \
        __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);           \
  } while (0)
  // With the highest bit flipped, unsigned numbers can be compared as signed ones.
  constexpr uint64_t kTurn = uint64_t{1} << 63;
  Longs suspects = {};
  SignedLongs first = reinterpret_cast<SignedLongs>(WORDS(kFetched, 0) ^ kTurn), last = first;
  for (size_t i = 0; i < rows; i += 4) {
    const Longs fetched = WORDS(kFetched, i), head = WORDS(kHead, i), start = WORDS(kStart, i);
    const Longs end = WORDS(kEnd, i);
    const SignedLongs turned = reinterpret_cast<SignedLongs>(fetched ^ kTurn);
    first = turned < first ? turned : first;
    last = turned > last ? turned : last;
    const Longs waited = (start - head) & mask, stall = WORDS(kTagStall0, i) >> 32;
    const Longs unlike = (waited ^ stall) & mask, in_range = stall ^ UINT32_MAX;
    PUT(head_after, (head - fetched) & mask);
    // If a wait is longer than the clock's range, only the stall has its length.
    const Longs start_after = in_range == 0 ? waited : stall;
    PUT(start_after, start_after);
    PUT(end_after, (end - start) & mask);
    PUT(semaphore, stall - start_after);
    suspects |= ((WORDS(kTime, i) | fetched | head | start | end) & ~mask) |
                reinterpret_cast<Longs>((unlike != 0) & (in_range != 0));
  }
  for (size_t i = 0; i < rows; i += 8) {
    HALVES(kHeadSequence, head, record);
    HALVES(kJobWhat, job, what);
    HALVES(kTagStall0, tag, stall[0]);
    HALVES(kStall12, stall[1], stall[2]);
    HALVES(kStall34, stall[3], stall[4]);
    HALVES(kStall5Limiter, stall[5], limiter);
    HALVES(kHitsMisses, row_hits, row_misses);
  }
#undef WORDS
#undef PUT
#undef HALVES
  c->first = static_cast<uint64_t>(std::min({first[0], first[1], first[2], first[3]})) ^ kTurn;
  c->last = static_cast<uint64_t>(std::max({last[0], last[1], last[2], last[3]})) ^ kTurn;
  return (suspects[0] | suspects[1] | suspects[2] | suspects[3]) == 0;
}

bool DeriveBaseline(CommandRows::Columns* c, size_t rows, uint64_t mask) {
  return DeriveBody(c, rows, mask);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) bool DeriveAvx2(CommandRows::Columns* c, size_t rows,
                                                uint64_t mask) {
  return DeriveBody(c, rows, mask);
}
#endif

bool Derive(CommandRows::Columns* c, size_t rows, uint64_t mask) {
  // The last row is repeated to fill the vector.
  for (auto& word : c->word) std::fill_n(word + rows, (8 - rows % 8) % 8, word[rows - 1]);
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2) return DeriveAvx2(c, rows, mask);
#endif
  return DeriveBaseline(c, rows, mask);
}

}  // namespace

// Returns false if a row is bad: the block is unusable then.
bool CommandRows::Write(BlockWriter* writer, Block* block) {
  Columns& c = *c_;
  if (!Derive(&c, rows_, mask_)) return false;
  block->set_table(Block::TABLE_COMMANDS);
  block->set_device(device_);
  block->set_stalls(AXL_NUM_STALLS);
  block->set_first(c.first);
  block->set_last(c.last);
  writer->Begin(block, rows_);
  writer->Delta(Block::COLUMN_FETCHED_TICKS, c.word[kFetched]);
  writer->Wide(Block::COLUMN_HEAD_TICKS_AFTER, c.of.head_after);
  writer->Wide(Block::COLUMN_START_TICKS_AFTER, c.of.start_after);
  const bool waits = writer->highest() != 0;
  writer->Wide(Block::COLUMN_END_TICKS_AFTER, c.of.end_after);
  writer->DeltaNarrow(Block::COLUMN_RECORD, c.of.record);
  writer->Part(Block::COLUMN_UNIT, c.of.head, 8, 0xff, c.of.part);
  if (!InRange(*writer, 0, AXL_NUM_ENGINES - 1)) return false;
  writer->Part(Block::COLUMN_QUEUE, c.of.head, 16, 0xff, c.of.part);
  if (!InRange(*writer, 0, limits_.num_queues - 1)) return false;
  writer->Part(Block::COLUMN_CONTEXT, c.of.head, 24, 0xff, c.of.part);
  if (!InRange(*writer, 0, limits_.num_contexts - 1)) return false;
  writer->DeltaNarrow(Block::COLUMN_JOB, c.of.job);
  if (!InRange(*writer, 1, UINT32_MAX)) return false;
  writer->Part(Block::COLUMN_INDEX, c.of.what, 0, 0xffff, c.of.part);
  if (!InRange(*writer, 0, AXL_MAX_JOB_COMMANDS - 1)) return false;
  writer->Part(Block::COLUMN_OPCODE, c.of.what, 16, 0xff, c.of.part);
  writer->Part(Block::COLUMN_STATUS, c.of.what, 24, 0xff, c.of.part);
  if (!InRange(*writer, 0, AXL_ST_CANCELED)) return false;
  writer->Narrow(Block::COLUMN_LIMITER, c.of.limiter);
  if (!InRange(*writer, 0, AXL_LIMIT_THROTTLE)) return false;
  writer->Narrow(Block::COLUMN_TAG, c.of.tag);
  writer->Delta(Block::COLUMN_CORRELATION, c.word[kCorrelation]);
  writer->Wide(Block::COLUMN_WORK, c.word[kWork]);
  writer->Wide(Block::COLUMN_BYTES, c.word[kBytes]);
  writer->Wide(Block::COLUMN_MEMORY_BYTES, c.word[kMemoryBytes]);
  writer->Narrow(Block::COLUMN_ROW_HITS, c.of.row_hits);
  writer->Narrow(Block::COLUMN_ROW_MISSES, c.of.row_misses);
  static_assert(AXL_STALL_SEMAPHORE == 0);
  if (waits) {
    writer->Reference(StallColumn(0), c.of.semaphore, Block::COLUMN_START_TICKS_AFTER);
  }
  for (int s = 1; s < AXL_NUM_STALLS; ++s) writer->Narrow(StallColumn(s), c.of.stall[s]);
  writer->Finish();
  return true;
}

void CommandRows::KeepGood() {
  size_t kept = 0;
  for (size_t row = 0; row < rows_; ++row) {
    axl_record record;
    for (size_t w = 0; w < kRecordWords; ++w) {
      std::memcpy(record.bytes + sizeof(uint64_t) * w, &c_->word[w][row], sizeof(uint64_t));
    }
    record.h.type = AXL_REC_CMD;
    if (CheckRecord(record, limits_) != nullptr) continue;
    for (auto& word : c_->word) word[kept] = word[row];
    ++kept;
  }
  rows_ = kept;
}

EncodedRows CommandRows::Encode(BlockWriter* writer, Block* block) {
  EncodedRows encoded;
  if (rows_ > 0 && !Write(writer, block)) {
    const size_t rows = rows_;
    KeepGood();
    encoded.bad = static_cast<uint32_t>(rows - rows_);
    block->Clear();
    // Encodes the good ones again: these have no errors now.
    if (rows_ > 0 && !Write(writer, block)) {
      encoded.bad = static_cast<uint32_t>(rows);
      block->Clear();
      rows_ = 0;
    }
  }
  encoded.good = static_cast<uint32_t>(rows_);
  rows_ = 0;
  return encoded;
}

void JobRows::Append(const axl_rec_job& from) {
  axl_record record;
  std::memcpy(&record, &from, sizeof(from));
  record.h.type = AXL_REC_JOB;
  if (CheckRecord(record, limits_) != nullptr) {
    ++bad_;
    return;
  }
  const axl_rec_job& job = record.job;
  Columns& c = *c_;
  const size_t row = rows_++;
  c.doorbell[row] = job.doorbell;
  c.fetched_after[row] = After(job.fetched, job.doorbell);
  c.start_after[row] = After(job.first_start, job.doorbell);
  c.end_after[row] = After(job.last_end, job.doorbell);
  c.completion_after[row] = After(job.completion, job.doorbell);
  c.irq_after[row] = job.irq == 0 ? 0 : After(job.irq, job.doorbell);
  c.has_irq[row] = job.irq != 0;
  std::memcpy(&c.head[row], &job.h, sizeof(c.head[row]));
  c.record[row] = job.h.sequence;
  c.correlation[row] = job.correlation;
  c.job[row] = job.job;
  c.commands[row] = job.commands;
  c.status[row] = job.status;
}

EncodedRows JobRows::Encode(BlockWriter* writer, Block* block) {
  const EncodedRows encoded = {static_cast<uint32_t>(rows_), bad_};
  bad_ = 0;
  if (rows_ == 0) return encoded;
  Columns& c = *c_;
  block->set_table(Block::TABLE_DEVICE_JOBS);
  block->set_device(device_);
  SetTimes(c.doorbell, rows_, block);
  writer->Begin(block, rows_);
  writer->Delta(Block::COLUMN_DOORBELL_TICKS, c.doorbell);
  writer->Wide(Block::COLUMN_FETCHED_TICKS_AFTER, c.fetched_after);
  writer->Wide(Block::COLUMN_FIRST_START_TICKS_AFTER, c.start_after);
  writer->Wide(Block::COLUMN_LAST_END_TICKS_AFTER, c.end_after);
  writer->Wide(Block::COLUMN_COMPLETION_TICKS_AFTER, c.completion_after);
  writer->Wide(Block::COLUMN_IRQ_TICKS_AFTER, c.irq_after);
  writer->Narrow(Block::COLUMN_HAS_IRQ, c.has_irq);
  writer->DeltaNarrow(Block::COLUMN_RECORD, c.record);
  writer->Part(Block::COLUMN_QUEUE, c.head, 16, 0xff, c.part);
  writer->Part(Block::COLUMN_CONTEXT, c.head, 24, 0xff, c.part);
  writer->DeltaNarrow(Block::COLUMN_JOB, c.job);
  writer->Narrow(Block::COLUMN_COMMANDS, c.commands);
  writer->Narrow(Block::COLUMN_STATUS, c.status);
  writer->Delta(Block::COLUMN_CORRELATION, c.correlation);
  writer->Finish();
  rows_ = 0;
  return encoded;
}

}  // namespace acceltrace::daemon
