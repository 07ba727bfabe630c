// Feeds bytes to the reader of safetensors files: it gives tensors that lie in the file, each byte in one of them, and
// that can be written and read again, or an error.
#include "mutate_text.h"
#include "safetensors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace vx::fuzz {

namespace {

constexpr size_t Prefix = 8;

/// The header's text by tokens, with its length set right.
size_t mutateHeader(uint8_t *data, size_t size, size_t maxSize, uint32_t seed) {
  uint64_t length = 0;
  if (size < Prefix)
    return 0;
  std::memcpy(&length, data, Prefix);
  if (length > size - Prefix)
    return 0;
  std::vector<uint8_t> header(maxSize), rest(data + Prefix + length, data + size);
  std::memcpy(header.data(), data + Prefix, length);
  const size_t made = mutateText(header.data(), length, maxSize, seed);
  if (made == 0 || Prefix + made + rest.size() > maxSize)
    return 0;
  length = made;
  std::memcpy(data, &length, Prefix);
  std::memcpy(data + Prefix, header.data(), made);
  if (!rest.empty())
    std::memcpy(data + Prefix + made, rest.data(), rest.size());
  return Prefix + made + rest.size();
}

void check(bool condition) {
  if (!condition)
    std::abort();
}

bool isSame(const train::SafeTensor &a, const train::SafeTensor &b) {
  return a.name == b.name && a.type == b.type && a.dims == b.dims && std::ranges::equal(a.bytes, b.bytes);
}

} // namespace

} // namespace vx::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  const size_t made = seed % 4 != 0 ? vx::fuzz::mutateHeader(data, size, maxSize, seed / 4) : 0;
  return made ? made : LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace vx::fuzz;
  // At a place of its own, so that what is read behind it is found.
  const std::vector<uint8_t> file(data, data + size);
  vx::train::SafeTensors content, again;
  std::string error;
  const bool isGood = vx::train::parseSafeTensors(file, content, error);
  check(isGood == error.empty());
  if (!isGood)
    return 0;
  size_t bytes = 0;
  std::set<std::string> names;
  unsigned sum = 0;
  for (const vx::train::SafeTensor &tensor : content.tensors) {
    check(names.insert(tensor.name).second);
    bytes += tensor.bytes.size();
    for (uint8_t byte : tensor.bytes)
      sum += byte;
  }
  check(bytes + 8 <= size);
  static volatile unsigned reads;
  reads = sum;

  std::vector<uint8_t> written = vx::train::safeTensorsHeader(content);
  check(written.size() % 8 == 0);
  for (const vx::train::SafeTensor &tensor : content.tensors)
    written.insert(written.end(), tensor.bytes.begin(), tensor.bytes.end());
  check(vx::train::parseSafeTensors(written, again, error));
  check(again.metadata == content.metadata && again.tensors.size() == content.tensors.size());
  for (size_t i = 0; i < again.tensors.size(); ++i)
    check(isSame(content.tensors[i], again.tensors[i]));
  return 0;
}
