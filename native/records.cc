// Records of files: their places and checksums. What the functions promise is in records.h.

#include "records.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace {

constexpr int64_t kHeader = 12, kFooter = 4;
constexpr int64_t kMost = INT64_MAX;

enum Status : int64_t { kAll = 0, kMore = 1, kLength = 2, kData = 3 };

template <typename T>
T Load(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Eight tables: the effect of each byte of a word on the checksum.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0u);
    tables[0][byte] = crc;
  }
  for (int k = 1; k < 8; ++k)
    for (uint32_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 255];
  return tables;
}

constexpr Tables kTables = MakeTables();

uint32_t PlainCrc(uint32_t crc, const uint8_t *at, const uint8_t *end) {
  for (; end - at >= 8; at += 8) {
    const uint64_t word = Load<uint64_t>(at) ^ crc;
    crc = 0;
    for (int k = 0; k < 8; ++k) crc ^= kTables[7 - k][word >> (8 * k) & 255];
  }
  for (; at < end; ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 255];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t FastCrc(uint32_t crc, const uint8_t *at,
                                                   const uint8_t *end) {
  uint64_t wide = crc;
  for (; end - at >= 8; at += 8) wide = _mm_crc32_u64(wide, Load<uint64_t>(at));
  crc = static_cast<uint32_t>(wide);
  for (; at < end; ++at) crc = _mm_crc32_u8(crc, *at);
  return crc;
}

const bool kFast = __builtin_cpu_supports("sse4.2");
#elif defined(__aarch64__)
__attribute__((target("+crc"))) uint32_t FastCrc(uint32_t crc, const uint8_t *at,
                                                 const uint8_t *end) {
  for (; end - at >= 8; at += 8) crc = __crc32cd(crc, Load<uint64_t>(at));
  for (; at < end; ++at) crc = __crc32cb(crc, *at);
  return crc;
}

const bool kFast = (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#else
constexpr bool kFast = false;
constexpr auto FastCrc = PlainCrc;
#endif

uint32_t Masked(const uint8_t *data, int64_t size) {
  const uint32_t crc = ~(kFast ? FastCrc : PlainCrc)(~0u, data, data + size);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

}  // namespace

EXPORT int penstock_records_version() { return 1; }

EXPORT int64_t penstock_records_scan(const uint8_t *data, int64_t size, int64_t at, int64_t most,
                                     int64_t *starts, int64_t *ends, int64_t *report) {
  const auto stop = [&](Status status, int64_t second, int64_t third, int64_t count) {
    report[0] = status;
    report[1] = at;
    report[2] = second;
    report[3] = third;
    return count;
  };
  for (int64_t count = 0; count < most; ++count) {
    const int64_t left = size - at;
    if (left < kHeader) return stop(kMore, kHeader, 0, count);
    const uint8_t *record = data + at;
    const uint32_t wanted = Load<uint32_t>(record + 8), found = Masked(record, 8);
    if (wanted != found) return stop(kLength, wanted, found, count);
    const uint64_t length = Load<uint64_t>(record);
    if (length > static_cast<uint64_t>(kMost - kHeader - kFooter))
      return stop(kMore, kMost, 0, count);
    const int64_t whole = kHeader + static_cast<int64_t>(length) + kFooter;
    if (whole > left) return stop(kMore, whole, 0, count);
    const uint8_t *content = record + kHeader;
    const uint32_t stored = Load<uint32_t>(content + length);
    const uint32_t real = Masked(content, static_cast<int64_t>(length));
    if (stored != real) return stop(kData, stored, real, count);
    starts[count] = at + kHeader;
    ends[count] = at + kHeader + static_cast<int64_t>(length);
    at += whole;
  }
  return stop(kAll, 0, 0, most);
}

EXPORT int64_t penstock_records_checksum(const uint8_t *data, int64_t size) {
  return Masked(data, size);
}
