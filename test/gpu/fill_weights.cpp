// fill-weights RECIPE OUT: writes an external weights file, byte for byte as the compiler wrote it, so that a large
// model can be checked where its weights cannot be carried (scripts/gpu-check).
//
// RECIPE is what test/gpu/weight_recipe.py prints, a line each:
//   size BYTES
//   drawn TYPE OFFSET COUNT STATE INCREMENT MEAN DEVIATION LOW HIGH plain|transposed ROWS FACTORS
//   bytes OFFSET HEXADECIMAL
// TYPE is f32, f16 or bf16. STATE and INCREMENT are those of NumPy's PCG64 in hexadecimal, the four numbers after them
// the bits of f32. FACTORS are bits of f32, little-endian, one for each of the ROWS, or "-".
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

__extension__ using Wide = unsigned __int128;

// The generator of NumPy's `Generator(PCG64(seed)).standard_normal(dtype=float32)`: PCG XSL-RR 128/64 (O'Neill, 2014)
// and the ziggurat of 256 layers (Marsaglia and Tsang, 2000; Doornik, 2005).
class NormalNumbers {
public:
  NormalNumbers(Wide state, Wide increment) : state(state), increment(increment) {}

  float next() {
    static const Tables tables;
    for (;;) {
      const uint32_t bits = next32();
      const uint32_t layer = bits & 0xff, magnitude = bits >> 9 & 0x7fffff;
      float x = static_cast<float>(magnitude) * tables.width[layer];
      if (bits >> 8 & 1)
        x = -x;
      if (magnitude < tables.inside[layer])
        return x;
      if (layer == 0)
        return tail(magnitude >> 8 & 1);
      const float step = tables.height[layer - 1] - tables.height[layer];
      if (static_cast<double>(step * uniform() + tables.height[layer]) < std::exp(-0.5 * x * x))
        return x;
    }
  }

private:
  static constexpr double Edge = 3.6541528853610088; // where the tail begins

  struct Tables {
    Tables() {
      auto density = [](double x) { return std::exp(-0.5 * x * x); };
      const double area = Edge * density(Edge) + std::sqrt(std::atan(1) * 2) * std::erfc(Edge / std::sqrt(2.0));
      std::array<double, 256> edge;
      edge[0] = area / density(Edge);
      edge[255] = Edge;
      for (size_t i = 254; i > 0; --i)
        edge[i] = std::sqrt(-2 * std::log(area / edge[i + 1] + density(edge[i + 1])));
      for (size_t i = 0; i < 256; ++i) {
        width[i] = static_cast<float>(edge[i] * 0x1p-23);
        height[i] = i == 0 ? 1 : static_cast<float>(density(edge[i]));
        const double below = i == 0 ? Edge : i == 1 ? 0 : edge[i - 1];
        inside[i] = static_cast<uint32_t>(std::nearbyint(below / edge[i] * 0x1p23));
      }
    }
    std::array<float, 256> width, height;
    std::array<uint32_t, 256> inside;
  };

  float tail(bool negative) {
    const auto inverse = static_cast<float>(1 / Edge), edge = static_cast<float>(Edge);
    for (;;) {
      const float x = -inverse * std::log1p(-uniform());
      const float y = -std::log1p(-uniform());
      if (y + y > x * x)
        return negative ? -(edge + x) : edge + x;
    }
  }

  float uniform() { return static_cast<float>(next32() >> 8) * 0x1p-24f; }

  uint32_t next32() {
    if (half) {
      const uint32_t bits = *half;
      half.reset();
      return bits;
    }
    constexpr Wide multiplier = Wide(0x2360ed051fc65da4) << 64 | 0x4385df649fccf645;
    state = state * multiplier + increment;
    const uint64_t bits =
        std::rotr(static_cast<uint64_t>(state >> 64) ^ static_cast<uint64_t>(state), static_cast<int>(state >> 122));
    half = static_cast<uint32_t>(bits >> 32);
    return static_cast<uint32_t>(bits);
  }

  Wide state, increment;
  std::optional<uint32_t> half; // of the last 64 bits
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

Wide wideFromText(const std::string &digits) {
  Wide value = 0;
  for (char digit : digits)
    value = value << 4 | static_cast<unsigned>(std::stoi(std::string(1, digit), nullptr, 16));
  return value;
}

float floatFromText(const std::string &digits) {
  return std::bit_cast<float>(static_cast<uint32_t>(std::stoul(digits, nullptr, 16)));
}

// A line that starts with "drawn". False when it is wrong.
bool draw(std::istringstream &words, std::vector<uint8_t> &file) {
  std::string kind, state, increment, mean, deviation, low, high, order, factors;
  uint64_t offset = 0, count = 0, rows = 0;
  words >> kind >> offset >> count >> state >> increment >> mean >> deviation >> low >> high >> order >> rows >>
      factors;
  const uint64_t size = kind == "f32" ? 4 : 2;
  if (!words || (kind != "f32" && kind != "f16" && kind != "bf16") || (order != "plain" && order != "transposed") ||
      rows == 0 || count % rows != 0 || offset > file.size() || count > (file.size() - offset) / size ||
      (factors != "-" && factors.size() != 8 * rows))
    return false;
  std::vector<float> factor(rows, 1);
  if (factors != "-")
    for (uint64_t row = 0; row < rows; ++row)
      factor[row] =
          std::bit_cast<float>(__builtin_bswap32(std::bit_cast<uint32_t>(floatFromText(factors.substr(8 * row, 8)))));
  const float add = floatFromText(mean), scale = floatFromText(deviation), least = floatFromText(low),
              most = floatFromText(high);
  NormalNumbers numbers(wideFromText(state), wideFromText(increment));
  const uint64_t columns = count / rows;
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t column = 0; column < columns; ++column) {
      float value = add;
      if (scale != 0) {
        const float scaled = numbers.next() * scale;
        value = std::fmin(std::fmax(scaled + add, least), most);
      }
      value *= factor[row];
      const uint32_t bits = kind == "f32"   ? std::bit_cast<uint32_t>(value)
                            : kind == "f16" ? toF16(value)
                                            : toBF16(value);
      const uint64_t place = order == "plain" ? row * columns + column : column * rows + row;
      for (uint64_t byte = 0; byte < size; ++byte)
        file[offset + place * size + byte] = static_cast<uint8_t>(bits >> 8 * byte);
    }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    return fail("usage: fill-weights RECIPE OUT");
  std::ifstream recipe(argv[1]);
  if (!recipe)
    return fail(std::string("'") + argv[1] + "' cannot be read");
  std::vector<uint8_t> file;
  std::string line;
  while (std::getline(recipe, line)) {
    std::istringstream words(line);
    std::string kind, digits;
    uint64_t offset = 0;
    words >> kind;
    if (uint64_t size = 0; kind == "size" && words >> size) {
      file.resize(size);
    } else if (kind == "bytes" && words >> offset >> digits && digits.size() % 2 == 0 && offset <= file.size() &&
               digits.size() / 2 <= file.size() - offset) {
      for (size_t i = 0; i < digits.size() / 2; ++i)
        file[offset + i] = static_cast<uint8_t>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
    } else if (kind != "drawn" || !draw(words, file)) {
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
