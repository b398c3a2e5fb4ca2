// Tasks in turns: all tasks of a turn end before one of the next begins.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <vector>

#include "making_way.h"
#include "waiting.h"

namespace penstock {

// Threads that come to `work` share the tasks, each trying those first that it had in the turn
// before, whose data its cache holds. A thread waits for tasks that another has begun, never for a
// thread to come: one thread alone does all the work.
class Turns {
 public:
  using Body = void (*)(const void* argument, long turn, long task);

  Turns(long turns, long count, long threads, Body body, const void* argument)
      : turns_(turns), count_(count), threads_(threads), body_(body), argument_(argument),
        claimed_(static_cast<std::size_t>(count)), asked_(threads) {}

  // Returns when all turns are over. The thread 0 asked the others to help.
  void work(long thread) {
    const AtWork now;
    if (thread != 0) asked_.come();
    const long first = thread * count_ / threads_;
    for (long turn = done_.load(std::memory_order_acquire) / count_; turn < turns_; ++turn) {
      for (long i = 0; i < count_; ++i) {
        const long task = first + i < count_ ? first + i : first + i - count_;
        if (!claim(task, turn)) continue;
        run(turn, task);
        if (thread == 0) asked_.look();
      }
      wait((turn + 1) * count_);
    }
  }

  bool failed() const { return failed_.load(); }

 private:
  struct alignas(64) Claim {
    std::atomic<long> turns{0};  // in which the task was begun
  };

  bool claim(long task, long turn) {
    std::atomic<long>& begun = claimed_[static_cast<std::size_t>(task)].turns;
    long expected = turn;
    return begun.load(std::memory_order_relaxed) == turn &&
           begun.compare_exchange_strong(expected, turn + 1, std::memory_order_acq_rel);
  }

  void run(long turn, long task) {
    try {
      if (!failed_.load(std::memory_order_relaxed)) body_(argument_, turn, task);
    } catch (const std::bad_alloc&) {
      failed_.store(true);
    }
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == (turn + 1) * count_) {
      std::lock_guard<std::mutex> lock(mutex_);
      over_.notify_all();
    }
  }

  void wait(long tasks) {
    wait_until(mutex_, over_, [&] { return done_.load(std::memory_order_acquire) >= tasks; });
  }

  const long turns_, count_, threads_;
  const Body body_;
  const void* const argument_;  // lives as long as an unfinished task does
  std::vector<Claim> claimed_;
  alignas(64) std::atomic<long> done_{0};
  std::atomic<bool> failed_{false};
  Asked asked_;
  std::mutex mutex_;
  std::condition_variable over_;
};

}  // namespace penstock
