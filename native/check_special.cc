// Every special function on all kinds of numbers: edges, and random ones of all sizes. Results are
// the same for one thread and for several, and for numbers alone and in a row.
//
//   check_special [rounds]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "special.h"

namespace {

constexpr int64_t FUNCTIONS = 30, COUNT = 10000;

template <typename Real>
std::vector<Real> numbers(std::mt19937_64& random) {
  const Real infinite = std::numeric_limits<Real>::infinity();
  const Real edges[] = {0, Real(-0.0), 1, -1, 2, Real(0.5), 8, -8, 1000001, infinite, -infinite,
                        std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::max(),
                        std::numeric_limits<Real>::lowest(), std::numeric_limits<Real>::min(),
                        std::numeric_limits<Real>::denorm_min()};
  std::vector<Real> found(COUNT);
  std::uniform_real_distribution<double> exponent(-12, 12), part(-1, 40);
  for (Real& each : found) {
    const auto kind = random() % 4;
    if (kind == 0) each = edges[random() % (sizeof edges / sizeof *edges)];
    if (kind == 1) each = static_cast<Real>(std::exp(exponent(random)));
    if (kind >= 2) each = static_cast<Real>(part(random));
  }
  return found;
}

template <typename Real>
bool check(int64_t function, std::mt19937_64& random) {
  const auto a = numbers<Real>(random), b = numbers<Real>(random), c = numbers<Real>(random);
  const int64_t wide = sizeof(Real) == 8, steps[] = {1, 1, 1};
  std::vector<Real> whole(COUNT), shared(COUNT);
  const void* inputs[] = {a.data(), b.data(), c.data()};
  if (penstock_special_run(function, wide, 1, COUNT, inputs, steps, whole.data()) >= 0 ||
      penstock_special_run(function, wide, 3, COUNT, inputs, steps, shared.data()) >= 0)
    return false;
  for (int64_t i = 0; i < COUNT; ++i) {
    if (i % 50 == 0) {
      const void* alone[] = {&a[i], &b[i], &c[i]};
      penstock_special_run(function, wide, 1, 1, alone, steps, &shared[i]);
    }
    const bool same = whole[i] == shared[i] || (whole[i] != whole[i] && shared[i] != shared[i]);
    if (same) continue;
    std::fprintf(stderr, "function %d of (%g, %g, %g): %.17g and %.17g\n", int(function),
                 double(a[i]), double(b[i]), double(c[i]), double(whole[i]), double(shared[i]));
    return false;
  }
  return true;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// A cell over a sequence beside plain loops, and what flows back beside its differences.
bool check_lstm(std::mt19937_64& random) {
  const auto below = [&](int64_t count) { return int64_t(random() % uint64_t(count)); };
  const int64_t steps = 1 + below(4), batch = below(4), units = 1 + below(9);
  int64_t sizes[] = {steps, batch, units, below(steps + 1), 0, 2, 3, 1, below(2)};
  const auto drawn = [&](int64_t count) {
    std::vector<float> found(static_cast<std::size_t>(count));
    for (float& each : found) each = float(below(2001) - 1000) / 1000;
    return found;
  };
  const int64_t one = batch * units, all = steps * one;
  const auto z = drawn(4 * all), again = drawn(4 * units * units), cs = drawn(one), h = drawn(one);
  const auto wci = drawn(units), wcf = drawn(units), wco = drawn(units);
  const float options[] = {1.0f, random() % 2 ? 0.5f : 0.0f};
  std::vector<float> out(static_cast<std::size_t>(7 * all));
  if (penstock_special_lstm(sizes, options, z.data(), again.data(), cs.data(), h.data(), wci.data(),
                            wcf.data(), wco.data(), out.data()) != -1)
    return false;
  for (int64_t at = 0; at < all; ++at) {
    const int64_t k = at % units, b = at / units % batch, step = at / one;
    double gate[4];
    for (int64_t part = 0; part < 4; ++part) {
      gate[part] = z[4 * (at - k) + part * units + k];
      for (int64_t j = 0; j < units; ++j)
        gate[part] += double(step ? out[6 * all + at - one - k + j] : h[b * units + j]) *
                      again[4 * units * j + part * units + k];
    }
    const double before = step ? out[all + at - one] : cs[b * units + k], sees = sizes[8] ? 1 : 0;
    const double i = logistic(gate[0] + sees * before * wci[k]), ci = std::tanh(gate[1]);
    const double f = logistic(gate[2] + 1 + sees * before * wcf[k]);
    double state = ci * i + before * f;
    if (options[1] > 0) state = std::min(std::max(state, -0.5), 0.5);
    const double o = logistic(gate[3] + sees * state * wco[k]);
    const double wanted[] = {i, state, f, o, ci, std::tanh(state), std::tanh(state) * o};
    for (int64_t part = 0; part < 7; ++part)
      if (std::fabs(out[part * all + at] - (step < sizes[3] ? wanted[part] : 0)) > 1e-4) return false;
  }
  const auto more = drawn(2 * all);
  std::vector<float> dz(static_cast<std::size_t>(4 * all)), states(static_cast<std::size_t>(2 * one));
  const float* part[7];
  for (int64_t k = 0; k < 7; ++k) part[k] = out.data() + k * all;
  penstock_special_lstm_back(sizes, again.data(), cs.data(), wci.data(), wcf.data(), wco.data(), part[0],
                             part[1], part[2], part[3], part[4], part[5], more.data(),
                             more.data() + all, dz.data(), states.data());
  for (int64_t at = 4 * sizes[3] * one; at < 4 * all; ++at)
    if (dz[at] != 0) return false;
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) / 20 + 1 : 3;
  std::mt19937_64 random(1);
  for (int round = 0; round < rounds; ++round)
    for (int64_t function = 0; function < FUNCTIONS; ++function)
      if (!check<float>(function, random) || !check<double>(function, random)) return 1;
  for (int round = 0; round < 100 * rounds; ++round)
    if (!check_lstm(random)) {
      std::fprintf(stderr, "round %d: an LSTM is wrong\n", round);
      return 1;
    }
  float x = 0;
  const void* inputs[] = {&x, &x, &x};
  const int64_t steps[] = {1, 1, 1};
  if (penstock_special_run(FUNCTIONS, 0, 1, 1, inputs, steps, &x) != FUNCTIONS) return 1;
  std::printf("special functions: %d rounds\n", rounds);
  return 0;
}
