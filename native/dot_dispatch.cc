// Which kernel serves products of 16- and 8-bit numbers.
#include <atomic>
#include <cstring>

#include "dot_kernels.h"

#if defined(PENSTOCK_DOT)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace penstock {

#if defined(PENSTOCK_DOT)
extern const DotKernels dot_amx;
extern const DotKernels dot_vnni;
#endif

namespace {

struct Candidate {
  const DotKernels* kernels;
  bool (*runs_here)();
};

#if defined(PENSTOCK_DOT)
bool has_vnni() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512bf16");
}

// Tiles need the system's leave, once for the process: it has to save them when threads change.
bool may_use_tiles() {
  const long ASK = 0x1023, TILES = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, ASK, TILES) == 0;
}

bool has_amx() {
  unsigned a, b, c, d;
  if (!has_vnni() || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const unsigned BF16 = 1u << 22, TILE = 1u << 24, INT8 = 1u << 25;
  static const bool granted = (d & (BF16 | TILE | INT8)) == (BF16 | TILE | INT8) && may_use_tiles();
  return granted;
}
#endif

const Candidate CANDIDATES[] = {
#if defined(PENSTOCK_DOT)
    {&dot_amx, has_amx},
    {&dot_vnni, has_vnni},
#endif
    {nullptr, [] { return true; }},
};

std::atomic<const Candidate*> chosen{nullptr};

const Candidate* best() {
  for (const Candidate& each : CANDIDATES)
    if (each.runs_here()) return &each;
  return nullptr;
}

const char* name_of(const Candidate& each) {
  return each.kernels == nullptr ? "none" : each.kernels->name;
}

const Candidate& current() {
  const Candidate* found = chosen.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = best();
    chosen.store(found, std::memory_order_release);
  }
  return *found;
}

}  // namespace

const DotKernels* dot_kernels() { return current().kernels; }

}  // namespace penstock

// The instructions in use for products of 16- and 8-bit numbers: "amx", "vnni" or "none".
extern "C" __attribute__((visibility("default"))) const char* penstock_dot_isa() {
  return penstock::name_of(penstock::current());
}

// Uses instructions by name from now on; false where the processor or the build lacks them.
extern "C" __attribute__((visibility("default"))) bool penstock_use_dot_isa(const char* name) {
  for (const auto& each : penstock::CANDIDATES)
    if (std::strcmp(penstock::name_of(each), name) == 0 && each.runs_here()) {
      penstock::chosen.store(&each, std::memory_order_release);
      return true;
    }
  return false;
}
