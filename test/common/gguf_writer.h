// Writes GGUF files for tests, by the letter of the format.
#ifndef VX_TEST_COMMON_GGUF_WRITER_H
#define VX_TEST_COMMON_GGUF_WRITER_H

#include "vx/base/gguf.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace vx::test {

class GgufWriter {
public:
  explicit GgufWriter(uint32_t version = 3, uint32_t alignment = 32) : version(version), alignment(alignment) {
    if (alignment != 32)
      add<uint32_t>("general.alignment", GgufKind::u32, alignment);
  }

  template <typename T>
  GgufWriter &add(std::string_view key, GgufKind kind, T value) {
    begin(key, kind);
    put(keys, value);
    return *this;
  }
  GgufWriter &add(std::string_view key, std::string_view value) {
    begin(key, GgufKind::string);
    putText(keys, value);
    return *this;
  }
  template <typename T>
  GgufWriter &addArray(std::string_view key, GgufKind kind, const std::vector<T> &values) {
    beginArray(key, kind, values.size());
    for (const T &value : values)
      if constexpr (std::is_convertible_v<T, std::string_view>)
        putText(keys, value);
      else
        put(keys, value);
    return *this;
  }
  // `dims` in the order of the file, the innermost first. The bytes are those of a counter.
  GgufWriter &addTensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type, uint64_t bytes) {
    return addTensorAt(name, dims, type, bytes, data.size());
  }
  GgufWriter &addTensorAt(std::string_view name, std::vector<uint64_t> dims, uint32_t type, uint64_t bytes,
                          uint64_t offset) {
    putText(infos, name);
    put(infos, static_cast<uint32_t>(dims.size()));
    for (uint64_t dim : dims)
      put(infos, dim);
    put(infos, type);
    put(infos, offset);
    ++tensors;
    for (uint64_t i = 0; i < bytes; ++i)
      data += static_cast<char>(data.size() * 7 + 1);
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    return *this;
  }

  std::string bytes() const {
    std::string file = "GGUF";
    put(file, version);
    put(file, uint64_t(tensors));
    put(file, uint64_t(count));
    file += keys + infos;
    file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data;
  }

  template <typename T>
  static void put(std::string &to, T value) {
    to.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  static void putText(std::string &to, std::string_view text) {
    put(to, uint64_t(text.size()));
    to += text;
  }

private:
  void begin(std::string_view key, GgufKind kind) {
    putText(keys, key);
    put(keys, static_cast<uint32_t>(kind));
    ++count;
  }
  void beginArray(std::string_view key, GgufKind kind, uint64_t size) {
    begin(key, GgufKind::array);
    put(keys, static_cast<uint32_t>(kind));
    put(keys, size);
  }

  uint32_t version, alignment;
  uint64_t count = 0, tensors = 0;
  std::string keys, infos, data;
};

inline std::span<const uint8_t> bytesOf(const std::string &file) {
  return {reinterpret_cast<const uint8_t *>(file.data()), file.size()};
}

} // namespace vx::test

#endif
