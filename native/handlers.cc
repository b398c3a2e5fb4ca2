// The handlers that XLA calls; sizes come from the buffers themselves.
#include "handling.h"

namespace {

using Floats = ffi::Buffer<ffi::F32>;

ffi::Error product(ffi::ThreadPool pool, Floats a, Floats b, bool adj_a, bool adj_b,
                   ffi::Result<Floats> c) {
  return guarded([&] {
    const Dims dims = c->dimensions();
    if (has_none(dims)) return;
    const auto a_start = starts(a.dimensions(), dims), b_start = starts(b.dimensions(), dims);
    penstock::Product p = product_of(a, b, dims, adj_a, adj_b);
    p.c = c->typed_data();
    p.batch = static_cast<long>(a_start.size());
    p.a_start = a_start.data();
    p.b_start = b_start.data();
    bool one_b = !adj_a && !has_none(a.dimensions());  // then the rows of all a's follow each other: one product
    for (long i = 0; i < p.batch && one_b; ++i)
      one_b = b_start[i] == 0 && a_start[i] == i * p.m * p.k;
    if (one_b) {
      p.m *= p.batch;
      p.batch = 1;
    }
    PoolWorkers workers(pool);
    penstock::best_kernels().product(p, workers);
  });
}

void need_activation(std::int32_t activation) {
  need(activation >= penstock::NONE && activation <= penstock::RELU6, "an activation");
}

// Of two matrices. uses: 1 when there is a bias, 2 when there is something beside the result, 4 when
// there is a gate; what is not there is any buffer.
ffi::Error finished_product(ffi::ThreadPool pool, Floats a, Floats b, Floats bias, Floats beside,
                            Floats gate, bool adj_a, bool adj_b, std::int32_t uses,
                            std::int32_t activation, ffi::Result<Floats> c) {
  return guarded([&] {
    const long start = 0;
    const Dims dims = c->dimensions();
    need(dims.size() == 2 && a.dimensions().size() == 2 && b.dimensions().size() == 2, "matrices");
    penstock::Product p = product_of(a, b, dims, adj_a, adj_b);
    need((uses & 1) == 0 || static_cast<long>(bias.element_count()) == p.n, "a bias of each column");
    need((uses & 2) == 0 || alike(beside.dimensions(), dims), "an array as the result beside it");
    need((uses & 4) == 0 || alike(gate.dimensions(), dims), "a gate as the result");
    need(!has_none(a.dimensions()), "sums of something");
    need_activation(activation);
    p.c = c->typed_data();
    p.batch = 1;
    p.a_start = p.b_start = &start;
    if ((uses & 1) != 0) p.finish.bias = bias.typed_data();
    if ((uses & 2) != 0) p.finish.beside = beside.typed_data();
    if ((uses & 4) != 0) p.finish.gate = gate.typed_data();
    p.finish.activation = activation;
    PoolWorkers workers(pool);
    penstock::best_kernels().product(p, workers);
  });
}

ffi::Error conv(ffi::ThreadPool pool, Floats x, Floats w, Dims window, ffi::Result<Floats> y) {
  return guarded([&] {
    PoolWorkers workers(pool);
    penstock::best_kernels().conv(conv_of(x.dimensions(), w.dimensions(), y->dimensions(), window),
                                  x.typed_data(), w.typed_data(), y->typed_data(), {}, workers);
  });
}

// uses: 1 when there is a bias, 2 when there is something beside the result; what is not there is
// any buffer.
penstock::Finish finish_of(Floats bias, Floats beside, Floats to, std::int32_t uses,
                           std::int32_t activation) {
  const Dims dims = to.dimensions();
  need(dims.size() > 0 && ((uses & 1) == 0 || static_cast<long>(bias.element_count()) == back(dims, 1)),
       "a bias of each filter");
  need((uses & 2) == 0 || alike(beside.dimensions(), dims), "an array as the result beside it");
  need_activation(activation);
  penstock::Finish finish;
  if ((uses & 1) != 0) finish.bias = bias.typed_data();
  if ((uses & 2) != 0) finish.beside = beside.typed_data();
  finish.activation = activation;
  return finish;
}

ffi::Error finished_conv(ffi::ThreadPool pool, Floats x, Floats w, Floats bias, Floats beside,
                         Dims window, std::int32_t uses, std::int32_t activation,
                         ffi::Result<Floats> y) {
  return guarded([&] {
    const penstock::Finish finish = finish_of(bias, beside, *y, uses, activation);
    PoolWorkers workers(pool);
    penstock::best_kernels().conv(conv_of(x.dimensions(), w.dimensions(), y->dimensions(), window),
                                  x.typed_data(), w.typed_data(), y->typed_data(), finish, workers);
  });
}

// Of a gradient by the input, which has strides or dilations alone.
penstock::Conv gradient_of(Dims x, Dims w, Dims y, Dims window) {
  const penstock::Conv c = conv_of(x, w, y, window);
  const auto is_one = [](const penstock::Axes& of) { return of.z == 1 && of.y == 1 && of.x == 1; };
  need(is_one(c.stride) || is_one(c.dilation), "strides or dilations of 1");
  return c;
}

ffi::Error conv_input_grad(ffi::ThreadPool pool, Floats w, Floats dy, Dims window,
                           ffi::Result<Floats> dx) {
  return guarded([&] {
    PoolWorkers workers(pool);
    penstock::best_kernels().conv_input_grad(
        gradient_of(dx->dimensions(), w.dimensions(), dy.dimensions(), window), w.typed_data(),
        dy.typed_data(), dx->typed_data(), {}, workers);
  });
}

// uses: 2 when there is something beside the result, 4 when there is a gate; what is not there is
// any buffer.
ffi::Error finished_conv_input_grad(ffi::ThreadPool pool, Floats w, Floats dy, Floats beside,
                                    Floats gate, Dims window, std::int32_t uses,
                                    ffi::Result<Floats> dx) {
  return guarded([&] {
    penstock::Finish finish;
    if ((uses & 2) != 0) finish.beside = beside.typed_data();
    if ((uses & 4) != 0) finish.gate = gate.typed_data();
    const Dims dims = dx->dimensions();
    need((uses & 2) == 0 || alike(beside.dimensions(), dims), "an array as the result beside it");
    need((uses & 4) == 0 || alike(gate.dimensions(), dims), "a gate as the result");
    const penstock::Conv c = gradient_of(dims, w.dimensions(), dy.dimensions(), window);
    need(uses == 0 || penstock::all_are_met(c), "a tap for each pixel");
    PoolWorkers workers(pool);
    penstock::best_kernels().conv_input_grad(c, w.typed_data(), dy.typed_data(), dx->typed_data(),
                                             finish, workers);
  });
}

ffi::Error conv_filter_grad(ffi::ThreadPool pool, Floats x, Floats dy, Dims window,
                            ffi::Result<Floats> dw) {
  return guarded([&] {
    PoolWorkers workers(pool);
    penstock::best_kernels().conv_filter_grad(
        conv_of(x.dimensions(), dw->dimensions(), dy.dimensions(), window), x.typed_data(),
        dy.typed_data(), dw->typed_data(), workers);
  });
}

// window: sizes, strides and the pads before, each along y and x. All leading axes count images.
penstock::Pool pool_of(Dims x, Dims y, Dims window) {
  need(x.size() >= 3 && x.size() == y.size(), "images");
  need(window.size() == 6, "sizes, strides and pads along two axes");
  for (std::size_t i = 0; i < 6; ++i)
    need(window[i] >= (i < 4) && window[i] <= MOST_STEP, "steps above, pads from zero on");
  penstock::Pool p;
  const std::size_t lead = x.size() - 3;
  for (std::size_t i = 0; i <= lead + 2; ++i)
    need(x[i] == y[i] || i == lead || i == lead + 1, "a result for each image and channel");
  p.images = 1;
  for (std::size_t i = 0; i < lead; ++i) p.images *= x[i];
  p.height = x[lead];
  p.width = x[lead + 1];
  p.channels = x[lead + 2];
  p.out_height = y[lead];
  p.out_width = y[lead + 1];
  p.rows = window[0];
  p.cols = window[1];
  p.stride_y = window[2];
  p.stride_x = window[3];
  p.pad_top = window[4];
  p.pad_left = window[5];
  return p;
}

ffi::Error max_pool(ffi::ThreadPool pool, Floats x, Dims window, ffi::Result<Floats> y) {
  return guarded([&] {
    PoolWorkers workers(pool);
    penstock::best_kernels().max_pool(pool_of(x.dimensions(), y->dimensions(), window),
                                      x.typed_data(), y->typed_data(), workers);
  });
}

ffi::Error avg_pool(ffi::ThreadPool pool, Floats x, Dims window, ffi::Result<Floats> y) {
  return guarded([&] {
    PoolWorkers workers(pool);
    penstock::best_kernels().avg_pool(pool_of(x.dimensions(), y->dimensions(), window),
                                      x.typed_data(), y->typed_data(), workers);
  });
}

ffi::Error max_pool_grad(ffi::ThreadPool pool, Floats x, Floats y, Floats dy, Dims window,
                         ffi::Result<Floats> dx) {
  return guarded([&] {
    need(alike(y.dimensions(), dy.dimensions()) && alike(x.dimensions(), dx->dimensions()),
         "gradients as what they are of");
    PoolWorkers workers(pool);
    penstock::best_kernels().max_pool_grad(pool_of(x.dimensions(), y.dimensions(), window),
                                           x.typed_data(), y.typed_data(), dy.typed_data(),
                                           dx->typed_data(), workers);
  });
}

ffi::Error avg_pool_grad(ffi::ThreadPool pool, Floats dy, Dims window, ffi::Result<Floats> dx) {
  return guarded([&] {
    PoolWorkers workers(pool);
    penstock::best_kernels().avg_pool_grad(pool_of(dx->dimensions(), dy.dimensions(), window),
                                           dy.typed_data(), dx->typed_data(), workers);
  });
}

auto window_call() { return ffi::Ffi::Bind().Ctx<ffi::ThreadPool>(); }

}  // namespace

PENSTOCK_HANDLER(penstock_product, product,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Attr<bool>("adj_a")
                     .Attr<bool>("adj_b")
                     .Ret<Floats>());

PENSTOCK_HANDLER(penstock_finished_product, finished_product,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Attr<bool>("adj_a")
                     .Attr<bool>("adj_b")
                     .Attr<std::int32_t>("uses")
                     .Attr<std::int32_t>("activation")
                     .Ret<Floats>());
PENSTOCK_HANDLER(penstock_conv, conv,
                 window_call().Arg<Floats>().Arg<Floats>().Attr<Dims>("window").Ret<Floats>());
PENSTOCK_HANDLER(penstock_finished_conv, finished_conv,
                 window_call()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Attr<Dims>("window")
                     .Attr<std::int32_t>("uses")
                     .Attr<std::int32_t>("activation")
                     .Ret<Floats>());
PENSTOCK_HANDLER(penstock_conv_input_grad, conv_input_grad,
                 window_call().Arg<Floats>().Arg<Floats>().Attr<Dims>("window").Ret<Floats>());
PENSTOCK_HANDLER(penstock_finished_conv_input_grad, finished_conv_input_grad,
                 window_call()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Attr<Dims>("window")
                     .Attr<std::int32_t>("uses")
                     .Ret<Floats>());
PENSTOCK_HANDLER(penstock_conv_filter_grad, conv_filter_grad,
                 window_call().Arg<Floats>().Arg<Floats>().Attr<Dims>("window").Ret<Floats>());
PENSTOCK_HANDLER(penstock_max_pool, max_pool,
                 window_call().Arg<Floats>().Attr<Dims>("window").Ret<Floats>());
PENSTOCK_HANDLER(penstock_avg_pool, avg_pool,
                 window_call().Arg<Floats>().Attr<Dims>("window").Ret<Floats>());
PENSTOCK_HANDLER(
    penstock_max_pool_grad, max_pool_grad,
    window_call().Arg<Floats>().Arg<Floats>().Arg<Floats>().Attr<Dims>("window").Ret<Floats>());
PENSTOCK_HANDLER(penstock_avg_pool_grad, avg_pool_grad,
                 window_call().Arg<Floats>().Attr<Dims>("window").Ret<Floats>());

// The version of XLA's interface that the handlers were compiled for: 1000 * major + minor.
extern "C" __attribute__((visibility("default"))) int penstock_interface() { return 1000 * XLA_FFI_API_MAJOR + XLA_FFI_API_MINOR; }

// What the functions above mean and how they are called; penstock/core/native.py states the same
// number, as REVISION, and refuses a library that states another one.
extern "C" __attribute__((visibility("default"))) int penstock_revision() { return 17; }
