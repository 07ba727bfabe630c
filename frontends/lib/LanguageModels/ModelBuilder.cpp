#include "ModelBuilder.h"

#include "vx/Dialect/VX/IR/BlockFormats.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "vx/Dialect/VX/Utils/Activations.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;

namespace vx {

namespace {

constexpr llvm::StringLiteral kInputName = "vx.name";

std::string describeTensorOf(StringRef type, ArrayRef<int64_t> dims) {
  return type.str() + "[" + llvm::join(llvm::map_range(dims, [](int64_t size) { return std::to_string(size); }), ",") +
         "]";
}

} // namespace

ModelBuilder::ModelBuilder(MLIRContext &context, const WeightFiles &weights, StringRef name)
    : context(context), builder(&context), weights(weights) {
  context.loadDialect<VXDialect, func::FuncDialect>();
  module = ModuleOp::create(getSourceLocation(&context, name, "Model", weights.getName()));
  (*module)->setAttr(kInputName, builder.getStringAttr(name));
}

//===-- Module ------------------------------------------------------------------------------------===//

DimAttr ModelBuilder::declareSymbol(StringRef name, int64_t min, int64_t max, SymbolKind kind) {
  OpBuilder::InsertionGuard guard(builder);
  if (lastDeclaration)
    builder.setInsertionPointAfter(lastDeclaration);
  else
    builder.setInsertionPointToStart(module->getBody());
  OperationState state(module->getLoc(), SymbolOp::getOperationName());
  state.addAttribute("name", builder.getStringAttr(name));
  state.addAttribute("min", builder.getI64IntegerAttr(min));
  state.addAttribute("max", builder.getI64IntegerAttr(max));
  if (kind != SymbolKind::Shape)
    state.addAttribute(kind == SymbolKind::Instance ? "instance" : "data_dependent", builder.getUnitAttr());
  lastDeclaration = builder.create(state);
  return DimAttr::symbolNamed(&context, name);
}

void ModelBuilder::declareCache(StringRef name, ArrayRef<DimAttr> dims, Type elementType) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastDeclaration);
  lastDeclaration = VariableOp::create(builder, module->getLoc(), builder.getStringAttr(name),
                                       TypeAttr::get(getTensorType(dims, elementType)), ElementsAttr(),
                                       VariableRoleAttr::get(&context, VariableRole::cache), StringAttr(), InitAttr(),
                                       FlatSymbolRefAttr(), IntegerAttr());
}

SmallVector<Value> ModelBuilder::beginFunction(StringRef name, ArrayRef<Input> inputs) {
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> names;
  for (const Input &input : inputs) {
    types.push_back(input.type);
    names.push_back(builder.getDictionaryAttr(builder.getNamedAttr(kInputName, builder.getStringAttr(input.name))));
  }
  function = func::FuncOp::create(builder, getSourceLocation(&context, name, "Function", weights.getName()), name,
                                  builder.getFunctionType(types, {}));
  function.setAllArgAttrs(names);
  builder.setInsertionPointToStart(function.addEntryBlock());
  return SmallVector<Value>(function.getArguments());
}

void ModelBuilder::endFunction(StringRef resultName, Value result) {
  if (hasFailed() || !result)
    return;
  func::ReturnOp::create(builder, function.getLoc(), result);
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), result.getType()));
  const DictionaryAttr attributes =
      builder.getDictionaryAttr(builder.getNamedAttr(kInputName, builder.getStringAttr(resultName)));
  function.setAllResultAttrs(ArrayRef(attributes));
}

ModelBuilder::Weight ModelBuilder::getWeight(StringRef name, ArrayRef<int64_t> dims) {
  if (hasFailed())
    return {};
  const StoredTensor *tensor = weights.find(name);
  auto refuseTensor = [&](const std::string &got) {
    fail(weights.getName() + ": tensor '" + name + "': expected " + describeTensorOf("", dims) + ", got " + got);
    return Weight();
  };
  if (!tensor)
    return refuseTensor("no such tensor");
  Type elementType;
  if (tensor->type == "f32")
    elementType = builder.getF32Type();
  else if (tensor->type == "f16")
    elementType = builder.getF16Type();
  else if (tensor->type == "bf16")
    elementType = builder.getBF16Type();
  const std::optional<BlockFormat> format = dims.empty() ? std::nullopt : symbolizeBlockFormat(tensor->type);
  if (ArrayRef(tensor->dims) != dims || (!elementType && !format))
    return refuseTensor(describeTensorOf(tensor->type, tensor->dims) +
                        (elementType || format ? "" : ": weights of this type are not supported"));
  Weight &weight = weightsRead[name];
  if (weight.elements)
    return weight;
  weight.format = format;
  SmallVector<int64_t> stored(dims);
  if (format) {
    const BlockLayout &layout = getBlockLayout(*format);
    elementType = IntegerType::get(&context, 8, IntegerType::Unsigned);
    stored.back() = dims.back() / layout.elements * layout.bytes;
  }
  weight.elements = makeElements(RankedTensorType::get(stored, elementType), name, tensor->bytes);
  return weight;
}

ElementsAttr ModelBuilder::makeElements(RankedTensorType type, StringRef name, std::span<const uint8_t> stored) {
  const unsigned align = type.getElementTypeBitWidth() / 8;
  ArrayRef<char> bytes(reinterpret_cast<const char *>(stored.data()), stored.size());
  AsmResourceBlob blob;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % align == 0)
    blob = UnmanagedAsmResourceBlob::allocateWithAlign(bytes, align,
                                                       [owner = weights.getOwner()](void *, size_t, size_t) {});
  else
    blob = HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, align);
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}

ElementsAttr ModelBuilder::getTable(StringRef name, ArrayRef<int64_t> dims,
                                    llvm::function_ref<void(MutableArrayRef<float>)> compute) {
  ElementsAttr &known = tables[name];
  if (known)
    return known;
  auto type = RankedTensorType::get(dims, builder.getF32Type());
  AsmResourceBlob blob =
      HeapAsmResourceBlob::allocate(static_cast<size_t>(type.getNumElements()) * sizeof(float), alignof(float));
  compute({reinterpret_cast<float *>(blob.getMutableData().data()), static_cast<size_t>(type.getNumElements())});
  return known = DenseResourceElementsAttr::get(type, name, std::move(blob));
}

void ModelBuilder::fail(const Twine &message) {
  if (problem.empty())
    problem = message.str();
}

OwningOpRef<ModuleOp> ModelBuilder::finish() {
  if (hasFailed())
    return {};
  if (failed(verify(*module))) {
    fail(weights.getName() + ": the model's graph is not valid");
    return {};
  }
  return std::move(module);
}

//===-- Parts -------------------------------------------------------------------------------------===//

std::optional<Activation> findActivation(StringRef name, std::string &known) {
  static constexpr std::pair<llvm::StringLiteral, Activation> table[] = {
      {"gelu", Activation::Gelu}, {"gelu_new", Activation::GeluTanh}, {"gelu_pytorch_tanh", Activation::GeluTanh},
      {"relu", Activation::Relu}, {"silu", Activation::Silu},         {"swish", Activation::Silu}};
  known.clear();
  for (auto [known_name, activation] : table) {
    if (name == known_name)
      return activation;
    known += (known.empty() ? "" : ", ") + known_name.str();
  }
  return std::nullopt;
}

Part::Part(ModelBuilder &model, StringRef name, StringRef kind)
    : GraphBuilder(model.builder, getSourceLocation(&model.context, name, kind, model.weights.getName())), model(model),
      name(name) {}

void Part::refuse(Refusal, const Twine &message) { model.fail(model.weights.getName() + ": " + name + ": " + message); }

Value Part::weight(const Twine &tensor, ArrayRef<int64_t> dims) {
  const std::string full = tensor.str();
  const ModelBuilder::Weight weight = model.getWeight(full, dims);
  if (!weight.elements)
    return {};
  Value constant = emitConstant(weight.elements);
  if (constant)
    constant.getDefiningOp<ConstantOp>().setNamesAttr(builder.getStrArrayAttr({escapeControlCharacters(full)}));
  return weight.format ? emit<DecodeBlocksOp>(*weight.format, constant) : cast(constant, builder.getF32Type());
}

Value Part::rows(Value table, Value ids) {
  if (!table || !ids)
    return {};
  return emit<GatherOp>(table, check(ids, getDim(typeOf(table), 0)), 0, IntegerAttr(), /*in_range=*/true);
}

Value Part::multiply(Value x, Value table) {
  return emit<ContractOp>(x, table, ArrayRef<int64_t>{}, ArrayRef<int64_t>{}, ArrayRef<int64_t>{2},
                          ArrayRef<int64_t>{1});
}

Value Part::addToRows(Value x, Value vector) {
  if (!x || !vector)
    return {};
  return emit<AddOp>(x, broadcast(vector, getDims(typeOf(x))));
}

Value Part::linear(Value x, const Twine &tensor, int64_t inputs, int64_t outputs, bool hasBias) {
  Value product = multiply(x, weight(tensor + ".weight", {outputs, inputs}));
  return hasBias ? addToRows(product, weight(tensor + ".bias", {outputs})) : product;
}

Value Part::linearTransposed(Value x, const Twine &tensor, int64_t inputs, int64_t outputs) {
  Value product = emit<ContractOp>(x, weight(tensor + ".weight", {inputs, outputs}), ArrayRef<int64_t>{},
                                   ArrayRef<int64_t>{}, ArrayRef<int64_t>{2}, ArrayRef<int64_t>{0});
  return addToRows(product, weight(tensor + ".bias", {outputs}));
}

Value Part::layerNorm(Value x, const Twine &tensor, int64_t width, double epsilon) {
  return emit<LayerNormOp>(x, weight(tensor + ".weight", {width}), weight(tensor + ".bias", {width}), int64_t(2),
                           llvm::APFloat(static_cast<float>(epsilon)));
}

Value Part::rmsNorm(Value x, const Twine &tensor, int64_t width, double epsilon, bool isLessOne) {
  Value scale = weight(tensor + ".weight", {width});
  if (scale && isLessOne)
    scale = emitShifted(*this, scale, 1);
  return emit<RmsNormOp>(x, scale, llvm::APFloat(static_cast<float>(epsilon)));
}

Value Part::activate(Activation activation, Value x) {
  if (!x)
    return {};
  switch (activation) {
  case Activation::Gelu:
    return emitGelu(*this, x);
  case Activation::Relu:
    return emitRelu(*this, x);
  case Activation::Silu:
    return emit<MulOp>(x, emitSigmoid(*this, x));
  case Activation::GeluTanh: {
    // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
    Value cube = emit<MulOp>(emit<MulOp>(x, x), x);
    Value inner = emitScaled(*this, emit<AddOp>(x, emitScaled(*this, cube, 0.044715)), std::sqrt(2 / M_PI));
    return emit<MulOp>(emitScaled(*this, x, 0.5), emitShifted(*this, emit<TanhOp>(inner), 1));
  }
  }
  return {};
}

Value Part::splitHeads(Value x, int64_t heads, int64_t depth) {
  if (!x)
    return {};
  SmallVector<DimAttr> dims = getDims(typeOf(x));
  return reshape(x, {dims[0], dims[1], dim(heads), dim(depth)});
}

Value Part::joinHeads(Value x) {
  if (!x)
    return {};
  SmallVector<DimAttr> dims = getDims(typeOf(x));
  return reshape(x, {dims[0], dims[1], dims[2] * dims[3]});
}

Value Part::makeKeyMask(Value given) {
  SmallVector<DimAttr> dims = getDims(typeOf(given));
  Value counts = emit<CompareOp>(ComparePredicate::ne, given, splatLike(0, given));
  return reshape(counts, {dims[0], dim(1), dim(1), dims[1]});
}

Value Part::check(Value indices, ArrayRef<DimAttr> sizes) {
  return indices ? emit<CheckIndicesOp>(indices, toArray(sizes), /*from_start=*/true) : Value();
}

Value Part::writePages(StringRef cache, Type cacheType, Value rows, Value at) {
  if (!rows || !at)
    return {};
  Value old = emitAs<VariableLoadOp>(cacheType, cache);
  SmallVector<DimAttr> dims = getDims(typeOf(rows));
  Value all =
      emit<ScatterOp>(ScatterKind::set, old, at, reshape(rows, ArrayRef(dims).drop_front()), ArrayRef<int64_t>{0, 2});
  if (!all)
    return {};
  OperationState state(location, VariableStoreOp::getOperationName());
  VariableStoreOp::build(builder, state, TypeRange(), all, cache);
  finish(state);
  return all;
}

Value Part::attend(Value query, const Pages &pages, const AttentionRules &rules) {
  if (!query || !pages.keys || !pages.values)
    return {};
  SmallVector<DimAttr> dims = getDims(typeOf(query));
  Value result =
      emit<PagedAttentionOp>(reshape(query, ArrayRef(dims).drop_front()), pages.keys, pages.values, pages.table,
                             pages.starts, pages.lengths, builder.getF64FloatAttr(rules.scale), FloatAttr(),
                             rules.window ? builder.getI64IntegerAttr(*rules.window) : IntegerAttr());
  return reshape(result, dims);
}

Value Part::attend(Value query, Value key, Value value, const AttentionRules &rules) {
  if (!query || !key || !value)
    return {};
  SmallVector<DimAttr> dims = getDims(typeOf(query));
  dims[3] = getDim(typeOf(value), 3);
  Type element = typeOf(query).getElementType();
  DenseI64ArrayAttr order = builder.getDenseI64ArrayAttr({0, 2, 1, 3});
  OperationState state(location, AttentionOp::getOperationName());
  AttentionOp::build(builder, state, getTensorType(dims, element), Type(), query, key, value, rules.mask, Value(),
                     builder.getF64FloatAttr(rules.scale), FloatAttr(),
                     rules.isCausal ? builder.getUnitAttr() : UnitAttr(),
                     rules.window ? builder.getI64IntegerAttr(*rules.window) : IntegerAttr(), DimAttr(),
                     rules.mask ? builder.getUnitAttr() : UnitAttr(), order, order, order, order);
  Operation *op = finish(state);
  return op ? op->getResult(0) : Value();
}

} // namespace vx
