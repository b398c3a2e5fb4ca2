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

#include "check_dense.h"  // which draw from the same generator
#include "check_places.h"

namespace {

bool check_unique(Random &random) {
  const int64_t count = below(random, 3000), size = 1 + below(random, 20);
  const bool few = random() % 2;
  std::vector<uint8_t> items(static_cast<size_t>(count * size));
  for (uint8_t &each : items) each = static_cast<uint8_t>(random() % (few ? 2 : 250));
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  std::vector<int64_t> first(static_cast<size_t>(count)), counts(static_cast<size_t>(count));
  const int64_t found = penstock_arrays_unique(items.data(), count, size, 0, 0, numbers.data(),
                                               first.data(), counts.data());
  int64_t total = 0, next = 0;
  for (int64_t k = 0; k < found; ++k) total += counts[k];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t k = numbers[i];
    if (k < 0 || k >= found || k > next) return false;
    next += k == next;
    if (!std::equal(&items[i * size], &items[i * size] + size, &items[first[k] * size])) return false;
  }
  return total == count && next == found;
}

bool check_floats(Random &random) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float items[] = {0.0f, -0.0f, nan, 1.0f, nan, 1.0f};
  int64_t numbers[6], first[6], counts[6], wanted[] = {0, 0, 1, 2, 3, 2};
  (void)random;
  return penstock_arrays_unique(items, 6, 4, 1, 1, numbers, first, counts) == 4 &&
         std::equal(numbers, numbers + 6, wanted);
}

bool check_combine(Random &random) {
  const int64_t number = below(random, 400), width = below(random, 5), count = 1 + below(random, 40);
  std::vector<double> rows(static_cast<size_t>(number * width) + 1), result(count * width + 1),
      wanted(count * width + 1);
  std::vector<int64_t> ids(number + 1), from(number + 1), sizes(count);
  for (double &each : rows) each = static_cast<double>(random() % 100);
  for (int64_t i = 0; i < number; ++i) {
    ids[i] = below(random, count + 1) - 1;
    from[i] = below(random, number);
  }
  int64_t kept = 0;
  for (int64_t i = 0; i < number; ++i) {
    if (ids[i] < 0) continue;
    ++kept;
    for (int64_t j = 0; j < width; ++j) wanted[ids[i] * width + j] += rows[from[i] * width + j];
  }
  const int64_t wrong =
      penstock_arrays_combine(0, 1, rows.data(), width, from.data(), 1, number, ids.data(), 1, number,
                              2, count, result.data(), sizes.data());
  for (const int64_t each : sizes) kept -= each;
  if (wrong >= 0 || kept || result != wanted) return false;
  if (!number) return true;
  ids[number - 1] = count;
  return penstock_arrays_combine(3, 1, rows.data(), width, nullptr, 0, number, ids.data(), 1, number,
                                 2, count, result.data(), nullptr) == number - 1;
}

// Whole rows taken from those that their ids name, twice from one that is named twice.
bool check_subtract(Random &random) {
  const int64_t number = below(random, 60), width = below(random, 150), count = 1 + below(random, 40);
  std::vector<float> rows(static_cast<size_t>(number * width) + 1), result(count * width + 1);
  std::vector<int32_t> ids(number + 1);
  for (float &each : rows) each = static_cast<float>(below(random, 100));
  for (float &each : result) each = static_cast<float>(below(random, 100));
  for (int32_t &each : ids) each = static_cast<int32_t>(below(random, count));
  std::vector<float> wanted = result;
  for (int64_t i = 0; i < number; ++i)
    for (int64_t j = 0; j < width; ++j) wanted[ids[i] * width + j] -= rows[i * width + j];
  const auto subtract = [&] {
    return penstock_arrays_combine(4, 0, rows.data(), width, nullptr, 0, number, ids.data(), 0, number,
                                   0, count, result.data(), nullptr);
  };
  if (subtract() >= 0 || result != wanted) return false;
  if (!number) return true;
  const int64_t place = below(random, number);
  ids[place] = random() % 2 ? -1 : static_cast<int32_t>(count);
  return subtract() == place;
}

bool check_runs(Random &random) {
  const int64_t number = 1 + below(random, 400), count = 1 + below(random, 20);
  std::vector<float> rows(number), result(count), wanted(count);
  std::vector<int32_t> ids(number);
  std::vector<int64_t> sizes(count), expected(count);
  for (float &each : rows) each = static_cast<float>(below(random, 100));
  for (int32_t &each : ids) each = static_cast<int32_t>(below(random, count));
  std::sort(ids.begin(), ids.end());
  for (int64_t i = 0; i < number; ++i) {
    wanted[ids[i]] += rows[i];
    ++expected[ids[i]];
  }
  const auto combine = [&] {
    return penstock_arrays_combine(0, 0, rows.data(), 1, nullptr, 0, number, ids.data(), 0, number, 1,
                                   count, result.data(), sizes.data());
  };
  if (combine() >= 0 || result != wanted || sizes != expected) return false;
  const int64_t place = below(random, number);
  ids[place] = random() % 2 ? -1 : static_cast<int32_t>(count);
  return combine() == place;
}

// Among few numbers, NaN and zeros of both signs, each rule one after the other gives the same bits.
bool check_extremes(Random &random) {
  const float some[] = {NAN, 0.0f, -0.0f, 1, -1, INFINITY, -INFINITY};
  const int64_t number = 1 + below(random, 200), width = 1 + below(random, 3), count = 1 + below(random, 4);
  std::vector<float> rows(number * width), begun(count * width);
  std::vector<int64_t> ids(number);
  const int64_t least = below(random, 6);  // often few kinds, with no NaN
  for (float &each : rows) each = some[least + below(random, 7 - least)];
  for (float &each : begun) each = some[below(random, 7)];
  for (int64_t &each : ids) each = below(random, count);
  std::sort(ids.begin(), ids.end());
  for (const int64_t operation : {2, 3, 7, 8}) {
    std::vector<float> result = begun, wanted = begun;
    for (int64_t i = 0; i < number * width; ++i) {
      float &old = wanted[ids[i / width] * width + i % width];
      const float x = rows[i];
      if (operation == 2) old = old > x ? old : x;
      if (operation == 3) old = old < x ? old : x;
      if (operation == 7) old = x > old ? x : old;
      if (operation == 8) old = x < old ? x : old;
    }
    const int64_t order = below(random, 2);
    if (penstock_arrays_combine(operation, 0, rows.data(), width, nullptr, 0, number, ids.data(), 1, number,
                                order, count, result.data(), nullptr) >= 0)
      return false;
    if (std::memcmp(result.data(), wanted.data(), result.size() * sizeof(float))) return false;
  }
  return true;
}

bool check_pad(Random &random) {
  const int64_t number = below(random, 30), width = below(random, 9), size = 1 + below(random, 9);
  std::vector<int32_t> splits(number + 1);
  for (int64_t i = 0; i < number; ++i)
    splits[i + 1] = splits[i] + static_cast<int32_t>(below(random, 12));
  std::vector<char> rows(splits[number] * size + 1), rest(size), out(number * width * size + 1);
  for (char &each : rows) each = static_cast<char>(random());
  for (char &each : rest) each = static_cast<char>(random());
  penstock_arrays_pad(rows.data(), size, splits.data(), 0, number, width, 2, rest.data(), out.data());
  for (int64_t i = 0; i < number; ++i)
    for (int64_t j = 0; j < width; ++j) {
      const int64_t from = splits[i] + j;
      const char *wanted = from < splits[i + 1] ? &rows[from * size] : rest.data();
      if (std::memcmp(&out[(i * width + j) * size], wanted, static_cast<size_t>(size))) return false;
    }
  return true;
}

// Places of two lists in order, beside what std::set makes of them; their bounds; a product by them.
bool check_places_in_order(Random &random) {
  const int64_t rank = 1 + below(random, 4);
  std::vector<std::vector<int64_t>> rows[2], wanted;
  std::vector<int64_t> flat[2];
  for (int side = 0; side < 2; ++side) {
    for (int64_t i = below(random, 30); i > 0; --i) {
      std::vector<int64_t> row;
      for (int64_t axis = 0; axis < rank; ++axis) row.push_back(below(random, 5) - 2);
      rows[side].push_back(row);
    }
    if (random() % 4) {
      std::sort(rows[side].begin(), rows[side].end());
      if (random() % 4)
        rows[side].erase(std::unique(rows[side].begin(), rows[side].end()), rows[side].end());
    }
    for (const auto &row : rows[side]) flat[side].insert(flat[side].end(), row.begin(), row.end());
  }
  const int64_t a = static_cast<int64_t>(rows[0].size()), b = static_cast<int64_t>(rows[1].size());
  const auto rises = [](const std::vector<std::vector<int64_t>> &list) {
    return std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end();
  };
  if (a > 0) {
    std::vector<int64_t> low(rank), high(rank);
    const int64_t order =
        penstock_arrays_bounds(flat[0].data(), a, rank, low.data(), high.data());
    if (order != (rises(rows[0]) ? 2 : std::is_sorted(rows[0].begin(), rows[0].end()) ? 1 : 0)) return false;
    for (int64_t axis = 0; axis < rank; ++axis) {
      int64_t least = 9, most = -9;
      for (const auto &row : rows[0]) {
        least = std::min(least, row[axis]);
        most = std::max(most, row[axis]);
      }
      if (low[axis] != least || high[axis] != most) return false;
    }
  }
  std::vector<int64_t> places((a + b) * rank), first(a + b), second(a + b);
  const int64_t count = penstock_arrays_unite(flat[0].data(), a, flat[1].data(), b, rank, places.data(),
                                              first.data(), second.data());
  if (!rises(rows[0]) || !rises(rows[1])) return count == -1;
  std::set_union(rows[0].begin(), rows[0].end(), rows[1].begin(), rows[1].end(),
                 std::back_inserter(wanted));
  if (count != static_cast<int64_t>(wanted.size())) return false;
  const auto stands = [](const std::vector<std::vector<int64_t>> &list, const std::vector<int64_t> &row) {
    const auto found = std::lower_bound(list.begin(), list.end(), row);
    return found != list.end() && *found == row ? found - list.begin() : -1;
  };
  for (int64_t i = 0; i < count; ++i)
    if (!std::equal(wanted[i].begin(), wanted[i].end(), &places[i * rank]) ||
        first[i] != stands(rows[0], wanted[i]) || second[i] != stands(rows[1], wanted[i]))
      return false;
  return true;
}

bool check_product(Random &random) {
  const int64_t sizes[] = {1 + below(random, 6), 1 + below(random, 6)}, width = below(random, 50);
  const int64_t number = below(random, 30), axis = below(random, 2);
  std::vector<int32_t> places;
  std::vector<int64_t> wide;
  std::vector<double> values, dense(sizes[1 - axis] * width), result(sizes[axis] * width), wanted(result);
  for (int64_t i = 0; i < number; ++i) {
    for (int64_t size : sizes) places.push_back(static_cast<int32_t>(below(random, size)));
    values.push_back(static_cast<double>(below(random, 9)) - 4);
  }
  for (double &each : dense) each = static_cast<double>(below(random, 9)) - 4;
  wide.assign(places.begin(), places.end());
  for (int64_t i = 0; i < number; ++i)
    for (int64_t k = 0; k < width; ++k)
      wanted[places[2 * i + axis] * width + k] += values[i] * dense[places[2 * i + 1 - axis] * width + k];
  std::vector<double> other(result);
  const int64_t inner = sizes[1 - axis], height = sizes[axis];
  if (penstock_arrays_product(1, places.data(), 0, number, axis, values.data(), dense.data(), inner, width,
                              result.data(), height) != -1 ||
      penstock_arrays_product(1, wide.data(), 1, number, axis, values.data(), dense.data(), inner, width,
                              other.data(), height) != -1)
    return false;
  if (result != wanted || other != wanted) return false;
  if (number == 0) return true;
  const int64_t wrong = below(random, number);
  wide[2 * wrong + below(random, 2)] = random() % 2 ? -1 : 7;
  return penstock_arrays_product(1, wide.data(), 1, number, axis, values.data(), dense.data(), inner, width,
                                 other.data(), height) == wrong;
}

bool check_apart(Random &random) {
  const int64_t number = below(random, 40), most = below(random, 40);
  const float limits[] = {0.25f * static_cast<float>(below(random, 5)), 2.0f};
  std::vector<float> boxes(4 * number + 1), scores(number + 1);
  for (float &each : boxes) each = static_cast<float>(below(random, 6));
  for (float &each : scores) each = random() % 9 ? static_cast<float>(below(random, 9)) : std::nanf("");
  std::vector<int64_t> taken(number + 1);
  const int64_t count =
      penstock_arrays_apart(boxes.data(), scores.data(), number, limits, most, taken.data());
  const auto overlap = [&](int64_t a, int64_t b) {
    float both = 1, areas[] = {1, 1};
    for (int k = 0; k < 2; ++k) {
      float ends[2][2];
      for (int side = 0; side < 2; ++side) {
        const float *box = &boxes[4 * (side ? b : a)];
        ends[side][0] = std::min(box[k], box[k + 2]);
        ends[side][1] = std::max(box[k], box[k + 2]);
        areas[side] *= ends[side][1] - ends[side][0];
      }
      both *= std::max(0.0f, std::min(ends[0][1], ends[1][1]) - std::max(ends[0][0], ends[1][0]));
    }
    return areas[0] <= 0 || areas[1] <= 0 ? 0.0f : both / (areas[0] + areas[1] - both);
  };
  std::vector<int64_t> wanted;
  // One class of one image is the same again.
  const int64_t sizes[] = {1, number, 1, 1, most, most};
  std::vector<float> corners(4 * most), found(most), kinds(most);
  int32_t counted = 0;
  penstock_arrays_apart_by_class(boxes.data(), scores.data(), sizes, limits, 0, 2, corners.data(),
                                 found.data(), kinds.data(), &counted);
  if (counted != count) return false;
  for (int64_t i = 0; i < count; ++i)
    if (found[i] != scores[taken[i]] || corners[4 * i + 3] != boxes[4 * taken[i] + 3]) return false;
  std::vector<bool> gone(number, false);
  while (static_cast<int64_t>(wanted.size()) < most) {
    int64_t best = -1;
    for (int64_t i = 0; i < number; ++i)
      if (!gone[i] && scores[i] > limits[1] && (best < 0 || scores[i] > scores[best])) best = i;
    if (best < 0) break;
    wanted.push_back(best);
    gone[best] = true;
    for (int64_t i = 0; i < number; ++i)
      if (overlap(i, best) > limits[0]) gone[i] = true;
  }
  return count == static_cast<int64_t>(wanted.size()) &&
         std::equal(wanted.begin(), wanted.end(), taken.begin());
}

bool check_deal(Random &random) {
  const int64_t number = below(random, 500), size = 1 + below(random, 12), parts = 1 + below(random, 6);
  std::vector<char> rows(number * size + 1), out(number * size + 1);
  std::vector<int32_t> ids(number + 1);
  std::vector<int64_t> ends(parts);
  for (char &each : rows) each = static_cast<char>(random());
  for (int64_t i = 0; i < number; ++i) ids[i] = static_cast<int32_t>(below(random, parts));
  const auto deal = [&] {
    return penstock_arrays_deal(rows.data(), size, ids.data(), number, parts, ends.data(), out.data());
  };
  if (deal() >= 0) return false;
  for (int64_t part = 0, at = 0; part < parts; ++part) {
    for (int64_t i = 0; i < number; ++i)
      if (ids[i] == part && !std::equal(&rows[i * size], &rows[i * size] + size, &out[size * at++]))
        return false;
    if (ends[part] != at) return false;
  }
  if (!number) return true;
  std::fill(ends.begin(), ends.end(), 0);
  ids[number / 2] = random() % 2 ? -1 : static_cast<int32_t>(parts);
  return deal() == number / 2;
}

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

bool check_top(Random &random) {
  const int64_t number = 1 + below(random, 8), width = 1 + below(random, 200), k = below(random, width + 1);
  std::vector<float> rows(number * width);
  for (float &each : rows)
    each = random() % 9 ? static_cast<float>(below(random, 50) - 25) : std::nanf("");
  std::vector<float> values(number * k + 1);
  std::vector<int64_t> places(number * k + 1);
  penstock_arrays_top(0, rows.data(), number, width, k, 3, values.data(), places.data());
  for (int64_t row = 0; row < number; ++row) {
    std::vector<int64_t> order(width);
    for (int64_t i = 0; i < width; ++i) order[i] = i;
    const float *x = &rows[row * width];
    std::stable_sort(order.begin(), order.end(), [x](int64_t a, int64_t b) {
      return std::isnan(x[a]) ? !std::isnan(x[b]) : x[a] > x[b];
    });
    if (!std::equal(order.begin(), order.begin() + k, &places[row * k])) return false;
    for (int64_t i = 0; i < k; ++i)
      if (std::memcmp(&values[row * k + i], &x[order[i]], sizeof(float))) return false;
  }
  return true;
}

bool check_extreme(Random &random) {
  const int64_t number = 1 + below(random, 8), width = 1 + below(random, 70), least = below(random, 2);
  std::vector<float> rows(number * width);
  const bool no_numbers = random() % 5 == 0;
  for (float &each : rows)
    each = no_numbers || random() % 9 == 0 ? std::nanf("") : static_cast<float>(below(random, 40) - 20);
  std::vector<int64_t> places(number);
  penstock_arrays_extreme(0, rows.data(), number, width, least, places.data());
  for (int64_t row = 0; row < number; ++row) {
    const float *x = &rows[row * width];
    int64_t best = -1;
    for (int64_t i = 0; i < width; ++i)
      if (!std::isnan(x[i]) && (best < 0 || (least ? x[i] < x[best] : x[i] > x[best]))) best = i;
    if (places[row] != (best < 0 ? 0 : best)) return false;
  }
  return true;
}

bool check_nth(Random &random) {
  const int64_t number = 1 + below(random, 8), width = 1 + below(random, 70), place = below(random, width);
  std::vector<double> rows(number * width), found(number);
  for (double &each : rows)
    each = random() % 9 ? static_cast<double>(below(random, 40)) : std::nan("");
  penstock_arrays_nth(1, rows.data(), number, width, place, found.data());
  for (int64_t row = 0; row < number; ++row) {
    double *x = &rows[row * width];
    std::sort(x, x + width, [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
    if (std::isnan(x[place]) ? !std::isnan(found[row]) : x[place] != found[row]) return false;
  }
  return true;
}

bool check_among(Random &random) {
  const int64_t number = 1 + below(random, 20), width = 1 + below(random, 30), k = below(random, 6);
  std::vector<float> rows(number * width);
  for (float &each : rows)
    each = random() % 40   ? static_cast<float>(below(random, 20))
           : random() % 3 ? random() % 2 ? INFINITY : -INFINITY
                          : std::nanf("");
  std::vector<int64_t> targets(number);
  for (int64_t &each : targets) each = below(random, width + 2) - 1;
  std::vector<char> found(number);
  penstock_arrays_among(rows.data(), number, width, targets.data(), 1, k,
                        reinterpret_cast<bool *>(found.data()));
  for (int64_t i = 0; i < number; ++i) {
    const float *row = &rows[i * width];
    bool wanted = targets[i] >= 0 && targets[i] < width && std::isfinite(row[targets[i]]);
    int64_t larger = 0;
    for (int64_t j = 0; wanted && j < width; ++j) {
      larger += row[j] > row[targets[i]];
      if (!std::isfinite(row[j])) wanted = false;
    }
    if (static_cast<bool>(found[i]) != (wanted && larger < k)) return false;
  }
  return true;
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

bool check_histogram(Random &random) {
  const int64_t number = below(random, 700), bins = 1 + below(random, 9);
  std::vector<float> values(number);
  for (float &each : values)
    each = random() % 50 ? static_cast<float>(below(random, 40)) - 10 : random() % 2 ? INFINITY : -INFINITY;
  const double limits[] = {-2.5, 17};
  std::vector<int64_t> counts(bins), wanted(bins);
  if (penstock_arrays_histogram(0, values.data(), number, limits, bins, 1 + number % 3, counts.data()) != -1) return false;
  for (const float value : values) {
    const double place = (value - limits[0]) / (limits[1] - limits[0]) * static_cast<double>(bins);
    ++wanted[place < 0 ? 0 : place > static_cast<double>(bins - 1) ? bins - 1 : static_cast<int64_t>(place)];
  }
  if (counts != wanted) return false;
  if (!number) return true;
  values[below(random, number)] = std::nanf("");
  return penstock_arrays_histogram(0, values.data(), number, limits, bins, 1 + number % 3, counts.data()) >= 0;
}

bool check_ranges(Random &random) {
  const int64_t rows = below(random, 9);
  std::vector<int32_t> starts(rows + 1), deltas(rows + 1);
  std::vector<int64_t> splits(1);
  for (int64_t i = 0; i < rows; ++i) {
    starts[i] = static_cast<int32_t>(random());
    deltas[i] = static_cast<int32_t>(below(random, 9)) - 4;
    splits.push_back(splits.back() + below(random, 7));
  }
  std::vector<int32_t> out(splits.back() + 1);
  penstock_arrays_ranges(starts.data(), deltas.data(), 0, splits.data(), rows, out.data());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = splits[i]; j < splits[i + 1]; ++j)
      if (out[j] != static_cast<int32_t>(int64_t{starts[i]} + (j - splits[i]) * deltas[i])) return false;
  return true;
}

bool check_nearer(Random &random) {
  const int64_t number = 1 + below(random, 20), width = below(random, 5);
  std::vector<float> points(number * width + 1), numbers(number);
  std::vector<double> away(number), again(number), uniform(number, 2.0);
  for (float &each : points) each = static_cast<float>(below(random, 9)) - 4;
  penstock_arrays_nearer(points.data(), number, width, points.data(), nullptr, away.data());
  const std::vector<double> none(number, 0.0);
  penstock_arrays_nearer(points.data(), number, width, points.data(), none.data(), again.data());
  if (away[0] != 0 || again != none) return false;
  // With chances above all ratios a chain only leaves zeros.
  for (float &each : numbers) each = static_cast<float>(below(random, 2));
  const int64_t end = penstock_arrays_chain(numbers.data(), uniform.data(), number);
  const int64_t first = std::find(numbers.begin(), numbers.end(), 1.0f) - numbers.begin();
  return end == std::min(first, number - 1);
}

bool check_sets(Random &random) {
  const int64_t rows = 1 + below(random, 5), width = below(random, 6), count = below(random, 20);
  std::vector<int64_t> a(rows * width), b(count), b_rows(count), places(2 * (rows * width + count) + 2);
  std::vector<int64_t> values(rows * width + count + 1);
  for (int64_t &each : a) each = below(random, 6) - 2;
  for (int64_t &each : b) each = below(random, 6) - 2;
  for (int64_t &each : b_rows) each = below(random, rows);
  std::sort(b_rows.begin(), b_rows.end());
  for (int64_t operation = 0; operation < 4; ++operation) {
    const int64_t found = penstock_arrays_sets(operation, nullptr, width, a.data(), rows * width,
                                               b_rows.data(), 0, b.data(), count, places.data(),
                                               values.data());
    int64_t at = 0;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t value = -2, place = 0; value < 4; ++value) {
        const auto begin = a.begin() + row * width;
        const bool in_a = std::find(begin, begin + width, value) != begin + width;
        bool in_b = false;
        for (int64_t i = 0; i < count; ++i) in_b |= b_rows[i] == row && b[i] == value;
        const bool wanted[] = {in_a && !in_b, in_b && !in_a, in_a && in_b, in_a || in_b};
        if (!wanted[operation]) continue;
        if (at == found || places[2 * at] != row || places[2 * at + 1] != place++ || values[at] != value)
          return false;
        ++at;
      }
    if (at != found) return false;
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

bool check_rows(Random &random) {
  const int64_t rank = 2 + below(random, 2), dims[] = {rank == 3 ? below(random, 4) : below(random, 7),
                                                       below(random, 7), below(random, 7)};
  const int64_t batch = rank == 3 ? dims[0] : 1, height = dims[rank - 2], width = dims[rank - 1];
  std::vector<double> dense(batch * height * width + 1), values, back(dense.size());
  std::vector<int64_t> places;
  for (int64_t i = 0; i < batch * height * width; ++i) {
    if (random() % 2) continue;
    dense[i] = static_cast<double>(1 + below(random, 9));
    if (rank == 3) places.push_back(i / (height * width));
    places.push_back(i / width % height);
    places.push_back(i % width);
  }
  const int64_t number = static_cast<int64_t>(places.size()) / rank;
  std::vector<int32_t> columns(number + 1), ends(batch * height + 1);
  values.resize(number + 1);
  std::vector<int64_t> again(places.size() + 1);
  places.push_back(0);
  if (penstock_arrays_to_rows(places.data(), number, rank, dims, dense.data(), 8, columns.data(),
                              ends.data(), values.data()) != -1)
    return false;
  penstock_arrays_from_rows(columns.data(), ends.data(), rank, dims, again.data());
  penstock_arrays_dense_rows(columns.data(), ends.data(), rank, dims, values.data(), 8, back.data());
  if (!std::equal(places.begin(), places.end() - 1, again.begin()) || back != dense) return false;
  if (number == 0) return true;
  const int64_t wrong = below(random, number);
  places[wrong * rank + below(random, rank)] = random() % 2 ? -1 : 7;
  return penstock_arrays_to_rows(places.data(), number, rank, dims, nullptr, 4, columns.data(),
                                 ends.data(), nullptr) == wrong;
}

bool check_counts(Random &random) {
  const int64_t number = below(random, 60), most = below(random, 12) - 2;
  const bool binary = random() % 4 == 0, far = random() % 2;
  std::vector<int64_t> rows(number), values(number), places(2 * number + 2);
  std::vector<int32_t> weights(number), totals(number + 1);
  for (int64_t &each : rows) each = below(random, 4);
  std::sort(rows.begin(), rows.end());
  for (int64_t &each : values) each = below(random, 9) * (far ? 1000 : 1);
  for (int32_t &each : weights) each = static_cast<int32_t>(below(random, 9)) - 4;
  const int64_t found = penstock_arrays_counts(2, rows.data(), 0, values.data(), number, weights.data(),
                                               most, binary, places.data(), totals.data());
  int64_t at = 0;
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t value = 0; value < 9000; value += far ? 1000 : 1) {
      int64_t total = 0, times = 0;
      for (int64_t i = 0; i < number; ++i)
        if (rows[i] == row && values[i] == value && (most < 0 || value < most)) {
          total += weights[i];
          ++times;
        }
      if (!times) continue;
      if (at == found || places[2 * at] != row || places[2 * at + 1] != value) return false;
      if (totals[at++] != (binary ? 1 : total)) return false;
      if (value > 8 && !far) return false;
    }
  return at == found;
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

// The loss is minus the logarithm of the sum over all paths of classes, and derivatives of a frame,
// whose softmax adds up to 1, add up to 0.
bool check_ctc(Random &random) {
  const int64_t time = 1 + below(random, 5), classes = 2 + below(random, 2), blank = below(random, classes);
  const int64_t size = 1 + below(random, 3);
  std::vector<double> logits(time * classes), gradient(time * classes);
  for (double &each : logits) each = static_cast<double>(below(random, 7)) - 3;
  std::vector<int64_t> labels(size);
  for (int64_t &each : labels) each = (blank + 1 + below(random, classes - 1)) % classes;
  const int64_t splits[] = {0, size}, lengths[] = {time};
  double loss, total = 0;
  if (penstock_arrays_ctc(1, logits.data(), time, 1, classes, labels.data(), size, splits, lengths, blank, 1,
                          1, &loss, gradient.data()) != -1)
    return false;
  int64_t paths = 1;
  for (int64_t t = 0; t < time; ++t) paths *= classes;
  for (int64_t path = 0; path < paths; ++path) {
    std::vector<int64_t> text;
    int64_t rest = path, last = blank;
    double weight = 1;
    for (int64_t t = 0; t < time; ++t, rest /= classes) {
      const int64_t label = rest % classes;
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(logits[t * classes + c]);
      weight *= std::exp(logits[t * classes + label]) / sum;
      if (label != blank && label != last) text.push_back(label);
      last = label;
    }
    if (text == labels) total += weight;
  }
  if (total > 0 ? std::fabs(loss + std::log(total)) > 1e-9 : loss != INFINITY) return false;
  for (int64_t t = 0; total > 0 && t < time; ++t) {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += gradient[t * classes + c];
    if (std::fabs(sum) > 1e-9) return false;
  }
  // A search as wide as there are prefixes finds this text with this probability.
  const int32_t frames[] = {static_cast<int32_t>(time)};
  std::vector<double> logarithms(time * classes), scores(200);
  for (int64_t t = 0; t < time; ++t) {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(logits[t * classes + c]);
    for (int64_t c = 0; c < classes; ++c)
      logarithms[t * classes + c] = logits[t * classes + c] - std::log(sum);
  }
  if (blank != classes - 1) return true;
  std::vector<int64_t> found(200 * time), counts(200);
  const int64_t lacking = penstock_arrays_ctc_search(logarithms.data(), time, 1, classes, frames, 200,
                                                     200, 1, found.data(), counts.data(), scores.data());
  if (lacking != 0) return lacking == -1;
  const int64_t number = static_cast<int64_t>(scores[0]);
  penstock_arrays_ctc_search(logarithms.data(), time, 1, classes, frames, 200, number, 1, found.data(),
                             counts.data(), scores.data());
  for (int64_t k = 0; k < number; ++k)
    if (counts[k] == size && std::equal(labels.begin(), labels.end(), found.begin() + k * time))
      return std::fabs(scores[k] + loss) < 1e-9;
  return !(total > 0);
}

bool check_ctc_best(Random &random) {
  const int64_t time = 1 + below(random, 9), batch = 1 + below(random, 4), classes = 1 + below(random, 20);
  const int64_t blank = below(random, classes), merge = below(random, 2);
  std::vector<float> logits(time * batch * classes), scores(batch);
  for (float &each : logits) each = static_cast<float>(below(random, 9)) - 4;
  std::vector<int32_t> lengths(batch);
  for (int32_t &each : lengths) each = static_cast<int32_t>(below(random, time + 3)) - 1;
  std::vector<int64_t> indices(2 * time * batch), labels(time * batch), counts(batch), wanted;
  const int64_t number = penstock_arrays_ctc_best(0, logits.data(), time, batch, classes, lengths.data(),
                                                  blank, merge, indices.data(), labels.data(),
                                                  counts.data(), scores.data());
  for (int64_t row = 0; row < batch; ++row) {
    int64_t last = -1;
    for (int64_t t = 0; t < std::min<int64_t>(lengths[row], time); ++t) {
      const float *each = &logits[(t * batch + row) * classes];
      const int64_t best = std::max_element(each, each + classes) - each;
      if (best != blank && !(merge && best == last)) wanted.push_back(best);
      last = best;
    }
  }
  labels.resize(static_cast<size_t>(number));
  return labels == wanted;
}

// Rows less their largest numbers, and cross entropies, of numbers whose sums are exact.
bool check_softmax(Random &random) {
  const int64_t number = below(random, 5), width = 1 + below(random, 20);
  std::vector<double> rows(number * width), shifted(rows), labels(rows), parts(rows), sums(number),
      logs(number), losses(number);
  for (double &each : rows) each = static_cast<double>(below(random, 9)) - 4;
  for (double &each : labels) each = static_cast<double>(below(random, 3));
  for (double &each : sums) each = static_cast<double>(int64_t{1} << below(random, 4));
  for (double &each : logs) each = static_cast<double>(below(random, 5));
  const int64_t odd = below(random, number + 1);  // a row with a NaN, if there is one
  if (odd < number) rows[odd * width + below(random, width)] = std::nan("");
  penstock_arrays_shift(1, rows.data(), number, width, shifted.data());
  std::vector<double> gradient(rows.size(), 3.0), sparse(gradient);
  penstock_arrays_cross(1, shifted.data(), sums.data(), logs.data(), labels.data(), number, width,
                        gradient.data(), parts.data());
  std::vector<int32_t> classes(number);
  for (int32_t &each : classes) each = static_cast<int32_t>(below(random, width));
  if (penstock_arrays_cross_classes(1, shifted.data(), sums.data(), logs.data(), classes.data(), 0,
                                    number, width, sparse.data(), losses.data()) != -1)
    return false;
  for (int64_t row = 0; row < number; ++row) {
    if (row == odd) {
      for (int64_t i = 0; i < width; ++i)
        if (!std::isnan(shifted[row * width + i])) return false;
      continue;
    }
    const double most = *std::max_element(&rows[row * width], &rows[row * width] + width);
    for (int64_t i = 0; i < width; ++i) {
      const int64_t at = row * width + i;
      if (shifted[at] != rows[at] - most || gradient[at] != 3 / sums[row] - labels[at]) return false;
      if (parts[at] != labels[at] * (logs[row] - shifted[at])) return false;
      if (sparse[at] != 3 / sums[row] - (classes[row] == i)) return false;
    }
    if (losses[row] != logs[row] - shifted[row * width + classes[row]]) return false;
  }
  if (number == 0) return true;
  const int64_t wrong = below(random, number);
  std::vector<int64_t> wide(classes.begin(), classes.end());
  wide[wrong] = random() % 2 ? width : -1;
  const std::vector<double> before(sparse);
  return penstock_arrays_cross_classes(1, shifted.data(), sums.data(), logs.data(), wide.data(), 1, number,
                                       width, sparse.data(), losses.data()) == wrong &&
         std::equal(before.begin(), before.end(), sparse.begin(),
                    [](double a, double b) { return a == b || (a != a && b != b); });
}

}  // namespace

int main(int count, char **arguments) {
  const int rounds = count > 1 ? 10 * std::atoi(arguments[1]) : 100;
  Random random(1);
  bool (*const checks[])(Random &) = {check_unique, check_floats, check_combine, check_extremes, check_subtract,
                                      check_deal,   check_invert, check_top,    check_extreme, check_nth,
                                      check_among,  check_edits,   check_places,
                                      check_level,  check_runs,    check_pad,
                                      check_places_in_order, check_product, check_softmax, check_apart,  check_ctc,    check_ctc_best, check_enter,
                                      check_histogram, check_ranges, check_nearer, check_sets, check_counts, check_rule,
                                      check_rows,   check_positions, check_shares, check_spread,
                                      check_ragged_rows, check_chosen_rows, check_range_splits,
                                      check_filled_rows, check_all_inside, check_weighted, check_sobol, check_hits,
                                      check_outside, check_unsorted, check_choice, check_far_apart, check_mark,
                                      check_put, check_fill_empty_rows, check_part_filled, check_sums};
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < sizeof checks / sizeof *checks; ++i)
      if (!checks[i](random)) {
        std::fprintf(stderr, "round %d: check %d failed\n", round, static_cast<int>(i));
        return 1;
      }
  std::printf("work on arrays: %d rounds\n", rounds);
  return 0;
}
