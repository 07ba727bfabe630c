#include "exec/binding.h"

#include "base/json_writer.h"

#include <fmt/ranges.h>

namespace vx {

namespace {

// Binds the symbols of one call, input after input.
class Binder {
public:
  Binder(const Function &function, std::span<const int64_t> bound, std::vector<int64_t> &symbols)
      : function(function), symbols(symbols), boundBy(function.symbols.size()) {
    symbols.assign(function.symbols.size(), 0);
    for (size_t i = 0; i < symbols.size(); ++i)
      if (const std::optional<uint32_t> &number = function.symbols[i].instance)
        symbols[i] = bound[*number];
  }

  Status checkType(const Argument &argument, const Value &value);
  Status bindDims(const Argument &argument, std::span<const int64_t> dims);
  Status checkDims(const Argument &argument, std::span<const int64_t> dims);
  // Adds the input, the types and the dimension to a status of the functions above.
  Status describe(Status status, const Argument &argument, const Value &value) const;

private:
  Status bindSymbol(uint32_t symbol, size_t dim, int64_t size, const Argument &argument);
  std::string wanted(const Argument &argument) const;
  bool known(const Expression &expression) const;

  const Function &function;
  std::vector<int64_t> &symbols;
  std::vector<const Argument *> boundBy;
  std::optional<size_t> place; // the dimension that was looked at last
};

std::string Binder::wanted(const Argument &argument) const {
  std::string dims;
  for (const Expression &dim : argument.type.dims)
    dims += (dims.empty() ? "" : ",") + dim.toString(function.symbolNames);
  return fmt::format("{}[{}]", elementTypeName(argument.type.elementType), dims);
}

Status Binder::describe(Status status, const Argument &argument, const Value &value) const {
  if (status.ok())
    return status;
  JsonWriter json;
  json.beginObject().member("input", std::string_view(argument.name));
  if (place)
    json.member("dim", *place);
  json.member("expected", wanted(argument)).member("got", value.typeString()).endObject();
  return std::move(status).attachDetails(json.take());
}

Status Binder::checkType(const Argument &argument, const Value &value) {
  place.reset();
  if (value.kind() != argument.type.kind)
    return failure(VX_INVALID_ARGUMENT, "input '{}': expected a {}, got {}", argument.name,
                   valueKindName(argument.type.kind), value.typeString());
  if (value.elementType() != argument.type.elementType)
    return failure(VX_INVALID_ARGUMENT, "input '{}': expected element type {}, got {}", argument.name,
                   elementTypeName(argument.type.elementType), elementTypeName(value.elementType()));
  return okStatus();
}

Status Binder::bindSymbol(uint32_t index, size_t dim, int64_t size, const Argument &argument) {
  const Symbol &symbol = function.symbols[index];
  if (symbol.instance) {
    if (symbols[index] != size)
      return failure(VX_INVALID_ARGUMENT, "input '{}': dim {} is '{}', which is {} of this instance, got {}",
                     argument.name, dim, symbol.name, symbols[index], size);
    return okStatus();
  }
  if (boundBy[index]) {
    if (symbols[index] != size)
      return failure(VX_INVALID_ARGUMENT, "input '{}': dim {} is '{}', which is {} by input '{}', got {}",
                     argument.name, dim, symbol.name, symbols[index], boundBy[index]->name, size);
    return okStatus();
  }
  if (size < symbol.min || size > symbol.max) {
    if (symbol.max == INT64_MAX)
      return failure(VX_INVALID_ARGUMENT, "input '{}': dim {} is '{}', expected at least {}, got {}", argument.name,
                     dim, symbol.name, symbol.min, size);
    return failure(VX_INVALID_ARGUMENT, "input '{}': dim {} is '{}', expected {} to {}, got {}", argument.name, dim,
                   symbol.name, symbol.min, symbol.max, size);
  }
  if (size % symbol.multiple != 0)
    return failure(VX_INVALID_ARGUMENT, "input '{}': dim {} is '{}', expected a multiple of {}, got {}", argument.name,
                   dim, symbol.name, symbol.multiple, size);
  symbols[index] = size;
  boundBy[index] = &argument;
  return okStatus();
}

Status Binder::bindDims(const Argument &argument, std::span<const int64_t> dims) {
  const std::vector<Expression> &wantedDims = argument.type.dims;
  if (dims.size() != wantedDims.size())
    return failure(VX_INVALID_ARGUMENT, "input '{}': expected {} of rank {}, got {} of rank {}", argument.name,
                   wanted(argument), wantedDims.size(), tensorTypeString(argument.type.elementType, dims), dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    place = i;
    if (auto size = wantedDims[i].asConstant(); size && *size != dims[i])
      return failure(VX_INVALID_ARGUMENT, "input '{}': dim {} must be {}, got {} in {}", argument.name, i, *size,
                     dims[i], tensorTypeString(argument.type.elementType, dims));
    if (auto symbol = wantedDims[i].asSymbol(); symbol && !function.symbols[*symbol].dataDependent)
      VX_RETURN_IF_ERROR(bindSymbol(*symbol, i, dims[i], argument));
  }
  return okStatus();
}

bool Binder::known(const Expression &expression) const {
  bool all = true;
  expression.forEachSymbol([&](uint32_t symbol) { all &= boundBy[symbol] || function.symbols[symbol].instance; });
  return all;
}

Status Binder::checkDims(const Argument &argument, std::span<const int64_t> dims) {
  const std::vector<Expression> &wantedDims = argument.type.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    place = i;
    // What depends on data is known to nobody yet.
    if (wantedDims[i].asConstant() || !known(wantedDims[i]))
      continue;
    int64_t size = 0;
    VX_RETURN_IF_ERROR(
        wantedDims[i].evaluate(symbols, size).addContext(fmt::format("input '{}': dim {}", argument.name, i)));
    if (size != dims[i])
      return failure(VX_INVALID_ARGUMENT, "input '{}': dim {} must be {} = {}, got {}", argument.name, i,
                     wantedDims[i].toString(function.symbolNames), size, dims[i]);
  }
  return okStatus();
}

} // namespace

std::string siteDetails(const FaultSite &site, std::string_view expected, std::string_view got) {
  // "add_3 (Add)"
  const std::string_view text = site.node;
  const size_t open = text.ends_with(')') ? text.rfind(" (") : text.npos;
  JsonWriter json;
  json.beginObject().member("node", text.substr(0, open));
  if (open != text.npos)
    json.member("op", text.substr(open + 2, text.size() - open - 3));
  json.member("expected", expected).member("got", got).endObject();
  return json.take();
}

Status checkConstraints(const ModuleData &module, const Function &function, std::span<const int64_t> symbols) {
  for (const Predicate &constraint : function.constraints) {
    const FaultSite &site = module.faultSites[constraint.site];
    int64_t a = 0, b = 0;
    VX_RETURN_IF_ERROR(constraint.lhs.evaluate(symbols, a).addContext(site.node));
    VX_RETURN_IF_ERROR(constraint.rhs.evaluate(symbols, b).addContext(site.node));
    if (!holds(constraint.kind, a, b))
      return unfulfilled(site, VX_INVALID_ARGUMENT, a, b);
  }
  return okStatus();
}

size_t chooseEntry(const Target &target, uint32_t function, std::span<const int64_t> symbols) {
  const std::vector<Entry> &entries = target.entries;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].function != function)
      continue;
    bool fits = true;
    for (const Constraint &constraint : entries[i].constraints)
      fits &= constraint.min <= symbols[constraint.symbol] && symbols[constraint.symbol] <= constraint.max;
    if (fits)
      return i;
  }
  // The loader made sure that the last entry of a function has no constraints.
  return entries.size();
}

Status bindInputs(const ModuleData &module, const Function &function, std::span<const int64_t> bound,
                  std::span<Value *const> inputs, std::vector<int64_t> &symbols) {
  if (inputs.size() != function.inputs.size())
    return failure(VX_INVALID_ARGUMENT, "function '{}' takes {} inputs, got {}", function.name, function.inputs.size(),
                   inputs.size());
  Binder binder(function, bound, symbols);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Argument &argument = function.inputs[i];
    if (!inputs[i])
      return failure(VX_INVALID_ARGUMENT, "input '{}': got a null pointer", argument.name);
    VX_RETURN_IF_ERROR(binder.describe(binder.checkType(argument, *inputs[i]), argument, *inputs[i]));
    if (argument.type.kind == VX_TENSOR)
      VX_RETURN_IF_ERROR(binder.describe(binder.bindDims(argument, inputs[i]->dims()), argument, *inputs[i]));
  }
  // Expressions, and the elements of lists, use symbols that any tensor has bound.
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Argument &argument = function.inputs[i];
    if (argument.type.kind == VX_TENSOR) {
      VX_RETURN_IF_ERROR(binder.describe(binder.checkDims(argument, inputs[i]->dims()), argument, *inputs[i]));
      continue;
    }
    if (!argument.type.ranked)
      continue;
    for (const Ref<Value> &element : inputs[i]->tensors()) {
      std::span<const int64_t> dims = element->dims();
      if (dims.size() != argument.type.dims.size())
        return failure(VX_INVALID_ARGUMENT, "input '{}': expected elements of rank {}, got {}", argument.name,
                       argument.type.dims.size(), element->typeString());
      for (size_t d = 0; d < dims.size(); ++d)
        if (auto size = argument.type.dims[d].asConstant(); size && *size != dims[d])
          return failure(VX_INVALID_ARGUMENT, "input '{}': dim {} of its elements must be {}, got {} in {}",
                         argument.name, d, *size, dims[d], element->typeString());
      VX_RETURN_IF_ERROR(binder.checkDims(argument, dims));
    }
  }
  return checkConstraints(module, function, symbols);
}

} // namespace vx
