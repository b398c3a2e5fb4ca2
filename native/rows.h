// Matrices in compressed sparse rows from lists of places, and back. A batch of matrices is one with its
// members along the diagonal. Part of arrays.cc.
#pragma once

#include <cstdint>
#include <cstring>

namespace penstock {
namespace {

// The dimensions of a matrix (`batch` is 1 for rank 2), or of a batch of them.
struct RowDims {
  int64_t rank, batch, height, width;

  // `dims`: [rank], which is 2 or 3.
  RowDims(int64_t rank, const int64_t *dims)
      : rank(rank), batch(rank == 3 ? dims[0] : 1), height(dims[rank - 2]), width(dims[rank - 1]) {}
};

template <typename Size, typename Function>
int64_t with_size(int64_t size, const Function &function) {
  switch (size) {
    case 4: return function(static_cast<uint32_t *>(nullptr));
    case 8: return function(static_cast<uint64_t *>(nullptr));
  }
  return function(static_cast<Size *>(nullptr));
}

struct Wide {
  uint64_t parts[2];
};

// Where rows begin, and the columns, of places in the order of their rows; and what is there of a dense
// matrix, if one is given. -1, the first place that is outside, or -2 where rows fall.
template <typename Element>
int64_t to_rows(const int64_t *places, int64_t number, const RowDims &of, const Element *dense,
                int32_t *columns, int32_t *ends, Element *values) {
  int64_t last = 0, falls = 0;
  for (int64_t i = 0; i < number; ++i, places += of.rank) {
    const int64_t row = places[of.rank - 2], column = places[of.rank - 1];
    const int64_t member = of.rank == 3 ? places[0] : 0;
    const bool inside = static_cast<uint64_t>(row) < static_cast<uint64_t>(of.height) &&
                        static_cast<uint64_t>(column) < static_cast<uint64_t>(of.width) &&
                        static_cast<uint64_t>(member) < static_cast<uint64_t>(of.batch);
    if (!inside) return i;
    const int64_t whole = member * of.height + row;
    falls |= whole < last;
    while (last < whole) ends[++last] = static_cast<int32_t>(i);
    columns[i] = static_cast<int32_t>(member * of.width + column);
    if (dense != nullptr) values[i] = dense[whole * of.width + column];
  }
  while (last < of.batch * of.height) ends[++last] = static_cast<int32_t>(number);
  ends[0] = 0;
  return falls ? -2 : -1;
}

void places_of_rows(const int32_t *columns, const int32_t *ends, const RowDims &of, int64_t *out) {
  for (int64_t member = 0, whole = 0; member < of.batch; ++member)
    for (int64_t row = 0; row < of.height; ++row, ++whole)
      for (int64_t i = ends[whole]; i < ends[whole + 1]; ++i, out += of.rank) {
        out[0] = member;
        out[of.rank - 2] = row;
        out[of.rank - 1] = columns[i] - member * of.width;
      }
}

// `out`: zeros. Of values at one place the last one stays.
template <typename Element>
void dense_of_rows(const int32_t *columns, const int32_t *ends, const RowDims &of,
                   const Element *values, Element *out) {
  for (int64_t member = 0, whole = 0; member < of.batch; ++member)
    for (int64_t row = 0; row < of.height; ++row, ++whole, out += of.width)
      for (int64_t i = ends[whole]; i < ends[whole + 1]; ++i)
        out[columns[i] - member * of.width] = values[i];
}

}  // namespace
}  // namespace penstock
