// What the checks of the kernels share: threads, numbers from a seed, comparison with plain loops.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "kernels.h"
#include "turns.h"

// check_dot.cc: whether products of bfloat16 and bytes are as plain loops.
bool dot_is_right(long rounds);

namespace {

using Floats = std::vector<float>;

class ThreadWorkers final : public penstock::Workers {
 public:
  explicit ThreadWorkers(long threads) : threads_(threads) {}
  long threads() const override { return threads_; }
  void run(long count, void (*body)(const void*, long), const void* argument) override {
    std::atomic<long> next{0};
    auto work = [&] {
      for (long task = next++; task < count; task = next++) body(argument, task);
    };
    std::vector<std::thread> others;
    for (long i = 1; i < threads_; ++i) others.emplace_back(work);
    work();
    for (auto& each : others) each.join();
  }
  void run_turns(long turns, long count, void (*body)(const void*, long, long),
                 const void* argument) override {
    const long threads = count < threads_ ? count : threads_;
    penstock::Turns shared(turns, count, threads, body, argument);
    std::vector<std::thread> others;
    for (long i = 1; i < threads; ++i) others.emplace_back([&shared, i] { shared.work(i); });
    shared.work(0);
    for (auto& each : others) each.join();
  }

 private:
  long threads_;
};

inline std::mt19937 generator;
inline long draw(long low, long high) {
  return std::uniform_int_distribution<long>(low, high)(generator);
}
inline long most_of(long value) { return value > 1 ? value : 1; }

// Whole numbers: their sums are exact in float, so results are equal to the last bit. The memory is
// exactly as large as the tensor, so that AddressSanitizer sees a read beyond it.
inline Floats numbers(long count) {
  Floats values(count);
  for (float& each : values) each = static_cast<float>(draw(-4, 4));
  return values;
}

inline int failures = 0;
inline void fail(const char* what) {
  std::printf("%s\n", what);
  ++failures;
}

inline void compare(const char* what, const Floats& found, const std::vector<double>& wanted,
                    double most = 1e-5) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!(std::abs(found[i] - wanted[i]) <= most * (1 + std::abs(wanted[i])))) {
      std::printf("%s: element %zu of %zu is %g, not %g\n", what, i, wanted.size(), found[i],
                  wanted[i]);
      ++failures;
      return;
    }
}

}  // namespace
