// The handlers of positions (places.h): whether all are inside, and the rows that stand at them.
#include <atomic>

#include "host_handling.h"
#include "places.h"

namespace {

using Whole = ffi::BufferR0<ffi::S64>;

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

// The first place of those that tasks found.
class First {
 public:
  void found(int64_t place) {
    int64_t before = first_.load(std::memory_order_relaxed);
    while (place < before && !first_.compare_exchange_weak(before, place)) {
    }
  }
  int64_t place() const { return first_ == kNone ? -1 : first_.load(); }

 private:
  std::atomic<int64_t> first_{kNone};
};

void need_integers(const Any& positions) {
  need(positions.element_type() == ffi::S32 || positions.element_type() == ffi::S64,
       "positions of 32 or 64 bits");
}

// The last axis of the positions has a number for each size.
ffi::Error outside(ffi::ThreadPool pool, Any positions, Dims sizes, bool below,
                   ffi::Result<Whole> first) {
  return guarded([&] {
    const long depth = width_of(positions.dimensions());
    need_integers(positions);
    need(depth > 0 && sizes.size() == static_cast<std::size_t>(depth), "a size for each number");
    First where;
    in_parts(pool, rows_of(positions.dimensions()), depth, [&](long from, long to) {
      const char* begin = at(positions, from * depth);
      const int64_t place =
          is_wide(positions)
              ? penstock::first_outside(reinterpret_cast<const int64_t*>(begin), to - from, depth,
                                        sizes.begin(), below)
              : penstock::first_outside(reinterpret_cast<const int32_t*>(begin), to - from, depth,
                                        sizes.begin(), below);
      if (place >= 0) where.found(from + place);
    });
    *first->typed_data() = where.place();
  });
}

template <typename Element>
int64_t take(const Any& from, const Any& positions, long begin, long end, long depth,
             const int64_t* sizes, long width, char* out) {
  const auto* rows = static_cast<const Element*>(from.untyped_data());
  const char* places = at(positions, begin * depth);
  auto* written = reinterpret_cast<Element*>(out);
  return is_wide(positions)
             ? penstock::take_rows(rows, reinterpret_cast<const int64_t*>(places), end - begin, depth,
                                   sizes, width, written)
             : penstock::take_rows(rows, reinterpret_cast<const int32_t*>(places), end - begin, depth,
                                   sizes, width, written);
}

// Positions are in the first axes of `from`, as many as their last axis has numbers.
ffi::Error taken(ffi::ThreadPool pool, Any from, Any positions, ffi::Result<Any> out,
                 ffi::Result<Whole> first) {
  return guarded([&] {
    const Dims dims = from.dimensions();
    const long depth = width_of(positions.dimensions()), count = rows_of(positions.dimensions());
    need_integers(positions);
    need(depth > 0 && static_cast<std::size_t>(depth) <= dims.size(), "an axis for each number");
    need(out->element_type() == from.element_type(), "a result of the array's dtype");
    long width = 1;
    for (std::size_t axis = depth; axis < dims.size(); ++axis) width *= dims[axis];
    need(total(out->dimensions()) == count * width, "a row for each position");
    const long bytes = static_cast<long>(ffi::ByteWidth(from.element_type()));
    need(bytes > 0, "elements of whole bytes");
    First where;
    in_parts(pool, count, std::max(width, depth), [&](long begin, long end) {
      char* to = at(out, begin * width);
      int64_t place = -1;
      switch (bytes) {
        case 4: place = take<uint32_t>(from, positions, begin, end, depth, dims.begin(), width, to); break;
        case 8: place = take<uint64_t>(from, positions, begin, end, depth, dims.begin(), width, to); break;
        case 2: place = take<uint16_t>(from, positions, begin, end, depth, dims.begin(), width, to); break;
        default:
          place = take<uint8_t>(from, positions, begin, end, depth, dims.begin(), width * bytes, to);
      }
      if (place >= 0) where.found(begin + place);
    });
    *first->typed_data() = where.place();
  });
}

}  // namespace

PENSTOCK_HANDLER(penstock_outside, outside,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Any>()
                     .Attr<Dims>("sizes")
                     .Attr<bool>("below")
                     .Ret<Whole>());
PENSTOCK_HANDLER(penstock_taken, taken,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Any>()
                     .Arg<Any>()
                     .Ret<Any>()
                     .Ret<Whole>());
