/* SPDX-License-Identifier: Apache-2.0 */
/* axl-hello: y = 2 x + 1 on the accelerator. The example of docs/libaxl.md. */
#include <stdio.h>

#include "libtrace/runtime/axl.h"

#define N 1024

#define CHECK(call)                                                         \
  do {                                                                      \
    axlError_t error = (call);                                              \
    if (error != axlSuccess) {                                              \
      fprintf(stderr, "axl-hello: %s: %s: %s\n", #call, axlGetErrorName(error), \
              axlGetErrorDetail());                                         \
      return 1;                                                             \
    }                                                                       \
  } while (0)

int main(void) {
  axlDeviceProp prop;
  CHECK(axlGetDeviceProperties(&prop, 0));
  printf("%s at %s: %u x %u matrix engine, %u vector lanes, PCIe %u x%u\n", prop.name,
         prop.pciAddress, prop.matrixRows, prop.matrixCols, prop.vectorLanes, prop.pcieGen,
         prop.pcieWidth);

  float *host, *x;
  CHECK(axlHostAlloc((void **)&host, N * sizeof *host));
  CHECK(axlMalloc((void **)&x, N * sizeof *x));
  for (int i = 0; i < N; i++) host[i] = (float)i;

  axlStream_t stream;
  axlEvent_t begin, end;
  CHECK(axlStreamCreate(&stream));
  CHECK(axlEventCreate(&begin));
  CHECK(axlEventCreate(&end));

  axlRangePush("hello");
  CHECK(axlEventRecord(begin, stream));
  CHECK(axlMemcpyAsync(x, host, N * sizeof *x, axlMemcpyHostToDevice, stream));
  axlVector args = {.src0 = x, .dst = x, .rows = 1, .cols = N, .alpha = 2, .beta = 1};
  CHECK(axlLaunchVector("double_plus_one", axlVecScale, &args, stream));
  CHECK(axlMemcpyAsync(host, x, N * sizeof *x, axlMemcpyDeviceToHost, stream));
  CHECK(axlEventRecord(end, stream));
  CHECK(axlEventSynchronize(end));
  axlRangePop();

  float milliseconds;
  CHECK(axlEventElapsedTime(&milliseconds, begin, end));
  int wrong = 0;
  for (int i = 0; i < N; i++) wrong += host[i] != 2 * (float)i + 1;
  printf("%d of %d right, %.3f us on the device\n", N - wrong, N, 1e3 * milliseconds);

  CHECK(axlEventDestroy(begin));
  CHECK(axlEventDestroy(end));
  CHECK(axlStreamDestroy(stream));
  CHECK(axlFree(x));
  CHECK(axlHostFree(host));
  return wrong != 0;
}
