// Shares of work on threads that are kept: each is taken once, by whoever comes, from many threads at
// once, within shares, and in a child that fork has made.
//
//   check_crew [rounds]

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "threads.h"

namespace {

using penstock::in_parallel;

// Every share is taken once, and what it wrote is seen afterwards without a lock.
bool taken_once(int64_t shares, int64_t threads) {
  std::vector<int64_t> times(shares, 0);
  in_parallel(shares, threads, [&](int64_t share) { times[share] += 1; });
  for (int64_t each : times)
    if (each != 1) return false;
  return true;
}

// Shares that ask for helpers themselves, more than there are threads.
bool taken_within(int64_t shares, int64_t threads) {
  std::atomic<int64_t> sum{0};
  in_parallel(shares, threads, [&](int64_t outer) {
    in_parallel(shares, threads, [&](int64_t inner) { sum += outer * shares + inner; });
  });
  const int64_t all = shares * shares;
  return sum == all * (all - 1) / 2;
}

bool taken_by_many(int rounds) {
  std::atomic<bool> right{true};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int i = 0; i < rounds * 20; ++i)
        if (!taken_once(1 + (i + caller) % 7, 1 + i % 5)) right = false;
    });
  for (std::thread &each : callers) each.join();
  return right;
}

// More than one thread takes part: the caller's share ends when another thread has come.
bool another_comes() {
  std::atomic<int> here{0};
  in_parallel(2, 2, [&](int64_t) {
    ++here;
    while (here < 2) std::this_thread::yield();
  });
  return here == 2;
}

// No more threads than asked for, with the caller.
bool no_more_come(int64_t threads) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  in_parallel(200, threads, [&](int64_t) {
    std::lock_guard<std::mutex> lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  return static_cast<int64_t>(seen.size()) <= threads;
}

bool memory_runs_out() {
  const auto take = [](int64_t share) {
    if (share == 3) throw std::bad_alloc();
  };
  return penstock::in_parallel_with_memory(8, 3, take) == penstock::kNoMemory &&
         penstock::in_parallel_with_memory(3, 3, take) == -1;
}

// ThreadSanitizer knows no threads that a child of a process with threads starts, and qemu gives up there.
#if defined(__SANITIZE_THREAD__) || defined(PENSTOCK_EMULATED)
bool children_work() { return true; }
#else
bool children_work() {
  const pid_t child = fork();
  if (child == 0) _exit(another_comes() && taken_within(5, 3) ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#endif

}  // namespace

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 60;
  const auto say = [](bool right, const char *what) {
    if (!right) std::printf("crew: %s\n", what);
    return right;
  };
  bool right = say(children_work(), "a child of a process without threads does not work");
  for (int64_t shares = 0; shares < 40; ++shares)
    for (int64_t threads = 0; threads < 6; ++threads)
      right = say(taken_once(shares, threads), "a share was not taken once") && right;
  right = say(another_comes(), "no other thread takes a share") && right;
  for (int64_t threads = 1; threads < 5; ++threads)
    right = say(no_more_come(threads), "more threads than asked for took shares") && right;
  for (int i = 0; i < rounds; ++i) right = say(taken_within(6, 3), "shares within shares") && right;
  right = say(taken_by_many(rounds), "callers at once took shares wrongly") && right;
  right = say(memory_runs_out(), "a share without memory is not told") && right;
  right = say(children_work(), "a child of a process with threads does not work") && right;
  if (right) std::printf("crew: shares are taken once each\n");
  return right ? 0 : 1;
}
