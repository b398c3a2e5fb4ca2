// What ThreadSanitizer is told where threads that it does not see hand work on: XLA is not compiled
// under it. What is handed on happened before what is done with it; nothing else is said, so that
// tasks of a call are still compared with each other.
#pragma once

#include <utility>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PENSTOCK_TOLD 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define PENSTOCK_TOLD 1
#endif

#if defined(PENSTOCK_TOLD)
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#endif

namespace penstock {

#if defined(PENSTOCK_TOLD)
inline char handed = 0;
inline void hand_on() { __tsan_release(&handed); }
inline void take_over() { __tsan_acquire(&handed); }
#else
inline void hand_on() {}
inline void take_over() {}
#endif

// work(number) for a pool's thread. A pool copies or moves it to where the thread finds it.
template <typename Work>
class Handed {
 public:
  Handed(Work work, long number) : work_(std::move(work)), number_(number) {}
  Handed(const Handed& other) : work_(other.work_), number_(other.number_) { hand_on(); }
  Handed(Handed&& other) : work_(std::move(other.work_)), number_(other.number_) { hand_on(); }

  void operator()() {
    take_over();
    work_(number_);
  }

 private:
  Work work_;
  long number_;
};

// For as long as a call of XLA's runs.
struct Taken {
  Taken() { take_over(); }
  ~Taken() { hand_on(); }
};

}  // namespace penstock
