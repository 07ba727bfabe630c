// Random numbers that depend on a seed and a place alone: the same on every machine.
#ifndef VX_TRAIN_RANDOM_H
#define VX_TRAIN_RANDOM_H

#include <cstdint>
#include <vector>

namespace vx::train {

// What numbers are drawn for. Each use has a stream of its own under one seed.
enum class Use : uint64_t { order = 1, split = 2, step = 3 };

// Number `place` of stream `stream`.
uint64_t randomNumber(uint64_t seed, Use use, uint64_t stream, uint64_t place);

// The numbers from 0 to `count` - 1 in an order in which all are as likely, but for count / 2^64.
std::vector<int64_t> permutation(int64_t count, uint64_t seed, Use use, uint64_t stream);

} // namespace vx::train

#endif
