// Updates of arrays in place beside plain loops in double.
#pragma once

#include <cstring>

#include "check_tools.h"

namespace {

// x is the first array, which gets a new value as the second, y, does; z is read alone. The rest are
// two numbers, a register that a step fills and two that change.
enum { X, Y, Z, RATE, BOUND, TENTH, FIRST, SECOND };

const penstock::Instruction UPDATE_STEPS[] = {
    {penstock::FILL, TENTH, 0, 0, 0, 0.1f},
    {penstock::MULTIPLY, FIRST, Y, TENTH, 0, 0},
    {penstock::ADD, Y, FIRST, Z, 0, 0},  // y = 0.1 y + z
    {penstock::ABSOLUTE, FIRST, Y, 0, 0, 0},
    {penstock::SQUARE_ROOT, FIRST, FIRST, 0, 0, 0},
    {penstock::SIGN, SECOND, Z, 0, 0, 0},
    {penstock::MULTIPLY, FIRST, FIRST, SECOND, 0, 0},
    {penstock::GREATER, SECOND, X, BOUND, 0, 0},
    {penstock::SELECT, FIRST, SECOND, FIRST, RATE, 0},  // x > bound ? sign(z) sqrt|y| : rate
    {penstock::SUBTRACT, X, X, FIRST, 0, 0},
};

struct UpdateCase {  // arrays exactly as large as what they hold
  std::vector<Floats> arrays;
  std::vector<std::vector<float*>> places;
  std::vector<std::vector<const float*>> numbers;
  std::vector<penstock::UpdateGroup> groups;
  float rate = 0.25f, bound = 1.0f;
  long elements = 0;

  explicit UpdateCase(long count) {
    for (long i = 0; i < 3 * count; ++i)
      arrays.push_back(::numbers(i % 3 == 0 ? draw(1, 900) * draw(1, 30) : arrays.back().size()));
    for (long i = 0; i < count; ++i) {
      places.push_back({arrays[3 * i].data(), arrays[3 * i + 1].data(), arrays[3 * i + 2].data()});
      numbers.push_back({&rate, &bound});
    }
    for (long i = 0; i < count; ++i) {
      const long length = static_cast<long>(arrays[3 * i].size());
      groups.push_back({0, length, elements, places[i].data(), numbers[i].data()});
      elements += (length + 15) / 16 * 16;
    }
  }

  void run(const penstock::Kernels& kernels, penstock::Workers& workers) const {
    const long count = sizeof UPDATE_STEPS / sizeof *UPDATE_STEPS;
    const penstock::UpdateProgram program = {2, 3, 2, 3, UPDATE_STEPS, 1, count};
    kernels.update({&program, groups.data(), static_cast<long>(groups.size()), elements}, workers);
  }
};

void check_update(const penstock::Kernels& kernels, penstock::Workers& workers) {
  const UpdateCase c(draw(1, 9));
  const std::vector<Floats> before = c.arrays;
  c.run(kernels, workers);
  for (std::size_t i = 0; i < before.size(); i += 3) {
    std::vector<double> x, y;
    for (std::size_t j = 0; j < before[i].size(); ++j) {
      const double old = before[i][j], z = before[i + 2][j];
      y.push_back(0.1 * before[i + 1][j] + z);
      x.push_back(old - (old > c.bound ? ((z > 0) - (z < 0)) * std::sqrt(std::abs(y[j])) : c.rate));
    }
    compare("update of x", c.arrays[i], x);
    compare("update of y", c.arrays[i + 1], y);
    if (c.arrays[i + 2] != before[i + 2]) fail("update changed what it reads alone");
  }
}

// Results must not depend on the number of threads, to the last bit.
void check_update_threads(const penstock::Kernels& kernels) {
  const UpdateCase drawn(draw(1, 9));
  const std::vector<Floats> before = drawn.arrays;
  std::vector<Floats> first;
  for (long threads : {1, 2, 5}) {
    for (std::size_t i = 0; i < before.size(); ++i)
      std::memcpy(drawn.places[i / 3][i % 3], before[i].data(), 4 * before[i].size());
    ThreadWorkers workers(threads);
    drawn.run(kernels, workers);
    if (first.empty()) first = drawn.arrays;
    if (first != drawn.arrays) fail("update depends on the threads");
  }
}

}  // namespace
