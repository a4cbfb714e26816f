// SPDX-License-Identifier: Apache-2.0
//
// Whether a signal went to the whole process group, or to this process alone.
//
// The kernel does not say. A process of the group that does nothing and takes no signal has it
// pending in the first case: the command, which is of the group, too, has got it then, and must not
// get it once more.
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

  // For each signal that arrived here, once.
  bool Saw(int signal);

 private:
  void Begin();
  void End();

  pid_t pid_ = -1;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_GROUP_WITNESS_H_
