// Examples drawn from a seed, sound ones and damaged ones, for check_wire.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace messages {

inline std::mt19937 generator;
inline long draw(long low, long high) {
  return std::uniform_int_distribution<long>(low, high)(generator);
}

inline void put_number(std::string &to, uint64_t value) {
  for (; value >= 128; value >>= 7) to += static_cast<char>(value | 128);
  to += static_cast<char>(value);
}

inline void put_bytes(std::string &to, long field, const std::string &content) {
  put_number(to, field << 3 | 2);
  put_number(to, content.size());
  to += content;
}

struct Feature {
  std::string key;
  int kind = 0;  // the number of the list's field: 1 strings, 2 floats, 3 integers
  std::vector<std::string> strings;
  std::vector<float> floats;
  std::vector<int64_t> integers;
};

inline std::string draw_text(long longest) {
  std::string text;
  for (long left = draw(0, longest); left > 0; --left) text += static_cast<char>(draw(0, 255));
  return text;
}

inline int64_t draw_integer() {
  const auto bits = static_cast<uint64_t>(draw(0, INT64_MAX)) << 1 | draw(0, 1);
  return static_cast<int64_t>(bits >> draw(0, 63));
}

// The content of a FloatList or Int64List: pieces that are packed, and single numbers.
template <typename Values, typename Put>
inline std::string numbers_of(const Values &values, long single, Put put) {
  std::string list, packed;
  for (const auto &each : values) {
    if (draw(0, 3) != 0) {
      put(packed, each);
      continue;
    }
    if (!packed.empty()) put_bytes(list, 1, packed);
    packed.clear();
    put_number(list, 1 << 3 | single);
    put(list, each);
  }
  if (!packed.empty() || draw(0, 4) == 0) put_bytes(list, 1, packed);
  return list;
}

inline std::string draw_list(Feature &feature) {
  feature.kind = static_cast<int>(draw(1, 3));
  const long count = draw(0, 3) == 0 ? draw(0, 40) : draw(0, 4);
  std::string list;
  if (feature.kind == 1) {
    for (long i = 0; i < count; ++i) feature.strings.push_back(draw_text(draw(0, 9) == 0 ? 300 : 9));
    for (const auto &each : feature.strings) put_bytes(list, 1, each);
    return list;
  }
  if (feature.kind == 2) {
    for (long i = 0; i < count; ++i) feature.floats.push_back(static_cast<float>(draw(-99, 99)) / 8);
    return numbers_of(feature.floats, 5, [](std::string &to, float value) {
      char bytes[sizeof value];
      std::memcpy(bytes, &value, sizeof value);
      to.append(bytes, sizeof value);
    });
  }
  for (long i = 0; i < count; ++i) feature.integers.push_back(draw_integer());
  return numbers_of(feature.integers, 0, [](std::string &to, int64_t value) {
    put_number(to, static_cast<uint64_t>(value));
  });
}

// An Example whose Features are field `field`, with some of the keys k0 to k4, and with fields that
// nobody reads.
inline std::string draw_example(long field, std::vector<Feature> &features) {
  std::string map;
  for (long key = 0; key < 5; ++key) {
    if (draw(0, 2) == 0) continue;
    Feature feature;
    feature.key = "k" + std::to_string(key);
    std::string held, entry;
    const std::string list = draw_list(feature);
    put_bytes(held, feature.kind, list);
    if (draw(0, 3) == 0) put_bytes(held, draw(4, 99), draw_text(9));
    put_bytes(entry, 1, feature.key);
    put_bytes(entry, 2, held);
    put_bytes(map, 1, entry);
    features.push_back(feature);
  }
  std::string example;
  if (draw(0, 3) == 0) put_bytes(example, draw(3, 2000), draw_text(20));
  put_bytes(example, field, map);
  return example;
}

inline void damage(std::string &message) {
  for (long left = draw(1, 4); left > 0; --left) {
    const long size = static_cast<long>(message.size());
    const long at = draw(0, size), some = draw(0, std::min(size - at, 12l));
    switch (draw(0, 6)) {
      case 0: message.resize(at); break;
      case 1: message.erase(at, some); break;
      case 2: message.insert(at, draw_text(12)); break;
      case 3: message.insert(at, message.substr(at, some)); break;
      case 4: message.insert(at, std::string(draw(1, 12), '\xff')); break;  // a number without end
      case 5:
        if (at < size) message[at] = static_cast<char>("\x00\x7f\x80\xff"[draw(0, 3)]);
        break;
      default:
        if (at < size) message[at] = static_cast<char>(message[at] ^ (1 << draw(0, 7)));
    }
  }
}

}  // namespace messages
