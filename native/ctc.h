// Connectionist temporal classification (Graves et al., ICML 2006; Graves and Jaitly, ICML 2014), for
// arrays.cc: the loss of all alignments with its derivative, the best path, and a search over prefixes.
//
// Probabilities of alignments leave the range of doubles after some hundred frames. The loss keeps
// each as a double with an exponent of its own: sums and products need neither logarithms nor
// exponentials then, which would take most of the time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace penstock {

// ---- numbers with exponents of their own

struct Scaled {
  double part;  // 0, or in [1, 2)
  int64_t exponent;
};

constexpr int64_t kNoExponent = -(int64_t{1} << 61);  // of zero: below all others
constexpr double kFarthest = 4e17;  // how far below 0 logarithms of others may be, all in all

// 2 to the power of `exponent`, at most 0; 0 where that is out of the range of doubles.
inline double power_of_two(int64_t exponent) {
  if (exponent < -1022) return 0;
  const uint64_t bits = static_cast<uint64_t>(exponent + 1023) << 52;
  double found;
  std::memcpy(&found, &bits, 8);
  return found;
}

// part * 2^exponent, `part` being 0 or a normal number above it.
inline Scaled scaled(double part, int64_t exponent) {
  if (!(part > 0)) return {0, kNoExponent};
  uint64_t bits;
  std::memcpy(&bits, &part, 8);
  exponent += static_cast<int64_t>(bits >> 52) - 1023;
  bits = (bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1023} << 52);
  std::memcpy(&part, &bits, 8);
  return {part, exponent};
}

inline Scaled times(Scaled a, Scaled b) { return scaled(a.part * b.part, a.exponent + b.exponent); }

inline Scaled plus(Scaled a, Scaled b) {
  if (!(a.part > 0)) return b;
  if (!(b.part > 0)) return a;
  const int64_t most = std::max(a.exponent, b.exponent);
  return scaled(a.part * power_of_two(a.exponent - most) + b.part * power_of_two(b.exponent - most),
                most);
}

// The exponential of any number that is not above 1; of those below -kFarthest, 0.
inline Scaled exponential(double x) {
  if (x > -600) return scaled(std::exp(x), 0);
  if (!(x >= -kFarthest)) return {0, kNoExponent};
  const double turned = x * 1.4426950408889634, whole = std::floor(turned);
  return scaled(std::exp2(turned - whole), static_cast<int64_t>(whole));
}

// ---- the loss

template <typename Element>
struct Frames {
  const Element *logits;
  int64_t time, batch, classes;

  const Element *at(int64_t t, int64_t row) const { return logits + (t * batch + row) * classes; }
  int64_t place(int64_t t, int64_t row) const { return (t * batch + row) * classes; }
};

// The loss of one row and its derivative, which is written at frames.place(t, row). Where `flush` is
// set, what has a probability below all normal Elements is impossible; else it is as unlikely as it is.
template <typename Element>
class Alignments {
 public:
  Alignments(const Frames<Element> &frames, int64_t blank, bool merge, bool flush,
             Element *gradient)
      : frames_(frames), blank_(blank), merge_(merge), flush_(flush), gradient_(gradient) {}

  // Whether a row had logits so far apart that sums of their exponents would leave their range; its
  // loss is none then.
  bool far() const { return far_; }

  // Minus the logarithm of the probability of these labels, which are classes, in the first `count`
  // frames.
  double of(int64_t row, const int64_t *labels, int64_t label_count, int64_t count) {
    const bool finite = soften(row, count);
    clear(row, count);
    if (!finite) return std::numeric_limits<double>::quiet_NaN();
    if (!count) return label_count ? std::numeric_limits<double>::infinity() : 0.0;
    begin(row, labels, label_count, count);
    const Scaled likely = forward(count);
    if (!(likely.part > 0)) return std::numeric_limits<double>::infinity();
    backward(row, count, likely);
    return -(std::log(likely.part) + static_cast<double>(likely.exponent) * 0.6931471805599453);
  }

  // All frames' derivatives are 0 where a row does not count.
  void clear(int64_t row, int64_t from) {
    for (int64_t t = from; t < frames_.time; ++t) {
      Element *to = gradient_ + frames_.place(t, row);
      std::fill(to, to + frames_.classes, Element{0});
    }
  }

 private:
  // Probabilities of classes go where the derivative will be. False where a frame has none.
  bool soften(int64_t row, int64_t count) {
    most_.resize(static_cast<size_t>(count));
    sums_.resize(static_cast<size_t>(count));
    bool finite = true;
    const int64_t classes = frames_.classes;
    for (int64_t t = 0; t < count; ++t) {
      const Element *from = frames_.at(t, row);
      Element *to = gradient_ + frames_.place(t, row);
      Element most = from[0];
      for (int64_t c = 1; c < classes; ++c) most = std::max(most, from[c]);
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) to[c] = std::exp(from[c] - most);
      for (int64_t c = 0; c < classes; ++c) sum += static_cast<double>(to[c]);
      const Element by = static_cast<Element>(1 / sum);
      for (int64_t c = 0; c < classes; ++c) to[c] *= by;
      most_[t] = static_cast<double>(most);
      sums_[t] = sum;
      if (!(sum < std::numeric_limits<double>::infinity())) {
        std::fill(to, to + classes, std::numeric_limits<Element>::quiet_NaN());
        finite = false;
      }
    }
    return finite;
  }

  // Labels with blanks around them, and the probability of each in each frame.
  void begin(int64_t row, const int64_t *labels, int64_t label_count, int64_t count) {
    states_ = 2 * label_count + 1;
    classes_.assign(static_cast<size_t>(states_), blank_);
    skips_.assign(static_cast<size_t>(states_), 0);
    for (int64_t i = 0; i < label_count; ++i) {
      classes_[2 * i + 1] = labels[i];
      skips_[2 * i + 1] = i > 0 && !(merge_ && labels[i] == labels[i - 1]);
    }
    probable_.resize(static_cast<size_t>(count * states_));
    alphas_.resize(static_cast<size_t>(count * states_));
    for (int64_t t = 0; t < count; ++t) {
      const Element *logits = frames_.at(t, row);
      for (int64_t s = 0; s < states_; ++s)
        probable_[t * states_ + s] = possible(row, t, classes_[s])
                                         ? probability(logits[classes_[s]], t, count)
                                         : Scaled{0, kNoExponent};
    }
  }

  bool possible(int64_t row, int64_t t, int64_t c) const {
    return !flush_ || gradient_[frames_.place(t, row) + c] >= std::numeric_limits<Element>::min();
  }

  Scaled probability(Element logit, int64_t t, int64_t count) {
    const double x = static_cast<double>(logit) - most_[t];
    far_ |= logit >= std::numeric_limits<Element>::lowest() &&
            !(x * static_cast<double>(count) >= -kFarthest);
    const Scaled above = exponential(x);
    return scaled(above.part / sums_[t], above.exponent);
  }

  bool stays(int64_t s) const { return merge_ || s % 2 == 0; }

  Scaled forward(int64_t count) {
    const Scaled zero{0, kNoExponent};
    for (int64_t s = 0; s < states_; ++s) alphas_[s] = s < 2 ? probable_[s] : zero;
    for (int64_t t = 1; t < count; ++t) {
      const Scaled *last = &alphas_[(t - 1) * states_], *each = &probable_[t * states_];
      Scaled *next = &alphas_[t * states_];
      for (int64_t s = 0; s < states_; ++s) {
        Scaled sum = stays(s) ? last[s] : zero;
        if (s) sum = plus(sum, last[s - 1]);
        if (skips_[s]) sum = plus(sum, last[s - 2]);
        next[s] = times(sum, each[s]);
      }
    }
    const Scaled *last = &alphas_[(count - 1) * states_];
    return states_ > 1 ? plus(last[states_ - 1], last[states_ - 2]) : last[0];
  }

  // What the rest of the frames give from each state, and the derivative from both.
  void backward(int64_t row, int64_t count, Scaled likely) {
    const Scaled zero{0, kNoExponent}, one{1, 0};
    betas_.assign(static_cast<size_t>(states_), zero);
    ahead_.resize(static_cast<size_t>(states_));
    for (int64_t s = std::max(states_ - 2, int64_t{0}); s < states_; ++s) betas_[s] = one;
    for (int64_t t = count - 1; t >= 0; --t) {
      Element *to = gradient_ + frames_.place(t, row);
      const Scaled *alpha = &alphas_[t * states_], *each = &probable_[t * states_];
      for (int64_t s = 0; s < states_; ++s) {
        const Scaled share = times(alpha[s], betas_[s]);
        const int64_t exponent = share.exponent - likely.exponent;  // at most the whole
        to[classes_[s]] -= static_cast<Element>(share.part / likely.part *
                                                (exponent > 0 ? 2.0 : power_of_two(exponent)));
      }
      for (int64_t s = 0; s < states_; ++s) ahead_[s] = times(betas_[s], each[s]);
      for (int64_t s = 0; s < states_; ++s) {
        Scaled sum = stays(s) ? ahead_[s] : zero;
        if (s + 1 < states_) sum = plus(sum, ahead_[s + 1]);
        if (s + 2 < states_ && skips_[s + 2]) sum = plus(sum, ahead_[s + 2]);
        betas_[s] = sum;
      }
    }
  }

  const Frames<Element> frames_;
  const int64_t blank_;
  const bool merge_, flush_;
  bool far_ = false;
  Element *const gradient_;
  int64_t states_ = 0;
  std::vector<double> most_, sums_;  // of each frame's logits, and of their exponentials
  std::vector<int64_t> classes_;
  std::vector<char> skips_;
  std::vector<Scaled> probable_, alphas_, betas_, ahead_;
};

// Sparse labels, row by row: those of row i end at ends[i]. False where one is wrong.
inline bool labels_by_row(const int64_t *indices, const int32_t *values, int64_t number,
                          int64_t batch, int64_t classes, int64_t blank, bool collapse,
                          std::vector<int64_t> &labels, std::vector<int64_t> &ends) {
  std::vector<int64_t> starts(static_cast<size_t>(batch + 1));
  for (int64_t i = 0; i < number; ++i) {
    const int64_t row = indices[2 * i];
    if (row < 0 || row >= batch || values[i] < 0 || values[i] >= classes || values[i] == blank)
      return false;
    ++starts[row + 1];
  }
  for (int64_t i = 0; i < batch; ++i) {
    if (!starts[i + 1]) return false;
    starts[i + 1] += starts[i];
  }
  labels.resize(static_cast<size_t>(number));
  ends.assign(starts.begin(), starts.end() - 1);
  for (int64_t i = 0; i < number; ++i) {
    const int64_t row = indices[2 * i];
    if (collapse && ends[row] > starts[row] && labels[ends[row] - 1] == values[i]) continue;
    labels[ends[row]++] = values[i];
  }
  starts.pop_back();
  ends.insert(ends.begin(), starts.begin(), starts.end());  // starts, then ends
  return true;
}

// ---- a search over prefixes

// NumPy's logaddexp.
inline double log_sum(double a, double b) {
  if (a == b) return a + 0.6931471805599453;
  const double most = std::max(a, b), least = std::min(a, b);
  return most + std::log1p(std::exp(least - most));
}

// The best prefixes of the labels of one row, whose last class is blank.
class Search {
 public:
  Search(int64_t classes, int64_t width) : classes_(classes), width_(width) {}

  // Reads `count` frames `stride` apart of logarithms of probabilities.
  void run(const double *frames, int64_t count, int64_t stride) {
    parents_.assign(1, -1);
    labels_.assign(1, -1);
    children_.clear();
    beam_.assign(1, Entry{0, 0.0, -INFINITY});
    for (int64_t t = 0; t < count; ++t) step(frames + t * stride);
    std::stable_sort(beam_.begin(), beam_.end(),
                     [](const Entry &a, const Entry &b) { return a.total() > b.total(); });
  }

  int64_t found() const { return static_cast<int64_t>(beam_.size()); }
  double score(int64_t i) const { return beam_[i].total(); }

  // The labels of the i-th best, into `to`; how many there are.
  int64_t text(int64_t i, int64_t *to) const {
    int64_t count = 0;
    for (int64_t node = beam_[i].node; node > 0; node = parents_[node]) to[count++] = labels_[node];
    std::reverse(to, to + count);
    return count;
  }

 private:
  struct Entry {
    int64_t node;
    double blank, label;  // logarithms for prefixes that end with a blank, and with their label
    double total() const { return log_sum(blank, label); }
  };
  struct Option {
    double total;
    int64_t place;  // of the beam's own, then of those that grow
  };

  void step(const double *frame) {
    const int64_t size = found(), grow = classes_ - 1;
    stay_.resize(static_cast<size_t>(size));
    grown_.resize(static_cast<size_t>(size * grow));
    for (int64_t i = 0; i < size; ++i) {
      const Entry &entry = beam_[i];
      const int64_t label = labels_[entry.node];
      const double total = entry.total();
      stay_[i] = {entry.node, total + frame[grow],
                  label >= 0 ? entry.label + frame[label] : -INFINITY};
      double *row = grown_.data() + i * grow;
      for (int64_t c = 0; c < grow; ++c) row[c] = total + frame[c];
      if (label >= 0) row[label] = entry.blank + frame[label];
    }
    join(size, grow);
    choose(size, grow);
  }

  // Where a prefix grows into one that is in the beam already, both are one.
  void join(int64_t size, int64_t grow) {
    where_.clear();
    for (int64_t i = 0; i < size; ++i) where_.emplace_back(beam_[i].node, i);
    std::sort(where_.begin(), where_.end());
    for (int64_t i = 0; i < size; ++i) {
      const int64_t node = beam_[i].node;
      if (!node) continue;
      const std::pair<int64_t, int64_t> wanted(parents_[node], -1);
      const auto place = std::lower_bound(where_.begin(), where_.end(), wanted);
      if (place == where_.end() || place->first != parents_[node]) continue;
      double &own = grown_[place->second * grow + labels_[node]];
      stay_[i].label = log_sum(stay_[i].label, own);
      own = -INFINITY;
    }
  }

  void choose(int64_t size, int64_t grow) {
    options_.clear();
    for (int64_t i = 0; i < size; ++i) offer(stay_[i].total(), i);
    for (int64_t i = 0; i < size * grow; ++i) offer(grown_[i], size + i);
    const auto better = [](const Option &a, const Option &b) {
      return a.total > b.total || (a.total == b.total && a.place < b.place);
    };
    const int64_t kept = std::min(width_, static_cast<int64_t>(options_.size()));
    std::partial_sort(options_.begin(), options_.begin() + kept, options_.end(), better);
    next_.clear();
    for (int64_t i = 0; i < kept; ++i) {
      const int64_t place = options_[i].place;
      if (place < size) {
        next_.push_back(stay_[place]);
        continue;
      }
      const int64_t node = child(beam_[(place - size) / grow].node, (place - size) % grow);
      next_.push_back({node, -INFINITY, grown_[place - size]});
    }
    beam_.swap(next_);
  }

  void offer(double total, int64_t place) {
    if (std::isfinite(total)) options_.push_back({total, place});
  }

  int64_t child(int64_t parent, int64_t label) {
    const auto made = children_.emplace(std::make_pair(parent, label),
                                        static_cast<int64_t>(parents_.size()));
    if (made.second) {
      parents_.push_back(parent);
      labels_.push_back(label);
    }
    return made.first->second;
  }

  const int64_t classes_, width_;
  std::vector<int64_t> parents_, labels_;  // prefixes as a tree: a parent and one more label
  std::map<std::pair<int64_t, int64_t>, int64_t> children_;
  std::vector<Entry> beam_, stay_, next_;
  std::vector<double> grown_;
  std::vector<Option> options_;
  std::vector<std::pair<int64_t, int64_t>> where_;
};

}  // namespace penstock
