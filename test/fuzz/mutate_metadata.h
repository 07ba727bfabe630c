// Changes of a module file that keep it well-formed: one number of the decoded metadata at a time.
#ifndef VX_TEST_FUZZ_MUTATE_METADATA_H
#define VX_TEST_FUZZ_MUTATE_METADATA_H

#include <cstddef>
#include <cstdint>

namespace vx::fuzz {

// Changes some numbers, registers and instructions of the module in `data`, and writes its header anew. What a kernel
// says of itself stays: it is trusted as its code is. 0 when the bytes are no module, or the changed one is larger than
// `maxSize`.
size_t mutateMetadata(uint8_t *data, size_t size, size_t maxSize, uint32_t seed);

} // namespace vx::fuzz

#endif
