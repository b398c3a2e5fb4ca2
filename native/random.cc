// Random numbers. What the functions promise is in random.h.

#include "random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "threads.h"

namespace penstock {
namespace {

constexpr uint64_t kReserved = 256;  // blocks set apart for each output
constexpr uint64_t kReservedSmall = 42;  // for a binomial number of a mean below kSmall
constexpr double kSmall = 10;
constexpr int64_t kShare = 2048;     // outputs that a thread takes at once
constexpr double kTiny = 1.0e-7;     // the smallest uniform number whose logarithm is taken
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr int kRounds = 10;
constexpr int kMostRefused = 1000;  // times in turn that nothing proposed fits between bounds

struct Block {
  uint32_t words[4];
};

struct Stream {
  uint64_t key, low, high;

  Block block(uint64_t place) const {
    const uint64_t from = low + place, to = high + (from < place);
    uint32_t c0 = static_cast<uint32_t>(from), c1 = static_cast<uint32_t>(from >> 32);
    uint32_t c2 = static_cast<uint32_t>(to), c3 = static_cast<uint32_t>(to >> 32);
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t a = uint64_t{c0} * 0xD2511F53u, b = uint64_t{c2} * 0xCD9E8D57u;
      c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
      c1 = static_cast<uint32_t>(b);
      c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
      c3 = static_cast<uint32_t>(a);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return Block{{c0, c1, c2, c3}};
  }
};

// In [0, 1): the bits become the mantissa of a number in [1, 2).
double unit(uint32_t first, uint32_t second) {
  const uint64_t bits = uint64_t{first & 0xFFFFF} << 32 | second | uint64_t{1023} << 52;
  double found;
  std::memcpy(&found, &bits, 8);
  return found - 1;
}

// A number in [0, 1) of one word.
float unit(uint32_t word) { return static_cast<float>(word & 0x7FFFFF) / 8388608.0f; }

// In the precision of the numbers: the angle is rounded before its sine is taken.
template <typename Real>
void box_muller(Real u, Real v, Real *out) {
  const Real radius = std::sqrt(Real(-2) * std::log(std::max(u, static_cast<Real>(kTiny))));
  const Real angle = static_cast<Real>(2.0 * 3.141592653589793) * v;
  out[0] = std::sin(angle) * radius;
  out[1] = std::cos(angle) * radius;
}

int normals(const Block &block, float *out) {
  box_muller(unit(block.words[0]), unit(block.words[1]), out);
  box_muller(unit(block.words[2]), unit(block.words[3]), out + 2);
  return 4;
}

int normals(const Block &block, double *out) {
  box_muller(unit(block.words[0], block.words[1]), unit(block.words[2], block.words[3]), out);
  return 2;
}

// Numbers of one output: two of each block, the second first.
class Draws {
 public:
  Draws(const Stream &stream, uint64_t place, uint64_t reserved = kReserved)
      : stream_(stream), next_(place * reserved) {}

  double uniform() {
    if (!uniforms_) {
      const Block block = stream_.block(next_++);
      uniform_[0] = unit(block.words[0], block.words[1]);
      uniform_[1] = unit(block.words[2], block.words[3]);
      uniforms_ = 2;
    }
    return uniform_[--uniforms_];
  }

  double normal() {
    if (!normals_) {
      normals_ = normals(stream_.block(next_++), normal_);
    }
    return normal_[--normals_];
  }

 private:
  const Stream &stream_;
  uint64_t next_;
  double uniform_[2] = {0, 0}, normal_[2] = {0, 0};
  int uniforms_ = 0, normals_ = 0;
};

double gamma(Draws draws, double shape) {
  if (shape == 1) return -std::log1p(-draws.uniform());
  if (!(shape > 0) || std::isinf(shape)) return kNone;
  const double d = shape + (shape < 1 ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / std::sqrt(d);
  for (;;) {
    const double x = draws.normal(), root = 1 + c * x;
    if (!(root > 0)) continue;
    const double v = root * root * root, u = draws.uniform(), square = x * x;
    if (u < 1 - 0.0331 * square * square ||
        std::log(u) < 0.5 * square + d * (1 - v + std::log(v))) {
      return shape < 1 ? d * v * std::pow(draws.uniform(), 1 / shape) : d * v;
    }
  }
}

double log_factorial(double k) {
#if defined(__GLIBC__) || defined(__APPLE__)
  int sign;  // lgamma writes a global one
  return lgamma_r(k + 1, &sign);
#else
  return std::lgamma(k + 1);
#endif
}

double poisson(Draws draws, double rate, double most) {
  if (!(rate >= 0) || std::isinf(rate)) return kNone;
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double product = 1, found = 0;
    while ((product *= draws.uniform()) > limit) ++found;
    return found;
  }
  const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b, inverse = 1.1239 + 1.1328 / (b - 3.4);
  for (;;) {
    const double u = draws.uniform() - 0.5, v = draws.uniform(), shifted = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / shifted + b) * u + rate + 0.43);
    if (!(k <= most)) continue;
    if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
    const double s = std::log(v * inverse / (a / (shifted * shifted) + b));
    if (s <= -rate + k * log_rate - log_factorial(k)) return k;
  }
}

// What Stirling's formula lacks of the logarithm of k!.
double stirling(double k) {
  static constexpr double table[] = {
      0.0810614667953272,  0.0413406959554092,  0.0276779256849983,  0.02079067210376509,
      0.0166446911898211,  0.0138761288230707,  0.0118967099458917,  0.0104112652619720,
      0.00925546218271273, 0.00833056343336287,
  };
  if (k <= 9) return table[static_cast<int>(std::max(k, 0.0))];
  const double following = k + 1, square = following * following;
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / following;
}

double large_binomial(Draws draws, double n, double p) {
  const double deviation = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5, near = 0.92 - 4.2 / b;
  const double r = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation, m = std::floor((n + 1) * p);
  for (;;) {
    const double u = draws.uniform() - 0.5;
    double v = draws.uniform();
    const double shifted = 0.5 - std::fabs(u), k = std::floor((2 * a / shifted + b) * u + c);
    if (shifted >= 0.07 && v <= near) return k;
    if (!(k >= 0 && k <= n)) continue;
    v = std::log(v * alpha / (a / (shifted * shifted) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (r * (n - m + 1))) +
                         (n + 1) * std::log((n - m + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(r * (n - k + 1) / (k + 1)) + stirling(m) +
                         stirling(n - m) - stirling(k) - stirling(n - k);
    if (v <= bound) return k;
  }
}

double small_binomial(Draws draws, double n, double p) {
  const double slope = std::log1p(-p);
  double used = 0, found = 0;
  while ((used += std::ceil(std::log(draws.uniform()) / slope)) <= n) ++found;
  return found;
}

double binomial(const Stream &stream, uint64_t place, double n, double p) {
  const bool flipped = p > 0.5;
  const double q = flipped ? 1 - p : p;
  if (!(n >= 0 && q >= 0 && p <= 1) || std::isinf(n)) return kNone;
  const double found = n * q >= kSmall
                           ? large_binomial(Draws(stream, place), n, q)
                           : small_binomial(Draws(stream, place, kReservedSmall), n, q);
  return flipped ? n - found : found;
}

// ---- normal numbers between bounds

void units(const Block &block, float *out) {
  for (int i = 0; i < 4; ++i) out[i] = unit(block.words[i]);
}

void units(const Block &block, double *out) {
  out[0] = unit(block.words[0], block.words[1]);
  out[1] = unit(block.words[2], block.words[3]);
}

// The distance of the bounds from which on exponential proposals are taken more often than even
// ones (Robert 1995).
double widest(double low) {
  const double root = std::sqrt(low * low + 4);
  return 2 * std::exp(0.5 + low * (low - root) / 4) / (low + root);
}

// Numbers of one row, in order, from the block at `place` on; it is moved behind what was used.
template <typename Real>
class Row {
 public:
  Row(const Stream &stream, uint64_t &place, const double *given, Real *out, Real *end)
      : stream_(stream), place_(place), mean_(static_cast<Real>(given[0])),
        deviation_(static_cast<Real>(given[1])), out_(out), end_(end) {
    low_ = (static_cast<Real>(given[2]) - mean_) / deviation_;
    high_ = (static_cast<Real>(given[3]) - mean_) / deviation_;
    if (high_ < 0 || (std::isinf(low_) && low_ < 0)) {  // the mirror image
      std::swap(low_, high_);
      low_ = -low_;
      high_ = -high_;
      deviation_ = -deviation_;
    }
  }

  // False where so many proposals in turn were refused that no number may fit.
  bool fill() {
    constexpr Real near = static_cast<Real>(1.3);
    if ((low_ < -near && high_ >= 0) || (high_ > near && low_ <= 0)) {
      return repeat([this] { normal(); });
    }
    if (low_ < 0 || high_ - low_ < widest(low_)) return repeat([this] { even(); });
    return repeat([this] { exponential(); });
  }

 private:
  static constexpr int kWidth = 4 * sizeof(float) / sizeof(Real);  // numbers of a block

  template <typename Propose>
  bool repeat(Propose propose) {
    for (int refused = 0; out_ < end_; ++refused) {
      const Real *before = out_;
      propose();
      if (out_ > before) refused = -1;
      if (refused == kMostRefused) return false;
    }
    return true;
  }

  void take(Real number) {
    if (out_ < end_) *out_++ = number * deviation_ + mean_;
  }

  void normal() {
    Real numbers[kWidth];
    normals(stream_.block(place_++), numbers);
    for (const Real number : numbers)
      if (low_ <= number && number <= high_) take(number);
  }

  // One block has the proposals, the next says which are taken.
  void even() {
    Real proposed[kWidth], chances[kWidth];
    units(stream_.block(place_++), proposed);
    units(stream_.block(place_++), chances);
    const Real nearest = low_ > 0 ? low_ * low_ : 0;
    for (int i = 0; i < kWidth; ++i) {
      const Real number = proposed[i] * (high_ - low_) + low_;
      if (chances[i] <= std::exp((nearest - number * number) / 2)) take(number);
    }
  }

  // Neighbours are a proposal and what says whether it is taken.
  void exponential() {
    Real drawn[kWidth];
    units(stream_.block(place_++), drawn);
    const Real rate = (low_ + std::sqrt(low_ * low_ + 4)) / 2;
    for (int i = 0; i < kWidth; i += 2) {
      const Real number = -std::log(drawn[i]) / rate + low_, away = number - rate;
      if (drawn[i + 1] <= std::exp(-away * away / 2) && number < high_) take(number);
    }
  }

  const Stream &stream_;
  uint64_t &place_;
  Real mean_, deviation_, low_, high_, *out_, *end_;
};

// The row for which no number was found, or -1.
template <typename Real>
int64_t between(const Stream &stream, int64_t rows, int64_t samples, const double *parameters,
                Real *out) {
  uint64_t place = 0;
  for (int64_t i = 0; i < rows; ++i, out += samples)
    if (!Row<Real>(stream, place, parameters + 4 * i, out, out + samples).fill()) return i;
  return -1;
}

template <typename Real>
void truncated(const Stream &stream, uint64_t place, Real *out) {
  Real found[4];
  for (int width = 4 * sizeof(float) / sizeof(Real), filled = 0; filled < width; ++place) {
    const int count = normals(stream.block(place), found);
    for (int i = 0; i < count && filled < width; ++i)
      if (std::fabs(found[i]) < 2) out[filled++] = found[i];
  }
}

template <typename Make>
int64_t make_all(int64_t count, int64_t threads, double *out, Make make) {
  const int64_t shares = (count + kShare - 1) / kShare;
  in_parallel(shares, shares > 1 ? threads : 1, [&](int64_t share) {
    const int64_t end = std::min(count, (share + 1) * kShare);
    for (int64_t i = share * kShare; i < end; ++i) out[i] = make(i);
  });
  return -1;
}

// Calls `use(i, words)` with the words of each block that `count` numbers of `size` words need.
template <typename Use>
void each_block(const Stream &stream, int64_t count, int64_t size, const Use &use) {
  const int64_t held = 4 / size;
  for (int64_t i = 0; i < count; i += held) {
    const Block block = stream.block(static_cast<uint64_t>(i / held));
    for (int64_t j = 0; j < std::min(held, count - i); ++j) use(i + j, block.words + j * size);
  }
}

// What is finite less the largest of it, as the logarithms of classes' weights; what is not counts nothing.
template <typename Real>
void shifted(const Real *logits, int64_t rows, int64_t classes, double *out) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  for (int64_t row = 0; row < rows; ++row, logits += classes, out += classes) {
    double top = none;
    for (int64_t i = 0; i < classes; ++i)
      if (std::isfinite(logits[i])) top = std::max(top, static_cast<double>(logits[i]));
    for (int64_t i = 0; i < classes; ++i)
      out[i] = std::isfinite(logits[i]) ? static_cast<double>(logits[i]) - top : none;
  }
}

// Where each number falls among the sums of its row's weights, which become these sums.
template <typename Index>
void categories(const Stream &stream, double *weights, int64_t rows, int64_t classes, int64_t samples,
                Index *out) {
  for (int64_t row = 0; row < rows; ++row)
    for (double *each = weights + row * classes, *end = each + classes; ++each < end;) *each += each[-1];
  each_block(stream, rows * samples, 2, [=](int64_t i, const uint32_t *words) {
    const double *sums = weights + i / samples * classes, *last = sums + classes - 1;
    out[i] = static_cast<Index>(std::upper_bound(sums, last, unit(words[0], words[1]) * *last) - sums);
  });
}

}  // namespace
}  // namespace penstock

using namespace penstock;

EXPORT int penstock_random_version() { return 4; }

EXPORT int64_t penstock_random_units(uint64_t key, uint64_t low, uint64_t high, int64_t count,
                                     int64_t wide, void *out) {
  const Stream stream{key, low, high};
  if (wide) {
    double *to = static_cast<double *>(out);
    each_block(stream, count, 2, [=](int64_t i, const uint32_t *words) { to[i] = unit(words[0], words[1]); });
  } else {
    float *to = static_cast<float *>(out);
    each_block(stream, count, 1, [=](int64_t i, const uint32_t *words) { to[i] = unit(words[0]); });
  }
  return -1;
}

EXPORT int64_t penstock_random_unit_pairs(uint64_t key, uint64_t low, uint64_t high, int64_t count,
                                          float *first, float *second) {
  each_block({key, low, high}, count, 2, [=](int64_t i, const uint32_t *words) {
    first[i] = std::max(unit(words[0]), static_cast<float>(kTiny));
    second[i] = unit(words[1]);
  });
  return -1;
}

EXPORT int64_t penstock_random_whole(uint64_t key, uint64_t low, uint64_t high, uint64_t start,
                                     uint64_t size, int64_t count, int64_t wide, void *out) {
  const Stream stream{key, low, high};
  if (wide) {
    uint64_t *to = static_cast<uint64_t *>(out);
    each_block(stream, count, 2, [=](int64_t i, const uint32_t *words) {
      to[i] = start + (words[0] | uint64_t{words[1]} << 32) % size;
    });
  } else {
    uint32_t *to = static_cast<uint32_t *>(out);
    const uint32_t first = static_cast<uint32_t>(start), parts = static_cast<uint32_t>(size);
    each_block(stream, count, 1, [=](int64_t i, const uint32_t *words) { to[i] = first + words[0] % parts; });
  }
  return -1;
}

EXPORT int64_t penstock_random_below(uint64_t key, uint64_t low, uint64_t high, uint64_t limit,
                                     int64_t count, int64_t wide, int64_t *out) {
  const Stream stream{key, low, high};
  const uint64_t most = wide ? ~uint64_t{0} : 0xFFFFFFFF, rest = most % limit;
  const uint64_t fair = limit & (limit - 1) ? most - rest - 1 : most;  // the largest one that is
  const int size = wide ? 2 : 1;
  Block block{};
  uint64_t place = 0;
  for (int64_t found = 0, lane = 4; found < count; lane += size) {
    if (lane == 4) {
      block = stream.block(place++);
      lane = 0;
    }
    const uint64_t value = block.words[lane] | (wide ? uint64_t{block.words[lane + 1]} << 32 : 0);
    if (value <= fair) out[found++] = static_cast<int64_t>(value % limit);
  }
  return -1;
}

EXPORT int64_t penstock_random_shifted(const void *logits, int64_t wide, int64_t rows, int64_t classes,
                                       double *out) {
  if (wide)
    shifted(static_cast<const double *>(logits), rows, classes, out);
  else
    shifted(static_cast<const float *>(logits), rows, classes, out);
  return -1;
}

EXPORT int64_t penstock_random_categories(uint64_t key, uint64_t low, uint64_t high, double *weights,
                                          int64_t rows, int64_t classes, int64_t samples, int64_t wide,
                                          void *out) {
  const Stream stream{key, low, high};
  if (wide)
    categories(stream, weights, rows, classes, samples, static_cast<int64_t *>(out));
  else
    categories(stream, weights, rows, classes, samples, static_cast<int32_t *>(out));
  return -1;
}

EXPORT int64_t penstock_random_words(uint64_t key, uint64_t low, uint64_t high, int64_t count,
                                     uint32_t *words) {
  const Stream stream{key, low, high};
  const int64_t whole = count / 4;
  for (int64_t i = 0; i < whole; ++i) {
    const Block block = stream.block(static_cast<uint64_t>(i));
    std::memcpy(words + 4 * i, block.words, sizeof block.words);
  }
  if (count % 4) {
    const Block block = stream.block(static_cast<uint64_t>(whole));
    std::copy(block.words, block.words + count % 4, words + 4 * whole);
  }
  return -1;
}

EXPORT int64_t penstock_random_blocks(uint64_t key, uint64_t low, uint64_t high,
                                      const uint64_t *places, int64_t count, uint32_t *words) {
  const Stream stream{key, low, high};
  for (int64_t i = 0; i < count; ++i) {
    const Block block = stream.block(places[i]);
    std::memcpy(words + 4 * i, block.words, sizeof block.words);
  }
  return -1;
}

EXPORT int64_t penstock_random_order(uint64_t key, uint64_t low, uint64_t high, int64_t count,
                                     int64_t *order) {
  const Stream stream{key, low, high};
  Block block{};
  for (int64_t i = 0; i < count; ++i) order[i] = i;
  for (int64_t i = 0; i + 1 < count; ++i) {
    if (i % 4 == 0) block = stream.block(static_cast<uint64_t>(i / 4));
    std::swap(order[i], order[i + block.words[i % 4] % (count - i)]);
  }
  return -1;
}

EXPORT int64_t penstock_random_gamma(uint64_t key, uint64_t low, uint64_t high,
                                     const uint64_t *places, int64_t count, int64_t threads,
                                     const double *shapes, double *out) {
  const Stream stream{key, low, high};
  return make_all(count, threads, out,
                  [&](int64_t i) { return gamma(Draws(stream, places[i]), shapes[i]); });
}

EXPORT int64_t penstock_random_poisson(uint64_t key, uint64_t low, uint64_t high,
                                       const uint64_t *places, int64_t count, int64_t threads,
                                       const double *rates, double most, double *out) {
  const Stream stream{key, low, high};
  return make_all(count, threads, out,
                  [&](int64_t i) { return poisson(Draws(stream, places[i]), rates[i], most); });
}

EXPORT int64_t penstock_random_binomial(uint64_t key, uint64_t low, uint64_t high,
                                        const uint64_t *places, int64_t count, int64_t threads,
                                        const double *trials, const double *probabilities,
                                        double *out) {
  const Stream stream{key, low, high};
  return make_all(count, threads, out, [&](int64_t i) {
    return binomial(stream, places[i], trials[i], probabilities[i]);
  });
}

EXPORT int64_t penstock_random_between(uint64_t key, uint64_t low, uint64_t high, int64_t rows,
                                       int64_t samples, int64_t wide, const double *parameters,
                                       void *out) {
  const Stream stream{key, low, high};
  if (wide) return between(stream, rows, samples, parameters, static_cast<double *>(out));
  return between(stream, rows, samples, parameters, static_cast<float *>(out));
}

EXPORT int64_t penstock_random_truncated(uint64_t key, uint64_t low, uint64_t high, int64_t groups,
                                         int64_t reserved, int64_t wide, int64_t threads, void *out) {
  const Stream stream{key, low, high};
  const int64_t shares = (groups + kShare - 1) / kShare;
  in_parallel(shares, shares > 1 ? threads : 1, [&](int64_t share) {
    const int64_t end = std::min(groups, (share + 1) * kShare);
    for (int64_t i = share * kShare; i < end; ++i) {
      const uint64_t first = static_cast<uint64_t>(i * reserved);
      if (wide) {
        truncated(stream, first, static_cast<double *>(out) + 2 * i);
      } else {
        truncated(stream, first, static_cast<float *>(out) + 4 * i);
      }
    }
  });
  return -1;
}
