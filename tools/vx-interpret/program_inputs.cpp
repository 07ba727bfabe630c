#include "program_inputs.h"

#include "command_line.h"
#include "npy.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Reference/RandomTensor.h"

#include <algorithm>
#include <charconv>

namespace vx::tools {

using reference::ElementType;
using reference::HostTensor;
using reference::HostValue;

static constexpr std::pair<vx_element_type, ElementType> types[] = {
    {VX_BOOL, ElementType::Bool},
    {VX_I2, ElementType::I2},
    {VX_I4, ElementType::I4},
    {VX_I8, ElementType::I8},
    {VX_I16, ElementType::I16},
    {VX_I32, ElementType::I32},
    {VX_I64, ElementType::I64},
    {VX_U2, ElementType::U2},
    {VX_U4, ElementType::U4},
    {VX_U8, ElementType::U8},
    {VX_U16, ElementType::U16},
    {VX_U32, ElementType::U32},
    {VX_U64, ElementType::U64},
    {VX_F16, ElementType::F16},
    {VX_BF16, ElementType::BF16},
    {VX_F32, ElementType::F32},
    {VX_F64, ElementType::F64},
    {VX_F8E4M3FN, ElementType::F8E4M3FN},
    {VX_F8E4M3FNUZ, ElementType::F8E4M3FNUZ},
    {VX_F8E5M2, ElementType::F8E5M2},
    {VX_F8E5M2FNUZ, ElementType::F8E5M2FNUZ},
    {VX_F8E8M0, ElementType::F8E8M0FNU},
    {VX_F4E2M1, ElementType::F4E2M1FN},
};

static vx_element_type toRuntimeType(ElementType type) {
  return std::find_if(std::begin(types), std::end(types), [&](auto &pair) { return pair.second == type; })->first;
}

static ElementType toHostType(vx_element_type type) {
  const auto *found = std::find_if(std::begin(types), std::end(types), [&](auto &pair) { return pair.first == type; });
  if (found == std::end(types))
    throw fileError("want a tensor of numbers or bools, got element type {}", vx_element_type_name(type));
  return found->second;
}

Tensor toTensor(const HostTensor &tensor) {
  return {toRuntimeType(tensor.getElementType()), tensor.getShape().vec(), tensor.getBytes().vec()};
}

HostTensor toHostTensor(const Tensor &tensor) {
  HostTensor result(toHostType(tensor.type), tensor.dims);
  std::copy(tensor.bytes.begin(), tensor.bytes.end(), result.getMutableBytes().begin());
  return result;
}

static std::string nameOr(mlir::StringAttr name, unsigned index) {
  return name ? name.getValue().str() : std::to_string(index);
}

std::string argumentName(mlir::func::FuncOp function, unsigned index) {
  return nameOr(function.getArgAttrOfType<mlir::StringAttr>(index, "vx.name"), index);
}

std::string resultName(mlir::func::FuncOp function, unsigned index) {
  return nameOr(function.getResultAttrOfType<mlir::StringAttr>(index, "vx.name"), index);
}

// "f32[2,3]:random"
static HostTensor fromText(const std::string &name, const std::string &text, uint64_t seed, uint64_t index) {
  const size_t open = text.find('['), close = text.find("]:");
  if (open == std::string::npos || close == std::string::npos || close < open)
    throw usageError("input '{}': want @FILE or TYPE[DIMS]:random|zeros|ones, got '{}'", name, text);
  const std::optional<vx_element_type> type = elementTypeFromName(text.substr(0, open));
  if (!type)
    throw usageError("input '{}': unknown element type '{}'", name, text.substr(0, open));
  std::vector<int64_t> dims;
  for (const std::string &piece : splitList(text.substr(open + 1, close - open - 1))) {
    int64_t dim = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), dim);
    if (error != std::errc() || end != piece.data() + piece.size() || dim < 0)
      throw usageError("input '{}': want a size of 0 or more, got '{}'", name, piece);
    dims.push_back(dim);
  }
  if (!elementCount(*type, dims))
    throw usageError("input '{}': {} is too large", name, typeText(*type, dims));
  const std::string fill = text.substr(close + 2);
  const ElementType hostType = toHostType(*type);
  if (fill == "random")
    return reference::makeRandomTensor(hostType, dims, seed, index);
  HostTensor tensor(hostType, dims);
  if (fill == "ones") {
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      reference::isFloat(hostType) ? tensor.setFloat(i, 1) : tensor.setInt(i, 1);
  } else if (fill != "zeros") {
    throw usageError("input '{}': want random, zeros or ones, got '{}'", name, fill);
  }
  return tensor;
}

static HostTensor fromFile(mlir::func::FuncOp function, unsigned index, const std::string &path) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[index]);
  if (!type)
    throw usageError("input '{}': only tensors are read from files", argumentName(function, index));
  const std::optional<ElementType> wanted = reference::getElementType(type.getElementType());
  if (!wanted)
    throw fileError("input '{}': want a tensor of numbers or bools", argumentName(function, index));
  return toHostTensor(readNpy(path, toRuntimeType(*wanted)));
}

// The sizes of an input that nothing states: symbols without a value take the least size above 0 that they allow.
static HostTensor makeDefault(mlir::func::FuncOp function, unsigned index, reference::SymbolValues &symbols,
                              uint64_t seed) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[index]);
  const std::optional<ElementType> elementType = type ? reference::getElementType(type.getElementType()) : std::nullopt;
  if (!elementType)
    throw usageError("input '{}': want --input, for it is no tensor of numbers or bools",
                     argumentName(function, index));
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
    throw fileError("input '{}': {}", argumentName(function, index), llvm::toString(shape.takeError()));
  return reference::makeRandomTensor(*elementType, *shape, seed, index);
}

std::vector<HostValue> makeProgramInputs(mlir::func::FuncOp function, const std::vector<std::string> &specifications,
                                         const std::map<std::string, int64_t> &dims, uint64_t seed) {
  std::vector<std::optional<HostTensor>> given(function.getNumArguments());
  reference::SymbolValues symbols;
  for (const auto &[name, value] : dims)
    symbols[name] = value;
  for (const std::string &specification : specifications) {
    const auto [name, text] = splitAssignment("--input", specification);
    unsigned index = 0;
    while (index < given.size() && argumentName(function, index) != name)
      ++index;
    if (index == given.size())
      throw usageError("unknown input '{}'", name);
    if (given[index])
      throw usageError("input '{}' is given twice", name);
    given[index] = text[0] == '@' ? fromFile(function, index, text.substr(1)) : fromText(name, text, seed, index);
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[index]);
    if (type && type.getRank() == given[index]->getRank())
      for (auto [dim, size] : llvm::zip(getDims(type), given[index]->getShape()))
        if (dim && dim.asSymbol())
          symbols.try_emplace(dim.asSymbol().getValue(), size);
  }
  std::vector<HostValue> inputs;
  for (unsigned i = 0; i < given.size(); ++i)
    inputs.emplace_back(given[i] ? *given[i] : makeDefault(function, i, symbols, seed));
  return inputs;
}

} // namespace vx::tools
