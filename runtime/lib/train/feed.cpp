#include "feed.h"

#include "conversion.h"
#include "failure.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace vx::train {

// "f32[batch,1,8,8]"
static std::string signatureText(const vx_argument_info &argument) {
  std::string text;
  for (uint32_t i = 0; i < argument.rank; ++i)
    text += fmt::format("{}{}", i ? "," : "", argument.dims[i].expression);
  return fmt::format("{}[{}]", vx_element_type_name(argument.element_type), text);
}

static std::vector<std::string> namesOf(const Dataset &data) {
  std::vector<std::string> names;
  for (const Column &column : data.columns())
    names.push_back(column.name);
  return names;
}

Feed::Feed(const Dataset &data, const vx_function_info &function, std::span<const size_t> numbers)
    : data(data), functionName(function.name) {
  std::vector<std::string> problems;
  for (size_t number : numbers)
    addInput(function.inputs[number], problems);
  std::string all;
  for (const std::string &problem : problems)
    all += (all.empty() ? "" : "; ") + problem;
  if (!all.empty())
    throw dataError("{}", all);
  findBatch(function);
  if (data.rows() == 0)
    throw dataError("{}: the data has no rows", data.origin(0));
  for (const Input &input : inputs)
    if (input.range)
      data.check_range(input.column, *input.range);
  for (const Input &input : inputs)
    if (input.isConverted)
      data.check_converts(input.column, input.argument->element_type);
}

void Feed::addInput(const vx_argument_info &argument, std::vector<std::string> &problems) {
  if (argument.kind != VX_TENSOR || argument.rank == 0)
    throw argumentError("function '{}' takes no batches: input '{}' is {}", functionName, argument.name,
                        argument.kind != VX_TENSOR ? "no tensor" : "a single number");
  const int column = data.find(argument.name);
  const std::string wanted = signatureText(argument);
  if (column < 0) {
    problems.push_back(
        fmt::format("the data has no '{}', which is {}; it has {}", argument.name, wanted, quoteNames(namesOf(data))));
    return;
  }
  const Column &facts = data.columns()[static_cast<size_t>(column)];
  std::vector<int64_t> dims{data.rows()};
  dims.insert(dims.end(), facts.dims.begin(), facts.dims.end());
  bool fits = facts.dims.size() + 1 == argument.rank;
  for (size_t i = 1; fits && i < argument.rank; ++i)
    fits = argument.dims[i].size < 0 || argument.dims[i].size == dims[i];
  const std::string origin = data.origin(static_cast<size_t>(column));
  const bool isTaken = converts(facts.type, argument.element_type);
  if (!fits || !isTaken) {
    std::string problem =
        fmt::format("{}: input '{}': expected {}, got {}", origin, argument.name, wanted, typeText(facts.type, dims));
    const bool needsScale = isInteger(facts.type) && !isInteger(argument.element_type);
    if (!isTaken)
      problem += fmt::format(" ({} does not become {} by itself, since {}; save them as {})",
                             vx_element_type_name(facts.type), vx_element_type_name(argument.element_type),
                             needsScale ? "only you know by what scale" : "that may lose a part of each value",
                             vx_element_type_name(argument.element_type));
    problems.push_back(std::move(problem));
    return;
  }
  Input input{&argument, static_cast<size_t>(column), facts.type != argument.element_type, {}, {}, {}};
  if (argument.range && argument.range->upper) {
    const char *text = argument.range->upper;
    int64_t upper = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), upper);
    // One that is over symbols is for the call to check.
    if (error == std::errc() && *end == 0)
      input.range = {argument.range->lower, upper,
                     argument.range->also ? std::optional(*argument.range->also) : std::nullopt};
  }
  inputs.push_back(std::move(input));
}

void Feed::findBatch(const vx_function_info &function) {
  if (inputs.empty())
    throw argumentError("function '{}' takes no data", functionName);
  const vx_dim_info &first = inputs[0].argument->dims[0];
  batchText = first.expression;
  for (const Input &input : inputs)
    if (input.argument->dims[0].expression != batchText)
      throw argumentError("function '{}' takes no batches: '{}' has {} rows and '{}' has {}", functionName,
                          inputs[0].argument->name, batchText, input.argument->name,
                          input.argument->dims[0].expression);
  fixed = first.size;
  if (fixed >= 0)
    return;
  for (size_t i = 0; i < function.symbol_count; ++i) {
    const vx_symbol_info &symbol = function.symbols[i];
    if (symbol.name == batchText) {
      least = symbol.min;
      most = symbol.max;
      multiple = std::max<int64_t>(symbol.multiple, 1);
      return;
    }
  }
  throw argumentError("function '{}' takes no batches: input '{}' has {} rows, expected a number or a name",
                      functionName, inputs[0].argument->name, batchText);
}

bool Feed::takes(int64_t rows) const {
  return fixed >= 0 ? rows == fixed : rows >= 1 && rows >= least && rows <= most && rows % multiple == 0;
}

std::vector<std::pair<std::string, int64_t>> Feed::sizes(const vx_function_info &function, int64_t rows) const {
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (const vx_symbol_info &symbol : std::span(function.symbols, function.symbol_count)) {
    if (symbol.data_dependent || symbol.instance)
      continue;
    const std::string_view name = symbol.name;
    auto sizeIn = [&](const Input &input) -> std::optional<int64_t> {
      const Column &column = data.columns()[input.column];
      for (uint32_t i = 0; i < input.argument->rank; ++i)
        if (input.argument->dims[i].expression == name)
          return i == 0 ? rows : column.dims[i - 1];
      return std::nullopt;
    };
    for (const Input &input : inputs)
      if (const std::optional<int64_t> size = sizeIn(input)) {
        sizes.emplace_back(name, *size);
        break;
      }
  }
  return sizes;
}

int64_t Feed::batch(int64_t wanted, int64_t usual) const {
  if (wanted < 0)
    throw argumentError("batch: expected 0 rows or more, got {}", wanted);
  if (fixed >= 0) {
    if (wanted != 0 && wanted != fixed)
      throw argumentError("batch: expected {}, which the module is compiled for, got {}", fixed, wanted);
    return fixed;
  }
  if (wanted == 0)
    wanted = std::min(std::max(usual / multiple * multiple, std::max(least, multiple)), most);
  if (!takes(wanted))
    throw argumentError("batch: '{}' of the module is a multiple of {} from {} to {}, got {}", batchText, multiple,
                        std::max<int64_t>(least, 1), most, wanted);
  return wanted;
}

std::vector<Value> Feed::read(std::span<const int64_t> rows) {
  std::vector<std::byte *> places(data.columns().size(), nullptr);
  std::vector<std::vector<int64_t>> dims;
  std::vector<uint64_t> sizes;
  turn = 1 - turn;
  auto reserve = [](std::vector<Line> &memory, vx_element_type type, std::span<const int64_t> shape) {
    const std::optional<uint64_t> size = byteCount(type, shape);
    if (!size)
      throw argumentError("batch: {} is too large", typeText(type, shape));
    const size_t lines = std::max<size_t>((*size + sizeof(Line) - 1) / sizeof(Line), 1);
    if (memory.size() < lines)
      memory.resize(lines);
    return *size;
  };
  for (Input &input : inputs) {
    const Column &column = data.columns()[input.column];
    std::vector<int64_t> &shape = dims.emplace_back(column.dims);
    shape.insert(shape.begin(), static_cast<int64_t>(rows.size()));
    sizes.push_back(reserve(input.memory[turn], input.argument->element_type, shape));
    if (input.isConverted)
      reserve(input.unconverted, column.type, shape);
    places[input.column] = (input.isConverted ? input.unconverted : input.memory[turn])[0].bytes;
  }
  data.read(rows, places);
  std::vector<Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Input &input = inputs[i];
    std::byte *bytes = input.memory[turn][0].bytes;
    if (input.range)
      data.check_range(input.column, *input.range, rows, places[input.column]);
    if (input.isConverted)
      data.convert(input.column, rows, places[input.column], input.argument->element_type, bytes);
    values.push_back(Value::wrap(input.argument->element_type, dims[i], bytes, sizes[i]));
  }
  return values;
}

} // namespace vx::train
