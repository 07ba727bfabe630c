// Inputs of a byte that says of which kind they are, and a text behind it.
#ifndef VX_FUZZ_KIND_AND_TEXT_H
#define VX_FUZZ_KIND_AND_TEXT_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vx::fuzz {

// Of an input that has a first byte. The text lies at a place of its own, so that what is read behind it is found.
struct KindAndText {
  KindAndText(const uint8_t *data, size_t size)
      : kind(data[0]), text(reinterpret_cast<const char *>(data) + 1, size - 1) {}
  const uint8_t kind;
  const std::string text;
};

// A custom mutator of libFuzzer: three times of four the text changes by its tokens, else any bytes do.
size_t mutateKindAndText(uint8_t *data, size_t size, size_t maxSize, uint32_t seed);

// Up to `most` parts with a byte 0xff between, the last one with all that is left; at least one, which may be empty.
std::vector<std::string> cutText(std::string_view text, size_t most);

} // namespace vx::fuzz

#endif
