#include "random.h"

#include "vx/base/philox.h"

#include <cstddef>
#include <numeric>
#include <utility>

namespace vx::train {

namespace {

using Words = std::array<uint32_t, 4>;

Words wordsOf(uint64_t low, uint64_t high) {
  return {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
          static_cast<uint32_t>(high >> 32)};
}

uint64_t numberOf(const Words &words, size_t half) {
  return words[2 * half] | static_cast<uint64_t>(words[2 * half + 1]) << 32;
}

// A key of its own for each use, so that no block is also one of those that variables start with.
std::array<uint32_t, 2> keyOf(uint64_t seed, Use use) {
  constexpr uint64_t label = 0x6e696172742e7876; // "vx.train"
  const Words key = philox4x32(wordsOf(static_cast<uint64_t>(use), label),
                               {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return {key[0], key[1]};
}

} // namespace

uint64_t randomNumber(uint64_t seed, Use use, uint64_t stream, uint64_t place) {
  return numberOf(philox4x32(wordsOf(place / 2, stream), keyOf(seed, use)), place % 2);
}

std::vector<int64_t> permutation(int64_t count, uint64_t seed, Use use, uint64_t stream) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t(0));
  const std::array<uint32_t, 2> key = keyOf(seed, use);
  Words words{};
  uint64_t place = 0;
  // Fisher and Yates, from the end.
  for (uint64_t left = order.size(); left > 1; --left, ++place) {
    if (place % 2 == 0)
      words = philox4x32(wordsOf(place / 2, stream), key);
    const uint64_t number = numberOf(words, place % 2);
    const auto chosen = static_cast<uint64_t>(static_cast<unsigned __int128>(number) * left >> 64);
    std::swap(order[left - 1], order[chosen]);
  }
  return order;
}

} // namespace vx::train
