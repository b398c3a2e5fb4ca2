// Spans and numbers of messages in protobuf's wire format. What the functions promise is in wire.h.

#include "wire.h"

#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  uint64_t tag;
  const uint8_t *begin, *end;  // the content; of bytes without their length
};

bool ReadVarint(const uint8_t *&at, const uint8_t *end, uint64_t &value) {
  value = 0;
  for (int shift = 0; at < end && shift < 70; shift += 7) {
    const uint64_t byte = *at++;
    value |= (byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

// The next field of a message that is not at its end.
bool ReadField(const uint8_t *&at, const uint8_t *end, Field &field) {
  if (!ReadVarint(at, end, field.tag)) return false;
  if (field.tag >> 3 == 0 || field.tag >> 3 >= 1u << 29) return false;
  uint64_t size = 0;
  switch (field.tag & 7) {
    case kBytes:
      if (!ReadVarint(at, end, size)) return false;
      break;
    case kVarint: {
      const uint8_t *after = at;
      uint64_t value;
      if (!ReadVarint(after, end, value)) return false;
      size = after - at;
      break;
    }
    case kFixed32: size = 4; break;
    case kFixed64: size = 8; break;
    default: return false;  // groups are in no message of ours
  }
  if (size > static_cast<uint64_t>(end - at)) return false;
  field.begin = at;
  field.end = at += size;
  return true;
}

constexpr uint64_t Tag(uint64_t field, uint64_t wire) { return field << 3 | wire; }

// Calls visit(field) for each field of a message; false when it is broken or visit says so.
template <typename Visit>
bool ForEach(const uint8_t *at, const uint8_t *end, Visit visit) {
  Field field;
  while (at < end) {
    if (!ReadField(at, end, field) || !visit(field)) return false;
  }
  return true;
}

// Calls visit(row, field) for each field of each message; the first broken row, or -1.
template <typename Visit>
int64_t ForEachRow(const uint8_t *data, const int64_t *starts, const int64_t *ends, int64_t rows,
                   Visit visit) {
  for (int64_t row = 0; row < rows; ++row) {
    if (starts[row] < 0) continue;
    const auto one = [&](const Field &field) { return visit(row, field); };
    if (!ForEach(data + starts[row], data + ends[row], one)) return row;
  }
  return -1;
}

// The numbers of keys. Entries tend to come in the order of the keys, so the next one is tried first.
class Keys {
 public:
  Keys(const char *keys, const int64_t *lengths, int64_t count) {
    for (int64_t i = 0; i < count; keys += lengths[i++]) {
      keys_.emplace_back(keys, lengths[i]);
      numbers_.emplace(keys_.back(), i);
    }
  }

  int64_t Find(std::string_view key) {
    if (next_ < keys_.size() && keys_[next_] == key) return next_++;
    const auto found = numbers_.find(key);
    if (found == numbers_.end()) return -1;
    next_ = found->second + 1;
    return found->second;
  }

  void Begin() { next_ = 0; }

 private:
  std::vector<std::string_view> keys_;
  std::unordered_map<std::string_view, int64_t> numbers_;
  size_t next_ = 0;
};

// Writes the `size` values of a list of a kind; false when there are others, or they are broken.
bool ReadList(int kind, const Field &list, int64_t size, uint8_t *out, const uint8_t *data) {
  int64_t left = size;
  const bool whole = ForEach(list.begin, list.end, [&](const Field &field) {
    if (kind == 1) {
      if (field.tag != Tag(1, kBytes)) return true;
      if (left-- == 0) return false;
      const int64_t span[2] = {field.begin - data, field.end - data};
      std::memcpy(out, span, sizeof span);
      out += sizeof span;
    } else if (kind == 2) {
      if (field.tag != Tag(1, kBytes) && field.tag != Tag(1, kFixed32)) return true;
      const int64_t bytes = field.end - field.begin;
      if (bytes & 3 || bytes >> 2 > left) return false;
      std::memcpy(out, field.begin, bytes);
      out += bytes;
      left -= bytes >> 2;
    } else {
      if (field.tag != Tag(1, kBytes) && field.tag != Tag(1, kVarint)) return true;
      for (const uint8_t *at = field.begin; at < field.end; out += 8) {
        uint64_t value;
        if (left-- == 0 || !ReadVarint(at, field.end, value)) return false;
        std::memcpy(out, &value, 8);
      }
    }
    return true;
  });
  return whole && left == 0;
}

// The only list of a Feature, of a kind; false where there are several, or it is of another.
bool OnlyList(const Field &feature, int kind, Field &list) {
  int lists = 0;
  const bool whole = ForEach(feature.begin, feature.end, [&](const Field &field) {
    if ((field.tag & 7) != kBytes || field.tag >> 3 > 3) return true;
    list = field;
    return ++lists == 1 && field.tag >> 3 == static_cast<uint64_t>(kind);
  });
  return whole && lists == 1;
}

}  // namespace

EXPORT int penstock_wire_version() { return 2; }

EXPORT int64_t penstock_wire_map_values(const uint8_t *data, const int64_t *starts,
                                        const int64_t *ends, int64_t rows, int64_t field,
                                        const char *keys, const int64_t *lengths, int64_t count,
                                        int64_t *value_starts, int64_t *value_ends) {
  std::unordered_map<std::string_view, int64_t> numbers;
  for (int64_t i = 0; i < count; keys += lengths[i++]) {
    numbers.emplace(std::string_view(keys, lengths[i]), i);
  }
  const auto in_message = [&](int64_t row, const Field &outer) {
    if (outer.tag != Tag(field, kBytes)) return true;
    return ForEach(outer.begin, outer.end, [&](const Field &entry) {
      if (entry.tag != Tag(1, kBytes)) return true;
      std::string_view key;
      const uint8_t *begin = entry.end, *end = entry.end;
      const bool whole = ForEach(entry.begin, entry.end, [&](const Field &part) {
        if (part.tag == Tag(1, kBytes)) {
          key = {reinterpret_cast<const char *>(part.begin),
                 static_cast<size_t>(part.end - part.begin)};
        } else if (part.tag == Tag(2, kBytes)) {
          begin = part.begin;
          end = part.end;
        }
        return true;
      });
      if (!whole) return false;
      const auto found = numbers.find(key);
      if (found != numbers.end()) {
        value_starts[found->second * rows + row] = begin - data;
        value_ends[found->second * rows + row] = end - data;
      }
      return true;
    });
  };
  return ForEachRow(data, starts, ends, rows, in_message);
}

EXPORT int64_t penstock_wire_kinds(const uint8_t *data, const int64_t *starts, const int64_t *ends,
                                   int64_t rows, int8_t *kinds, int64_t *list_starts,
                                   int64_t *list_ends) {
  return ForEachRow(data, starts, ends, rows, [&](int64_t row, const Field &field) {
    const uint64_t number = field.tag >> 3;
    if ((field.tag & 7) == kBytes && number <= 3) {
      kinds[row] = static_cast<int8_t>(number);
      list_starts[row] = field.begin - data;
      list_ends[row] = field.end - data;
    }
    return true;
  });
}

EXPORT int64_t penstock_wire_repeated(const uint8_t *data, const int64_t *starts,
                                      const int64_t *ends, int64_t rows, int64_t *counts,
                                      int64_t *found_starts, int64_t *found_ends) {
  if (found_starts == nullptr) std::memset(counts, 0, rows * sizeof *counts);
  return ForEachRow(data, starts, ends, rows, [&](int64_t row, const Field &field) {
    if (field.tag != Tag(1, kBytes)) return true;
    if (found_starts == nullptr) {
      ++counts[row];
    } else {
      *found_starts++ = field.begin - data;
      *found_ends++ = field.end - data;
    }
    return true;
  });
}

EXPORT int64_t penstock_wire_floats(const uint8_t *data, const int64_t *starts, const int64_t *ends,
                                    int64_t rows, int64_t *counts, float *values) {
  auto *to = reinterpret_cast<uint8_t *>(values);
  if (to == nullptr) std::memset(counts, 0, rows * sizeof *counts);
  return ForEachRow(data, starts, ends, rows, [&](int64_t row, const Field &field) {
    if (field.tag != Tag(1, kBytes) && field.tag != Tag(1, kFixed32)) return true;
    const int64_t size = field.end - field.begin;
    if (size & 3) return false;
    if (to == nullptr) {
      counts[row] += size >> 2;
    } else {
      std::memcpy(to, field.begin, size);
      to += size;
    }
    return true;
  });
}

EXPORT int64_t penstock_wire_integers(const uint8_t *data, const int64_t *starts,
                                      const int64_t *ends, int64_t rows, int64_t *counts,
                                      int64_t *values) {
  if (values == nullptr) std::memset(counts, 0, rows * sizeof *counts);
  return ForEachRow(data, starts, ends, rows, [&](int64_t row, const Field &field) {
    if (field.tag != Tag(1, kBytes) && field.tag != Tag(1, kVarint)) return true;
    const uint8_t *at = field.begin;
    while (at < field.end) {
      uint64_t value;
      if (!ReadVarint(at, field.end, value)) return false;
      if (values == nullptr) {
        ++counts[row];
      } else {
        *values++ = static_cast<int64_t>(value);
      }
    }
    return true;
  });
}

EXPORT int64_t penstock_wire_dense(const uint8_t *data, const int64_t *starts, const int64_t *ends,
                                   int64_t rows, int64_t field, const char *keys,
                                   const int64_t *lengths, int64_t count, const int64_t *kinds,
                                   const int64_t *sizes, const int64_t *outputs) {
  Keys numbers(keys, lengths, count);
  std::vector<int64_t> seen(count, -1);  // the last row that had each key
  constexpr int64_t kBytesOf[] = {0, 16, 4, 8};  // of a value of each kind, as it is written
  for (int64_t row = 0; row < rows; ++row) {
    int64_t found = 0;
    numbers.Begin();
    const auto in_map = [&](const Field &entry) {
      if (entry.tag != Tag(1, kBytes)) return true;
      Field key{}, value{};
      const bool whole = ForEach(entry.begin, entry.end, [&](const Field &part) {
        if (part.tag == Tag(1, kBytes)) key = part;
        if (part.tag == Tag(2, kBytes)) value = part;
        return true;
      });
      if (!whole || key.begin == nullptr || value.begin == nullptr) return false;
      const int64_t number = numbers.Find({reinterpret_cast<const char *>(key.begin),
                                           static_cast<size_t>(key.end - key.begin)});
      if (number < 0) return true;
      if (seen[number] == row) return false;
      seen[number] = row;
      const int kind = static_cast<int>(kinds[number]);
      auto *out = reinterpret_cast<uint8_t *>(outputs[number]);
      Field list{};
      ++found;
      return OnlyList(value, kind, list) &&
             ReadList(kind, list, sizes[number], out + row * sizes[number] * kBytesOf[kind], data);
    };
    const auto in_message = [&](const Field &outer) {
      return outer.tag != Tag(field, kBytes) || ForEach(outer.begin, outer.end, in_map);
    };
    if (!ForEach(data + starts[row], data + ends[row], in_message) || found != count) return row;
  }
  return -1;
}
