// How a thread makes way for the helpers that it woke.
//
// Linux looks for an idle processor for a thread that wakes only while the processors that share a
// cache are mostly idle on average; else it leaves the thread where it ran last. That may be the
// processor of the thread that woke it: there it waits, for up to some milliseconds, while another
// processor has nothing to do. With two processors this happens in every third step of a small
// network and takes a tenth of its time.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

namespace penstock {

#if defined(__linux__)

// The calling thread, as the system calls it.
inline pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

// Nanoseconds that a thread of this process has run, or 0 where the system does not say.
inline int64_t time_of(pid_t thread) {
  const int own_time_of_thread = 6;  // as pthread_getcpuclockid makes a clock's number of a thread's
  timespec time;
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | own_time_of_thread);
  return clock_gettime(clock, &time) == 0 ? time.tv_sec * int64_t{1000000000} + time.tv_nsec : 0;
}

// Takes a thread that runs on `processor`, or waits for it, to another that it may use, and leaves it
// free to be moved again. Without another one, or where the system does not let it, nothing happens.
inline void move_from(int processor, pid_t thread) {
  cpu_set_t allowed;
  if (processor < 0 || processor >= CPU_SETSIZE) return;
  if (sched_getaffinity(thread, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(processor, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(thread, sizeof others, &others) != 0) return;
  sched_setaffinity(thread, sizeof allowed, &allowed);
}

// Threads that have helped, whichever pool they are of.
class Helpers {
 public:
  static Helpers& all() {
    static Helpers* const helpers = new Helpers;  // never destroyed: threads may end after main
    return *helpers;
  }

  // Remembers the calling thread until it ends.
  void remember_this() { thread_local const Remembered here(*this); }

  // Nanoseconds that all of them but the caller have run.
  int64_t time_of_others() {
    std::lock_guard<std::mutex> lock(mutex_);
    int64_t sum = 0;
    for (const pid_t thread : threads_)
      if (thread != this_thread()) sum += time_of(thread);
    return sum;
  }

  // Takes those that wait for the caller's processor to others.
  void send_away() {
    std::lock_guard<std::mutex> lock(mutex_);
    const int here = sched_getcpu();
    for (const pid_t thread : threads_)
      if (thread != this_thread()) move_from(here, thread);
  }

 private:
  class Remembered {
   public:
    explicit Remembered(Helpers& helpers) : helpers_(helpers) {
      std::lock_guard<std::mutex> lock(helpers_.mutex_);
      helpers_.threads_.push_back(thread_);
    }
    ~Remembered() {
      std::lock_guard<std::mutex> lock(helpers_.mutex_);
      auto& threads = helpers_.threads_;
      threads.erase(std::find(threads.begin(), threads.end(), thread_));
    }

   private:
    Helpers& helpers_;
    const pid_t thread_ = this_thread();
  };

  std::mutex mutex_;            // a thread that is remembered does not end while it is held
  std::vector<pid_t> threads_;
};

#else

class Helpers {
 public:
  static Helpers& all() {
    static Helpers helpers;
    return helpers;
  }
  void remember_this() {}
  int64_t time_of_others() { return 0; }
  void send_away() {}
};

#endif

// Threads that do tasks now, of all calls.
inline std::atomic<long> at_work{0};

// For as long as a thread does tasks.
struct AtWork {
  AtWork() { at_work.fetch_add(1, std::memory_order_relaxed); }
  ~AtWork() { at_work.fetch_sub(1, std::memory_order_relaxed); }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
};

// Helpers that a call asked for, and whether one has come.
class Asked {
 public:
  // threads: of the pool, about as many as there are processors.
  explicit Asked(long threads) : threads_(threads) {}

  // For a helper that begins.
  void come() {
    if (!came_.load(std::memory_order_relaxed)) came_.store(true, std::memory_order_relaxed);
    Helpers::all().remember_this();
  }

  // For the thread that asked, between two tasks. Once no helper has come for longer than waking one
  // takes, sees whether those it could be do anything else until the next look: they are sent to
  // another processor if not.
  void look() {
    if (settled_) return;
    if (!came_.load(std::memory_order_relaxed)) {
      if (std::chrono::steady_clock::now() - since_ < PATIENCE) return;
      if (at_work.load(std::memory_order_relaxed) < threads_) {
        const int64_t before = time_;
        time_ = Helpers::all().time_of_others();
        if (before < 0) return;
        if (time_ == before) Helpers::all().send_away();
      }
    }
    settled_ = true;
  }

 private:
  static constexpr std::chrono::microseconds PATIENCE{20};  // waking one takes 5 to 40

  const long threads_;
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::atomic<bool> came_{false};
  // For the thread that asked alone:
  int64_t time_ = -1;  // that helpers had run, or -1 before it was looked up
  bool settled_ = false;
};

}  // namespace penstock
