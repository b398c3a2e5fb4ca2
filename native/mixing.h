// Bits of whole numbers mixed, for tables of arrays.cc that find things by hash.
#pragma once

#include <cstdint>

namespace penstock {
namespace {

inline uint64_t mixed(uint64_t x) {
  x ^= x >> 32;
  x *= 0x9E3779B97F4A7C15u;
  x ^= x >> 29;
  return x * 0xBF58476D1CE4E5B9u;
}

}  // namespace
}  // namespace penstock
