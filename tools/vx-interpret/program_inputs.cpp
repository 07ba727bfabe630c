#include "program_inputs.h"

#include "command_line.h"
#include "described_tensor.h"
#include "host_values.h"
#include "npy.h"
#include "tensor_file.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/abi/module_header.h"
#include "vx/base/random_values.h"

#include <algorithm>

namespace vx::tools {

using reference::ElementType;
using reference::HostTensor;
using reference::HostValue;

static std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string nameOr(mlir::StringAttr name, unsigned index) {
  return name ? name.getValue().str() : std::to_string(index);
}

std::vector<std::string> argumentNames(mlir::func::FuncOp function) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    names.push_back(nameOr(function.getArgAttrOfType<mlir::StringAttr>(i, "vx.name"), i));
  return names;
}

std::vector<std::string> resultNames(mlir::func::FuncOp function) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    names.push_back(nameOr(function.getResultAttrOfType<mlir::StringAttr>(i, "vx.name"), i));
  return names;
}

static HostValue fromFile(const std::string &name, mlir::Type argumentType, const std::string &path) {
  // Of an optional tensor the evaluator has a sequence of none or one.
  mlir::Type held = argumentType;
  vx_value_kind kind = VX_TENSOR;
  if (auto optional = llvm::dyn_cast<OptionalType>(held)) {
    held = optional.getValueType();
    kind = VX_OPTIONAL;
  }
  if (auto sequence = llvm::dyn_cast<SequenceType>(held)) {
    held = sequence.getElementType();
    kind = kind == VX_OPTIONAL ? VX_OPTIONAL_SEQUENCE : VX_SEQUENCE;
  }
  auto type = llvm::dyn_cast<mlir::TensorType>(held);
  const std::optional<ElementType> wanted = type ? reference::getElementType(type.getElementType()) : std::nullopt;
  if (!wanted)
    throw usageError("input '{}' is {}: only numbers and bools are read from files, got '{}'", name,
                     typeText(argumentType), path);
  if (kind == VX_TENSOR)
    return toHostTensor(readNpy(path, toRuntimeType(*wanted)));
  const Value value = readTensorFile(path, kind);
  for (const Tensor &tensor : value.tensors)
    if (tensor.type != toRuntimeType(*wanted))
      throw usageError("input '{}' is {}, got tensors of another type in '{}'", name, typeText(argumentType), path);
  return toHostValue(value);
}

// The sizes of an input that nothing states: symbols without a value take the least size above 0 that they allow.
static HostTensor makeDefault(mlir::func::FuncOp function, unsigned index, const std::string &name,
                              reference::SymbolValues &symbols, uint64_t seed) {
  const mlir::Type argumentType = function.getArgumentTypes()[index];
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(argumentType);
  const std::optional<ElementType> elementType = type ? reference::getElementType(type.getElementType()) : std::nullopt;
  if (!elementType)
    throw usageError("input '{}' is {}: only tensors of numbers or bools are made up", name, typeText(argumentType));
  auto module = function->getParentOfType<mlir::ModuleOp>();
  for (auto symbol : module.getOps<SymbolOp>()) {
    const int64_t least = std::max<int64_t>(symbol.getMin(), 1), multiple = std::max<int64_t>(symbol.getMultiple(), 1);
    const int64_t rounded = (least + multiple - 1) / multiple * multiple;
    if (!symbol.getDataDependent())
      symbols.try_emplace(symbol.getName(),
                          rounded <= static_cast<int64_t>(symbol.getMax()) ? rounded : symbol.getMin());
  }
  llvm::Expected<llvm::SmallVector<int64_t>> shape = reference::evaluateShape(type, symbols);
  if (!shape)
    throw usageError("input '{}' is {}: {}; give it with --input", name, typeText(type),
                     llvm::toString(shape.takeError()));
  Tensor tensor = makeTensor(name, toRuntimeType(*elementType), {shape->begin(), shape->end()});
  fillRandom(tensor, name, seed);
  return toHostTensor(tensor);
}

static reference::SymbolValues bindDims(mlir::ModuleOp module, const std::map<std::string, int64_t> &dims) {
  std::vector<std::string> known;
  for (auto symbol : module.getOps<SymbolOp>())
    if (!symbol.getDataDependent())
      known.push_back(symbol.getName().str());
  reference::SymbolValues symbols;
  for (const auto &[name, value] : dims) {
    (void)findName("dimension", name, known);
    symbols[name] = value;
  }
  return symbols;
}

std::vector<HostValue> makeProgramInputs(mlir::func::FuncOp function, const std::vector<std::string> &specifications,
                                         const std::map<std::string, int64_t> &dims, uint64_t seed) {
  const std::vector<std::string> names = argumentNames(function);
  std::vector<std::optional<HostValue>> given(names.size());
  reference::SymbolValues symbols = bindDims(function->getParentOfType<mlir::ModuleOp>(), dims);
  for (const std::string &specification : specifications) {
    const auto [name, text] = splitAssignment("--input", specification);
    const auto index = static_cast<unsigned>(findName("input", name, names));
    if (given[index])
      throw usageError("input '{}' is given twice", name);
    if (text[0] == '@')
      given[index] = fromFile(name, function.getArgumentTypes()[index], text.substr(1));
    else
      given[index] = toHostTensor(makeDescribedTensor(name, text, seed));
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[index]);
    const auto *tensor = std::get_if<HostTensor>(&*given[index]);
    if (type && tensor && type.getRank() == tensor->getRank())
      for (auto [dim, size] : llvm::zip(getDims(type), tensor->getShape()))
        if (dim && dim.asSymbol())
          symbols.try_emplace(dim.asSymbol().getValue(), size);
  }
  std::vector<HostValue> inputs;
  for (unsigned i = 0; i < given.size(); ++i)
    inputs.push_back(given[i] ? std::move(*given[i]) : makeDefault(function, i, names[i], symbols, seed));
  return inputs;
}

static int64_t instanceSize(SymbolOp symbol, const std::map<std::string, int64_t> &dims) {
  const std::string name = symbol.getName().str();
  const auto given = dims.find(name);
  if (given == dims.end())
    throw usageError("size '{}' is bound when an instance is made: expected --dim {}=N, which is not given", name,
                     name);
  const auto least = static_cast<int64_t>(symbol.getMin()), most = static_cast<int64_t>(symbol.getMax());
  if (given->second < least || given->second > most)
    throw usageError("--dim {}: expected a size from {} to {}, got {}", name, least, most, given->second);
  if (given->second % static_cast<int64_t>(symbol.getMultiple()) != 0)
    throw usageError("--dim {}: expected a multiple of {}, got {}", name, symbol.getMultiple(), given->second);
  return given->second;
}

static RandomKind toRandomKind(InitKind kind) {
  switch (kind) {
  case InitKind::uniform:
    return RandomKind::Uniform;
  case InitKind::normal:
    return RandomKind::Normal;
  case InitKind::orthogonal:
    break;
  }
  return RandomKind::Orthogonal;
}

// Of a type that the variable's verifier allows.
static RandomFormat toRandomFormat(ElementType type) {
  return type == ElementType::F16    ? RandomFormat::F16
         : type == ElementType::BF16 ? RandomFormat::BF16
         : type == ElementType::F32  ? RandomFormat::F32
                                     : RandomFormat::F64;
}

reference::ProgramState makeInstance(mlir::ModuleOp module, const std::map<std::string, int64_t> &dims, uint64_t seed) {
  reference::ProgramState state;
  for (auto symbol : module.getOps<SymbolOp>())
    if (symbol.getInstance())
      state.symbols[symbol.getName()] = instanceSize(symbol, dims);
  for (auto variable : module.getOps<VariableOp>()) {
    const InitAttr init = variable.getInitAttr();
    if (!init)
      continue;
    const auto type = llvm::cast<mlir::RankedTensorType>(variable.getType());
    HostTensor tensor(*reference::getElementType(type.getElementType()), type.getShape());
    const llvm::StringRef name = variable.getSymName();
    const std::vector<uint8_t> values =
        drawValues({toRandomKind(init.getKind()), init.getA().getValueAsDouble(), init.getB().getValueAsDouble()}, seed,
                   vx_hash64(name.data(), name.size()), type.getShape(), toRandomFormat(tensor.getElementType()));
    std::copy(values.begin(), values.end(), tensor.getMutableBytes().begin());
    state.variables.try_emplace(name, std::move(tensor));
  }
  return state;
}

} // namespace vx::tools
