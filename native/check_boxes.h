// Checks of boxes_apart.h beside plain loops, for check_arrays.cc, whose generator they draw from.
#pragma once

namespace {

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

// Boxes of given overlaps, where a NaN or an infinity may leave open whether one covers another.
bool check_apart_by_overlaps(Random &random) {
  const int64_t number = below(random, 30), most = below(random, 20);
  const bool odd = random() % 2;
  const float kinds[] = {std::nanf(""), INFINITY, -INFINITY};
  const float limit = random() % 4 ? static_cast<float>(below(random, 9)) / 8 : INFINITY;
  std::vector<float> overlaps(number * number);
  for (float &each : overlaps)
    each = odd && random() % 60 == 0 ? kinds[below(random, 3)] : static_cast<float>(below(random, 10)) / 8;
  std::vector<int64_t> order, wanted;
  for (int64_t i = 0; i < number; ++i)
    if (random() % 4) order.push_back(i);
  std::shuffle(order.begin(), order.end(), random);
  bool known = true;
  for (const int64_t i : order) {
    if (!known || static_cast<int64_t>(wanted.size()) >= most) break;
    bool covered = false, open = false;
    for (const int64_t j : wanted) {
      covered = covered || overlaps[i * number + j] > limit;
      open = open || !std::isfinite(overlaps[i * number + j]);
    }
    if (!covered && open) known = false;
    if (!covered && !open) wanted.push_back(i);
  }
  std::vector<int64_t> taken(std::min<int64_t>(most, static_cast<int64_t>(order.size())));
  const int64_t found = penstock_arrays_apart_by_overlaps(
      overlaps.data(), number, order.data(), static_cast<int64_t>(order.size()), &limit, most, taken.data());
  if (!known) return found == -1;
  return found == static_cast<int64_t>(wanted.size()) &&
         std::equal(wanted.begin(), wanted.end(), taken.begin());
}

}  // namespace
