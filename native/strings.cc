// Work on arrays of strings. What the functions promise is in strings.h.

#include "strings.h"

#include <locale.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "base64.h"
#include "hashes.h"
#include "texts.h"

namespace {

struct Text {
  const char *data;
  int64_t size;
};

// Reads the bytes of a Python object; false, with Python's exception set, when it has none.
bool Read(PyObject *object, Text &text) {
  char *begin = nullptr;
  std::ptrdiff_t size = 0;
  if (PyBytes_AsStringAndSize(object, &begin, &size) != 0) return false;
  text = {begin, size};
  return true;
}

// Puts a new bytes object into a place of an array; false when there is no memory. Without `begin`
// its bytes are for the caller to write.
bool Put(PyObject **place, const char *begin, int64_t size) {
  PyObject *made = PyBytes_FromStringAndSize(begin, size);
  if (made == nullptr) return false;
  PyObject *old = *place;
  *place = made;
  Py_DecRef(old);
  return true;
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Calls visit(row, text) for each text; the first row for which it is false, or -1.
template <typename Visit>
int64_t ForEach(PyObject **texts, int64_t count, Visit visit) {
  constexpr int64_t kAhead = 16;  // texts lie anywhere in memory: so many are asked for at once
  Text text;
  for (int64_t row = 0; row < count; ++row) {
    if (row + kAhead < count) __builtin_prefetch(texts[row + kAhead]);
    if (!Read(texts[row], text) || !visit(row, text)) return row;
  }
  return -1;
}

Text Stripped(Text text) {
  while (text.size > 0 && IsSpace(text.data[0])) ++text.data, --text.size;
  while (text.size > 0 && IsSpace(text.data[text.size - 1])) --text.size;
  return text;
}

// What make() returns; where memory runs out, 0 with Python's exception set. No C++ exception may reach
// Python, which knows of none: the process would end.
template <typename Make>
int64_t WithMemory(Make make) {
  try {
    return make();
  } catch (const std::exception &) {  // bad_alloc, or length_error for more than there can be
    (void)PyErr_NoMemory();
    return 0;
  }
}

// Calls visit(part) for each part of a text; false when visit says so.
template <typename Visit>
bool ForEachPart(Text text, Text between, Visit visit) {
  const char *at = text.data, *end = text.data + text.size;
  if (between.size == 0) {
    for (;;) {
      while (at < end && IsSpace(*at)) ++at;
      if (at == end) return true;
      const char *begin = at;
      while (at < end && !IsSpace(*at)) ++at;
      if (!visit(Text{begin, at - begin})) return false;
    }
  }
  for (;;) {
    const void *found = end - at < between.size ? nullptr
                        : between.size == 1     ? memchr(at, between.data[0], end - at)
                                                : memmem(at, end - at, between.data, between.size);
    const char *stop = found == nullptr ? end : static_cast<const char *>(found);
    if (!visit(Text{at, stop - at})) return false;
    if (found == nullptr) return true;
    at = stop + between.size;
  }
}

// Digits with at most one point, and an exponent: what all libraries read alike. The bytes of a
// Python object are followed by a zero, so strtod stops there.
bool IsDecimal(Text text) {
  int64_t i = 0, digits = 0;
  const auto skip_digits = [&] {
    while (i < text.size && text.data[i] >= '0' && text.data[i] <= '9') ++i, ++digits;
  };
  const auto skip_sign = [&] {
    if (i < text.size && (text.data[i] == '-' || text.data[i] == '+')) ++i;
  };
  skip_sign();
  skip_digits();
  if (i < text.size && text.data[i] == '.') ++i, skip_digits();
  if (digits == 0) return false;
  if (i < text.size && (text.data[i] | 32) == 'e') {
    ++i;
    skip_sign();
    digits = 0;
    skip_digits();
    if (digits == 0) return false;
  }
  return i == text.size;
}

// Powers of ten and integers up to 2^53 are exact in double, so their quotient is rounded once.
constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// A short number without an exponent, exactly rounded to double; false when it is not short.
bool ReadShort(Text text, double &value) {
  if (text.size > 16) return false;
  int64_t i = text.data[0] == '-' || text.data[0] == '+', number = 0, digits = 0, after = -1;
  for (; i < text.size; ++i) {
    const char c = text.data[i];
    if (c == '.' && after < 0) {
      after = digits;
    } else if (c >= '0' && c <= '9') {
      number = number * 10 + (c - '0');
      ++digits;
    } else {
      return false;
    }
  }
  if (digits == 0 || digits > 15) return false;
  value = static_cast<double>(number) / kPowers[after < 0 ? 0 : digits - after];
  if (text.data[0] == '-') value = -value;
  return true;
}

// Points, not commas, whatever the program's language is.
locale_t PlainLocale() {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return plain;
}

// Whether a double lies in the middle of two floats: then the digits beyond decide.
bool IsHalfway(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (bits & 0x1FFFFFFF) == 0x10000000;
}

constexpr int64_t kWholePowers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};

// A number of size below 2^40 times 10^digits, which is below 2^64, as the nearest whole one; of two
// as near the even one.
uint64_t Scaled(double size, int64_t digits) {
  int power = 0;
  const double fraction = std::frexp(size, &power);  // size is fraction * 2^power
  const auto number = static_cast<uint64_t>(std::ldexp(fraction, 53));
  const int shift = 53 - power;  // above 12
  const unsigned __int128 product =
      static_cast<unsigned __int128>(number) * static_cast<uint64_t>(kWholePowers[digits]);
  if (shift > 100) return 0;  // the product is below 2^77
  const unsigned __int128 unit = static_cast<unsigned __int128>(1) << shift, rest = product % unit;
  const auto whole = static_cast<uint64_t>(product / unit);
  return whole + (rest > unit / 2 || (rest == unit / 2 && whole % 2 == 1));
}

// Writes a finite number's decimals; returns where they end.
char *WriteFixed(double value, int64_t digits, char *to) {
  const uint64_t scaled = Scaled(std::fabs(value), digits);
  const auto unit = static_cast<uint64_t>(kWholePowers[digits]);
  if (std::signbit(value)) *to++ = '-';
  to = std::to_chars(to, to + 20, scaled / unit).ptr;
  if (digits == 0) return to;
  *to++ = '.';
  uint64_t rest = scaled % unit;
  for (int64_t i = digits; i-- > 0; rest /= 10) to[i] = static_cast<char>('0' + rest % 10);
  return to + digits;
}

// The strings of a row with pads on both sides.
struct Padded {
  PyObject **texts;
  int64_t count, pads;
  Text left, right;

  int64_t size() const { return count + 2 * pads; }

  bool at(int64_t place, Text &text) const {
    if (place < pads || place >= pads + count) {
      text = place < pads ? left : right;
      return true;
    }
    return Read(texts[place - pads], text);
  }

  // Joins `width` strings from a place on.
  bool join(int64_t from, int64_t width, Text between, std::string &joined) const {
    joined.clear();
    Text text;
    for (int64_t i = from; i < from + width; ++i) {
      if (i > from) joined.append(between.data, between.size);
      if (!at(i, text)) return false;
      joined.append(text.data, text.size);
    }
    return true;
  }
};

// Reads each text without the white space around it by convert(text, value).
template <typename Number, typename Convert>
int64_t ReadNumbers(PyObject **texts, int64_t count, Number *values, Convert convert) {
  return ForEach(texts, count, [&](int64_t row, Text text) {
    text = Stripped(text);
    return text.size > 0 && convert(text, values[row]);
  });
}

}  // namespace

int penstock_strings_version() { return 6; }

int64_t penstock_strings_hash(PyObject **texts, int64_t count, int64_t function, uint64_t key0,
                              uint64_t key1, uint64_t limit, uint64_t *hashes) {
  return ForEach(texts, count, [=](int64_t row, Text text) {
    const uint64_t hash = function == 0   ? penstock::Farm(text.data, text.size)
                          : function == 1 ? penstock::Sip(text.data, text.size, key0, key1)
                                          : penstock::Murmur(text.data, text.size, key0);
    hashes[row] = limit == 0 ? hash : hash % limit;
    return true;
  });
}

int64_t penstock_strings_lengths(PyObject **texts, int64_t count, int64_t characters,
                                 int32_t *lengths) {
  return ForEach(texts, count, [=](int64_t row, Text text) {
    int64_t length = text.size;
    if (characters != 0)
      for (int64_t i = 0; i < text.size; ++i) length -= (text.data[i] & 0xC0) == 0x80;
    lengths[row] = static_cast<int32_t>(length);
    return true;
  });
}

int64_t penstock_strings_change(PyObject **texts, int64_t count, int64_t change, PyObject **out) {
  const char first = change == 0 ? 'A' : 'a';
  return ForEach(texts, count, [=](int64_t row, Text text) {
    if (change == 2) {
      text = Stripped(text);
      return Put(out + row, text.data, text.size);
    }
    Text made;
    if (!Put(out + row, nullptr, text.size) || !Read(out[row], made)) return false;
    char *to = const_cast<char *>(made.data);  // new, and nobody else's yet
    for (int64_t i = 0; i < text.size; ++i) {
      const unsigned char letter = text.data[i] - first;
      to[i] = static_cast<char>(text.data[i] ^ (letter < 26 ? 32 : 0));
    }
    return true;
  });
}

int64_t penstock_strings_part(PyObject **texts, int64_t count, int64_t pos, int64_t size,
                              PyObject **out) {
  return ForEach(texts, count, [=](int64_t row, Text text) {
    if (text.size < pos) return false;
    const int64_t rest = text.size - pos;
    return Put(out + row, text.data + pos, rest < size ? rest : size);
  });
}

int64_t penstock_strings_join(PyObject ***texts, const int64_t *steps, int64_t columns,
                              int64_t count, const char *between, int64_t size, PyObject **out) {
  return WithMemory([&]() -> int64_t {
    std::string joined;
    Text text;
    for (int64_t row = 0; row < count; ++row) {
      joined.clear();
      for (int64_t column = 0; column < columns; ++column) {
        if (!Read(texts[column][row * steps[column]], text)) return row;
        if (column > 0) joined.append(between, size);
        joined.append(text.data, text.size);
      }
      if (!Put(out + row, joined.data(), static_cast<int64_t>(joined.size()))) return row;
    }
    return -1;
  });
}

int64_t penstock_strings_split(PyObject **texts, int64_t count, const char *between, int64_t size,
                               int64_t skip_empty, int64_t *counts, PyObject **out) {
  return ForEach(texts, count, [&, separator = Text{between, size}](int64_t row, Text text) {
    int64_t parts = 0;
    const bool done = ForEachPart(text, separator, [&](Text part) {
      if (skip_empty != 0 && part.size == 0) return true;
      ++parts;
      return out == nullptr || Put(out++, part.data, part.size);
    });
    counts[row] = parts;
    return done;
  });
}

int64_t penstock_strings_floats(PyObject **texts, int64_t count, float *values) {
  return ReadNumbers(texts, count, values, [](Text text, float &value) {
    double wide;
    if (ReadShort(text, wide) && !IsHalfway(wide)) {
      value = static_cast<float>(wide);
      return true;
    }
    if (!IsDecimal(text)) return false;
    value = strtof_l(text.data, nullptr, PlainLocale());
    return true;
  });
}

int64_t penstock_strings_doubles(PyObject **texts, int64_t count, double *values) {
  return ReadNumbers(texts, count, values, [](Text text, double &value) {
    if (ReadShort(text, value)) return true;
    if (!IsDecimal(text)) return false;
    value = strtod_l(text.data, nullptr, PlainLocale());
    return true;
  });
}

int64_t penstock_strings_integers(PyObject **texts, int64_t count, int64_t *values) {
  return ReadNumbers(texts, count, values, [](Text text, int64_t &value) {
    const bool negative = text.data[0] == '-';
    if (text.size > 18) return false;
    value = 0;
    int64_t i = negative || text.data[0] == '+';
    if (i == text.size) return false;
    for (; i < text.size; ++i) {
      if (text.data[i] < '0' || text.data[i] > '9') return false;
      value = value * 10 + (text.data[i] - '0');
    }
    if (negative) value = -value;
    return true;
  });
}

int64_t penstock_strings_bytes(PyObject **texts, int64_t count, int64_t size, int64_t pad, char *out) {
  return ForEach(texts, count, [&](int64_t row, Text text) {
    if (text.size != size && !pad) return false;
    const int64_t taken = text.size < size ? text.size : size;
    memcpy(out + row * size, text.data, static_cast<size_t>(taken));
    memset(out + row * size + taken, 0, static_cast<size_t>(size - taken));
    return true;
  });
}

int64_t penstock_strings_encode(PyObject **texts, int64_t count, int64_t pad, PyObject **out) {
  return WithMemory([&]() -> int64_t {
    std::string letters;
    return ForEach(texts, count, [&](int64_t row, Text text) {
      letters.resize(static_cast<size_t>(penstock::Base64Size(text.size, pad)));
      penstock::EncodeBase64(text.data, text.size, pad, letters.data());
      return Put(out + row, letters.data(), static_cast<int64_t>(letters.size()));
    });
  });
}

int64_t penstock_strings_decode(PyObject **texts, int64_t count, PyObject **out) {
  return WithMemory([&]() -> int64_t {
    std::string bytes;
    return ForEach(texts, count, [&](int64_t row, Text text) {
      const int64_t body = penstock::Base64Body(text.data, text.size);
      if (body % 4 == 1) return false;
      bytes.resize(static_cast<size_t>(body / 4 * 3 + (body % 4 ? body % 4 - 1 : 0)));
      if (!penstock::DecodeBase64(text.data, body, bytes.data())) return false;
      return Put(out + row, bytes.data(), static_cast<int64_t>(bytes.size()));
    });
  });
}

int64_t penstock_strings_combine(PyObject **texts, int64_t count, const int64_t *ids, int64_t parts,
                                 const char *between, int64_t size, PyObject **out) {
  return WithMemory([&]() -> int64_t {
    std::vector<std::string> joined(static_cast<size_t>(parts));
    const int64_t wrong = ForEach(texts, count, [&](int64_t row, Text text) {
      std::string &part = joined[static_cast<size_t>(ids[row])];
      if (!part.empty()) part.append(between, size);
      part.append(text.data, text.size);
      return true;
    });
    if (wrong >= 0) return wrong;
    for (size_t part = 0; part < joined.size(); ++part)
      if (!Put(out + part, joined[part].data(), static_cast<int64_t>(joined[part].size()))) return 0;
    return -1;
  });
}

int64_t penstock_strings_ngrams(PyObject **texts, const int64_t *splits, int64_t rows,
                                const int64_t *widths, int64_t width_count, const char *between,
                                int64_t size, const char *left, int64_t left_size, const char *right,
                                int64_t right_size, int64_t pads, int64_t keep_short, int64_t *counts,
                                PyObject **out) {
  return WithMemory([&]() -> int64_t {
    const Text separator{between, size};
    Padded row{texts, 0, 0, {left, left_size}, {right, right_size}};
    std::string joined;
    for (int64_t i = 0; i < rows; ++i) {
      row.texts = texts + splits[i];
      row.count = splits[i + 1] - splits[i];
      counts[i] = 0;
      const auto add = [&](int64_t width) {  // all of one width
        const int64_t number = std::max<int64_t>(row.size() - width + 1, 0);
        counts[i] += number;
        for (int64_t from = 0; out != nullptr && from < number; ++from)
          if (!row.join(from, width, separator, joined) ||
              !Put(out++, joined.data(), static_cast<int64_t>(joined.size())))
            return false;
        return true;
      };
      for (int64_t k = 0; k < width_count; ++k) {
        row.pads = pads < 0 ? widths[k] - 1 : std::min(pads, widths[k] - 1);
        if (!add(widths[k])) return i;
      }
      row.pads = std::max<int64_t>(pads, 0);
      if (keep_short != 0 && row.count > 0 && counts[i] == 0 && !add(row.size())) return i;
    }
    return -1;
  });
}

int64_t penstock_strings_fixed(const double *values, int64_t count, int64_t digits, PyObject **out) {
  char text[40];
  for (int64_t row = 0; row < count; ++row) {
    const double value = values[row];
    char *end = text;
    if (std::isfinite(value)) {
      if (std::fabs(value) >= 0x1p40) return row;
      end = WriteFixed(value, digits, text);
    } else {
      const char *name = std::isnan(value) ? "-nan" : "-inf";
      name += !std::signbit(value);
      end += strlen(strcpy(text, name));
    }
    if (!Put(out + row, text, end - text)) return row;
  }
  return -1;
}

int64_t penstock_strings_whole(const int64_t *values, int64_t count, PyObject **out) {
  char text[24];
  for (int64_t row = 0; row < count; ++row) {
    const char *end = std::to_chars(text, text + sizeof text, values[row]).ptr;
    if (!Put(out + row, text, end - text)) return row;
  }
  return -1;
}

int64_t penstock_strings_index(PyObject **keys, int64_t count, uint64_t *hashes, int32_t *slots,
                               int64_t slot_count) {
  return ForEach(keys, count, [=](int64_t row, Text key) {
    hashes[row] = penstock::Farm(key.data, key.size);
    auto slot = static_cast<int64_t>(hashes[row]) & (slot_count - 1);
    while (slots[slot] >= 0) slot = (slot + 1) & (slot_count - 1);
    slots[slot] = static_cast<int32_t>(row);
    return true;
  });
}

int64_t penstock_strings_places(PyObject **wanted, int64_t number, PyObject **keys,
                                const uint64_t *hashes, const int32_t *slots, int64_t slot_count,
                                int64_t *places) {
  return ForEach(wanted, number, [=](int64_t row, Text text) {
    const uint64_t hash = penstock::Farm(text.data, text.size);
    auto slot = static_cast<int64_t>(hash) & (slot_count - 1);
    Text key;
    for (; slots[slot] >= 0; slot = (slot + 1) & (slot_count - 1)) {
      if (hashes[slots[slot]] != hash) continue;
      if (!Read(keys[slots[slot]], key)) return false;
      if (key.size == text.size && memcmp(key.data, text.data, text.size) == 0) break;
    }
    places[row] = slots[slot];
    return true;
  });
}

int64_t penstock_strings_match(PyObject **texts, int64_t count, const char *core, int64_t size,
                               int64_t after_any, int64_t before_any, int8_t *found) {
  return ForEach(texts, count, [=](int64_t row, Text text) {
    const std::string_view given(text.data, static_cast<size_t>(text.size));
    const std::string_view wanted(core, static_cast<size_t>(size));
    bool stands = given.size() >= wanted.size();
    if (stands && after_any != 0 && before_any != 0)
      stands = given.find(wanted) != std::string_view::npos;
    else if (stands && after_any != 0)
      stands = given.substr(given.size() - wanted.size()) == wanted;
    else if (stands)
      stands = given.substr(0, wanted.size()) == wanted && (before_any != 0 || given.size() == wanted.size());
    const bool any = after_any != 0 || before_any != 0;
    const bool simple = !any || (memchr(text.data, '\n', given.size()) == nullptr && penstock::IsAscii(given));
    found[row] = !stands ? 0 : simple ? 1 : 2;
    return true;
  });
}

int64_t penstock_strings_points(PyObject **texts, int64_t count, int64_t *splits, int32_t *points,
                                int64_t *starts) {
  int64_t number = 0;
  splits[0] = 0;
  return ForEach(texts, count, [&](int64_t row, Text text) {
    uint32_t point = 0;
    for (const char *at = text.data, *end = text.data + text.size; at < end; ++number) {
      const int64_t start = at - text.data;
      if (!penstock::ReadCharacter(at, end, point)) return false;
      if (points == nullptr) continue;
      points[number] = static_cast<int32_t>(point);
      starts[number] = start;
    }
    splits[row + 1] = number;
    return true;
  });
}

int64_t penstock_strings_transcode(PyObject **texts, int64_t count, int64_t encoding, PyObject **out) {
  return WithMemory([&]() -> int64_t {
    std::string made;
    return ForEach(texts, count, [&](int64_t row, Text text) {
      uint32_t point = 0;
      made.clear();
      for (const char *at = text.data, *end = text.data + text.size; at < end;) {
        if (!penstock::ReadCharacter(at, end, point)) return false;
        penstock::WriteCharacter(point, encoding, made);
      }
      return Put(out + row, made.data(), static_cast<int64_t>(made.size()));
    });
  });
}

int64_t penstock_strings_characters(const int32_t *points, int64_t number, const int64_t *splits,
                                    int64_t rows, int64_t encoding, PyObject **out) {
  if (splits[0] != 0 || splits[rows] != number) return 0;
  return WithMemory([&]() -> int64_t {
    std::string made;
    for (int64_t row = 0; row < rows; ++row) {
      made.clear();
      if (splits[row + 1] < splits[row] || splits[row + 1] > number) return row;
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        if (!penstock::IsCharacter(points[i])) return row;
        penstock::WriteCharacter(static_cast<uint32_t>(points[i]), encoding, made);
      }
      if (!Put(out + row, made.data(), static_cast<int64_t>(made.size()))) return row;
    }
    return -1;
  });
}

int64_t penstock_strings_scalars(PyObject **tags, int64_t count, const float *values, PyObject **out) {
  return WithMemory([&]() -> int64_t {
    std::string made;
    const int64_t wrong = ForEach(tags, count, [&](int64_t row, Text tag) {
      const std::string_view name(tag.data, static_cast<size_t>(tag.size));
      if (!penstock::IsAscii(name)) return false;
      penstock::WriteScalar(name, values[row], made);
      return true;
    });
    if (wrong >= 0) return wrong;
    return Put(out, made.data(), static_cast<int64_t>(made.size())) ? -1 : 0;
  });
}

int64_t penstock_strings_merge(PyObject **summaries, int64_t count, PyObject **out) {
  return WithMemory([&]() -> int64_t {
    std::unordered_set<std::string_view> tags;
    std::string made;
    const int64_t wrong = ForEach(summaries, count, [&](int64_t, Text text) {
      const std::string_view summary(text.data, static_cast<size_t>(text.size));
      if (!penstock::ReadScalars(summary, tags)) return false;
      made += summary;
      return true;
    });
    if (wrong >= 0) return wrong;
    return Put(out, made.data(), static_cast<int64_t>(made.size())) ? -1 : 0;
  });
}
