#include "vx/Codegen/Common/KernelInterface.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "vx/abi/kernel.h"

using namespace mlir;

namespace vx {

KernelInterface::KernelInterface(func::FuncOp kernel, unsigned space, Type number)
    : kernel(kernel), converter(kernel.getContext()),
      pointerType(LLVM::LLVMPointerType::get(kernel.getContext(), space)), numberType(number) {
  kernel.walk([&](vxk::BufferOp buffer) { buffers[buffer.getIndex()] |= buffer.getAccess() != vxk::Access::read; });
  // An operand that nothing reads has lost its op, but not its word of the block. Results come last, and are written.
  for (int64_t index = 0, count = buffers.empty() ? 0 : buffers.rbegin()->first; index < count; ++index)
    buffers.try_emplace(index, false);
}

LogicalResult KernelInterface::check() {
  if (kernel.getNumArguments() == 0 && kernel.getNumResults() == 0)
    return success();
  return kernel.emitOpError() << "expects no arguments and no results of a kernel, got " << kernel.getFunctionType();
}

func::FuncOp KernelInterface::createBody() {
  OpBuilder builder(kernel);
  // (block, workgroup number, buffers...)
  SmallVector<Type> types = {pointerType, numberType};
  types.append(buffers.size(), pointerType);
  auto body = func::FuncOp::create(builder, kernel.getLoc(), (kernel.getName() + ".body").str(),
                                   builder.getFunctionType(types, {}));
  body.setPrivate();
  body.getBody().takeBody(kernel.getBody());
  Block &block = body.getBody().front();
  for (Type type : types)
    block.addArgument(type, kernel.getLoc());

  body.setArgAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  body.setArgAttr(0, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
  // What may lie over one another keeps its order: an operand is read before a result is written over it.
  auto inPlace = kernel->getAttrOfType<DenseI64ArrayAttr>(vxk::kInPlaceAttr);
  unsigned argument = 2;
  for (auto [index, isWritten] : buffers) {
    body.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(VX_BUFFER_ALIGNMENT));
    body.setArgAttr(argument, LLVM::LLVMDialect::getNoUndefAttrName(), builder.getUnitAttr());
    if (!isWritten)
      body.setArgAttr(argument, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
    if (!inPlace || !llvm::is_contained(inPlace.asArrayRef(), index))
      body.setArgAttr(argument, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    ++argument;
  }
  return body;
}

Value KernelInterface::lowerRead(Operation *op, Block &entry) {
  OpBuilder builder(op);
  Location location = op->getLoc();
  Value block = entry.getArgument(0);
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, location, builder.getIndexType(), value);
  };
  if (auto scalar = dyn_cast<vxk::ScalarOp>(op)) {
    int64_t word = VX_BLOCK_FIRST_BUFFER + static_cast<int64_t>(buffers.size() + scalar.getIndex());
    return toIndex(loadWord(builder, location, block, word, builder.getI64Type()));
  }
  if (auto buffer = dyn_cast<vxk::BufferOp>(op))
    return describeBuffer(builder, location, cast<MemRefType>(buffer.getType()),
                          entry.getArgument(2 + buffer.getIndex()), buffer.getSizes());
  if (auto workspace = dyn_cast<vxk::WorkspaceOp>(op)) {
    Value address = loadWord(builder, location, block, VX_BLOCK_WORKSPACE, pointerType);
    auto type = cast<MemRefType>(workspace.getType());
    return describeBuffer(builder, location, type, address,
                          type.hasStaticShape() ? ValueRange() : ValueRange(workspace.getSize()));
  }
  if (isa<vxk::WorkgroupIdOp>(op))
    return numberType.isIndex() ? entry.getArgument(1) : toIndex(entry.getArgument(1));
  if (isa<vxk::WorkgroupCountOp>(op))
    return toIndex(countWorkgroups(builder, location, block));
  return {};
}

void KernelInterface::callBody(OpBuilder &builder, func::FuncOp body, Value block, Value number) {
  Location location = kernel.getLoc();
  SmallVector<Value> arguments = {block, number};
  for (auto [index, isWritten] : buffers)
    arguments.push_back(loadWord(builder, location, block, VX_BLOCK_FIRST_BUFFER + index, pointerType));
  func::CallOp::create(builder, location, body, arguments);
  func::ReturnOp::create(builder, location);
  kernel.erase();
}

Value KernelInterface::loadWord(OpBuilder &builder, Location location, Value block, int64_t index, Type type) const {
  Value address = LLVM::GEPOp::create(builder, location, pointerType, builder.getI64Type(), block,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  auto load = LLVM::LoadOp::create(builder, location, type, address, /*alignment=*/8);
  load.setInvariant(true);
  return load;
}

Value KernelInterface::describe(OpBuilder &builder, Location location, MemRefType type, Value address,
                                ValueRange sizes) const {
  Type i64 = builder.getI64Type();
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(builder, location, i64, value); };
  SmallVector<Value> dims(type.getRank()), strides(type.getRank());
  unsigned next = 0;
  for (int64_t d = 0; d < type.getRank(); ++d)
    dims[d] = type.isDynamicDim(d) ? arith::IndexCastOp::create(builder, location, i64, sizes[next++]).getResult()
                                   : constant(type.getDimSize(d));
  Value stride = constant(1);
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    strides[d] = stride;
    if (d > 0)
      stride = arith::MulIOp::create(builder, location, stride, dims[d], arith::IntegerOverflowFlags::nsw);
  }
  SmallVector<Value> fields = {address, address, constant(0)};
  fields.append(dims);
  fields.append(strides);
  auto place = cast<LLVM::LLVMPointerType>(address.getType());
  MemRefType placed = place.getAddressSpace() == 0
                          ? type
                          : MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(),
                                            builder.getI64IntegerAttr(place.getAddressSpace()));
  Value descriptor = MemRefDescriptor::pack(builder, location, converter, placed, fields);
  return UnrealizedConversionCastOp::create(builder, location, type, descriptor).getResult(0);
}

/// In the generic address space, which is that of a memref without a memory space; LLVM finds out again which it is.
Value KernelInterface::describeBuffer(OpBuilder &builder, Location location, MemRefType type, Value address,
                                      ValueRange sizes) const {
  if (pointerType.getAddressSpace() != 0)
    address =
        LLVM::AddrSpaceCastOp::create(builder, location, LLVM::LLVMPointerType::get(builder.getContext()), address);
  return describe(builder, location, type, address, sizes);
}

Value KernelInterface::countWorkgroups(OpBuilder &builder, Location location, Value block) const {
  Value count = loadWord(builder, location, block, VX_BLOCK_WORKGROUPS, builder.getI64Type());
  if (!kernel->hasAttr(vxk::kGuardedAttr))
    return count;
  Value record = loadWord(builder, location, block, VX_BLOCK_FAULT, pointerType);
  Value faults = LLVM::LoadOp::create(builder, location, builder.getI32Type(), record); // the record begins with them
  Value none = arith::ConstantIntOp::create(builder, location, 0, 32);
  Value isRight = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, faults, none);
  return arith::SelectOp::create(builder, location, isRight, count,
                                 arith::ConstantIntOp::create(builder, location, 0, 64));
}

/// The field at this byte of the fault record.
static Value getField(OpBuilder &builder, Location location, Value record, size_t offset) {
  return LLVM::GEPOp::create(builder, location, record.getType(), builder.getI8Type(), record,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

Value countFault(OpBuilder &builder, Location location, Value record) {
  Value one = LLVM::ConstantOp::create(builder, location, builder.getI32IntegerAttr(1));
  Value count = getField(builder, location, record, offsetof(vx_fault_record, count));
  Value before =
      LLVM::AtomicRMWOp::create(builder, location, LLVM::AtomicBinOp::add, count, one, LLVM::AtomicOrdering::monotonic);
  Value zero = LLVM::ConstantOp::create(builder, location, builder.getI32IntegerAttr(0));
  return LLVM::ICmpOp::create(builder, location, LLVM::ICmpPredicate::eq, before, zero);
}

void storeFault(OpBuilder &builder, Location location, Value record, Value site, Value value, Value lower, Value upper,
                int64_t rank, ValueRange place) {
  auto store = [&](Value field, size_t offset) {
    LLVM::StoreOp::create(builder, location, field, getField(builder, location, record, offset));
  };
  store(LLVM::TruncOp::create(builder, location, builder.getI32Type(), site), offsetof(vx_fault_record, site));
  store(value, offsetof(vx_fault_record, value));
  store(lower, offsetof(vx_fault_record, lower));
  store(upper, offsetof(vx_fault_record, upper));
  store(LLVM::ConstantOp::create(builder, location, builder.getI64IntegerAttr(rank)), offsetof(vx_fault_record, rank));
  for (auto [d, index] : llvm::enumerate(place.take_front(VX_FAULT_PLACES)))
    store(index, offsetof(vx_fault_record, place) + d * sizeof(vx_fault_record::place[0]));
}

} // namespace vx
