// What the processor can do: multiply-adds of floats in registers alone, in GFLOP/s of one core.
#include <cstdio>
#include <ctime>

#if defined(__AVX512F__)
typedef float Vector __attribute__((vector_size(64)));
#elif defined(__AVX2__)
typedef float Vector __attribute__((vector_size(32)));
#else
typedef float Vector __attribute__((vector_size(16)));
#endif

const int SUMS = 12;  // enough to hide the latency of two multiply-adds a cycle
const long STEPS = 100000;
const int LANES = sizeof(Vector) / sizeof(float);

static double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int count, char**) {
  const Vector factor = Vector{} + 0.5f * count, addend = Vector{} + 1.0f * count;
  Vector sums[SUMS] = {};
  double best = 0;
  for (int round = 0; round < 300; ++round) {
    const double begin = seconds();
    for (long step = 0; step < STEPS; ++step)
#pragma GCC unroll 12
      for (int i = 0; i < SUMS; ++i) sums[i] = sums[i] * factor + addend;
    const double rate = 2e-9 * STEPS * SUMS * LANES / (seconds() - begin);
    if (rate > best) best = rate;
  }
  float total = 0;
  for (const Vector& sum : sums) total += sum[0];
  std::printf("%.1f %s\n", best, total > 0 ? "" : "?");  // the sums are used
}
