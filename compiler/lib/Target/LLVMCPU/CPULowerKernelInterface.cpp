// vx-cpu-lower-kernel-interface: vxk ops become reads of the parameter block (vx/abi/kernel.h).
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/Target/LLVMCPU/Passes.h"
#include "vx/abi/kernel.h"
#include <map>

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CPULOWERKERNELINTERFACEPASS
#include "vx/Target/LLVMCPU/Passes.h.inc"

namespace {

/// What a thread's stack surely has room for beside its callers.
constexpr int64_t maxStackBytes = 256 << 10;

constexpr llvm::StringLiteral faultFunctionName = "vx.report_fault";

/// By the rank of the place that they report.
using FaultFunctions = llvm::DenseMap<size_t, LLVM::LLVMFuncOp>;

/// A buffer of the parameter block and how the kernel uses it.
struct BufferUse {
  bool read = false, written = false;
};

class KernelLowering {
public:
  KernelLowering(func::FuncOp kernel, const FaultFunctions &faults)
      : kernel(kernel), faults(faults), context(kernel.getContext()), converter(context),
        pointer(LLVM::LLVMPointerType::get(context)) {}

  LogicalResult run();

private:
  void collect();
  LogicalResult checkStack();
  func::FuncOp createBody();
  void createEntry(func::FuncOp body);
  void lower(func::FuncOp body);
  /// The 64-bit word `index` of the block, which never changes during a call.
  Value loadWord(OpBuilder &builder, Location location, Value block, int64_t index, Type type);
  Value countWorkgroups(OpBuilder &builder, Location location, Value block);
  Value toIndex(OpBuilder &builder, Location location, Value value) {
    return arith::IndexCastOp::create(builder, location, builder.getIndexType(), value);
  }
  /// A memref of the identity layout at `address`.
  Value describe(OpBuilder &builder, Location location, MemRefType type, Value address, ValueRange sizes);

  func::FuncOp kernel;
  const FaultFunctions &faults;
  MLIRContext *context;
  LLVMTypeConverter converter;
  LLVM::LLVMPointerType pointer;
  std::map<int64_t, BufferUse> buffers; // by index
};

LogicalResult KernelLowering::run() {
  if (kernel.getNumArguments() != 0 || kernel.getNumResults() != 0)
    return kernel.emitOpError() << "is a kernel: want no arguments and no results, got " << kernel.getFunctionType();
  collect();
  if (failed(checkStack()))
    return failure();
  func::FuncOp body = createBody();
  lower(body);
  createEntry(body);
  return success();
}

void KernelLowering::collect() {
  kernel.walk([&](vxk::BufferOp buffer) {
    BufferUse &use = buffers[buffer.getIndex()];
    use.read |= buffer.getAccess() != vxk::Access::write;
    use.written |= buffer.getAccess() != vxk::Access::read;
  });
  // An operand that nothing reads has lost its op, but not its word of the block. Results come last, and are written.
  for (int64_t index = 0, count = buffers.empty() ? 0 : buffers.rbegin()->first; index < count; ++index)
    buffers.try_emplace(index);
}

LogicalResult KernelLowering::checkStack() {
  int64_t bytes = 0;
  SmallVector<memref::AllocaOp> allocas;
  WalkResult walk = kernel.walk([&](Operation *op) {
    if (llvm::isa<memref::AllocOp>(op)) {
      op->emitOpError() << "is left in kernel '" << kernel.getName() << "': a kernel allocates no memory";
      return WalkResult::interrupt();
    }
    auto alloca = llvm::dyn_cast<memref::AllocaOp>(op);
    if (!alloca)
      return WalkResult::advance();
    MemRefType type = alloca.getType();
    if (!type.hasStaticShape()) {
      alloca.emitOpError() << "has the type " << type << ": a kernel's stack buffers have static shapes";
      return WalkResult::interrupt();
    }
    Type element = type.getElementType();
    int64_t elementBytes = 0;
    if (auto vectorType = llvm::dyn_cast<VectorType>(element))
      elementBytes = (vectorType.getNumElements() * vectorType.getElementTypeBitWidth() + 7) / 8;
    else
      elementBytes = element.isIndex() ? 8 : (element.getIntOrFloatBitWidth() + 7) / 8;
    bytes += type.getNumElements() * elementBytes;
    allocas.push_back(alloca);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  if (bytes > maxStackBytes)
    return kernel.emitOpError() << "keeps " << bytes << " bytes on the stack, at most " << maxStackBytes
                                << " are allowed";
  for (memref::AllocaOp alloca : allocas) {
    // In a loop it would take more stack at each turn.
    alloca->moveBefore(&kernel.getBody().front(), kernel.getBody().front().begin());
    if (!alloca.getAlignment())
      alloca.setAlignment(VX_BUFFER_ALIGNMENT);
  }
  return success();
}

Value KernelLowering::loadWord(OpBuilder &builder, Location location, Value block, int64_t index, Type type) {
  Value address = LLVM::GEPOp::create(builder, location, pointer, builder.getI64Type(), block,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  auto load = LLVM::LoadOp::create(builder, location, type, address, /*alignment=*/8);
  load.setInvariant(true);
  return load;
}

func::FuncOp KernelLowering::createBody() {
  OpBuilder builder(kernel);
  // (block, workgroup number, buffers...)
  SmallVector<Type> types = {pointer, builder.getI64Type()};
  types.append(buffers.size(), pointer);
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
  for (const auto &[index, use] : buffers) {
    body.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(VX_BUFFER_ALIGNMENT));
    body.setArgAttr(argument, LLVM::LLVMDialect::getNoUndefAttrName(), builder.getUnitAttr());
    if (!use.written)
      body.setArgAttr(argument, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
    if (!inPlace || !llvm::is_contained(inPlace.asArrayRef(), index))
      body.setArgAttr(argument, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    ++argument;
  }
  return body;
}

void KernelLowering::createEntry(func::FuncOp body) {
  OpBuilder builder(kernel);
  Location location = kernel.getLoc();
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  std::string name = kernel.getName().str();
  auto entry = func::FuncOp::create(builder, location, name, builder.getFunctionType({pointer, i32, i32}, {}));
  entry->setAttr("vxk.entry", builder.getUnitAttr());
  Block *block = entry.addEntryBlock();
  builder.setInsertionPointToStart(block);
  Value x = arith::ExtUIOp::create(builder, location, i64, block->getArgument(1));
  Value y = arith::ExtUIOp::create(builder, location, i64, block->getArgument(2));
  Value width = arith::ConstantIntOp::create(builder, location, i64, VX_GRID_X);
  Value id = arith::AddIOp::create(builder, location, x, arith::MulIOp::create(builder, location, y, width));
  SmallVector<Value> arguments = {block->getArgument(0), id};
  for (const auto &entry : buffers)
    arguments.push_back(
        loadWord(builder, location, block->getArgument(0), VX_BLOCK_FIRST_BUFFER + entry.first, pointer));
  func::CallOp::create(builder, location, body, arguments);
  func::ReturnOp::create(builder, location);
  kernel.erase();
}

Value KernelLowering::describe(OpBuilder &builder, Location location, MemRefType type, Value address,
                               ValueRange sizes) {
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
  Value descriptor = MemRefDescriptor::pack(builder, location, converter, type, fields);
  return UnrealizedConversionCastOp::create(builder, location, type, descriptor).getResult(0);
}

Value KernelLowering::countWorkgroups(OpBuilder &builder, Location location, Value block) {
  Value count = loadWord(builder, location, block, VX_BLOCK_WORKGROUPS, builder.getI64Type());
  if (!kernel->hasAttr(vxk::kGuardedAttr))
    return count;
  Value record = loadWord(builder, location, block, VX_BLOCK_FAULT, pointer);
  Value faults = LLVM::LoadOp::create(builder, location, builder.getI32Type(), record); // the record begins with them
  Value none = arith::ConstantIntOp::create(builder, location, 0, 32);
  Value isRight = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, faults, none);
  return arith::SelectOp::create(builder, location, isRight, count,
                                 arith::ConstantIntOp::create(builder, location, 0, 64));
}

void KernelLowering::lower(func::FuncOp body) {
  Block &entry = body.getBody().front();
  Value block = entry.getArgument(0);
  SmallVector<Operation *> ops;
  body.walk([&](Operation *op) {
    if (llvm::isa_and_present<vxk::VXKDialect>(op->getDialect()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Location location = op->getLoc();
    Value replacement;
    if (auto scalar = llvm::dyn_cast<vxk::ScalarOp>(op)) {
      int64_t word = VX_BLOCK_FIRST_BUFFER + buffers.size() + scalar.getIndex();
      replacement = toIndex(builder, location, loadWord(builder, location, block, word, builder.getI64Type()));
    } else if (auto buffer = llvm::dyn_cast<vxk::BufferOp>(op)) {
      replacement = describe(builder, location, llvm::cast<MemRefType>(buffer.getType()),
                             entry.getArgument(2 + buffer.getIndex()), buffer.getSizes());
    } else if (auto workspace = llvm::dyn_cast<vxk::WorkspaceOp>(op)) {
      Value address = loadWord(builder, location, block, VX_BLOCK_WORKSPACE, pointer);
      auto type = llvm::cast<MemRefType>(workspace.getType());
      replacement = describe(builder, location, type, address,
                             type.hasStaticShape() ? ValueRange() : ValueRange(workspace.getSize()));
    } else if (llvm::isa<vxk::WorkgroupIdOp>(op)) {
      replacement = toIndex(builder, location, entry.getArgument(1));
    } else if (llvm::isa<vxk::WorkgroupCountOp>(op)) {
      replacement = toIndex(builder, location, countWorkgroups(builder, location, block));
    } else if (llvm::isa<vxk::ThreadIdOp>(op)) {
      replacement = arith::ConstantIndexOp::create(builder, location, 0);
    } else if (auto report = llvm::dyn_cast<vxk::ReportFaultOp>(op)) {
      auto branch = scf::IfOp::create(builder, location, report.getCondition(), /*withElseRegion=*/false);
      OpBuilder inner = branch.getThenBodyBuilder();
      Value site = arith::ConstantIntOp::create(inner, location, inner.getI64Type(), report.getSite());
      SmallVector<Value> arguments = {block, site, report.getValue(), report.getLower(), report.getUpper()};
      llvm::append_range(arguments, report.getPlace().take_front(VX_FAULT_PLACES));
      LLVM::CallOp::create(inner, location, faults.at(report.getPlace().size()), arguments);
    }
    // A workgroup is one thread: a barrier has nothing to wait for.
    if (replacement)
      op->getResult(0).replaceAllUsesWith(replacement);
    op->erase();
  }
}

/// void vx.report_fault.RANK(block, site, value, lower, upper, place...)
LLVM::LLVMFuncOp createFaultFunction(ModuleOp module, size_t rank) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  MLIRContext *context = module.getContext();
  Location location = UnknownLoc::get(context);
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  SmallVector<Type> types = {pointer, i64, i64, i64, i64};
  types.append(std::min<size_t>(rank, VX_FAULT_PLACES), i64);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto function = LLVM::LLVMFuncOp::create(builder, location, (faultFunctionName + "." + Twine(rank)).str(), type,
                                           LLVM::Linkage::Internal);
  function.setNoInlineAttr(builder.getUnitAttr());
  function.setPassthroughAttr(builder.getArrayAttr({builder.getStringAttr("cold")}));

  Block *entry = function.addEntryBlock(builder);
  Block *first = builder.createBlock(&function.getBody()), *done = builder.createBlock(&function.getBody());
  builder.setInsertionPointToStart(entry);
  auto field = [&](Value base, size_t offset) -> Value {
    return LLVM::GEPOp::create(builder, location, pointer, builder.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  };
  auto word = [&](int64_t index, Type type) -> Value {
    return LLVM::LoadOp::create(builder, location, type, field(entry->getArgument(0), index * sizeof(uint64_t)));
  };
  Value record = word(VX_BLOCK_FAULT, pointer);
  Value one = LLVM::ConstantOp::create(builder, location, builder.getI32IntegerAttr(1));
  Value zero = LLVM::ConstantOp::create(builder, location, builder.getI32IntegerAttr(0));
  Value before =
      LLVM::AtomicRMWOp::create(builder, location, LLVM::AtomicBinOp::add,
                                field(record, offsetof(vx_fault_record, count)), one, LLVM::AtomicOrdering::monotonic);
  Value isFirst = LLVM::ICmpOp::create(builder, location, LLVM::ICmpPredicate::eq, before, zero);
  LLVM::CondBrOp::create(builder, location, isFirst, first, done);

  builder.setInsertionPointToStart(first);
  Value site = LLVM::AddOp::create(builder, location, word(VX_BLOCK_FAULT_SITE, i64), entry->getArgument(1));
  LLVM::StoreOp::create(builder, location, LLVM::TruncOp::create(builder, location, i32, site),
                        field(record, offsetof(vx_fault_record, site)));
  LLVM::StoreOp::create(builder, location, entry->getArgument(2), field(record, offsetof(vx_fault_record, value)));
  LLVM::StoreOp::create(builder, location, entry->getArgument(3), field(record, offsetof(vx_fault_record, lower)));
  LLVM::StoreOp::create(builder, location, entry->getArgument(4), field(record, offsetof(vx_fault_record, upper)));
  LLVM::StoreOp::create(
      builder, location,
      LLVM::ConstantOp::create(builder, location, builder.getI64IntegerAttr(static_cast<int64_t>(rank))),
      field(record, offsetof(vx_fault_record, rank)));
  for (auto [d, index] : llvm::enumerate(entry->getArguments().drop_front(5)))
    LLVM::StoreOp::create(builder, location, index,
                          field(record, offsetof(vx_fault_record, place) + d * sizeof(vx_fault_record::place[0])));
  LLVM::BrOp::create(builder, location, done);
  builder.setInsertionPointToStart(done);
  LLVM::ReturnOp::create(builder, location, ValueRange());
  return function;
}

class CPULowerKernelInterfacePass : public impl::CPULowerKernelInterfacePassBase<CPULowerKernelInterfacePass> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    FaultFunctions faults;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (!function->hasAttr("vxk.kernel"))
        continue;
      kernels.push_back(function);
    }
    for (func::FuncOp kernel : kernels)
      kernel.walk([&](vxk::ReportFaultOp report) {
        size_t rank = report.getPlace().size();
        if (!faults.contains(rank))
          faults[rank] = createFaultFunction(module, rank);
      });
    for (func::FuncOp kernel : kernels)
      if (failed(KernelLowering(kernel, faults).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx
