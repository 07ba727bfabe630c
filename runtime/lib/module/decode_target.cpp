#include "module/decoder.h"

#include <algorithm>
#include <unordered_set>

namespace vx {

Status Decoder::target(const format::Target &source, Target &result) {
  VX_RETURN_IF_ERROR(text(source.triple(), result.triple));
  if (source.devices() == 0)
    return failure(VX_INVALID_MODULE, "runs on 0 devices, expected at least 1");
  if (source.devices() > 1)
    return failure(VX_UNSUPPORTED, "runs on {} devices together, this runtime runs modules of one device",
                   source.devices());
  VX_RETURN_IF_ERROR(
      decodeEach(source.kernels(), result.kernels, [&](const format::Kernel &kernelSource, Kernel &out, uint32_t i) {
        VX_RETURN_IF_ERROR(spend(sizeof(Kernel)));
        VX_RETURN_IF_ERROR(name(kernelSource.name(), fmt::format("kernel {}", i), out.name));
        return kernel(kernelSource, out).addContext(fmt::format("kernel {} '{}'", i, out.name));
      }));
  VX_RETURN_IF_ERROR(decodeEach(
      source.variants(), result.variants, [&](const format::Variant &variantSource, Variant &out, uint32_t i) {
        VX_RETURN_IF_ERROR(spend(sizeof(Variant)));
        VX_RETURN_IF_ERROR(name(variantSource.name(), fmt::format("variant {}", i), out.name));
        return variant(variantSource, result, out).addContext(fmt::format("variant '{}'", out.name));
      }));
  std::unordered_set<std::string_view> seen;
  for (const Variant &variant : result.variants)
    if (!seen.insert(variant.name).second)
      return failure(VX_INVALID_MODULE, "two variants have the name '{}'", variant.name);
  VX_RETURN_IF_ERROR(derived(source, result));
  return entries(source, result);
}

Status Decoder::kernel(const format::Kernel &source, Kernel &result) {
  constexpr uint32_t limit = 4096;
  VX_RETURN_IF_ERROR(text(source.key(), result.key));
  VX_RETURN_IF_ERROR(text(source.strategy(), result.strategy));
  if (source.sources())
    for (const flatbuffers::String *node : *source.sources()) {
      VX_RETURN_IF_ERROR(spend(sizeof(std::string)));
      VX_RETURN_IF_ERROR(text(node, result.sources.emplace_back()));
    }
  result.scalarCount = source.scalar_count();
  if (result.scalarCount > limit)
    return failure(VX_INVALID_MODULE, "kernel takes {} scalars, allowed are {}", result.scalarCount, limit);
  if (source.buffers()) {
    if (source.buffers()->size() > limit)
      return failure(VX_INVALID_MODULE, "kernel takes {} buffers, allowed are {}", source.buffers()->size(), limit);
    VX_RETURN_IF_ERROR(spend(source.buffers()->size()));
    for (auto access : *source.buffers()) {
      auto number = static_cast<uint8_t>(access);
      if (number > static_cast<uint8_t>(Access::ReadWrite))
        return failure(VX_INVALID_MODULE, "buffer {} has the unknown access {}", result.buffers.size(), number);
      result.buffers.push_back(static_cast<Access>(number));
    }
  }
  if (source.workgroup_size()) {
    const auto &size = *source.workgroup_size();
    if (size.size() != 3)
      return failure(VX_INVALID_MODULE, "workgroup size has {} numbers, expected 3", size.size());
    uint64_t threads = 1;
    for (uint32_t i = 0; i < 3; ++i) {
      result.workgroupSize[i] = size.Get(i);
      // No device allows more, and a product of three such numbers does not overflow.
      threads *= size.Get(i) <= 4096 ? size.Get(i) : 0;
    }
    if (threads == 0 || threads > 4096)
      return failure(VX_INVALID_MODULE, "workgroup size is {} x {} x {}, allowed are 1 to 4096 threads",
                     result.workgroupSize[0], result.workgroupSize[1], result.workgroupSize[2]);
  }
  return kernelFacts(source, result);
}

Status Decoder::kernelFacts(const format::Kernel &source, Kernel &result) {
  VX_RETURN_IF_ERROR(decodeEach(
      source.buffer_types(), result.bufferTypes,
      [&](const format::BufferType &type, BufferType &out, uint32_t i) -> Status {
        VX_RETURN_IF_ERROR(spend(sizeof(BufferType)));
        auto number = static_cast<int>(type.element_type());
        out.elementType = elementTypeOf(number).value_or(VX_ELEMENT_NONE);
        if (elementTypeBits(out.elementType) == 0)
          return failure(VX_INVALID_MODULE, "buffer {} has the element type {}, which no kernel takes", i, number);
        if (type.dims() && type.dims()->size() > maxRank)
          return failure(VX_INVALID_MODULE, "buffer {}: rank is {}, allowed are {}", i, type.dims()->size(), maxRank);
        VX_RETURN_IF_ERROR(text(type.layout(), out.layout));
        return decodeEach(
            type.dims(), out.dims, [&](const format::Expr &dim, Expression &dimOut, uint32_t j) -> Status {
              VX_RETURN_IF_ERROR(spend(sizeof(Expression)));
              return expression(&dim, result.scalarCount, dimOut).addContext(fmt::format("buffer {}: dim {}", i, j));
            });
      }));
  if (result.bufferTypes.size() != result.buffers.size())
    return failure(VX_INVALID_MODULE, "kernel has types for {} buffers, it takes {}", result.bufferTypes.size(),
                   result.buffers.size());
  if (source.workgroups())
    VX_RETURN_IF_ERROR(
        expression(source.workgroups(), result.scalarCount, result.workgroups.emplace()).addContext("workgroups"));
  if (source.workspace())
    VX_RETURN_IF_ERROR(
        expression(source.workspace(), result.scalarCount, result.workspace.emplace()).addContext("workspace"));
  Expression memory;
  VX_RETURN_IF_ERROR(expression(source.dynamic_memory(), result.scalarCount, memory).addContext("workgroup memory"));
  if (source.dynamic_memory() && memory.asConstant() != 0)
    return failure(VX_UNSUPPORTED, "kernel needs {} bytes of workgroup memory at its launch, this runtime gives none",
                   memory.toString({}));
  VX_RETURN_IF_ERROR(cluster(source));
  if (source.flops())
    VX_RETURN_IF_ERROR(expression(source.flops(), result.scalarCount, result.flops.emplace()).addContext("flops"));
  if (source.bytes())
    VX_RETURN_IF_ERROR(expression(source.bytes(), result.scalarCount, result.bytes.emplace()).addContext("bytes"));
  return okStatus();
}

Status Decoder::cluster(const format::Kernel &source) {
  if (!source.cluster())
    return okStatus();
  const auto &size = *source.cluster();
  if (size.size() != 3)
    return failure(VX_INVALID_MODULE, "cluster has {} numbers, expected 3", size.size());
  constexpr uint32_t limit = 16; // of workgroups, on any device
  uint64_t workgroups = 1;
  for (uint32_t number : size)
    workgroups *= number <= limit ? number : 0;
  if (workgroups == 0 || workgroups > limit)
    return failure(VX_INVALID_MODULE, "cluster is {} x {} x {}, allowed are 1 to {} workgroups", size.Get(0),
                   size.Get(1), size.Get(2), limit);
  if (workgroups > 1)
    return failure(VX_UNSUPPORTED, "kernel runs in clusters of {} x {} x {} workgroups, this runtime launches none",
                   size.Get(0), size.Get(1), size.Get(2));
  return okStatus();
}

Status Decoder::variant(const format::Variant &source, const Target &owner, Variant &result) {
  result.section = source.section();
  VX_RETURN_IF_ERROR(insideSection(result.section, SectionKind::Code, 0, 0));
  const Section &section = data.sections[result.section];
  if (source.requires_())
    for (const flatbuffers::String *feature : *source.requires_()) {
      VX_RETURN_IF_ERROR(spend(sizeof(std::string)));
      VX_RETURN_IF_ERROR(text(feature, result.requirements.emplace_back()));
    }
  size_t entryCount = source.entries() ? source.entries()->size() : 0;
  if (entryCount != owner.kernels.size())
    return failure(VX_INVALID_MODULE, "variant has {} entry points, the target has {} kernels", entryCount,
                   owner.kernels.size());
  for (size_t i = 0; i < entryCount; ++i) {
    VX_RETURN_IF_ERROR(spend(sizeof(std::string)));
    VX_RETURN_IF_ERROR(name(source.entries()->Get(static_cast<uint32_t>(i)), fmt::format("entry point {}", i),
                            result.entries.emplace_back()));
  }
  if (source.offsets() && source.offsets()->size()) {
    if (source.offsets()->size() != entryCount + 1)
      return failure(VX_INVALID_MODULE, "variant has {} offsets, expected {}", source.offsets()->size(),
                     entryCount + 1);
    VX_RETURN_IF_ERROR(checkAligned(*source.offsets(), "offsets of kernels"));
    VX_RETURN_IF_ERROR(spend(source.offsets()->size() * sizeof(uint64_t)));
    uint64_t previous = 0;
    for (uint64_t offset : *source.offsets()) {
      if (offset < previous || offset > section.size)
        return failure(VX_INVALID_MODULE, "offset {} of kernel {} is outside [{}, {}]", offset, result.offsets.size(),
                       previous, section.size);
      if (offset % 4 != 0)
        return failure(VX_INVALID_MODULE, "offset {} of kernel {} is no multiple of 4", offset, result.offsets.size());
      result.offsets.push_back(offset);
      previous = offset;
    }
  }
  return okStatus();
}

Status Decoder::derived(const format::Target &source, Target &result) {
  return decodeEach(source.derived(), result.derived,
                    [&](const format::Derived &one, Derived &out, uint32_t i) -> Status {
                      VX_RETURN_IF_ERROR(spend(sizeof(Derived)));
                      VX_RETURN_IF_ERROR(text(one.name(), out.name));
                      out.program = one.program();
                      ValueType type;
                      auto decodeOne = [&]() -> Status {
                        VX_RETURN_IF_ERROR(valueType(one.type(), 0, type));
                        out.elementType = type.elementType;
                        if (type.kind != VX_TENSOR || elementTypeBits(type.elementType) == 0)
                          return failure(VX_INVALID_MODULE, "expected a tensor of numbers or bools");
                        VX_RETURN_IF_ERROR(checkDevice(one.device()));
                        for (const Expression &dim : type.dims)
                          VX_RETURN_IF_ERROR(dim.evaluate({}, out.dims.emplace_back()));
                        if (Status status = tensorByteSize(out.elementType, out.dims, out.size); !status.ok())
                          return Status(VX_INVALID_MODULE, std::string(status.message()));
                        if (out.program >= data.programs.size())
                          return failure(VX_INVALID_MODULE, "program {} does not exist, there are {}", out.program,
                                         data.programs.size());
                        VX_RETURN_IF_ERROR(derivedFits(result, out, i));
                        return derivedVariables(result, out);
                      };
                      return decodeOne().addContext(fmt::format("derived value {} '{}'", i, out.name));
                    });
}

static bool hasLoop(const Block &block) {
  return std::any_of(block.instructions.begin(), block.instructions.end(), [](const Instruction &instruction) {
    return instruction.op == Op::While || std::any_of(instruction.blocks.begin(), instruction.blocks.end(), hasLoop);
  });
}

Status Decoder::derivedFits(const Target &owner, const Derived &derived, size_t known) {
  const Program &program = data.programs[derived.program];
  if (program.results.size() != 1 || program.results[0].buffer < 0)
    return failure(VX_INVALID_MODULE, "program {} '{}' has {} results, expected one tensor", derived.program,
                   program.name, program.results.size());
  if (!program.stores.empty())
    return failure(VX_INVALID_MODULE, "program {} '{}' stores {} variables, expected none", derived.program,
                   program.name, program.stores.size());
  // Making an instance ends, whatever the file says.
  if (hasLoop(program.body))
    return failure(VX_INVALID_MODULE, "program {} '{}' has a loop, expected none", derived.program, program.name);
  bool knowsSymbols = false;
  auto noSymbol = [&](uint32_t) { knowsSymbols = true; };
  program.arenaSize.forEachSymbol(noSymbol);
  program.arenaLowerBound.forEachSymbol(noSymbol);
  if (knowsSymbols)
    return failure(VX_INVALID_MODULE, "program {} '{}' sizes its arena by symbols, expected constants only",
                   derived.program, program.name);
  return programFits(owner, program, nullptr, known)
      .addContext(fmt::format("program {} '{}'", derived.program, program.name));
}

static void sortUnique(std::vector<uint32_t> &numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

// The program has been checked: it reads none that does not stand before.
Status Decoder::derivedOfVariables(const Target &owner, const Program &program, std::vector<uint32_t> &needed) {
  for (uint32_t index : program.derived) {
    const Derived &derived = owner.derived[index];
    if (derived.variables.empty())
      continue;
    VX_RETURN_IF_ERROR(spend((derived.needed.size() + 1) * sizeof(uint32_t)));
    needed.insert(needed.end(), derived.needed.begin(), derived.needed.end());
    needed.push_back(index);
  }
  sortUnique(needed);
  return okStatus();
}

Status Decoder::derivedVariables(const Target &owner, Derived &derived) {
  const Program &program = data.programs[derived.program];
  VX_RETURN_IF_ERROR(derivedOfVariables(owner, program, derived.needed));
  std::vector<uint32_t> &variables = derived.variables;
  VX_RETURN_IF_ERROR(spend(program.uses.size() * sizeof(uint32_t)));
  variables = program.uses;
  for (uint32_t index : program.derived) {
    const std::vector<uint32_t> &more = owner.derived[index].variables;
    VX_RETURN_IF_ERROR(spend(more.size() * sizeof(uint32_t)));
    variables.insert(variables.end(), more.begin(), more.end());
  }
  sortUnique(variables);
  return okStatus();
}

Status Decoder::entries(const format::Target &source, Target &result) {
  VX_RETURN_IF_ERROR(
      decodeEach(source.entries(), result.entries, [&](const format::Entry &entry, Entry &out, uint32_t i) -> Status {
        VX_RETURN_IF_ERROR(spend(sizeof(Entry)));
        out.function = entry.function();
        out.program = entry.program();
        if (out.function >= data.functions.size())
          return failure(VX_INVALID_MODULE, "entry {}: function {} does not exist, there are {}", i, out.function,
                         data.functions.size());
        if (out.program >= data.programs.size())
          return failure(VX_INVALID_MODULE, "entry {}: program {} does not exist, there are {}", i, out.program,
                         data.programs.size());
        const Function &function = data.functions[out.function];
        if (entry.constraints())
          for (const format::Constraint *constraint : *entry.constraints()) {
            VX_RETURN_IF_ERROR(spend(sizeof(Constraint)));
            if (constraint->symbol() >= function.symbols.size())
              return failure(VX_INVALID_MODULE, "entry {}: symbol {} of function '{}' does not exist, there are {}", i,
                             constraint->symbol(), function.name, function.symbols.size());
            if (function.symbols[constraint->symbol()].dataDependent)
              return failure(VX_INVALID_MODULE, "entry {}: symbol '{}' is known only after the call", i,
                             function.symbols[constraint->symbol()].name);
            if (constraint->min() > constraint->max())
              return failure(VX_INVALID_MODULE, "entry {}: symbol '{}' is in the range [{}, {}]", i,
                             function.symbols[constraint->symbol()].name, constraint->min(), constraint->max());
            out.constraints.push_back({constraint->symbol(), constraint->min(), constraint->max()});
          }
        return entryFits(result, out).addContext(fmt::format("entry {}", i));
      }));
  for (uint32_t i = 0; i < data.functions.size(); ++i) {
    const Entry *last = nullptr;
    for (const Entry &entry : result.entries)
      if (entry.function == i)
        last = &entry;
    if (!last)
      return failure(VX_INVALID_MODULE, "function '{}' has no program", data.functions[i].name);
    if (!last->constraints.empty())
      return failure(VX_INVALID_MODULE, "the last program of function '{}' has {} constraints, expected none",
                     data.functions[i].name, last->constraints.size());
  }
  return okStatus();
}

Status Decoder::entryFits(const Target &owner, Entry &entry) {
  const Function &function = data.functions[entry.function];
  const Program &program = data.programs[entry.program];
  uint32_t tensors = 0, objects = 0;
  for (const Argument &input : function.inputs)
    ++(input.type.kind == VX_TENSOR ? tensors : objects);
  auto fits = [&](std::string_view file, size_t needed, uint32_t available) -> Status {
    if (needed <= available)
      return okStatus();
    return failure(VX_INVALID_MODULE, "program {} '{}' has {} {} registers, function '{}' needs {} on entry",
                   entry.program, program.name, available, file, function.name, needed);
  };
  VX_RETURN_IF_ERROR(fits("i64", function.symbols.size(), program.i64Registers));
  VX_RETURN_IF_ERROR(fits("buffer", tensors, program.bufferRegisters));
  VX_RETURN_IF_ERROR(fits("object", objects, program.objectRegisters));
  if (program.results.size() != function.outputs.size())
    return failure(VX_INVALID_MODULE, "program {} '{}' has {} results, function '{}' has {} outputs", entry.program,
                   program.name, program.results.size(), function.name, function.outputs.size());
  for (size_t i = 0; i < program.results.size(); ++i) {
    const Argument &output = function.outputs[i];
    const Result &result = program.results[i];
    bool tensor = output.type.kind == VX_TENSOR;
    if (tensor != (result.buffer >= 0))
      return failure(VX_INVALID_MODULE, "program {} '{}' gives a {} for output '{}' of function '{}', expected a {}",
                     entry.program, program.name, tensor ? "list" : "tensor", output.name, function.name,
                     tensor ? "tensor" : "list");
    if (tensor && result.dims.size() != output.type.dims.size())
      return failure(VX_INVALID_MODULE, "program {} '{}' gives {} dims for output '{}' of function '{}', expected {}",
                     entry.program, program.name, result.dims.size(), output.name, function.name,
                     output.type.dims.size());
  }
  auto expressionFits = [&](const Expression &expression) -> Status {
    Status status;
    expression.forEachSymbol([&](uint32_t symbol) {
      if (symbol >= function.symbols.size())
        status = failure(VX_INVALID_MODULE, "program {} '{}' sizes its arena by symbol {}, function '{}' has {}",
                         entry.program, program.name, symbol, function.name, function.symbols.size());
    });
    return status;
  };
  VX_RETURN_IF_ERROR(expressionFits(program.arenaSize));
  VX_RETURN_IF_ERROR(expressionFits(program.arenaLowerBound));
  VX_RETURN_IF_ERROR(programFits(owner, program, &function, owner.derived.size())
                         .addContext(fmt::format("program {} '{}'", entry.program, program.name)));
  return derivedOfVariables(owner, program, entry.needed);
}

} // namespace vx
