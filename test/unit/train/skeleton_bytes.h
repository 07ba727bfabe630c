// Skeletons of exported models, made by hand.
#ifndef VX_TEST_UNIT_TRAIN_SKELETON_BYTES_H
#define VX_TEST_UNIT_TRAIN_SKELETON_BYTES_H

#include "vx/abi/onnx_skeleton.h"

#include <cstring>
#include <string_view>
#include <vector>

namespace vx::test {

inline std::vector<uint8_t> skeletonBytes(const std::vector<vx_skeleton_piece> &model,
                                          const std::vector<vx_skeleton_piece> &weights, std::string_view text) {
  vx_skeleton_header header = {};
  std::memcpy(header.magic, VX_SKELETON_MAGIC, sizeof(header.magic));
  header.form = VX_SKELETON_FORM;
  header.model_pieces = static_cast<uint32_t>(model.size());
  header.weights_pieces = static_cast<uint32_t>(weights.size());
  std::vector<uint8_t> bytes;
  auto append = [&](const void *data, size_t size) {
    const auto *first = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), first, first + size);
  };
  append(&header, sizeof(header));
  for (const auto *pieces : {&model, &weights})
    append(pieces->data(), pieces->size() * sizeof(vx_skeleton_piece));
  append(text.data(), text.size());
  return bytes;
}

} // namespace vx::test

#endif
