// All kernels for one instruction set: the build compiles this file once for each, with
// PENSTOCK_ISA naming it and the compiler's options choosing it.
#include "attention.h"
#include "gemm.h"
#include "grouped.h"
#include "layer_norm.h"
#include "pool.h"
#include "recurrence.h"
#include "update.h"

#define PENSTOCK_TEXT_(x) #x
#define PENSTOCK_TEXT(x) PENSTOCK_TEXT_(x)
#define PENSTOCK_JOIN_(a, b) a##b
#define PENSTOCK_JOIN(a, b) PENSTOCK_JOIN_(a, b)

namespace penstock {

extern const Kernels PENSTOCK_JOIN(kernels_, PENSTOCK_ISA);
const Kernels PENSTOCK_JOIN(kernels_, PENSTOCK_ISA) = {
    PENSTOCK_TEXT(PENSTOCK_ISA), product,       conv,     conv_input_grad, conv_filter_grad,
    max_pool,                    max_pool_grad, avg_pool, avg_pool_grad,
    attention,                   attention_grad, recurrence, layer_norm,   layer_norm_grad,
    update,
};

}  // namespace penstock
