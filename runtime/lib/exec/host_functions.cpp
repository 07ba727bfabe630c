#include "exec/host_functions.h"

#include "exec/image_library.h"
#include "exec/regular_expression.h"
#include "exec/rounding.h"
#include "vx/base/string_functions.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

namespace vx {

namespace {

// One call of a function: its inputs are tensors of the types and of the one shape that it takes.
class HostCall {
public:
  HostCall(const HostFunction &function, std::span<const HostTensor> inputs, StringPool &pool, HostBytes &held,
           std::vector<HostTensor> &results, std::string &damage)
      : function(function), inputs(inputs), pool(pool), held(held), results(results), damage(damage) {}

  Status run();

private:
  using MapText = std::function<Status(std::string_view text, size_t index)>;

  Status check() const;
  uint64_t count() const { return elements; }
  Status textAt(size_t input, size_t index, std::string_view &text) const;
  // For each string of the first input.
  Status forEach(const MapText &map) const;
  Status addResult(vx_element_type type, std::vector<int64_t> dims);
  Status setText(HostTensor &result, size_t index, std::string_view text);
  template <typename T>
  void set(size_t index, T value) {
    std::memcpy(results[0].bytes.data() + index * sizeof(T), &value, sizeof(T));
  }
  // "element [1, 0]": of the first input.
  std::string place(size_t index) const;

  Status concat();
  Status mapCase(std::string (*map)(std::string_view));
  Status split();
  Status match();
  Status parse();
  Status format();
  Status decodeImage();
  template <typename T>
  Status parseAs(size_t index, std::string_view text);
  std::string formatElement(size_t index) const;

  const HostFunction &function;
  std::span<const HostTensor> inputs;
  StringPool &pool;
  HostBytes &held;
  std::vector<HostTensor> &results;
  std::string &damage;
  uint64_t elements = 0;
};

Status HostCall::check() const {
  const size_t wanted = function.kind == HostFunctionKind::StringConcat ? 2 : 1;
  if (inputs.size() != wanted)
    return failure(VX_INVALID_MODULE, "the host is given {} tensors, its function takes {}", inputs.size(), wanted);
  auto takes = [&](const HostTensor &input) {
    switch (function.kind) {
    case HostFunctionKind::StringFormat:
      return input.type == VX_BOOL || isPlainNumber(input.type);
    case HostFunctionKind::ImageDecode:
      return input.type == VX_U8 && input.dims.size() == 1;
    default:
      return input.type == VX_I32;
    }
  };
  for (const HostTensor &input : inputs)
    if (!takes(input))
      return failure(VX_INVALID_MODULE, "the host is given {}, which its function does not take",
                     tensorTypeString(input.type, input.dims));
  if (inputs.back().dims != inputs.front().dims)
    return failure(VX_INVALID_MODULE, "the host is given tensors of the dims [{}] and [{}]",
                   fmt::join(inputs.front().dims, ","), fmt::join(inputs.back().dims, ","));
  return okStatus();
}

Status HostCall::textAt(size_t input, size_t index, std::string_view &text) const {
  int32_t number = 0;
  std::memcpy(&number, inputs[input].bytes.data() + index * sizeof(number), sizeof(number));
  return pool.text(number, text);
}

Status HostCall::forEach(const MapText &map) const {
  std::string_view text;
  for (size_t i = 0; i < count(); ++i) {
    VX_RETURN_IF_ERROR(textAt(0, i, text));
    VX_RETURN_IF_ERROR(map(text, i));
  }
  return okStatus();
}

Status HostCall::addResult(vx_element_type type, std::vector<int64_t> dims) {
  uint64_t size = 0;
  if (Status status = tensorByteSize(type, dims, size); !status.ok())
    return Status(VX_OUT_OF_MEMORY, std::string(status.message()));
  VX_RETURN_IF_ERROR(held.add(size).addContext("what the host computes"));
  results.push_back({type, std::move(dims), std::vector<uint8_t>(size)});
  return okStatus();
}

Status HostCall::setText(HostTensor &result, size_t index, std::string_view text) {
  int32_t number = 0;
  VX_RETURN_IF_ERROR(pool.number(text, number));
  std::memcpy(result.bytes.data() + index * sizeof(number), &number, sizeof(number));
  return okStatus();
}

std::string HostCall::place(size_t index) const {
  std::vector<int64_t> places(inputs[0].dims.size());
  for (size_t d = places.size(); d-- > 0;) {
    places[d] = static_cast<int64_t>(index % static_cast<uint64_t>(inputs[0].dims[d]));
    index /= static_cast<uint64_t>(inputs[0].dims[d]);
  }
  return fmt::format("element [{}]", fmt::join(places, ", "));
}

Status HostCall::concat() {
  VX_RETURN_IF_ERROR(addResult(VX_I32, inputs[0].dims));
  std::string joined;
  std::string_view second;
  return forEach([&](std::string_view first, size_t i) -> Status {
    VX_RETURN_IF_ERROR(textAt(1, i, second));
    joined.assign(first).append(second);
    return setText(results[0], i, joined);
  });
}

Status HostCall::mapCase(std::string (*map)(std::string_view)) {
  VX_RETURN_IF_ERROR(addResult(VX_I32, inputs[0].dims));
  return forEach([&](std::string_view text, size_t i) { return setText(results[0], i, map(text)); });
}

Status HostCall::split() {
  std::vector<std::vector<std::string_view>> parts;
  size_t most = 0;
  // The views stay: the pool moves no string.
  VX_RETURN_IF_ERROR(forEach([&](std::string_view text, size_t) {
    parts.push_back(splitText(text, function.text, function.limit));
    most = std::max(most, parts.back().size());
    return held.add(sizeof(parts.back()) + parts.back().size() * sizeof(std::string_view))
        .addContext("what the host computes");
  }));
  std::vector<int64_t> dims = inputs[0].dims;
  dims.push_back(static_cast<int64_t>(most));
  VX_RETURN_IF_ERROR(addResult(VX_I32, std::move(dims)));
  VX_RETURN_IF_ERROR(addResult(VX_I64, inputs[0].dims));
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto size = static_cast<int64_t>(parts[i].size());
    std::memcpy(results[1].bytes.data() + i * sizeof(size), &size, sizeof(size));
    for (size_t part = 0; part < parts[i].size(); ++part)
      VX_RETURN_IF_ERROR(setText(results[0], i * most + part, parts[i][part]));
  }
  return okStatus();
}

Status HostCall::match() {
  VX_RETURN_IF_ERROR(addResult(VX_BOOL, inputs[0].dims));
  RegularExpression expression;
  VX_RETURN_IF_ERROR(RegularExpression::compile(function.text, expression));
  return forEach([&](std::string_view text, size_t i) -> Status {
    bool matches = false;
    VX_RETURN_IF_ERROR(expression.matchesWhole(text, matches).addContext(place(i)));
    set<uint8_t>(i, matches);
    return okStatus();
  });
}

template <typename T>
Status HostCall::parseAs(size_t index, std::string_view text) {
  const std::optional<int64_t> number = parseInteger(text, std::is_same_v<T, uint64_t>);
  const bool fits = number && (sizeof(T) == sizeof(int64_t) || (*number >= int64_t(std::numeric_limits<T>::min()) &&
                                                                *number <= int64_t(std::numeric_limits<T>::max())));
  if (!fits)
    return failure(VX_FAULT, "{} is '{}', which spells no {}", place(index), text,
                   elementTypeName(function.results[0]));
  set(index, static_cast<T>(*number));
  return okStatus();
}

Status HostCall::parse() {
  VX_RETURN_IF_ERROR(addResult(function.results[0], inputs[0].dims));
  return forEach([&](std::string_view text, size_t i) -> Status {
    switch (function.results[0]) {
    case VX_I8:
      return parseAs<int8_t>(i, text);
    case VX_I16:
      return parseAs<int16_t>(i, text);
    case VX_I32:
      return parseAs<int32_t>(i, text);
    case VX_I64:
      return parseAs<int64_t>(i, text);
    case VX_U8:
      return parseAs<uint8_t>(i, text);
    case VX_U16:
      return parseAs<uint16_t>(i, text);
    case VX_U32:
      return parseAs<uint32_t>(i, text);
    case VX_U64:
      return parseAs<uint64_t>(i, text);
    default:
      break;
    }
    const std::optional<double> number = parseFloat(text);
    if (!number)
      return failure(VX_FAULT, "{} is '{}', which spells no {}", place(i), text, elementTypeName(function.results[0]));
    if (function.results[0] == VX_F64)
      set(i, *number);
    else if (function.results[0] == VX_F32)
      set(i, static_cast<float>(*number));
    else
      set(i, function.results[0] == VX_F16 ? roundToF16(static_cast<float>(*number))
                                           : roundToBF16(static_cast<float>(*number)));
    return okStatus();
  });
}

std::string HostCall::formatElement(size_t index) const {
  const uint8_t *bytes = inputs[0].bytes.data();
  auto get = [&]<typename T>(T value) {
    std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
    return value;
  };
  switch (inputs[0].type) {
  case VX_I8:
    return fmt::format("{}", get(int8_t()));
  case VX_I16:
    return fmt::format("{}", get(int16_t()));
  case VX_I32:
    return fmt::format("{}", get(int32_t()));
  case VX_I64:
    return fmt::format("{}", get(int64_t()));
  case VX_U16:
    return fmt::format("{}", get(uint16_t()));
  case VX_U32:
    return fmt::format("{}", get(uint32_t()));
  case VX_U64:
    return fmt::format("{}", get(uint64_t()));
  case VX_F64:
    return formatFloat(get(double()));
  case VX_F32:
    return formatFloat(get(float()));
  case VX_F16:
    return formatFloat(widenF16(get(uint16_t())));
  case VX_BF16:
    return formatFloat(widenBF16(get(uint16_t())));
  default: // bool, u8
    return fmt::format("{}", get(uint8_t()));
  }
}

Status HostCall::format() {
  VX_RETURN_IF_ERROR(addResult(VX_I32, inputs[0].dims));
  for (size_t i = 0; i < count(); ++i)
    VX_RETURN_IF_ERROR(setText(results[0], i, formatElement(i)));
  return okStatus();
}

Status HostCall::decodeImage() {
  const ImageLibrary *library = nullptr;
  VX_RETURN_IF_ERROR(ImageLibrary::get(library));
  return library->decode(inputs[0].bytes, function.text, held, results.emplace_back(), damage);
}

Status HostCall::run() {
  VX_RETURN_IF_ERROR(check());
  elements = inputs[0].bytes.size() / (elementTypeBits(inputs[0].type) / 8);
  switch (function.kind) {
  case HostFunctionKind::StringConcat:
    return concat();
  case HostFunctionKind::StringUpper:
    return mapCase(toUpperCase);
  case HostFunctionKind::StringLower:
    return mapCase(toLowerCase);
  case HostFunctionKind::StringSplit:
    return split();
  case HostFunctionKind::StringMatch:
    return match();
  case HostFunctionKind::StringParse:
    return parse();
  case HostFunctionKind::StringFormat:
    return format();
  case HostFunctionKind::ImageDecode:
    return decodeImage();
  }
  return failure(VX_INTERNAL, "function {} of the host has no meaning", static_cast<int>(function.kind));
}

} // namespace

Status computeHostFunction(const HostFunction &function, std::span<const HostTensor> inputs, StringPool &pool,
                           HostBytes &held, std::vector<HostTensor> &results, std::string &damage) {
  return HostCall(function, inputs, pool, held, results, damage).run();
}

} // namespace vx
