// Checks the parser of messages (wire.cc) on Examples drawn from a seed, sound ones and damaged ones:
// for the sanitizers (native/build.py --check).
//
// What sound messages hold must be found. Damaged ones may be refused or read; whatever is found must
// lie in its own message, both passes must agree, and the neighbours of a broken message must be
// found as if it were not there. All memory is exactly as large as what it holds, so that
// AddressSanitizer sees a read or a write beyond it.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "check_messages.h"
#include "wire.h"

namespace {

using namespace messages;

// An array of exactly this size, and never null.
template <typename T>
class Exact {
 public:
  explicit Exact(std::size_t size, T fill = T()) : size_(size), data_(new T[size]) {
    std::fill_n(data_.get(), size, fill);
  }
  T *get() const { return data_.get(); }
  T *begin() const { return data_.get(); }
  T *end() const { return data_.get() + size_; }
  T &operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::unique_ptr<T[]> data_;
};

void require(bool holds, const char *what) {
  if (holds) return;
  std::printf("messages: %s\n", what);
  std::exit(1);
}

template <typename T, typename Values>
Exact<T> exactly(const Values &from) {
  Exact<T> to(from.size());
  std::copy(from.begin(), from.end(), to.begin());
  return to;
}

struct Batch {
  Exact<uint8_t> data;
  Exact<int64_t> starts, ends;

  std::size_t rows() const { return starts.size(); }
};

Batch batch_of(const std::vector<std::string> &messages) {
  std::string joined;
  std::vector<int64_t> starts, ends;
  for (const auto &each : messages) {
    starts.push_back(static_cast<int64_t>(joined.size()));
    joined += each;
    ends.push_back(static_cast<int64_t>(joined.size()));
  }
  return {exactly<uint8_t>(joined), exactly<int64_t>(starts), exactly<int64_t>(ends)};
}

struct Spans {
  Exact<int64_t> starts, ends;
};

// Every span that was found lies in message i % rows, for spans of [keys, rows].
void require_inside(const Batch &batch, const Spans &spans) {
  for (std::size_t i = 0; i < spans.starts.size(); ++i) {
    const std::size_t row = i % batch.rows();
    if (spans.starts[i] == -1 && spans.ends[i] == -1) continue;
    require(batch.starts[row] >= 0 && spans.starts[i] >= batch.starts[row] &&
                spans.starts[i] <= spans.ends[i] && spans.ends[i] <= batch.ends[row],
            "a span is outside of its message");
  }
}

// What the three functions that count and then fill find in every row of a batch; `broken` is the
// first row that is none.
struct Found {
  int64_t broken = -1;
  std::vector<std::vector<std::string>> rows;  // the bytes of what was found
};

// Calls function(counts, null) and then function(counts, outputs), with room for what was counted.
template <typename Function, typename Cut>
Found twice(const Batch &batch, Function function, Cut cut) {
  Found found;
  const Exact<int64_t> counts(batch.rows(), 99);
  found.broken = function(counts.get(), false, 0);
  require(found.broken >= -1 && found.broken < static_cast<int64_t>(batch.rows()),
          "the broken row is none of the batch's");
  if (found.broken >= 0) return found;
  int64_t total = 0;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    require(counts[row] >= 0 && counts[row] <= batch.ends[row] - batch.starts[row],
            "more was counted than the bytes can hold");
    total += counts[row];
  }
  require(function(counts.get(), true, total) == -1, "the second pass refuses what the first took");
  for (std::size_t row = 0, at = 0; row < batch.rows(); ++row) {
    found.rows.emplace_back();
    for (int64_t i = 0; i < counts[row]; ++i) found.rows.back().push_back(cut(row, at++));
  }
  return found;
}

Found strings_of(const Batch &batch) {
  Spans spans{Exact<int64_t>(0), Exact<int64_t>(0)};
  const auto call = [&](int64_t *counts, bool fill, int64_t total) {
    if (fill) spans = {Exact<int64_t>(total, -7), Exact<int64_t>(total, -7)};
    return penstock_wire_repeated(batch.data.get(), batch.starts.get(), batch.ends.get(),
                                  batch.rows(), counts, fill ? spans.starts.get() : nullptr,
                                  fill ? spans.ends.get() : nullptr);
  };
  return twice(batch, call, [&](std::size_t row, std::size_t i) {
    require(spans.starts[i] >= batch.starts[row] && spans.starts[i] <= spans.ends[i] &&
                spans.ends[i] <= batch.ends[row],
            "a string is outside of its message");
    return std::string(batch.data.get() + spans.starts[i], batch.data.get() + spans.ends[i]);
  });
}

template <typename T, typename Function>
Found numbers_in(const Batch &batch, Function function) {
  Exact<T> values(0);
  const auto call = [&](int64_t *counts, bool fill, int64_t total) {
    if (fill) values = Exact<T>(total);
    return function(batch.data.get(), batch.starts.get(), batch.ends.get(), batch.rows(), counts,
                    fill ? values.get() : nullptr);
  };
  return twice(batch, call, [&](std::size_t, std::size_t i) {
    return std::string(reinterpret_cast<const char *>(values.get() + i), sizeof(T));
  });
}

std::vector<Found> all_lists(const Batch &batch) {
  return {strings_of(batch), numbers_in<float>(batch, penstock_wire_floats),
          numbers_in<int64_t>(batch, penstock_wire_integers)};
}

const std::vector<std::string> KEYS = {"k3", "none", "k0", "k1", "", "k4", "k2"};

Spans values_of_keys(const Batch &batch, long field, int64_t &broken) {
  std::string joined;
  std::vector<int64_t> lengths;
  for (const auto &key : KEYS) {
    joined += key;
    lengths.push_back(static_cast<int64_t>(key.size()));
  }
  const Exact<char> keys = exactly<char>(joined);
  const Exact<int64_t> sizes = exactly<int64_t>(lengths);
  Spans spans{Exact<int64_t>(KEYS.size() * batch.rows(), -1),
              Exact<int64_t>(KEYS.size() * batch.rows(), -1)};
  broken = penstock_wire_map_values(batch.data.get(), batch.starts.get(), batch.ends.get(),
                                    batch.rows(), field, keys.get(), sizes.get(), KEYS.size(),
                                    spans.starts.get(), spans.ends.get());
  require_inside(batch, spans);
  return spans;
}

// The lists of the Features at these spans, which are one more batch of the same data.
Spans lists_of(const Batch &batch, const Spans &features, Exact<int8_t> &kinds, int64_t &broken) {
  const std::size_t count = features.starts.size();
  kinds = Exact<int8_t>(count);
  Spans lists{Exact<int64_t>(count, -1), Exact<int64_t>(count, -1)};
  broken = penstock_wire_kinds(batch.data.get(), features.starts.get(), features.ends.get(), count,
                               kinds.get(), lists.starts.get(), lists.ends.get());
  for (std::size_t i = 0; i < count; ++i) require(kinds[i] >= 0 && kinds[i] <= 3, "no such kind");
  require_inside(batch, lists);
  return lists;
}

// The content of a span as a batch of its own, in memory of its own.
Batch alone(const Batch &batch, int64_t start, int64_t end) {
  return batch_of({std::string(batch.data.get() + start, batch.data.get() + end)});
}

template <typename T>
std::vector<std::string> as_bytes(const std::vector<T> &values) {
  std::vector<std::string> bytes;
  for (const T &each : values)
    bytes.emplace_back(reinterpret_cast<const char *>(&each), sizeof each);
  return bytes;
}

// Everything that was put into a sound Example must be found in row `row`.
void require_features(const Batch &batch, std::size_t row, const Spans &lists,
                      const Exact<int8_t> &kinds, const std::vector<Feature> &wanted) {
  std::size_t there = 0;
  for (std::size_t key = 0; key < KEYS.size(); ++key) {
    const std::size_t i = key * batch.rows() + row;
    const auto feature = std::find_if(wanted.begin(), wanted.end(), [&](const Feature &each) {
      return each.key == KEYS[key];
    });
    if (feature == wanted.end()) {
      require(lists.starts[i] == -1, "a key was found that is not there");
      continue;
    }
    ++there;
    require(kinds[i] == feature->kind, "a Feature is of another kind");
    const std::vector<Found> found = all_lists(alone(batch, lists.starts[i], lists.ends[i]));
    const auto &content = feature->kind == 1   ? feature->strings
                          : feature->kind == 2 ? as_bytes(feature->floats)
                                               : as_bytes(feature->integers);
    const Found &of_kind = found[feature->kind - 1];
    require(of_kind.broken == -1 && of_kind.rows[0] == content, "a list holds something else");
  }
  require(there == wanted.size(), "a key was not found");
}

// What penstock_wire_dense finds in every row of a batch of the features of one of them, in memory of
// exactly their size. What it takes holds what was put into the row.
void check_dense(const Batch &batch, long field, const std::vector<Feature> &wanted, int64_t sound) {
  std::string joined;
  std::vector<int64_t> lengths, kinds, sizes, addresses;
  std::vector<Exact<int64_t>> places;
  std::vector<Exact<float>> floats;
  places.reserve(wanted.size());
  floats.reserve(wanted.size());
  for (const Feature &each : wanted) {
    joined += each.key;
    lengths.push_back(static_cast<int64_t>(each.key.size()));
    kinds.push_back(each.kind);
    const std::size_t sizes_of[] = {0, each.strings.size(), each.floats.size(), each.integers.size()};
    sizes.push_back(static_cast<int64_t>(sizes_of[each.kind]));
    const std::size_t total = batch.rows() * sizes_of[each.kind];
    places.emplace_back(each.kind == 1 ? 2 * total : each.kind == 3 ? total : 0);
    floats.emplace_back(each.kind == 2 ? total : 0);
    addresses.push_back(each.kind == 2 ? reinterpret_cast<int64_t>(floats.back().get())
                                       : reinterpret_cast<int64_t>(places.back().get()));
  }
  const Exact<char> keys = exactly<char>(joined);
  const Exact<int64_t> a = exactly<int64_t>(lengths), b = exactly<int64_t>(kinds),
                       c = exactly<int64_t>(sizes), d = exactly<int64_t>(addresses);
  const int64_t other = penstock_wire_dense(
      batch.data.get(), batch.starts.get(), batch.ends.get(), batch.rows(), field, keys.get(),
      a.get(), wanted.size(), b.get(), c.get(), d.get());
  require(other >= -1 && other < static_cast<int64_t>(batch.rows()), "no such row is otherwise");
  if (other >= 0 && other <= sound) return;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (int64_t k = 0; k < sizes[i]; ++k) {
      const int64_t at = sound * sizes[i] + k;
      if (kinds[i] == 2) {
        require(std::memcmp(&floats[i][at], &wanted[i].floats[k], 4) == 0, "a float is another");
      } else if (kinds[i] == 3) {
        require(places[i][at] == wanted[i].integers[k], "an integer is another");
      } else {
        const std::string found(batch.data.get() + places[i][2 * at],
                                batch.data.get() + places[i][2 * at + 1]);
        require(found == wanted[i].strings[k], "a string is another");
      }
    }
  }
}

std::atomic<long> read{0}, refused{0};

// A damaged message between two sound ones, of which it must change nothing; and alone, where the
// end of its memory is the end of the message.
void check_batch(long field, const std::vector<std::string> &messages,
                 const std::vector<Feature> (&wanted)[2]) {
  const Batch batch = batch_of(messages);
  int64_t broken = -1, broken_feature = -1;
  const Spans features = values_of_keys(batch, field, broken);
  require(broken == -1 || broken == 1, "a sound message is broken");
  ++(broken == -1 ? read : refused);
  if (broken == -1) {
    Exact<int8_t> kinds(0);
    const Spans lists = lists_of(batch, features, kinds, broken_feature);
    require(broken_feature == -1 || broken_feature % 3 == 1, "a sound Feature is broken");
    if (broken_feature == -1)
      for (std::size_t i : {0, 1}) require_features(batch, 2 * i, lists, kinds, wanted[i]);
    for (std::size_t i = 1; i < lists.starts.size() && broken_feature == -1; i += 3)
      if (lists.starts[i] >= 0) all_lists(alone(batch, lists.starts[i], lists.ends[i]));
  }
  check_dense(batch, field, wanted[0], 0);
  check_dense(batch_of({messages[2], messages[1]}), field, wanted[1], 0);
  const Batch single = batch_of({messages[1]});
  int64_t broken_alone = -1;
  values_of_keys(single, field, broken_alone);
  require((broken_alone == 0) == (broken == 1), "a message is broken only beside others");
}

// The functions for Features and lists, on bytes of their own kind: damage seldom reaches these whole.
void check_lists(const std::string &list, const std::string &sound) {
  const std::vector<Found> single = all_lists(batch_of({list}));
  const std::vector<Found> beside = all_lists(batch_of({list, list}));
  for (std::size_t i = 0; i < single.size(); ++i) {
    ++(single[i].broken == -1 ? read : refused);
    require(single[i].broken == beside[i].broken, "a list is broken only beside others");
    if (single[i].broken == -1)
      require(beside[i].rows[0] == single[i].rows[0] && beside[i].rows[1] == single[i].rows[0],
              "a list holds something else beside others");
  }
  const Batch batch = batch_of({list, sound});
  for (bool there : {true, false}) {
    if (!there) batch.starts[0] = -1;
    const Spans messages{exactly<int64_t>(batch.starts), exactly<int64_t>(batch.ends)};
    Exact<int8_t> kinds(0);
    int64_t broken = -1;
    lists_of(batch, messages, kinds, broken);
    require(broken != 1, "a sound Feature is broken");
    require(there || (broken == -1 && kinds[0] == 0), "a message was read that is not there");
  }
}

}  // namespace

int main(int count, char **arguments) {
  const long rounds = count > 1 ? std::atol(arguments[1]) : 60;
  generator.seed(1);
  for (long i = 0; i < 100 * rounds; ++i) {
    const long field = draw(1, 2);
    std::vector<Feature> wanted[2], others;
    std::vector<std::string> three = {draw_example(field, wanted[0]), draw_example(field, others),
                                      draw_example(field, wanted[1])};
    damage(three[1]);
    Feature feature;
    std::string list = draw_list(feature), holder;
    put_bytes(holder, feature.kind, list);
    if (draw(0, 3) != 0) damage(list);
    const auto check = [&] {
      check_batch(field, three, wanted);
      check_lists(list, holder);
    };
    std::vector<std::thread> others_too;
    for (long more = draw(0, 9) == 0 ? 2 : 0; more > 0; --more) others_too.emplace_back(check);
    check();
    for (auto &each : others_too) each.join();
  }
  require(read > 0 && refused > 0, "nothing was read, or nothing was refused");
  std::printf("messages: %ld read, %ld refused\n", read.load(), refused.load());
  return 0;
}
