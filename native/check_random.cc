// Random numbers: known words, means that are right, the same for one thread and for several.
//
//   check_random [rounds]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "random.h"

namespace {

constexpr int64_t COUNT = 20000;
using Numbers = std::vector<double>;

bool check_words() {  // the generator's published test: counter and key of ones
  uint32_t words[4];
  const uint64_t ones = ~uint64_t{0}, place = 0;
  penstock_random_blocks(ones, ones, ones, &place, 1, words);
  const uint32_t wanted[] = {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD};
  return std::equal(words, words + 4, wanted);
}

// Numbers of words are those that the words say, in whatever number of them.
bool check_numbers(uint64_t key, int64_t count) {
  std::vector<uint32_t> words(2 * count), whole(count);
  std::vector<float> units(count), first(count), second(count);
  std::vector<double> doubles(count);
  std::vector<uint64_t> wide(count);
  penstock_random_words(key, 3, ~uint64_t{0}, 2 * count, words.data());
  penstock_random_units(key, 3, ~uint64_t{0}, count, 0, units.data());
  penstock_random_units(key, 3, ~uint64_t{0}, count, 1, doubles.data());
  penstock_random_unit_pairs(key, 3, ~uint64_t{0}, count, first.data(), second.data());
  penstock_random_whole(key, 3, ~uint64_t{0}, 7, 10, count, 0, whole.data());
  penstock_random_whole(key, 3, ~uint64_t{0}, ~uint64_t{0}, 1000, count, 1, wide.data());
  const auto unit = [](uint32_t word) { return std::ldexp(static_cast<float>(word & 0x7FFFFF), -23); };
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t pair = words[2 * i] | uint64_t{words[2 * i + 1]} << 32;
    const uint64_t mantissa = uint64_t{words[2 * i] & 0xFFFFF} << 32 | words[2 * i + 1];
    if (units[i] != unit(words[i]) || whole[i] != 7 + words[i] % 10 || wide[i] != pair % 1000 - 1 ||
        doubles[i] != std::ldexp(static_cast<double>(mantissa), -52) ||
        first[i] != std::max(unit(words[2 * i]), 1e-7f) || second[i] != unit(words[2 * i + 1]))
      return false;
  }
  return true;
}

// Every word counts but those that are not fair modulo the limit.
bool check_below(uint64_t key, uint64_t limit) {
  constexpr int64_t count = 500;
  std::vector<uint32_t> words(8 * count);
  std::vector<int64_t> narrow(count), wide(count);
  penstock_random_words(key, 1, 2, 8 * count, words.data());
  penstock_random_below(key, 1, 2, limit, count, 0, narrow.data());
  penstock_random_below(key, 1, 2, limit << 31, count, 1, wide.data());
  const uint64_t fair = (uint64_t{1} << 32) / limit * limit;
  size_t at = 0;
  for (const int64_t each : narrow) {
    while (words[at] >= fair) ++at;
    if (each != static_cast<int64_t>(words[at++] % limit)) return false;
  }
  at = 0;
  for (const int64_t each : wide) {  // a power of two times the limit: as fair as the upper bits
    const uint64_t whole = limit << 31, most = ~uint64_t{0};
    uint64_t value;
    do {
      value = words[at] | uint64_t{words[at + 1]} << 32;
      at += 2;
    } while ((whole & (whole - 1)) && value >= most - most % whole);
    if (each != static_cast<int64_t>(value % whole)) return false;
  }
  return true;
}

// Classes come as often as they weigh, and those without a finite logarithm never.
bool check_categories(uint64_t key) {
  constexpr int64_t samples = 4000;
  const double none = std::numeric_limits<double>::infinity();
  const double logits[] = {1, -none, 2, std::nan(""), 0, none, -none, none, -none, none, -none, none};
  double weights[12];
  std::vector<int32_t> found(2 * samples);
  penstock_random_shifted(logits, 1, 2, 6, weights);
  for (double &each : weights) each = std::exp(each);
  penstock_random_categories(key, 0, 0, weights, 2, 6, samples, 0, found.data());
  for (int64_t i = samples; i < 2 * samples; ++i)
    if (found[i] != 5) return false;  // nothing weighs anything
  const double total = std::exp(1.0) + std::exp(2.0) + 1;
  for (int32_t k = 0; k < 6; ++k) {
    const double share = k == 0 || k == 2 || k == 4 ? std::exp(logits[k]) / total : 0;
    const double count = static_cast<double>(std::count(found.begin(), found.begin() + samples, k));
    if (std::fabs(count - share * samples) > 6 * std::sqrt(share * samples)) return false;
  }
  return true;
}

bool check_order(uint64_t key, int64_t count) {
  std::vector<int64_t> order(count);
  penstock_random_order(key, 1, 2, count, order.data());
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < count; ++i)
    if (order[i] != i) return false;
  return true;
}

// Whether `make(threads, out)` gives the same for 1 and 3 threads, and the mean.
template <typename Make>
bool check(const char *name, double mean, double deviation, Make make) {
  Numbers one(COUNT), three(COUNT);
  make(1, one.data());
  make(3, three.data());
  double total = 0;
  for (const double each : one) total += each;
  const double off = (total / COUNT - mean) / (deviation / std::sqrt(double(COUNT)));
  if (one == three && std::fabs(off) < 6) return true;
  std::fprintf(stderr, "%s: mean %g, %g deviations off\n", name, total / COUNT, off);
  return false;
}

bool check_all(uint64_t key, double size) {
  std::vector<uint64_t> places(COUNT);
  for (int64_t i = 0; i < COUNT; ++i) places[i] = static_cast<uint64_t>(i);
  const Numbers sizes(COUNT, size), halves(COUNT, 0.3), trials(COUNT, std::floor(4 * size));
  const double n = trials[0];
  return check("gamma", size, std::sqrt(size),
               [&](int64_t threads, double *out) {
                 penstock_random_gamma(key, 0, 0, places.data(), COUNT, threads, sizes.data(), out);
               }) &&
         check("poisson", size, std::sqrt(size),
               [&](int64_t threads, double *out) {
                 penstock_random_poisson(key, 0, 1, places.data(), COUNT, threads, sizes.data(), 1e9,
                                         out);
               }) &&
         check("binomial", 0.3 * n, std::sqrt(0.21 * n) + 1e-9,
               [&](int64_t threads, double *out) {
                 penstock_random_binomial(key, 0, 2, places.data(), COUNT, threads, trials.data(),
                                          halves.data(), out);
               }) &&
         check("between", 0, 1,
               [&](int64_t, double *out) {
                 const double parameters[] = {0, 1, -size, size};
                 penstock_random_between(key, 0, 3, 1, COUNT, 1, parameters, out);
               }) &&
         check("truncated", 0, 1, [&](int64_t threads, double *out) {
           penstock_random_truncated(key, 0, 4, COUNT / 2, 128, 1, threads, out);
         });
}

}  // namespace

int main(int count, char **arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) / 10 + 1 : 3;
  std::mt19937_64 random(1);
  if (!check_words()) {
    std::fprintf(stderr, "words differ from the published ones\n");
    return 1;
  }
  std::uniform_real_distribution<double> exponent(-3, 6);
  for (int round = 0; round < rounds; ++round)
    if (!check_all(random(), std::exp(exponent(random))) || !check_order(random(), 1 + round * 37) ||
        !check_numbers(random(), 1 + round * 7) || !check_categories(random()) ||
        !check_below(random(), 1 + random() % 1000) || !check_below(random(), 0xB0000000)) {
      std::fprintf(stderr, "round %d: numbers are wrong\n", round);
      return 1;
    }
  std::printf("random numbers: %d rounds\n", rounds);
  return 0;
}
