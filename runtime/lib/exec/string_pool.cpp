#include "exec/string_pool.h"

namespace vx {

// Of each string beside its text, about.
static constexpr uint64_t entryBytes = 96;

void StringPool::clear() {
  numbers.clear();
  own.clear();
  bytes = 0;
  held.clear();
}

void StringPool::clear(const ModuleData &newModule, InstanceMemory *memory) {
  clear();
  module = &newModule;
  held.countIn(memory);
}

Status StringPool::number(std::string_view text, int32_t &number) {
  if (const auto known = module->stringNumbers.find(text); known != module->stringNumbers.end()) {
    number = known->second;
    return okStatus();
  }
  if (const auto known = numbers.find(text); known != numbers.end()) {
    number = known->second;
    return okStatus();
  }
  const size_t count = module->strings.size() + own.size();
  if (text.size() > VX_MAX_STRING_BYTES - bytes || count >= INT32_MAX)
    return failure(VX_OUT_OF_MEMORY, "the strings of the call have more than {} bytes, or are more than {}",
                   uint64_t(VX_MAX_STRING_BYTES), INT32_MAX);
  VX_RETURN_IF_ERROR(held.add(text.size() + entryBytes).addContext("strings"));
  bytes += text.size();
  number = static_cast<int32_t>(count);
  numbers.emplace(own.emplace_back(text), number);
  return okStatus();
}

Status StringPool::text(int32_t number, std::string_view &text) const {
  const size_t place = number < 0 ? SIZE_MAX : static_cast<size_t>(number);
  const size_t count = module->strings.size();
  if (number < 0 || place >= count + own.size())
    return failure(VX_INVALID_MODULE, "a string has the number {}, there are {}", number, count + own.size());
  text = place < count ? module->strings[place] : own[place - count];
  return okStatus();
}

} // namespace vx
