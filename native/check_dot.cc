// Products and convolutions of bfloat16 and bytes beside plain loops, as check.cc does for the others.
#include <cstdint>
#include <cstring>

#include "check_tools.h"
#include "dot_kernels.h"

extern "C" bool penstock_use_dot_isa(const char* name);

namespace {

using penstock::DotJob;

// Both sides as numbers and as the memory has them.
struct Side {
  std::vector<int> numbers;
  std::vector<std::uint16_t> halves;
  std::vector<std::uint8_t> bytes;
  const void* data(penstock::DotKind kind) const {
    return kind == penstock::HALVES ? static_cast<const void*>(halves.data()) : bytes.data();
  }
};

// Of the memory one is exactly as large as the side, the other empty.
Side draw_side(long count, penstock::DotKind kind, bool unsigned_bytes) {
  Side side;
  for (long i = 0; i < count; ++i) {
    const bool halves = kind == penstock::HALVES;
    const long low = halves ? -4 : unsigned_bytes ? 0 : -128;
    const long number = draw(low, halves ? 4 : unsigned_bytes ? 255 : 127);
    side.numbers.push_back(static_cast<int>(number));
    const float value = static_cast<float>(number);
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (halves)
      side.halves.push_back(static_cast<std::uint16_t>(bits >> 16));
    else
      side.bytes.push_back(static_cast<std::uint8_t>(number));
  }
  return side;
}

void compare_sums(const DotJob& job, const std::vector<std::uint8_t>& found,
                  const std::vector<long>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    double value;
    if (job.kind == penstock::HALVES) {
      std::uint16_t half;
      std::memcpy(&half, &found[2 * i], 2);
      const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
      float number;
      std::memcpy(&number, &bits, 4);
      value = number;
    } else {
      std::int32_t number;
      std::memcpy(&number, &found[4 * i], 4);
      value = number;
    }
    // A sum of bfloat16 is exact in float and rounded once.
    const double allowed = job.kind == penstock::HALVES ? std::abs(wanted[i]) / 256.0 : 0;
    if (!(std::abs(value - static_cast<double>(wanted[i])) <= allowed)) {
      std::printf("dot of kind %d: element %zu of %zu is %g, not %ld\n", job.kind, i,
                  wanted.size(), value, wanted[i]);
      ++failures;
      return;
    }
  }
}

penstock::Conv draw_window() {
  penstock::Conv c;
  c.images = draw(1, 3);
  c.channels = draw(1, 70);
  c.filters = draw(1, 80);
  c.groups = 1;
  c.taps = {1, draw(1, 4), draw(1, 4)};
  c.stride = {1, draw(1, 3), draw(1, 3)};
  c.dilation = {1, draw(1, 2), draw(1, 2)};
  const long high = (c.taps.y - 1) * c.dilation.y + 1, wide = (c.taps.x - 1) * c.dilation.x + 1;
  c.pad = {0, draw(0, high - 1), draw(0, wide - 1)};
  c.size = {1, draw(high, 14), draw(wide, 14)};
  c.out = {1, (c.size.y + c.pad.y - high) / c.stride.y + 1,
           (c.size.x + c.pad.x - wide) / c.stride.x + 1};
  return c;
}

void check_dot_conv(const penstock::DotKernels& kernels, penstock::Workers& workers) {
  DotJob job;
  job.kind = static_cast<penstock::DotKind>(draw(0, 2));
  const penstock::Conv c = job.conv = draw_window();
  const Side x = draw_side(c.images * c.size.all() * c.channels, job.kind,
                           job.kind == penstock::UNSIGNED);
  const Side w = draw_side(c.taps.all() * c.channels * c.filters, job.kind, false);
  std::vector<long> wanted(c.images * c.out.all() * c.filters);
  const bool halves = job.kind == penstock::HALVES;
  std::vector<std::uint8_t> y((halves ? 2 : 4) * wanted.size());
  const long start = 0;
  job.left = x.data(job.kind);
  job.right = w.data(job.kind);
  job.to = y.data();
  job.right_row = c.filters;
  job.right_column = job.batch = 1;
  job.left_start = job.right_start = &start;
  kernels.dot(job, workers);
  for (std::size_t at = 0; at < wanted.size() / c.filters; ++at) {
    const long n = at / c.out.all(), oy = at % c.out.all() / c.out.x, ox = at % c.out.x;
    for (long r = 0; r < c.taps.y; ++r)
      for (long s = 0; s < c.taps.x; ++s) {
        const long i = oy * c.stride.y + r * c.dilation.y - c.pad.y;
        const long j = ox * c.stride.x + s * c.dilation.x - c.pad.x;
        if (i < 0 || i >= c.size.y || j < 0 || j >= c.size.x) continue;
        for (long k = 0; k < c.channels; ++k)
          for (long f = 0; f < c.filters; ++f)
            wanted[at * c.filters + f] +=
                static_cast<long>(
                    x.numbers[((n * c.size.y + i) * c.size.x + j) * c.channels + k]) *
                w.numbers[((r * c.taps.x + s) * c.channels + k) * c.filters + f];
      }
  }
  compare_sums(job, y, wanted);
}

void check_dot_product(const penstock::DotKernels& kernels, penstock::Workers& workers) {
  DotJob job;
  job.kind = static_cast<penstock::DotKind>(draw(0, 2));
  const long m = draw(1, 100), n = draw(1, 100), k = draw(1, 3) == 1 ? draw(200, 700) : draw(1, 90);
  const bool adj = draw(0, 1), shared = draw(0, 1);
  job.batch = draw(0, 1) ? 1 : draw(2, 9);
  job.conv = {1, k, n, 1, {1, 1, m}, {1, 1, 1}, {1, 1, m}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}};
  job.right_row = adj ? 1 : n;
  job.right_column = adj ? k : 1;
  const Side a = draw_side(job.batch * m * k, job.kind, job.kind == penstock::UNSIGNED);
  const Side b = draw_side((shared ? 1 : job.batch) * n * k, job.kind, false);
  std::vector<long> wanted(job.batch * m * n), left, right;
  std::vector<std::uint8_t> c((job.kind == penstock::HALVES ? 2 : 4) * wanted.size());
  for (long i = 0; i < job.batch; ++i) {
    left.push_back(i * m * k);
    right.push_back(shared ? 0 : i * n * k);
  }
  job.left = a.data(job.kind);
  job.right = b.data(job.kind);
  job.to = c.data();
  job.left_start = left.data();
  job.right_start = right.data();
  kernels.dot(job, workers);
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    const long e = at / (m * n), i = at / n % m, j = at % n;
    for (long l = 0; l < k; ++l)
      wanted[at] += static_cast<long>(a.numbers[left[e] + i * k + l]) *
                    b.numbers[right[e] + l * job.right_row + j * job.right_column];
  }
  compare_sums(job, c, wanted);
}

}  // namespace

bool dot_is_right(long rounds) {
  for (const char* name : {"vnni", "amx"}) {
    if (!penstock_use_dot_isa(name)) continue;
    generator.seed(1);
    for (long round = 0; round < rounds && failures == 0; ++round) {
      ThreadWorkers workers(draw(1, 3));
      check_dot_conv(*penstock::dot_kernels(), workers);
      check_dot_product(*penstock::dot_kernels(), workers);
    }
    std::printf("%s: %s\n", name, failures == 0 ? "as plain loops" : "WRONG");
  }
  return failures == 0;
}
