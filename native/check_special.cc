// Every special function on all kinds of numbers: edges, and random ones of all sizes. Results are
// the same for one thread and for several, and for numbers alone and in a row.
//
//   check_special [rounds]

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

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) / 20 + 1 : 3;
  std::mt19937_64 random(1);
  for (int round = 0; round < rounds; ++round)
    for (int64_t function = 0; function < FUNCTIONS; ++function)
      if (!check<float>(function, random) || !check<double>(function, random)) return 1;
  float x = 0;
  const void* inputs[] = {&x, &x, &x};
  const int64_t steps[] = {1, 1, 1};
  if (penstock_special_run(FUNCTIONS, 0, 1, 1, inputs, steps, &x) != FUNCTIONS) return 1;
  std::printf("special functions: %d rounds\n", rounds);
  return 0;
}
