// How a thread waits for what others do.
#pragma once

#include <condition_variable>
#include <mutex>

namespace penstock {

// Leaves the processor's parts to the core's other thread for a moment.
inline void rest() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

// Returns when `over` does so: tried for a moment, then each time that `changed` is notified, which
// whoever makes it true does with the mutex held.
template <typename Over>
void wait_until(std::mutex& mutex, std::condition_variable& changed, Over over) {
  for (int spin = 0; spin < 4000; ++spin) {
    if (over()) return;
    rest();
  }
  std::unique_lock<std::mutex> lock(mutex);
  // What std::condition_variable::wait calls. GCC 12 gave that function a new version, which would
  // keep a library that GCC 12 compiled from systems with glibc 2.34 and GCC 11.
  while (!over()) pthread_cond_wait(changed.native_handle(), mutex.native_handle());
}

}  // namespace penstock
