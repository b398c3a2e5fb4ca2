// Numbered shares of work on the calling thread and others, for libraries that Python calls.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace penstock {

// Runs take(share) for each share, on the calling thread and others. Those that cannot be started
// are done without.
template <typename Take>
void in_parallel(int64_t shares, int64_t threads, Take take) {
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t share; (share = next.fetch_add(1)) < shares;) take(share);
  };
  std::vector<std::thread> helpers;
  try {
    for (int64_t i = 1; i < std::min(threads, shares); ++i) helpers.emplace_back(work);
  } catch (const std::exception &) {  // no thread to be had, or no memory to remember it
  }
  work();
  for (std::thread &each : helpers) each.join();
}

}  // namespace penstock
