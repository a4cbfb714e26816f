// SPDX-License-Identifier: Apache-2.0
//
// Whose the jobs are that nobody saw being submitted.
#ifndef LIBTRACE_MODEL_JOB_OWNERS_H_
#define LIBTRACE_MODEL_JOB_OWNERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::model {

// The upper half of a correlation id, 0 if the id is nobody's: an incarnation of a process. Its
// number is the driver's as a rule, and a process's own number in traces of before; which of the
// two it is nothing in the number itself says.
inline uint32_t ClientOf(uint64_t correlation) { return static_cast<uint32_t>(correlation >> 32); }

class JobOwners {
 public:
  // The model must outlive it and keep its rows. They are read once, and only if somebody asks for
  // a job that has no process of its own.
  explicit JobOwners(const Model& model) : model_(model) {}

  // The process that the job is recorded to be of. Else the only one whose calls and other jobs
  // have ids of the same client. Where there are none of these, the process whose number the
  // client has, if that was recorded and used no other client. Else 0.
  uint32_t Of(size_t job);

 private:
  struct Client {
    uint32_t number = 0;
    uint32_t pid = 0;      // of a call or a job with its ids
    bool several = false;  // there are such of another process
    // What is known of the process that has the same number.
    bool recorded = false, has_others = false;
  };

  Client* Find(uint32_t number);
  // Asked for are the clients of jobs without a process.
  void FindAsked();
  void SeeProcess(uint32_t pid);
  void See(uint32_t client, uint32_t pid);
  void Build();

  const Model& model_;
  bool built_ = false;
  std::vector<Client> clients_;  // by number
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_JOB_OWNERS_H_
