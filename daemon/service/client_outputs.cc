// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/client_outputs.h"

#include <algorithm>
#include <utility>

#include "daemon/base/privileges.h"
#include "daemon/outputs.h"

namespace acceltrace::daemon {

Result<ClientOutputs> TakeOutputs(Client* client, const std::string& path,
                                  const RecordOptions& options, FileIntake::Kinds kinds) {
  ClientOutputs outputs;
  auto files = client->TakeFiles();
  if (!files.ok()) return files.status();
  outputs.files = std::move(files).value();
  if (!path.empty()) {
    if (!client->peer().root()) {
      return Status::Error("only root may name a path; open the file and send its descriptor");
    }
    const WithRights rights(Rights::kRecording);
    auto named = OpenOutputs(path, options);
    if (!named.ok()) return named.status();
    outputs.named = std::move(named).value();
    outputs.files = Descriptors(outputs.named);
    for (const UniqueFd& file : outputs.files) {
      const std::string why = FileIntake::WhyNot(file.get(), kinds);
      if (!why.empty()) return Status::Error(why);
    }
  }
  if (outputs.files.empty()) {
    return Status::Error("no output: send an open file along, or a path");
  }
  if (outputs.files.size() != 1 + MoreFiles(options)) {
    return Status::Error("such a recording needs " + std::to_string(1 + MoreFiles(options)) +
                         " open files, not " + std::to_string(outputs.files.size()));
  }
  for (const UniqueFd& file : outputs.files) {
    if (Status status = CheckDescriptor(file.get()); !status.ok()) return status;
    const FileId id = RegularFile(file.get());
    if (id == FileId()) continue;
    if (std::find(outputs.ids.begin(), outputs.ids.end(), id) != outputs.ids.end()) {
      return Status::Error("the same file came twice: each part is a file of its own");
    }
    outputs.ids.push_back(id);
  }
  return outputs;
}

}  // namespace acceltrace::daemon
