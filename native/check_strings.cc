// Work on arrays of strings beside plain loops: empty texts, any bytes, zeros among them, wrong ones.
//
//   check_strings [rounds]
//
// Python is played by the few functions below. Each text has just its own memory, a zero after it as
// Python's have, so that sanitizers see what reads beyond.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "strings.h"

namespace {

struct Bytes : PyObject {  // what has no data is no text
  char *data;
  std::ptrdiff_t size;
};

int64_t living = 0;

}  // namespace

extern "C" {

PyObject *PyBytes_FromStringAndSize(const char *begin, std::ptrdiff_t size) {
  auto *made = new Bytes;
  made->data = static_cast<char *>(malloc(static_cast<size_t>(size) + 1));
  made->size = size;
  if (begin != nullptr && size > 0) memcpy(made->data, begin, static_cast<size_t>(size));
  made->data[size] = 0;
  ++living;
  return made;
}

int PyBytes_AsStringAndSize(PyObject *text, char **begin, std::ptrdiff_t *size) {
  auto *bytes = static_cast<Bytes *>(text);
  if (bytes->data == nullptr) return -1;
  *begin = bytes->data;
  *size = bytes->size;
  return 0;
}

PyObject *PyErr_NoMemory() { return nullptr; }

void Py_DecRef(PyObject *object) {
  if (object == nullptr) return;
  free(static_cast<Bytes *>(object)->data);
  delete static_cast<Bytes *>(object);
  --living;
}

}  // extern "C"

namespace {

using Random = std::mt19937_64;
using Texts = std::vector<std::string>;

int64_t below(Random &random, int64_t count) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
}

// An array of strings; new ones hold nothing, as NumPy's do.
class Array {
 public:
  explicit Array(int64_t count) : objects_(new PyObject *[static_cast<size_t>(count)]()), count_(count) {}
  explicit Array(const Texts &texts) : Array(static_cast<int64_t>(texts.size())) {
    for (int64_t i = 0; i < count_; ++i)
      objects_[i] = PyBytes_FromStringAndSize(texts[i].data(), static_cast<int64_t>(texts[i].size()));
  }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() {
    for (int64_t i = 0; i < count_; ++i) Py_DecRef(objects_[i]);
    delete[] objects_;
  }

  PyObject **data() { return objects_; }
  int64_t size() const { return count_; }

  Texts texts() const {
    Texts found;
    for (int64_t i = 0; i < count_; ++i) {
      const auto *bytes = static_cast<Bytes *>(objects_[i]);
      found.push_back(bytes ? std::string(bytes->data, static_cast<size_t>(bytes->size)) : "none");
    }
    return found;
  }

  // Makes one element something that is no text; what that row was for a call is its result.
  void spoil(int64_t row) {
    auto *bytes = static_cast<Bytes *>(objects_[row]);
    free(bytes->data);
    bytes->data = nullptr;
  }

 private:
  PyObject **objects_;
  int64_t count_;
};

// Text of these letters, or of any bytes.
std::string any_text(Random &random, const char *letters, int64_t most) {
  std::string text(static_cast<size_t>(below(random, most + 1)), 0);
  const auto count = static_cast<int64_t>(strlen(letters));
  for (char &each : text)
    each = count > 0 ? letters[below(random, count)] : static_cast<char>(random());
  return text;
}

Texts any_texts(Random &random, const char *letters, int64_t most_of_them = 40, int64_t most = 12) {
  Texts texts(static_cast<size_t>(below(random, most_of_them + 1)));
  for (std::string &each : texts) each = any_text(random, letters, most);
  return texts;
}

std::string stripped(const std::string &text) {
  const char *spaces = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(spaces);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
}

Texts parts_of(const std::string &text, const std::string &between, bool skip_empty) {
  Texts parts;
  size_t from = 0;
  while (!between.empty()) {
    const size_t found = text.find(between, from);
    parts.push_back(text.substr(from, found == std::string::npos ? found : found - from));
    if (found == std::string::npos) break;
    from = found + between.size();
  }
  if (between.empty()) {
    std::string part;
    for (const char c : text + " ") {
      const bool is_space = stripped(std::string(1, c)).empty();
      if (!is_space) part += c;
      if (is_space && !part.empty()) parts.push_back(part), part.clear();
    }
  }
  Texts kept;
  for (const std::string &each : parts)
    if (!skip_empty || !each.empty()) kept.push_back(each);
  return kept;
}

bool check_each(Random &random) {
  const Texts texts = any_texts(random, random() % 2 ? "aZ \t\n" : "");
  Array given(texts), lower(given.size()), upper(given.size()), bare(given.size()), part(given.size());
  std::vector<int32_t> bytes(texts.size()), characters(texts.size());
  const int64_t pos = below(random, 4), size = below(random, 5);
  if (penstock_strings_lengths(given.data(), given.size(), 0, bytes.data()) != -1) return false;
  if (penstock_strings_lengths(given.data(), given.size(), 1, characters.data()) != -1) return false;
  if (penstock_strings_change(given.data(), given.size(), 0, lower.data()) != -1) return false;
  if (penstock_strings_change(given.data(), given.size(), 1, upper.data()) != -1) return false;
  if (penstock_strings_change(given.data(), given.size(), 2, bare.data()) != -1) return false;
  const int64_t cut = penstock_strings_part(given.data(), given.size(), pos, size, part.data());
  const Texts low = lower.texts(), high = upper.texts(), plain = bare.texts(), cuts = part.texts();
  int64_t first_short = -1;
  for (size_t i = texts.size(); i-- > 0;)
    if (static_cast<int64_t>(texts[i].size()) < pos) first_short = static_cast<int64_t>(i);
  for (size_t i = 0; i < texts.size(); ++i) {
    std::string one = texts[i], other = texts[i];
    int32_t count = 0;
    for (char &c : one) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    for (char &c : other) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    for (const char c : one) count += (c & 0xC0) != 0x80;
    if (low[i] != one || high[i] != other || plain[i] != stripped(texts[i])) return false;
    if (bytes[i] != static_cast<int32_t>(one.size()) || characters[i] != count) return false;
    if (first_short < 0 && cuts[i] != texts[i].substr(pos, size)) return false;
  }
  return cut == first_short;
}

bool check_hash(Random &random) {  // the same wherever a text lies, another with one bit changed
  for (int64_t size = 0; size < 200; ++size) {
    std::string text(static_cast<size_t>(size), 0);
    for (char &each : text) each = static_cast<char>(random());
    std::string other = text + "x";
    if (size > 0) other = text, other[below(random, size)] ^= 1;
    Array given(Texts{text, text, other});
    for (int64_t function = 0; function < 3; ++function) {
      uint64_t hashes[3], limited[3];
      const uint64_t key = random();
      if (penstock_strings_hash(given.data(), 3, function, key, 5, 0, hashes) != -1) return false;
      if (hashes[0] != hashes[1] || hashes[0] == hashes[2]) return false;
      if (penstock_strings_hash(given.data(), 3, function, key, 5, 1000, limited) != -1) return false;
      if (limited[0] != hashes[0] % 1000 || limited[2] != hashes[2] % 1000) return false;
    }
  }
  return true;
}

bool check_join(Random &random) {
  const Texts texts = any_texts(random, ""), one = {any_text(random, "", 3)};
  const std::string between = any_text(random, "", 2);
  Array first(texts), same(one), last(texts), out(first.size());
  PyObject **columns[] = {first.data(), same.data(), last.data()};
  const int64_t steps[] = {1, 0, 1};
  if (penstock_strings_join(columns, steps, 3, first.size(), between.data(),
                            static_cast<int64_t>(between.size()), out.data()) != -1)
    return false;
  const Texts found = out.texts();
  for (size_t i = 0; i < texts.size(); ++i)
    if (found[i] != texts[i] + between + one[0] + between + texts[i]) return false;
  return true;
}

bool check_split(Random &random) {
  const Texts texts = any_texts(random, "ab \t");
  const std::string between = any_text(random, "ab", 3);
  const bool skip_empty = random() % 2;
  Texts wanted;
  std::vector<int64_t> counts(texts.size()), wanted_counts, again(texts.size());
  for (const std::string &each : texts) {
    const Texts parts = parts_of(each, between, skip_empty);
    wanted_counts.push_back(static_cast<int64_t>(parts.size()));
    wanted.insert(wanted.end(), parts.begin(), parts.end());
  }
  Array given(texts), out(static_cast<int64_t>(wanted.size()));
  const auto size = static_cast<int64_t>(between.size());
  return penstock_strings_split(given.data(), given.size(), between.data(), size, skip_empty,
                                counts.data(), nullptr) == -1 &&
         counts == wanted_counts &&
         penstock_strings_split(given.data(), given.size(), between.data(), size, skip_empty,
                                again.data(), out.data()) == -1 &&
         again == counts && out.texts() == wanted;
}

bool check_numbers(Random &random) {
  const bool sound = random() % 2;
  Texts texts = any_texts(random, random() % 2 ? "0123456789.-+eE nafi" : "", 30, 40);
  const double scale = std::pow(10.0, static_cast<double>(below(random, 60)) - 30);
  for (std::string &each : texts) {
    char text[80];
    snprintf(text, sizeof text, " %.*g ", static_cast<int>(1 + below(random, 18)),
             (static_cast<double>(random()) / 1e19 - 0.5) * scale);
    if (sound) each = text;
  }
  Array given(texts);
  std::vector<double> doubles(texts.size());
  std::vector<float> floats(texts.size());
  std::vector<int64_t> integers(texts.size());
  const int64_t count = given.size();
  const int64_t wrong = penstock_strings_doubles(given.data(), count, doubles.data());
  if (penstock_strings_floats(given.data(), count, floats.data()) != wrong) return false;
  if (sound && wrong != -1) return false;
  const auto served = static_cast<size_t>(wrong < 0 ? count : wrong);
  for (size_t i = 0; i < served; ++i)
    if (doubles[i] != strtod(texts[i].c_str(), nullptr) || floats[i] != strtof(texts[i].c_str(), nullptr))
      return false;
  const int64_t broken = penstock_strings_integers(given.data(), count, integers.data());
  for (int64_t i = 0; i < (broken < 0 ? count : broken); ++i)
    if (integers[i] != strtoll(texts[i].c_str(), nullptr, 10)) return false;
  for (size_t i = 0; i < texts.size(); ++i) {
    integers[i] = static_cast<int64_t>(random()) >> below(random, 64);
    texts[i] = std::to_string(integers[i]);
  }
  Array whole(count);
  return penstock_strings_whole(integers.data(), count, whole.data()) == -1 && whole.texts() == texts;
}

bool check_fixed(Random &random) {
  const int64_t digits = below(random, 8);
  std::vector<double> values = {0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 0x1p40, 1e300, 5e-324, 0x1p40 - 0.5,
                                HUGE_VAL, -HUGE_VAL};
  for (int i = 0; i < 40; ++i) {
    const double size = std::ldexp(static_cast<double>(random() >> 11), -static_cast<int>(below(random, 90)));
    values.push_back(random() % 2 ? size : -size);
    values.push_back(static_cast<double>(below(random, 1000)) / 1024);
  }
  for (const double value : values) {
    Array out(1);
    char text[400];
    snprintf(text, sizeof text, "%.*f", static_cast<int>(digits), value);
    const bool is_large = std::isfinite(value) && std::fabs(value) >= 0x1p40;
    if (penstock_strings_fixed(&value, 1, digits, out.data()) != (is_large ? 0 : -1)) return false;
    if (!is_large && out.texts()[0] != text) return false;
  }
  return true;
}

bool check_stored(Random &random) {
  const Texts texts = any_texts(random, "");
  const int64_t size = below(random, 8), pad = below(random, 2), count = static_cast<int64_t>(texts.size());
  Array given(texts), letters(count), back(count);
  std::vector<char> bytes(static_cast<size_t>(count * size) + 1);
  const int64_t wrong = penstock_strings_bytes(given.data(), count, size, pad, bytes.data());
  if (pad && wrong != -1) return false;
  for (int64_t i = 0; i < (wrong < 0 ? count : wrong); ++i) {
    std::string taken = texts[i].substr(0, static_cast<size_t>(size));
    taken.resize(static_cast<size_t>(size));
    if (std::string(&bytes[0] + i * size, static_cast<size_t>(size)) != taken) return false;
  }
  if (penstock_strings_encode(given.data(), count, pad, letters.data()) != -1) return false;
  if (penstock_strings_decode(letters.data(), count, back.data()) != -1) return false;
  const bool same = back.texts() == texts;
  Array wild(any_texts(random, random() % 2 ? "" : "aB-_9=", 40, 9)), out(wild.size());
  (void)penstock_strings_decode(wild.data(), wild.size(), out.data());
  return same;
}

bool check_combine(Random &random) {
  const Texts texts = any_texts(random, "");
  const int64_t parts = 1 + below(random, 6);
  const std::string between = any_text(random, "", 2);
  std::vector<int64_t> ids(texts.size());
  Texts wanted(static_cast<size_t>(parts));
  for (size_t i = 0; i < texts.size(); ++i) {
    ids[i] = below(random, parts);
    wanted[ids[i]] += (wanted[ids[i]].empty() ? "" : between) + texts[i];
  }
  Array given(texts), out(parts);
  return penstock_strings_combine(given.data(), given.size(), ids.data(), parts, between.data(),
                                  static_cast<int64_t>(between.size()), out.data()) == -1 &&
         out.texts() == wanted;
}

// Neighbours of one row, from a row with its pads written out.
Texts neighbours(const Texts &row, const std::vector<int64_t> &widths, const std::string &between,
                 int64_t pads, bool keep_short) {
  Texts found;
  const auto add = [&](int64_t width, int64_t taken, bool once) {
    Texts padded(static_cast<size_t>(taken), "<");
    padded.insert(padded.end(), row.begin(), row.end());
    padded.insert(padded.end(), static_cast<size_t>(taken), ">>");
    if (once) width = static_cast<int64_t>(padded.size());
    for (int64_t from = 0; from + width <= static_cast<int64_t>(padded.size()); ++from) {
      std::string joined;
      for (int64_t i = from; i < from + width; ++i) joined += (i > from ? between : "") + padded[i];
      found.push_back(joined);
    }
  };
  for (const int64_t width : widths)
    add(width, pads < 0 || pads > width - 1 ? width - 1 : pads, false);
  if (keep_short && !row.empty() && found.empty()) add(0, pads < 0 ? 0 : pads, true);
  return found;
}

bool check_ngrams(Random &random) {
  const Texts texts = any_texts(random, "");
  const std::string between = any_text(random, "", 2);
  const int64_t pads = below(random, 5) - 1, keep_short = below(random, 2);
  std::vector<int64_t> splits = {0}, widths(static_cast<size_t>(1 + below(random, 3))), wanted_counts;
  for (int64_t &each : widths) each = 1 + below(random, 6);
  while (splits.back() < static_cast<int64_t>(texts.size()))
    splits.push_back(std::min<int64_t>(splits.back() + below(random, 6), texts.size()));
  const int64_t rows = static_cast<int64_t>(splits.size()) - 1;
  Texts wanted;
  for (int64_t i = 0; i < rows; ++i) {
    const Texts row(texts.begin() + splits[i], texts.begin() + splits[i + 1]);
    const Texts made = neighbours(row, widths, between, pads, keep_short);
    wanted_counts.push_back(static_cast<int64_t>(made.size()));
    wanted.insert(wanted.end(), made.begin(), made.end());
  }
  Array given(texts), out(static_cast<int64_t>(wanted.size()));
  std::vector<int64_t> counts(static_cast<size_t>(rows));
  const auto call = [&](PyObject **to) {
    return penstock_strings_ngrams(given.data(), splits.data(), rows, widths.data(),
                                   static_cast<int64_t>(widths.size()), between.data(),
                                   static_cast<int64_t>(between.size()), "<", 1, ">>", 2, pads,
                                   keep_short, counts.data(), to);
  };
  return call(nullptr) == -1 && counts == wanted_counts && call(out.data()) == -1 &&
         counts == wanted_counts && out.texts() == wanted;
}

bool check_places(Random &random) {
  std::map<std::string, int64_t> known;
  Texts keys, wanted = any_texts(random, "", 60, 2);
  for (const std::string &each : any_texts(random, "", 60, 2))
    if (known.emplace(each, static_cast<int64_t>(keys.size())).second) keys.push_back(each);
  wanted.insert(wanted.end(), keys.begin(), keys.end());
  Array held(keys), given(wanted);
  int64_t slot_count = 2;
  while (slot_count < 2 * held.size()) slot_count *= 2;
  std::vector<uint64_t> hashes(keys.size());
  std::vector<int32_t> slots(static_cast<size_t>(slot_count), -1);
  std::vector<int64_t> places(wanted.size());
  if (penstock_strings_index(held.data(), held.size(), hashes.data(), slots.data(), slot_count) != -1 ||
      penstock_strings_places(given.data(), given.size(), held.data(), hashes.data(), slots.data(),
                              slot_count, places.data()) != -1)
    return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto found = known.find(wanted[i]);
    if (places[i] != (found == known.end() ? -1 : found->second)) return false;
  }
  return true;
}

bool check_match(Random &random) {
  const Texts texts = any_texts(random, random() % 2 ? "ab\n" : "ab\xC3\xA9");
  const std::string core = any_text(random, "ab", 3);
  const bool after = random() % 2, before = random() % 2;
  std::vector<int8_t> found(texts.size());
  Array given(texts);
  if (penstock_strings_match(given.data(), given.size(), core.data(), static_cast<int64_t>(core.size()),
                             after, before, found.data()) != -1)
    return false;
  for (size_t i = 0; i < texts.size(); ++i) {
    bool stands = false, simple = true;
    for (size_t at = 0; at + core.size() <= texts[i].size(); ++at)
      stands |= texts[i].compare(at, core.size(), core) == 0 && (after || at == 0) &&
                (before || at + core.size() == texts[i].size());
    for (const signed char c : texts[i]) simple &= c != '\n' && c >= 0;
    if (found[i] != (!stands ? 0 : simple || (!after && !before) ? 1 : 2)) return false;
  }
  return true;
}

// Characters written and read again, in each encoding; any bytes are read or refused.
bool check_characters(Random &random) {
  std::vector<int32_t> points;
  std::vector<int64_t> splits = {0};
  for (int64_t rows = below(random, 6); rows > 0; --rows) {
    for (int64_t i = below(random, 6); i > 0; --i) {
      const int32_t most[] = {0x80, 0x800, 0xD800, 0x110000};
      points.push_back(static_cast<int32_t>(below(random, most[random() % 4])));
      if (points.back() >= 0xD800 && points.back() < 0xE000) points.back() = 'x';
    }
    splits.push_back(static_cast<int64_t>(points.size()));
  }
  const auto rows = static_cast<int64_t>(splits.size()) - 1, number = static_cast<int64_t>(points.size());
  Array texts(rows), wide(rows), again(rows), same(rows);
  if (penstock_strings_characters(points.data(), number, splits.data(), rows, 0, texts.data()) != -1)
    return false;
  std::vector<int64_t> ends(splits.size()), starts(points.size());
  std::vector<int32_t> found(points.size());
  if (penstock_strings_points(texts.data(), rows, ends.data(), nullptr, nullptr) != -1 || ends != splits)
    return false;
  if (penstock_strings_points(texts.data(), rows, ends.data(), found.data(), starts.data()) != -1 ||
      found != points)
    return false;
  for (int64_t encoding = 0; encoding < 3; ++encoding) {
    penstock_strings_transcode(texts.data(), rows, encoding, wide.data());
    penstock_strings_characters(points.data(), number, splits.data(), rows, encoding, again.data());
    if (wide.texts() != again.texts()) return false;
  }
  const Texts any = any_texts(random, "");
  Array bytes(any), copies(bytes.size());
  const int64_t wrong = penstock_strings_transcode(bytes.data(), bytes.size(), 0, copies.data());
  const Texts copied = copies.texts();
  for (size_t i = 0; i < copied.size() && (wrong < 0 || static_cast<int64_t>(i) < wrong); ++i)
    if (copied[i] != any[i]) return false;
  if (number == 0) return true;
  points[0] = random() % 2 ? 0xD800 : -1;
  return penstock_strings_characters(points.data(), number, splits.data(), rows, 0, same.data()) >= 0;
}

bool check_summaries(Random &random) {
  std::vector<float> values(300);
  Texts tags;
  for (int64_t i = below(random, 5) + 1; i > 0; --i)
    tags.push_back(any_text(random, "ab", random() % 3 ? 4 : 300));
  Texts kinds(tags);
  std::sort(kinds.begin(), kinds.end());
  const bool differ = std::adjacent_find(kinds.begin(), kinds.end()) == kinds.end();
  Array given(tags), made(2), merged(1), again(1);
  penstock_strings_scalars(given.data(), given.size(), values.data(), made.data());
  penstock_strings_scalars(given.data(), 0, values.data(), made.data() + 1);
  const bool served = penstock_strings_merge(made.data(), 2, merged.data()) == -1;
  if (served != differ || (served && merged.texts()[0] != made.texts()[0])) return false;
  std::string broken = made.texts()[0];
  broken[below(random, static_cast<int64_t>(broken.size()))] = static_cast<char>(random());
  if (random() % 2) broken.resize(broken.size() - 1);
  Array wrong(Texts{broken});
  penstock_strings_merge(wrong.data(), 1, again.data());  // whatever it says, it reads no further
  return true;
}

bool check_wrong(Random &random) {  // the row of what is no text is the result, and nothing is lost
  Array given(Texts{"1", "22", "333", ""}), out(4);
  const int64_t row = below(random, 3), ids[] = {0, 1, 0, 1}, splits[] = {0, 4}, widths[] = {2};
  int64_t counts[4];
  double values[4];
  given.spoil(row);
  return penstock_strings_change(given.data(), 4, 0, out.data()) == row &&
         penstock_strings_split(given.data(), 4, "2", 1, 0, counts, nullptr) == row &&
         penstock_strings_doubles(given.data(), 4, values) == row &&
         penstock_strings_combine(given.data(), 4, ids, 2, "-", 1, out.data()) == row &&
         penstock_strings_ngrams(given.data(), splits, 1, widths, 1, "-", 1, "", 0, "", 0, 0, 0, counts,
                                 out.data()) == 0;
}

// More than there can be is an error of Python's, and counts of it take no time.
bool check_much(Random &) {
  const Texts one = {"x"};
  Array given(one);
  const int64_t id = 0, splits[] = {0, 1}, width = int64_t{1} << 31;
  int64_t count = 0;
  return penstock_strings_combine(given.data(), 1, &id, int64_t{1} << 60, "", 0, nullptr) == 0 &&
         penstock_strings_ngrams(given.data(), splits, 1, &width, 1, "", 0, "", 0, "", 0, -1, 0, &count,
                                 nullptr) == -1 &&
         count == width;
}

struct Check {
  const char *name;
  bool (*run)(Random &);
};

constexpr Check kChecks[] = {
    {"each text", check_each},    {"hash", check_hash},         {"join", check_join},
    {"split", check_split},       {"numbers", check_numbers},   {"fixed", check_fixed},
    {"stored", check_stored},     {"combine", check_combine},   {"ngrams", check_ngrams},
    {"match", check_match},       {"characters", check_characters},
    {"summaries", check_summaries},
    {"places", check_places},     {"wrong ones", check_wrong}, {"much", check_much},
};

}  // namespace

int main(int count, char **arguments) {
  const int64_t rounds = count > 1 ? std::atoll(arguments[1]) : 60;
  Random random(11);
  for (int64_t round = 0; round < rounds; ++round)
    for (const Check &check : kChecks) {
      if (check.run(random) && living == 0) continue;
      std::printf("strings: %s failed in round %lld; %lld texts live\n", check.name,
                  static_cast<long long>(round), static_cast<long long>(living));
      return 1;
    }
  std::printf("strings: %lld rounds of %zu checks are right\n", static_cast<long long>(rounds),
              std::size(kChecks));
  return 0;
}
