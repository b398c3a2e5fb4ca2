// How many edits lead from one row to another. Part of arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace penstock {
namespace {

// Row by row of the table of all beginnings of both; `row` holds the last one.
inline int64_t edits(const int32_t *a, int64_t a_size, const int32_t *b, int64_t b_size,
                     std::vector<int64_t> &row) {
  row.resize(static_cast<size_t>(b_size) + 1);
  for (int64_t j = 0; j <= b_size; ++j) row[j] = j;
  for (int64_t i = 0; i < a_size; ++i) {
    int64_t corner = i, left = i + 1;
    for (int64_t j = 0; j < b_size; ++j) {
      const int64_t above = row[j + 1];
      row[j] = left;
      left = a[i] == b[j] ? corner : 1 + std::min(corner, std::min(above, left));
      corner = above;
    }
    row[b_size] = left;
  }
  return row[b_size];
}

}  // namespace
}  // namespace penstock
