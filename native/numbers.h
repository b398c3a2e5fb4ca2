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
  explicit Reader(Numbers numbers) : next_(numbers.begin()), end_(numbers.end()) {}

  long number() {
    need(next_ != end_, "more numbers of a program");
    return static_cast<long>(*next_++);
  }

  // One in [0, most].
  long number_to(long most) {
    const long found = number();
    need(found >= 0 && found <= most, "numbers of a program that are within bounds");
    return found;
  }

  // The number of one of `count` things.
  long one_of(std::size_t count) {
    need(count > 0, "what a program names");
    return number_to(static_cast<long>(count) - 1);
  }

  // How many things follow, each of one number or more.
  long count() { return number_to(static_cast<long>(end_ - next_)); }

 private:
  const int64_t *next_, *end_;
};

// An array among the arguments or results.
template <typename Buffers>
ffi::Buffer<ffi::F32> floats_of(const Buffers& buffers, std::size_t number) {
  const auto found = buffers.template get<ffi::Buffer<ffi::F32>>(number);
  need(found.has_value(), "arrays of floats, as many as a program names");
  return *found;
}

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
