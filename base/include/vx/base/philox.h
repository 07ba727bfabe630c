// Philox4x32-10: random words that depend on a counter and a key alone (Salmon, Moraes, Dror, Shaw: Parallel random
// numbers: as easy as 1, 2, 3; SC 2011). Code that is compiled for devices is made of the same constants.
#ifndef VX_BASE_PHILOX_H
#define VX_BASE_PHILOX_H

#include <array>
#include <cstdint>

namespace vx {

struct Philox {
  static constexpr int rounds = 10;
  // By which words 0 and 2 of the counter are multiplied.
  static constexpr std::array<uint32_t, 2> multipliers = {0xd2511f53, 0xcd9e8d57};
  // What is added to the words of the key between two rounds.
  static constexpr std::array<uint32_t, 2> steps = {0x9e3779b9, 0xbb67ae85};
};

constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < Philox::rounds; ++round) {
    const uint64_t first = uint64_t(Philox::multipliers[0]) * counter[0],
                   second = uint64_t(Philox::multipliers[1]) * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key[0] += Philox::steps[0];
    key[1] += Philox::steps[1];
  }
  return counter;
}

// Block `number` of a stream: of the counter (number, stream) under a key, 64 bits each, the low word first.
constexpr std::array<uint32_t, 4> philoxBlock(uint64_t key, uint64_t stream, uint64_t number) {
  return philox4x32({static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), static_cast<uint32_t>(stream),
                     static_cast<uint32_t>(stream >> 32)},
                    {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
}

} // namespace vx

#endif
