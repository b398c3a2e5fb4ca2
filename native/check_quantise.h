// Checks of quantise.h beside plain loops, for check_arrays.cc, whose generator they draw from.
#pragma once

namespace {

// Eighths, so that every step is exact and halves are there; at times enough of them for several threads.
bool check_quantise(Random &random) {
  const int64_t number = random() % 60 ? below(random, 700) : 70000 + below(random, 9000);
  const int64_t rounding = below(random, 3), size = 1 + below(random, 2), threads = 1 + below(random, 3);
  const float start = 0.25f * static_cast<float>(below(random, 9)), scale = random() % 2 ? 2.0f : 0.5f;
  const float first = static_cast<float>(below(random, 5)), most = size == 1 ? 60.0f : 300.0f;
  const float levels[] = {-40, 50, start, scale, 0.25f, first, 3, 2, most, 7};
  std::vector<float> x(number);
  for (float &each : x)
    each = random() % 50   ? static_cast<float>(below(random, 1200) - 600) / 8
           : random() % 2 ? std::nanf("")
           : random() % 2 ? INFINITY
                          : -INFINITY;
  std::vector<uint8_t> found(number * size);
  const auto quantise = [&](int64_t way, int64_t bytes) {
    return penstock_arrays_quantise(x.data(), number, levels, way, bytes, threads, found.data());
  };
  if (quantise(3, size) != 0 || quantise(-1, size) != 0 || quantise(rounding, 4) != 0) return false;
  if (quantise(rounding, size) != -1) return false;
  for (int64_t i = 0; i < number; ++i) {
    const float step = (std::min(std::max(x[i], levels[0]), levels[1]) - levels[2]) * levels[3] - levels[4];
    const float whole = rounding == 0   ? std::round(step)
                        : rounding == 1 ? std::rint(step)
                                        : std::floor(step + 0.5f);
    const float held = std::min(std::max(whole - levels[5] + levels[6], levels[7]), levels[8]);
    const int64_t wanted = static_cast<int64_t>(std::isnan(x[i]) ? levels[9] : held);
    const int64_t there = size == 1 ? found[i] : found[2 * i] + 256 * found[2 * i + 1];
    if (there != wanted) return false;
  }
  return true;
}

bool check_dequantise(Random &random) {
  const int64_t number = random() % 60 ? below(random, 700) : 70000 + below(random, 9000);
  const int64_t size = 1 + below(random, 2), has_sign = below(random, 2), threads = 1 + below(random, 3);
  const float line[] = {static_cast<float>(below(random, 200)), 0.5f, random() % 2 ? 3.0f : -0.0f};
  std::vector<uint16_t> words(number);
  std::vector<uint8_t> bytes(number);
  for (uint16_t &each : words) each = static_cast<uint16_t>(random());
  for (int64_t i = 0; i < number; ++i) bytes[i] = static_cast<uint8_t>(words[i]);
  std::vector<float> found(number);
  const auto floats = [&](int64_t width) {
    const void *given = size == 1 ? static_cast<const void *>(bytes.data()) : words.data();
    return penstock_arrays_dequantise(given, number, width, has_sign, line, threads, found.data());
  };
  if (floats(4) != 0 || floats(size) != -1) return false;
  for (int64_t i = 0; i < number; ++i) {
    const int64_t bits = size == 1 ? bytes[i] : words[i], half = size == 1 ? 128 : 32768;
    const int64_t whole = has_sign && bits >= half ? bits - 2 * half : bits;
    if (found[i] != (static_cast<float>(whole) + line[0]) * line[1] + line[2]) return false;
  }
  return true;
}

bool check_quantised_product(Random &random) {
  const int64_t count = random() % 40 ? below(random, 100) : 70000;  // at times in several shares
  std::vector<uint8_t> x(count + 1), y(count + 1);
  for (uint8_t &each : x) each = static_cast<uint8_t>(random());
  for (uint8_t &each : y) each = static_cast<uint8_t>(random());
  const int32_t zeros[] = {static_cast<int32_t>(random()), static_cast<int32_t>(below(random, 256))};
  std::vector<int32_t> out(count + 1);
  penstock_arrays_quantised_product(x.data(), y.data(), count, zeros, 2, out.data());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t wanted = (int64_t{x[i]} - zeros[0]) * (int64_t{y[i]} - zeros[1]);
    if (out[i] != static_cast<int32_t>(wanted)) return false;
  }
  return true;
}

}  // namespace
