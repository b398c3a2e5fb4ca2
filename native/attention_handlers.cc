// The handlers of attention and its gradients.
#include <utility>

#include "handling.h"

namespace {

using penstock::Attention;
using penstock::Place;
using Floats = ffi::Buffer<ffi::F32>;

// Interleaved: in [batch, heads, rows, columns] the heads of a row lie side by side.
Place place_of(Dims dims, bool interleaved) {
  need(!interleaved || dims.size() == 4, "heads as the second of four axes");
  const long rows = dims[dims.size() - 2], columns = dims[dims.size() - 1];
  if (!interleaved) return {1, rows * columns, 0, columns};
  const long heads = dims[1] > 0 ? dims[1] : 1;
  return {heads, heads * rows * columns, columns, heads * columns};
}

// q[..., queries, depth], k[..., keys, depth], v[..., keys, width], out[..., queries, width],
// statistics[..., queries, 2], a mask of whole rows that repeats to the scores.
void need_shapes(Dims q, Dims k, Dims v, Dims out, Dims statistics) {
  const std::size_t rank = q.size();
  need(rank >= 2 && k.size() == rank && v.size() == rank && out.size() == rank &&
           statistics.size() == rank,
       "queries, keys and values of one rank");
  for (std::size_t i = 0; i + 2 < rank; ++i)
    need(q[i] == k[i] && q[i] == v[i] && q[i] == out[i] && q[i] == statistics[i],
         "leading axes that are alike");
  need(back(q, 1) == back(k, 1) && back(k, 2) == back(v, 2), "a column for each, a value for each key");
  need(back(q, 2) == back(out, 2) && back(v, 1) == back(out, 1) && back(statistics, 2) == back(q, 2) &&
           back(statistics, 1) == 2,
       "a result and two statistics for each query");
}

void need_mask(ffi::AnyBuffer mask, Dims q, Dims k, std::int32_t masking) {
  need(masking >= penstock::MASK_NONE && masking <= penstock::MASK_ADDS, "a kind of mask");
  if (masking == penstock::MASK_NONE) return;
  const Dims dims = mask.dimensions();
  need(mask.element_type() == (masking == penstock::MASK_CHOOSES ? ffi::PRED : ffi::F32),
       "a mask of booleans or floats");
  need(dims.size() >= 2 && dims.size() <= q.size() && back(dims, 1) == back(k, 2) &&
           (back(dims, 2) == 1 || back(dims, 2) == back(q, 2)),
       "a mask of whole rows");
}

// Where the mask of each entry begins.
std::vector<long> mask_begins(ffi::AnyBuffer mask, Dims q, std::int32_t masking) {
  return starts(masking == penstock::MASK_NONE ? q : mask.dimensions(), q);
}

Attention attention_of(Floats q, Floats k, Floats v, ffi::AnyBuffer mask, std::int32_t masking,
                       Floats scale, float low, bool interleaved, const std::vector<long>& begins) {
  need(scale.element_count() == 1, "one scale");
  const Dims left = q.dimensions(), right = k.dimensions(), held = mask.dimensions();
  const std::size_t rank = left.size();
  Attention a = {};
  a.entries = static_cast<long>(begins.size());
  a.queries = left[rank - 2];
  a.keys = right[rank - 2];
  a.depth = left[rank - 1];
  a.width = v.dimensions()[rank - 1];
  a.q = q.typed_data();
  a.k = k.typed_data();
  a.v = v.typed_data();
  a.query_place = place_of(left, interleaved);
  a.key_place = place_of(right, interleaved);
  a.value_place = place_of(v.dimensions(), interleaved);
  a.masking = masking;
  a.mask = mask.untyped_data();
  a.mask_start = begins.data();
  a.mask_row = held[held.size() - 2] != 1 ? held[held.size() - 1] : 0;
  a.scale = *scale.typed_data();
  a.low = low;
  return a;
}

ffi::Error attention(ffi::ThreadPool pool, Floats q, Floats k, Floats v, ffi::AnyBuffer mask,
                     Floats scale, std::int32_t masking, float low, bool interleaved,
                     ffi::Result<Floats> out, ffi::Result<Floats> statistics) {
  return guarded([&] {
    need_shapes(q.dimensions(), k.dimensions(), v.dimensions(), out->dimensions(),
                statistics->dimensions());
    need_mask(mask, q.dimensions(), k.dimensions(), masking);
    if (has_none(out->dimensions())) return;
    need(!has_none(q.dimensions()) && !has_none(k.dimensions()), "columns, and keys to choose among");
    const std::vector<long> begins = mask_begins(mask, q.dimensions(), masking);
    Attention a = attention_of(q, k, v, mask, masking, scale, low, interleaved, begins);
    a.out = out->typed_data();
    a.out_place = place_of(out->dimensions(), interleaved);
    a.statistics = statistics->typed_data();
    PoolWorkers workers(pool);
    penstock::best_kernels().attention(a, workers);
  });
}

ffi::Error attention_grad(ffi::ThreadPool pool, Floats q, Floats k, Floats v, ffi::AnyBuffer mask,
                          Floats scale, Floats statistics, Floats d_out, std::int32_t masking,
                          float low, bool interleaved, ffi::Result<Floats> d_q,
                          ffi::Result<Floats> d_k, ffi::Result<Floats> d_v) {
  return guarded([&] {
    need_shapes(q.dimensions(), k.dimensions(), v.dimensions(), d_out.dimensions(),
                statistics.dimensions());
    need_mask(mask, q.dimensions(), k.dimensions(), masking);
    need(alike(q.dimensions(), d_q->dimensions()) && alike(k.dimensions(), d_k->dimensions()) &&
             alike(v.dimensions(), d_v->dimensions()),
         "gradients as what they are of");
    need(!has_none(q.dimensions()) && !has_none(k.dimensions()) && !has_none(v.dimensions()),
         "queries, keys and values that are not empty");
    const std::vector<long> begins = mask_begins(mask, q.dimensions(), masking);
    Attention a = attention_of(q, k, v, mask, masking, scale, low, interleaved, begins);
    a.out_place = place_of(d_out.dimensions(), interleaved);
    a.statistics = statistics.typed_data();
    const penstock::AttentionGrad grad = {d_out.typed_data(), d_q->typed_data(),
                                          d_k->typed_data(), d_v->typed_data()};
    PoolWorkers workers(pool);
    penstock::best_kernels().attention_grad(a, grad, workers);
  });
}

auto call() {
  return ffi::Ffi::Bind()
      .Ctx<ffi::ThreadPool>()
      .Arg<Floats>()
      .Arg<Floats>()
      .Arg<Floats>()
      .Arg<ffi::AnyBuffer>()
      .Arg<Floats>();
}

template <typename Binding>
auto with_attributes(Binding binding) {
  return std::move(binding)
      .template Attr<std::int32_t>("masking")
      .template Attr<float>("low")
      .template Attr<bool>("interleaved");
}

}  // namespace

PENSTOCK_HANDLER(penstock_attention, attention,
                 with_attributes(call()).Ret<Floats>().Ret<Floats>());
PENSTOCK_HANDLER(penstock_attention_grad, attention_grad,
                 with_attributes(call().Arg<Floats>().Arg<Floats>())
                     .Ret<Floats>()
                     .Ret<Floats>()
                     .Ret<Floats>());
