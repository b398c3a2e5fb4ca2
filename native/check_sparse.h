// Checks of sparse_places.h and sets.h beside plain loops, for check_arrays.cc, whose generator they draw
// from.
#pragma once

namespace {

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

// Values counted by rows; the first that is below 0, or in a row that there is not.
bool check_count_places(Random &random) {
  const int64_t rank = 1 + below(random, 2), rows = rank > 1 ? 1 + below(random, 5) : 1, size = below(random, 6);
  const int64_t number = below(random, 60), binary = below(random, 2);
  std::vector<int64_t> places(number * rank + 1), result(rows * size + 1), wanted(result);
  std::vector<int32_t> values(number + 1);
  std::vector<int64_t> weights(number + 1);
  const bool weighs = random() % 2;
  for (int64_t i = 0; i < number; ++i) {
    values[i] = static_cast<int32_t>(below(random, size + 2));
    weights[i] = below(random, 9) - 4;
    for (int64_t axis = 0; axis < rank; ++axis) places[i * rank + axis] = below(random, rows);
    if (values[i] >= size) continue;
    int64_t &to = wanted[(rank > 1 ? places[i * rank] : 0) * size + values[i]];
    to = binary ? 1 : to + (weighs ? weights[i] : 1);
  }
  const auto count = [&] {
    return penstock_arrays_count_places(3, places.data(), rank, rows, values.data(), 0, number, size,
                                        weighs ? weights.data() : nullptr, binary, result.data());
  };
  if (count() != -1 || result != wanted) return false;
  if (number == 0) return true;
  const int64_t wrong = below(random, number);
  if (rank > 1 && random() % 2)
    places[wrong * rank] = random() % 2 ? -1 : rows;
  else
    values[wrong] = -1;
  return count() == wrong;
}

bool check_tridiagonal_product(Random &random) {
  const int64_t count = below(random, 4), n = 1 + below(random, 6);
  const int64_t k = random() % 40 ? below(random, 7) : 9000;  // at times in several shares
  std::vector<double> diagonals[3], dense(count * n * k + 1), out(dense), wanted(dense);
  for (auto &each : diagonals) {
    each.resize(count * n + 1);
    for (double &value : each) value = static_cast<double>(below(random, 9)) - 4;
  }
  for (double &each : dense) each = static_cast<double>(below(random, 9)) - 4;
  for (int64_t row = 0; row < count * n; ++row)
    for (int64_t j = 0; j < k; ++j) {
      double &to = wanted[row * k + j] = diagonals[1][row] * dense[row * k + j];
      if (row % n < n - 1) to += diagonals[0][row] * dense[(row + 1) * k + j];
      if (row % n > 0) to += diagonals[2][row] * dense[(row - 1) * k + j];
    }
  out.back() = wanted.back();
  penstock_arrays_tridiagonal_product(1, diagonals[0].data(), diagonals[1].data(), diagonals[2].data(), dense.data(),
                                      count, n, k, 1 + below(random, 3), out.data());
  return out == wanted;
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

// What is given for places, of lists that are at times in no order or say a place twice.
bool check_elements_at(Random &random) {
  const int64_t rank = 1 + below(random, 4);
  std::vector<std::vector<int64_t>> rows[2];
  std::vector<int64_t> flat[2];
  bool rises = true;
  for (int side = 0; side < 2; ++side) {
    for (int64_t i = below(random, 30); i > 0; --i) {
      std::vector<int64_t> row;
      for (int64_t axis = 0; axis < rank; ++axis) row.push_back(below(random, 5) - 2);
      rows[side].push_back(row);
    }
    if (random() % 8) std::sort(rows[side].begin(), rows[side].end());
    if (random() % 8) rows[side].erase(std::unique(rows[side].begin(), rows[side].end()), rows[side].end());
    const auto end = rows[side].end();
    rises &= std::adjacent_find(rows[side].begin(), end, std::greater_equal<>()) == end;
    for (const auto &row : rows[side]) flat[side].insert(flat[side].end(), row.begin(), row.end());
  }
  const int64_t a = static_cast<int64_t>(rows[0].size()), b = static_cast<int64_t>(rows[1].size());
  std::vector<uint32_t> given(b), found(a), wanted(a);
  for (uint32_t &each : given) each = static_cast<uint32_t>(1 + below(random, 1000));
  for (int64_t i = 0; i < a; ++i)
    for (int64_t j = 0; j < b; ++j)
      if (rows[0][i] == rows[1][j]) wanted[i] = given[j];
  const int64_t done = penstock_arrays_elements_at(flat[0].data(), a, flat[1].data(), b, rank, given.data(), 4,
                                                   found.data());
  return rises ? done == -1 && found == wanted : done == -2;
}

// Elements for some of a list's places, moved, and at times for one that is not there.
bool check_in_turn(Random &random) {
  const int64_t rank = 1 + below(random, 4), number = below(random, 30);
  std::vector<int64_t> places(number * rank), start(rank), taken;
  for (int64_t &each : places) each = below(random, 4);
  for (int64_t &each : start) each = below(random, 5) - 2;
  std::vector<uint16_t> given, wanted(number), found(number);
  for (int64_t i = 0; i < number; ++i) {
    bool again = false;  // a place that is there twice is taken where it is first
    for (int64_t j = 0; j < i; ++j)
      again |= std::equal(&places[i * rank], &places[i * rank] + rank, &places[j * rank]);
    if (again || random() % 2) continue;
    for (int64_t axis = 0; axis < rank; ++axis) taken.push_back(places[i * rank + axis] - start[axis]);
    given.push_back(static_cast<uint16_t>(1 + below(random, 1000)));
    wanted[i] = given.back();
  }
  const int64_t count = static_cast<int64_t>(given.size());
  const bool wrong = count > 0 && random() % 3 == 0;
  if (wrong) taken[taken.size() - 1] = 99;
  const int64_t used = penstock_arrays_in_turn(places.data(), number, taken.data(), count, rank, start.data(),
                                               given.data(), 2, found.data());
  return used == count - wrong && (wrong || found == wanted);
}

// Places in a box that may begin before them and be as large as a number can say.
bool check_in_box(Random &random) {
  const int64_t rank = 1 + below(random, 4), number = below(random, 40);
  std::vector<int64_t> places(number * rank), start(rank), size(rank), wanted, wanted_numbers;
  for (int64_t &each : places) each = below(random, 9);
  for (int64_t &each : start) each = below(random, 5) - 2;
  for (int64_t &each : size) each = random() % 4 ? below(random, 12) : std::numeric_limits<int64_t>::max();
  for (int64_t i = 0; i < number; ++i) {
    bool inside = true;
    for (int64_t axis = 0; axis < rank; ++axis) {
      const int64_t at = places[i * rank + axis] - start[axis];
      inside = inside && at >= 0 && at < size[axis];
    }
    if (!inside) continue;
    wanted_numbers.push_back(i);
    for (int64_t axis = 0; axis < rank; ++axis) wanted.push_back(places[i * rank + axis] - start[axis]);
  }
  std::vector<int64_t> moved((number + 1) * rank), numbers(number + 1);  // no more room than is asked for
  const int64_t found = penstock_arrays_in_box(places.data(), number, rank, start.data(), size.data(),
                                               moved.data(), numbers.data());
  if (found != static_cast<int64_t>(wanted_numbers.size())) return false;
  return std::equal(wanted.begin(), wanted.end(), moved.begin()) &&
         std::equal(wanted_numbers.begin(), wanted_numbers.end(), numbers.begin());
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

}  // namespace
