// Feeds bytes to the reader of GGUF files: it returns values and tensors that lie in the file, or an error.
#include "vx/base/gguf.h"

#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

void check(bool condition) {
  if (!condition)
    std::abort();
}

/// A whole number of 4 or 8 bytes becomes another one: the counts, sizes, types and offsets of the file are such.
size_t mutateNumber(uint8_t *data, size_t size, uint32_t seed) {
  static constexpr uint64_t numbers[] = {0,
                                         1,
                                         2,
                                         4,
                                         8,
                                         9,
                                         13,
                                         31,
                                         32,
                                         33,
                                         64,
                                         255,
                                         256,
                                         0x7fffffff,
                                         0xffffffff,
                                         uint64_t(1) << 32,
                                         uint64_t(1) << 58,
                                         uint64_t(1) << 61,
                                         INT64_MAX,
                                         UINT64_MAX};
  const size_t bytes = seed % 2 ? 8 : 4;
  if (size < 24 + bytes)
    return 0;
  const size_t at = 8 + seed / 2 % (size - 8 - bytes);
  const uint64_t value = numbers[seed / 64 % std::size(numbers)];
  std::memcpy(data + at, &value, bytes);
  return size;
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  size_t made = seed % 3 == 0 ? mutateNumber(data, size, seed / 3) : 0;
  return made ? made : LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // In memory of its own, so that a read past its end is found.
  const std::vector<uint8_t> file(data, data + size);
  vx::GgufFile content;
  std::string error;
  const bool isGood = vx::parseGguf(file, content, error);
  check(isGood == error.empty());
  if (!isGood)
    return 0;
  uint64_t sum = 0; // so that each byte is read
  for (const vx::GgufKey &key : content.keys) {
    check(content.find(key.name) == &key.value);
    check(!key.value.text(20).empty());
    for (size_t i = 0; i < key.value.size(); ++i) {
      const bool isText = key.value.stringAt(i).has_value();
      check(isText || key.value.numberAt(i) || key.value.booleanAt(i));
      for (char byte : key.value.stringAt(i).value_or(""))
        sum += static_cast<unsigned char>(byte);
    }
    check(!key.value.numberAt(key.value.size()));
  }
  uint64_t bytes = 0;
  for (const vx::GgufTensor &tensor : content.tensors) {
    check(content.findTensor(tensor.name) == &tensor);
    check(tensor.offset + tensor.bytes.size() <= size && tensor.dims.size() <= 4);
    bytes += tensor.bytes.size();
    for (uint8_t byte : tensor.bytes)
      sum += byte;
  }
  check(bytes <= size && sum <= 255 * uint64_t(size));
  return 0;
}
