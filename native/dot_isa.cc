// The kernels of dot.h for one instruction set, named and chosen as in isa.cc.
#include "dot.h"

#define PENSTOCK_TEXT_(x) #x
#define PENSTOCK_TEXT(x) PENSTOCK_TEXT_(x)
#define PENSTOCK_JOIN_(a, b) a##b
#define PENSTOCK_JOIN(a, b) PENSTOCK_JOIN_(a, b)

namespace penstock {

extern const DotKernels PENSTOCK_JOIN(dot_, PENSTOCK_ISA);
const DotKernels PENSTOCK_JOIN(dot_, PENSTOCK_ISA) = {PENSTOCK_TEXT(PENSTOCK_ISA), dot};

}  // namespace penstock
