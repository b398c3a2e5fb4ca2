// The functions of the library that takes files of records apart, for penstock/core/native_records.py
// and check_records.cc. Nothing is read outside of the bytes given, whatever they are. Every function
// may be called by several threads at once.
#pragma once

#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

// What the functions below mean; native_records.py states the same number.
EXPORT int penstock_records_version();

// Finds whole records with right checksums in data[at, size), up to `most` of them: record i holds
// data[starts[i], ends[i]). Returns how many there are, and says in `report` why there are no more:
//   report[0]  0: `most` were found; 1: the next record ends beyond `size`; 2, 3: the checksum of
//              its length, or of its data, is wrong
//   report[1]  where the next record begins
//   report[2]  1: how many bytes it needs from there on, at least; 2, 3: the checksum stored
//   report[3]  2, 3: the checksum found
EXPORT int64_t penstock_records_scan(const uint8_t *data, int64_t size, int64_t at, int64_t most,
                                     int64_t *starts, int64_t *ends, int64_t *report);

// The masked CRC-32C of `size` bytes.
EXPORT int64_t penstock_records_checksum(const uint8_t *data, int64_t size);
