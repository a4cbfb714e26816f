// SPDX-License-Identifier: Apache-2.0
//
// Finds out whether a signal was sent to the whole process group, or only to this process.
//
// The kernel does not tell. A process in the group that blocks all signals and does nothing has the
// signal pending in the first case. The command, which is also in the group, has then received it
// as well and must not get it again.
#ifndef LIBTRACE_CLI_GROUP_WITNESS_H_
#define LIBTRACE_CLI_GROUP_WITNESS_H_

#include <sys/types.h>

namespace acceltrace::cli {

class GroupWitness {
 public:
  GroupWitness() { Begin(); }
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;
  ~GroupWitness() { End(); }

  // Must be called once for each signal that arrives here.
  bool Saw(int signal);

 private:
  void Begin();
  void End();

  pid_t pid_ = -1;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_GROUP_WITNESS_H_
