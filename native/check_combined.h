// Checks of combine.h and distinct.h beside plain loops, for check_arrays.cc, whose generator they draw from.
#pragma once

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

}  // namespace
