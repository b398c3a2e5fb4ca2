// Connectionist temporal classification of batches: the losses, best paths and searches of ctc.h, row by
// row. Part of arrays.cc.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "ctc.h"
#include "threads.h"

namespace penstock {
namespace {

// `sparse` is TensorFlow's CTCLoss, for which what underflows is impossible. Returns a row whose
// lengths or logits are not served, or 0 where a label is no class.
template <typename Element>
int64_t ctc(const Frames<Element> &frames, const int64_t *labels, int64_t number,
            const int64_t *starts, const int64_t *ends, const int64_t *lengths, int64_t blank,
            bool merge, bool ignore, bool sparse, int64_t threads, Element *loss,
            Element *gradient) {
  for (int64_t i = 0; i < frames.batch; ++i)
    if (lengths[i] < 0 || lengths[i] > frames.time || starts[i] < 0 || ends[i] < starts[i] ||
        ends[i] > number)
      return i;
  if (blank < 0 || blank >= frames.classes) return 0;
  for (int64_t i = 0; i < number; ++i)
    if (labels[i] < 0 || labels[i] >= frames.classes) return 0;
  std::atomic<int64_t> far{-1};
  constexpr int64_t kShare = 16;
  const int64_t shares = (frames.batch + kShare - 1) / kShare;
  const int64_t ran = in_parallel_with_memory(shares, threads, [=, &far](int64_t share) {
    Alignments<Element> alignments(frames, blank, merge, sparse, gradient);
    const int64_t last = std::min(frames.batch, (share + 1) * kShare);
    for (int64_t i = share * kShare; i < last; ++i) {
      const int64_t count = ends[i] - starts[i];
      if (ignore && count > lengths[i]) {
        alignments.clear(i, 0);
        loss[i] = 0;
        continue;
      }
      loss[i] = static_cast<Element>(
          alignments.of(i, labels + starts[i], count, lengths[i]));
      if (alignments.far()) {
        far = i;
        return;
      }
    }
  });
  return ran == -1 ? far.load() : ran;
}

template <typename Element>
int64_t ctc_sparse(const Frames<Element> &frames, const int64_t *indices, const int32_t *values,
                   int64_t number, const int32_t *lengths, int64_t blank, bool collapse, bool merge,
                   bool ignore, int64_t threads, Element *loss, Element *gradient) {
  std::vector<int64_t> labels, ends;
  if (!labels_by_row(indices, values, number, frames.batch, frames.classes, blank, collapse, labels,
                     ends))
    return 0;
  const std::vector<int64_t> wide(lengths, lengths + frames.batch);
  for (int64_t i = 0; i < frames.batch; ++i)
    if (!ignore && ends[frames.batch + i] - ends[i] > lengths[i]) return i;
  return ctc(frames, labels.data(), number, ends.data(), ends.data() + frames.batch, wide.data(),
             blank, merge, ignore, true, threads, loss, gradient);
}

template <typename Element>
int64_t ctc_best(const Frames<Element> &frames, const int32_t *lengths, int64_t blank, bool merge,
                 int64_t *indices, int64_t *labels, int64_t *counts, Element *scores) {
  int64_t found = 0;
  for (int64_t row = 0; row < frames.batch; ++row) {
    Element score = 0;
    int64_t last = -1, place = 0;
    for (int64_t t = 0; t < std::min<int64_t>(lengths[row], frames.time); ++t) {
      const Element *logits = frames.at(t, row);
      Element most = logits[0];
      int64_t best = 0;
      bool numbers = most == most;
      for (int64_t c = 1; c < frames.classes; ++c) {
        numbers &= logits[c] == logits[c];
        best = logits[c] > most ? c : best;
        most = logits[c] > most ? logits[c] : most;
      }
      if (!numbers) return -2;
      score += most;
      if (best != blank && !(merge && best == last)) {
        indices[2 * found] = row;
        indices[2 * found + 1] = place++;
        labels[found++] = best;
      }
      last = best;
    }
    counts[row] = place;
    scores[row] = -score;
  }
  return found;
}

// The labels that a search finds: `paths` for each row. -1, or the first row that has fewer; then
// scores[0] is their number.
inline int64_t ctc_search(const double *frames, int64_t time, int64_t batch, int64_t classes,
                          const int32_t *lengths, int64_t width, int64_t paths, int64_t threads,
                          int64_t *labels, int64_t *counts, double *scores) {
  std::atomic<int64_t> lacking{batch};
  std::vector<int64_t> found;
  const int64_t ran = with_memory([&] {
    found.resize(static_cast<size_t>(batch));
    return in_parallel_with_memory(batch, threads, [&](int64_t row) {
      Search search(classes, width);
      const int64_t count = std::max<int64_t>(0, std::min<int64_t>(lengths[row], time));
      search.run(frames + row * classes, count, batch * classes);
      found[row] = search.found();
      for (int64_t k = 0; k < std::min(paths, found[row]); ++k) {
        counts[k * batch + row] = search.text(k, labels + (k * batch + row) * time);
        scores[row * paths + k] = search.score(k);
      }
      int64_t first = lacking;
      while (found[row] < paths && row < first && !lacking.compare_exchange_weak(first, row)) {
      }
    });
  });
  if (ran != -1 || lacking == batch) return ran;
  scores[0] = static_cast<double>(found[lacking]);
  return lacking;
}

}  // namespace
}  // namespace penstock
