// Functions of single numbers that take NumPy several passes, in one. Each step is rounded as NumPy's is.
// Part of arrays.cc; penstock/core/native_passes.py numbers the functions.
#pragma once

#include <cmath>
#include <cstdint>

#include "each_set.h"

namespace penstock {
namespace {

enum Pass : int64_t {
  kPassSign, kPassInverseRoot, kPassSquaredDifference, kPassProductOrZero, kPassSigmoidGrad,
  kPassTanhGrad, kPassRootGrad, kPassInverseRootGrad, kPassInverseGrad, kPassRelu, kPassReluGrad,
  kPassRelu6Grad, kPassLeakyRelu, kPassLeakyReluGrad, kPassEluGrad,
  kPassQuotientOrZero, kPassQuotientOfNonzero, kPassSeluGrad,
};

// Of the function Selu, as Python has them (penstock/ops/nn_activations.py).
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

// Elements of x where the mask holds, of y elsewhere; without a guess at each which way it goes.
template <typename Word>
EACH_SET int64_t choose(const bool *mask, const Word *x, const Word *y, int64_t count,
                      Word *__restrict out) {
  const auto *ones = reinterpret_cast<const uint8_t *>(mask);
  for (int64_t i = 0; i < count; ++i) {
    const Word all = Word(0) - Word(ones[i]);
    out[i] = (x[i] & all) | (y[i] & ~all);
  }
  return -1;
}

// `y`: null for functions that have none. -1, or 0 where there is no such function.
template <typename T>
EACH_SET int64_t pass(int64_t function, const T *x, const T *y, T number, int64_t count,
                      T *__restrict out) {
  const T zero = 0, one = 1, half = 0.5;
  const auto one_of = [=](auto value) -> int64_t {
    for (int64_t i = 0; i < count; ++i) out[i] = value(x[i]);
    return -1;
  };
  const auto two_of = [=](auto value) -> int64_t {  // both are read, whatever is made of them
    for (int64_t i = 0; i < count; ++i) out[i] = value(x[i], y[i]);
    return -1;
  };
  switch (function) {
    case kPassSign: return one_of([=](T a) { return a != a ? a : T(a > 0) - T(a < 0); });
    case kPassInverseRoot: return one_of([=](T a) { return one / std::sqrt(a); });
    case kPassSquaredDifference: return two_of([=](T a, T b) { return (a - b) * (a - b); });
    case kPassProductOrZero: return two_of([=](T a, T b) { return b == 0 ? zero : a * b; });
    // Gradients of what gave the first number, by the second.
    case kPassSigmoidGrad: return two_of([=](T a, T b) { return b * a * (one - a); });
    case kPassTanhGrad: return two_of([=](T a, T b) { return b * (one - a * a); });
    case kPassRootGrad: return two_of([=](T a, T b) { return b == 0 ? zero : b * half / a; });
    case kPassInverseRootGrad:
      return two_of([=](T a, T b) { return b == 0 ? zero : b * -half * (a * a * a); });
    case kPassInverseGrad: return two_of([=](T a, T b) { return b == 0 ? zero : -b * (a * a); });
    case kPassRelu: return one_of([=](T a) { return a > 0 || a != a ? a : zero; });
    // Gradients where the second number was what the function was given, or what it gave.
    case kPassReluGrad: return two_of([=](T a, T b) { return b > 0 ? a : zero; });
    case kPassRelu6Grad: return two_of([=](T a, T b) { return (b > 0) & (b < 6) ? a : zero; });
    case kPassLeakyRelu: return one_of([=](T a) { return a > 0 ? a : a * number; });
    case kPassLeakyReluGrad: return two_of([=](T a, T b) { return b > 0 ? a : a * number; });
    case kPassEluGrad: return two_of([=](T a, T b) { return b < 0 ? a * (b + one) : a; });
    case kPassQuotientOrZero: return two_of([=](T a, T b) { return b == 0 ? zero : a / b; });
    case kPassQuotientOfNonzero: return two_of([=](T a, T b) { return a == 0 ? zero : a / b; });
    case kPassSeluGrad:  // as NumPy chooses: both sides are computed
      return two_of([=](T a, T b) { return b < 0 ? a * (b + T(kSeluScaleAlpha)) : a * T(kSeluScale); });
  }
  return 0;
}

}  // namespace
}  // namespace penstock
