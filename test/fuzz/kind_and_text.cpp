#include "kind_and_text.h"

#include "mutate_text.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace vx::fuzz {

size_t mutateKindAndText(uint8_t *data, size_t size, size_t maxSize, uint32_t seed) {
  size_t made = 0;
  if (size > 1 && seed % 4 != 0)
    made = mutateText(data + 1, size - 1, maxSize - 1, seed / 4);
  return made ? made + 1 : LLVMFuzzerMutate(data, size, maxSize);
}

std::vector<std::string> cutText(std::string_view text, size_t most) {
  std::vector<std::string> parts;
  while (parts.size() + 1 < most) {
    const size_t end = text.find('\xff');
    if (end == text.npos)
      break;
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.emplace_back(text);
  return parts;
}

} // namespace vx::fuzz
