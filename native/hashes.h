// Hashes of strings, as penstock/ops/string_hashes.py has them for where this library is not:
// FarmHash's Fingerprint64, SipHash-2-4, MurmurHash64A. Written from the published algorithms.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace penstock {

using Word = std::uint64_t;

constexpr Word kFarm0 = 0xC3A5C85C97CB3127, kFarm1 = 0xB492B66FBE98F273,
               kFarm2 = 0x9AE16A3B2F90404F, kMurmur = 0xC6A4A7935BD1E995;

// The little-endian word of `size` bytes; the processors that we build for are little-endian.
inline Word Load(const char *at, int size = 8) {
  Word word = 0;
  std::memcpy(&word, at, size);
  return word;
}

// The little-endian word of up to 7 bytes, in loads of sizes that the compiler knows.
inline Word LoadSome(const char *at, std::int64_t size) {
  if (size == 0) return 0;
  if (size >= 4) return Load(at, 4) | Load(at + size - 4, 4) << 8 * (size - 4);
  const std::int64_t middle = size / 2, last = size - 1;
  return Load(at, 1) | Load(at + middle, 1) << 8 * middle | Load(at + last, 1) << 8 * last;
}

inline Word Rotate(Word x, int by) { return x >> by | x << (64 - by); }
inline Word ShiftMix(Word x) { return x ^ x >> 47; }

inline Word Mix16(Word u, Word v, Word multiplier) {
  const Word a = ShiftMix((u ^ v) * multiplier);
  return ShiftMix((v ^ a) * multiplier) * multiplier;
}

inline Word FarmUpTo16(const char *s, std::int64_t n) {
  const Word multiplier = kFarm2 + 2 * n;
  if (n >= 8) {
    const Word a = Load(s) + kFarm2, b = Load(s + n - 8);
    return Mix16(Rotate(b, 37) * multiplier + a, (Rotate(a, 25) + b) * multiplier, multiplier);
  }
  if (n >= 4) return Mix16((Load(s, 4) << 3) + n, Load(s + n - 4, 4), multiplier);
  if (n == 0) return kFarm2;
  const Word y = Load(s, 1) + (Load(s + (n >> 1), 1) << 8), z = n + (Load(s + n - 1, 1) << 2);
  return ShiftMix(y * kFarm2 ^ z * kFarm0) * kFarm2;
}

inline Word FarmUpTo32(const char *s, std::int64_t n) {
  const Word multiplier = kFarm2 + 2 * n;
  const Word a = Load(s) * kFarm1, b = Load(s + 8);
  const Word c = Load(s + n - 8) * multiplier, d = Load(s + n - 16) * kFarm2;
  return Mix16(Rotate(a + b, 43) + Rotate(c, 30) + d, a + Rotate(b + kFarm2, 18) + c, multiplier);
}

inline Word FarmUpTo64(const char *s, std::int64_t n) {
  const Word multiplier = kFarm2 + 2 * n;
  const Word a = Load(s) * kFarm2, b = Load(s + 8);
  const Word c = Load(s + n - 8) * multiplier, d = Load(s + n - 16) * kFarm2;
  const Word y = Rotate(a + b, 43) + Rotate(c, 30) + d;
  const Word z = Mix16(y, a + Rotate(b + kFarm2, 18) + c, multiplier);
  const Word e = Load(s + 16) * multiplier, f = Load(s + 24);
  const Word g = (y + Load(s + n - 32)) * multiplier, h = (z + Load(s + n - 24)) * multiplier;
  return Mix16(Rotate(e + f, 43) + Rotate(g, 30) + h, e + Rotate(f + a, 18) + g, multiplier);
}

struct FarmState {
  Word x, y, z;
  std::pair<Word, Word> v, w;

  // Two words of state mixed with 32 bytes.
  static std::pair<Word, Word> Weak(const char *s, Word a, Word b) {
    a += Load(s);
    b = Rotate(b + a + Load(s + 24), 21);
    const Word c = a;
    a += Load(s + 8) + Load(s + 16);
    b += Rotate(a, 44);
    return {a + Load(s + 24), b + c};
  }

  // 64 bytes mixed into the state.
  void Round(const char *s, Word multiplier, Word times) {
    x = Rotate(x + y + v.first + Load(s + 8), 37) * multiplier;
    y = Rotate(y + v.second + Load(s + 48), 42) * multiplier;
    x ^= w.second * times;
    y += v.first * times + Load(s + 40);
    z = Rotate(z + w.first, 33) * multiplier;
    v = Weak(s, v.second * multiplier, x + w.first);
    w = Weak(s + 32, z + w.second, y + Load(s + 16));
    std::swap(x, z);
  }
};

inline Word FarmLong(const char *s, std::int64_t n) {
  FarmState t{81 * kFarm2 + Load(s), 81 * kFarm1 + 113, 0, {0, 0}, {0, 0}};
  t.z = ShiftMix(t.y * kFarm2 + 113) * kFarm2;
  for (std::int64_t at = 0; at < (n - 1) / 64 * 64; at += 64) t.Round(s + at, kFarm1, 1);
  const Word multiplier = kFarm1 + ((t.z & 0xFF) << 1);
  t.w.first += (n - 1) & 63;
  t.v.first += t.w.first;
  t.w.first += t.v.first;
  t.Round(s + n - 64, multiplier, 9);
  const Word first = Mix16(t.v.first, t.w.first, multiplier) + ShiftMix(t.y) * kFarm0 + t.z;
  return Mix16(first, Mix16(t.v.second, t.w.second, multiplier) + t.x, multiplier);
}

inline Word Farm(const char *s, std::int64_t n) {
  if (n <= 16) return FarmUpTo16(s, n);
  if (n <= 32) return FarmUpTo32(s, n);
  return n <= 64 ? FarmUpTo64(s, n) : FarmLong(s, n);
}

struct SipState {
  Word a, b, c, d;

  void Round() {
    a += b;
    b = Rotate(b, 64 - 13) ^ a;
    a = Rotate(a, 32);
    c += d;
    d = Rotate(d, 64 - 16) ^ c;
    a += d;
    d = Rotate(d, 64 - 21) ^ a;
    c += b;
    b = Rotate(b, 64 - 17) ^ c;
    c = Rotate(c, 32);
  }

  void Absorb(Word word) {
    d ^= word;
    Round();
    Round();
    a ^= word;
  }
};

inline Word Sip(const char *s, std::int64_t n, Word k0, Word k1) {
  SipState t{k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261,
             k1 ^ 0x7465646279746573};
  const std::int64_t whole = n - n % 8;
  for (std::int64_t at = 0; at < whole; at += 8) t.Absorb(Load(s + at));
  t.Absorb(LoadSome(s + whole, n % 8) | static_cast<Word>(n & 0xFF) << 56);
  t.c ^= 0xFF;
  for (int i = 0; i < 4; ++i) t.Round();
  return t.a ^ t.b ^ t.c ^ t.d;
}

inline Word Murmur(const char *s, std::int64_t n, Word seed) {
  Word h = seed ^ n * kMurmur;
  const std::int64_t whole = n - n % 8;
  for (std::int64_t at = 0; at < whole; at += 8)
    h = (h ^ ShiftMix(Load(s + at) * kMurmur) * kMurmur) * kMurmur;
  if (n % 8 != 0) h = (h ^ LoadSome(s + whole, n % 8)) * kMurmur;
  h = ShiftMix(h) * kMurmur;
  return ShiftMix(h);
}

}  // namespace penstock
