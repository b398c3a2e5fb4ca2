// Base 64 of the alphabet for addresses, which has '-' and '_' where the common one has '+' and '/'.
#pragma once

#include <cstdint>

namespace penstock {

constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// The letters that `size` bytes take.
inline int64_t Base64Size(int64_t size, bool pad) {
  return pad ? (size + 2) / 3 * 4 : size / 3 * 4 + (size % 3 ? size % 3 + 1 : 0);
}

inline void EncodeBase64(const char *bytes, int64_t size, bool pad, char *out) {
  const unsigned char *in = reinterpret_cast<const unsigned char *>(bytes);
  for (; size >= 3; size -= 3, in += 3) {
    const uint32_t bits = in[0] << 16 | in[1] << 8 | in[2];
    for (int shift = 18; shift >= 0; shift -= 6) *out++ = kBase64[bits >> shift & 63];
  }
  if (!size) return;
  const uint32_t bits = in[0] << 16 | (size == 2 ? in[1] << 8 : 0);
  for (int shift = 18, left = static_cast<int>(size) + 1; left; --left, shift -= 6)
    *out++ = kBase64[bits >> shift & 63];
  for (; pad && size < 3; ++size) *out++ = '=';
}

// The number of a letter, 64 of what is none.
inline uint32_t Base64Digit(char letter) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  if (letter >= '0' && letter <= '9') return letter - '0' + 52;
  return letter == '-' ? 62 : letter == '_' ? 63 : 64;
}

// The size of a text without the one or two '=' that fill up its last four letters.
inline int64_t Base64Body(const char *text, int64_t size) {
  if (size == 0 || size % 4) return size;
  if (text[size - 1] != '=') return size;
  return text[size - 2] == '=' ? size - 2 : size - 1;
}

// The bytes of `size` letters without '=', size / 4 * 3 and one or two; false where a letter is none.
inline bool DecodeBase64(const char *text, int64_t size, char *out) {
  uint32_t bits = 0, wrong = 0;
  for (int64_t i = 0; i < size; ++i) {
    const uint32_t digit = Base64Digit(text[i]);
    wrong |= digit;
    bits = bits << 6 | (digit & 63);
    if (i % 4 == 3) {
      *out++ = static_cast<char>(bits >> 16);
      *out++ = static_cast<char>(bits >> 8);
      *out++ = static_cast<char>(bits);
    }
  }
  if (size % 4 >= 2) *out++ = static_cast<char>(bits >> (size % 4 == 2 ? 4 : 10));
  if (size % 4 == 3) *out++ = static_cast<char>(bits >> 2);
  return !(wrong & 64);
}

}  // namespace penstock
