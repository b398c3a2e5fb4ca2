// Shares tasks out on a pool of threads as XLA's is used, one that never comes too, and looks whether
// each was done once: for ThreadSanitizer above all (native/build.py --check).
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "pool_workers.h"

namespace {

int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("workers: %s\n", what);
  ++failures;
}

// Calls what it is given, in this order, on `busy ? 0 : threads` threads; what is left when it goes
// is never called, as in a pool whose threads are all taken.
class Pool {
 public:
  Pool(long threads, bool busy) : threads_(threads) {
    for (long i = 0; i < (busy ? 0 : threads); ++i) running_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    added_.notify_all();
    for (auto& each : running_) each.join();
  }
  long num_threads() const { return threads_; }
  // Memory runs out at every fifth call.
  void Schedule(std::function<void()> call) {
    if (++asked_ % 5 == 0) throw std::bad_alloc();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      calls_.push_back(std::move(call));
    }
    added_.notify_one();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      added_.wait(lock, [this] { return over_ || !calls_.empty(); });
      if (calls_.empty()) return;
      auto call = std::move(calls_.front());
      calls_.pop_front();
      lock.unlock();
      call();
    }
  }

  const long threads_;
  long asked_ = 0;
  std::mutex mutex_;  // guards: calls_, over_
  std::condition_variable added_;
  std::deque<std::function<void()>> calls_;
  bool over_ = false;
  std::vector<std::thread> running_;
};

using PoolWorkers = penstock::WorkersOf<Pool>;

// Numbers that tasks write, each its own, and that their caller reads without any lock: tasks happen
// before `run` returns, and those of a turn before those of the next.
struct Work {
  std::vector<long> done;
  long fails = -1;
};

// Some tasks take so long that other threads come to take theirs.
void linger(long task) {
  if (task % 3 == 1) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void add_one(const void* argument, long task) {
  linger(task);
  Work& work = *static_cast<Work*>(const_cast<void*>(argument));
  if (task == work.fails) throw std::bad_alloc();
  work.done[task] += 1;
}

// Adds what the neighbour has of the turn before.
void add_neighbour(const void* argument, long turn, long task) {
  linger(turn + task);
  Work& work = *static_cast<Work*>(const_cast<void*>(argument));
  const long count = static_cast<long>(work.done.size()) / 2;
  if (turn * count + task == work.fails) throw std::bad_alloc();
  const long from = turn % 2 * count, to = count - from;
  work.done[to + task] = work.done[from + (task + 1) % count] + 1;
}

void check_run(Pool& pool, long count) {
  PoolWorkers workers(pool);
  Work work;
  work.done.assign(count, 0);
  for (int round = 1; round <= 3; ++round) {
    workers.run(count, add_one, &work);
    for (long each : work.done) expect(each == round, "a task was not done once");
  }
  if (count < 2) return;
  work.fails = count / 2;
  bool thrown = false;
  try {
    workers.run(count, add_one, &work);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  expect(thrown, "what a task threw was lost");
}

void check_turns(Pool& pool, long count, long turns) {
  PoolWorkers workers(pool);
  Work work;
  work.done.assign(2 * count, 0);
  workers.run_turns(turns, count, add_neighbour, &work);
  for (long i = 0; i < count; ++i)
    expect(work.done[turns % 2 * count + i] == turns, "a turn began before the one before ended");
  work.fails = turns * count / 2;
  bool thrown = false;
  try {
    workers.run_turns(turns, count, add_neighbour, &work);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  expect(thrown, "what a task of a turn threw was lost");
}

// A thread that is moved goes elsewhere, if it may, and may use what it could use before.
void check_moves() {
#if defined(__linux__)
  cpu_set_t before, after, only;
  if (sched_getaffinity(0, sizeof before, &before) != 0) return;
  const pid_t thread = penstock::this_thread();
  penstock::move_from(sched_getcpu(), thread);
  expect(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after),
         "a thread may use other processors than before");
  const int here = sched_getcpu();
  CPU_ZERO(&only);
  CPU_SET(here, &only);
  expect(sched_setaffinity(0, sizeof only, &only) == 0, "a thread may stay where it is");
  penstock::move_from(here, thread);
  expect(sched_getcpu() == here, "a thread left the only processor that it may use");
  expect(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&only, &after),
         "a thread may use other processors than before");
  sched_setaffinity(0, sizeof before, &before);
#endif
}

// Threads are remembered while they live. Their time is that of work they do, for all but themselves:
// a helper that asks for others would else take its own work for theirs.
void check_helpers() {
#if defined(__linux__)
  penstock::Helpers helpers;
  expect(helpers.time_of_others() == 0, "time without helpers");
  std::atomic<bool> begun{false}, seen{false};
  std::thread other([&] {
    helpers.remember_this();
    expect(helpers.time_of_others() == 0, "a helper takes its own time for that of others");
    helpers.send_away();
    begun.store(true);
    while (!seen.load()) penstock::rest();
  });
  while (!begun.load()) std::this_thread::yield();
  const int64_t start = helpers.time_of_others();
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (helpers.time_of_others() == start && std::chrono::steady_clock::now() < patience)
    std::this_thread::yield();
  expect(helpers.time_of_others() > start, "a helper's time stands still while it works");
  seen.store(true);
  other.join();
  expect(helpers.time_of_others() == 0, "a thread that ended is remembered");
#endif
}

}  // namespace

int main(int count, char** arguments) {
  check_moves();
  check_helpers();
  const long rounds = count > 1 ? std::atol(arguments[1]) : 60;
  for (const bool busy : {false, true})
    for (const long threads : {1, 2, 5}) {
      Pool pool(threads, busy);
      for (long round = 0; round < rounds; ++round) {
        check_run(pool, round % 40);
        check_turns(pool, 1 + round % 7, 1 + round % 11);
      }
    }
  std::printf("workers: %ld rounds %s\n", rounds, failures == 0 ? "are right" : "WRONG");
  return failures != 0;
}
