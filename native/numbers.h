// Programs in numbers, as Python writes them down: what the handlers that read them share.
#pragma once

#include <cstring>
#include <vector>

#include "handling.h"

namespace {

using Numbers = ffi::Span<const int64_t>;

// Numbers of a program in order.
class Reader {
 public:
  explicit Reader(Numbers numbers) : next_(numbers.begin()) {}
  long number() { return static_cast<long>(*next_++); }

 private:
  const int64_t* next_;
};

inline std::vector<penstock::Instruction> instructions_of(Reader& reader, long count) {
  std::vector<penstock::Instruction> found(count);
  for (auto& each : found) {
    for (long* field : {&each.code, &each.to, &each.a, &each.b, &each.offset})
      *field = reader.number();
    const std::int32_t bits = static_cast<std::int32_t>(reader.number());
    std::memcpy(&each.value, &bits, sizeof bits);
  }
  return found;
}

}  // namespace
