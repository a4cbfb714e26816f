// SPDX-License-Identifier: Apache-2.0
//
// A program that makes known numbers of API calls at known places: what stacks_test.py records.
// Compiled with frame pointers.
//
//   axl-stack-app ORDERS PAYMENTS DEPTH
//
// Waits for a line on its standard input before its first call, and for its end after the last one,
// so that it is still there when its stacks are resolved. Prints "done" between.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "libtrace/runtime/axl.h"

namespace shop {

int total = 0;

// Something to do after each call, so that none is a jump.
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

// One call, so far inside.
__attribute__((noinline)) int Descend(int depth) {
  if (depth > 0) return Descend(depth - 1) + total;
  int device = 0;
  total += axlGetDevice(&device) == axlSuccess;
  return total;
}

__attribute__((noinline)) void Open(int orders, int payments, int depth) {
  Order(orders);
  Till till;
  till.Pay(payments);
  total += Descend(depth);
}

}  // namespace shop

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  char line[16];
  if (fgets(line, sizeof(line), stdin) == nullptr) return 1;
  shop::Open(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]));
  printf("done\n");
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != nullptr) {
  }
  return 0;
}
