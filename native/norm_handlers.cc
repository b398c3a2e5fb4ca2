// The handlers of layer normalisation and its gradients.
#include "handling.h"

namespace {

using Floats = ffi::Buffer<ffi::F32>;

const std::int32_t GAIN = 1, BIAS = 2, BESIDE = 4;  // of `uses`: what is not there is any buffer

// Its numbers, as many as `count`, or none.
const float* used(Floats buffer, std::int32_t uses, std::int32_t what, long count) {
  if ((uses & what) == 0) return nullptr;
  need(static_cast<long>(buffer.element_count()) == count, "a gain and a bias of each column");
  return buffer.typed_data();
}

long width_of(Dims dims) {
  need(dims.size() > 0, "rows");
  return back(dims, 1);
}

void need_statistics(const Floats& mean, const Floats& inverse, long rows) {
  need(static_cast<long>(mean.element_count()) == rows &&
           static_cast<long>(inverse.element_count()) == rows,
       "a mean and an inverse of each row");
}

long rows_of(Dims dims) {
  long rows = 1;
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) rows *= dims[i];
  return rows;
}

ffi::Error layer_norm(ffi::ThreadPool pool, Floats x, Floats gain, Floats bias, float epsilon,
                      std::int32_t uses, ffi::Result<Floats> y, ffi::Result<Floats> mean,
                      ffi::Result<Floats> inverse) {
  return guarded([&] {
    penstock::LayerNorm n;
    n.width = width_of(x.dimensions());
    n.rows = rows_of(x.dimensions());
    need(alike(x.dimensions(), y->dimensions()), "a result as the array");
    need_statistics(*mean, *inverse, n.rows);
    n.x = x.typed_data();
    n.gain = used(gain, uses, GAIN, n.width);
    n.bias = used(bias, uses, BIAS, n.width);
    n.epsilon = epsilon;
    n.y = y->typed_data();
    n.mean = mean->typed_data();
    n.inverse = inverse->typed_data();
    PoolWorkers workers(pool);
    penstock::best_kernels().layer_norm(n, workers);
  });
}

ffi::Error layer_norm_grad(ffi::ThreadPool pool, Floats x, Floats mean, Floats inverse, Floats gain,
                           Floats grad, Floats beside, std::int32_t uses, ffi::Result<Floats> by_x,
                           ffi::Result<Floats> by_gain, ffi::Result<Floats> by_bias) {
  return guarded([&] {
    penstock::LayerNormGrad n;
    n.width = width_of(x.dimensions());
    n.rows = rows_of(x.dimensions());
    need(alike(x.dimensions(), grad.dimensions()) && alike(x.dimensions(), by_x->dimensions()),
         "gradients as the array");
    need(static_cast<long>(by_gain->element_count()) == n.width &&
             static_cast<long>(by_bias->element_count()) == n.width,
         "gradients of each column");
    need_statistics(mean, inverse, n.rows);
    n.x = x.typed_data();
    n.mean = mean.typed_data();
    n.inverse = inverse.typed_data();
    n.gain = used(gain, uses, GAIN, n.width);
    n.grad = grad.typed_data();
    n.beside = used(beside, uses, BESIDE, n.rows * n.width);
    n.by_x = by_x->typed_data();
    n.by_gain = by_gain->typed_data();
    n.by_bias = by_bias->typed_data();
    PoolWorkers workers(pool);
    penstock::best_kernels().layer_norm_grad(n, workers);
  });
}

}  // namespace

PENSTOCK_HANDLER(penstock_layer_norm, layer_norm,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Attr<float>("epsilon")
                     .Attr<std::int32_t>("uses")
                     .Ret<Floats>()
                     .Ret<Floats>()
                     .Ret<Floats>());
PENSTOCK_HANDLER(penstock_layer_norm_grad, layer_norm_grad,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Attr<std::int32_t>("uses")
                     .Ret<Floats>()
                     .Ret<Floats>()
                     .Ret<Floats>());
