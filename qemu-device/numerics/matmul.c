/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: C = alpha * A * B (+ C) in float32, inputs float32 or bf16.
 *
 * Each element sums its products in the order of k, with one rounding for the
 * product and one for the sum, whatever the blocking or the host's vectors, so
 * the result is the same on every machine.
 */
#include "qemu-device/numerics/numerics.h"

#define MR 4   /* rows of C in registers */
#define NR 16  /* columns of C in registers */
#define KC 512 /* depth of a packed panel */

#if defined(__GNUC__) && !defined(__clang__) && !defined(AXL_NO_CLONES)
#define AXL_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define AXL_CLONES
#endif

typedef float AxlV8 __attribute__((vector_size(32), aligned(4)));

static inline float axl_bf16(const uint8_t *p)
{
    return axl_f32((uint32_t)lduw_le_p(p) << 16);
}

static void axl_row(float *dst, const uint8_t *src, uint64_t count, bool bf16)
{
    if (!bf16) {
        memcpy(dst, src, count * sizeof(float));
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        dst[i] = axl_bf16(src + 2 * i);
    }
}

/* acc[MR][NR] += a[MR][kc] * panel[kc][NR] */
AXL_CLONES
static void axl_kernel(float *acc, const float *a, const float *panel, unsigned kc)
{
    AxlV8 c[MR][2];

    for (unsigned i = 0; i < MR; i++) {
        c[i][0] = *(AxlV8 *)(acc + i * NR);
        c[i][1] = *(AxlV8 *)(acc + i * NR + 8);
    }
    for (unsigned k = 0; k < kc; k++) {
        AxlV8 b0 = *(const AxlV8 *)(panel + k * NR);
        AxlV8 b1 = *(const AxlV8 *)(panel + k * NR + 8);

        for (unsigned i = 0; i < MR; i++) {
            float x = a[i * KC + k];

            c[i][0] += x * b0;
            c[i][1] += x * b1;
        }
    }
    for (unsigned i = 0; i < MR; i++) {
        *(AxlV8 *)(acc + i * NR) = c[i][0];
        *(AxlV8 *)(acc + i * NR + 8) = c[i][1];
    }
}

AXL_CLONES
static void axl_axpy(float *restrict acc, const float *restrict b, float x, uint64_t n)
{
    for (uint64_t j = 0; j < n; j++) {
        acc[j] += x * b[j];
    }
}

static void axl_store(float *c, const float *acc, uint64_t n, float alpha, bool add)
{
    for (uint64_t j = 0; j < n; j++) {
        c[j] = alpha * acc[j] + (add ? c[j] : 0.0f);
    }
}

typedef struct AxlMat {
    const uint8_t *a, *b;
    uint8_t *c;
    bool a_bf16, b_bf16, transposed, add;
    float alpha;
} AxlMat;

/* Few rows against all of B: B is read once, in order. */
static void axl_matmul_thin(const struct axl_matmul *m, const AxlMat *x)
{
    unsigned a_size = x->a_bf16 ? 2 : 4, b_size = x->b_bf16 ? 2 : 4;
    g_autofree float *acc = g_new0(float, (uint64_t)m->m * m->n);
    g_autofree float *row = g_new(float, m->n);

    for (uint64_t k = 0; k < m->k; k++) {
        axl_row(row, x->b + k * m->ldb * b_size, m->n, x->b_bf16);
        for (uint64_t i = 0; i < m->m; i++) {
            float a;

            axl_row(&a, x->a + (i * m->lda + k) * a_size, 1, x->a_bf16);
            axl_axpy(acc + i * m->n, row, a, m->n);
        }
    }
    for (uint64_t i = 0; i < m->m; i++) {
        axl_store((float *)x->c + i * m->ldc, acc + i * m->n, m->n, x->alpha, x->add);
    }
}

/* panel[k][j] = B[k0 + k][j0 + j], zero beyond N. */
static void axl_pack(float *panel, const struct axl_matmul *m, const AxlMat *x, uint64_t k0,
                     unsigned kc, uint64_t j0)
{
    unsigned size = x->b_bf16 ? 2 : 4;
    unsigned nr = MIN(NR, m->n - j0);

    memset(panel, 0, (size_t)kc * NR * sizeof(float));
    if (!x->transposed) {
        for (unsigned k = 0; k < kc; k++) {
            axl_row(panel + k * NR, x->b + ((k0 + k) * m->ldb + j0) * size, nr, x->b_bf16);
        }
        return;
    }
    for (unsigned j = 0; j < nr; j++) {
        const uint8_t *src = x->b + ((j0 + j) * m->ldb + k0) * size;

        if (x->b_bf16) {
            for (unsigned k = 0; k < kc; k++) {
                panel[k * NR + j] = axl_bf16(src + 2 * k);
            }
        } else {
            for (unsigned k = 0; k < kc; k++) {
                memcpy(&panel[k * NR + j], src + 4 * k, sizeof(float));
            }
        }
    }
}

static void axl_matmul_one(const struct axl_matmul *m, const AxlMat *x)
{
    unsigned a_size = x->a_bf16 ? 2 : 4;
    uint64_t mb = MIN(ROUND_UP((uint64_t)m->m, MR), 256);
    g_autofree float *panel = g_new(float, KC * NR);
    g_autofree float *a = g_new0(float, MR * KC);
    g_autofree float *acc = g_new(float, mb * NR);

    for (uint64_t j0 = 0; j0 < m->n; j0 += NR) {
        for (uint64_t i0 = 0; i0 < m->m; i0 += mb) {
            uint64_t rows = MIN(mb, m->m - i0);

            memset(acc, 0, mb * NR * sizeof(float));
            for (uint64_t k0 = 0; k0 < m->k; k0 += KC) {
                unsigned kc = MIN(KC, m->k - k0);

                axl_pack(panel, m, x, k0, kc, j0);
                for (uint64_t i = 0; i < rows; i += MR) {
                    for (unsigned r = 0; r < MR && i + r < rows; r++) {
                        axl_row(a + r * KC, x->a + ((i0 + i + r) * m->lda + k0) * a_size, kc,
                                x->a_bf16);
                    }
                    axl_kernel(acc + i * NR, a, panel, kc);
                }
            }
            for (uint64_t i = 0; i < rows; i++) {
                axl_store((float *)x->c + (i0 + i) * m->ldc + j0, acc + i * NR,
                          MIN(NR, m->n - j0), x->alpha, x->add);
            }
        }
    }
}

void axl_matmul(const AxlMemory *mem, const struct axl_matmul *m)
{
    AxlMat x = {
        .a_bf16 = m->flags & AXL_MM_F_A_BF16,
        .b_bf16 = m->flags & AXL_MM_F_B_BF16,
        .transposed = m->flags & AXL_MM_F_TRANSPOSE_B,
        .add = m->flags & AXL_MM_F_ACCUMULATE,
        .alpha = axl_f32(m->alpha_f32),
    };

    for (uint64_t b = 0; b < m->batch; b++) {
        x.a = axl_mem(mem, m->a) + b * m->batch_stride_a * (x.a_bf16 ? 2 : 4);
        x.b = axl_mem(mem, m->b) + b * m->batch_stride_b * (x.b_bf16 ? 2 : 4);
        x.c = axl_mem(mem, m->c) + b * m->batch_stride_c * 4;
        if (m->m <= 2 && !x.transposed) {
            axl_matmul_thin(m, &x);
        } else {
            axl_matmul_one(m, &x);
        }
    }
}
