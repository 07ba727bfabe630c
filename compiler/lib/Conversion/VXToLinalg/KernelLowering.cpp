#include "KernelLowering.h"

#include "vx/Conversion/VXToLinalg.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

Type getBodyType(Type vxElement) {
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

/// Code generation handles elements of whole bytes, and the floats that arith can compute with.
static LogicalResult checkElementType(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitOpError() << "expects tensors in a kernel, got " << type;
  Type element = tensor.getElementType();
  bool known = element.isF16() || element.isBF16() || element.isF32() || element.isF64() || element.isInteger(1);
  if (auto integer = dyn_cast<IntegerType>(element))
    known |= integer.getWidth() >= 8;
  if (!known)
    return op->emitOpError() << "expects elements of type bool, f16, bf16, f32, f64 or an integer of 8 to 64 bits in a "
                                "kernel, got "
                             << type;
  for (DimAttr dim : getDims(tensor))
    if (!dim)
      return op->emitOpError() << "expects a size for each dimension in a kernel, got " << type;
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

void KernelLowering::write(Location loc, Value value, Value destination) {
  auto type = cast<RankedTensorType>(value.getType());
  Value tensor = get(value);
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
  auto buffer = [&](RankedTensorType type, vxk::Access access) -> Value {
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
    auto stored = RankedTensorType::get(type.getShape(), getStorageType(type.getElementType()));
    Value tensor =
        bufferization::ToTensorOp::create(builder, loc, stored, input, /*restrict=*/true, /*writable=*/false);
    if (type.getElementType().isInteger(1))
      tensor =
          elementwise(loc, type, builder.getI1Type(), tensor, [](OpBuilder &b, Location l, ValueRange args) -> Value {
            Value zero = arith::ConstantIntOp::create(b, l, 0, 8);
            return arith::CmpIOp::create(b, l, arith::CmpIPredicate::ne, args[0], zero);
          });
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
