/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of vendors' APIs that only return a result: 0, or 2 (out of memory) for 0 bytes.
 * Handles and pointers are numbers.
 */
#include <stddef.h>
#include <stdint.h>

#define API __attribute__((visibility("default"), noinline))

static int result_of(size_t bytes)
{
	__asm__ volatile("" ::: "memory");
	return bytes == 0 ? 2 : 0;
}

#ifdef STANDIN_CUDA
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		       unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	(void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared,
	    (void)stream;
	(void)params, (void)extra;
	return result_of(1);
}

API int cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t bytes, void *stream)
{
	(void)dst, (void)src, (void)stream;
	return result_of(bytes);
}

/* One API function calls another, as in real libraries. */
API int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t bytes)
{
	int result = cuMemcpyHtoDAsync_v2(dst, src, bytes, (void *)7);

	__asm__ volatile("" ::: "memory");
	return result;
}

API int cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
	*pointer = 4096;
	return result_of(bytes);
}

API int cuStreamSynchronize(void *stream)
{
	(void)stream;
	return result_of(1);
}
#endif

#ifdef STANDIN_HIP
API int hipMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream)
{
	(void)dst, (void)src, (void)kind, (void)stream;
	return result_of(bytes);
}

API int hipStreamSynchronize(void *stream)
{
	(void)stream;
	return result_of(1);
}
#endif

#ifdef STANDIN_ZE
API int zeCommandListAppendMemoryCopy(void *list, void *dst, const void *src, size_t bytes,
				      void *signal, uint32_t count, void **waits)
{
	(void)list, (void)dst, (void)src, (void)signal, (void)count, (void)waits;
	return result_of(bytes);
}

API int zeCommandListHostSynchronize(void *list, uint64_t timeout)
{
	(void)list, (void)timeout;
	return result_of(1);
}
#endif
