// SPDX-License-Identifier: Apache-2.0
//
// Finds the processes of jobs whose submission was not recorded.
#ifndef LIBTRACE_MODEL_TABLES_JOB_OWNERS_H_
#define LIBTRACE_MODEL_TABLES_JOB_OWNERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// Returns the upper half of a correlation id, which identifies an incarnation of a process, or 0 if
// the id has none. Usually, the driver assigned the number; in older traces, it is the pid. The
// number itself does not tell which of the two it is.
inline uint32_t ClientOf(uint64_t correlation) { return static_cast<uint32_t>(correlation >> 32); }

class JobOwners {
 public:
  // The model must outlive it and keep its rows. They are only read once a job is looked up that
  // has no recorded process.
  explicit JobOwners(const Model& model) : model_(model) {}

  // Returns the recorded process of the job. Otherwise, the only process with calls or other jobs
  // with ids of the same client. If there are none, the process whose pid is the client's number,
  // if it was recorded and used no other client. Otherwise 0.
  uint32_t Of(size_t job);

 private:
  struct Client {
    uint32_t number = 0;
    uint32_t pid = 0;      // of a call or a job with its ids
    bool several = false;  // another process has such ids, too
    // What is known of the process whose pid is the number.
    bool recorded = false, has_others = false;
  };

  Client* Find(uint32_t number);
  // Collects the clients of jobs without a process.
  void FindAsked();
  void SeeProcess(uint32_t pid);
  void See(uint32_t client, uint32_t pid);
  void Build();

  const Model& model_;
  bool built_ = false;
  std::vector<Client> clients_;  // by number
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_JOB_OWNERS_H_
