// Checks of places.h and ragged.h beside plain loops. Part of check_arrays.cc.
#pragma once

#include "places.h"

namespace {

// Numbers below `count`; one of them is outside where `wrong`.
std::vector<int64_t> some(Random &random, int64_t number, int64_t count, bool wrong) {
  std::vector<int64_t> found(static_cast<size_t>(number));
  for (int64_t &each : found) each = below(random, count);
  if (wrong) found[below(random, number)] = random() % 2 ? -1 : count;
  return found;
}

bool check_positions(Random &random) {
  const int64_t number = 1 + below(random, 50), depth = 1 + below(random, 3);
  std::vector<int64_t> sizes(depth), positions(number * depth), rows(number);
  for (int64_t &each : sizes) each = 1 + below(random, 5);
  for (int64_t i = 0; i < number * depth; ++i) positions[i] = below(random, sizes[i % depth]);
  const std::vector<int32_t> narrow(positions.begin(), positions.end());
  if (penstock_arrays_flatten(narrow.data(), 0, number, depth, sizes.data(), rows.data()) >= 0)
    return false;
  for (int64_t i = 0; i < number; ++i) {
    int64_t row = 0;
    for (int64_t axis = 0; axis < depth; ++axis) row = row * sizes[axis] + positions[i * depth + axis];
    if (row != rows[i]) return false;
  }
  const int64_t place = below(random, number * depth);
  positions[place] = random() % 2 ? -1 : sizes[place % depth];
  return penstock_arrays_flatten(positions.data(), 1, number, depth, sizes.data(), rows.data()) ==
         place / depth;
}

// Positions of which some are outside: the first of these, and rows with zeros for them.
template <typename Index>
bool check_outside_of(Random &random) {
  const int64_t number = below(random, 60), depth = 1 + below(random, 3), width = 1 + below(random, 3);
  std::vector<int64_t> sizes(depth);
  int64_t all = 1;
  for (int64_t &each : sizes) all *= each = below(random, 6) ? 1 + below(random, 5) : 0;
  std::vector<Index> positions(number * depth);
  for (Index &each : positions) each = static_cast<Index>(below(random, 5));
  const Index odd[] = {-1, std::numeric_limits<Index>::min(), std::numeric_limits<Index>::max(), 5};
  for (int64_t i = below(random, 3); i > 0 && number > 0; --i)
    positions[below(random, number * depth)] = odd[below(random, 4)];
  std::vector<float> from(all * width), out(number * width, -1), wanted(number * width);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i + 1);
  int64_t first = -1, above = -1;
  for (int64_t i = number - 1; i >= 0; --i) {
    int64_t row = 0;
    bool inside = true, low = true;
    for (int64_t axis = 0; axis < depth; ++axis) {
      const int64_t place = positions[i * depth + axis];
      low &= place < sizes[axis];
      inside &= place >= 0 && place < sizes[axis];
      row = inside ? row * sizes[axis] + place : 0;
    }
    if (!inside) first = i;
    if (!low) above = i;
    for (int64_t j = 0; inside && j < width; ++j) wanted[i * width + j] = from[row * width + j];
  }
  const Index *given = positions.data();
  return penstock::first_outside(given, number, depth, sizes.data(), false) == first &&
         penstock::first_outside(given, number, depth, sizes.data(), true) == above &&
         penstock::take_rows(from.data(), given, number, depth, sizes.data(), width, out.data()) == first &&
         out == wanted;
}

// Rising positions at which values are put, one of them outside or again what stands before it.
bool check_put_at(Random &random) {
  const int64_t depth = 1 + below(random, 3), step = below(random, 2);
  std::vector<int64_t> sizes(depth);
  int64_t count = 1;
  for (int64_t &size : sizes) count *= size = 1 + below(random, 5);
  const int64_t given = below(random, count + 1);
  std::vector<int32_t> positions;
  for (int64_t i = 0; i < given; ++i)
    for (int64_t axis = 0, left = count; axis < depth; ++axis)
      positions.push_back(static_cast<int32_t>(i / (left /= sizes[axis]) % sizes[axis]));
  std::vector<uint16_t> values(given + 1), out(count), wanted(count);
  for (uint16_t &each : values) each = static_cast<uint16_t>(random());
  for (int64_t i = 0; i < given; ++i) wanted[i] = values[i * step];
  const auto put = [&](int64_t first, bool rising) {
    return penstock::put_at(positions.data(), first, given, depth, sizes.data(), rising, values.data(), step,
                            out.data());
  };
  penstock::Misplaced found = put(0, random() % 2 != 0);
  if (found.outside != -1 || found.unsorted != -1 || out != wanted) return false;
  if (given < 2) return true;
  const int64_t place = 1 + below(random, given - 1), first = below(random, 2);
  std::copy_n(&positions[(place - 1) * depth], depth, &positions[place * depth]);
  found = put(first, true);
  if (found.outside != -1 || found.unsorted != (place < first ? -1 : place)) return false;
  if (put(0, false).unsorted != -1) return false;
  positions[place * depth] = random() % 2 ? -1 : static_cast<int32_t>(sizes[0]);
  return put(0, true).outside == place && put(0, false).outside == place;
}

bool check_outside(Random &random) {
  return check_outside_of<int32_t>(random) && check_outside_of<int64_t>(random);
}

bool check_choice(Random &random) {
  const int64_t count = below(random, 100);
  std::vector<uint8_t> mask(count);
  std::vector<double> x(count), y(count), out(count);
  for (int64_t i = 0; i < count; ++i) {
    mask[i] = random() % 2;
    x[i] = static_cast<double>(below(random, 9)) - 4;
    y[i] = i % 7 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(i);
  }
  const auto *chosen = reinterpret_cast<const bool *>(mask.data());
  if (penstock_arrays_choose(chosen, x.data(), y.data(), 8, count, out.data()) != -1) return false;
  for (int64_t i = 0; i < count; ++i)
    if (mask[i] ? out[i] != x[i] : std::memcmp(&out[i], &y[i], 8) != 0) return false;
  const double slope = 0.25;
  if (penstock_arrays_pass(12, 1, x.data(), nullptr, &slope, count, out.data()) != -1) return false;
  for (int64_t i = 0; i < count; ++i)
    if (out[i] != (x[i] > 0 ? x[i] : x[i] * slope)) return false;
  return penstock_arrays_pass(18, 1, x.data(), nullptr, &slope, count, out.data()) == 0 &&
         penstock_arrays_choose(chosen, x.data(), y.data(), 3, count, out.data()) == 0;
}

bool check_shares(Random &random) {
  const int64_t number = 1 + below(random, 40), rows = 1 + below(random, 60);
  std::vector<int64_t> numbers = some(random, number, rows, false), own(number), found(number), sizes(rows);
  const int64_t size =
      penstock_arrays_different(numbers.data(), 1, number, rows, own.data(), found.data());
  for (int64_t i = 0; i < number; ++i)
    if (own[i] < 0 || own[i] >= size || found[own[i]] != numbers[i]) return false;
  for (int64_t k = 1; k < size; ++k)
    if (found[k] <= found[k - 1]) return false;
  if (penstock_arrays_often(numbers.data(), 1, number, rows, sizes.data()) >= 0) return false;
  for (int64_t row = 0; row < rows; ++row)
    if (sizes[row] != std::count(numbers.begin(), numbers.end(), row)) return false;
  const std::vector<float> data(rows * 2, 3.0f);
  std::vector<float> out(rows * 2);
  penstock_arrays_share(0, data.data(), rows, 2, sizes.data(), 1, out.data());
  for (int64_t i = 0; i < rows * 2; ++i) {
    const float most = static_cast<float>(std::max<int64_t>(sizes[i / 2], 1));
    if (out[i] != 3.0f * (1 / std::sqrt(most))) return false;
  }
  numbers = some(random, number, rows, true);
  return penstock_arrays_different(numbers.data(), 1, number, rows, own.data(), found.data()) == -1 &&
         penstock_arrays_often(numbers.data(), 1, number, rows, sizes.data()) >= 0;
}

bool check_spread(Random &random) {
  const int64_t number = 1 + below(random, 40), count = 1 + below(random, 10), size = 1 + below(random, 10);
  const int64_t root = below(random, 2), width = 1 + below(random, 3);
  const std::vector<int64_t> ids = some(random, number, count, false);
  std::vector<int64_t> indices = some(random, number, size, false), sizes(count);
  std::vector<double> rows(count * width), shares(count * width), result(size * width), wanted(size * width);
  for (double &each : rows) each = static_cast<double>(below(random, 100));
  penstock_arrays_often(ids.data(), 1, number, count, sizes.data());
  penstock_arrays_share(1, rows.data(), count, width, sizes.data(), root, shares.data());
  for (int64_t i = 0; i < number * width; ++i)
    wanted[indices[i / width] * width + i % width] += shares[ids[i / width] * width + i % width];
  const auto run = [&] {
    return penstock_arrays_spread(1, rows.data(), count, width, indices.data(), 1, ids.data(), 1, number,
                                  root, size, result.data());
  };
  if (run() >= 0 || result != wanted) return false;
  indices = some(random, number, size, true);
  return run() >= 0 && result == wanted;
}

// Splits of some rows.
std::vector<int32_t> some_splits(Random &random, int64_t rows) {
  std::vector<int32_t> splits(static_cast<size_t>(rows) + 1);
  for (int64_t row = 0; row < rows; ++row)
    splits[row + 1] = splits[row] + static_cast<int32_t>(below(random, 5));
  return splits;
}

bool check_ragged_rows(Random &random) {
  const int64_t rows = 1 + below(random, 20), size = 1 + below(random, 6);
  const std::vector<int32_t> splits = some_splits(random, rows);
  const std::vector<int64_t> wide(splits.begin(), splits.end());
  const int64_t total = splits[rows];
  std::vector<int64_t> places(2 * total);
  const int64_t longest = penstock_arrays_items_of_rows(splits.data(), 0, rows, total, 2, places.data(),
                                                        places.data() + (total > 0));
  std::vector<int64_t> values(total);
  for (int64_t &each : values) each = below(random, size + 2);
  std::vector<double> weights(total), sums(rows * size), wanted(rows * size);
  for (double &each : weights) each = static_cast<double>(below(random, 9));
  for (int64_t row = 0, at = 0; row < rows; ++row)
    for (int64_t j = 0; j < splits[row + 1] - splits[row]; ++j, ++at) {
      if (places[2 * at] != row || places[2 * at + 1] != j || j >= longest) return false;
      if (values[at] < size) wanted[row * size + values[at]] += weights[at];
    }
  const auto count = [&] {
    return penstock_arrays_count_rows(1, wide.data(), rows, values.data(), 1, total, size,
                                      weights.data(), 0, sums.data());
  };
  if (count() >= 0 || sums != wanted) return false;
  if (penstock_arrays_are_splits(splits.data(), 0, rows, total) >= 0) return false;
  if (penstock_arrays_are_splits(splits.data(), 0, rows, total + 1) < 0) return false;
  if (!total) return true;
  values[below(random, total)] = -1;
  return count() == 0;
}

bool check_chosen_rows(Random &random) {
  const int64_t rows = 1 + below(random, 20), number = 1 + below(random, 20);
  const std::vector<int32_t> splits = some_splits(random, rows);
  std::vector<int64_t> ids = some(random, number, rows, false);
  std::vector<int32_t> ends(number + 1);
  const auto choose = [&](int64_t *places) {
    return penstock_arrays_chosen_rows(splits.data(), 0, rows, ids.data(), 1, number, ends.data(), places);
  };
  const int64_t total = choose(nullptr);
  if (total != ends[number]) return false;
  std::vector<int64_t> places(total);
  choose(places.data());
  for (int64_t i = 0; i < number; ++i)
    for (int64_t j = 0; j < ends[i + 1] - ends[i]; ++j)
      if (places[ends[i] + j] != splits[ids[i]] + j) return false;
  ids = some(random, number, rows, true);
  return choose(nullptr) == -1;
}

bool check_range_splits(Random &random) {
  const int64_t rows = 1 + below(random, 20), steps[] = {1, 1, 0};
  std::vector<int32_t> starts(rows), limits(rows), deltas(1);
  for (int32_t &each : starts) each = static_cast<int32_t>(below(random, 20)) - 10;
  for (int32_t &each : limits) each = static_cast<int32_t>(below(random, 20)) - 10;
  deltas[0] = (random() % 2 ? 1 : -1) * static_cast<int32_t>(1 + below(random, 4));
  std::vector<int64_t> splits(rows + 1);
  const auto split = [&](int64_t most) {
    return penstock_arrays_range_splits(starts.data(), limits.data(), deltas.data(), 0, steps, rows, most,
                                        splits.data());
  };
  const int64_t total = split(1000);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t length = 0;
    for (int64_t at = starts[i]; deltas[0] > 0 ? at < limits[i] : at > limits[i]; at += deltas[0]) ++length;
    if (splits[i + 1] - splits[i] != length) return false;
  }
  if (total != splits[rows] || (total && split(total - 1) != -1)) return false;
  deltas[0] = 0;
  if (split(1000) != -1) return false;
  const int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
  const int64_t ends[][3] = {{low, high, 1}, {high, low, -1}, {0, 1, low}, {0, low, -1}};
  for (const auto &each : ends)
    if (penstock_arrays_range_splits(each, each + 1, each + 2, 1, steps, 1, high, splits.data()) != -1)
      return false;
  return true;
}

bool check_filled_rows(Random &random) {
  const int64_t rows = 1 + below(random, 20), number = 1 + below(random, 30);
  std::vector<int64_t> ids = some(random, number, rows, false), places(number), filled(number + rows);
  bool empty[20];
  const int64_t total =
      penstock_arrays_fill_rows(ids.data(), number, rows, places.data(), empty, filled.data());
  std::vector<int64_t> wanted = ids, last(rows, -1);
  for (int64_t row = 0; row < rows; ++row) {
    const bool none = std::find(ids.begin(), ids.end(), row) == ids.end();
    if (none != empty[row]) return false;
    if (none) wanted.push_back(row);
  }
  std::sort(wanted.begin(), wanted.end());
  filled.resize(static_cast<size_t>(total));
  if (filled != wanted) return false;
  for (int64_t i = 0; i < number; ++i) {
    if (filled[places[i]] != ids[i] || places[i] <= last[ids[i]]) return false;
    last[ids[i]] = places[i];
  }
  ids = some(random, number, rows, true);
  return penstock_arrays_fill_rows(ids.data(), number, rows, places.data(), empty, filled.data()) == -1;
}

// Rows that are divided or replaced; nothing is written where an id is outside.
bool check_all_inside(Random &random) {
  const int64_t number = 1 + below(random, 40), count = 1 + below(random, 20), width = 1 + below(random, 3);
  const int64_t operation = 5 + below(random, 2);
  std::vector<float> rows(number * width), result(count * width, 64.0f);
  for (float &each : rows) each = static_cast<float>(1 << below(random, 3));
  std::vector<float> wanted = result;
  std::vector<int64_t> ids = some(random, number, count, false);
  for (int64_t i = 0; i < number * width; ++i) {
    float &to = wanted[ids[i / width] * width + i % width];
    to = operation == 5 ? to / rows[i] : rows[i];
  }
  const auto combine = [&] {
    return penstock_arrays_combine(operation, 0, rows.data(), width, nullptr, 0, number, ids.data(), 1,
                                   number, 4, count, result.data(), nullptr);
  };
  if (combine() >= 0 || result != wanted) return false;
  ids = some(random, number, count, true);
  return combine() >= 0 && result == wanted;
}

bool check_weighted(Random &random) {
  constexpr int64_t size = 4;
  const int64_t parts = 1 + below(random, below(random, 2) ? 6 : 200), number = 30;
  std::vector<int64_t> weights(parts * size), blocks(parts), ends(parts * size), classes(number);
  for (int64_t &each : weights) each = below(random, 3);
  weights[below(random, parts * size)] += 1;
  int64_t total = 0;
  for (int64_t k = 0; k < parts * size; ++k) {
    blocks[k / size] += weights[k];
    ends[k] = total += weights[k];
  }
  const std::vector<int64_t> values = some(random, number, total, false);
  penstock_arrays_weighted(weights.data(), blocks.data(), parts, size, values.data(), number,
                           classes.data());
  for (int64_t i = 0; i < number; ++i)
    if (classes[i] != std::upper_bound(ends.begin(), ends.end(), values[i]) - ends.begin()) return false;
  return true;
}

// Points are on a line, each at a place of its own: those drawn are all different, and when all are drawn
// they are all there.
bool check_far_apart(Random &random) {
  const int64_t number = 1 + below(random, 9), count = 1 + below(random, number), tries = below(random, 3);
  std::vector<float> points(2 * number);
  for (int64_t i = 0; i < 2 * number; ++i) points[i] = static_cast<float>(i);
  std::vector<float> uniform((count - 1) * (1 + tries));
  for (float &each : uniform) each = static_cast<float>(below(random, 1000)) / 1000;
  const std::vector<int64_t> first = some(random, 1 + tries, number, false);
  std::vector<int64_t> places(count, -1), times(number);
  penstock_arrays_far_apart(points.data(), number, 2, count, tries, first.data(), uniform.data(),
                            places.data());
  for (const int64_t each : places)
    if (each < 0 || each >= number || times[each]++) return false;
  return true;
}

// The first dimension's numbers are those of van der Corput, their bits the other way round.
bool check_sobol(Random &random) {
  uint32_t directions[64];
  for (int bit = 0; bit < 32; ++bit) directions[bit] = directions[32 + bit] = 1u << (31 - bit);
  const int64_t first = below(random, 1 << 20), count = 1 + below(random, 40);
  std::vector<double> points(2 * count);
  penstock_arrays_sobol(directions, 2, first, count, 1, points.data());
  for (int64_t i = 0; i < count; ++i) {
    uint32_t gray = static_cast<uint32_t>((first + i) ^ (first + i) >> 1), turned = 0;
    for (int bit = 0; bit < 32; ++bit) turned |= (gray >> bit & 1) << (31 - bit);
    if (points[2 * i] != turned / 4294967296.0 || points[2 * i + 1] != points[2 * i]) return false;
  }
  return true;
}

bool check_hits(Random &random) {
  const int64_t count = below(random, 30), rows = 1 + below(random, 10), width = 1 + below(random, 3);
  const std::vector<int64_t> keys = some(random, count, 40, false), wanted = some(random, rows * width, 40, false);
  std::vector<int32_t> hit_rows(rows * width);
  std::vector<int64_t> places(rows * width);
  const int64_t found = penstock_arrays_hits(keys.data(), count, wanted.data(), rows, width,
                                             hit_rows.data(), places.data());
  int64_t next = 0;
  for (int64_t i = 0; i < rows * width; ++i) {
    int64_t place = count - 1;
    while (place >= 0 && keys[place] != wanted[i]) --place;
    if (place < 0) continue;
    if (next >= found || hit_rows[next] != i / width || places[next] != place) return false;
    ++next;
  }
  return next == found;
}

}  // namespace
