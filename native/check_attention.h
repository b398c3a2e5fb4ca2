// Attention beside plain loops in double. Part of check.cc.
#pragma once

#include <algorithm>
#include <cstring>

#include "check_tools.h"

namespace {

// What a call of attention is made of; `call` points into it.
struct AttentionCase {
  penstock::Attention call;
  Floats q, k, v, d_out, out, statistics, d_q, d_k, d_v, added;
  std::vector<char> kept;  // exactly as large as the mask
  std::vector<long> starts;
  long heads;
  bool interleaved;

  penstock::Place place(long rows, long columns) const {
    if (!interleaved) return {1, rows * columns, 0, columns};
    return {heads, heads * rows * columns, columns, heads * columns};
  }
  bool keeps(long entry, long row, long column) const {
    return call.masking != penstock::MASK_CHOOSES ||
           kept[starts[entry] + row * call.mask_row + column] != 0;
  }
  double plus(long entry, long row, long column) const {
    if (call.masking != penstock::MASK_ADDS) return 0;
    return added[starts[entry] + row * call.mask_row + column];
  }
};

void draw_mask(AttentionCase& c) {
  penstock::Attention& a = c.call;
  a.masking = static_cast<int>(draw(0, 2));
  const bool one_row = draw(0, 2) == 0, shared = draw(0, 1), causal = draw(0, 1);
  const long rows = one_row ? 1 : a.queries, size = rows * a.keys;
  a.mask_row = one_row ? 0 : a.keys;
  for (long entry = 0; entry < a.entries; ++entry) c.starts.push_back(shared ? 0 : entry * size);
  const long count = size * (shared ? 1 : a.entries);
  c.added = numbers(a.masking == penstock::MASK_ADDS ? count : 0);
  c.kept.resize(a.masking == penstock::MASK_CHOOSES ? count : 0);
  for (long i = 0; i < static_cast<long>(c.kept.size()); ++i)
    c.kept[i] = causal ? i % a.keys <= i / a.keys % rows : draw(0, 3) == 0;
  a.mask = a.masking == penstock::MASK_ADDS ? static_cast<const void*>(c.added.data())
                                            : static_cast<const void*>(c.kept.data());
  const float lows[] = {-1e9f, 0.5f, -INFINITY};
  a.low = lows[draw(0, causal ? 2 : 1)];  // a row of infinities alone is NaN: the causal ones are none
}

void draw_attention(AttentionCase& c) {
  penstock::Attention& a = c.call;
  a = {};
  c.heads = draw(1, 3);
  c.interleaved = draw(0, 1);
  a.entries = c.heads * draw(1, 3);
  a.queries = draw(1, 100);
  a.keys = draw(0, 1) ? a.queries : draw(1, 150);
  a.depth = draw(1, 70);
  a.width = draw(0, 1) ? a.depth : draw(1, 70);
  a.scale = 0.25f / static_cast<float>(a.depth);
  c.q = numbers(a.entries * a.queries * a.depth);
  c.k = numbers(a.entries * a.keys * a.depth);
  c.v = numbers(a.entries * a.keys * a.width);
  c.d_out = numbers(a.entries * a.queries * a.width);
  c.out.assign(c.d_out.size(), NAN);
  c.statistics.assign(a.entries * a.queries * 2, NAN);
  c.d_q.assign(c.q.size(), NAN);
  c.d_k.assign(c.k.size(), NAN);
  c.d_v.assign(c.v.size(), NAN);
  draw_mask(c);
  a.q = c.q.data();
  a.k = c.k.data();
  a.v = c.v.data();
  a.out = c.out.data();
  a.statistics = c.statistics.data();
  a.mask_start = c.starts.data();
  a.query_place = c.place(a.queries, a.depth);
  a.key_place = c.place(a.keys, a.depth);
  a.value_place = c.place(a.keys, a.width);
  a.out_place = c.place(a.queries, a.width);
}

void run_attention(const penstock::Kernels& kernels, AttentionCase& c, penstock::Workers& workers) {
  kernels.attention(c.call, workers);
  kernels.attention_grad(c.call, {c.d_out.data(), c.d_q.data(), c.d_k.data(), c.d_v.data()},
                         workers);
}

struct Wanted {
  std::vector<double> out, d_q, d_k, d_v;
};

// One row of queries: its weights, then what they give.
void plain_row(const AttentionCase& c, long entry, long row, Wanted& wanted) {
  const penstock::Attention& a = c.call;
  const long q = a.query_place.start(entry) + row * a.query_place.row;
  const long o = a.out_place.start(entry) + row * a.out_place.row;
  const auto key = [&](long j) { return a.key_place.start(entry) + j * a.key_place.row; };
  const auto value = [&](long j) { return a.value_place.start(entry) + j * a.value_place.row; };
  std::vector<double> weights(a.keys), by_weights(a.keys);
  double sum = 0, top = -INFINITY, inner = 0;
  for (long j = 0; j < a.keys; ++j) {
    double score = 0;
    for (long d = 0; d < a.depth; ++d) score += static_cast<double>(c.q[q + d]) * c.k[key(j) + d];
    weights[j] = c.keeps(entry, row, j) ? score * a.scale + c.plus(entry, row, j) : a.low;
    top = std::max(top, weights[j]);
  }
  for (double& each : weights) sum += each = std::exp(each - top);
  for (long j = 0; j < a.keys; ++j) {
    weights[j] /= sum;
    for (long d = 0; d < a.width; ++d) {
      wanted.out[o + d] += weights[j] * c.v[value(j) + d];
      by_weights[j] += static_cast<double>(c.d_out[o + d]) * c.v[value(j) + d];
      wanted.d_v[value(j) + d] += weights[j] * c.d_out[o + d];
    }
    inner += weights[j] * by_weights[j];
  }
  for (long j = 0; j < a.keys; ++j) {
    if (!c.keeps(entry, row, j)) continue;
    const double change = (by_weights[j] - inner) * weights[j] * a.scale;
    for (long d = 0; d < a.depth; ++d) {
      wanted.d_q[q + d] += change * c.k[key(j) + d];
      wanted.d_k[key(j) + d] += change * c.q[q + d];
    }
  }
}

void check_attention(const penstock::Kernels& kernels, penstock::Workers& workers) {
  AttentionCase c;
  draw_attention(c);
  run_attention(kernels, c, workers);
  const auto zeros = [](const Floats& like) { return std::vector<double>(like.size()); };
  Wanted wanted = {zeros(c.out), zeros(c.d_q), zeros(c.d_k), zeros(c.d_v)};
  for (long entry = 0; entry < c.call.entries; ++entry)
    for (long row = 0; row < c.call.queries; ++row) plain_row(c, entry, row, wanted);
  compare("attention", c.out, wanted.out);
  compare("attention_grad by queries", c.d_q, wanted.d_q);
  compare("attention_grad by keys", c.d_k, wanted.d_k);
  compare("attention_grad by values", c.d_v, wanted.d_v);
}

void check_attention_threads(const penstock::Kernels& kernels) {
  AttentionCase c;
  draw_attention(c);
  std::vector<Floats> first;
  for (long threads : {1, 2, 5}) {
    ThreadWorkers workers(threads);
    run_attention(kernels, c, workers);
    const std::vector<Floats> found = {c.out, c.statistics, c.d_q, c.d_k, c.d_v};
    if (first.empty()) first = found;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (std::memcmp(first[i].data(), found[i].data(), 4 * found[i].size()) != 0) {
        std::printf("attention: result %zu depends on the threads\n", i);
        ++failures;
      }
  }
}

}  // namespace
