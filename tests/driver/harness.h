/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test programs for the guest, in the kernel's kselftest manner: each test runs
 * in a process of its own with a time limit, the output is TAP.
 *
 *   TEST(name) { ... EXPECT(x == y); ... }
 *   TEST_VARIANTS(name, struct_type, { ... }, { ... }) { ... variant->field ... }
 *   int main(int argc, char **argv) { return harness_main(argc, argv); }
 */
#ifndef TESTS_DRIVER_HARNESS_H_
#define TESTS_DRIVER_HARNESS_H_

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * How long to wait for an event that must happen: on a debug kernel beside other work a reset has
 * taken half a minute. The test's own time limit ends longer waits.
 */
#define PATIENCE_MS 120000

struct harness_test {
	const char *name;
	void (*run)(const void *variant);
	const void *variants;	/* NULL = one run */
	size_t variant_bytes;	/* each begins with a const char *name */
	size_t num_variants;
	struct harness_test *next;
};

void harness_add(struct harness_test *test);
int harness_main(int argc, char **argv);
void harness_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* For processes that a test makes: whether an expectation failed in this one. */
int harness_failed(void);
void harness_skip(const char *reason) __attribute__((noreturn));
void harness_stop(void) __attribute__((noreturn));

#define TEST(fn)							\
	static void fn(void);						\
	static void fn##_run(const void *variant) { (void)variant; fn(); } \
	static void __attribute__((constructor)) fn##_add(void)		\
	{								\
		static struct harness_test test = { #fn, fn##_run, NULL, 0, 1, NULL }; \
		harness_add(&test);					\
	}								\
	static void fn(void)

#define TEST_VARIANTS(fn, type, ...)					\
	static const type fn##_variants[] = { __VA_ARGS__ };		\
	static void fn(const type *variant);				\
	static void fn##_run(const void *variant) { fn(variant); }	\
	static void __attribute__((constructor)) fn##_add(void)		\
	{								\
		static struct harness_test test = { #fn, fn##_run, fn##_variants, \
			sizeof(type), sizeof(fn##_variants) / sizeof(type), NULL }; \
		harness_add(&test);					\
	}								\
	static void fn(const type *variant)

/* Continues after a failure. */
#define EXPECT(cond)							\
	do {								\
		if (!(cond))						\
			harness_fail(__FILE__, __LINE__, "%s (errno %d: %s)", #cond, errno, \
				     strerror(errno));			\
	} while (0)

#define EXPECT_EQ(a, b)							\
	do {								\
		long long a_ = (long long)(a), b_ = (long long)(b);	\
		if (a_ != b_)						\
			harness_fail(__FILE__, __LINE__, "%s is %lld, not %s = %lld (errno %s)", \
				     #a, a_, #b, b_, strerror(errno));	\
	} while (0)

/* Ends the test. */
#define ASSERT(cond)							\
	do {								\
		if (!(cond)) {						\
			harness_fail(__FILE__, __LINE__, "%s (errno %d: %s)", #cond, errno, \
				     strerror(errno));			\
			harness_stop();					\
		}							\
	} while (0)

#endif /* TESTS_DRIVER_HARNESS_H_ */
