#include "tensor_contents.h"

#include "messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace vx::grpc_wire {
namespace {

using Contents = inference::InferTensorContents;
static_assert(std::endian::native == std::endian::little, "elements go over the wire as they are in memory");

// A field, its name, and how many elements it has.
struct FieldRow {
  std::string_view name;
  int (Contents::*size)() const;
};
constexpr std::array fields = {
    FieldRow{"bool_contents", &Contents::bool_contents_size},
    FieldRow{"int_contents", &Contents::int_contents_size},
    FieldRow{"int64_contents", &Contents::int64_contents_size},
    FieldRow{"uint_contents", &Contents::uint_contents_size},
    FieldRow{"uint64_contents", &Contents::uint64_contents_size},
    FieldRow{"fp32_contents", &Contents::fp32_contents_size},
    FieldRow{"fp64_contents", &Contents::fp64_contents_size},
    FieldRow{"bytes_contents", &Contents::bytes_contents_size},
};

template <typename Element, typename List>
void append(std::string &bytes, const List &list, const std::string &where, std::string_view datatype) {
  bytes.reserve(bytes.size() + static_cast<size_t>(list.size()) * sizeof(Element));
  for (int i = 0; i < list.size(); ++i) {
    if constexpr (std::is_integral_v<Element> && sizeof(Element) < sizeof(list[0]))
      if (list[i] < std::numeric_limits<Element>::min() || list[i] > std::numeric_limits<Element>::max())
        throw MessageError(fmt::format("'{}[{}]': expected {} to {} for {}, got {}", where, i,
                                       int64_t(std::numeric_limits<Element>::min()),
                                       int64_t(std::numeric_limits<Element>::max()), datatype, list[i]));
    const auto element = static_cast<Element>(list[i]);
    bytes.append(reinterpret_cast<const char *>(&element), sizeof(element));
  }
}

void appendTexts(std::string &bytes, const Contents &contents) {
  for (const std::string &text : contents.bytes_contents()) {
    const auto length = static_cast<uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char *>(&length), sizeof(length));
    bytes += text;
  }
}

template <typename Element, typename List>
void take(List &list, std::string_view bytes) {
  if (bytes.size() % sizeof(Element) != 0)
    throw std::runtime_error("expected the bytes of whole elements, got others");
  list.Reserve(static_cast<int>(bytes.size() / sizeof(Element)));
  for (size_t i = 0; i < bytes.size(); i += sizeof(Element)) {
    if constexpr (std::is_same_v<Element, bool>) {
      list.Add(bytes[i] != 0);
    } else {
      Element element;
      std::memcpy(&element, bytes.data() + i, sizeof(element));
      list.Add(element);
    }
  }
}

void takeTexts(Contents &contents, std::string_view bytes) {
  while (!bytes.empty()) {
    uint32_t length = 0;
    if (bytes.size() < sizeof(length))
      throw std::runtime_error("expected the length of a text, got fewer bytes");
    std::memcpy(&length, bytes.data(), sizeof(length));
    bytes.remove_prefix(sizeof(length));
    if (length > bytes.size())
      throw std::runtime_error("expected the bytes of a text, got fewer");
    contents.add_bytes_contents(bytes.data(), length);
    bytes.remove_prefix(length);
  }
}

struct TypeRow {
  std::string_view datatype, field;
  void (*append)(std::string &, const Contents &, const std::string &, std::string_view);
  void (*take)(Contents &, std::string_view);
};

#define VX_TYPE(datatype, field, Element)                                                                              \
  TypeRow {                                                                                                            \
    datatype, #field,                                                                                                  \
        [](std::string &bytes, const Contents &contents, const std::string &where, std::string_view type) {            \
          append<Element>(bytes, contents.field(), where, type);                                                       \
        },                                                                                                             \
        [](Contents &contents, std::string_view bytes) { take<Element>(*contents.mutable_##field(), bytes); }          \
  }

const TypeRow types[] = {
    VX_TYPE("BOOL", bool_contents, bool),
    VX_TYPE("INT8", int_contents, int8_t),
    VX_TYPE("INT16", int_contents, int16_t),
    VX_TYPE("INT32", int_contents, int32_t),
    VX_TYPE("INT64", int64_contents, int64_t),
    VX_TYPE("UINT8", uint_contents, uint8_t),
    VX_TYPE("UINT16", uint_contents, uint16_t),
    VX_TYPE("UINT32", uint_contents, uint32_t),
    VX_TYPE("UINT64", uint64_contents, uint64_t),
    VX_TYPE("FP32", fp32_contents, float),
    VX_TYPE("FP64", fp64_contents, double),
    {"BYTES", "bytes_contents",
     [](std::string &bytes, const Contents &contents, const std::string &, std::string_view) {
       appendTexts(bytes, contents);
     },
     [](Contents &contents, std::string_view bytes) { takeTexts(contents, bytes); }},
};
#undef VX_TYPE

const TypeRow *findType(std::string_view datatype) {
  const TypeRow *place =
      std::find_if(std::begin(types), std::end(types), [&](const TypeRow &row) { return row.datatype == datatype; });
  return place == std::end(types) ? nullptr : place;
}

} // namespace

bool hasContentsType(std::string_view datatype) { return findType(datatype) != nullptr; }

bool hasContents(const Contents &contents) {
  return std::any_of(fields.begin(), fields.end(), [&](const FieldRow &row) { return (contents.*row.size)() > 0; });
}

void appendContents(std::string &bytes, const std::string &datatype, const Contents &contents,
                    const std::string &where) {
  const TypeRow *type = findType(datatype);
  if (!type && (datatype == "FP16" || datatype == "BF16"))
    throw MessageError(fmt::format("'{}': {} goes as raw_input_contents only", where, datatype));
  // What the server says of an unknown type names the input's own.
  if (!type)
    return;
  for (const FieldRow &field : fields)
    if (field.name != type->field && (contents.*field.size)() > 0)
      throw MessageError(fmt::format("'{}': expected {} for {}, got {}", where, type->field, datatype, field.name));
  type->append(bytes, contents, fmt::format("{}.{}", where, type->field), datatype);
}

void setContents(Contents &contents, std::string_view datatype, std::string_view bytes) {
  const TypeRow *type = findType(datatype);
  if (!type)
    throw std::runtime_error(fmt::format("expected a type with contents, got {}", datatype));
  type->take(contents, bytes);
}

} // namespace vx::grpc_wire
