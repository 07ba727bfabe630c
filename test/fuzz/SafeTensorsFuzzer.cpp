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

/// Bytes less or more at the end, where those of the tensors are.
size_t mutateTail(uint8_t *data, size_t size, size_t maxSize, uint32_t seed) {
  const size_t change = 1 + seed / 2 % 16;
  if (seed % 2 == 0)
    return size > change ? size - change : 0;
  const size_t made = std::min(maxSize, size + change);
  std::memset(data + size, 0, made - size);
  return made;
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
  size_t made = 0;
  if (seed % 8 == 1)
    made = vx::fuzz::mutateTail(data, size, maxSize, seed / 8);
  else if (seed % 4 != 0)
    made = vx::fuzz::mutateHeader(data, size, maxSize, seed / 8);
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
  uint64_t sum = 0; // so that each byte is read
  for (const vx::train::SafeTensor &tensor : content.tensors) {
    check(names.insert(tensor.name).second);
    bytes += tensor.bytes.size();
    for (uint8_t byte : tensor.bytes)
      sum += byte;
  }
  check(bytes + 8 <= size && sum <= 255 * bytes);

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
