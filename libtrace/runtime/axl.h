/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libaxl: the host API of the axl accelerator. C99 and C++.
 *
 * The only public header. Link with -laxl. It resembles CUDA and HIP: devices, memory, streams,
 * events, launches, graphs, named ranges. Differences:
 *
 *   - A device pointer is a void * that the CPU must not dereference. Its value is a
 *     buffer handle and a byte offset, so arithmetic inside one allocation
 *     works. It also identifies the device that it belongs to.
 *   - Device code is fixed: matmuls on the matrix engine, vector ops on the
 *     vector engine, copies on two DMA engines. The engines run concurrently;
 *     within a stream everything happens in order, except between the nodes of
 *     one graph, where only the given dependencies hold.
 *   - Each call that reaches the device is given a correlation id that its job
 *     carries through driver, device, interrupt and wake-up.
 *   - Streams of one device do not synchronise with the NULL stream.
 *
 * Every function may be called from any thread. Errors are return values; axlGetErrorDetail()
 * explains them. If a job fails, its device's streams stop: every later call there returns the same
 * error until axlDeviceReset().
 */
#ifndef LIBTRACE_RUNTIME_AXL_H_
#define LIBTRACE_RUNTIME_AXL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AXL_VERSION 1000 /* major * 1000 + minor */

#if defined(__GNUC__)
#define AXL_API __attribute__((visibility("default")))
#else
#define AXL_API
#endif

/* This is an int in C++ too, so that an unknown number can be reported as such. */
#ifdef __cplusplus
#define AXL_INT_ENUM : int
#else
#define AXL_INT_ENUM
#endif

/* ---- errors --------------------------------------------------------------- */

typedef enum axlError AXL_INT_ENUM {
  axlSuccess = 0,
  axlErrorInvalidValue = 1,         /* an argument is out of range */
  axlErrorInvalidHandle = 2,        /* no such stream, event or graph (any more) */
  axlErrorInvalidDevicePointer = 3, /* not inside one allocation of that device */
  axlErrorInvalidHostPointer = 4,   /* needs memory from axlHostAlloc or axlHostRegister */
  axlErrorInvalidDevice = 5,        /* no device of that number */
  axlErrorNoDevice = 6,             /* no accelerator, or its driver is not loaded */
  axlErrorPermission = 7,           /* /dev/axlN may not be opened by this user */
  axlErrorVersionMismatch = 8,      /* driver and library do not fit together */
  axlErrorOutOfDeviceMemory = 9,    /* DRAM or scratchpad */
  axlErrorOutOfHostMemory = 10,
  axlErrorLimit = 11,         /* no free context, queue or stream */
  axlErrorNotReady = 12,      /* query: work is still running. Not a failure */
  axlErrorBusy = 13,          /* in use by work that has not finished */
  axlErrorBatchState = 14,    /* not allowed inside (or outside) axlBatchBegin .. End */
  axlErrorNotRecorded = 15,   /* the event was never recorded */
  axlErrorNotSupported = 16,  /* the device or driver cannot do this */
  axlErrorLaunchFailure = 17, /* a job failed on the device; see axlGetErrorDetail */
  axlErrorTimeout = 18,       /* a job hung and the driver gave it up */
  axlErrorDeviceLost = 19,    /* the device was removed or reset */
  axlErrorForked = 20,        /* the device was opened before fork(): open it in the child */
  axlErrorUnknown = 99        /* an errno of the driver that has no meaning here */
} axlError_t;

AXL_API const char* axlGetErrorName(axlError_t error);   /* "axlErrorNoDevice" */
AXL_API const char* axlGetErrorString(axlError_t error); /* what it means and what to do */
/* Returns a sentence on the thread's last failed call, or "". Valid until its next call. */
AXL_API const char* axlGetErrorDetail(void);
AXL_API axlError_t axlGetLastError(void);    /* ... as a number; resets it to axlSuccess */
AXL_API axlError_t axlPeekAtLastError(void); /* ... without the reset */
AXL_API axlError_t axlGetVersion(int* version);

/* ---- devices ---------------------------------------------------------------- */

typedef struct axlDeviceProp {
  char name[32];       /* "axl0" */
  char pciAddress[32]; /* "0000:00:04.0" */
  uint64_t totalMem;   /* bytes of DRAM */
  uint64_t freeMem;
  uint64_t scratchMem;    /* bytes of on-chip scratchpad */
  uint64_t memBandwidth;  /* peak DRAM bytes per second */
  uint64_t engineClockHz; /* nominal */
  uint64_t clockHz;       /* timestamp clock, nominal */
  uint32_t matrixRows;    /* systolic array */
  uint32_t matrixCols;
  uint32_t vectorLanes;
  uint32_t queues; /* hardware queues of the whole device */
  uint32_t contexts;
  uint32_t pcieGen; /* link now, and at best */
  uint32_t pcieWidth;
  uint32_t pcieGenMax;
  uint32_t pcieWidthMax;
  int32_t numaNode; /* -1 = unknown */
  uint32_t bf16;    /* 1 = bf16 inputs to matmuls */
} axlDeviceProp;

AXL_API axlError_t axlGetDeviceCount(int* count);
AXL_API axlError_t axlSetDevice(int device); /* of the calling thread; 0 at first */
AXL_API axlError_t axlGetDevice(int* device);
AXL_API axlError_t axlGetDeviceProperties(axlDeviceProp* prop, int device);
/* Waits for all work of the current device that this process submitted. */
AXL_API axlError_t axlDeviceSynchronize(void);
/* Frees everything this process has on the current device. The next call opens it again. */
AXL_API axlError_t axlDeviceReset(void);

/* ---- memory ------------------------------------------------------------------ */

AXL_API axlError_t axlMalloc(void** ptr, size_t bytes);        /* DRAM */
AXL_API axlError_t axlMallocScratch(void** ptr, size_t bytes); /* scratchpad: small and fast */
AXL_API axlError_t axlFree(void* ptr);                         /* either; NULL is fine */
AXL_API axlError_t axlMemGetInfo(size_t* free_bytes, size_t* total_bytes);
/* Allocates memory that the device accesses directly, needed for truly asynchronous copies. */
AXL_API axlError_t axlHostAlloc(void** ptr, size_t bytes);
AXL_API axlError_t axlHostFree(void* ptr);
AXL_API axlError_t axlHostRegister(void* ptr, size_t bytes); /* ptr page aligned */
AXL_API axlError_t axlHostUnregister(void* ptr);

typedef enum axlMemcpyKind AXL_INT_ENUM {
  axlMemcpyHostToDevice = 1,
  axlMemcpyDeviceToHost = 2,
  axlMemcpyDeviceToDevice = 3 /* within one device, by its vector engine */
} axlMemcpyKind;

typedef struct axlStream_st* axlStream_t;
typedef struct axlEvent_st* axlEvent_t;

AXL_API axlError_t axlMemcpy(void* dst, const void* src, size_t bytes, axlMemcpyKind kind);
/* Pageable host memory is staged: the call may then block, and cannot be part of a batch. */
AXL_API axlError_t axlMemcpyAsync(void* dst, const void* src, size_t bytes, axlMemcpyKind kind,
                                  axlStream_t stream);
/* Copies height rows of width bytes. Pitches are in bytes, less than 4 GiB. */
AXL_API axlError_t axlMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                                    size_t width, size_t height, axlMemcpyKind kind,
                                    axlStream_t stream);
/* Sets count elements of device memory to the 32-bit value. */
AXL_API axlError_t axlMemsetD32Async(void* dst, uint32_t value, size_t count, axlStream_t stream);

/* ---- streams and events -------------------------------------------------------- */

AXL_API axlError_t axlStreamCreate(axlStream_t* stream);
/* priority is 0 (low) to 3; above 1 it needs CAP_SYS_NICE. If streams of different priorities wait
 * for each other, the host does the waiting. */
AXL_API axlError_t axlStreamCreateWithPriority(axlStream_t* stream, int priority);
AXL_API axlError_t axlStreamGetPriority(axlStream_t stream, int* priority);
AXL_API axlError_t axlStreamDestroy(axlStream_t stream); /* its work still finishes */
AXL_API axlError_t axlStreamSynchronize(axlStream_t stream);
AXL_API axlError_t axlStreamQuery(axlStream_t stream); /* axlErrorNotReady while it works */
/* Work that is submitted to stream from now on runs after the work recorded by the event. */
AXL_API axlError_t axlStreamWaitEvent(axlStream_t stream, axlEvent_t event);

#define axlEventDefault 0u
#define axlEventDisableTiming 1u /* cheaper: recording submits nothing */

AXL_API axlError_t axlEventCreate(axlEvent_t* event);
AXL_API axlError_t axlEventCreateWithFlags(axlEvent_t* event, unsigned flags);
AXL_API axlError_t axlEventDestroy(axlEvent_t event);
AXL_API axlError_t axlEventRecord(axlEvent_t event, axlStream_t stream);
AXL_API axlError_t axlEventSynchronize(axlEvent_t event);
AXL_API axlError_t axlEventQuery(axlEvent_t event);
/* Measures with the device's clock at its nominal rate. Both events must be finished and on the
 * same device. */
AXL_API axlError_t axlEventElapsedTime(float* milliseconds, axlEvent_t start, axlEvent_t end);

/* ---- launches ------------------------------------------------------------------- */

#define axlMatmulAccumulate 1u /* add to C */
#define axlMatmulTransposeB 2u /* B is N x K */
#define axlMatmulBf16A 4u
#define axlMatmulBf16B 8u

/* Computes C[i] = alpha * A[i] * B[i] (+ C[i]) for each i < batch, row-major float32. */
typedef struct axlMatmul {
  const void* a; /* M x K */
  const void* b; /* K x N */
  void* c;       /* M x N */
  uint32_t m, n, k;
  uint32_t lda, ldb, ldc;                            /* elements from row to row; 0 = packed */
  uint32_t batch;                                    /* 0 = 1 */
  uint32_t batchStrideA, batchStrideB, batchStrideC; /* elements */
  float alpha;                                       /* not 0 */
  uint32_t flags;                                    /* axlMatmul... */
} axlMatmul;

typedef enum axlVectorOp AXL_INT_ENUM {
  axlVecFill = 0x40,    /* dst = alpha */
  axlVecCopy = 0x41,    /* dst = src0 */
  axlVecAdd = 0x42,     /* dst = src0 + src1 */
  axlVecMul = 0x43,     /* dst = src0 * src1 */
  axlVecScale = 0x44,   /* dst = src0 * alpha + beta */
  axlVecSilu = 0x45,    /* dst = x / (1 + exp(-x)) */
  axlVecSiluMul = 0x46, /* dst = silu(src0) * src1 */
  axlVecGelu = 0x47,    /* dst = x/2 (1 + erf(x / sqrt 2)) */
  axlVecRmsNorm = 0x48, /* dst = x / sqrt(mean(x^2) + alpha) * src1[column] */
  axlVecSoftmax = 0x49, /* dst = softmax(x * alpha) by row; see axlVecCausal */
  axlVecRope = 0x4a,    /* rotary: arg0 = first position, arg1 = head dim, alpha = theta */
  axlVecGather = 0x4b,  /* dst[r] = src1[src0_u32[r]], arg0 = rows of src1 */
  axlVecArgmax = 0x4c,  /* dst_u32[r] = column of the first maximum of src0[r] */
  axlVecSum = 0x4d      /* dst[r] = sum of src0[r] */
} axlVectorOp;

#define axlVecCausal 1u     /* softmax: column c of row r counts if c <= r + arg0 */
#define axlVecBroadcast1 2u /* src1 is one row, used for each */

/* Operands have rows x cols elements of float32; rows are independent. */
typedef struct axlVector {
  const void* src0;
  const void* src1;
  void* dst;
  uint32_t rows, cols;
  uint32_t src0Stride, src1Stride, dstStride; /* elements from row to row; 0 = packed, which
                                                 is 1 for indexes and for one value a row */
  uint32_t flags;                             /* axlVec... */
  float alpha, beta;
  uint32_t arg0, arg1;
} axlVector;

/* op is the name of the command in traces; NULL uses the kind of op. */
AXL_API axlError_t axlLaunchMatmul(const char* op, const axlMatmul* args, axlStream_t stream);
AXL_API axlError_t axlLaunchVector(const char* op, axlVectorOp code, const axlVector* args,
                                   axlStream_t stream);

/* ---- several commands in one job -------------------------------------------------- */

/* All asynchronous calls on the stream between begin and end become one job, in order. */
AXL_API axlError_t axlBatchBegin(axlStream_t stream);
AXL_API axlError_t axlBatchEnd(axlStream_t stream);

/*
 * A graph has nodes with explicit dependencies on earlier nodes, across engines. Nodes without
 * dependencies start when the stream is free. Each engine processes its nodes in the order in which
 * they were added. There is one job per 1024 commands.
 */
typedef struct axlGraph_st* axlGraph_t;
typedef uint32_t axlNode;

AXL_API axlError_t axlGraphCreate(axlGraph_t* graph);
AXL_API axlError_t axlGraphDestroy(axlGraph_t graph);
AXL_API axlError_t axlGraphReset(axlGraph_t graph); /* forgets the nodes, keeps the memory */
AXL_API axlError_t axlGraphAddMatmul(axlGraph_t graph, axlNode* node, const axlNode* deps,
                                     size_t num_deps, const char* op, const axlMatmul* args);
AXL_API axlError_t axlGraphAddVector(axlGraph_t graph, axlNode* node, const axlNode* deps,
                                     size_t num_deps, const char* op, axlVectorOp code,
                                     const axlVector* args);
AXL_API axlError_t axlGraphAddMemcpy(axlGraph_t graph, axlNode* node, const axlNode* deps,
                                     size_t num_deps, const char* op, void* dst, const void* src,
                                     size_t bytes, axlMemcpyKind kind);
AXL_API axlError_t axlGraphAddMemcpy2D(axlGraph_t graph, axlNode* node, const axlNode* deps,
                                       size_t num_deps, const char* op, void* dst, size_t dst_pitch,
                                       const void* src, size_t src_pitch, size_t width,
                                       size_t height, axlMemcpyKind kind);
AXL_API axlError_t axlGraphLaunch(axlGraph_t graph, axlStream_t stream); /* any number of times */

/* ---- for tracers -------------------------------------------------------------------- */

/* Named ranges of the calling thread, which may be nested. Names are copied. */
AXL_API void axlRangePush(const char* name);
AXL_API void axlRangePop(void);
AXL_API void axlMark(const char* name);
/*
 * Returns the id of the thread's last call: (client << 32) | count, with the client's number from
 * the driver. Traces call it correlation.
 */
AXL_API axlError_t axlGetCorrelation(uint64_t* correlation);

#ifdef __cplusplus
} /* extern "C" */

/* A range for a C++ scope. */
class axlRange {
 public:
  explicit axlRange(const char* name) { axlRangePush(name); }
  ~axlRange() { axlRangePop(); }
  axlRange(const axlRange&) = delete;
  axlRange& operator=(const axlRange&) = delete;
};
#endif

#endif /* LIBTRACE_RUNTIME_AXL_H_ */
