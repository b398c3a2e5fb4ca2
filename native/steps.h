// Instructions on arrays of some hundred floats, which a program in numbers lists: those of rounds
// (recurrence.h) and of updates (update.h). Part of isa.cc.
//
// An instruction is one loop, so what it computes is rounded as NumPy's function of that name rounds
// it: no product and sum become one.
#pragma once

#include "elementwise.h"
#include "kernels.h"

namespace {

using penstock::Instruction;

const long REGISTER = 256;  // floats that an instruction takes at a time

inline Vector square_root(Vector x) {
#if defined(__AVX512F__)  // with a mask: GCC 12 warns of the header's other form
  return (Vector)_mm512_maskz_sqrt_ps(0xffff, (__m512)x);
#elif defined(__AVX2__)
  return (Vector)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
  return (Vector)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
  return (Vector)vsqrtq_f32((float32x4_t)x);
#else
  return Vector{__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]),
                __builtin_sqrtf(x[3])};
#endif
}

// -1, 0 or 1; NaN stays NaN.
inline Vector sign(Vector x) {
  const Vector above = choose((Ints)(x > Vector{}), splat(1.0f), Vector{});
  const Vector signs = choose((Ints)(x < Vector{}), splat(-1.0f), above);
  return choose((Ints)(x != x), x, signs);
}

template <typename Function>
inline void each_vector(float* to, long count, Function function) {
  for (long i = 0; i < count; i += LANES) store(to + i, function(i));
}

// NaN wins, as in TensorFlow.
inline Vector larger(Vector a, Vector b) {
  return choose((Ints)(a > b) | (Ints)(a != a), a, b);
}
inline Vector smaller(Vector a, Vector b) {
  return choose((Ints)(a < b) | (Ints)(a != a), a, b);
}

// One instruction on `count` floats of each operand, a multiple of LANES; `to` may be an operand.
void calculate(const Instruction& step, float* to, const float* a, const float* b, const float* c,
               long count) {
  const Vector one = splat(1.0f);
  switch (step.code) {
    case penstock::FILL:
      return each_vector(to, count, [&](long) { return splat(step.value); });
    case penstock::ADD:
      return each_vector(to, count, [&](long i) { return load(a + i) + load(b + i); });
    case penstock::SUBTRACT:
      return each_vector(to, count, [&](long i) { return load(a + i) - load(b + i); });
    case penstock::MULTIPLY:
      return each_vector(to, count, [&](long i) { return load(a + i) * load(b + i); });
    case penstock::DIVIDE:
      return each_vector(to, count, [&](long i) { return load(a + i) / load(b + i); });
    case penstock::MAXIMUM:
      return each_vector(to, count, [&](long i) { return larger(load(a + i), load(b + i)); });
    case penstock::MINIMUM:
      return each_vector(to, count, [&](long i) { return smaller(load(a + i), load(b + i)); });
    case penstock::NEGATIVE:
      return each_vector(to, count, [&](long i) { return -load(a + i); });
    case penstock::EXPONENTIAL:
      return each_vector(to, count, [&](long i) { return exponential(load(a + i)); });
    case penstock::SIGMOID:
      return each_vector(to, count, [&](long i) { return sigmoid(load(a + i)); });
    case penstock::TANH:
      return each_vector(to, count, [&](long i) { return hyperbolic_tangent(load(a + i)); });
    case penstock::RELU_OF:
      return each_vector(to, count, [&](long i) { return activated(load(a + i), penstock::RELU); });
    case penstock::SIGMOID_GRAD:  // of the result a, by the gradient b
      return each_vector(to, count, [&](long i) {
        const Vector y = load(a + i);
        return load(b + i) * y * (one - y);
      });
    case penstock::TANH_GRAD:
      return each_vector(to, count, [&](long i) {
        const Vector y = load(a + i);
        return load(b + i) * (one - y * y);
      });
    case penstock::RELU_GRAD:  // of the gradient a, by what the Relu was given or gave
      return each_vector(to, count, [&](long i) {
        return choose((Ints)(load(b + i) > Vector{}), load(a + i), Vector{});
      });
    case penstock::MOVE:
      return each_vector(to, count, [&](long i) { return load(a + i); });
    case penstock::SQUARE_ROOT:
      return each_vector(to, count, [&](long i) { return square_root(load(a + i)); });
    case penstock::ABSOLUTE:
      return each_vector(to, count, [&](long i) { return magnitude(load(a + i)); });
    case penstock::SIGN:
      return each_vector(to, count, [&](long i) { return sign(load(a + i)); });
    case penstock::GREATER:
      return each_vector(to, count, [&](long i) {
        return choose((Ints)(load(a + i) > load(b + i)), one, Vector{});
      });
    case penstock::SELECT:  // b where a is not zero, else c
      return each_vector(to, count, [&](long i) {
        return choose((Ints)(load(a + i) != Vector{}), load(b + i), load(c + i));
      });
  }
}

}  // namespace
