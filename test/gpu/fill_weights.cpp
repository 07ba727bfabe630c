// fill-weights STATISTICS OUT: writes an external weights file of random numbers with recorded statistics, the same
// bytes everywhere, so that a large model can be checked where its weights cannot be carried (scripts/gpu-check).
//
// STATISTICS is what scripts/weight-statistics prints, a line each:
//   size BYTES
//   f32 OFFSET COUNT MEAN DEVIATION LOW HIGH
//   bytes OFFSET HEXADECIMAL
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

// SplitMix64 (Steele, Lea and Flood, 2014): any seed gives a stream of its own.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  // Nearly normal, mean 0 and deviation 1, from integers alone: the sum of twelve uniform numbers (Irwin and Hall)
  // less 6.
  float normal() {
    uint64_t sum = 0;
    for (int i = 0; i < 3; ++i) {
      const uint64_t bits = next();
      for (int shift = 0; shift < 64; shift += 16)
        sum += bits >> shift & 0xffff;
    }
    return static_cast<float>(static_cast<int64_t>(sum) - 6 * 65535) / 65535.0f;
  }

private:
  uint64_t state;
};

int fail(const std::string &message) {
  std::cerr << "fill-weights: error: " << message << '\n';
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    return fail("usage: fill-weights STATISTICS OUT");
  std::ifstream statistics(argv[1]);
  if (!statistics)
    return fail(std::string("'") + argv[1] + "' cannot be read");
  std::vector<uint8_t> file;
  auto fits = [&file](uint64_t offset, uint64_t size) { return offset <= file.size() && size <= file.size() - offset; };
  std::string line;
  while (std::getline(statistics, line)) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (uint64_t size = 0; kind == "size" && words >> size) {
      file.resize(size);
    } else if (uint64_t offset = 0, count = 0; kind == "f32" && words >> offset >> count) {
      float mean = 0, deviation = 0, low = 0, high = 0;
      if (!(words >> mean >> deviation >> low >> high) || count > file.size() || !fits(offset, count * sizeof(float)))
        return fail("wrong line: " + line);
      Random random(offset);
      for (uint64_t i = 0; i < count; ++i) {
        const float value = std::clamp(random.normal() * deviation + mean, low, high);
        const auto bits = std::bit_cast<uint32_t>(value);
        for (int byte = 0; byte < 4; ++byte)
          file[offset + i * 4 + byte] = static_cast<uint8_t>(bits >> 8 * byte);
      }
    } else if (std::string digits; kind == "bytes" && words >> offset >> digits) {
      if (digits.size() % 2 != 0 || !fits(offset, digits.size() / 2))
        return fail("wrong line: " + line.substr(0, 80));
      for (size_t i = 0; i < digits.size() / 2; ++i)
        file[offset + i] = static_cast<uint8_t>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
    } else {
      return fail("wrong line: " + line.substr(0, 80));
    }
  }
  std::ofstream out(argv[2], std::ios::binary);
  out.write(reinterpret_cast<const char *>(file.data()), static_cast<std::streamsize>(file.size()));
  out.close();
  if (!out)
    return fail(std::string("'") + argv[2] + "' cannot be written");
  return 0;
}
