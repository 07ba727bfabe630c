#include "exec/memory_estimate.h"

#include "base/arithmetic.h"
#include "exec/binding.h"

#include <algorithm>
#include <optional>

namespace vx {

namespace {

// Adds up what is allocated, of one function at sizes of its symbols.
class Estimator {
public:
  Estimator(const Instance &instance, uint32_t index, vx_memory_estimate &estimate)
      : instance(instance), index(index), function(instance.data().functions[index]), estimate(estimate) {}

  Status run(std::span<const BoundSymbol> sizes);

private:
  Status bindSizes(std::span<const BoundSymbol> sizes);
  Status sizeOf(const Argument &argument, uint64_t &size);
  void addProgram(const Program &program);
  void addInstruction(const Program &program, const Instruction &instruction);
  void passBlock(const Block &block);
  void addSize(std::optional<int64_t> size);
  void addAllocation(uint64_t &place, uint64_t size) {
    place = saturatingAdd(place, size);
    estimate.largest = std::max(estimate.largest, size);
  }

  const Instance &instance;
  const uint32_t index;
  const Function &function;
  vx_memory_estimate &estimate;
  std::vector<int64_t> symbols;
  std::vector<bool> isOpen; // of symbols: nothing bounds them
  std::vector<std::optional<int64_t>> registers;
};

Status Estimator::bindSizes(std::span<const BoundSymbol> sizes) {
  symbols.assign(function.symbols.size(), 0);
  isOpen.assign(symbols.size(), false);
  std::vector<bool> isGiven(symbols.size());
  for (const BoundSymbol &size : sizes) {
    const auto found = std::find_if(function.symbols.begin(), function.symbols.end(), [&](const Symbol &symbol) {
      return symbol.name == size.name && !symbol.dataDependent && !symbol.instance;
    });
    if (found == function.symbols.end())
      return failure(VX_INVALID_ARGUMENT, "function '{}' has no size '{}' that its inputs decide", function.name,
                     size.name);
    const auto place = static_cast<size_t>(found - function.symbols.begin());
    if (isGiven[place])
      return failure(VX_INVALID_ARGUMENT, "size '{}' is given twice, as {} and {}", size.name, symbols[place],
                     size.value);
    if (size.value < found->min || size.value > found->max || size.value % found->multiple != 0)
      return failure(VX_INVALID_ARGUMENT, "size '{}': expected {} to {}, a multiple of {}, got {}", size.name,
                     found->min, found->max, found->multiple, size.value);
    symbols[place] = size.value;
    isGiven[place] = true;
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol &symbol = function.symbols[i];
    if (symbol.instance) {
      symbols[i] = instance.symbols()[*symbol.instance];
    } else if (symbol.dataDependent) {
      isOpen[i] = symbol.max == INT64_MAX;
      symbols[i] = isOpen[i] ? 0 : symbol.max;
      if (isOpen[i] && !estimate.open_size) {
        estimate.open_size = symbol.name.c_str();
        estimate.is_least = 1;
      }
    } else if (!isGiven[i]) {
      return failure(VX_INVALID_ARGUMENT, "function '{}' needs a value of size '{}', got none", function.name,
                     symbol.name);
    }
  }
  return checkConstraints(instance.data(), function, symbols);
}

// 0 where nothing tells it.
Status Estimator::sizeOf(const Argument &argument, uint64_t &size) {
  size = 0;
  if (argument.type.kind != VX_TENSOR || !argument.type.ranked) {
    estimate.is_least = 1;
    return okStatus();
  }
  std::vector<int64_t> dims;
  bool isKnown = true;
  for (const Expression &dim : argument.type.dims) {
    dim.forEachSymbol([&](uint32_t symbol) { isKnown &= !isOpen[symbol]; });
    if (isKnown)
      VX_RETURN_IF_ERROR(dim.evaluate(symbols, dims.emplace_back()).addContext(argument.name));
  }
  if (!isKnown)
    return okStatus();
  return tensorByteSize(storedType(argument.type.elementType), dims, size).addContext(argument.name);
}

// What loops and branches allocate and compute is not the same in each call.
void Estimator::passBlock(const Block &block) {
  for (const Instruction &instruction : block.instructions) {
    estimate.is_least |=
        instruction.op == Op::Allocate || instruction.op == Op::ArenaReserve || instruction.op == Op::ListInsert;
    const std::string_view signature = opFacts(instruction.op).signature;
    for (size_t i = 0; i < signature.size() && i < instruction.operands.size(); ++i)
      if (signature[i] == 'I')
        registers[instruction.operands[i]] = std::nullopt;
    for (const Block &inner : instruction.blocks)
      passBlock(inner);
  }
}

// Of what lives while the program runs.
void Estimator::addSize(std::optional<int64_t> size) {
  if (size)
    addAllocation(estimate.arena, static_cast<uint64_t>(std::max<int64_t>(*size, 0)));
  else
    estimate.is_least = 1;
}

void Estimator::addInstruction(const Program &program, const Instruction &instruction) {
  const std::vector<uint32_t> &operands = instruction.operands;
  switch (instruction.op) {
  case Op::ConstI64:
    registers[operands[0]] = instruction.imm;
    return;
  case Op::MoveI64:
    registers[operands[0]] = registers[operands[1]];
    return;
  case Op::Select:
    registers[operands[0]] =
        registers[operands[1]] ? registers[operands[*registers[operands[1]] != 0 ? 2 : 3]] : std::optional<int64_t>();
    return;
  case Op::ArenaReserve:
    addSize(registers[operands[0]]);
    return;
  case Op::Allocate:
    // Those of results are counted by the signature.
    if (std::none_of(program.results.begin(), program.results.end(), [&](const Result &result) {
          return result.buffer >= 0 && static_cast<uint32_t>(result.buffer) == operands[0];
        }))
      addSize(registers[operands[1]]);
    return;
  default:
    break;
  }
  const std::string_view signature = opFacts(instruction.op).signature;
  if (signature == "Iii") {
    int64_t value = 0;
    const std::optional<int64_t> &a = registers[operands[1]], &b = registers[operands[2]];
    if (a && b)
      registers[operands[0]] = calculate(instruction.op, *a, *b, value) ? value : INT64_MAX;
    else
      registers[operands[0]] = std::nullopt;
    return;
  }
  // A number that comes from a device: a symbol has its bound already.
  for (size_t i = 0; i < signature.size() && i < operands.size(); ++i)
    if (signature[i] == 'I' && operands[i] >= symbols.size())
      registers[operands[i]] = std::nullopt;
  for (const Block &block : instruction.blocks)
    passBlock(block);
}

void Estimator::addProgram(const Program &program) {
  registers.assign(program.i64Registers, std::nullopt);
  for (size_t i = 0; i < symbols.size(); ++i)
    if (!isOpen[i])
      registers[i] = symbols[i];
  for (const Instruction &instruction : program.body.instructions)
    addInstruction(program, instruction);
}

Status Estimator::run(std::span<const BoundSymbol> sizes) {
  estimate = {};
  VX_RETURN_IF_ERROR(bindSizes(sizes));
  const Target &target = instance.target();
  const Entry &entry = target.entries[chooseEntry(target, index, symbols)];
  for (uint64_t storage : instance.variableStorages())
    addAllocation(estimate.variables, storage);
  for (uint32_t derived : entry.needed)
    addAllocation(estimate.variables, target.derived[derived].size);
  addProgram(instance.data().programs[entry.program]);
  for (const Argument &input : function.inputs) {
    uint64_t size = 0;
    VX_RETURN_IF_ERROR(sizeOf(input, size));
    if (!instance.device().info().readsHostMemory)
      addAllocation(estimate.inputs, size);
  }
  for (const Argument &output : function.outputs) {
    uint64_t size = 0;
    VX_RETURN_IF_ERROR(sizeOf(output, size));
    addAllocation(estimate.results, size);
  }
  estimate.constants = instance.loaded().constantBytes();
  const uint64_t counted = saturatingAdd(saturatingAdd(estimate.variables, estimate.arena),
                                         saturatingAdd(estimate.inputs, estimate.results));
  estimate.total = saturatingAdd(counted, estimate.constants);
  const hal::DeviceInfo &info = instance.device().info();
  estimate.device_memory = info.totalMemory;
  estimate.device_largest = info.maxAllocation;
  estimate.memory_limit = instance.memoryLimit();
  const uint64_t limit = estimate.memory_limit ? estimate.memory_limit : UINT64_MAX;
  estimate.fits = counted <= limit && (info.totalMemory == 0 || estimate.total <= info.totalMemory) &&
                  estimate.largest <= info.maxAllocation;
  return okStatus();
}

} // namespace

Status estimateMemory(const Instance &instance, uint32_t function, std::span<const BoundSymbol> sizes,
                      vx_memory_estimate &estimate) {
  return Estimator(instance, function, estimate).run(sizes);
}

} // namespace vx
