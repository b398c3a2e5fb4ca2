// What the parts of images.cc share: types by number, sums, shares of the work. For images.cc alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "each_set.h"
#include "threads.h"

namespace penstock {
namespace {

template <typename T>
struct Type {
  using type = T;
};

// run(Type<T>) for the type of a kind; -2 for one that there is not.
template <typename Run>
int64_t for_kind(int64_t kind, Run run) {
  switch (kind) {
    case 0: return run(Type<float>{});
    case 1: return run(Type<double>{});
    case 2: return run(Type<int32_t>{});
    case 3: return run(Type<int64_t>{});
    case 4: return run(Type<uint8_t>{});
    case 5: return run(Type<int8_t>{});
    case 6: return run(Type<uint16_t>{});
    case 7: return run(Type<int16_t>{});
    case 8: return run(Type<uint32_t>{});
    case 9: return run(Type<uint64_t>{});
    default: return -2;
  }
}

// The four kinds that pooling takes.
template <typename Run>
int64_t for_pooled(int64_t kind, Run run) {
  switch (kind) {
    case 0: return run(Type<float>{});
    case 1: return run(Type<double>{});
    case 2: return run(Type<int32_t>{});
    case 3: return run(Type<int64_t>{});
    default: return -2;
  }
}

// The sum of two numbers; integers wrap around.
template <typename T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<uint64_t>(static_cast<Bits>(a)) + static_cast<Bits>(b));
  } else {
    return a + b;
  }
}

// Runs take(share) for each share on some threads; -1, or what one of them returned else.
template <typename Take>
int64_t in_shares(int64_t shares, int64_t threads, Take take) {
  std::atomic<int64_t> found{-1};
  in_parallel(shares, threads, [&](int64_t share) {
    const int64_t one = with_memory([&] { return take(share); });
    if (one != -1) found = one;
  });
  return found;
}

// What is `share` of `shares` even parts of [0, count).
struct Part {
  int64_t from, to;

  Part(int64_t count, int64_t share, int64_t shares)
      : from(count * share / shares), to(count * (share + 1) / shares) {}
};

// As NumPy's: a NaN wins.
template <typename T>
T larger(T a, T b) {
  return (a > b) | (a != a) ? a : b;
}
template <typename T>
T smaller(T a, T b) {
  return (a < b) | (a != a) ? a : b;
}

constexpr int64_t kChannels = 16;  // that are worked on at once

}  // namespace
}  // namespace penstock
