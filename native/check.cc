// Compares every kernel with plain loops in double, over shapes drawn from a seed: for the
// sanitizers (native/build.py --check) and for a first look without Python.
#include <cstdlib>
#include <cstring>

#include "check_attention.h"
#include "check_layer_norm.h"
#include "check_recurrence.h"
#include "check_tools.h"
#include "check_update.h"

extern "C" bool penstock_use_isa(const char* name);

namespace {

using penstock::Conv;
using penstock::Pool;
using penstock::Product;

// A finish of results with rows of `columns`; its numbers live in `held`.
penstock::Finish draw_finish(Floats (&held)[3], long columns, long count) {
  held[0] = numbers(columns);
  held[1] = numbers(count);
  held[2] = numbers(count);
  penstock::Finish finish;
  if (draw(0, 1)) finish.bias = held[0].data();
  if (draw(0, 1)) finish.beside = held[1].data();
  if (draw(0, 1)) finish.gate = held[2].data();
  finish.activation = static_cast<int>(draw(0, 2));
  return finish;
}

void apply(const penstock::Finish& finish, long columns, std::vector<double>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (finish.bias != nullptr) results[i] += finish.bias[i % columns];
    if (finish.beside != nullptr) results[i] += finish.beside[i];
    if (finish.gate != nullptr && !(finish.gate[i] > 0)) results[i] = 0;
    if (finish.activation != penstock::NONE && results[i] < 0) results[i] = 0;
    if (finish.activation == penstock::RELU6 && results[i] > 6) results[i] = 6;
  }
}

void check_product(const penstock::Kernels& kernels, penstock::Workers& workers) {
  Product p;
  p.m = draw(1, 3) == 1 ? draw(180, 400) : draw(1, 180);
  p.n = draw(1, 90);
  p.k = draw(1, 3) == 1 ? draw(200, 1200) : draw(1, 40);
  if (draw(1, 6) == 1) {  // rows that share sets of the first cache, and few enough of them
    p.m = draw(250, 285);
    p.k = 512 * draw(1, 2) + draw(0, 1);
  }
  p.batch = draw(0, 1) ? 1 : draw(2, 9);
  const bool adj_a = draw(0, 1), adj_b = draw(0, 1), shared = draw(0, 1);
  p.a_row = adj_a ? 1 : p.k;
  p.a_col = adj_a ? p.m : 1;
  p.b_row = adj_b ? 1 : p.n;
  p.b_col = adj_b ? p.k : 1;
  const Floats a = numbers(p.batch * p.m * p.k), b = numbers((shared ? 1 : p.batch) * p.n * p.k);
  Floats c(p.batch * p.m * p.n, NAN);
  std::vector<long> a_start, b_start;
  for (long i = 0; i < p.batch; ++i) {
    a_start.push_back(i * p.m * p.k);
    b_start.push_back(shared ? 0 : i * p.n * p.k);
  }
  p.a = a.data();
  p.b = b.data();
  p.c = c.data();
  p.a_start = a_start.data();
  p.b_start = b_start.data();
  Floats held[3];
  if (p.batch == 1) p.finish = draw_finish(held, p.n, p.m * p.n);
  kernels.product(p, workers);
  std::vector<double> wanted(c.size());
  for (long e = 0, at = 0; e < p.batch; ++e)
    for (long i = 0; i < p.m; ++i)
      for (long j = 0; j < p.n; ++j, ++at)
        for (long k = 0; k < p.k; ++k)
          wanted[at] += static_cast<double>(a[a_start[e] + i * p.a_row + k * p.a_col]) *
                        b[b_start[e] + k * p.b_row + j * p.b_col];
  apply(p.finish, p.n, wanted);
  compare("product", c, wanted);
}

template <typename Body>  // body(x index, w index, y index) for every product of a convolution
void each_product(const Conv& c, Body body) {
  const long pixels = c.size.all(), outs = c.out.all();
  for (long at = 0; at < c.images * outs * c.taps.all(); ++at) {
    const long n = at / c.taps.all() / outs, out = at / c.taps.all() % outs, tap = at % c.taps.all();
    const long oz = out / (c.out.y * c.out.x), oy = out / c.out.x % c.out.y, ox = out % c.out.x;
    const long q = tap / (c.taps.y * c.taps.x), r = tap / c.taps.x % c.taps.y, s = tap % c.taps.x;
    const long z = oz * c.stride.z + q * c.dilation.z - c.pad.z;
    const long y = oy * c.stride.y + r * c.dilation.y - c.pad.y;
    const long x = ox * c.stride.x + s * c.dilation.x - c.pad.x;
    if (z < 0 || z >= c.size.z || y < 0 || y >= c.size.y || x < 0 || x >= c.size.x) continue;
    const long pixel = n * pixels + (z * c.size.y + y) * c.size.x + x;
    for (long i = 0; i < c.inner(); ++i)
      for (long o = 0; o < c.filters; ++o)
        body(pixel * c.channels + o / c.outer() * c.inner() + i,
             (tap * c.inner() + i) * c.filters + o, (n * outs + out) * c.filters + o);
  }
}

// One axis of a convolution: taps, stride, dilation, pad, size and size of the output.
void draw_axis(long longest, bool spread, bool deep, long largest, long (&axis)[6]) {
  axis[0] = draw(1, 2) == 1 ? 1 : draw(2, longest);
  axis[1] = spread ? 1 : draw(1, 3);
  axis[2] = spread ? draw(1, 3) : 1;
  const long reach = (axis[0] - 1) * axis[2] + 1;
  axis[3] = draw(0, reach - 1);
  const long after = draw(0, reach - 1), least = most_of(reach - axis[3] - after);
  axis[4] = deep ? least + draw(0, 2) : draw(least, largest);
  axis[5] = (axis[4] + axis[3] + after - reach) / axis[1] + 1;
}

// A filter for each channel, mostly for more than a vector of them.
Conv draw_depthwise() {
  Conv c;
  c.images = draw(1, 3);
  c.channels = c.filters = c.groups = draw(1, 8) == 1 ? 512 : draw(2, 90);
  long y[6], x[6];
  draw_axis(8, false, false, 12, y);
  draw_axis(8, false, false, 24, x);
  c.taps = {1, y[0], x[0]};
  c.stride = {1, y[1], x[1]};
  c.dilation = {1, y[1] == 1 ? draw(1, 3) : 1, 1};
  c.pad = {0, y[3], x[3]};
  c.size = {1, y[4], x[4]};
  const long reach = (c.taps.y - 1) * c.dilation.y + 1;
  if (c.size.y < reach - c.pad.y) c.size.y = reach - c.pad.y;
  c.out = {1, (c.size.y + c.pad.y - reach) / y[1] + 1, x[5]};
  return c;
}

// Of every kind: plain, with wide or narrow groups, over three axes, a filter larger than images.
Conv draw_conv() {
  if (draw(1, 3) == 1) return draw_depthwise();
  Conv c;
  c.images = draw(1, 5);
  const bool deep = draw(1, 4) == 1, planes = draw(1, 3) == 1;
  c.groups = draw(1, 2) == 1 ? 1 : draw(2, 40);
  const long widest = c.groups == 1 ? 40 : draw(0, 1) ? 4 : 12;
  const long inner = draw(1, 2) == 1 ? 1 : draw(1, widest);
  const long outer = c.groups > 1 ? draw(1, widest) : deep ? draw(100, 300) : draw(1, 70);
  c.channels = c.groups * inner + (deep && c.groups == 1 ? draw(0, 2) == 0 ? 250 : 20 : 0);
  c.filters = c.groups * outer;
  const bool spread = draw(1, 4) == 1;
  long z[6] = {1, 1, 1, 0, 1, 1}, y[6], x[6];
  if (planes) draw_axis(3, spread, deep, 5, z);
  draw_axis(5, spread, deep, planes ? 9 : 20, y);
  draw_axis(5, spread, deep, planes ? 12 : 30, x);
  c.taps = {z[0], y[0], x[0]};
  c.stride = {z[1], y[1], x[1]};
  c.dilation = {z[2], y[2], x[2]};
  c.pad = {z[3], y[3], x[3]};
  c.size = {z[4], y[4], x[4]};
  c.out = {z[5], y[5], x[5]};
  return c;
}

void check_conv(const penstock::Kernels& kernels, penstock::Workers& workers) {
  const Conv c = draw_conv();
  const Floats x = numbers(c.images * c.size.all() * c.channels);
  const Floats w = numbers(c.taps.all() * c.inner() * c.filters);
  const Floats dy = numbers(c.images * c.out.all() * c.filters);
  Floats y(dy.size(), NAN), dx(x.size(), NAN), dw(w.size(), NAN);
  Floats held[3], held_grad[3];
  const penstock::Finish finish = draw_finish(held, c.filters, static_cast<long>(y.size()));
  penstock::Finish grad_finish;
  if (penstock::all_are_met(c))
    grad_finish = draw_finish(held_grad, c.channels, static_cast<long>(dx.size()));
  kernels.conv(c, x.data(), w.data(), y.data(), finish, workers);
  kernels.conv_input_grad(c, w.data(), dy.data(), dx.data(), grad_finish, workers);
  kernels.conv_filter_grad(c, x.data(), dy.data(), dw.data(), workers);
  std::vector<double> y_wanted(y.size()), dx_wanted(x.size()), dw_wanted(w.size());
  each_product(c, [&](long i, long j, long k) {
    y_wanted[k] += static_cast<double>(x[i]) * w[j];
    dx_wanted[i] += static_cast<double>(dy[k]) * w[j];
    dw_wanted[j] += static_cast<double>(dy[k]) * x[i];
  });
  apply(finish, c.filters, y_wanted);
  apply(grad_finish, c.channels, dx_wanted);
  compare("conv", y, y_wanted);
  compare("conv_input_grad", dx, dx_wanted);
  compare("conv_filter_grad", dw, dw_wanted);
}

void check_pool(const penstock::Kernels& kernels, penstock::Workers& workers) {
  Pool p;
  p.images = draw(1, 4);
  p.channels = draw(1, 150);
  p.rows = draw(1, 4);
  p.cols = draw(1, 4);
  p.stride_y = draw(1, 3);
  p.stride_x = draw(1, 3);
  p.pad_top = draw(0, p.rows - 1);
  p.pad_left = draw(0, p.cols - 1);
  p.height = draw(p.rows, 12);
  p.width = draw(p.cols, 12);
  p.out_height = (p.height + p.pad_top - p.rows) / p.stride_y + 1;
  p.out_width = (p.width + p.pad_left - p.cols) / p.stride_x + 1;
  const Floats x = numbers(p.images * p.height * p.width * p.channels);
  const Floats dy = numbers(p.images * p.out_height * p.out_width * p.channels);
  Floats top(dy.size(), NAN), mean(dy.size(), NAN), by_top(x.size(), NAN), by_mean(x.size(), NAN);
  kernels.max_pool(p, x.data(), top.data(), workers);
  kernels.avg_pool(p, x.data(), mean.data(), workers);
  kernels.max_pool_grad(p, x.data(), top.data(), dy.data(), by_top.data(), workers);
  kernels.avg_pool_grad(p, dy.data(), by_mean.data(), workers);
  std::vector<double> top_wanted(dy.size()), mean_wanted(dy.size()), by_top_wanted(x.size()),
      by_mean_wanted(x.size());
  for (long n = 0, at = 0; n < p.images; ++n)
    for (long oy = 0; oy < p.out_height; ++oy)
      for (long ox = 0; ox < p.out_width; ++ox)
        for (long c = 0; c < p.channels; ++c, ++at) {
          std::vector<long> seen;
          for (long r = 0; r < p.rows; ++r)
            for (long s = 0; s < p.cols; ++s) {
              const long y = oy * p.stride_y + r - p.pad_top, i = ox * p.stride_x + s - p.pad_left;
              if (y >= 0 && y < p.height && i >= 0 && i < p.width)
                seen.push_back(((n * p.height + y) * p.width + i) * p.channels + c);
            }
          long best = seen[0];
          for (long each : seen) {
            if (x[each] > x[best]) best = each;
            mean_wanted[at] += static_cast<double>(x[each]) / seen.size();
            by_mean_wanted[each] += static_cast<double>(dy[at]) / seen.size();
          }
          top_wanted[at] = x[best];
          by_top_wanted[best] += dy[at];
        }
  compare("max_pool", top, top_wanted);
  compare("avg_pool", mean, mean_wanted);
  compare("max_pool_grad", by_top, by_top_wanted);
  compare("avg_pool_grad", by_mean, by_mean_wanted);
}

// Results must not depend on the number of threads, to the last bit.
void check_threads(const penstock::Kernels& kernels) {
  Conv c = draw_conv();
  c.images = draw(1, 9);
  auto fractions = [](long count) {
    Floats values = numbers(count);
    for (float& each : values) each += 1.0f / draw(3, 99);
    return values;
  };
  const Floats x = fractions(c.images * c.size.all() * c.channels);
  const Floats w = fractions(c.taps.all() * c.inner() * c.filters);
  const Floats dy = fractions(c.images * c.out.all() * c.filters);
  std::vector<Floats> first;
  for (long threads : {1, 2, 5}) {
    ThreadWorkers workers(threads);
    std::vector<Floats> found = {Floats(dy.size()), Floats(x.size()), Floats(w.size()),
                                 Floats(c.images * c.filters * c.filters)};
    kernels.conv(c, x.data(), w.data(), found[0].data(), {}, workers);
    kernels.conv_input_grad(c, w.data(), dy.data(), found[1].data(), {}, workers);
    kernels.conv_filter_grad(c, x.data(), dy.data(), found[2].data(), workers);
    const long pixels = c.out.all();  // dy transposed times dy, for every image
    std::vector<long> starts;
    for (long i = 0; i < c.images; ++i) starts.push_back(i * pixels * c.filters);
    const Product p = {dy.data(), dy.data(), found[3].data(), c.filters, c.filters,     pixels, 1,
                       c.filters, c.filters, 1,               c.images,  starts.data(), starts.data(), {}};
    kernels.product(p, workers);
    if (first.empty()) first = found;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (std::memcmp(first[i].data(), found[i].data(), 4 * found[i].size()) != 0) {
        std::printf("result %zu depends on the threads\n", i);
        ++failures;
      }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const long rounds = count > 1 ? std::atol(arguments[1]) : 60;
  long sets = 0;
  for (const char* name : {"plain", "neon", "avx2", "avx512"}) {
    if (!penstock_use_isa(name)) continue;
    ++sets;
    generator.seed(1);
    for (long round = 0; round < rounds && failures == 0; ++round) {
      ThreadWorkers workers(draw(1, 3));
      check_product(penstock::best_kernels(), workers);
      check_conv(penstock::best_kernels(), workers);
      check_pool(penstock::best_kernels(), workers);
      check_attention(penstock::best_kernels(), workers);
      check_functions(penstock::best_kernels());
      check_layer_norm(penstock::best_kernels(), workers);
      check_update(penstock::best_kernels(), workers);
      check_update_programs(penstock::best_kernels(), workers);
      check_update_products(penstock::best_kernels(), workers);
      if (round % 2 == 0) check_recurrence(penstock::best_kernels());
      if (round % 4 == 0) {
        check_threads(penstock::best_kernels());
        check_attention_threads(penstock::best_kernels());
        check_layer_norm_threads(penstock::best_kernels());
        check_update_threads(penstock::best_kernels());
      }
    }
    std::printf("%s: %s\n", name, failures == 0 ? "as plain loops" : "WRONG");
  }
  return sets == 0 || failures != 0 || !dot_is_right(rounds);
}
