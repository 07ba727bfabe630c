// fill-weights STATISTICS OUT: writes an external weights file of random numbers with recorded statistics, the same
// bytes everywhere, so that a large model can be checked where its weights cannot be carried (scripts/gpu-check).
//
// STATISTICS is what scripts/weight-statistics prints, a line each:
//   size BYTES
//   f32 OFFSET COUNT MEAN DEVIATION LOW HIGH      (or f16, bf16)
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

// The upper half, rounded to nearest even.
uint16_t toBF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Rounded to nearest even; what is too large becomes infinite.
uint16_t toF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const float magnitude = std::abs(value);
  if (magnitude >= 65520)
    return sign | 0x7c00;
  if (magnitude < 0x1p-14f) // in steps of 2^-24
    return sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24f));
  const uint32_t exponentBias = (127 - 15) << 10;
  const uint32_t rounded = (bits & 0x7fffffff) + 0xfff + (bits >> 13 & 1);
  return sign | static_cast<uint16_t>((rounded >> 13) - exponentBias);
}

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
    } else if (uint64_t offset = 0, count = 0;
               (kind == "f32" || kind == "f16" || kind == "bf16") && words >> offset >> count) {
      const uint64_t size = kind == "f32" ? 4 : 2;
      float mean = 0, deviation = 0, low = 0, high = 0;
      if (!(words >> mean >> deviation >> low >> high) || count > file.size() || !fits(offset, count * size))
        return fail("wrong line: " + line);
      Random random(offset);
      for (uint64_t i = 0; i < count; ++i) {
        const float value = std::clamp(random.normal() * deviation + mean, low, high);
        const uint32_t bits = kind == "f32"   ? std::bit_cast<uint32_t>(value)
                              : kind == "f16" ? toF16(value)
                                              : toBF16(value);
        for (uint64_t byte = 0; byte < size; ++byte)
          file[offset + i * size + byte] = static_cast<uint8_t>(bits >> 8 * byte);
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
