// Mutation of protobuf messages that knows how they nest, though no schema.
#ifndef VX_FUZZ_MUTATE_PROTOBUF_H
#define VX_FUZZ_MUTATE_PROTOBUF_H

#include <cstddef>
#include <cstdint>

namespace vx::fuzz {

// Changes some fields of the message in `data` (numbers, strings, which fields there are and what they hold) and writes
// it back with right lengths. The new size, at most `maxSize`, or 0 where the bytes are no message or none comes that
// fits: `data` is then as it was.
size_t mutateProtobuf(uint8_t *data, size_t size, size_t maxSize, uint32_t seed);

} // namespace vx::fuzz

#endif
