/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An LTTng-UST tracepoint with the payload of the begin of an API call: name, correlation id,
 * bytes, stream. Read several times by lttng/tracepoint-event.h.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER acceltrace_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./provider.h"

#if !defined(TESTS_BENCH_USER_EVENTS_PROVIDER_H_) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TESTS_BENCH_USER_EVENTS_PROVIDER_H_

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    acceltrace_bench, api_begin,
    LTTNG_UST_TP_ARGS(uint64_t, name, uint64_t, correlation, uint64_t, bytes, uint32_t, stream),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, name, name)
                            lttng_ust_field_integer(uint64_t, correlation, correlation)
                                lttng_ust_field_integer(uint64_t, bytes, bytes)
                                    lttng_ust_field_integer(uint32_t, stream, stream)))

#endif /* TESTS_BENCH_USER_EVENTS_PROVIDER_H_ */

#include <lttng/tracepoint-event.h>
