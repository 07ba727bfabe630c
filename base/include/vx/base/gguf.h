// GGUF files, versions 2 and 3: keys with values, and tensors, as llama.cpp and its tools write them.
//
//   "GGUF", version, count of tensors, count of keys; keys; descriptions of tensors; padding; the tensors' bytes
//
// The format is described in ggml's docs/gguf.md. All numbers are little-endian here; a big-endian file is refused.
#ifndef VX_BASE_GGUF_H
#define VX_BASE_GGUF_H

#include "vx/base/mapped_file.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vx {

// The type of a tensor's elements. Elements lie in blocks along the innermost dimension.
struct GgufType {
  uint32_t number;         // as in the file
  const char *name;        // "q4_1", in small letters
  uint32_t block;          // elements in a block; 1 for plain numbers
  uint32_t bytes;          // bytes of a block
  const char *elementType; // "f32", as vx_element_type_name has it; null for blocks that are no plain numbers
  bool isWeight;           // vx-compile reads weights of this type
};

// Null for a number that no type has.
const GgufType *findGgufType(uint32_t number);

enum class GgufKind : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// "u8", ..., "string", "array"
const char *ggufKindName(GgufKind kind);

// The value of a key. Views point into the file.
class GgufValue {
public:
  GgufKind kind() const { return isArray ? GgufKind::array : element; }
  // The kind of an array's elements, else the kind of the value itself.
  GgufKind elementKind() const { return element; }
  // The count of an array's elements, else 1.
  size_t size() const { return count; }

  // Element `i` of an array, or the value itself as element 0. Nothing if it is of another kind, or out of range for
  // the result. Any whole number is a number of any other kind that can represent it; a float is no whole number.
  std::optional<uint64_t> unsignedAt(size_t i) const;
  std::optional<int64_t> signedAt(size_t i) const;
  // A float or a whole number.
  std::optional<double> numberAt(size_t i) const;
  std::optional<bool> booleanAt(size_t i) const;
  std::optional<std::string_view> stringAt(size_t i) const;

  // As a line for people: "32000", "\"llama\"", "[1, 2, 3, ... 32000 elements]". Not escaped.
  std::string text(size_t mostElements = 8) const;

private:
  friend class GgufParser;
  template <typename T>
  std::optional<T> wholeAt(size_t i) const;
  GgufKind element = GgufKind::u8;
  bool isArray = false;
  size_t count = 1;
  std::span<const uint8_t> bytes;        // of plain elements
  std::vector<std::string_view> strings; // of strings
};

struct GgufTensor {
  std::string name;
  const GgufType *type = nullptr; // never null in a result
  std::vector<int64_t> dims;      // the innermost last, so in reverse of the file's order; each 0 or more
  std::span<const uint8_t> bytes; // of the file
  uint64_t offset = 0;            // of these bytes in their file
  size_t file = 0;                // the number of the split file that holds it
};

struct GgufKey {
  std::string name;
  GgufValue value;
};

// The content of one file.
class GgufFile {
public:
  uint32_t version = 0;
  uint64_t alignment = 32;
  std::vector<GgufKey> keys;       // in the order of the file
  std::vector<GgufTensor> tensors; // in the order of the file

  GgufFile() = default;
  GgufFile(GgufFile &&) = default;
  GgufFile &operator=(GgufFile &&) = default;

  // Null if there is none.
  const GgufValue *find(std::string_view key) const;
  const GgufTensor *findTensor(std::string_view name) const;

private:
  friend class GgufParser;
  friend class GgufModel;
  std::unordered_map<std::string_view, size_t> keyNumbers, tensorNumbers; // views of the names in the lists
};

// Parses the bytes of one file, and checks each size, count and offset against the bytes that are there. Values and
// tensors point into `file`. Returns false with a reason that follows the file's name: "truncated: tensor 'a' f32[2,3]
// needs 24 bytes at byte 96, got 7".
bool parseGguf(std::span<const uint8_t> file, GgufFile &result, std::string &error);

// A model: one file, or the files NAME-00001-of-0000N.gguf that it was split into. Movable. Immutable after `open`.
class GgufModel {
public:
  // Maps and parses the file at `path`, and the other files if it is the first of a split model. Returns false with a
  // reason that names the file.
  static bool open(const std::string &path, GgufModel &result, std::string &error);

  // The keys are those of the first file; the tensors those of all files.
  const GgufValue *find(std::string_view key) const { return content.find(key); }
  const GgufTensor *findTensor(std::string_view name) const { return content.findTensor(name); }
  const std::vector<GgufKey> &keys() const { return content.keys; }
  const std::vector<GgufTensor> &tensors() const { return content.tensors; }
  uint32_t version() const { return content.version; }
  // The whole model as if it were one file.
  const GgufFile &file() const { return content; }
  // One path per file.
  const std::vector<std::string> &paths() const { return names; }
  // All bytes of the file with this path's number.
  std::span<const uint8_t> bytesOf(size_t file) const { return mappings[file].bytes(); }

private:
  std::vector<MappedFile> mappings;
  std::vector<std::string> names;
  GgufFile content;
};

} // namespace vx

#endif
