// Numbered tasks on the threads of a pool.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>

#include "handing.h"
#include "kernels.h"
#include "making_way.h"
#include "turns.h"
#include "waiting.h"

namespace penstock {

// The calling thread and helpers from the pool take tasks from one counter. The caller waits for
// tasks that a helper has taken, never for a helper to start: a pool whose threads are all busy
// costs speed and cannot deadlock. A pool has `num_threads()` and `Schedule(what to call)`.
template <typename Pool>
class WorkersOf final : public Workers {
 public:
  explicit WorkersOf(Pool& pool) : pool_(pool), threads_(pool.num_threads()) {
    if (threads_ < 1) threads_ = 1;
  }

  long threads() const override { return threads_; }

  void run(long count, void (*body)(const void*, long), const void* argument) override {
    const long helpers = (count < threads_ ? count : threads_) - 1;
    if (helpers <= 0) {
      for (long task = 0; task < count; ++task) body(argument, task);
      return;
    }
    auto job = std::make_shared<Job>(threads_);
    job->count = count;
    job->body = body;
    job->argument = argument;
    help(helpers, [job](long) {
      job->asked.come();
      job->work([] {});
    });
    job->work([&] { job->asked.look(); });
    job->wait();
    if (job->failed.load()) throw std::bad_alloc();
  }

  void run_turns(long turns, long count, void (*body)(const void*, long, long),
                 const void* argument) override {
    const long threads = count < threads_ ? count : threads_;
    auto shared = std::make_shared<Turns>(turns, count, threads, body, argument);
    help(threads - 1, [shared](long i) { shared->work(i); });
    shared->work(0);
    if (shared->failed()) throw std::bad_alloc();
  }

 private:
  // Asks for helpers, numbered from one on. Those that memory has no place for are done without: some
  // may work already, on what the caller holds.
  template <typename Work>
  void help(long helpers, Work work) {
    try {
      for (long i = 1; i <= helpers; ++i) pool_.Schedule(Handed<Work>(work, i));
    } catch (const std::bad_alloc&) {
    }
  }

  struct Job {
    explicit Job(long threads) : asked(threads) {}

    long count;
    void (*body)(const void*, long);
    const void* argument;  // lives as long as an unfinished task does
    std::atomic<long> next{0}, done{0};
    std::atomic<bool> failed{false};
    std::mutex mutex;
    std::condition_variable finished;
    Asked asked;

    // `between` is called after each task.
    template <typename Between>
    void work(Between between) {
      const AtWork now;
      long mine = 0;
      for (;;) {
        const long task = next.fetch_add(1, std::memory_order_relaxed);
        if (task >= count) break;
        try {
          if (!failed.load(std::memory_order_relaxed)) body(argument, task);
        } catch (const std::bad_alloc&) {
          failed.store(true);
        }
        ++mine;
        between();
      }
      if (mine > 0 && done.fetch_add(mine, std::memory_order_acq_rel) + mine == count) {
        std::lock_guard<std::mutex> lock(mutex);
        finished.notify_all();
      }
    }

    bool complete() const { return done.load(std::memory_order_acquire) == count; }

    void wait() {
      wait_until(mutex, finished, [this] { return complete(); });
    }
  };

  Pool& pool_;
  long threads_;
};

}  // namespace penstock
