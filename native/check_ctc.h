// Checks of ctc.h and softmax.h beside plain loops, for check_arrays.cc, whose generator they draw from.
#pragma once

namespace {

// The loss is minus the logarithm of the sum over all paths of classes, and derivatives of a frame,
// whose softmax adds up to 1, add up to 0.
bool check_ctc(Random &random) {
  const int64_t time = 1 + below(random, 5), classes = 2 + below(random, 2), blank = below(random, classes);
  const int64_t size = 1 + below(random, 3);
  std::vector<double> logits(time * classes), gradient(time * classes);
  for (double &each : logits) each = static_cast<double>(below(random, 7)) - 3;
  std::vector<int64_t> labels(size);
  for (int64_t &each : labels) each = (blank + 1 + below(random, classes - 1)) % classes;
  const int64_t splits[] = {0, size}, lengths[] = {time};
  double loss, total = 0;
  if (penstock_arrays_ctc(1, logits.data(), time, 1, classes, labels.data(), size, splits, lengths, blank, 1,
                          1, &loss, gradient.data()) != -1)
    return false;
  int64_t paths = 1;
  for (int64_t t = 0; t < time; ++t) paths *= classes;
  for (int64_t path = 0; path < paths; ++path) {
    std::vector<int64_t> text;
    int64_t rest = path, last = blank;
    double weight = 1;
    for (int64_t t = 0; t < time; ++t, rest /= classes) {
      const int64_t label = rest % classes;
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(logits[t * classes + c]);
      weight *= std::exp(logits[t * classes + label]) / sum;
      if (label != blank && label != last) text.push_back(label);
      last = label;
    }
    if (text == labels) total += weight;
  }
  if (total > 0 ? std::fabs(loss + std::log(total)) > 1e-9 : loss != INFINITY) return false;
  for (int64_t t = 0; total > 0 && t < time; ++t) {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += gradient[t * classes + c];
    if (std::fabs(sum) > 1e-9) return false;
  }
  // A search as wide as there are prefixes finds this text with this probability.
  const int32_t frames[] = {static_cast<int32_t>(time)};
  std::vector<double> logarithms(time * classes), scores(200);
  for (int64_t t = 0; t < time; ++t) {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(logits[t * classes + c]);
    for (int64_t c = 0; c < classes; ++c)
      logarithms[t * classes + c] = logits[t * classes + c] - std::log(sum);
  }
  if (blank != classes - 1) return true;
  std::vector<int64_t> found(200 * time), counts(200);
  const int64_t lacking = penstock_arrays_ctc_search(logarithms.data(), time, 1, classes, frames, 200,
                                                     200, 1, found.data(), counts.data(), scores.data());
  if (lacking != 0) return lacking == -1;
  const int64_t number = static_cast<int64_t>(scores[0]);
  penstock_arrays_ctc_search(logarithms.data(), time, 1, classes, frames, 200, number, 1, found.data(),
                             counts.data(), scores.data());
  for (int64_t k = 0; k < number; ++k)
    if (counts[k] == size && std::equal(labels.begin(), labels.end(), found.begin() + k * time))
      return std::fabs(scores[k] + loss) < 1e-9;
  return !(total > 0);
}

bool check_ctc_best(Random &random) {
  const int64_t time = 1 + below(random, 9), batch = 1 + below(random, 4), classes = 1 + below(random, 20);
  const int64_t blank = below(random, classes), merge = below(random, 2);
  std::vector<float> logits(time * batch * classes), scores(batch);
  for (float &each : logits) each = static_cast<float>(below(random, 9)) - 4;
  std::vector<int32_t> lengths(batch);
  for (int32_t &each : lengths) each = static_cast<int32_t>(below(random, time + 3)) - 1;
  std::vector<int64_t> indices(2 * time * batch), labels(time * batch), counts(batch), wanted;
  const int64_t number = penstock_arrays_ctc_best(0, logits.data(), time, batch, classes, lengths.data(),
                                                  blank, merge, indices.data(), labels.data(),
                                                  counts.data(), scores.data());
  for (int64_t row = 0; row < batch; ++row) {
    int64_t last = -1;
    for (int64_t t = 0; t < std::min<int64_t>(lengths[row], time); ++t) {
      const float *each = &logits[(t * batch + row) * classes];
      const int64_t best = std::max_element(each, each + classes) - each;
      if (best != blank && !(merge && best == last)) wanted.push_back(best);
      last = best;
    }
  }
  labels.resize(static_cast<size_t>(number));
  return labels == wanted;
}

// Rows less their largest numbers, and cross entropies, of numbers whose sums are exact.
bool check_softmax(Random &random) {
  const int64_t number = below(random, 5), width = 1 + below(random, 20);
  std::vector<double> rows(number * width), shifted(rows), labels(rows), parts(rows), sums(number),
      logs(number), losses(number);
  for (double &each : rows) each = static_cast<double>(below(random, 9)) - 4;
  for (double &each : labels) each = static_cast<double>(below(random, 3));
  for (double &each : sums) each = static_cast<double>(int64_t{1} << below(random, 4));
  for (double &each : logs) each = static_cast<double>(below(random, 5));
  const int64_t odd = below(random, number + 1);  // a row with a NaN, if there is one
  if (odd < number) rows[odd * width + below(random, width)] = std::nan("");
  penstock_arrays_shift(1, rows.data(), number, width, shifted.data());
  std::vector<double> gradient(rows.size(), 3.0), sparse(gradient);
  penstock_arrays_cross(1, shifted.data(), sums.data(), logs.data(), labels.data(), number, width,
                        gradient.data(), parts.data());
  std::vector<int32_t> classes(number);
  for (int32_t &each : classes) each = static_cast<int32_t>(below(random, width));
  if (penstock_arrays_cross_classes(1, shifted.data(), sums.data(), logs.data(), classes.data(), 0,
                                    number, width, sparse.data(), losses.data()) != -1)
    return false;
  for (int64_t row = 0; row < number; ++row) {
    if (row == odd) {
      for (int64_t i = 0; i < width; ++i)
        if (!std::isnan(shifted[row * width + i])) return false;
      continue;
    }
    const double most = *std::max_element(&rows[row * width], &rows[row * width] + width);
    for (int64_t i = 0; i < width; ++i) {
      const int64_t at = row * width + i;
      if (shifted[at] != rows[at] - most || gradient[at] != 3 / sums[row] - labels[at]) return false;
      if (parts[at] != labels[at] * (logs[row] - shifted[at])) return false;
      if (sparse[at] != 3 / sums[row] - (classes[row] == i)) return false;
    }
    if (losses[row] != logs[row] - shifted[row * width + classes[row]]) return false;
  }
  if (number == 0) return true;
  const int64_t wrong = below(random, number);
  std::vector<int64_t> wide(classes.begin(), classes.end());
  wide[wrong] = random() % 2 ? width : -1;
  const std::vector<double> before(sparse);
  return penstock_arrays_cross_classes(1, shifted.data(), sums.data(), logs.data(), wide.data(), 1, number,
                                       width, sparse.data(), losses.data()) == wrong &&
         std::equal(before.begin(), before.end(), sparse.begin(),
                    [](double a, double b) { return a == b || (a != a && b != b); });
}

}  // namespace
