#include "vx/base/gguf.h"

#include "vx/base/printable.h"
#include "vx/base/string_functions.h"
#include "vx/base/tensor_type.h"
#include "vx/base/utf8.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace vx {

namespace {

static_assert(std::endian::native == std::endian::little, "values are read as they lie");

// The sizes of ggml's blocks (ggml-common.h); numbers that are missing were types of old files.
constexpr GgufType Types[] = {{0, "f32", 1, 4, "f32", true},
                              {1, "f16", 1, 2, "f16", true},
                              {2, "q4_0", 32, 18, nullptr, true},
                              {3, "q4_1", 32, 20, nullptr, true},
                              {6, "q5_0", 32, 22, nullptr, true},
                              {7, "q5_1", 32, 24, nullptr, true},
                              {8, "q8_0", 32, 34, nullptr, true},
                              {9, "q8_1", 32, 36, nullptr, false},
                              {10, "q2_k", 256, 84, nullptr, true},
                              {11, "q3_k", 256, 110, nullptr, true},
                              {12, "q4_k", 256, 144, nullptr, true},
                              {13, "q5_k", 256, 176, nullptr, true},
                              {14, "q6_k", 256, 210, nullptr, true},
                              {15, "q8_k", 256, 292, nullptr, false},
                              {16, "iq2_xxs", 256, 66, nullptr, false},
                              {17, "iq2_xs", 256, 74, nullptr, false},
                              {18, "iq3_xxs", 256, 98, nullptr, false},
                              {19, "iq1_s", 256, 50, nullptr, false},
                              {20, "iq4_nl", 32, 18, nullptr, true},
                              {21, "iq3_s", 256, 110, nullptr, false},
                              {22, "iq2_s", 256, 82, nullptr, false},
                              {23, "iq4_xs", 256, 136, nullptr, false},
                              {24, "i8", 1, 1, "i8", false},
                              {25, "i16", 1, 2, "i16", false},
                              {26, "i32", 1, 4, "i32", false},
                              {27, "i64", 1, 8, "i64", false},
                              {28, "f64", 1, 8, "f64", false},
                              {29, "iq1_m", 256, 56, nullptr, false},
                              {30, "bf16", 1, 2, "bf16", true},
                              {34, "tq1_0", 256, 54, nullptr, false},
                              {35, "tq2_0", 256, 66, nullptr, false},
                              {39, "mxfp4", 32, 17, nullptr, true},
                              {40, "nvfp4", 64, 36, nullptr, false},
                              {41, "q1_0", 128, 18, nullptr, false},
                              {42, "q2_0", 64, 18, nullptr, false}};

struct Kind {
  const char *name;
  uint32_t bytes; // 0: not a plain number
};
constexpr Kind Kinds[] = {{"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
                          {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8}};

constexpr uint32_t MostDims = 4; // ggml's limit
// The least bytes of a key and of a tensor's description, by which their counts are checked.
constexpr uint64_t LeastKey = 8 + 4 + 1, LeastTensor = 8 + 4 + 4 + 8;

void add(std::string &text, std::string_view part) { text += part; }
void add(std::string &text, uint64_t number) { text += std::to_string(number); }

template <typename... Parts>
std::string joined(const Parts &...parts) {
  std::string text;
  (add(text, parts), ...);
  return text;
}

template <typename T>
T load(std::span<const uint8_t> bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

std::string typeText(const GgufTensor &tensor) { return tensorTypeText(tensor.type->name, tensor.dims); }

} // namespace

const GgufType *findGgufType(uint32_t number) {
  const auto *found = std::ranges::find(Types, number, &GgufType::number);
  return found == std::end(Types) ? nullptr : found;
}

const char *ggufKindName(GgufKind kind) { return Kinds[static_cast<uint32_t>(kind)].name; }

template <typename T>
std::optional<T> GgufValue::wholeAt(size_t i) const {
  if (i >= count)
    return {};
  const auto convert = [](auto value) -> std::optional<T> {
    return std::in_range<T>(value) ? std::optional<T>(static_cast<T>(value)) : std::nullopt;
  };
  switch (element) {
  case GgufKind::u8:
    return convert(load<uint8_t>(bytes, i));
  case GgufKind::i8:
    return convert(load<int8_t>(bytes, i));
  case GgufKind::u16:
    return convert(load<uint16_t>(bytes, i));
  case GgufKind::i16:
    return convert(load<int16_t>(bytes, i));
  case GgufKind::u32:
    return convert(load<uint32_t>(bytes, i));
  case GgufKind::i32:
    return convert(load<int32_t>(bytes, i));
  case GgufKind::u64:
    return convert(load<uint64_t>(bytes, i));
  case GgufKind::i64:
    return convert(load<int64_t>(bytes, i));
  default:
    return {};
  }
}

std::optional<uint64_t> GgufValue::unsignedAt(size_t i) const { return wholeAt<uint64_t>(i); }
std::optional<int64_t> GgufValue::signedAt(size_t i) const { return wholeAt<int64_t>(i); }

std::optional<double> GgufValue::numberAt(size_t i) const {
  if (i >= count)
    return {};
  if (element == GgufKind::f32)
    return load<float>(bytes, i);
  if (element == GgufKind::f64)
    return load<double>(bytes, i);
  if (const std::optional<int64_t> whole = signedAt(i))
    return static_cast<double>(*whole);
  if (const std::optional<uint64_t> whole = unsignedAt(i))
    return static_cast<double>(*whole);
  return {};
}

std::optional<bool> GgufValue::booleanAt(size_t i) const {
  if (element != GgufKind::boolean || i >= count)
    return {};
  return bytes[i] != 0;
}

std::optional<std::string_view> GgufValue::stringAt(size_t i) const {
  if (element != GgufKind::string || i >= count)
    return {};
  return strings[i];
}

std::string GgufValue::text(size_t mostElements) const {
  const auto textAt = [this](size_t i) -> std::string {
    if (const auto value = stringAt(i))
      return joined("\"", *value, "\"");
    if (const auto value = booleanAt(i))
      return *value ? "true" : "false";
    if (const auto value = signedAt(i))
      return std::to_string(*value);
    if (const auto value = unsignedAt(i))
      return std::to_string(*value);
    return element == GgufKind::f32 ? formatFloat(load<float>(bytes, i)) : formatFloat(load<double>(bytes, i));
  };
  if (!isArray)
    return textAt(0);
  std::string text = "[";
  for (size_t i = 0; i < std::min(count, mostElements); ++i)
    text += (i ? ", " : "") + textAt(i);
  if (count > mostElements)
    text += joined(mostElements ? ", ... " : "... ", count, " elements");
  return text + "]";
}

const GgufValue *GgufFile::find(std::string_view key) const {
  const auto found = keyNumbers.find(key);
  return found == keyNumbers.end() ? nullptr : &keys[found->second].value;
}

const GgufTensor *GgufFile::findTensor(std::string_view name) const {
  const auto found = tensorNumbers.find(name);
  return found == tensorNumbers.end() ? nullptr : &tensors[found->second];
}

// Reads from the front. The first error is kept and ends the reading.
class GgufParser {
public:
  GgufParser(std::span<const uint8_t> file, GgufFile &result, std::string &error)
      : file(file), result(result), error(error) {}

  bool parse() {
    uint64_t tensors = 0, keys = 0;
    if (!header(tensors, keys))
      return false;
    result.keys.reserve(keys);
    for (uint64_t i = 0; i < keys; ++i)
      if (!key())
        return false;
    if (!readAlignment())
      return false;
    result.tensors.reserve(tensors);
    std::vector<uint64_t> offsets;
    offsets.reserve(tensors);
    for (uint64_t i = 0; i < tensors; ++i)
      if (!tensor(offsets))
        return false;
    return placeTensors(offsets);
  }

private:
  bool fail(std::string reason) {
    error = std::move(reason);
    return false;
  }
  uint64_t left() const { return file.size() - at; }

  template <typename T>
  bool number(T &value, std::string_view what) {
    if (left() < sizeof(T))
      return fail(joined("truncated: ", what, " needs ", sizeof(T), " bytes at byte ", at, ", got ", left()));
    value = load<T>(file.subspan(at, sizeof(T)), 0);
    at += sizeof(T);
    return true;
  }
  bool string(std::string_view &value, std::string_view what) {
    uint64_t size = 0;
    if (!number(size, what))
      return false;
    if (size > left())
      return fail(joined("truncated: ", what, " needs ", size, " bytes at byte ", at, ", got ", left()));
    value = {reinterpret_cast<const char *>(file.data()) + at, static_cast<size_t>(size)};
    at += size;
    return true;
  }
  // A name of a key or a tensor.
  bool name(std::string_view &value, std::string_view what) {
    const size_t begin = at;
    if (!string(value, what))
      return false;
    if (value.empty())
      return fail(joined(what, " at byte ", begin, " is empty"));
    if (!isUtf8(value))
      return fail(joined(what, " at byte ", begin, " is not UTF-8: '", printableLine(value), "'"));
    return true;
  }

  bool header(uint64_t &tensors, uint64_t &keys) {
    if (file.size() < 4 || std::memcmp(file.data(), "GGUF", 4) != 0)
      return fail(joined("not a GGUF file: expected the first bytes 'GGUF', got '",
                         printableLine({reinterpret_cast<const char *>(file.data()), std::min<size_t>(file.size(), 4)}),
                         "'"));
    at = 4;
    if (!number(result.version, "the version"))
      return false;
    if (result.version != 0 && (result.version & 0xffff) == 0)
      return fail("is a big-endian GGUF file, expected a little-endian one; convert it with gguf_convert_endian of "
                  "the package gguf");
    if (result.version != 2 && result.version != 3)
      return fail(joined("expected GGUF version 2 or 3, got ", result.version));
    if (!number(tensors, "the count of tensors") || !number(keys, "the count of keys"))
      return false;
    if (keys > left() / LeastKey)
      return fail(
          joined("truncated: ", keys, " keys need at least ", LeastKey, " bytes each, got ", left(), " bytes in all"));
    if (tensors > left() / LeastTensor)
      return fail(joined("truncated: ", tensors, " tensors need at least ", LeastTensor, " bytes each, got ", left(),
                         " bytes in all"));
    return true;
  }

  bool kind(GgufKind &kind, std::string_view key) {
    uint32_t number = 0;
    const size_t place = at;
    if (!this->number(number, joined("the type of key '", key, "'")))
      return false;
    if (number >= std::size(Kinds))
      return fail(joined("key '", key, "' has the value type ", number, " at byte ", place, ", expected 0 to ",
                         std::size(Kinds) - 1));
    kind = static_cast<GgufKind>(number);
    return true;
  }

  bool key() {
    std::string_view found;
    if (!name(found, "a key"))
      return false;
    GgufKey entry{std::string(found), {}};
    GgufValue &value = entry.value;
    const std::string shown = printableLine(found);
    if (!kind(value.element, shown))
      return false;
    uint64_t count = 1;
    if (value.element == GgufKind::array) {
      value.isArray = true;
      if (!kind(value.element, shown) || !number(count, joined("the size of key '", shown, "'")))
        return false;
      if (value.element == GgufKind::array)
        return fail(joined("key '", shown, "' is an array of arrays, which is not supported"));
    }
    const uint32_t size = Kinds[static_cast<uint32_t>(value.element)].bytes;
    // A string has 8 bytes or more.
    if (count > left() / std::max<uint32_t>(size, size ? 1 : 8))
      return fail(joined("truncated: key '", shown, "' has ", count, " elements of ", size ? size : 8,
                         size ? " bytes" : " bytes or more", " at byte ", at, ", got ", left(), " bytes in all"));
    value.count = static_cast<size_t>(count);
    if (size) {
      value.bytes = file.subspan(at, value.count * size);
      at += value.bytes.size();
    } else {
      value.strings.resize(value.count);
      for (std::string_view &text : value.strings)
        if (!string(text, joined("a string of key '", shown, "'")))
          return false;
    }
    if (value.element == GgufKind::boolean)
      for (uint8_t byte : value.bytes)
        if (byte > 1)
          return fail(joined("key '", shown, "' has a bool of the value ", uint64_t(byte), ", expected 0 or 1"));
    result.keys.push_back(std::move(entry));
    // The list was reserved, so that names stay where they are.
    if (!result.keyNumbers.emplace(result.keys.back().name, result.keys.size() - 1).second)
      return fail(joined("expected each key once, got '", shown, "' twice"));
    return true;
  }

  bool readAlignment() {
    const GgufValue *value = result.find("general.alignment");
    if (!value)
      return true;
    if (value->kind() != GgufKind::u32)
      return fail(joined("key 'general.alignment' has the type ", ggufKindName(value->kind()), ", expected u32"));
    result.alignment = *value->unsignedAt(0);
    if (!std::has_single_bit(result.alignment))
      return fail(joined("key 'general.alignment' is ", result.alignment, ", expected a power of 2"));
    return true;
  }

  bool tensor(std::vector<uint64_t> &offsets) {
    std::string_view found;
    if (!name(found, "the name of a tensor"))
      return false;
    GgufTensor entry;
    entry.name = found;
    const std::string what = joined("tensor '", printableLine(found), "'");
    uint32_t rank = 0;
    if (!number(rank, joined("the rank of ", what)))
      return false;
    if (rank > MostDims)
      return fail(joined(what, " has ", rank, " dimensions, expected at most ", MostDims));
    for (uint32_t i = 0; i < rank; ++i) {
      uint64_t dim = 0;
      if (!number(dim, joined("a dimension of ", what)))
        return false;
      if (dim > INT64_MAX)
        return fail(joined(what, " has a dimension of ", dim, ", expected less than 2^63"));
      entry.dims.insert(entry.dims.begin(), static_cast<int64_t>(dim));
    }
    uint32_t type = 0;
    uint64_t offset = 0;
    if (!number(type, joined("the type of ", what)) || !number(offset, joined("the offset of ", what)))
      return false;
    entry.type = findGgufType(type);
    if (!entry.type)
      return fail(joined(what, ": expected the number of a type that GGUF has, got ", type));
    const int64_t row = entry.dims.empty() ? 1 : entry.dims.back();
    if (row % entry.type->block != 0)
      return fail(joined(what, ": ", typeText(entry), " has rows of ", static_cast<uint64_t>(row),
                         " elements, expected a multiple of ", entry.type->block));
    if (offset % result.alignment != 0)
      return fail(joined(what, " has the offset ", offset, ", expected a multiple of ", result.alignment));
    offsets.push_back(offset);
    result.tensors.push_back(std::move(entry));
    if (!result.tensorNumbers.emplace(result.tensors.back().name, result.tensors.size() - 1).second)
      return fail(joined("expected each tensor once, got ", what, " twice"));
    return true;
  }

  // Gives tensors their bytes, none of which two of them share.
  bool placeTensors(const std::vector<uint64_t> &offsets) {
    const uint64_t padding = (result.alignment - at % result.alignment) % result.alignment;
    // A file without tensors may end without padding.
    const uint64_t begin = at + std::min(padding, left());
    std::vector<GgufTensor *> byOffset;
    for (size_t i = 0; i < result.tensors.size(); ++i) {
      GgufTensor &tensor = result.tensors[i];
      std::vector<int64_t> blocks = tensor.dims;
      if (!blocks.empty())
        blocks.back() /= tensor.type->block;
      const std::optional<uint64_t> size = tensorBytes(8 * tensor.type->bytes, blocks);
      if (!size)
        return fail(joined("tensor '", printableLine(tensor.name), "': ", typeText(tensor), " is too large"));
      const uint64_t there = file.size() - begin;
      if (offsets[i] > there || *size > there - offsets[i])
        return fail(joined("truncated: tensor '", printableLine(tensor.name), "': ", typeText(tensor), " needs ", *size,
                           " bytes at byte ", offsets[i], " of the data, got ", there - std::min(there, offsets[i])));
      tensor.offset = begin + offsets[i];
      tensor.bytes = file.subspan(static_cast<size_t>(tensor.offset), static_cast<size_t>(*size));
      if (*size > 0)
        byOffset.push_back(&tensor);
    }
    std::ranges::sort(byOffset, {}, &GgufTensor::offset);
    for (size_t i = 1; i < byOffset.size(); ++i)
      if (byOffset[i]->offset - byOffset[i - 1]->offset < byOffset[i - 1]->bytes.size())
        return fail(joined("tensors '", printableLine(byOffset[i - 1]->name), "' and '",
                           printableLine(byOffset[i]->name), "' overlap at byte ", byOffset[i]->offset));
    return true;
  }

  const std::span<const uint8_t> file;
  GgufFile &result;
  std::string &error;
  size_t at = 0;
};

bool parseGguf(std::span<const uint8_t> file, GgufFile &result, std::string &error) {
  result = {};
  error.clear();
  return GgufParser(file, result, error).parse();
}

namespace {

// "m-00002-of-00003.gguf" of "m-00001-of-00003.gguf"; nothing where the name has not the form for `count` files.
std::optional<std::string> splitName(const std::string &first, uint64_t number, uint64_t count) {
  const auto digits = [](uint64_t value) {
    const std::string text = std::to_string(value);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  const std::string end = "-of-" + digits(count) + ".gguf", suffix = "-" + digits(1) + end;
  if (!first.ends_with(suffix))
    return {};
  return first.substr(0, first.size() - suffix.size()) + "-" + digits(number + 1) + end;
}

constexpr char SplitNumber[] = "split.no", SplitCount[] = "split.count", SplitTensors[] = "split.tensors.count";

} // namespace

bool GgufModel::open(const std::string &path, GgufModel &result, std::string &error) {
  GgufModel model;
  const auto fail = [&error](const std::string &name, const std::string &reason) {
    error = printableLine(name) + ": " + reason;
    return false;
  };
  const auto read = [&](const std::string &name, GgufFile &file) {
    std::string reason;
    model.names.push_back(name);
    model.mappings.emplace_back();
    if (!MappedFile::open(name, model.mappings.back(), error))
      return false;
    return parseGguf(model.mappings.back().bytes(), file, reason) || fail(name, reason);
  };
  // A whole number of a file, 0 where the key is missing.
  const auto numberOf = [&](const std::string &name, const GgufFile &file, const char *key, uint64_t &value) {
    const GgufValue *found = file.find(key);
    const std::optional<uint64_t> number = found && found->kind() != GgufKind::array ? found->unsignedAt(0) : 0;
    if (!number || (found && found->kind() == GgufKind::array))
      return fail(name, joined("key '", key, "' is ", printableLine(found->text()), ", expected a whole number"));
    value = *number;
    return true;
  };
  if (!read(path, model.content))
    return false;
  uint64_t number = 0, count = 0, tensors = 0;
  if (!numberOf(path, model.content, SplitNumber, number) || !numberOf(path, model.content, SplitCount, count))
    return false;
  if (count > 1) {
    if (number != 0)
      return fail(path, joined("is file ", number + 1, " of a model in ", count, " files, expected the first file"));
    if (!splitName(path, 0, count))
      return fail(path, joined("is the first file of a model in ", count,
                               " files, expected a name that ends with '-00001-of-N.gguf', N being the count in 5 "
                               "digits"));
    if (!numberOf(path, model.content, SplitTensors, tensors))
      return false;
    std::vector<GgufFile> files(1);
    for (uint64_t i = 1; i < count; ++i) {
      const std::string name = *splitName(path, i, count);
      uint64_t itsNumber = 0, itsCount = 0;
      files.emplace_back();
      if (!read(name, files.back()) || !numberOf(name, files.back(), SplitNumber, itsNumber) ||
          !numberOf(name, files.back(), SplitCount, itsCount))
        return false;
      if (itsNumber != i || itsCount != count)
        return fail(name, joined("says that it is file ", itsNumber + 1, " of ", itsCount, ", expected file ", i + 1,
                                 " of ", count));
      for (GgufTensor &tensor : files.back().tensors)
        tensor.file = static_cast<size_t>(i);
    }
    size_t all = model.content.tensors.size();
    for (const GgufFile &file : files)
      all += file.tensors.size();
    if (model.content.find(SplitTensors) && all != tensors)
      return fail(path,
                  joined("the files have ", all, " tensors, expected the ", tensors, " of key '", SplitTensors, "'"));
    for (GgufFile &file : files)
      for (GgufTensor &tensor : file.tensors)
        model.content.tensors.push_back(std::move(tensor));
    model.content.tensorNumbers.clear();
    for (size_t i = 0; i < all; ++i)
      if (!model.content.tensorNumbers.emplace(model.content.tensors[i].name, i).second)
        return fail(path,
                    joined("tensor '", printableLine(model.content.tensors[i].name), "' is in two files of the model"));
  }
  result = std::move(model);
  return true;
}

} // namespace vx
