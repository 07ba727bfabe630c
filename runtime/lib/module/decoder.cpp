#include "module/decoder.h"

#include "vx/base/utf8.h"

#include <algorithm>

namespace vx {

Status Decoder::spend(uint64_t bytes) {
  if (bytes > budget)
    return failure(VX_INVALID_MODULE, "metadata repeats its tables until they are too large to decode");
  budget -= bytes;
  return okStatus();
}

Status Decoder::text(const flatbuffers::String *source, std::string &result) {
  if (!source)
    return okStatus();
  VX_RETURN_IF_ERROR(spend(source->size()));
  if (std::string_view(source->c_str(), source->size()).find('\0') != std::string_view::npos)
    return failure(VX_INVALID_MODULE, "text '{}' has a zero byte inside", source->c_str());
  result.assign(source->c_str(), source->size());
  return okStatus();
}

Status Decoder::name(const flatbuffers::String *source, std::string_view of, std::string &result) {
  VX_RETURN_IF_ERROR(text(source, result));
  if (result.empty())
    return failure(VX_INVALID_MODULE, "{} has no name", of);
  return okStatus();
}

Status Decoder::expression(const format::Expr *source, size_t symbolCount, Expression &result) {
  if (!source || !source->nodes()) {
    result = Expression();
    return okStatus();
  }
  const auto &nodes = *source->nodes();
  VX_RETURN_IF_ERROR(checkAligned(nodes, "nodes of an expression"));
  VX_RETURN_IF_ERROR(spend(nodes.size() * sizeof(Expression::Node)));
  std::vector<Expression::Node> decoded;
  decoded.reserve(nodes.size());
  for (const format::ExprNode *node : nodes)
    decoded.push_back({static_cast<ExpressionOp>(node->op()), node->value(), node->lhs(), node->rhs()});
  result = Expression(std::move(decoded));
  return result.check(symbolCount);
}

Status Decoder::elementType(format::ElementType source, vx_element_type &result) {
  auto number = static_cast<int>(source);
  std::optional<vx_element_type> type = elementTypeOf(number);
  if (!type)
    return failure(VX_INVALID_MODULE, "element type has the unknown number {}", number);
  result = *type;
  return okStatus();
}

Status Decoder::valueType(const format::ValueType *source, size_t symbolCount, ValueType &result) {
  if (!source)
    return failure(VX_INVALID_MODULE, "type is missing");
  if (source->kind() > format::ValueKind::OptionalSequence)
    return failure(VX_INVALID_MODULE, "kind of value has the unknown number {}", static_cast<int>(source->kind()));
  result.kind = static_cast<vx_value_kind>(source->kind());
  VX_RETURN_IF_ERROR(elementType(source->element_type(), result.elementType));
  result.ranked = source->ranked();
  if (!result.ranked && result.kind == VX_TENSOR)
    return failure(VX_INVALID_MODULE, "tensor has no rank");
  if (source->dims() && source->dims()->size() > maxRank)
    return failure(VX_INVALID_MODULE, "rank is {}, allowed are {}", source->dims()->size(), maxRank);
  if (source->dims() && source->dims()->size() && !result.ranked)
    return failure(VX_INVALID_MODULE, "type without a rank has {} dims", source->dims()->size());
  return decodeEach(source->dims(), result.dims, [&](const format::Expr &dim, Expression &out, uint32_t i) -> Status {
    VX_RETURN_IF_ERROR(spend(sizeof(Expression)));
    VX_RETURN_IF_ERROR(expression(&dim, symbolCount, out).addContext(fmt::format("dim {}", i)));
    if (auto size = out.asConstant(); size && *size < 0)
      return failure(VX_INVALID_MODULE, "dim {} has the negative size {}", i, *size);
    return okStatus();
  });
}

Status Decoder::arguments(const flatbuffers::Vector<flatbuffers::Offset<format::Argument>> *source,
                          const Function &owner, std::string_view direction, std::vector<Argument> &result) {
  VX_RETURN_IF_ERROR(decodeEach(source, result, [&](const format::Argument &argument, Argument &out, uint32_t i) {
    VX_RETURN_IF_ERROR(spend(sizeof(Argument)));
    VX_RETURN_IF_ERROR(name(argument.name(), fmt::format("{} {}", direction, i), out.name));
    auto decodeOne = [&]() -> Status {
      VX_RETURN_IF_ERROR(valueType(argument.type(), owner.symbols.size(), out.type));
      if (argument.rows() >= 0)
        out.rows = static_cast<uint32_t>(argument.rows());
      if (argument.rows() < -1 || (out.rows && (direction != "output" || *out.rows >= out.type.dims.size())))
        return failure(VX_INVALID_MODULE, "rows are along dim {}, allowed is -1 or a dim of an output",
                       argument.rows());
      out.same = argument.same();
      VX_RETURN_IF_ERROR(text(argument.reason(), out.reason));
      if (direction != "output" ? out.same || !out.reason.empty() : out.same + !out.reason.empty() + !!out.rows > 1)
        return failure(VX_INVALID_MODULE, "rows are known in {} ways, allowed is one for an output",
                       out.same + !out.reason.empty() + !!out.rows);
      if (!argument.range())
        return okStatus();
      out.range.emplace().lower = argument.range()->lower();
      if (const auto also = argument.range()->also())
        out.range->also = *also;
      if (!argument.range()->upper())
        return okStatus();
      return expression(argument.range()->upper(), owner.symbols.size(), out.range->upper.emplace())
          .addContext("range");
    };
    return decodeOne().addContext(fmt::format("{} '{}'", direction, out.name));
  }));
  return checkUnique(result, fmt::format("{}s", direction));
}

Status Decoder::symbol(const format::Symbol &source, uint32_t index, Symbol &result) {
  VX_RETURN_IF_ERROR(spend(sizeof(Symbol)));
  VX_RETURN_IF_ERROR(name(source.name(), fmt::format("symbol {}", index), result.name));
  result.min = source.min();
  result.max = source.max();
  result.multiple = source.multiple();
  result.dataDependent = source.data_dependent();
  if (result.min < 0 || result.max < result.min)
    return failure(VX_INVALID_MODULE, "symbol '{}' has the range [{}, {}]", result.name, result.min, result.max);
  if (result.multiple < 1)
    return failure(VX_INVALID_MODULE, "symbol '{}' is a multiple of {}, expected at least 1", result.name,
                   result.multiple);
  if (source.instance() == -1)
    return okStatus();
  if (source.instance() < -1 || static_cast<size_t>(source.instance()) >= data.symbols.size())
    return failure(VX_INVALID_MODULE, "symbol '{}' is number {} of the instance's, there are {}", result.name,
                   source.instance(), data.symbols.size());
  result.instance = static_cast<uint32_t>(source.instance());
  const Symbol &bound = data.symbols[*result.instance];
  if (bound.name != result.name || result.dataDependent)
    return failure(VX_INVALID_MODULE, "symbol '{}' is number {} of the instance's, which is '{}'", result.name,
                   source.instance(), bound.name);
  return okStatus();
}

Status Decoder::function(const format::Function &source, Function &result) {
  VX_RETURN_IF_ERROR(
      decodeEach(source.symbols(), result.symbols, [&](const format::Symbol &one, Symbol &out, uint32_t i) -> Status {
        VX_RETURN_IF_ERROR(symbol(one, i, out));
        result.symbolNames.push_back(out.name);
        return okStatus();
      }));
  VX_RETURN_IF_ERROR(checkUnique(result.symbols, "symbols"));
  VX_RETURN_IF_ERROR(arguments(source.inputs(), result, "input", result.inputs));
  VX_RETURN_IF_ERROR(arguments(source.outputs(), result, "output", result.outputs));

  // A call binds a symbol by the first tensor dimension that is the symbol itself.
  std::vector<bool> bound(result.symbols.size());
  for (const Argument &input : result.inputs)
    if (input.type.kind == VX_TENSOR)
      for (const Expression &dim : input.type.dims)
        if (auto symbol = dim.asSymbol())
          bound[*symbol] = true;
  for (size_t i = 0; i < bound.size(); ++i)
    if (!bound[i] && !result.symbols[i].dataDependent && !result.symbols[i].instance)
      return failure(VX_INVALID_MODULE, "symbol '{}' is the size of no input's dimension", result.symbols[i].name);
  VX_RETURN_IF_ERROR(decodeEach(source.constraints(), result.constraints,
                                [&](const format::Predicate &one, Predicate &out, uint32_t i) {
                                  return predicate(one, result, out).addContext(fmt::format("constraint {}", i));
                                }));
  VX_RETURN_IF_ERROR(
      decodeEach(source.aliases(), result.aliases, [&](const format::Alias &one, Alias &out, uint32_t i) {
        return alias(one, result, out).addContext(fmt::format("alias {}", i));
      }));
  return source.batch() ? batch(*source.batch(), result, result.batch.emplace()).addContext("batch") : okStatus();
}

Status Decoder::batch(const format::Batch &source, const Function &owner, Batch &result) {
  if (source.symbol() >= owner.symbols.size())
    return failure(VX_INVALID_MODULE, "symbol {} does not exist, there are {}", source.symbol(), owner.symbols.size());
  result.symbol = source.symbol();
  bool isSize = false;
  if (source.inputs())
    for (uint32_t number : *source.inputs()) {
      VX_RETURN_IF_ERROR(spend(sizeof(number)));
      if (number >= owner.inputs.size() || (!result.inputs.empty() && number <= result.inputs.back()))
        return failure(VX_INVALID_MODULE, "input {} does not exist or stands out of order, there are {}", number,
                       owner.inputs.size());
      const Argument &input = owner.inputs[number];
      std::optional<uint32_t> symbol;
      if (input.type.kind == VX_TENSOR && !input.type.dims.empty())
        symbol = input.type.dims[0].asSymbol();
      if (!symbol || owner.symbols[*symbol].dataDependent || owner.symbols[*symbol].instance)
        return failure(VX_INVALID_MODULE, "input '{}' has no symbol that calls bind as the size of dim 0", input.name);
      isSize |= *symbol == result.symbol;
      result.inputs.push_back(number);
    }
  if (!isSize)
    return failure(VX_INVALID_MODULE, "symbol '{}' is the size of dim 0 of none of its inputs",
                   owner.symbols[result.symbol].name);
  return okStatus();
}

Status Decoder::alias(const format::Alias &source, const Function &owner, Alias &result) {
  VX_RETURN_IF_ERROR(spend(sizeof(Alias)));
  result = {source.input(), source.output()};
  if (result.input >= owner.inputs.size() || result.output >= owner.outputs.size())
    return failure(VX_INVALID_MODULE, "input {} and output {} do not exist, there are {} and {}", result.input,
                   result.output, owner.inputs.size(), owner.outputs.size());
  const Argument &input = owner.inputs[result.input], &output = owner.outputs[result.output];
  if (input.type.kind != VX_TENSOR || output.type.kind != VX_TENSOR ||
      input.type.elementType != output.type.elementType)
    return failure(VX_INVALID_MODULE, "input '{}' and output '{}' are no tensors of one element type", input.name,
                   output.name);
  // The one that is decoded stands last.
  for (size_t i = 0; i + 1 < owner.aliases.size(); ++i)
    if (owner.aliases[i].input == result.input || owner.aliases[i].output == result.output)
      return failure(VX_INVALID_MODULE, "input '{}' or output '{}' has an alias already", input.name, output.name);
  return okStatus();
}

Status Decoder::predicate(const format::Predicate &source, const Function &owner, Predicate &result) {
  VX_RETURN_IF_ERROR(spend(sizeof(Predicate)));
  if (static_cast<size_t>(source.kind()) >= predicateKinds)
    return failure(VX_INVALID_MODULE, "kind has the unknown number {}", static_cast<int>(source.kind()));
  result.kind = static_cast<PredicateKind>(source.kind());
  VX_RETURN_IF_ERROR(expression(source.lhs(), owner.symbols.size(), result.lhs).addContext("left side"));
  VX_RETURN_IF_ERROR(expression(source.rhs(), owner.symbols.size(), result.rhs).addContext("right side"));
  for (const Expression *side : {&result.lhs, &result.rhs}) {
    Status status = okStatus();
    side->forEachSymbol([&](uint32_t symbol) {
      if (status.ok() && owner.symbols[symbol].dataDependent)
        status = failure(VX_INVALID_MODULE, "symbol '{}' is bound by no input", owner.symbols[symbol].name);
    });
    VX_RETURN_IF_ERROR(std::move(status));
  }
  result.site = source.site();
  if (result.site >= data.faultSites.size())
    return failure(VX_INVALID_MODULE, "site {} does not exist, there are {}", result.site, data.faultSites.size());
  return okStatus();
}

Status Decoder::insideSection(uint32_t index, SectionKind kind, uint64_t offset, uint64_t size) const {
  if (index >= data.sections.size())
    return failure(VX_INVALID_MODULE, "section {} does not exist, there are {}", index, data.sections.size());
  const Section &section = data.sections[index];
  if (section.kind != kind)
    return failure(VX_INVALID_MODULE, "section {} holds {}, expected {}", index, sectionKindName(section.kind),
                   sectionKindName(kind));
  if (offset > section.size || size > section.size - offset)
    return failure(VX_INVALID_MODULE, "{} bytes at {} are outside section {} of {} bytes", size, offset, index,
                   section.size);
  return okStatus();
}

Status Decoder::constant(const format::Constant &source, Constant &result) {
  VX_RETURN_IF_ERROR(text(source.name(), result.name));
  result.section = source.section();
  result.offset = source.offset();
  result.size = source.size();
  VX_RETURN_IF_ERROR(checkDevice(source.device()));
  VX_RETURN_IF_ERROR(insideSection(result.section, SectionKind::Weights, result.offset, result.size));
  VX_RETURN_IF_ERROR(valueType(source.type(), 0, result.type));
  // A file of the model has its own alignment; DeviceModule copies the constants that kernels cannot read there.
  const uint64_t alignment = data.sections[result.section].samples
                                 ? std::max<uint64_t>(elementTypeBits(result.type.elementType) / 8, 1)
                                 : VX_BUFFER_ALIGNMENT;
  if (result.offset % alignment != 0)
    return failure(VX_INVALID_MODULE, "offset {} is no multiple of {}", result.offset, alignment);
  std::vector<int64_t> dims;
  for (const Expression &dim : result.type.dims)
    VX_RETURN_IF_ERROR(dim.evaluate({}, dims.emplace_back()));
  uint64_t needed = 0;
  if (Status status = tensorByteSize(result.type.elementType, dims, needed); !status.ok())
    return Status(VX_INVALID_MODULE, std::string(status.message()));
  if (needed != result.size)
    return failure(VX_INVALID_MODULE, "{} needs {} bytes, the constant has {}",
                   tensorTypeString(result.type.elementType, dims), needed, result.size);
  return okStatus();
}

Status Decoder::strings(const format::Module &module) {
  if (!module.strings())
    return okStatus();
  if (module.strings()->size() > INT32_MAX)
    return failure(VX_INVALID_MODULE, "there are {} strings, allowed are {}", module.strings()->size(), INT32_MAX);
  data.strings.reserve(module.strings()->size()); // the views of them stay
  for (const flatbuffers::String *source : *module.strings()) {
    VX_RETURN_IF_ERROR(spend(sizeof(std::string) + source->size()));
    const std::string_view text(source->c_str(), source->size());
    const auto number = static_cast<int32_t>(data.strings.size());
    if (!isUtf8(text))
      return failure(VX_INVALID_MODULE, "string {} is no UTF-8", number);
    if (text.empty() != (number == 0) || !data.stringNumbers.emplace(data.strings.emplace_back(text), number).second)
      return failure(VX_INVALID_MODULE, "string {} is '{}', expected an empty one and then others, each once", number,
                     text);
  }
  return okStatus();
}

Status Decoder::hostFunction(const format::HostFunction &source, HostFunction &result) {
  if (static_cast<size_t>(source.kind()) >= hostFunctionKinds)
    return failure(VX_INVALID_MODULE, "kind has the unknown number {}", static_cast<int>(source.kind()));
  result.kind = static_cast<HostFunctionKind>(source.kind());
  VX_RETURN_IF_ERROR(text(source.text(), result.text));
  if (!isUtf8(result.text))
    return failure(VX_INVALID_MODULE, "text is no UTF-8");
  result.limit = source.limit();
  for (uint32_t i = 0; source.results() && i < source.results()->size(); ++i)
    VX_RETURN_IF_ERROR(
        elementType(static_cast<format::ElementType>(source.results()->Get(i)), result.results.emplace_back()));
  auto expect = [&](bool isRight) -> Status {
    if (isRight)
      return okStatus();
    return failure(VX_INVALID_MODULE, "gives {} tensors, of other types than its kind {} does", result.results.size(),
                   static_cast<int>(source.kind()));
  };
  auto wants = [&](std::initializer_list<vx_element_type> types) {
    return expect(std::equal(types.begin(), types.end(), result.results.begin(), result.results.end()));
  };
  switch (result.kind) {
  case HostFunctionKind::StringConcat:
  case HostFunctionKind::StringUpper:
  case HostFunctionKind::StringLower:
  case HostFunctionKind::StringFormat:
    return wants({VX_I32});
  case HostFunctionKind::StringSplit:
    return wants({VX_I32, VX_I64});
  case HostFunctionKind::StringMatch:
    return wants({VX_BOOL});
  case HostFunctionKind::StringParse:
    return expect(result.results.size() == 1 && isPlainNumber(result.results[0]));
  case HostFunctionKind::ImageDecode:
    if (result.text != "RGB" && result.text != "BGR" && result.text != "Grayscale")
      return failure(VX_INVALID_MODULE, "text is '{}', expected RGB, BGR or Grayscale", result.text);
    return wants({VX_U8});
  }
  return okStatus();
}

Status Decoder::decode(const format::Module &module) {
  VX_RETURN_IF_ERROR(text(module.producer(), data.producer));
  VX_RETURN_IF_ERROR(text(module.name(), data.name));
  // Sections are decoded by the loader, which maps them; everything below refers to them.
  VX_RETURN_IF_ERROR(decodeEach(module.fault_sites(), data.faultSites,
                                [&](const format::FaultSite &source, FaultSite &out, uint32_t) -> Status {
                                  VX_RETURN_IF_ERROR(spend(sizeof(FaultSite)));
                                  VX_RETURN_IF_ERROR(text(source.node(), out.node));
                                  return text(source.what(), out.what);
                                }));
  VX_RETURN_IF_ERROR(
      decodeEach(module.symbols(), data.symbols, [&](const format::Symbol &source, Symbol &out, uint32_t i) -> Status {
        VX_RETURN_IF_ERROR(symbol(source, i, out));
        data.symbolNames.push_back(out.name);
        if (out.dataDependent || out.instance)
          return failure(VX_INVALID_MODULE, "symbol '{}' of the instance is bound elsewhere", out.name);
        return okStatus();
      }));
  VX_RETURN_IF_ERROR(checkUnique(data.symbols, "symbols of the instance"));
  VX_RETURN_IF_ERROR(decodeEach(module.functions(), data.functions,
                                [&](const format::Function &source, Function &out, uint32_t i) -> Status {
                                  VX_RETURN_IF_ERROR(spend(sizeof(Function)));
                                  VX_RETURN_IF_ERROR(name(source.name(), fmt::format("function {}", i), out.name));
                                  return function(source, out).addContext(fmt::format("function '{}'", out.name));
                                }));
  VX_RETURN_IF_ERROR(checkUnique(data.functions, "functions"));
  VX_RETURN_IF_ERROR(
      decodeEach(module.constants(), data.constants, [&](const format::Constant &source, Constant &out, uint32_t i) {
        VX_RETURN_IF_ERROR(spend(sizeof(Constant)));
        return constant(source, out)
            .addContext(out.name.empty() ? fmt::format("constant {}", i)
                                         : fmt::format("constant {} '{}'", i, out.name));
      }));
  VX_RETURN_IF_ERROR(variables(module));
  if (module.source_nodes())
    for (const flatbuffers::String *node : *module.source_nodes()) {
      VX_RETURN_IF_ERROR(spend(sizeof(std::string)));
      VX_RETURN_IF_ERROR(text(node, data.sourceNodes.emplace_back()));
    }
  VX_RETURN_IF_ERROR(strings(module));
  VX_RETURN_IF_ERROR(
      decodeEach(module.host_functions(), data.hostFunctions,
                 [&](const format::HostFunction &source, HostFunction &out, uint32_t i) -> Status {
                   VX_RETURN_IF_ERROR(spend(sizeof(HostFunction)));
                   return hostFunction(source, out).addContext(fmt::format("function {} of the host", i));
                 }));
  VX_RETURN_IF_ERROR(
      decodeEach(module.programs(), data.programs, [&](const format::Program &source, Program &out, uint32_t i) {
        VX_RETURN_IF_ERROR(spend(sizeof(Program)));
        VX_RETURN_IF_ERROR(text(source.name(), out.name));
        return program(source, out).addContext(fmt::format("program {} '{}'", i, out.name));
      }));
  VX_RETURN_IF_ERROR(
      decodeEach(module.targets(), data.targets, [&](const format::Target &source, Target &out, uint32_t i) -> Status {
        VX_RETURN_IF_ERROR(spend(sizeof(Target)));
        VX_RETURN_IF_ERROR(name(source.name(), fmt::format("target {}", i), out.name));
        return target(source, out).addContext(fmt::format("target '{}'", out.name));
      }));
  VX_RETURN_IF_ERROR(assets(module));
  if (!module.training())
    return okStatus();
  return training(*module.training(), data.training.emplace()).addContext("training");
}

} // namespace vx
