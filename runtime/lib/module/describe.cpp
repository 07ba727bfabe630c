#include "base/json_writer.h"
#include "module/module.h"

namespace vx {

static void writeDims(JsonWriter &json, const std::vector<Expression> &dims, std::span<const std::string> symbols) {
  json.key("dims").beginArray();
  for (const Expression &dim : dims) {
    if (auto size = dim.asConstant())
      json.number(*size);
    else
      json.string(dim.toString(symbols));
  }
  json.endArray();
}

static void writeType(JsonWriter &json, const ValueType &type, std::span<const std::string> symbols) {
  static const char *const kinds[] = {"tensor", "sequence", "optional", "optional_sequence"};
  json.member("kind", kinds[type.kind]).member("type", elementTypeName(type.elementType));
  if (!type.ranked)
    return;
  writeDims(json, type.dims, symbols);
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
      if (argument.range->also)
        json.member("also", *argument.range->also);
      json.endObject();
    }
    if (argument.rows)
      json.member("rows", *argument.rows);
    if (argument.same)
      json.member("same", true);
    if (!argument.reason.empty())
      json.member("rows_reason", argument.reason);
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

static void writeSymbols(JsonWriter &json, const std::vector<Symbol> &symbols) {
  json.key("symbols").beginArray();
  for (const Symbol &symbol : symbols) {
    json.beginObject().member("name", symbol.name).member("min", symbol.min);
    json.key("max");
    if (symbol.max == INT64_MAX)
      json.null();
    else
      json.number(symbol.max);
    json.member("multiple", symbol.multiple).member("data_dependent", symbol.dataDependent);
    json.member("instance", symbol.instance.has_value()).endObject();
  }
  json.endArray();
}

static void writeFunction(JsonWriter &json, const Function &function, const ModuleData &data) {
  json.beginObject().member("name", function.name);
  writeSymbols(json, function.symbols);
  json.key("constraints").beginArray();
  for (const Predicate &constraint : function.constraints) {
    const FaultSite &site = data.faultSites[constraint.site];
    json.beginObject().member("node", site.node).member("wants", site.what);
    json.member("kind", predicateName(constraint.kind)).member("lhs", constraint.lhs.toString(function.symbolNames));
    json.member("rhs", constraint.rhs.toString(function.symbolNames)).endObject();
  }
  json.endArray();
  writeArguments(json, "inputs", function.inputs, function);
  writeArguments(json, "outputs", function.outputs, function);
  json.key("aliases").beginArray();
  for (const Alias &alias : function.aliases)
    json.beginObject()
        .member("input", function.inputs[alias.input].name)
        .member("output", function.outputs[alias.output].name)
        .endObject();
  json.endArray();
  if (function.batch) {
    json.key("batch").beginObject().member("symbol", function.symbolNames[function.batch->symbol]);
    json.key("inputs").beginArray();
    for (uint32_t input : function.batch->inputs)
      json.string(function.inputs[input].name);
    json.endArray().endObject();
  }
  json.endObject();
}

static void writeKernel(JsonWriter &json, const Kernel &kernel) {
  json.beginObject().member("name", kernel.name).member("key", kernel.key).member("strategy", kernel.strategy);
  writeStrings(json, "sources", kernel.sources);
  json.member("buffers", kernel.buffers.size()).member("scalars", kernel.scalarCount);
  // Over the kernel's scalars s0, s1, ...
  if (kernel.workgroups)
    json.member("workgroups", kernel.workgroups->toString({}));
  if (kernel.workspace)
    json.member("workspace", kernel.workspace->toString({}));
  if (kernel.flops)
    json.member("flops", kernel.flops->toString({}));
  if (kernel.bytes)
    json.member("bytes", kernel.bytes->toString({}));
  json.key("workgroup_size").beginArray();
  for (uint32_t size : kernel.workgroupSize)
    json.number(size);
  json.endArray().endObject();
}

const char *hostFunctionName(HostFunctionKind kind) {
  static const char *const names[hostFunctionKinds] = {"string_concat", "string_upper", "string_lower",
                                                       "string_split",  "string_match", "string_parse",
                                                       "string_format", "image_decode"};
  return names[static_cast<size_t>(kind)];
}

const char *hostFunctionLibrary(HostFunctionKind kind) {
  return kind == HostFunctionKind::ImageDecode ? "libvx_image" : kind == HostFunctionKind::StringMatch ? "PCRE2" : "";
}

static void writeHostFunctions(JsonWriter &json, const std::vector<HostFunction> &functions) {
  json.key("host_functions").beginArray();
  for (const HostFunction &function : functions) {
    json.beginObject().member("kind", hostFunctionName(function.kind)).member("text", function.text);
    if (const char *library = hostFunctionLibrary(function.kind); *library)
      json.member("library", library);
    json.endObject();
  }
  json.endArray();
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
    json.endArray().member("size", derived.size).member("program", derived.program).key("variables").beginArray();
    for (uint32_t variable : derived.variables)
      json.string(data.variables[variable].name);
    json.endArray().endObject();
  }
  json.endArray().key("entries").beginArray();
  for (const Entry &entry : target.entries) {
    const Function &function = data.functions[entry.function];
    json.beginObject().member("function", function.name).member("program", entry.program).key("where").beginObject();
    for (const Constraint &constraint : entry.constraints)
      if (json.key(function.symbols[constraint.symbol].name); constraint.min == constraint.max)
        json.number(constraint.min);
      else
        json.beginArray().number(constraint.min).number(constraint.max).endArray();
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

static void writeSize(JsonWriter &json, const Expression &size, const ModuleData &data) {
  if (auto number = size.asConstant())
    json.number(*number);
  else
    json.string(size.toString(data.symbolNames));
}

static void writeVariable(JsonWriter &json, const Variable &variable, const ModuleData &data) {
  json.beginObject().member("name", variable.name).member("type", elementTypeName(variable.elementType));
  writeDims(json, variable.dims, data.symbolNames);
  if (variable.known)
    json.member("size", variable.known->size);
  json.member("role", roleName(variable.role)).member("storage", variable.storage).key("offset");
  writeSize(json, variable.offset, data);
  if (!variable.source.empty())
    json.member("source", variable.source);
  if (variable.random)
    json.member("initial", randomText(*variable.random));
  if (variable.initial)
    json.member("initial", data.constants[*variable.initial].name);
  json.endObject();
}

static void writeTraining(JsonWriter &json, const Training &training, const ModuleData &data) {
  json.key("training").beginObject();
  auto function = [&](std::string_view key, const std::optional<uint32_t> &index) {
    if (index)
      json.member(key, data.functions[*index].name);
  };
  function("train_step", training.trainStep);
  function("evaluate", training.evaluate);
  function("predict", training.predict);
  function("backward", training.backward);
  function("step", training.step);
  const Function *step = training.trainStep ? &data.functions[*training.trainStep] : nullptr;
  json.key("inputs").beginArray();
  for (uint32_t input : training.inputs)
    json.string(step->inputs[input].name);
  json.endArray().key("hypers").beginArray();
  for (const Hyper &hyper : training.hypers)
    json.beginObject()
        .member("kind", hyperKindName(hyper.kind))
        .member("input", step->inputs[hyper.input].name)
        .endObject();
  json.endArray().key("metrics").beginArray();
  for (uint32_t metric : training.metrics)
    json.string(step->outputs[metric].name);
  json.endArray();
  if (!training.counts.empty()) {
    json.key("counts").beginArray();
    for (const std::optional<uint32_t> &count : training.counts)
      json.string(count ? step->outputs[*count].name : "");
    json.endArray();
  }
  json.member("optimizer", training.optimizer).member("loss", training.loss);
  if (training.rate > 0)
    json.member("rate", training.rate);
  if (training.skeleton)
    json.member("skeleton", data.assets[*training.skeleton].name);
  json.endObject();
}

std::string Module::describe() const {
  JsonWriter json;
  json.beginObject().member("version", 1).member("name", contents.name).member("producer", contents.producer);
  json.member("file_size", file.size()).member("metadata_size", metadataSize());
  json.key("functions").beginArray();
  for (const Function &function : contents.functions)
    writeFunction(json, function, contents);
  json.endArray();
  writeSymbols(json, contents.symbols);
  json.key("storages").beginArray();
  for (const Storage &storage : contents.storages)
    writeSize(json, storage.size, contents);
  json.endArray().key("variables").beginArray();
  for (const Variable &variable : contents.variables)
    writeVariable(json, variable, contents);
  json.endArray().key("constants").beginArray();
  for (const Constant &constant : contents.constants) {
    json.beginObject().member("name", constant.name);
    writeType(json, constant.type, {});
    json.member("section", constant.section).member("offset", constant.offset).member("size", constant.size);
    json.endObject();
  }
  json.endArray().key("sections").beginArray();
  for (const Section &section : contents.sections) {
    json.beginObject().member("kind", sectionKindName(section.kind));
    json.member("offset", section.offset).member("size", section.size);
    json.member("hash", fmt::format("{:016x}", section.hash));
    if (!section.externalFile.empty())
      json.member("external_file", section.externalFile);
    if (section.samples)
      json.member("samples", fmt::format("{:016x}", *section.samples));
    json.endObject();
  }
  json.endArray().key("targets").beginArray();
  for (const Target &target : contents.targets)
    writeTarget(json, target, contents);
  json.endArray().key("programs").beginArray();
  for (const Program &program : contents.programs) {
    json.beginObject().member("name", program.name).member("segments", program.segmentCount);
    json.key("stores").beginArray();
    for (uint32_t variable : program.stores)
      json.string(contents.variables[variable].name);
    json.endArray().endObject();
  }
  json.endArray().key("assets").beginArray();
  for (const Asset &asset : contents.assets)
    json.beginObject()
        .member("name", asset.name)
        .member("kind", asset.kind)
        .member("section", asset.section)
        .member("offset", asset.offset)
        .member("size", asset.size)
        .endObject();
  json.endArray();
  writeHostFunctions(json, contents.hostFunctions);
  if (contents.training)
    writeTraining(json, *contents.training, contents);
  json.endObject();
  return json.take();
}

} // namespace vx
