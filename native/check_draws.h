// Checks of draws.h beside plain loops, for check_arrays.cc, whose generator they draw from.
#pragma once

namespace {

bool check_histogram(Random &random) {
  // At times many for each thread.
  const int64_t number = random() % 60 ? below(random, 700) : 70000 + below(random, 9000);
  const int64_t bins = 1 + below(random, 9);
  std::vector<float> values(number);
  for (float &each : values)
    each = random() % 50   ? static_cast<float>(below(random, 40)) - 10
           : random() % 2 ? INFINITY
                          : -INFINITY;
  const double limits[] = {-2.5, 17};
  std::vector<int64_t> counts(bins), wanted(bins);
  const auto count = [&] {
    return penstock_arrays_histogram(0, values.data(), number, limits, bins, 1 + number % 3, counts.data());
  };
  if (count() != -1) return false;
  for (const float value : values) {
    const double place = (value - limits[0]) / (limits[1] - limits[0]) * static_cast<double>(bins);
    ++wanted[place < 0 ? 0 : place > static_cast<double>(bins - 1) ? bins - 1 : static_cast<int64_t>(place)];
  }
  if (counts != wanted) return false;
  if (!number) return true;
  values[below(random, number)] = std::nanf("");
  return count() >= 0;
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

// The nearest centres beside a stable sort of all; at times many points, or a NaN, which is the farthest.
bool check_nearest(Random &random) {
  const int64_t number = random() % 40 ? below(random, 30) : 2100, width = below(random, 6);
  const int64_t count = below(random, 40), k = below(random, count + 1);
  std::vector<float> points(number * width + 1), centers(count * width + 1);
  for (float &each : points) each = random() % 50 ? static_cast<float>(below(random, 7)) : std::nanf("");
  for (float &each : centers) each = static_cast<float>(below(random, 7));
  std::vector<int64_t> places(number * k + 1), order(count);
  std::vector<float> distances(number * k + 1), away(count);
  if (penstock_arrays_nearest(points.data(), number, width, centers.data(), count, k, 1 + number % 3, places.data(),
                              distances.data()) != -1)
    return false;
  for (int64_t i = 0; i < number; ++i) {
    for (int64_t c = 0; c < count; ++c) {
      away[c] = 0;
      order[c] = c;
      for (int64_t j = 0; j < width; ++j) {
        const float apart = points[i * width + j] - centers[c * width + j];
        away[c] += apart * apart;
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return away[a] < away[b] || (away[b] != away[b] && away[a] == away[a]);
    });
    for (int64_t j = 0; j < k; ++j) {
      const float wanted = away[order[j]], found = distances[i * k + j];
      if (places[i * k + j] != order[j] || !(found == wanted || (found != found && wanted != wanted))) return false;
    }
  }
  return true;
}

// Exponents between the logarithms of whole numbers, whose powers surely lie between them.
bool check_by_powers(Random &random) {
  const int64_t number = below(random, 50), size = 1 + below(random, 40);
  const double scale = 0.25 * static_cast<double>(1 + below(random, 8));
  std::vector<double> exponents(number);
  std::vector<int64_t> wanted(number), found(number);
  for (int64_t i = 0; i < number; ++i) {
    const int64_t whole = 1 + below(random, 100000);
    exponents[i] = std::log(static_cast<double>(whole) + 0.5) / scale;
    wanted[i] = (whole - 1) % size;
  }
  penstock_arrays_by_powers(exponents.data(), number, &scale, size, found.data());
  return found == wanted;
}

}  // namespace
