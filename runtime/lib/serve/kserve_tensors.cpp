#include "kserve_tensors.h"

#include "json_request.h"

#include "vx/base/json_text.h"
#include "vx/base/utf8.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

namespace vx::serve {
namespace {

using Json = nlohmann::json;

struct TypeRow {
  vx_element_type type;
  std::string_view name;
};
constexpr std::array typeRows = {TypeRow{VX_BOOL, "BOOL"},  TypeRow{VX_U8, "UINT8"},    TypeRow{VX_U16, "UINT16"},
                                 TypeRow{VX_U32, "UINT32"}, TypeRow{VX_U64, "UINT64"},  TypeRow{VX_I8, "INT8"},
                                 TypeRow{VX_I16, "INT16"},  TypeRow{VX_I32, "INT32"},   TypeRow{VX_I64, "INT64"},
                                 TypeRow{VX_F16, "FP16"},   TypeRow{VX_BF16, "BF16"},   TypeRow{VX_F32, "FP32"},
                                 TypeRow{VX_F64, "FP64"},   TypeRow{VX_STRING, "BYTES"}};

template <typename... Args>
ServiceError valueError(std::string_view field, fmt::format_string<Args...> format, Args &&...args) {
  return ServiceError(ErrorCode::invalid_value,
                      fmt::format("'{}': {}", field, fmt::format(format, std::forward<Args>(args)...)))
      .about(std::string(field));
}

// Elements of a list that may be nested as the shape is, or flat.
void flatten(const Json &data, std::span<const int64_t> dims, const std::string &field,
             std::vector<const Json *> &elements) {
  if (!data.is_array())
    throw valueError(field, "expected a list, got {}", jsonKind(data)).expected("a list", jsonKind(data));
  const bool isNested = dims.size() > 1 && !data.empty() && data[0].is_array();
  if (!isNested) {
    for (const Json &element : data)
      elements.push_back(&element);
    return;
  }
  if (static_cast<int64_t>(data.size()) != dims[0])
    throw valueError(field, "expected {} lists for the shape, got {}", dims[0], data.size())
        .expected(static_cast<uint64_t>(dims[0]), data.size());
  for (size_t i = 0; i < data.size(); ++i) {
    const size_t before = elements.size();
    const std::string part = fmt::format("{}[{}]", field, i);
    flatten(data[i], dims.subspan(1), part, elements);
    size_t want = 1;
    for (int64_t dim : dims.subspan(1))
      want *= static_cast<size_t>(dim);
    if (elements.size() - before != want)
      throw valueError(part, "expected {} elements for the shape, got {}", want, elements.size() - before)
          .expected(want, elements.size() - before);
  }
}

template <typename T>
void storeElement(const Json &element, const std::string &field, size_t index, std::string_view type, T *place) {
  const auto wrong = [&](std::string_view want) {
    const std::string got = element.is_number() ? jsonText(element) : std::string(jsonKind(element));
    return valueError(fmt::format("{}[{}]", field, index), "expected {}, got {}", want, got).expected(want, got);
  };
  if constexpr (std::is_same_v<T, bool>) {
    if (!element.is_boolean())
      throw wrong("true or false");
    *place = element.get<bool>();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!element.is_number())
      throw wrong("a number");
    *place = static_cast<T>(element.get<double>());
    if (!std::isfinite(*place))
      throw wrong(fmt::format("a number that {} has", type));
  } else {
    const bool fits =
        element.is_number_unsigned() ? element.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max())
        : element.is_number_integer()
            ? std::is_signed_v<T> && element.get<int64_t>() >= static_cast<int64_t>(std::numeric_limits<T>::min())
            : false;
    if (!fits)
      throw wrong(fmt::format("a whole number that {} has", type));
    *place =
        element.is_number_unsigned() ? static_cast<T>(element.get<uint64_t>()) : static_cast<T>(element.get<int64_t>());
  }
}

// Calls `function` with a null pointer of the element's type in C++. False for one that is none.
template <typename Function>
bool withType(vx_element_type type, Function function) {
  switch (type) {
  case VX_BOOL:
    return function(static_cast<bool *>(nullptr)), true;
  case VX_U8:
    return function(static_cast<uint8_t *>(nullptr)), true;
  case VX_U16:
    return function(static_cast<uint16_t *>(nullptr)), true;
  case VX_U32:
    return function(static_cast<uint32_t *>(nullptr)), true;
  case VX_U64:
    return function(static_cast<uint64_t *>(nullptr)), true;
  case VX_I8:
    return function(static_cast<int8_t *>(nullptr)), true;
  case VX_I16:
    return function(static_cast<int16_t *>(nullptr)), true;
  case VX_I32:
    return function(static_cast<int32_t *>(nullptr)), true;
  case VX_I64:
    return function(static_cast<int64_t *>(nullptr)), true;
  case VX_F32:
    return function(static_cast<float *>(nullptr)), true;
  case VX_F64:
    return function(static_cast<double *>(nullptr)), true;
  default:
    return false;
  }
}

std::vector<int64_t> readShape(const Json &input, std::string_view where, uint64_t &count) {
  const std::string field = memberPath(where, "shape");
  const Json *shape = findMember(input, "shape");
  if (!shape || !shape->is_array())
    throw valueError(field, "expected a list of sizes, got {}", shape ? jsonKind(*shape) : "none")
        .expected("a list of sizes", shape ? jsonKind(*shape) : "none");
  std::vector<int64_t> dims;
  unsigned __int128 product = 1;
  for (const Json &dim : *shape) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > INT64_MAX)
      throw valueError(fmt::format("{}[{}]", field, dims.size()), "expected a size, got {}",
                       dim.is_number() ? jsonText(dim) : std::string(jsonKind(dim)))
          .with("dim", dims.size())
          .expected("a size", dim.is_number() ? jsonText(dim) : std::string(jsonKind(dim)));
    dims.push_back(dim.get<int64_t>());
    product *= dim.get<uint64_t>();
    // Nothing that comes in one request has more elements than this.
    if (product > INT32_MAX)
      throw valueError(field, "a tensor may have {} elements, got more", INT32_MAX)
          .expected(fmt::format("at most {} elements", INT32_MAX), "more");
  }
  count = static_cast<uint64_t>(product);
  return dims;
}

// The number of its bytes, or nothing for a tensor whose data stand in the JSON.
std::optional<uint64_t> binarySize(const Json &input, std::string_view where) {
  const Json *parameters = findMember(input, "parameters");
  if (!parameters)
    return std::nullopt;
  if (!parameters->is_object())
    throw valueError(memberPath(where, "parameters"), "expected an object, got {}", jsonKind(*parameters));
  const Json *size = findMember(*parameters, "binary_data_size");
  if (!size)
    return std::nullopt;
  if (!size->is_number_unsigned())
    throw valueError(memberPath(where, "parameters.binary_data_size"), "expected a number of bytes, got {}",
                     size->is_number() ? size->dump() : std::string(jsonKind(*size)));
  return size->get<uint64_t>();
}

// Each behind its length in four bytes.
std::vector<std::string> splitStrings(std::string_view bytes, uint64_t count, const std::string &field) {
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    if (bytes.size() < sizeof(length))
      throw valueError(field, "expected the length of element {} in 4 bytes, got {}", i, bytes.size());
    std::memcpy(&length, bytes.data(), sizeof(length));
    bytes.remove_prefix(sizeof(length));
    if (length > bytes.size())
      throw valueError(field, "element {} has {} bytes, but {} are left", i, length, bytes.size());
    texts.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  if (!bytes.empty())
    throw valueError(field, "{} bytes are left after {} elements", bytes.size(), count);
  return texts;
}

void checkTexts(const std::vector<std::string> &texts, const std::string &field) {
  for (size_t i = 0; i < texts.size(); ++i)
    if (!isUtf8(texts[i]))
      throw valueError(field, "element {} is no UTF-8", i);
}

Value readBinary(vx_element_type type, const std::vector<int64_t> &dims, uint64_t count, std::string_view bytes,
                 const std::string &field, const std::shared_ptr<const void> &owner) {
  if (type == VX_STRING) {
    const std::vector<std::string> texts = splitStrings(bytes, count, field);
    checkTexts(texts, field);
    return Value::strings(dims, texts);
  }
  const uint64_t want = count * (vx_element_type_bits(type) / 8);
  if (bytes.size() != want)
    throw valueError(field, "expected {} bytes for the shape, got {}", want, bytes.size()).expected(want, bytes.size());
  if (type == VX_BOOL)
    for (size_t i = 0; i < bytes.size(); ++i)
      if (static_cast<uint8_t>(bytes[i]) > 1)
        throw valueError(field, "element {} of BOOL: expected 0 or 1, got {}", i, static_cast<uint8_t>(bytes[i]));
  return Value::wrap(type, dims, bytes.data(), bytes.size(), owner);
}

Value readList(vx_element_type type, const std::vector<int64_t> &dims, uint64_t count, const Json &data,
               const std::string &field) {
  std::vector<const Json *> elements;
  flatten(data, dims, field, elements);
  if (elements.size() != count)
    throw valueError(field, "expected {} elements for the shape, got {}", count, elements.size())
        .expected(count, elements.size());
  if (type == VX_STRING) {
    std::vector<std::string> texts;
    for (const Json *element : elements) {
      if (!element->is_string())
        throw valueError(fmt::format("{}[{}]", field, texts.size()), "expected a string, got {}", jsonKind(*element));
      texts.push_back(element->get<std::string>());
    }
    return Value::strings(dims, texts);
  }
  Value value;
  const bool isKnown = withType(type, [&]<typename T>(T *) {
    const auto storage = std::make_unique<T[]>(elements.size());
    for (size_t i = 0; i < elements.size(); ++i)
      storeElement(*elements[i], field, i, kserveType(type), &storage[i]);
    value = Value::raw(type, dims, storage.get(), elements.size() * sizeof(T));
  });
  if (!isKnown)
    throw valueError(field, "{} goes as binary data only", kserveType(type));
  return value;
}

} // namespace

std::string_view kserveType(vx_element_type type) {
  for (const TypeRow &row : typeRows)
    if (row.type == type)
      return row.name;
  return "";
}

std::optional<vx_element_type> parseKserveType(std::string_view name) {
  for (const TypeRow &row : typeRows)
    if (row.name == name)
      return row.type;
  return std::nullopt;
}

Value readKserveTensor(const Json &input, const vx_argument_info &argument, std::string_view &binary,
                       std::string_view where, const std::shared_ptr<const void> &owner) {
  const std::string typeName = stringMember(input, "datatype", where);
  const std::optional<vx_element_type> type = parseKserveType(typeName);
  if (!type || *type != argument.element_type)
    throw valueError(memberPath(where, "datatype"), "input '{}' is {}, got '{}'", argument.name,
                     kserveType(argument.element_type), typeName)
        .expected(kserveType(argument.element_type), typeName);
  uint64_t count = 0;
  const std::vector<int64_t> dims = readShape(input, where, count);
  const Json *data = findMember(input, "data");
  if (const std::optional<uint64_t> size = binarySize(input, where)) {
    const std::string field = memberPath(where, "parameters.binary_data_size");
    if (data)
      throw valueError(where, "expected 'data' or binary data, got both");
    if (*size > binary.size())
      throw valueError(field, "{} bytes, but {} are left of the body", *size, binary.size())
          .expected(*size, binary.size());
    const std::string_view own = binary.substr(0, *size);
    binary.remove_prefix(*size);
    return readBinary(*type, dims, count, own, field, owner);
  }
  if (!data)
    throw valueError(where, "expected 'data' or 'parameters.binary_data_size', got neither")
        .expected("data or parameters.binary_data_size", "none");
  return readList(*type, dims, count, *data, memberPath(where, "data"));
}

void writeKserveTensor(std::string &json, std::string_view name, const Value &value, std::string *binary) {
  const vx_value_info info = value.info();
  json += fmt::format("{{\"name\":{},\"datatype\":\"{}\",\"shape\":[{}]", jsonText(Json(name)),
                      kserveType(info.element_type), fmt::join(value.dims(), ","));
  if (binary) {
    const size_t before = binary->size();
    if (info.element_type == VX_STRING) {
      for (std::string_view text : value.strings()) {
        const auto length = static_cast<uint32_t>(text.size());
        binary->append(reinterpret_cast<const char *>(&length), sizeof(length));
        binary->append(text);
      }
    } else {
      const std::span<const std::byte> bytes = value.bytes();
      binary->append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    }
    json += fmt::format(",\"parameters\":{{\"binary_data_size\":{}}}}}", binary->size() - before);
    return;
  }
  json += ",\"data\":[";
  const char *separator = "";
  const auto add = [&](auto &&text) {
    json += separator;
    json += text;
    separator = ",";
  };
  if (info.element_type == VX_STRING) {
    for (std::string_view text : value.strings())
      add(jsonText(Json(text)));
  } else {
    const std::span<const std::byte> bytes = value.bytes();
    const bool isKnown = withType(info.element_type, [&]<typename T>(T *) {
      for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
        T element;
        std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
        if constexpr (std::is_floating_point_v<T>)
          if (!std::isfinite(element))
            throw serviceError(ErrorCode::invalid_value,
                               "element {} of output '{}' is {}, which JSON has no number for; ask for binary data", i,
                               name, element);
        add(fmt::format("{}", element));
      }
    });
    if (!isKnown)
      throw serviceError(ErrorCode::invalid_value, "output '{}' is {}, which goes as binary data only", name,
                         kserveType(info.element_type));
  }
  json += "]}";
}

std::string kserveTypeText(const vx_argument_info &argument) {
  std::string dims;
  for (uint32_t i = 0; i < argument.rank; ++i)
    dims += (dims.empty() ? "" : ",") + std::string(argument.dims[i].expression);
  return fmt::format("{}[{}]", kserveType(argument.element_type), dims);
}

nlohmann::ordered_json describeArgument(const vx_argument_info &argument) {
  nlohmann::ordered_json shape = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < argument.rank; ++i)
    shape.push_back(argument.dims[i].size);
  return {{"name", argument.name}, {"datatype", kserveType(argument.element_type)}, {"shape", shape}};
}

} // namespace vx::serve
