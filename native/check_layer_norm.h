// Layer normalisation and its gradients beside plain loops in double.
#pragma once

#include <cstring>

#include "check_tools.h"

namespace {

using penstock::LayerNorm;
using penstock::LayerNormGrad;

struct NormCase {  // arrays exactly as large as what they hold
  long rows, width;
  Floats x, gain, bias, grad, beside;
  Floats y, mean, inverse, by_x, by_gain, by_bias;
  bool with_gain = draw(0, 2) > 0, with_bias = draw(0, 1), with_beside = draw(0, 1);
  float epsilon = 0.5f;

  NormCase(long rows, long width)
      : rows(rows), width(width), x(numbers(rows * width)), gain(numbers(width)),
        bias(numbers(width)), grad(numbers(rows * width)), beside(numbers(rows * width)),
        y(rows * width, NAN), mean(rows, NAN), inverse(rows, NAN), by_x(rows * width, NAN),
        by_gain(width, NAN), by_bias(width, NAN) {
    for (float& each : x) each += 1.0f / draw(3, 99);
  }

  void run(const penstock::Kernels& kernels, penstock::Workers& workers) {
    const float* gains = with_gain ? gain.data() : nullptr;
    kernels.layer_norm({rows, width, x.data(), gains, with_bias ? bias.data() : nullptr, epsilon,
                        y.data(), mean.data(), inverse.data()},
                       workers);
    kernels.layer_norm_grad({rows, width, x.data(), mean.data(), inverse.data(), gains, grad.data(),
                             with_beside ? beside.data() : nullptr, by_x.data(), by_gain.data(),
                             by_bias.data()},
                            workers);
  }
};

void check_layer_norm(const penstock::Kernels& kernels, penstock::Workers& workers) {
  NormCase c(draw(0, 300), draw(1, 150));
  c.run(kernels, workers);
  std::vector<double> y, by_x, by_gain(c.width, 0), by_bias(c.width, 0);
  for (long row = 0; row < c.rows; ++row) {
    const float *x = &c.x[row * c.width], *grad = &c.grad[row * c.width];
    double mean = 0, variance = 0, sum = 0, products = 0;
    for (long j = 0; j < c.width; ++j) mean += x[j];
    mean /= c.width;
    for (long j = 0; j < c.width; ++j) variance += (x[j] - mean) * (x[j] - mean) / c.width;
    const double inverse = 1 / std::sqrt(variance + c.epsilon);
    std::vector<double> unit, by_unit;
    for (long j = 0; j < c.width; ++j) {
      unit.push_back((x[j] - mean) * inverse);
      by_unit.push_back(grad[j] * (c.with_gain ? c.gain[j] : 1.0));
      y.push_back(unit[j] * (c.with_gain ? c.gain[j] : 1.0) + (c.with_bias ? c.bias[j] : 0.0));
      sum += by_unit[j];
      products += by_unit[j] * unit[j];
      by_gain[j] += grad[j] * unit[j];
      by_bias[j] += grad[j];
    }
    for (long j = 0; j < c.width; ++j)
      by_x.push_back((by_unit[j] - sum / c.width - unit[j] * products / c.width) * inverse +
                     (c.with_beside ? c.beside[row * c.width + j] : 0.0));
  }
  const double most = 1e-5;  // of numbers that are sums of some hundreds of others
  compare("layer_norm", c.y, y, most);
  compare("layer_norm_grad by x", c.by_x, by_x, most);
  compare("layer_norm_grad by gain", c.by_gain, by_gain, 10 * most);
  compare("layer_norm_grad by bias", c.by_bias, by_bias, most);
}

// Results must not depend on the number of threads, to the last bit.
void check_layer_norm_threads(const penstock::Kernels& kernels) {
  NormCase c(draw(1, 900), draw(40, 150));
  std::vector<Floats> first;
  for (long threads : {1, 2, 5}) {
    ThreadWorkers workers(threads);
    c.run(kernels, workers);
    const std::vector<Floats> found = {c.y, c.mean, c.inverse, c.by_x, c.by_gain, c.by_bias};
    if (first.empty()) first = found;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (std::memcmp(first[i].data(), found[i].data(), 4 * found[i].size()) != 0)
        fail("layer_norm depends on the threads");
  }
}

}  // namespace
