// Work on images beside plain loops: random sizes, windows that leave the image, NaN, wrong boxes.
//
//   check_images [rounds]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "images.h"

namespace {

using Random = std::mt19937_64;
using Floats = std::vector<float>;

int64_t below(Random &random, int64_t count) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
}

// The memory is exactly as large as the array, so that AddressSanitizer sees a read beyond it.
Floats drawn(Random &random, int64_t count) {
  Floats found(static_cast<size_t>(count));
  for (float &each : found) each = static_cast<float>(below(random, 17) - 8);
  return found;
}

bool near(float a, float b) { return std::fabs(a - b) <= 1e-3f * (1 + std::fabs(b)); }

bool check_crops(Random &random) {
  const int64_t sizes[] = {1 + below(random, 3), 1 + below(random, 6), 1 + below(random, 6),
                           1 + below(random, 4), 1 + below(random, 5), 1 + below(random, 5)};
  const int64_t count = 1 + below(random, 4), pixels = sizes[0] * sizes[1] * sizes[2] * sizes[3];
  const int64_t crop = sizes[4] * sizes[5] * sizes[3];
  const Floats image = drawn(random, pixels), grads = drawn(random, count * crop);
  Floats boxes = drawn(random, 4 * count), out(static_cast<size_t>(count * crop));
  for (float &each : boxes) each /= 6;
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  for (int32_t &each : numbers) each = static_cast<int32_t>(below(random, sizes[0]));
  const int64_t nearest = below(random, 2);
  const float outside = 100;
  if (penstock_images_crop(0, image.data(), sizes, boxes.data(), numbers.data(), count, nearest,
                           &outside, 2, out.data()) != -1)
    return false;
  Floats back(static_cast<size_t>(pixels)), edges(static_cast<size_t>(4 * count));
  if (penstock_images_crop_to_images(grads.data(), sizes, boxes.data(), numbers.data(), count, nearest,
                                     2, back.data()) != -1 ||
      penstock_images_crop_to_boxes(0, grads.data(), image.data(), sizes, boxes.data(), numbers.data(),
                                    count, 2, edges.data()) != -1)
    return false;
  double forward = 0, backward = 0;  // a crop is linear in the image: both products are the same
  for (size_t i = 0; i < out.size(); ++i) forward += out[i] == outside ? 0 : out[i] * grads[i];
  for (size_t i = 0; i < back.size(); ++i) backward += back[i] * image[i];
  numbers[0] = random() % 2 ? -1 : static_cast<int32_t>(sizes[0]);
  return near(static_cast<float>(forward), static_cast<float>(backward)) &&
         penstock_images_crop(0, image.data(), sizes, boxes.data(), numbers.data(), count, nearest,
                              &outside, 2, out.data()) == 0;
}

bool check_colors(Random &random) {
  const int64_t count = below(random, 400);
  Floats pixels(static_cast<size_t>(3 * count)), hsv(pixels.size()), back(pixels.size());
  for (float &each : pixels) each = static_cast<float>(below(random, 11)) / 10;
  const float one = 1;
  penstock_images_colors(0, 0, pixels.data(), count, nullptr, 2, hsv.data());
  penstock_images_colors(1, 0, hsv.data(), count, nullptr, 2, back.data());
  for (size_t i = 0; i < pixels.size(); ++i)
    if (!near(back[i], pixels[i])) return false;
  for (int64_t operation = 2; operation < 4; ++operation) {  // once around, and not at all
    penstock_images_colors(operation, 0, pixels.data(), count, &one, 3, back.data());
    for (size_t i = 0; i < pixels.size(); ++i)
      if (!near(back[i], pixels[i])) return false;
  }
  return true;
}

bool check_contrast(Random &random) {
  const int64_t number = below(random, 3), places = 1 + below(random, 700), depth = 1 + below(random, 5);
  const Floats x = drawn(random, number * places * depth);
  Floats out(x.size());
  const float none = 0;
  penstock_images_contrast(x.data(), number, places, depth, &none, 2, out.data());
  for (int64_t i = 0; i < number; ++i)
    for (int64_t k = 0; k < depth; ++k) {
      double total = 0;
      for (int64_t at = 0; at < places; ++at) total += x[(i * places + at) * depth + k];
      const float mean = static_cast<float>(total / static_cast<double>(places));
      if (!near(out[i * places * depth + k], mean)) return false;
    }
  return true;
}

bool check_dilations(Random &random) {
  int64_t s[14] = {below(random, 3), 1 + below(random, 6), 1 + below(random, 6), 1 + below(random, 20)};
  for (int k = 4; k < 10; ++k) s[k] = 1 + below(random, 3);
  for (int k = 10; k < 12; ++k) s[k] = below(random, 3);
  for (int k = 12; k < 14; ++k) s[k] = 1 + below(random, 5);
  const int64_t windows = s[0] * s[12] * s[13];
  const Floats x = drawn(random, s[0] * s[1] * s[2] * s[3]), w = drawn(random, s[4] * s[5] * s[3]);
  const Floats grads = drawn(random, windows * s[3]);
  Floats out(grads.size()), by_image(x.size()), by_filter(w.size());
  penstock_images_dilate(0, x.data(), w.data(), s, 2, out.data());
  penstock_images_dilate_back(0, 0, x.data(), w.data(), grads.data(), s, 2, by_image.data());
  penstock_images_dilate_back(0, 1, x.data(), w.data(), grads.data(), s, 2, by_filter.data());
  double given = 0, to_filter = 0;
  for (int64_t at = 0; at < windows * s[3]; ++at) {
    const int64_t k = at % s[3], column = at / s[3] % s[13], row = at / s[3] / s[13] % s[12];
    const int64_t image = at / s[3] / s[13] / s[12];
    float wanted = std::numeric_limits<float>::lowest();
    for (int64_t i = 0; i < s[4]; ++i)
      for (int64_t j = 0; j < s[5]; ++j) {
        const int64_t y = row * s[6] + i * s[8] - s[10], z = column * s[7] + j * s[9] - s[11];
        if (y < 0 || y >= s[1] || z < 0 || z >= s[2]) continue;
        wanted = std::max(wanted, x[((image * s[1] + y) * s[2] + z) * s[3] + k] +
                                      w[(i * s[5] + j) * s[3] + k]);
      }
    if (out[at] != wanted) return false;
    to_filter += grads[at];
    if (wanted != std::numeric_limits<float>::lowest()) given += grads[at];
  }
  for (const float each : by_image) given -= each;
  for (const float each : by_filter) to_filter -= each;
  return near(static_cast<float>(given), 0) && near(static_cast<float>(to_filter), 0);
}

std::vector<int64_t> edges_of(Random &random, int64_t count) {
  std::vector<int64_t> edges(static_cast<size_t>(count) + 1);
  for (int64_t i = 0; i < count; ++i) edges[i + 1] = edges[i] + 1 + below(random, 3);
  return edges;
}

bool check_pools(Random &random) {
  const int64_t high = 1 + below(random, 6), wide = 1 + below(random, 6), more = below(random, 2);
  auto rows = edges_of(random, high), columns = edges_of(random, wide);
  const int64_t s[] = {1 + below(random, 3), rows.back(), columns.back(), 1 + below(random, 12), high,
                       wide};
  const Floats x = drawn(random, s[0] * s[1] * s[2] * s[3]);
  const Floats grads = drawn(random, s[0] * high * wide * s[3]);
  Floats largest(grads.size()), means(grads.size()), back(x.size()), even(x.size());
  const int64_t *r = rows.data(), *c = columns.data();
  if (penstock_images_pool(0, 0, x.data(), s, r, c, more, 2, largest.data()) != -1 ||
      penstock_images_pool(0, 1, x.data(), s, r, c, more, 2, means.data()) != -1 ||
      penstock_images_pool_back(0, x.data(), largest.data(), grads.data(), s, r, c, more, 2,
                                back.data()) != -1 ||
      penstock_images_spread(0, grads.data(), s, r, c, more, 2, even.data()) != -1)
    return false;
  double given = 0, to_largest = 0, to_all = 0, by_mean = 0, by_place = 0;
  for (size_t i = 0; i < grads.size(); ++i) {
    given += grads[i];
    by_mean += grads[i] * means[i];
    if (means[i] > largest[i]) return false;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    to_largest += back[i];
    to_all += even[i];
    by_place += even[i] * x[i];
  }
  for (const double each : {to_largest - given, to_all - given, by_mean - by_place})
    if (std::fabs(each) > 1e-2) return false;
  largest[0] += 1;
  if (penstock_images_pool_back(0, x.data(), largest.data(), grads.data(), s, r, c, more, 2,
                                back.data()) < 0)
    return false;
  rows[high] += 1;  // beyond the image
  return penstock_images_pool(0, 0, x.data(), s, r, c, more, 2, largest.data()) == 0;
}

// Windows over five axes beside the same by plain loops over all places of all windows.
bool check_sliding(Random &random) {
  int64_t s[27];
  for (int k = 0; k < 5; ++k) {
    s[k] = 1 + below(random, k == 0 ? 2 : 4);
    s[10 + k] = k == 0 ? 1 : 1 + below(random, 3);
    s[15 + k] = k == 0 ? 1 : 1 + below(random, 3);
    s[20 + k] = k == 0 ? 0 : below(random, s[10 + k]);
    s[5 + k] = k == 0 ? s[0] : 1 + (s[k] + s[20 + k] - 1) / s[15 + k];
  }
  s[25] = 1 + below(random, 20);
  const int64_t elements = s[0] * s[1] * s[2] * s[3] * s[4] * s[25];
  const int64_t windows = s[5] * s[6] * s[7] * s[8] * s[9] * s[25];
  s[26] = random() % 2 ? elements : elements / s[0];
  const Floats x = drawn(random, elements), grads = drawn(random, windows);
  Floats largest(grads.size()), of(grads.size()), means(grads.size()), back(x.size()), even(x.size());
  std::vector<int64_t> places(grads.size());
  const float *y = largest.data();
  if (penstock_images_slide(0, 0, x.data(), nullptr, nullptr, s, 2, largest.data()) != -1 ||
      penstock_images_slide(1, 0, x.data(), y, grads.data(), s, 2, back.data()) != -1 ||
      penstock_images_slide(2, 0, x.data(), y, x.data(), s, 2, of.data()) != -1 ||
      penstock_images_slide(3, 0, x.data(), y, nullptr, s, 2, places.data()) != -1 ||
      penstock_images_slide(4, 0, x.data(), nullptr, nullptr, s, 2, means.data()) != -1 ||
      penstock_images_slide(5, 0, grads.data(), nullptr, nullptr, s, 2, even.data()) != -1 ||
      penstock_images_slide(4, 2, x.data(), nullptr, nullptr, s, 2, means.data()) != -2)
    return false;
  Floats again(x.size());
  if (penstock_images_to_places(0, grads.data(), places.data(), s[0], windows / s[0],
                                s[26] == elements ? 0 : s[26], elements, again.data()) != -1)
    return false;
  double given = 0, to_all = 0, by_mean = 0, by_place = 0;
  for (int64_t at = 0; at < windows; ++at) {
    const bool empty = y[at] == -std::numeric_limits<float>::infinity();
    if (!empty && (of[at] != y[at] || means[at] > y[at])) return false;
    if (empty && (of[at] != 0 || places[at] != 0 || means[at] != 0)) return false;
    if (!empty) given += grads[at];
    by_mean += grads[at] * means[at];
  }
  for (int64_t i = 0; i < elements; ++i) {
    to_all += even[i];
    by_place += even[i] * x[i];
    given -= back[i];
  }
  for (const double each : {given, by_mean - by_place})
    if (std::fabs(each) > 1e-2) return false;
  for (int64_t at = 0; at < windows; ++at)  // windows without elements are at the first place there
    if (y[at] == -std::numeric_limits<float>::infinity())
      again[s[26] == elements ? 0 : at / (windows / s[0]) * s[26]] -= grads[at];
  for (int64_t i = 0; i < elements; ++i)
    if (!near(again[i], back[i])) return false;
  return true;
}

// A convolution beside plain loops, and what flows back by the products that both have: the sum of y times
// the convolution is that of x times what flows to the image, and of the filter times what flows there.
bool check_convolutions(Random &random) {
  int64_t s[22] = {1 + below(random, 3), 1 + below(random, 3)};
  s[2] = s[1] * (1 + below(random, 5));
  s[3] = s[1] * (1 + below(random, 20));
  for (int64_t axis = 0; axis < 3; ++axis) {
    const int64_t stride = 1 + below(random, 3), rate = 1 + below(random, 2);
    const int64_t window = 1 + below(random, 3), count = 1 + below(random, 6);
    const int64_t before = below(random, 3), reach = (window - 1) * rate + 1;
    s[4 + axis] = std::max<int64_t>(1, (count - 1) * stride + reach - before - below(random, 3));
    s[7 + axis] = count, s[10 + axis] = window;
    s[13 + axis] = stride, s[16 + axis] = rate, s[19 + axis] = before;
  }
  const int64_t inner = s[2] / s[1], columns = s[3] / s[1];
  const int64_t places = s[10] * s[11] * s[12];
  const Floats x = drawn(random, s[0] * s[4] * s[5] * s[6] * s[2]);
  const Floats filter = drawn(random, places * inner * s[3]);
  const Floats grads = drawn(random, s[0] * s[7] * s[8] * s[9] * s[3]);
  Floats out(grads.size()), to_image(x.size()), to_filter(filter.size());
  if (penstock_images_convolve(0, 0, x.data(), filter.data(), s, out.data()) != -1 ||
      penstock_images_convolve(1, 0, filter.data(), grads.data(), s, to_image.data()) != -1 ||
      penstock_images_convolve(2, 0, x.data(), grads.data(), s, to_filter.data()) != -1 ||
      penstock_images_convolve(0, 3, x.data(), filter.data(), s, out.data()) != -2)
    return false;
  double ahead = 0, by_image = 0, by_filter = 0;
  for (int64_t at = 0; at < static_cast<int64_t>(out.size()); ++at) {
    const int64_t k = at % s[3];
    int64_t from[3], rest = at / s[3];
    for (int64_t axis = 3; axis-- > 0; rest /= s[7 + axis])
      from[axis] = rest % s[7 + axis] * s[13 + axis] - s[19 + axis];
    double sum = 0;
    for (int64_t place = 0; place < places; ++place) {
      const int64_t in[3] = {from[0] + place / (s[11] * s[12]) * s[16],
                             from[1] + place / s[12] % s[11] * s[17], from[2] + place % s[12] * s[18]};
      if (in[0] < 0 || in[0] >= s[4] || in[1] < 0 || in[1] >= s[5] || in[2] < 0 || in[2] >= s[6]) continue;
      const int64_t pixel = ((rest * s[4] + in[0]) * s[5] + in[1]) * s[6] + in[2];
      for (int64_t c = 0; c < inner; ++c)
        sum += static_cast<double>(x[pixel * s[2] + k / columns * inner + c]) *
               filter[(place * inner + c) * s[3] + k];
    }
    if (std::fabs(sum - out[at]) > 1e-4) return false;
    ahead += grads[at] * sum;
  }
  for (size_t i = 0; i < x.size(); ++i) by_image += double{x[i]} * to_image[i];
  for (size_t i = 0; i < filter.size(); ++i) by_filter += double{filter[i]} * to_filter[i];
  const double most = 1e-3 * (1 + std::fabs(ahead));
  return std::fabs(ahead - by_image) < most && std::fabs(ahead - by_filter) < most;
}

bool check_resampling(Random &random) {
  int64_t s[9];
  for (int k = 0; k < 6; ++k) s[k] = 1 + below(random, 6);
  s[0] -= 1;
  s[6] = 1 + below(random, s[1]), s[7] = 1 + below(random, s[2]), s[8] = below(random, 2);
  std::vector<int64_t> rows, columns;
  for (int64_t i = 0; i < s[4]; ++i) {
    rows.push_back(below(random, s[1] - s[6] + 1));
    rows.push_back(below(random, s[6] + 1));
  }
  for (int64_t i = 0; i < s[5]; ++i) {
    columns.push_back(below(random, s[2] - s[7] + 1));
    columns.push_back(below(random, s[7] + 1));
  }
  const Floats x = drawn(random, s[0] * s[1] * s[2] * s[3]);
  const Floats down = drawn(random, s[4] * s[6]), across = drawn(random, s[5] * s[7]);
  Floats out(static_cast<size_t>(s[0] * s[4] * s[5] * s[3]));
  if (penstock_images_resample(0, x.data(), s, rows.data(), down.data(), columns.data(), across.data(), 2,
                               out.data()) != -1)
    return false;
  for (int64_t at = 0; at < static_cast<int64_t>(out.size()); ++at) {
    const int64_t k = at % s[3], j = at / s[3] % s[5], i = at / s[3] / s[5] % s[4];
    const int64_t image = at / s[3] / s[5] / s[4];
    float wanted = 0;
    for (int64_t a = 0; a < rows[2 * i + 1]; ++a)
      for (int64_t b = 0; b < columns[2 * j + 1]; ++b)
        wanted += down[i * s[6] + a] * across[j * s[7] + b] *
                  x[((image * s[1] + rows[2 * i] + a) * s[2] + columns[2 * j] + b) * s[3] + k];
    if (!near(out[at], wanted)) return false;
  }
  rows[0] = random() % 2 ? -1 : s[1] + 1;
  return penstock_images_resample(0, x.data(), s, rows.data(), down.data(), columns.data(),
                                  across.data(), 2, out.data()) == 0;
}

bool check_patches(Random &random) {
  int64_t s[20] = {below(random, 3), 1 + below(random, 9)};
  for (int k = 2; k < 14; ++k) s[k] = 1 + below(random, 3);
  for (int k = 14; k < 17; ++k) s[k] = below(random, 3);
  for (int k = 17; k < 20; ++k) s[k] = below(random, 4);
  const int64_t places = s[5] * s[6] * s[7], windows = s[0] * s[17] * s[18] * s[19];
  std::vector<char> x(static_cast<size_t>(s[0] * s[2] * s[3] * s[4] * s[1]));
  for (char &each : x) each = static_cast<char>(1 + below(random, 100));
  std::vector<char> out(static_cast<size_t>(windows * places * s[1]), 1);
  penstock_images_patches(x.data(), s, 2, out.data());
  for (int64_t at = 0; at < windows * places * s[1]; ++at) {
    const int64_t byte = at % s[1], place = at / s[1] % places, window = at / s[1] / places;
    const int64_t in[] = {place / s[7] / s[6], place / s[7] % s[6], place % s[7]};
    const int64_t of[] = {window / s[19] / s[18] % s[17], window / s[19] % s[18], window % s[19]};
    int64_t pixel = window / s[19] / s[18] / s[17];
    bool inside = true;
    for (int k = 0; k < 3; ++k) {
      const int64_t y = of[k] * s[8 + k] + in[k] * s[11 + k] - s[14 + k];
      inside = inside && y >= 0 && y < s[2 + k];
      pixel = pixel * s[2 + k] + y;
    }
    if (out[at] != (inside ? x[pixel * s[1] + byte] : 0)) return false;
  }
  return true;
}

// Filtered here, row by row, and read again.
bool check_filters(Random &random) {
  const int64_t height = below(random, 6), step = 1 + below(random, 4), line = step * below(random, 6);
  std::vector<uint8_t> image(static_cast<size_t>(height * line)), out(image.size()), rows;
  for (uint8_t &each : image) each = static_cast<uint8_t>(random());
  for (int64_t i = 0; i < height; ++i) {
    const int64_t filter = below(random, 5);
    rows.push_back(static_cast<uint8_t>(filter));
    for (int64_t j = 0; j < line; ++j) {
      const uint8_t *at = image.data() + i * line + j;
      const int a = j < step ? 0 : at[-step], b = i == 0 ? 0 : at[-line];
      const int c = i == 0 || j < step ? 0 : at[-line - step];
      int paeth = c, least = std::abs(a + b - 2 * c);
      if (std::abs(a - c) <= least) paeth = b, least = std::abs(a - c);
      if (std::abs(b - c) <= least) paeth = a;
      const int guesses[] = {0, a, b, (a + b) / 2, paeth};
      rows.push_back(static_cast<uint8_t>(*at - guesses[filter]));
    }
  }
  if (penstock_images_unfilter(rows.data(), height, line, step, out.data()) != -1) return false;
  if (out != image) return false;
  if (height == 0) return true;
  const int64_t wrong = below(random, height);
  rows[static_cast<size_t>(wrong * (line + 1))] = static_cast<uint8_t>(5 + below(random, 250));
  return penstock_images_unfilter(rows.data(), height, line, step, out.data()) == wrong;
}

bool check_drawing(Random &random) {
  const int64_t depth = 1 + below(random, 4);
  const int64_t s[] = {below(random, 3), below(random, 6), below(random, 6), 4 * depth, below(random, 5),
                       1 + below(random, 3)};
  Floats image(static_cast<size_t>(s[0] * s[1] * s[2] * depth));
  Floats boxes = drawn(random, s[0] * s[4] * 4), colors(static_cast<size_t>(s[5] * depth), 1.0f);
  for (float &each : boxes) each = each == 8 ? 1e30f : each == -8 ? NAN : each / 4;
  penstock_images_draw(image.data(), boxes.data(), colors.data(), s);
  return std::all_of(image.begin(), image.end(), [](float x) { return x == 0 || x == 1; });
}

}  // namespace

int main(int count, char **arguments) {
  const int rounds = count > 1 ? 10 * std::atoi(arguments[1]) : 100;
  Random random(1);
  bool (*const checks[])(Random &) = {check_crops, check_colors,  check_contrast, check_dilations,
                                      check_pools, check_sliding,  check_resampling, check_patches,
                                      check_filters, check_drawing, check_convolutions};
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < sizeof checks / sizeof *checks; ++i)
      if (!checks[i](random)) {
        std::fprintf(stderr, "round %d: check %d failed\n", round, static_cast<int>(i));
        return 1;
      }
  std::printf("work on images: %d rounds\n", rounds);
  return 0;
}
