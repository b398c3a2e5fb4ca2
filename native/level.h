// The nearest row that does not rise to a row (isotonic regression). Part of arrays.cc.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {
namespace {

// Adjacent parts are pooled as long as one is below the next.
inline void level(const double *row, int64_t width, std::vector<double> &totals,
                  std::vector<int64_t> &sizes, double *out, int32_t *parts) {
  int64_t last = -1;
  for (int64_t i = 0; i < width; ++i) {
    double total = row[i];
    int64_t size = 1;
    while (last >= 0 && totals[last] * static_cast<double>(size) <
                            total * static_cast<double>(sizes[last])) {
      total += totals[last];
      size += sizes[last--];
    }
    totals[++last] = total;
    sizes[last] = size;
  }
  for (int64_t part = 0, at = 0; part <= last; ++part) {
    const double mean = totals[part] / static_cast<double>(sizes[part]);
    for (const int64_t end = at + sizes[part]; at < end; ++at) {
      out[at] = mean;
      parts[at] = static_cast<int32_t>(part);
    }
  }
}

}  // namespace
}  // namespace penstock
