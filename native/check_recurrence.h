// Checks of recurrence.h: random rounds beside plain loops in double, and the functions of single
// numbers in units of the last place. Part of check.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "check_tools.h"

namespace {

using penstock::Held;
using penstock::Instruction;

// Numbers that no product makes large.
inline Floats small_numbers(long count) {
  Floats values = numbers(count);
  for (float& each : values) each = each / 8 + 1.0f / static_cast<float>(draw(20, 99));
  return values;
}

// A round: z = x[t] + h w + b, in pieces; g = a function of each piece and of the last column of
// numbers c; then, from g as a whole, h = tanh(g v + h). Each g and each h is collected, h backwards.
struct Rounds {
  long rounds, batch, width, pieces;
  Floats x, w, b, c, v, h;
  Rounds()
      : rounds(draw(1, 4)), batch(draw(1, 3) == 1 ? draw(20, 90) : draw(1, 12)),
        width(draw(1, 3) == 1 ? draw(100, 300) : draw(1, 40)), pieces(draw(1, 4)),
        x(small_numbers(rounds * batch * columns())), w(small_numbers(width * columns())),
        b(small_numbers(columns())), c(small_numbers(batch)), v(small_numbers(columns() * width)),
        h(small_numbers(batch * width)) {
    const float scale = 1.0f / static_cast<float>(width);
    for (Floats* each : {&w, &v})
      for (float& number : *each) number *= scale;
  }
  long columns() const { return pieces * width; }
};

inline double plain_piece(long piece, double z, double c) {
  const double s = 1 / (1 + std::exp(-z)), t = std::tanh(z);
  switch (piece) {
    case 0: return c * s * (1 - s) - t;
    case 1: return std::exp(std::fmin(z, c)) / 2 + c * (1 - t * t);
    case 2: return std::fmax(z, c) + (z > 0 ? c : 0);
    default: return -(z > 0 ? z : 0);
  }
}

// The instructions of plain_piece: z is in register 0, c in register 1; the result is in 2.
inline std::vector<Instruction> steps_of_piece(long piece) {
  using namespace penstock;
  switch (piece) {
    case 0:
      return {{SIGMOID, 2, 0, 0, 0, 0}, {SIGMOID_GRAD, 2, 2, 1, 0, 0}, {TANH, 3, 0, 0, 0, 0},
              {SUBTRACT, 2, 2, 3, 0, 0}};
    case 1:
      return {{MINIMUM, 2, 0, 1, 0, 0}, {EXPONENTIAL, 2, 2, 0, 0, 0}, {FILL, 3, 0, 0, 0, 2.0f},
              {DIVIDE, 2, 2, 3, 0, 0}, {TANH, 3, 0, 0, 0, 0}, {TANH_GRAD, 3, 3, 1, 0, 0},
              {ADD, 2, 2, 3, 0, 0}};
    case 2:
      return {{MAXIMUM, 2, 0, 1, 0, 0}, {RELU_GRAD, 3, 1, 0, 0, 0}, {ADD, 2, 2, 3, 0, 0}};
    default:
      return {{RELU_OF, 2, 0, 0, 0, 0}, {NEGATIVE, 2, 2, 0, 0, 0}};
  }
}

struct Found {
  Floats last, all_g, all_h;  // h after the last round; each g; each h, the last one first
};

inline Found run_rounds(const Rounds& r, const penstock::Kernels& kernels,
                        penstock::Workers& workers) {
  using namespace penstock;
  const long wide = r.columns(), state = r.batch * r.width, row = r.width + 3;
  Found found = {Floats(state, NAN), Floats(r.rounds * r.batch * wide, NAN),
                 Floats(r.rounds * state, NAN)};
  Floats memory(2 * r.batch * row, NAN), g(r.batch * wide, NAN);
  auto at = [](const Floats& values) { return const_cast<float*>(values.data()); };
  const long odd = r.batch * row;
  const Held held[] = {
      {nullptr, at(r.x), -1, 0, r.batch * wide, 0, wide, 1},
      {nullptr, at(r.b), -1, 0, 0, 0, 0, 1},
      {nullptr, at(r.c), -1, 0, 0, 0, 1, 0},
      {at(r.h), at(memory), 0, r.width, 0, odd, row, 1},
      {at(found.last), at(memory) + odd, r.rounds - 1, r.width, 0, -odd, row, 1},
      {nullptr, at(g), -1, 0, 0, 0, wide, 1},
      {nullptr, at(found.all_g), -1, 0, r.batch * wide, 0, wide, 1},
      {nullptr, at(found.all_h) + (r.rounds - 1) * state, -1, 0, -state, 0, r.width, 1},
  };
  std::vector<Matrix> matrices;
  std::vector<RecurrentProduct> products;
  std::vector<Instruction> steps;
  for (long p = 0; p < r.pieces; ++p) {
    matrices.push_back({r.w.data() + p * r.width, r.width, wide, 1});
    products.push_back({3, 0, p});
    const long first = p * r.width;
    steps.insert(steps.end(), {{LOAD, 0, 0, 0, first, 0}, {LOAD_PRODUCT, 1, p, 0, 0, 0},
                               {ADD, 0, 0, 1, 0, 0}, {LOAD, 1, 1, 0, first, 0},
                               {ADD, 0, 0, 1, 0, 0}, {LOAD, 1, 2, 0, 0, 0}});
    for (const Instruction& each : steps_of_piece(p)) steps.push_back(each);
    steps.insert(steps.end(), {{STORE, 0, 2, 5, first, 0}, {STORE, 0, 2, 6, first, 0}});
  }
  const long half = static_cast<long>(steps.size());
  matrices.push_back({r.v.data(), wide, r.width, 1});
  products.push_back({5, 0, r.pieces});
  steps.insert(steps.end(), {{LOAD_PRODUCT, 0, 0, 0, 0, 0}, {LOAD, 1, 3, 0, 0, 0},
                             {ADD, 0, 0, 1, 0, 0}, {TANH, 0, 0, 0, 0, 0},
                             {STORE, 0, 0, 4, 0, 0}, {STORE, 0, 0, 7, 0, 0}});
  const Phase phases[] = {{0, r.pieces, 0, half},
                          {r.pieces, r.pieces + 1, half, static_cast<long>(steps.size())}};
  kernels.recurrence({r.rounds, r.batch, r.width, 4, held, matrices.data(), r.pieces + 1,
                      products.data(), steps.data(), phases, 2},
                     workers);
  return found;
}

inline void check_recurrence(const penstock::Kernels& kernels) {
  const Rounds r;
  const long wide = r.columns(), state = r.batch * r.width;
  std::vector<double> h(r.h.begin(), r.h.end()), all_g, all_h(r.rounds * state);
  for (long t = 0; t < r.rounds; ++t) {
    std::vector<double> g(r.batch * wide), next(state);
    for (long i = 0; i < r.batch; ++i)
      for (long j = 0; j < wide; ++j) {
        double z = r.x[(t * r.batch + i) * wide + j] + static_cast<double>(r.b[j]);
        for (long k = 0; k < r.width; ++k) z += h[i * r.width + k] * r.w[k * wide + j];
        g[i * wide + j] = plain_piece(j / r.width, z, r.c[i]);
      }
    for (long i = 0; i < r.batch; ++i)
      for (long j = 0; j < r.width; ++j) {
        double sum = h[i * r.width + j];
        for (long k = 0; k < wide; ++k) sum += g[i * wide + k] * r.v[k * r.width + j];
        next[i * r.width + j] = std::tanh(sum);
      }
    h = next;
    all_g.insert(all_g.end(), g.begin(), g.end());
    std::copy(h.begin(), h.end(), all_h.begin() + (r.rounds - 1 - t) * state);
  }
  Found first;
  for (long threads : {1, 2, 5, 40}) {
    ThreadWorkers workers(threads);
    const Found found = run_rounds(r, kernels, workers);
    compare("recurrence, last", found.last, h);
    compare("recurrence, pieces", found.all_g, all_g);
    compare("recurrence, states", found.all_h, all_h);
    if (threads == 1) first = found;
    const bool same = found.last == first.last && found.all_g == first.all_g;
    if (!same || found.all_h != first.all_h) fail("a recurrence depends on the threads");
  }
}

// One function of CODES on numbers of all sizes, in units of the last place.
inline void check_function(const penstock::Kernels& kernels, const char* name, penstock::Code code,
                           double (*plain)(double), double units) {
  const long count = 4096;
  Floats in(count), out(count);
  for (float& each : in) {
    const std::uint32_t bits = static_cast<std::uint32_t>(generator());
    std::memcpy(&each, &bits, 4);
    if (draw(0, 1)) each = static_cast<float>(draw(-2000000, 2000000)) / 20000;
  }
  const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-38f, -1e-38f, 88.7f, -88.0f};
  std::copy(std::begin(special), std::end(special), in.begin());
  const Held held[] = {{nullptr, in.data(), -1, 0, 0, 0, count, 1},
                       {nullptr, out.data(), -1, 0, 0, 0, count, 1}};
  const Instruction steps[] = {
      {penstock::LOAD, 0, 0, 0, 0, 0}, {code, 1, 0, 0, 0, 0}, {penstock::STORE, 0, 1, 1, 0, 0}};
  const penstock::Phase phase = {0, 0, 0, 3};
  ThreadWorkers workers(1);
  kernels.recurrence({1, 1, count, 2, held, nullptr, 0, nullptr, steps, &phase, 1}, workers);
  for (long i = 0; i < count; ++i) {
    const double wanted = plain(in[i]);
    const float nearest = static_cast<float>(wanted);
    const double least = 1.1754944e-38;  // below it results may be zero
    int power = 0;
    std::frexp(nearest, &power);
    const double unit = std::isfinite(nearest) ? std::ldexp(1.0, power - 24) : 0;
    const double room = std::fabs(wanted) < least ? least : units * unit;
    const bool right = std::isnan(wanted) ? std::isnan(out[i])
                       : std::isinf(nearest) ? out[i] == nearest
                                             : std::fabs(out[i] - wanted) <= room;
    if (!right) {
      std::printf("%s of %.9g is %.9g, not %.9g\n", name, in[i], out[i], wanted);
      return fail("a function is not as exact as it should be");
    }
  }
}

inline void check_functions(const penstock::Kernels& kernels) {
  check_function(kernels, "e to the power", penstock::EXPONENTIAL,
                 [](double x) { return std::exp(x); }, 2);
  check_function(kernels, "sigmoid", penstock::SIGMOID,
                 [](double x) { return 1 / (1 + std::exp(-x)); }, 3);
  check_function(kernels, "tanh", penstock::TANH, [](double x) { return std::tanh(x); }, 2);
}

}  // namespace
