// SPDX-License-Identifier: Apache-2.0
//
// Makes known numbers of API calls at known places; stacks_test.py records it. Compiled with frame
// pointers.
//
//   axl-stack-app ORDERS PAYMENTS DEPTH [PATHS]
//
// Waits for a line on its standard input before its first call, makes its calls for each line,
// prints "done", and runs until the end of its input, so that it still exists when its stacks are
// resolved. With PATHS it makes that many more calls for each line, each on a different stack.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "libtrace/runtime/axl.h"

namespace shop {

int total = 0;

// Work after each call prevents tail calls.
__attribute__((noinline)) void Order(int count) {
  for (int i = 0; i < count; ++i) {
    int device = 0;
    total += axlGetDevice(&device) == axlSuccess;
  }
}

class Till {
 public:
  void Pay(int count);
};

__attribute__((noinline)) void Till::Pay(int count) {
  for (int i = 0; i < count; ++i) total += axlSetDevice(-1 - i) == axlSuccess;
}

// A call at this depth.
__attribute__((noinline)) int Descend(int depth) {
  if (depth > 0) return Descend(depth - 1) + total;
  int device = 0;
  total += axlGetDevice(&device) == axlSuccess;
  return total;
}

// Each number below 2^kTurns makes a different stack, with a frame for each turn.
constexpr int kTurns = 20;
__attribute__((noinline)) int Right(int path, int turns);
__attribute__((noinline)) int Left(int path, int turns) {
  if (turns == 0) return Descend(0) + total;
  return ((path & 1) != 0 ? Left(path >> 1, turns - 1) : Right(path >> 1, turns - 1)) + total;
}
int Right(int path, int turns) {
  if (turns == 0) return Descend(0) - total;
  return ((path & 1) != 0 ? Left(path >> 1, turns - 1) : Right(path >> 1, turns - 1)) - total;
}

__attribute__((noinline)) void Open(int orders, int payments, int depth) {
  Order(orders);
  Till till;
  till.Pay(payments);
  total += Descend(depth);
}

}  // namespace shop

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  const int paths = argc == 5 ? atoi(argv[4]) : 0;
  int path = 0;
  char line[16];
  while (fgets(line, sizeof(line), stdin) != nullptr) {
    shop::Open(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]));
    for (const int end = path + paths; path < end; ++path) shop::Left(path, shop::kTurns);
    printf("done\n");
    fflush(stdout);
  }
  return 0;
}
