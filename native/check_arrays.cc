// Work on arrays beside plain loops: random sizes, ties, NaN, ids that are wrong.
//
//   check_arrays [rounds]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "arrays.h"

namespace {

using Random = std::mt19937_64;

int64_t below(Random &random, int64_t count) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
}

}  // namespace

#include "check_boxes.h"  // which draw from the same generator
#include "check_combined.h"
#include "check_ctc.h"
#include "check_dense.h"
#include "check_draws.h"
#include "check_largest.h"
#include "check_places.h"
#include "check_quantise.h"
#include "check_sparse.h"

namespace {

bool check_invert(Random &random) {
  const int64_t number = 1 + below(random, 300);
  std::vector<int32_t> x(number), out(number);
  for (int64_t i = 0; i < number; ++i) x[i] = static_cast<int32_t>(i);
  std::shuffle(x.begin(), x.end(), random);
  if (penstock_arrays_invert(x.data(), 0, number, out.data()) >= 0) return false;
  for (int64_t i = 0; i < number; ++i)
    if (out[x[i]] != i) return false;
  x[number - 1] = random() % 2 ? static_cast<int32_t>(number) : -1;
  return penstock_arrays_invert(x.data(), 0, number, out.data()) == number - 1;
}

// One number put in, taken out or replaced is one edit; the distance is the same both ways round.
bool check_edits(Random &random) {
  const int64_t size = 1 + below(random, 40), place = below(random, size);
  std::vector<int32_t> a(size), b;
  for (int32_t &each : a) each = static_cast<int32_t>(below(random, 3));
  b = a;
  const int64_t way = below(random, 3);
  if (way == 0) b.insert(b.begin() + place, 9);
  if (way == 1) b.erase(b.begin() + place);
  if (way == 2) b[place] = 9;
  a.insert(a.end(), b.begin(), b.end());  // both ways round, and to nothing
  const int64_t other = static_cast<int64_t>(a.size());
  const int64_t first[] = {0, size, other, other};
  std::vector<int32_t> swapped(b);
  swapped.insert(swapped.end(), a.begin(), a.begin() + size);
  const int64_t turned[] = {0, other - size, other, other};
  int64_t found[3];
  penstock_arrays_edits(a.data(), first, swapped.data(), turned, 3, 2, found);
  return found[0] == 1 && found[1] == 1 && found[2] == 0;
}

bool check_places(Random &random) {
  const int64_t count = below(random, 300), slots = 512, number = below(random, 400);
  std::vector<int64_t> keys(count), wanted(number), places(number);
  const int64_t step = random() % 2 ? 3 : int64_t{3} << 48;  // alike but for the upper bits
  for (int64_t i = 0; i < count; ++i) keys[i] = (i - 100) * step;
  std::shuffle(keys.begin(), keys.end(), random);
  for (int64_t &each : wanted) each = (below(random, 400) - 150) * step + below(random, 2);
  std::vector<int32_t> index(slots, -1);
  penstock_arrays_index(keys.data(), count, index.data(), slots);
  penstock_arrays_places(keys.data(), index.data(), slots, wanted.data(), number, 2, places.data());
  for (int64_t i = 0; i < number; ++i) {
    const auto place = std::find(keys.begin(), keys.end(), wanted[i]);
    if (places[i] != (place == keys.end() ? -1 : place - keys.begin())) return false;
  }
  return true;
}

// Keys that enter and leave in turn are found where they stand, and no others.
bool check_enter(Random &random) {
  constexpr int64_t kSlots = 256;
  std::vector<int64_t> keys(120), wanted(10), places(10), here;
  std::vector<int32_t> slots(kSlots, -1);
  int64_t count = 0;
  const int64_t step = random() % 2 ? 1 : int64_t{1} << 56;
  for (int64_t turn = 0; turn < 12; ++turn) {
    for (int64_t &each : wanted) each = (below(random, 30) - 10) * step;
    const int64_t before = count;
    if (turn % 3 == 2) {
      const int64_t left = penstock_arrays_leave(keys.data(), slots.data(), kSlots, wanted.data(), 10,
                                                 places.data());
      for (int64_t i = 0; i < left; ++i) {
        const auto place = std::find(here.begin(), here.end(), keys[places[i]]);
        if (place == here.end()) return false;
        here.erase(place);
      }
    } else {
      count = penstock_arrays_enter(keys.data(), count, slots.data(), kSlots, wanted.data(), 10,
                                    places.data());
      here.insert(here.end(), keys.begin() + before, keys.begin() + count);
      for (int64_t i = 0; i < 10; ++i)
        if (keys[places[i]] != wanted[i]) return false;
    }
    for (int64_t key = -10; key < 20; ++key) {
      const int64_t asked = key * step;
      int64_t place;
      penstock_arrays_places(keys.data(), slots.data(), kSlots, &asked, 1, 1, &place);
      const int64_t times = std::count(here.begin(), here.end(), asked);
      if (times > 1 || (place >= 0) != (times == 1) || (place >= 0 && keys[place] != asked)) return false;
    }
  }
  return true;
}

bool check_rule(Random &random) {
  const int64_t height = 1 + below(random, 6), rows = below(random, 9);
  const int64_t width = random() % 40 ? below(random, 600) : 100000 + below(random, 600);  // shared
  const bool wide = random() % 2;
  std::vector<double> slot(height * width + 1), grad(rows * width + 1), wanted;
  std::vector<int64_t> indices(rows + 1);
  std::vector<int32_t> narrow(rows + 1);
  for (double &each : slot) each = static_cast<double>(below(random, 50));
  for (double &each : grad) each = static_cast<double>(below(random, 50)) - 25;
  for (int64_t &each : indices) each = below(random, height);
  std::copy(indices.begin(), indices.end(), narrow.begin());
  const double rate[] = {0.75, 2};
  wanted = slot;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j) {
      double &each = wanted[indices[i] * width + j];
      each = std::max(each - (rate[1] - rate[0]) * grad[i * width + j], rate[0]);
    }
  // One slot, two numbers, a step of numbers alone, four steps; values are 0: slot, 1: gradient, 2 and
  // 3: numbers.
  const int32_t program[] = {1, 2, 1, 4, 7, 0, 0, 0, 1, 3, 2, 0, 2, 4, 1, 0, 1, 0, 5, 0, 8, 6, 2, 0};
  const void *chosen = wide ? static_cast<const void *>(indices.data()) : narrow.data();
  const auto update = [&](int64_t rows_there) {
    return penstock_arrays_rule(1, program, slot.data(), nullptr, nullptr, nullptr, grad.data(), rate,
                                chosen, wide, rows_there, rows, width, 1 + below(random, 3));
  };
  const auto largest = std::max_element(indices.begin(), indices.begin() + rows) - indices.begin();
  if (rows > 0 && update(indices[largest]) != largest) return false;  // the first that is outside
  return update(height) == -1 && slot == wanted;
}

bool check_level(Random &random) {
  const int64_t number = 1 + below(random, 4), width = below(random, 60);
  std::vector<double> rows(number * width + 1), out(number * width + 1);
  std::vector<int32_t> parts(number * width + 1);
  for (double &each : rows) each = static_cast<double>(below(random, 30));
  penstock_arrays_level(rows.data(), number, width, out.data(), parts.data());
  for (int64_t i = 0; i < number; ++i) {
    double total = 0;
    for (int64_t j = 0; j < width; ++j) {
      const int64_t at = i * width + j;
      total += rows[at] - out[at];
      if (!j) continue;
      const int32_t step = parts[at] - parts[at - 1];  // parts next to each other may be equal
      if (out[at] > out[at - 1] || step < (out[at] < out[at - 1]) || step > 1) return false;
    }
    if (std::fabs(total) > 1e-9) return false;
  }
  return true;
}

}  // namespace

int main(int count, char **arguments) {
  const int rounds = count > 1 ? 10 * std::atoi(arguments[1]) : 100;
  Random random(1);
  bool (*const checks[])(Random &) = {
      check_unique, check_floats, check_combine, check_extremes, check_subtract, check_deal, check_invert,
      check_top, check_extreme, check_nth, check_among, check_edits, check_places, check_level, check_runs,
      check_pad, check_places_in_order, check_product, check_softmax, check_apart, check_ctc, check_ctc_best,
      check_enter, check_histogram, check_ranges, check_nearer, check_sets, check_counts, check_rule,
      check_rows, check_positions, check_shares, check_spread, check_ragged_rows, check_chosen_rows,
      check_range_splits, check_filled_rows, check_all_inside, check_weighted, check_sobol, check_hits,
      check_outside, check_put_at, check_choice, check_far_apart, check_mark, check_put,
      check_fill_empty_rows, check_part_filled, check_sums, check_elements_at, check_in_box, check_in_turn,
      check_apart_by_overlaps, check_by_powers, check_quantise, check_dequantise,
      check_nearest, check_count_places, check_tridiagonal_product, check_quantised_product,
  };
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < sizeof checks / sizeof *checks; ++i)
      if (!checks[i](random)) {
        std::fprintf(stderr, "round %d: check %d failed\n", round, static_cast<int>(i));
        return 1;
      }
  std::printf("work on arrays: %d rounds\n", rounds);
  return 0;
}
