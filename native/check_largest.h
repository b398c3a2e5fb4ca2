// Checks of largest.h beside plain loops, for check_arrays.cc, whose generator they draw from.
#pragma once

namespace {

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

}  // namespace
