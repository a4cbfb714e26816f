/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standin-calls LIBRARY THREADS CALLS [wait]: each thread makes that many calls, of all functions
 * in turn; prints "FUNCTION COUNT BYTES" of each. With `wait`, continues when a line comes, and
 * prints the first bytes of each function before and after it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*Function)();

enum { MAX_FUNCTIONS = 5, MAX_THREADS = 64 };

static const char *const names[] = {"cuLaunchKernel",
				    "cuMemcpyHtoD_v2",
				    "cuMemcpyHtoDAsync_v2",
				    "cuMemAlloc_v2",
				    "cuStreamSynchronize",
				    "hipMemcpyAsync",
				    "hipStreamSynchronize",
				    "zeCommandListAppendMemoryCopy",
				    "zeCommandListHostSynchronize"};
enum { NAMES = sizeof(names) / sizeof(names[0]) };
static Function functions[NAMES];
static unsigned long calls_each;

struct thread {
	pthread_t id;
	unsigned long number;
	uint64_t count[NAMES], bytes[NAMES];
};
static struct thread threads[MAX_THREADS];

static void call(struct thread *self, int name, uint64_t size)
{
	void *stream = (void *)(uintptr_t)(self->number + 1), *source = self;
	uint64_t pointer;

	self->count[name]++;
	switch (name) {
	case 0:
		((int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			  unsigned, void *, void **, void **))functions[name])(
		    NULL, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
		return;
	case 1:
		((int (*)(uint64_t, const void *, size_t))functions[name])(4096, source, size);
		/* This function calls the other one. */
		self->count[2]++;
		self->bytes[2] += size;
		break;
	case 2:
		((int (*)(uint64_t, const void *, size_t, void *))functions[name])(4096, source,
										   size, stream);
		break;
	case 3:
		((int (*)(uint64_t *, size_t))functions[name])(&pointer, size);
		break;
	case 5:
		((int (*)(void *, const void *, size_t, int, void *))functions[name])(
		    source, source, size, 1, stream);
		break;
	case 7:
		((int (*)(void *, void *, const void *, size_t, void *, uint32_t,
			  void **))functions[name])(stream, source, source, size, NULL, 0, NULL);
		break;
	case 8:
		((int (*)(void *, uint64_t))functions[name])(stream, 0);
		return;
	default:
		((int (*)(void *))functions[name])(stream);
		return;
	}
	self->bytes[name] += size;
}

static void *run(void *argument)
{
	struct thread *self = argument;
	uint64_t state = self->number + 1;
	int name = 0;

	for (unsigned long i = 0; i < calls_each; i++, name = (name + 1) % NAMES) {
		while (!functions[name])
			name = (name + 1) % NAMES;
		state = state * 6364136223846793005u + 1442695040888963407u;
		call(self, name, state >> 40);
	}
	return NULL;
}

static void print_text(void)
{
	for (int name = 0; name < NAMES; name++) {
		if (!functions[name])
			continue;
		const unsigned char *text;

		memcpy(&text, &functions[name], sizeof(text));
		printf("text %s ", names[name]);
		for (int i = 0; i < 16; i++)
			printf("%02x", text[i]);
		printf("\n");
	}
	printf("text end\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	void *library = argc >= 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
	unsigned long count = argc >= 4 ? strtoul(argv[2], NULL, 10) : 0;
	int waits = argc >= 5;

	if (!library || count == 0 || count > MAX_THREADS)
		return fprintf(stderr, "usage: standin-calls LIBRARY THREADS CALLS [wait]\n"), 2;
	calls_each = strtoul(argv[3], NULL, 10);
	for (int name = 0; name < NAMES; name++) {
		void *symbol = dlsym(library, names[name]);

		memcpy(&functions[name], &symbol, sizeof(symbol));
	}
	if (waits) {
		print_text();
		getchar();
	}
	for (unsigned long i = 0; i < count; i++) {
		threads[i].number = i;
		if (pthread_create(&threads[i].id, NULL, run, &threads[i]))
			return 1;
	}
	for (unsigned long i = 0; i < count; i++)
		pthread_join(threads[i].id, NULL);
	for (int name = 0; name < NAMES; name++) {
		uint64_t all = 0, bytes = 0;

		for (unsigned long i = 0; i < count; i++) {
			all += threads[i].count[name];
			bytes += threads[i].bytes[name];
		}
		if (all)
			printf("%s %llu %llu\n", names[name], (unsigned long long)all,
			       (unsigned long long)bytes);
	}
	printf("done\n");
	fflush(stdout);
	while (waits && getchar() != EOF)
		print_text();
	return 0;
}
