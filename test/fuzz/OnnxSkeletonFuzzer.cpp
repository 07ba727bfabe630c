// Feeds bytes to the reader of skeletons of exported models: it gives files whose bytes are all there, or an error.
#include "onnx_skeleton.h"
#include "vx/abi/onnx_skeleton.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace vx::fuzz {

namespace {

void check(bool condition) {
  if (!condition)
    std::abort();
}

// A field of the header or of a piece becomes a number that is near to a right one, or the largest.
size_t mutateNumber(uint8_t *data, size_t size, uint32_t seed) {
  constexpr size_t begin = 8;
  if (size < begin + sizeof(uint32_t))
    return 0;
  const size_t places = (size - begin) / sizeof(uint32_t);
  uint8_t *place = data + begin + seed / 16 % places * sizeof(uint32_t);
  uint32_t number = 0;
  std::memcpy(&number, place, sizeof(number));
  const uint32_t choices[] = {number + 1, number - 1, 0,           1,
                              UINT32_MAX, seed % 7,   number << 1, number ^ (1u << seed % 32)};
  number = choices[seed % 8];
  std::memcpy(place, &number, sizeof(number));
  return size;
}

} // namespace

} // namespace vx::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  const size_t made = seed % 2 ? vx::fuzz::mutateNumber(data, size, seed / 2) : 0;
  return made ? made : LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using vx::fuzz::check;
  // Each at a place of its own, so that what is read behind it is found.
  const std::vector<uint8_t> bytes(data, data + size), weight(8, 1), fixed(5, 2);
  static constexpr int64_t weightDims[] = {2}, fixedDims[] = {5}, unknown[] = {-1};
  const vx_variable_info variables[] = {
      {"weight", VX_F32, 1, weightDims, weight.size(), VX_ROLE_PARAMETER, "weight", 0, 0},
      {"state", VX_F32, 1, unknown, 0, VX_ROLE_STATE, "state", 1, -1}};
  const vx_constant_info constants[] = {{"fixed", VX_U8, 1, fixedDims, fixed.data(), fixed.size()}};
  vx::train::OnnxSkeleton skeleton;
  std::string error;
  const bool isGood = skeleton.parse(bytes, variables, constants, error);
  check(isGood == error.empty());
  if (!isGood)
    return 0;
  check(skeleton.variables().size() <= 1);

  uint64_t sum = 0, count = 0; // so that each byte is read
  auto sink = [&](std::span<const uint8_t> part) {
    count += part.size();
    for (uint8_t byte : part)
      sum += byte;
  };
  auto elements = [&](uint32_t variable) {
    check(variable == 0);
    return std::span<const uint8_t>(weight);
  };
  // A piece gives no more than the file has, an array here, or zeros; a length is ten bytes at the most.
  const uint64_t most = size + (size / sizeof(vx_skeleton_piece) + 1) * 4096;
  // The form that infers repeats names, so that its size has another bound.
  check(skeleton.writeModel("f.data", vx::train::ExportForm::inference, elements, sink, error) == error.empty());
  error.clear();
  count = sum = 0;
  check(skeleton.writeModel("f.data", vx::train::ExportForm::training, elements, sink, error) == error.empty());
  check(count <= most && sum <= 255 * count);
  skeleton.writeWeights(elements, sink);
  check(count <= 2 * most);
  check(skeleton.hasWeightsFile() || count <= most);
  return 0;
}
