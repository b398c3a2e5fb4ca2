// Checks of dense_parts.h and sums.h beside plain loops, for check_arrays.cc, whose generator they draw from.
#pragma once

namespace {

bool check_mark(Random &random) {
  const int64_t outer = below(random, 40), inner = below(random, 4), depth = below(random, 300);
  std::vector<int32_t> indices(outer * inner);
  for (int32_t &each : indices) each = static_cast<int32_t>(below(random, depth + 4)) - 2;
  std::vector<uint16_t> found(outer * depth * inner, 9), wanted(found.size(), 3);
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < inner; ++j) {
      const int64_t at = indices[i * inner + j];
      if (at >= 0 && at < depth) wanted[(i * depth + at) * inner + j] = 7;
    }
  const uint16_t on = 7, off = 3;
  penstock_arrays_mark(2, indices.data(), outer, depth, inner, &on, &off, 2, found.data());
  if (found != wanted) return false;
  const std::vector<int8_t> narrow{1, -1, 0};
  std::vector<uint64_t> wide(6, 5);
  const uint64_t one = 1, zero = 0;
  penstock_arrays_mark(4, narrow.data(), 3, 2, 1, &one, &zero, 8, wide.data());
  return wide == std::vector<uint64_t>{0, 1, 0, 0, 1, 0};
}

bool check_put(Random &random) {
  const int64_t sizes[] = {1 + below(random, 5), 1 + below(random, 5)}, number = below(random, 8);
  const bool rising = random() % 2, one = random() % 2;
  std::vector<int64_t> places;
  std::vector<uint32_t> values(number + 1), found(sizes[0] * sizes[1]), wanted(found);
  for (int64_t i = 0; i < number; ++i) {
    for (int64_t size : sizes) places.push_back(below(random, size + (random() % 20 == 0)));
    values[i] = static_cast<uint32_t>(i + 1);
  }
  int64_t wrong = -1, last = -1;
  for (int64_t i = 0; i < number && wrong < 0; ++i) {
    const int64_t at = places[2 * i] * sizes[1] + places[2 * i + 1];
    if (places[2 * i] >= sizes[0] || places[2 * i + 1] >= sizes[1] || (rising && at <= last))
      wrong = i;
    else
      wanted[last = at] = one ? 1 : values[i];
  }
  values[0] = 1;
  return penstock_arrays_put(places.data(), 1, number, 2, sizes, rising, values.data(), one ? 0 : 1, 4,
                             found.data()) == wrong &&
         found == wanted;
}

bool check_fill_empty_rows(Random &random) {
  const int64_t rows = below(random, 12), number = rows ? below(random, 20) : 0, rank = 1 + below(random, 3);
  std::vector<int64_t> places(number * rank), moved(number), filled((number + rows) * rank, -1);
  std::vector<uint8_t> values(number), result(number + rows), wanted_values;
  std::unique_ptr<bool[]> empty(new bool[static_cast<size_t>(rows) + 1]);
  bool inside = true;
  for (int64_t i = 0; i < number; ++i) {
    for (int64_t axis = 0; axis < rank; ++axis) places[i * rank + axis] = below(random, 5);
    places[i * rank] = below(random, rows + (random() % 40 == 0));
    inside &= places[i * rank] < rows;
    values[i] = static_cast<uint8_t>(i);
  }
  const uint8_t rest = 99;
  const int64_t total =
      penstock_arrays_fill_empty_rows(places.data(), number, rank, rows, values.data(), &rest, 1,
                                      moved.data(), empty.get(), filled.data(), result.data());
  if (!inside) return total == -1;
  std::vector<int64_t> wanted;
  for (int64_t row = 0; row < rows; ++row) {
    bool none = true;
    for (int64_t i = 0; i < number; ++i) {
      if (places[i * rank] != row) continue;
      none = false;
      if (moved[i] != static_cast<int64_t>(wanted_values.size())) return false;
      wanted.insert(wanted.end(), &places[i * rank], &places[i * rank] + rank);
      wanted_values.push_back(values[i]);
    }
    if (none != empty[row]) return false;
    if (!none) continue;
    wanted.push_back(row);
    wanted.insert(wanted.end(), rank - 1, 0);
    wanted_values.push_back(rest);
  }
  filled.resize(wanted.size());
  result.resize(wanted_values.size());
  return total == static_cast<int64_t>(wanted_values.size()) && filled == wanted && result == wanted_values;
}

bool check_part_filled(Random &random) {
  const int64_t total = 1 + below(random, 30), number = below(random, 20);
  std::vector<int64_t> places(number);
  std::vector<double> grads(total), taken(number), left(total);
  for (double &each : grads) each = static_cast<double>(below(random, 100));
  left = grads;
  int64_t wrong = -1;
  for (int64_t i = 0; i < number; ++i) {
    places[i] = below(random, total + (random() % 30 == 0));
    if (wrong < 0 && places[i] >= total) wrong = i;
    if (places[i] < total) left[places[i]] = 0;
  }
  double rest = 0, wanted = 0;
  for (const double each : left) wanted += each;
  if (penstock_arrays_part_filled(1, places.data(), number, grads.data(), total, taken.data(), &rest) != wrong)
    return false;
  for (int64_t i = 0; i < number && wrong < 0; ++i)
    if (taken[i] != grads[places[i]]) return false;
  return wrong >= 0 || rest == wanted;
}

bool check_sums(Random &random) {
  const int64_t count = below(random, 1000);
  std::vector<double> numbers(count);
  double wanted = 0, found = -1;
  for (double &each : numbers) each = static_cast<double>(below(random, 100));
  for (const double each : numbers) wanted += each * each;  // which is exact
  penstock_arrays_square_sum(1, numbers.data(), count, &found);
  const int64_t long_count = below(random, 40000);
  std::vector<float> line(long_count);
  const float ends[] = {2.5f, 0.5f};
  penstock_arrays_line(0, ends, long_count, line.data());
  for (int64_t i = 0; i < long_count; ++i)
    if (line[i] != static_cast<float>(i) * 0.5f + 2.5f) return false;
  return found == wanted;
}

}  // namespace
