// SPDX-License-Identifier: Apache-2.0
//
// The table `commands` as its packets come, of a trace that is not loaded.
#ifndef LIBTRACE_QUERY_COMMAND_STREAM_H_
#define LIBTRACE_QUERY_COMMAND_STREAM_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "libtrace/model/command_rows.h"
#include "libtrace/model/model.h"
#include "libtrace/model/partial.h"
#include "libtrace/query/tables.h"

namespace acceltrace::query {

class CommandStream : public RowStream {
 public:
  // fields: Needs::command_fields; its table has columns that come from others, which must not be
  // read. *model gets what EachCommand() loads. All of them must outlive it.
  CommandStream(const model::PartialTrace* trace, std::vector<uint32_t> fields,
                model::Model* model);

  const PlainTable& table() const override { return table_; }
  bool EachPart(const std::function<bool(size_t rows)>& each) override;

 private:
  const model::PartialTrace& trace_;
  const std::vector<uint32_t> fields_;
  model::Model& model_;
  model::CommandRows* rows_ = nullptr;
  PlainTable table_;
};

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_COMMAND_STREAM_H_
