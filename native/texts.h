// Characters of UTF-8, and summaries of numbers as protobuf writes them. Part of strings.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>

namespace penstock {

// Reads the character at `at`, which it moves on; false where there is none. Characters are those of
// the standard: as short as they can be, no surrogates, up to 0x10FFFF.
inline bool ReadCharacter(const char *&at, const char *end, uint32_t &point) {
  const auto first = static_cast<unsigned char>(*at++);
  if (first < 0x80) {
    point = first;
    return true;
  }
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  if (first < 0xC2 || first > 0xF4 || end - at < more) return false;
  point = first & (0x3F >> more);
  for (int i = 0; i < more; ++i) {
    const auto next = static_cast<unsigned char>(*at++);
    if ((next & 0xC0) != 0x80) return false;
    point = point << 6 | (next & 0x3F);
  }
  constexpr uint32_t least[] = {0x80, 0x800, 0x10000};
  return point >= least[more - 1] && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
}

inline bool IsCharacter(int64_t point) {
  return point >= 0 && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
}

// Appends a character in UTF-8 (0), or UTF-16 (1) or UTF-32 (2) with the high bytes first.
inline void WriteCharacter(uint32_t point, int64_t encoding, std::string &to) {
  const auto put = [&to](uint32_t byte) { to.push_back(static_cast<char>(byte)); };
  if (encoding == 2) {
    for (int shift = 24; shift >= 0; shift -= 8) put(point >> shift);
  } else if (encoding == 1 && point < 0x10000) {
    put(point >> 8);
    put(point);
  } else if (encoding == 1) {
    const uint32_t rest = point - 0x10000, high = 0xD800 | rest >> 10, low = 0xDC00 | (rest & 0x3FF);
    for (const uint32_t half : {high, low}) {
      put(half >> 8);
      put(half);
    }
  } else if (point < 0x80) {
    put(point);
  } else {
    const int more = point >= 0x10000 ? 3 : point >= 0x800 ? 2 : 1;
    put((0xF0 << (3 - more) & 0xFF) | point >> (6 * more));
    for (int shift = 6 * (more - 1); shift >= 0; shift -= 6) put(0x80 | (point >> shift & 0x3F));
  }
}

inline bool IsAscii(std::string_view text) {
  for (const char c : text)
    if ((c & 0x80) != 0) return false;
  return true;
}

inline void WriteVarint(uint64_t number, std::string &to) {
  for (; number >= 0x80; number >>= 7) to.push_back(static_cast<char>(number | 0x80));
  to.push_back(static_cast<char>(number));
}

// Reads a number as short as it can be written, of at most five bytes.
inline bool ReadVarint(std::string_view &from, uint64_t &number) {
  number = 0;
  for (std::size_t i = 0; i < from.size() && i < 5; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    number |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte >= 0x80) continue;
    from.remove_prefix(i + 1);
    return byte != 0 || i == 0;
  }
  return false;
}

constexpr char kMessage = 0x0A, kFloat = 0x15;  // field 1, a message or text; field 2, a float

// Appends a Summary of one number. No tag is no field.
inline void WriteScalar(std::string_view tag, float value, std::string &to) {
  std::string named;
  if (!tag.empty()) {
    named.push_back(kMessage);
    WriteVarint(tag.size(), named);
  }
  to.push_back(kMessage);
  WriteVarint(named.size() + tag.size() + 5, to);
  to += named;
  to += tag;
  to.push_back(kFloat);
  char bytes[4];
  std::memcpy(bytes, &value, 4);
  if constexpr (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) std::reverse(bytes, bytes + 4);
  to.append(bytes, 4);
}

// Whether a Summary has numbers alone, written as WriteScalar does, with tags of ASCII; adds these to
// `tags`, of which each must be new.
inline bool ReadScalars(std::string_view summary, std::unordered_set<std::string_view> &tags) {
  uint64_t size = 0;
  while (!summary.empty()) {
    if (summary[0] != kMessage) return false;
    summary.remove_prefix(1);
    if (!ReadVarint(summary, size) || size > summary.size()) return false;
    std::string_view value = summary.substr(0, size), tag;
    summary.remove_prefix(size);
    if (!value.empty() && value[0] == kMessage) {
      value.remove_prefix(1);
      if (!ReadVarint(value, size) || size == 0 || size > value.size()) return false;
      tag = value.substr(0, size);
      value.remove_prefix(size);
    }
    if (value.size() != 5 || value[0] != kFloat || !IsAscii(tag)) return false;
    if (!tags.insert(tag).second) return false;
  }
  return true;
}

}  // namespace penstock
