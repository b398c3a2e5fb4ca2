// Boxes of high scores that have little in common with one another (non-maximum suppression), of one
// class or class by class. Part of arrays.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "each_set.h"
#include "threads.h"

namespace penstock {
namespace {

// As NumPy's: a NaN wins.
inline float smaller(float a, float b) { return a < b || a != a ? a : b; }
inline float larger(float a, float b) { return a > b || a != a ? a : b; }

struct Box {
  float low[2], high[2], area;

  explicit Box(const float *corners) {
    for (int k = 0; k < 2; ++k) {
      low[k] = smaller(corners[k], corners[k + 2]);
      high[k] = larger(corners[k], corners[k + 2]);
    }
    area = (high[0] - low[0]) * (high[1] - low[1]);
  }
};

// Boxes side by side, so that the compiler compares several at once.
struct Boxes {
  static constexpr int kSide = 16;
  float low[2][kSide], high[2][kSide], area[kSide];

  Boxes() { std::memset(this, 0, sizeof *this); }  // boxes of no area, which cover nothing

  void put(int place, const Box &box) {
    for (int k = 0; k < 2; ++k) {
      low[k][place] = box.low[k];
      high[k][place] = box.high[k];
    }
    area[place] = box.area;
  }

  // Whether one of them has more than `limit` of its union with the box in common with it. Most have
  // nothing, which needs no division.
  bool covers(const Box &box, float limit) const {
    float both[kSide];
    int some = 0;
    for (int i = 0; i < kSide; ++i) {
      const float height = smaller(box.high[0], high[0][i]) - larger(box.low[0], low[0][i]);
      const float width = smaller(box.high[1], high[1][i]) - larger(box.low[1], low[1][i]);
      both[i] = larger(height, 0) * larger(width, 0);
      some |= both[i] > 0;
    }
    if (!some && limit >= 0) return false;
    int found = 0;
    for (int i = 0; i < kSide; ++i) {
      const float part = both[i] / (box.area + area[i] - both[i]);
      found |= (box.area <= 0 || area[i] <= 0 ? 0.0f : part) > limit;
    }
    return found;
  }
};

// Boxes and scores stand some numbers apart.
struct Scored {
  const float *boxes, *scores;
  int64_t number, box_step, score_step;

  float score(int64_t i) const { return scores[i * score_step]; }
};

// Of boxes in order, those of which none taken before has more than `limit` in common with it: box i has
// overlaps[i * number + j] with box j. -1 where a NaN, or an infinity that is not above the limit, leaves it
// open.
inline int64_t apart_by_overlaps(const float *overlaps, int64_t number, const int64_t *order, int64_t count,
                                 float limit, int64_t most, int64_t *taken) {
  int64_t found = 0;
  for (int64_t i = 0; i < count && found < most; ++i) {
    const float *row = overlaps + order[i] * number;
    bool covered = false, open = false;
    for (int64_t j = 0; j < found && !covered; ++j) {
      const float part = row[taken[j]];
      covered = part > limit;
      open |= !std::isfinite(part);
    }
    if (covered) continue;
    if (open) return -1;
    taken[found++] = order[i];
  }
  return found;
}

inline int64_t apart(const Scored &given, float limit, float least, int64_t most, int64_t *taken) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < given.number; ++i)
    if (given.score(i) > least) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return given.score(a) > given.score(b); });
  std::vector<Boxes> kept;
  int64_t found = 0;
  for (const int64_t place : order) {
    if (found >= most) break;
    const Box box(given.boxes + place * given.box_step);
    const auto covers = [&](const Boxes &others) { return others.covers(box, limit); };
    if (std::any_of(kept.begin(), kept.end(), covers)) continue;
    if (found % Boxes::kSide == 0) kept.emplace_back();
    kept.back().put(static_cast<int>(found % Boxes::kSide), box);
    taken[found++] = place;
  }
  return found;
}

struct ClassSizes {
  int64_t batch, number, kinds, classes, most, room;

  explicit ClassSizes(const int64_t *s)
      : batch(s[0]), number(s[1]), kinds(s[2]), classes(s[3]), most(s[4]), room(s[5]) {}
};

struct Taken {
  float score;
  int64_t kind, place;
};

// The best boxes of all classes of one image, each class's taken apart, into rows of `room`.
inline int64_t apart_by_class(const float *boxes, const float *scores, const ClassSizes &s,
                              float limit, float least, bool clipped, float *out_boxes,
                              float *out_scores, float *out_classes) {
  std::vector<Taken> all;
  std::vector<int64_t> taken(static_cast<size_t>(std::max<int64_t>(0, std::min(s.number, s.most))));
  for (int64_t kind = 0; kind < s.classes; ++kind) {
    const Scored given{boxes + 4 * (kind % s.kinds), scores + kind, s.number, 4 * s.kinds, s.classes};
    const int64_t found = apart(given, limit, least, s.most, taken.data());
    for (int64_t i = 0; i < found; ++i) all.push_back(Taken{given.score(taken[i]), kind, taken[i]});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Taken &a, const Taken &b) { return a.score > b.score; });
  const int64_t count = std::min(s.room, static_cast<int64_t>(all.size()));
  for (int64_t i = 0; i < count; ++i) {
    const Taken &each = all[i];
    const float *box = boxes + 4 * (each.place * s.kinds + each.kind % s.kinds);
    for (int k = 0; k < 4; ++k) {
      const float low = box[k] < 0 ? 0.0f : box[k];
      out_boxes[4 * i + k] = clipped ? (low > 1 ? 1.0f : low) : box[k];
    }
    out_scores[i] = each.score;
    out_classes[i] = static_cast<float>(each.kind);
  }
  return count;
}

EACH_SET int64_t apart_by_classes(const float *boxes, const float *scores, const ClassSizes &s,
                                  float limit, float least, bool clipped, int64_t threads,
                                  float *out_boxes, float *out_scores, float *out_classes,
                                  int32_t *counts) {
  return in_parallel_with_memory(s.batch, threads, [&](int64_t i) {
    counts[i] = static_cast<int32_t>(apart_by_class(
        boxes + i * s.number * s.kinds * 4, scores + i * s.number * s.classes, s, limit, least, clipped,
        out_boxes + 4 * i * s.room, out_scores + i * s.room, out_classes + i * s.room));
  });
}

}  // namespace
}  // namespace penstock
