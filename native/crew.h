// Threads that are kept for shares of work, as starting and joining them costs some 40 us a call.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace penstock {

// Numbered shares of one call's work. It lies in the caller's frame, which waits for those within.
class Shares {
 public:
  using Take = void (*)(void *work, int64_t share);

  // `helpers` threads at most are let in beside the caller.
  Shares(int64_t count, int64_t helpers, Take take, void *work)
      : helpers_(helpers), count_(count), take_(take), work_(work) {}

  void take_all() {
    for (int64_t share; (share = next_.fetch_add(1, std::memory_order_relaxed)) < count_;)
      take_(work_, share);
  }

 private:
  friend class Crew;
  Shares *after_ = nullptr;  // in the crew's list
  int64_t helpers_;          // that may still come in; guarded by the crew's mutex
  std::atomic<int64_t> within_{0}, next_{0};
  const int64_t count_;
  const Take take_;
  void *const work_;
};

// The threads, started when they are first asked for and kept for the life of the process. They take
// shares of whichever call has some left, so calls of several threads and calls within shares share
// them. A caller never waits for a thread that has not begun: one without a processor costs nothing.
class Crew {
 public:
  // The crew of this library. It is never destroyed, as its threads may outlive main. A child that
  // fork has made has no threads but its own, so it gets another crew.
  static Crew &here() {
    static const bool watched = watch();
    (void)watched;
    return *current().load(std::memory_order_acquire);
  }

  // Takes all shares, on this thread and on those that come. What a share throws ends the process.
  void run(Shares &shares) noexcept {
    const int64_t helpers = shares.helpers_;  // others count it down from here on
    {
      std::lock_guard<std::mutex> lock(mutex_);
      enlist(helpers);
      shares.after_ = first_;
      first_ = &shares;
    }
    for (int64_t i = 0; i < helpers; ++i) wake_.notify_one();
    shares.take_all();
    std::unique_lock<std::mutex> lock(mutex_);
    Shares **place = &first_;
    while (*place != &shares) place = &(*place)->after_;
    *place = shares.after_;
    lock.unlock();  // nobody comes in any more
    for (int i = 0; i < kLooks && shares.within_.load(std::memory_order_acquire) != 0; ++i) pause();
    if (shares.within_.load(std::memory_order_acquire) == 0) return;
    lock.lock();
    done_.wait(lock, [&] { return shares.within_.load(std::memory_order_acquire) == 0; });
  }

 private:
  static constexpr int kLooks = 400;  // 4 us on a Xeon: less than it takes to sleep and be woken

  static std::atomic<Crew *> &current() {
    static std::atomic<Crew *> crew{new Crew};
    return crew;
  }

  static bool watch() {
    current();
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork(nullptr, nullptr, [] { current().store(new Crew, std::memory_order_release); });
#endif
    return true;
  }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

  // Sees to it that there are this many threads; those that cannot be started are done without.
  void enlist(int64_t wanted) {
    try {
      for (; members_ < wanted; ++members_) std::thread(&Crew::serve, this).detach();
    } catch (const std::exception &) {  // no thread to be had, or no memory for it
    }
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Shares *open = first_;
      while (open != nullptr && open->helpers_ == 0) open = open->after_;
      if (open == nullptr) {
        wake_.wait(lock);
        continue;
      }
      --open->helpers_;
      open->within_.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      open->take_all();
      lock.lock();
      if (open->within_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Shares *first_ = nullptr;
  int64_t members_ = 0;
};

}  // namespace penstock
