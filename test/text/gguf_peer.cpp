// Prints the content of GGUF files, for a comparison with another reader: gguf_peer FILE...
//
//   key NAME KIND ELEMENT COUNT VALUE...     texts in hexadecimal digits, floats as %a
//   tensor NAME TYPE DIMS FILE OFFSET SIZE SUM
//
// SUM is FNV-1a's hash of the bytes, in 64 bits.
#include "vx/base/gguf.h"

#include <cinttypes>
#include <cstdio>

namespace {

std::string hex(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string made = "x";
  for (char c : text) {
    made += digits[static_cast<unsigned char>(c) >> 4];
    made += digits[static_cast<unsigned char>(c) & 15];
  }
  return made;
}

void printValue(const vx::GgufValue &value, size_t i) {
  if (const auto text = value.stringAt(i))
    std::printf(" %s", hex(*text).c_str());
  else if (const auto boolean = value.booleanAt(i))
    std::printf(" %d", *boolean);
  else if (const auto number = value.signedAt(i))
    std::printf(" %" PRId64, *number);
  else if (const auto large = value.unsignedAt(i))
    std::printf(" %" PRIu64, *large);
  else
    std::printf(" %a", value.numberAt(i).value());
}

} // namespace

int main(int count, char **arguments) {
  for (int file = 1; file < count; ++file) {
    vx::GgufModel model;
    std::string error;
    if (!vx::GgufModel::open(arguments[file], model, error)) {
      std::fprintf(stderr, "gguf_peer: error: %s\n", error.c_str());
      return 3;
    }
    for (const vx::GgufKey &key : model.keys()) {
      std::printf("key %s %s %s %zu", hex(key.name).c_str(), vx::ggufKindName(key.value.kind()),
                  vx::ggufKindName(key.value.elementKind()), key.value.size());
      for (size_t i = 0; i < key.value.size(); ++i)
        printValue(key.value, i);
      std::printf("\n");
    }
    for (const vx::GgufTensor &tensor : model.tensors()) {
      uint64_t sum = 0xcbf29ce484222325;
      for (uint8_t byte : tensor.bytes)
        sum = (sum ^ byte) * 0x100000001b3;
      std::string dims;
      for (int64_t dim : tensor.dims)
        dims += (dims.empty() ? "" : ",") + std::to_string(dim);
      std::printf("tensor %s %s [%s] %zu %" PRIu64 " %zu %" PRIx64 "\n", hex(tensor.name).c_str(), tensor.type->name,
                  dims.c_str(), tensor.file, tensor.offset, tensor.bytes.size(), sum);
    }
  }
  return 0;
}
