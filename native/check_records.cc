// Files of records from a seed, sound and damaged, cut anywhere: for the sanitizers
// (native/build.py --check). All memory is exactly as large as what it holds.
//
//   check_records [rounds]

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "records.h"

namespace {

using Bytes = std::string;

void require(bool holds, const char *what) {
  if (holds) return;
  std::printf("records: %s\n", what);
  std::exit(1);
}

uint32_t PlainChecksum(const Bytes &data) {  // bit by bit
  uint32_t crc = ~0u;
  for (const char c : data) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0u);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

template <typename T>
void Append(Bytes &to, T value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

Bytes Frame(const Bytes &data) {
  Bytes length, record;
  Append<uint64_t>(length, data.size());
  record = length;
  Append<uint32_t>(record, PlainChecksum(length));
  record += data;
  Append<uint32_t>(record, PlainChecksum(data));
  return record;
}

struct Found {
  std::vector<Bytes> records;
  int64_t report[4];
};

Found Scan(const Bytes &file, int64_t most) {
  std::unique_ptr<uint8_t[]> exact(new uint8_t[file.size()]);
  std::memcpy(exact.get(), file.data(), file.size());
  std::unique_ptr<int64_t[]> starts(new int64_t[most]), ends(new int64_t[most]);
  Found found;
  const int64_t count =
      penstock_records_scan(exact.get(), static_cast<int64_t>(file.size()), 0, most, starts.get(),
                            ends.get(), found.report);
  for (int64_t i = 0; i < count; ++i)
    found.records.emplace_back(file.substr(starts[i], ends[i] - starts[i]));
  return found;
}

}  // namespace

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  std::mt19937 random(7);
  for (int round = 0; round < rounds * 20; ++round) {
    std::vector<Bytes> records(random() % 6);
    Bytes file;
    std::vector<std::size_t> places;
    for (Bytes &each : records) {
      each.resize(random() % 70);
      for (char &c : each) c = static_cast<char>(random());
      require(static_cast<uint32_t>(penstock_records_checksum(
                  reinterpret_cast<const uint8_t *>(each.data()),
                  static_cast<int64_t>(each.size()))) == PlainChecksum(each),
              "a checksum is wrong");
      places.push_back(file.size());
      file += Frame(each);
    }
    places.push_back(file.size());
    Found all = Scan(file, 10);
    require(all.records == records, "sound records are lost");
    require(all.report[0] == 1 && all.report[1] == static_cast<int64_t>(file.size()),
            "the end is not found");
    if (records.empty()) continue;
    Found one = Scan(file, 1);
    require(one.records.size() == 1 && one.report[0] == 0, "more than asked for");
    const std::size_t cut = random() % file.size();
    Found part = Scan(file.substr(0, cut), 10);
    require(part.report[0] == 1 && places[part.records.size()] <= cut, "a cut file is not seen");
    Bytes damaged = file;
    const std::size_t place = random() % file.size();
    damaged[place] = static_cast<char>(damaged[place] ^ (1 + random() % 255));
    Found bad = Scan(damaged, 10);
    require(bad.report[0] >= 2, "a damaged record is not seen");
    const std::size_t before = bad.records.size();
    require(places[before] <= place && place < places[before + 1], "another record is damaged");
  }
  Bytes huge;
  Append<uint64_t>(huge, ~uint64_t{0});
  Append<uint32_t>(huge, PlainChecksum(huge));
  Found claimed = Scan(huge, 3);
  require(claimed.records.empty() && claimed.report[0] == 1, "a huge length is believed");
  std::printf("records: %d rounds\n", rounds);
}
