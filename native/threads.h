// Numbered shares of work on the calling thread and others, for libraries that Python calls.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#include "crew.h"

namespace penstock {

// Runs take(share) for each share, on the calling thread and on up to threads - 1 others.
template <typename Take>
void in_parallel(int64_t shares, int64_t threads, Take take) {
  const int64_t helpers = std::min(threads, shares) - 1;
  const Shares::Take share = [](void *work, int64_t number) { (*static_cast<Take *>(work))(number); };
  Shares all(shares, std::max<int64_t>(helpers, 0), share, &take);
  if (helpers > 0) {
    Crew::here().run(all);
  } else {
    all.take_all();
  }
}

// What memory does not hold: no C++ exception may reach Python, which knows of none.
constexpr int64_t kNoMemory = -3;

// What work() returns; kNoMemory where it runs out of memory.
template <typename Work>
int64_t with_memory(Work work) {
  try {
    return work();
  } catch (const std::exception &) {  // bad_alloc, or length_error for more than there can be
    return kNoMemory;
  }
}

// in_parallel for shares that may run out of memory: then kNoMemory, else -1.
template <typename Take>
int64_t in_parallel_with_memory(int64_t shares, int64_t threads, Take take) {
  std::atomic<bool> lacking{false};
  in_parallel(shares, threads, [&](int64_t share) {
    const int64_t found = with_memory([&]() -> int64_t {
      take(share);
      return -1;
    });
    if (found == kNoMemory) lacking = true;
  });
  return lacking ? kNoMemory : -1;
}

}  // namespace penstock
