// Which instruction set is used, and memory for the kernels' packed panels.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels.h"

namespace penstock {

#if defined(__aarch64__)
extern const Kernels kernels_neon;
#else
extern const Kernels kernels_plain;
#endif
#if defined(PENSTOCK_X86)
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

namespace {

struct Candidate {
  const Kernels* kernels;
  bool (*runs_here)();
};

#if defined(PENSTOCK_X86)
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("fma");
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

const Candidate CANDIDATES[] = {
#if defined(PENSTOCK_X86)
    {&kernels_avx512, has_avx512},
    {&kernels_avx2, has_avx2},
#endif
#if defined(__aarch64__)
    {&kernels_neon, [] { return true; }},  // no such processor is without
#else
    {&kernels_plain, [] { return true; }},
#endif
};

std::atomic<const Kernels*> chosen{nullptr};

}  // namespace

const Kernels& best_kernels() {
  const Kernels* found = chosen.load(std::memory_order_acquire);
  if (found == nullptr) {
    for (const Candidate& each : CANDIDATES)
      if (each.runs_here()) {
        found = each.kernels;
        break;
      }
    chosen.store(found, std::memory_order_release);
  }
  return *found;
}

namespace {

class Block {
 public:
  ~Block() { std::free(data_); }
  float* of(long floats) {
    if (floats > size_) {
      std::free(data_);
      size_ = 0;
      const std::size_t bytes = (static_cast<std::size_t>(floats) * sizeof(float) + 127) / 64 * 64;
      data_ = static_cast<float*>(std::aligned_alloc(64, bytes));
      if (data_ == nullptr) throw std::bad_alloc();
      size_ = floats;
    }
    return data_;
  }

 private:
  float* data_ = nullptr;
  long size_ = 0;
};

}  // namespace

float* scratch(int slot, long floats) {
  static thread_local Block blocks[SCRATCH_SLOTS];
  return blocks[slot].of(floats);
}

}  // namespace penstock

// The instruction set in use: "avx512", "avx2", "neon" or "plain".
extern "C" __attribute__((visibility("default"))) const char* penstock_isa() { return penstock::best_kernels().name; }

// Uses an instruction set by name from now on; false where the processor or the build lacks it.
extern "C" __attribute__((visibility("default"))) bool penstock_use_isa(const char* name) {
  for (const auto& each : penstock::CANDIDATES)
    if (std::strcmp(each.kernels->name, name) == 0 && each.runs_here()) {
      penstock::chosen.store(each.kernels, std::memory_order_release);
      return true;
    }
  return false;
}
