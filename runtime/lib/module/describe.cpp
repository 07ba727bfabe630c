#include "base/json_writer.h"
#include "module/module.h"

namespace vx {

static void writeType(JsonWriter &json, const ValueType &type, std::span<const std::string> symbols) {
  static const char *const kinds[] = {"tensor", "sequence", "optional"};
  json.member("kind", kinds[type.kind]).member("type", elementTypeName(type.elementType));
  if (!type.ranked)
    return;
  json.key("dims").beginArray();
  for (const Expression &dim : type.dims) {
    if (auto size = dim.asConstant())
      json.number(*size);
    else
      json.string(dim.toString(symbols));
  }
  json.endArray();
}

static void writeArguments(JsonWriter &json, std::string_view key, const std::vector<Argument> &arguments,
                           const Function &owner) {
  json.key(key).beginArray();
  for (const Argument &argument : arguments) {
    json.beginObject().member("name", argument.name);
    writeType(json, argument.type, owner.symbolNames);
    if (argument.range) {
      json.key("range").beginObject().member("lower", argument.range->lower).key("upper");
      if (const std::optional<Expression> &upper = argument.range->upper; !upper)
        json.null();
      else if (auto number = upper->asConstant())
        json.number(*number);
      else
        json.string(upper->toString(owner.symbolNames));
      json.endObject();
    }
    json.endObject();
  }
  json.endArray();
}

static void writeStrings(JsonWriter &json, std::string_view key, const std::vector<std::string> &texts) {
  json.key(key).beginArray();
  for (const std::string &text : texts)
    json.string(text);
  json.endArray();
}

static void writeFunction(JsonWriter &json, const Function &function, const ModuleData &data) {
  json.beginObject().member("name", function.name).key("symbols").beginArray();
  for (const Symbol &symbol : function.symbols) {
    json.beginObject().member("name", symbol.name).member("min", symbol.min);
    json.key("max");
    if (symbol.max == INT64_MAX)
      json.null();
    else
      json.number(symbol.max);
    json.member("multiple", symbol.multiple).member("data_dependent", symbol.dataDependent).endObject();
  }
  json.endArray().key("constraints").beginArray();
  for (const Predicate &constraint : function.constraints) {
    const FaultSite &site = data.faultSites[constraint.site];
    json.beginObject().member("node", site.node).member("wants", site.what);
    json.member("kind", predicateName(constraint.kind)).member("lhs", constraint.lhs.toString(function.symbolNames));
    json.member("rhs", constraint.rhs.toString(function.symbolNames)).endObject();
  }
  json.endArray();
  writeArguments(json, "inputs", function.inputs, function);
  writeArguments(json, "outputs", function.outputs, function);
  json.endObject();
}

static void writeKernel(JsonWriter &json, const Kernel &kernel) {
  json.beginObject().member("name", kernel.name).member("key", kernel.key).member("strategy", kernel.strategy);
  writeStrings(json, "sources", kernel.sources);
  json.member("buffers", kernel.buffers.size()).member("scalars", kernel.scalarCount);
  // Over the kernel's scalars s0, s1, ...
  if (kernel.workgroups)
    json.member("workgroups", kernel.workgroups->toString({}));
  if (kernel.flops)
    json.member("flops", kernel.flops->toString({}));
  if (kernel.bytes)
    json.member("bytes", kernel.bytes->toString({}));
  json.key("workgroup_size").beginArray();
  for (uint32_t size : kernel.workgroupSize)
    json.number(size);
  json.endArray().endObject();
}

static void writeTarget(JsonWriter &json, const Target &target, const ModuleData &data) {
  json.beginObject().member("name", target.name).member("triple", target.triple).key("variants").beginArray();
  for (const Variant &variant : target.variants) {
    json.beginObject().member("name", variant.name);
    writeStrings(json, "requires", variant.requirements);
    json.member("section", variant.section).member("size", data.sections[variant.section].size);
    if (!variant.offsets.empty()) {
      json.key("kernel_sizes").beginArray();
      for (size_t i = 0; i + 1 < variant.offsets.size(); ++i)
        json.unsignedNumber(variant.offsets[i + 1] - variant.offsets[i]);
      json.endArray();
    }
    json.endObject();
  }
  json.endArray().key("kernels").beginArray();
  for (const Kernel &kernel : target.kernels)
    writeKernel(json, kernel);
  json.endArray().key("derived").beginArray();
  for (const Derived &derived : target.derived) {
    json.beginObject().member("name", derived.name).member("type", elementTypeName(derived.elementType));
    json.key("dims").beginArray();
    for (int64_t dim : derived.dims)
      json.number(dim);
    json.endArray().member("size", derived.size).member("program", derived.program).endObject();
  }
  json.endArray().key("entries").beginArray();
  for (const Entry &entry : target.entries) {
    const Function &function = data.functions[entry.function];
    json.beginObject().member("function", function.name).member("program", entry.program).key("where").beginObject();
    for (const Constraint &constraint : entry.constraints)
      json.member(function.symbols[constraint.symbol].name, constraint.value);
    json.endObject();
    const Program &program = data.programs[entry.program];
    if (program.hasArenaSize) {
      json.member("arena_bytes", program.arenaSize.toString(function.symbolNames));
      json.member("arena_lower_bound", program.arenaLowerBound.toString(function.symbolNames));
    }
    json.endObject();
  }
  json.endArray().endObject();
}

std::string Module::describe() const {
  JsonWriter json;
  json.beginObject().member("version", 1).member("name", contents.name).member("producer", contents.producer);
  json.member("file_size", file.size()).member("metadata_size", metadataBytes);
  json.key("functions").beginArray();
  for (const Function &function : contents.functions)
    writeFunction(json, function, contents);
  json.endArray().key("variables").beginArray();
  for (const Variable &variable : contents.variables) {
    json.beginObject().member("name", variable.name).member("type", elementTypeName(variable.elementType));
    json.key("dims").beginArray();
    for (int64_t dim : variable.dims)
      json.number(dim);
    json.endArray().member("size", variable.size);
    if (variable.initial)
      json.member("initial", contents.constants[*variable.initial].name);
    json.endObject();
  }
  json.endArray().key("constants").beginArray();
  for (const Constant &constant : contents.constants) {
    json.beginObject().member("name", constant.name);
    writeType(json, constant.type, {});
    json.member("section", constant.section).member("offset", constant.offset).member("size", constant.size);
    json.endObject();
  }
  json.endArray().key("sections").beginArray();
  for (const Section &section : contents.sections) {
    json.beginObject().member("kind", section.kind == SectionKind::Code ? "code" : "weights");
    json.member("offset", section.offset).member("size", section.size);
    json.member("hash", fmt::format("{:016x}", section.hash));
    if (!section.externalFile.empty())
      json.member("external_file", section.externalFile);
    json.endObject();
  }
  json.endArray().key("targets").beginArray();
  for (const Target &target : contents.targets)
    writeTarget(json, target, contents);
  json.endArray().key("programs").beginArray();
  for (const Program &program : contents.programs)
    json.beginObject()
        .member("name", program.name)
        .member("segments", program.segmentCount)
        .member("stores_variables", program.storesVariables)
        .endObject();
  json.endArray().endObject();
  return json.take();
}

} // namespace vx
