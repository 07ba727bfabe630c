// Mutation of text that knows its tokens and lines.
#ifndef VX_FUZZ_MUTATE_TEXT_H
#define VX_FUZZ_MUTATE_TEXT_H

#include <cstddef>
#include <cstdint>

namespace vx::fuzz {

// Changes some tokens or lines of the text in `data`: numbers to other numbers, names to other names of the text, lines
// to their neighbours' places. The new size, at most `maxSize`, or 0 where none comes that fits: `data` is then as it
// was.
size_t mutateText(uint8_t *data, size_t size, size_t maxSize, uint32_t seed);

} // namespace vx::fuzz

#endif
