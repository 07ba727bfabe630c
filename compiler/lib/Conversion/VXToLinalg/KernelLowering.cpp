#include "KernelLowering.h"

#include "vx/Conversion/VXToLinalg.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

Type getBodyType(Type vxElement) {
  if (isNarrow(vxElement))
    return IntegerType::get(vxElement.getContext(), 8);
  if (auto integer = dyn_cast<IntegerType>(vxElement))
    return IntegerType::get(vxElement.getContext(), integer.getWidth());
  return vxElement;
}

Type getStorageType(Type vxElement) {
  return vxElement.isInteger(1) ? IntegerType::get(vxElement.getContext(), 8) : getBodyType(vxElement);
}

Type getAccumulatorType(Type type) {
  if (auto floating = dyn_cast<FloatType>(type); floating && floating.getWidth() < 32)
    return Float32Type::get(type.getContext());
  return type;
}

static LogicalResult checkElementType(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitOpError() << "expects tensors in a kernel, got " << type;
  if (!tensor.getElementType().isIntOrFloat())
    return op->emitOpError() << "expects numbers or bools in a kernel, got " << type;
  for (DimAttr dim : getDims(tensor))
    if (!dim)
      return op->emitOpError() << "expects a size for each dimension in a kernel, got " << type;
  return success();
}

/// Narrow elements are moved and converted; `vx-widen-elements` gives wider ones to what computes with them.
static LogicalResult checkComputedElements(Operation *op) {
  if (op->hasTrait<OpTrait::Moves>() || isa<ConstantOp, SelectOp, CastOp, BitcastOp, PackOp, UnpackOp>(op))
    return success();
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())))
    if (isNarrow(getElementTypeOrSelf(type)))
      return op->emitOpError() << "expects elements to compute with of 8 bits or more, floats of 16 or more, got "
                               << type;
  return success();
}

Value KernelLowering::index(Location loc, int64_t value) {
  return dim(loc, DimAttr::constant(loc.getContext(), value));
}

Value KernelLowering::dim(Location loc, DimAttr dim) {
  if (Value known = dims.lookup(dim))
    return known;
  auto fold = [&](auto combine) {
    Value result = this->dim(loc, dim.getOperands().front());
    for (DimAttr operand : dim.getOperands().drop_front())
      result = combine(result, this->dim(loc, operand));
    return result;
  };
  auto binary = [&](auto op) {
    return fold([&](Value lhs, Value rhs) -> Value { return decltype(op)::create(builder, loc, lhs, rhs); });
  };
  Value result;
  switch (dim.getKind()) {
  case DimKind::Constant:
    result = arith::ConstantIndexOp::create(builder, loc, dim.getValue());
    break;
  case DimKind::Symbol:
    result = symbols.lookup(dim.getSymbol());
    break;
  case DimKind::Sum:
    result = binary(arith::AddIOp());
    break;
  case DimKind::Product:
    result = binary(arith::MulIOp());
    if (dim.getValue() != 1)
      result = arith::MulIOp::create(builder, loc, result, index(loc, dim.getValue()));
    break;
  case DimKind::FloorDiv:
    result = binary(arith::FloorDivSIOp());
    break;
  case DimKind::CeilDiv:
    result = binary(arith::CeilDivSIOp());
    break;
  case DimKind::Mod:
    // The remainder of a floor division; sizes are not negative, nor are divisors.
    result = fold([&](Value lhs, Value rhs) -> Value {
      Value quotient = arith::FloorDivSIOp::create(builder, loc, lhs, rhs);
      return arith::SubIOp::create(builder, loc, lhs, arith::MulIOp::create(builder, loc, quotient, rhs));
    });
    break;
  case DimKind::Max:
    result = binary(arith::MaxSIOp());
    break;
  case DimKind::Min:
    result = binary(arith::MinSIOp());
    break;
  case DimKind::Broadcast:
    result = fold([&](Value lhs, Value rhs) -> Value {
      Value isOne = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lhs, index(loc, 1));
      return arith::SelectOp::create(builder, loc, isOne, rhs, lhs);
    });
    break;
  }
  dims[dim] = result;
  return result;
}

FailureOr<Value> getOwnDestination(KernelLowering &lowering, Operation *op) {
  Value destination = lowering.destinations.lookup(op->getResult(0));
  if (!destination)
    return op->emitOpError() << "expects to be the result of its kernel, got an intermediate value", failure();
  if (!op->hasOneUse())
    return op->emitOpError() << "expects no use but as the result of its kernel, got "
                             << llvm::range_size(op->getUses()) << " uses",
           failure();
  return destination;
}

Value KernelLowering::size(Location loc, Value vxValue, int64_t dimension) {
  return dim(loc, getDim(cast<RankedTensorType>(vxValue.getType()), dimension));
}

Value KernelLowering::count(Location loc, Value vxValue, ArrayRef<int64_t> dimensions) {
  DimAttr product = DimAttr::constant(loc.getContext(), 1);
  for (int64_t dimension : dimensions)
    product = product * getDim(cast<RankedTensorType>(vxValue.getType()), dimension);
  return dim(loc, product);
}

Value KernelLowering::empty(Location loc, RankedTensorType type, Type elementType) {
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(dim(loc, getDim(type, d)));
  return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                 elementType ? elementType : getBodyType(type.getElementType()), sizes);
}

Value KernelLowering::filled(Location loc, RankedTensorType type, TypedAttr value) {
  Value scalar = arith::ConstantOp::create(builder, loc, value);
  Value init = empty(loc, type, value.getType());
  return linalg::FillOp::create(builder, loc, scalar, init).getResult(0);
}

Value KernelLowering::parallel(Location loc, RankedTensorType type, Type elementType, ValueRange operands,
                               ArrayRef<AffineMap> maps, BodyBuilder body) {
  Value init = empty(loc, type, elementType);
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(builder, loc, init.getType(), operands, init, allMaps, iterators,
                                      [&](OpBuilder &inner, Location innerLoc, ValueRange arguments) {
                                        Value result = body(inner, innerLoc, arguments.drop_back());
                                        linalg::YieldOp::create(inner, innerLoc, result);
                                      });
  return op.getResult(0);
}

Value KernelLowering::elementwise(Location loc, RankedTensorType type, Type elementType, ValueRange operands,
                                  BodyBuilder body) {
  SmallVector<AffineMap> maps(operands.size(), builder.getMultiDimIdentityMap(type.getRank()));
  return parallel(loc, type, elementType, operands, maps, body);
}

void KernelLowering::markAnchor(Operation *op, Operation *lowered) const {
  if (op->hasAttr(kAnchorAttr))
    lowered->setAttr(vxk::kAnchorAttr, UnitAttr::get(lowered->getContext()));
}

SmallVector<Value> KernelLowering::sizes(Location loc, RankedTensorType type) {
  return llvm::map_to_vector(getDims(type), [&](DimAttr size) { return dim(loc, size); });
}

Value getFlatPlace(OpBuilder &builder, Location loc, ArrayRef<Value> sizes) {
  Value place;
  for (auto [d, size] : llvm::enumerate(sizes)) {
    Value at = linalg::IndexOp::create(builder, loc, d);
    if (place)
      place = arith::MulIOp::create(builder, loc, place, size);
    place = place ? arith::AddIOp::create(builder, loc, place, at).getResult() : at;
  }
  return place ? place : Value(arith::ConstantIndexOp::create(builder, loc, 0));
}

/// Element k of a byte is in its bits from k * width on.
static Value bitsBefore(OpBuilder &builder, Location loc, Value elementOfByte, unsigned width) {
  Value bits = arith::IndexCastOp::create(builder, loc, builder.getI8Type(), elementOfByte);
  return arith::MulIOp::create(builder, loc, bits, constantScalar(builder, loc, bits.getType(), width));
}

Value KernelLowering::unpackBytes(Location loc, RankedTensorType type, Value bytes) {
  Type element = type.getElementType();
  unsigned width = element.getIntOrFloatBitWidth();
  SmallVector<Value> extents = sizes(loc, type);
  return elementwise(loc, type, builder.getI8Type(), {}, [&](OpBuilder &b, Location l, ValueRange) {
    Value place = getFlatPlace(b, l, extents), perByte = arith::ConstantIndexOp::create(b, l, 8 / width);
    Value byte = tensor::ExtractOp::create(b, l, bytes, {arith::DivUIOp::create(b, l, place, perByte).getResult()});
    Value shift = bitsBefore(b, l, arith::RemUIOp::create(b, l, place, perByte), width);
    return wrapPacked(b, l, arith::ShRUIOp::create(b, l, byte, shift), element);
  });
}

Value KernelLowering::packBytes(Location loc, RankedTensorType type, Value elements) {
  unsigned width = type.getElementTypeBitWidth();
  RankedTensorType stored = getStoredForm(type);
  SmallVector<Value> extents = sizes(loc, type);
  DimAttr count = getNumElements(type);
  Value end = dim(loc, count);
  int64_t perByte = 8 / width;
  std::optional<int64_t> known = count.asConstant();
  bool isWhole = known && *known % perByte == 0;
  Type i8 = builder.getI8Type();
  // Each byte is made of all that it holds, so that no two workers write one.
  return elementwise(loc, stored, i8, {}, [&](OpBuilder &b, Location l, ValueRange) {
    Value first = linalg::IndexOp::create(b, l, 0);
    first = arith::MulIOp::create(b, l, first, arith::ConstantIndexOp::create(b, l, perByte));
    Value byte;
    for (int64_t k = 0; k < perByte; ++k) {
      Value place =
          k == 0 ? first : arith::AddIOp::create(b, l, first, arith::ConstantIndexOp::create(b, l, k)).getResult();
      SmallVector<Value, 1> conditions;
      if (k > 0 && !isWhole)
        conditions.push_back(arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult, place, end));
      Value code = guardedRead(
          b, l, conditions,
          [&](OpBuilder &inner) -> Value {
            SmallVector<Value> at(extents.size());
            Value rest = place;
            for (size_t d = extents.size(); d-- > 1;) {
              at[d] = arith::RemUIOp::create(inner, l, rest, extents[d]);
              rest = arith::DivUIOp::create(inner, l, rest, extents[d]);
            }
            if (!at.empty())
              at[0] = rest;
            return tensor::ExtractOp::create(inner, l, elements, at);
          },
          [&](OpBuilder &inner) { return constantScalar(inner, l, i8, 0); }, i8);
      auto constant = [&](int64_t value) { return constantScalar(b, l, i8, static_cast<double>(value)); };
      code = arith::AndIOp::create(b, l, code, constant((1 << width) - 1));
      if (k > 0)
        code = arith::ShLIOp::create(b, l, code, constant(k * width));
      byte = byte ? arith::OrIOp::create(b, l, byte, code).getResult() : code;
    }
    return byte;
  });
}

void KernelLowering::write(Location loc, Value value, Value destination) {
  auto type = cast<RankedTensorType>(value.getType());
  Value tensor = get(value);
  if (isPacked(type.getElementType())) {
    tensor = packBytes(loc, type, tensor);
    type = getStoredForm(type);
  }
  if (type.getElementType().isInteger(1))
    tensor =
        elementwise(loc, type, builder.getI8Type(), tensor, [](OpBuilder &b, Location l, ValueRange args) -> Value {
          return arith::ExtUIOp::create(b, l, b.getI8Type(), args[0]);
        });
  auto stored = RankedTensorType::get(type.getShape(), getStorageType(type.getElementType()));
  if (tensor.getType() != stored)
    tensor = tensor::CastOp::create(builder, loc, stored, tensor);
  bufferization::MaterializeInDestinationOp::create(builder, loc, Type(), tensor, destination, /*restrict=*/true,
                                                    /*writable=*/true);
}

static const LoweringTable &getLoweringTable() {
  static const LoweringTable table = [] {
    LoweringTable all;
    for (auto addFamily : {addElementwiseLowerings, addShapeLowerings, addContractionLowerings, addReductionLowerings,
                           addNormLowerings, addAttentionLowerings, addIndexingLowerings})
      addFamily(all);
    return all;
  }();
  return table;
}

bool hasLoweringToLinalg(OperationName op) { return getLoweringTable().find(op) != nullptr; }

LogicalResult KernelLowering::lowerOp(Operation *op) {
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())))
    if (failed(checkElementType(op, type)))
      return failure();
  if (failed(checkComputedElements(op)))
    return failure();
  if (OpLowering lowering = getLoweringTable().find(op->getName()))
    return lowering(*this, op);
  return op->emitOpError() << "has no lowering to linalg: it is not an op of kernels";
}

LogicalResult KernelLowering::run(KernelOp kernel) {
  Location loc = kernel.getLoc();
  Block &body = kernel.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator()); // the kernel's verifier sees to it
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(body.getArgumentTypes()), SmallVector<Type>(yield.getOperandTypes())))
    if (failed(checkElementType(kernel, type)))
      return failure();

  auto function = func::FuncOp::create(builder, loc, kernel.getSymName(), builder.getFunctionType({}, {}));
  function->setAttr(vxk::kKernelAttr, builder.getUnitAttr());
  function->setAttr(vxk::kStrategyAttr, kernel.getStrategy());
  function->setAttr(vxk::kThreadsAttr, builder.getI64IntegerAttr(kernel.getStrategy().getThreads()));
  if (kernel->hasAttr(kGuardedAttr))
    function->setAttr(vxk::kGuardedAttr, builder.getUnitAttr());
  if (yield.getNumOperands() > 1) {
    llvm::SmallSetVector<int64_t, 8> inPlace;
    for (InPlacePair pair : getInPlacePairs(kernel)) {
      inPlace.insert(pair.operand);
      inPlace.insert(body.getNumArguments() + pair.result);
    }
    if (!inPlace.empty())
      function->setAttr(vxk::kInPlaceAttr, builder.getDenseI64ArrayAttr(inPlace.getArrayRef()));
  }
  builder.setInsertionPointToStart(function.addEntryBlock());
  auto ranges = kernel->getAttrOfType<DenseI64ArrayAttr>(kSymbolRangesAttr);
  for (auto [number, name] : llvm::enumerate(kernel.getSymbols().getAsRange<StringAttr>())) {
    auto range = ranges ? builder.getDenseI64ArrayAttr(ranges.asArrayRef().slice(3 * number, 3)) : DenseI64ArrayAttr();
    symbols[name] = vxk::ScalarOp::create(builder, loc, number, range);
  }

  int64_t bufferNumber = 0;
  auto buffer = [&](RankedTensorType vxType, vxk::Access access) -> Value {
    RankedTensorType type = getStoredForm(vxType);
    auto memref = MemRefType::get(type.getShape(), getStorageType(type.getElementType()));
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        sizes.push_back(dim(loc, getDim(type, d)));
    return vxk::BufferOp::create(builder, loc, memref, bufferNumber++, access, sizes);
  };
  SmallVector<Value> inputs, outputs;
  for (BlockArgument argument : body.getArguments())
    inputs.push_back(buffer(cast<RankedTensorType>(argument.getType()), vxk::Access::read));
  for (Value result : yield.getValues()) {
    bool isUpdate = isa_and_present<UpdateOpInterface>(result.getDefiningOp());
    outputs.push_back(
        buffer(cast<RankedTensorType>(result.getType()), isUpdate ? vxk::Access::read_write : vxk::Access::write));
    destinations.try_emplace(result, outputs.back());
  }

  for (auto [argument, input] : llvm::zip(body.getArguments(), inputs)) {
    auto type = cast<RankedTensorType>(argument.getType());
    RankedTensorType form = getStoredForm(type);
    auto stored = RankedTensorType::get(form.getShape(), getStorageType(form.getElementType()));
    Value tensor =
        bufferization::ToTensorOp::create(builder, loc, stored, input, /*restrict=*/true, /*writable=*/false);
    if (type.getElementType().isInteger(1))
      tensor =
          elementwise(loc, type, builder.getI1Type(), tensor, [](OpBuilder &b, Location l, ValueRange args) -> Value {
            Value zero = arith::ConstantIntOp::create(b, l, 0, 8);
            return arith::CmpIOp::create(b, l, arith::CmpIPredicate::ne, args[0], zero);
          });
    if (isPacked(type.getElementType()))
      tensor = unpackBytes(loc, type, tensor);
    set(argument, tensor);
  }
  for (Operation &op : body.without_terminator())
    if (failed(lowerOp(&op)))
      return failure();
  for (auto [result, output] : llvm::zip(yield.getValues(), outputs))
    if (values.contains(result)) // else the op wrote its destination itself
      write(loc, result, output);
  func::ReturnOp::create(builder, loc);
  builder.setInsertionPointAfter(function);
  return success();
}

} // namespace vx
