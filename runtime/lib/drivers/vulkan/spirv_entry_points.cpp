#include "spirv_entry_points.h"

#include <cstddef>

namespace vx::vulkan {

static constexpr uint32_t Magic = 0x07230203;
static constexpr size_t HeaderWords = 5;
static constexpr uint32_t OpEntryPoint = 15;
static constexpr uint32_t GLCompute = 5;

bool findComputeEntryPoints(const std::vector<uint32_t> &words, std::vector<std::string> &names) {
  names.clear();
  if (words.size() < HeaderWords || words[0] != Magic)
    return false;
  for (size_t at = HeaderWords; at < words.size();) {
    const uint32_t opcode = words[at] & 0xffff;
    const size_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at)
      return false;
    // Operands: execution model, function, name, interface.
    if (opcode == OpEntryPoint && length > 3 && words[at + 1] == GLCompute) {
      std::string name;
      bool ended = false;
      for (size_t i = at + 3; i < at + length && !ended; ++i)
        for (int byte = 0; byte < 4 && !ended; ++byte) {
          const char letter = static_cast<char>(words[i] >> (8 * byte) & 0xff);
          if (letter == 0)
            ended = true;
          else
            name += letter;
        }
      if (!ended)
        return false;
      names.push_back(std::move(name));
    }
    at += length;
  }
  return true;
}

} // namespace vx::vulkan
