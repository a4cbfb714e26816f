// SPDX-License-Identifier: Apache-2.0
/* Runs the tests of a program one by one and prints TAP. */
#include "tests/driver/harness.h"

#include <sys/wait.h>
#include <unistd.h>

enum { kSkip = 77 };

static struct harness_test *first_, **last_ = &first_;
static int failures_;

void harness_add(struct harness_test *test)
{
	*last_ = test;
	last_ = &test->next;
}

void harness_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	failures_++;
	va_start(args, format);
	printf("# %s:%d: ", file, line);
	vprintf(format, args);
	printf("\n");
	fflush(stdout);
	va_end(args);
}

int harness_failed(void) { return failures_ != 0; }

void harness_skip(const char *reason)
{
	printf("# skip: %s\n", reason);
	fflush(stdout);
	_exit(kSkip);
}

void harness_stop(void)
{
	fflush(stdout);
	_exit(1);
}

/* Exit status of the test's process, or 128 + signal. */
static int run_one(const struct harness_test *test, const void *variant)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0) {
		const char *limit_s = getenv("AXL_LIMIT_S");

		/*
		 * More than PATIENCE_MS, in which a guest on a busy host may make little progress.
		 */
		alarm(limit_s ? (unsigned int)atoi(limit_s) : 180);
		test->run(variant);
		fflush(stdout);
		_exit(failures_ ? 1 : 0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void full_name(char *name, size_t bytes, const struct harness_test *test, size_t i)
{
	const char *variant = NULL;

	if (test->variants)
		variant = *(const char *const *)((const char *)test->variants +
						 i * test->variant_bytes);
	snprintf(name, bytes, "%s%s%s", test->name, variant ? "/" : "", variant ? variant : "");
}

/* Arguments are substrings of the tests to run; without any all are run. */
static int wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strstr(name, argv[i]))
			return 1;
	return argc <= 1;
}

int harness_main(int argc, char **argv)
{
	const char *program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	const struct harness_test *test;
	char name[256];
	int count = 0, bad = 0;
	size_t i;

	for (test = first_; test; test = test->next)
		for (i = 0; i < test->num_variants; i++) {
			full_name(name, sizeof(name), test, i);
			count += wanted(name, argc, argv);
		}
	printf("1..%d\n", count);
	count = 0;
	for (test = first_; test; test = test->next) {
		for (i = 0; i < test->num_variants; i++) {
			const void *variant = !test->variants ? NULL :
				(const char *)test->variants + i * test->variant_bytes;
			int status;

			full_name(name, sizeof(name), test, i);
			if (!wanted(name, argc, argv))
				continue;
			status = run_one(test, variant);
			bad += status != 0 && status != kSkip;
			printf("%sok %d - %s: %s%s",
			       status && status != kSkip ? "not " : "", ++count, program, name,
			       status == kSkip ? " # SKIP see above" : "");
			if (status > 128)
				printf(" (signal %d%s)", status - 128,
				       status - 128 == 14 ? ", out of time" : "");
			printf("\n");
		}
	}
	return bad ? 1 : 0;
}
