/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the vector engine's operations in float32. Sums use eight partial sums
 * (element i goes to sum i mod 8), which are then added in order, so that a
 * result does not depend on the host's vector width.
 */
#include "qemu-device/numerics/numerics.h"

#include <math.h>

/* Cephes' expf: relative error below 2e-7, no library call, vectorisable. */
static inline float axl_exp(float x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    float t, n, r, p;
    uint32_t bits;

    x = x > 88.0f ? 88.0f : x;
    x = x < -87.3f ? -87.3f : x;
    t = x * 1.44269504f + shift;
    n = t - shift;
    r = x - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    memcpy(&bits, &t, sizeof(bits));
    return p * axl_f32((bits - 0x4b400000u + 127u) << 23);
}

static inline float axl_silu(float x)
{
    return x / (1.0f + axl_exp(-x));
}

#define SUMS 8
#define AXL_SUM(count, expr) ({                              \
        float part_[SUMS] = { 0 }, sum_ = 0;                 \
        uint64_t c = 0, n_ = (count);                        \
        for (; c + SUMS <= n_; c += SUMS) {                  \
            uint64_t base_ = c;                              \
            for (unsigned l_ = 0; l_ < SUMS; l_++) {         \
                c = base_ + l_;                              \
                part_[l_] += (expr);                         \
            }                                                \
            c = base_;                                       \
        }                                                    \
        for (unsigned l_ = 0; c < n_; c++, l_++) {           \
            part_[l_] += (expr);                             \
        }                                                    \
        for (unsigned l_ = 0; l_ < SUMS; l_++) {             \
            sum_ += part_[l_];                               \
        }                                                    \
        sum_;                                                \
    })

static void axl_softmax(float *d, const float *x, uint64_t cols, uint64_t live, float alpha)
{
    float max = -INFINITY, scale;

    for (uint64_t c = 0; c < live; c++) {
        max = x[c] * alpha > max ? x[c] * alpha : max;
    }
    for (uint64_t c = 0; c < live; c++) {
        d[c] = axl_exp(x[c] * alpha - max);
    }
    scale = 1.0f / AXL_SUM(live, d[c]);
    for (uint64_t c = 0; c < live; c++) {
        d[c] *= scale;
    }
    for (uint64_t c = live; c < cols; c++) {
        d[c] = 0;
    }
}

/* Pairs (2i, 2i+1) of each head are rotated by position * theta^(-2i / head). */
static void axl_rope_row(float *d, const float *x, const double *inv_freq, float *sc,
                         uint64_t cols, uint32_t head, double position)
{
    uint32_t half = head / 2;

    for (uint32_t i = 0; i < half; i++) {
        sc[2 * i] = sin(position * inv_freq[i]);
        sc[2 * i + 1] = cos(position * inv_freq[i]);
    }
    for (uint64_t h = 0; h < cols; h += head) {
        for (uint32_t i = 0; i < half; i++) {
            float a = x[h + 2 * i], b = x[h + 2 * i + 1];

            d[h + 2 * i] = a * sc[2 * i + 1] - b * sc[2 * i];
            d[h + 2 * i + 1] = a * sc[2 * i] + b * sc[2 * i + 1];
        }
    }
}

static void axl_rope(const AxlMemory *mem, const struct axl_vector *v)
{
    uint32_t head = v->arg1;
    g_autofree double *inv_freq = g_new(double, head / 2);
    g_autofree float *sc = g_new(float, head);
    double theta = axl_f32(v->alpha_f32);

    for (uint32_t i = 0; i < head / 2; i++) {
        inv_freq[i] = pow(theta, -2.0 * i / head);
    }
    for (uint64_t r = 0; r < v->rows; r++) {
        axl_rope_row((float *)axl_mem(mem, v->dst) + r * v->dst_stride,
                     (const float *)axl_mem(mem, v->src0) + r * v->src0_stride, inv_freq, sc,
                     v->cols, head, (double)v->arg0 + r);
    }
}

static unsigned axl_gather(const AxlMemory *mem, const struct axl_vector *v)
{
    for (uint64_t r = 0; r < v->rows; r++) {
        uint32_t index = ldl_le_p(axl_mem(mem, v->src0) + r * MAX(v->src0_stride, 1) * 4);

        if (index >= v->arg0) {
            return AXL_ST_BAD_ADDRESS;
        }
        memmove((float *)axl_mem(mem, v->dst) + r * v->dst_stride,
                (const float *)axl_mem(mem, v->src1) + (uint64_t)index * v->src1_stride,
                (size_t)v->cols * sizeof(float));
    }
    return AXL_ST_OK;
}

static uint32_t axl_argmax(const float *x, uint64_t cols)
{
    uint32_t best = 0;

    for (uint64_t c = 1; c < cols; c++) {
        if (x[c] > x[best]) {
            best = c;
        }
    }
    return best;
}

static void axl_vector_row(const AxlMemory *mem, unsigned op, const struct axl_vector *v,
                           uint64_t r)
{
    uint64_t n = v->cols;
    float alpha = axl_f32(v->alpha_f32), beta = axl_f32(v->beta_f32);
    const float *x = (const float *)axl_mem(mem, v->src0) + r * v->src0_stride;
    const float *y = (const float *)axl_mem(mem, v->src1);
    float *d = (float *)axl_mem(mem, v->dst) + r * v->dst_stride;
    float scale;

    if (op != AXL_OP_VEC_RMSNORM && !(v->flags & AXL_VEC_F_BROADCAST1)) {
        y += r * v->src1_stride;
    }
    switch (op) {
    case AXL_OP_VEC_FILL:
        for (uint64_t c = 0; c < n; c++) {
            d[c] = alpha;
        }
        break;
    case AXL_OP_VEC_COPY:
        memmove(d, x, n * sizeof(float));
        break;
    case AXL_OP_VEC_ADD:
        for (uint64_t c = 0; c < n; c++) {
            d[c] = x[c] + y[c];
        }
        break;
    case AXL_OP_VEC_MUL:
        for (uint64_t c = 0; c < n; c++) {
            d[c] = x[c] * y[c];
        }
        break;
    case AXL_OP_VEC_SCALE:
        for (uint64_t c = 0; c < n; c++) {
            d[c] = x[c] * alpha + beta;
        }
        break;
    case AXL_OP_VEC_SILU:
        for (uint64_t c = 0; c < n; c++) {
            d[c] = axl_silu(x[c]);
        }
        break;
    case AXL_OP_VEC_SILU_MUL:
        for (uint64_t c = 0; c < n; c++) {
            d[c] = axl_silu(x[c]) * y[c];
        }
        break;
    case AXL_OP_VEC_GELU:
        for (uint64_t c = 0; c < n; c++) {
            d[c] = 0.5f * x[c] * (1.0f + erff(x[c] * 0.70710678f));
        }
        break;
    case AXL_OP_VEC_RMSNORM:
        scale = 1.0f / sqrtf(AXL_SUM(n, x[c] * x[c]) / n + alpha);
        for (uint64_t c = 0; c < n; c++) {
            d[c] = x[c] * scale * y[c];
        }
        break;
    case AXL_OP_VEC_SOFTMAX: {
        bool causal = v->flags & AXL_VEC_F_CAUSAL;
        uint64_t live = causal ? MIN(n, r + v->arg0 + 1) : n;

        axl_softmax(d, x, n, live, alpha);
        break;
    }
    case AXL_OP_VEC_ARGMAX:
        stl_le_p(axl_mem(mem, v->dst) + r * MAX(v->dst_stride, 1) * 4, axl_argmax(x, n));
        break;
    case AXL_OP_VEC_SUM:
        d = (float *)axl_mem(mem, v->dst) + r * MAX(v->dst_stride, 1);
        *d = AXL_SUM(n, x[c]);
        break;
    }
}

unsigned axl_vector(const AxlMemory *mem, unsigned opcode, const struct axl_vector *v)
{
    if (opcode == AXL_OP_VEC_GATHER) {
        return axl_gather(mem, v);
    }
    if (opcode == AXL_OP_VEC_ROPE) {
        axl_rope(mem, v);
        return AXL_ST_OK;
    }
    for (uint64_t r = 0; r < v->rows; r++) {
        axl_vector_row(mem, opcode, v, r);
    }
    return AXL_ST_OK;
}
