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

const long STEP_CODES[] = {
    penstock::ADD,      penstock::SUBTRACT, penstock::MULTIPLY, penstock::DIVIDE,
    penstock::MAXIMUM,  penstock::MINIMUM,  penstock::NEGATIVE, penstock::MOVE,
    penstock::ABSOLUTE, penstock::SIGN,     penstock::GREATER,  penstock::SELECT,
    penstock::FILL,     penstock::RELU_OF,  penstock::SQUARE_ROOT,
};

float one_step(const penstock::Instruction& s, const float* at) {
  const float a = at[s.a], b = at[s.b];
  switch (s.code) {
    case penstock::ADD: return a + b;
    case penstock::SUBTRACT: return a - b;
    case penstock::MULTIPLY: return a * b;
    case penstock::DIVIDE: return a / b;
    case penstock::MAXIMUM: return a > b || a != a ? a : b;
    case penstock::MINIMUM: return a < b || a != a ? a : b;
    case penstock::NEGATIVE: return -a;
    case penstock::MOVE: return a;
    case penstock::ABSOLUTE: return std::fabs(a);
    case penstock::SIGN: return a != a ? a : static_cast<float>((a > 0) - (a < 0));
    case penstock::GREATER: return a > b ? 1.0f : 0.0f;
    case penstock::SELECT: return a != 0 ? b : at[s.offset];
    case penstock::FILL: return s.value;
    case penstock::RELU_OF: return a < 0 ? 0.0f : a;
    default: return std::sqrt(a);
  }
}

// Random programs, whose steps often take what the one before gave, beside single elements: to the
// last bit, where both are numbers.
void check_update_programs(const penstock::Kernels& kernels, penstock::Workers& workers) {
  const long arrays = draw(1, 4), written = draw(1, arrays), registers = draw(2, 4);
  const long operands = arrays + registers, fills = draw(0, 2), count = fills + draw(1, 30);
  std::vector<penstock::Instruction> steps;
  for (long i = 0; i < count; ++i) {
    const long last = i > 0 ? steps.back().to : 0;
    const auto operand = [&] { return draw(0, 1) == 0 ? last : draw(0, operands - 1); };
    const long code = i < fills ? 12 : draw(0, sizeof STEP_CODES / sizeof *STEP_CODES - 1);
    const long changed = draw(0, 2) == 0 ? draw(0, written - 1) : draw(arrays + fills, operands);
    const long to = i < fills ? arrays + i : changed;
    steps.push_back({STEP_CODES[code], to < operands ? to : 0, operand(), operand(), operand(),
                     static_cast<float>(draw(-3, 3))});
  }
  for (long r = arrays + fills; r < operands; ++r)  // no register is read before it has a value
    steps.insert(steps.begin() + fills, {penstock::MOVE, r, 0, 0, 0, 0});
  const long length = draw(1, 700);
  std::vector<Floats> given;
  std::vector<float*> places;
  for (long i = 0; i < arrays; ++i) given.push_back(::numbers(length));
  std::vector<Floats> wanted = given;
  for (long e = 0; e < length; ++e) {
    Floats at(operands);
    for (long i = 0; i < arrays; ++i) at[i] = given[i][e];
    for (const auto& s : steps) at[s.to] = one_step(s, at.data());
    for (long i = 0; i < arrays; ++i) wanted[i][e] = at[i];
  }
  for (Floats& each : given) places.push_back(each.data());
  const penstock::UpdateProgram program = {written, arrays, 0, registers, steps.data(), fills,
                                           static_cast<long>(steps.size())};
  const penstock::UpdateGroup group = {0, length, 0, places.data(), nullptr};
  kernels.update({&program, &group, 1, (length + 15) / 16 * 16}, workers);
  for (long i = 0; i < arrays; ++i)
    for (long e = 0; e < length; ++e) {
      const float found = given[i][e], right = wanted[i][e];
      if (found != right && (found == found || right == right))
        return fail("update by a random program");
    }
}

// A gradient that the update computes, beside the same one from memory: to the last bit, whatever the
// number of threads.
void check_update_products(const penstock::Kernels& kernels, penstock::Workers& workers) {
  struct Weights {
    Floats a, b, grad, x, y, x_too, y_too;
    penstock::Product product;
  };
  const long count = draw(1, 4), none = 0;
  std::vector<Weights> all(count);
  std::vector<std::vector<float*>> places, places_too;
  std::vector<penstock::UpdateGroup> groups, groups_too;
  const float rate = 0.25f, bound = 1.0f, *numbers[] = {&rate, &bound};
  long elements = 0, elements_too = 0;
  for (Weights& w : all) {
    const bool wide = draw(1, 8) == 1, deep = draw(1, 8) == 1, adj_a = draw(0, 1), adj_b = draw(0, 1);
    const long m = draw(1, wide ? 20 : 200), n = draw(1, wide ? 5000 : 150);
    const long k = deep ? draw(200, 600) : draw(1, 60);
    w.a = ::numbers(m * k);
    w.b = ::numbers(k * n);
    w.grad = Floats(m * n);
    w.x_too = w.x = ::numbers(m * n);
    w.y_too = w.y = ::numbers(m * n);
    w.product = {w.a.data(), w.b.data(), w.grad.data(), m, n, k, adj_a ? 1 : k, adj_a ? m : 1,
                 adj_b ? 1 : n, adj_b ? k : 1, 1, &none, &none, {}};
    kernels.product(w.product, workers);
    w.product.c = nullptr;
    places.push_back({w.x.data(), w.y.data(), w.grad.data()});
    places_too.push_back({w.x_too.data(), w.y_too.data(), nullptr});
  }
  for (long i = 0; i < count; ++i) {
    const long length = all[i].product.m * all[i].product.n;
    const bool from_memory = draw(1, 4) == 1;
    groups.push_back({0, length, elements, places[i].data(), numbers});
    elements += (length + 15) / 16 * 16;
    groups_too.push_back({0, length, elements_too, places_too[i].data(), numbers});
    if (from_memory) {
      places_too[i][2] = all[i].grad.data();
      elements_too += (length + 15) / 16 * 16;
    } else {
      groups_too.back().product = &all[i].product;
      groups_too.back().computed = 2;
    }
  }
  const long steps = sizeof UPDATE_STEPS / sizeof *UPDATE_STEPS;
  const penstock::UpdateProgram program = {2, 3, 2, 3, UPDATE_STEPS, 1, steps};
  kernels.update({&program, groups.data(), count, elements}, workers);
  kernels.update({&program, groups_too.data(), count, elements_too}, workers);
  for (const Weights& w : all)
    if (w.x != w.x_too || w.y != w.y_too) return fail("update with a product");
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
