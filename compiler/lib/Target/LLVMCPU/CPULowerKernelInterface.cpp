// vx-cpu-lower-kernel-interface: vxk ops become reads of the parameter block (vx/abi/kernel.h).
#include "vx/Codegen/Common/KernelInterface.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/Target/LLVMCPU/Passes.h"
#include "vx/abi/kernel.h"

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

class KernelLowering {
public:
  KernelLowering(func::FuncOp kernel, const FaultFunctions &faults)
      : kernel(kernel), faults(faults), interface(kernel, /*space=*/0, IntegerType::get(kernel.getContext(), 64)) {}

  LogicalResult run();

private:
  LogicalResult checkStack();
  void createEntry(func::FuncOp body);
  void lower(func::FuncOp body);

  func::FuncOp kernel;
  const FaultFunctions &faults;
  KernelInterface interface;
};

LogicalResult KernelLowering::run() {
  if (failed(interface.check()) || failed(checkStack()))
    return failure();
  func::FuncOp body = interface.createBody();
  lower(body);
  createEntry(body);
  return success();
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
      alloca.emitOpError() << "expects a static shape for a kernel's stack buffer, got " << type;
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
    return kernel.emitOpError() << "expects at most " << maxStackBytes << " bytes on the stack, got " << bytes;
  for (memref::AllocaOp alloca : allocas) {
    // In a loop it would take more stack at each turn.
    alloca->moveBefore(&kernel.getBody().front(), kernel.getBody().front().begin());
    if (!alloca.getAlignment())
      alloca.setAlignment(VX_BUFFER_ALIGNMENT);
  }
  return success();
}

void KernelLowering::createEntry(func::FuncOp body) {
  OpBuilder builder(kernel);
  Location location = kernel.getLoc();
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  std::string name = kernel.getName().str();
  auto entry =
      func::FuncOp::create(builder, location, name, builder.getFunctionType({interface.pointer(), i32, i32}, {}));
  entry->setAttr("vxk.entry", builder.getUnitAttr());
  Block *block = entry.addEntryBlock();
  builder.setInsertionPointToStart(block);
  Value x = arith::ExtUIOp::create(builder, location, i64, block->getArgument(1));
  Value y = arith::ExtUIOp::create(builder, location, i64, block->getArgument(2));
  Value width = arith::ConstantIntOp::create(builder, location, i64, VX_GRID_X);
  Value number = arith::AddIOp::create(builder, location, x, arith::MulIOp::create(builder, location, y, width));
  interface.callBody(builder, body, block->getArgument(0), number);
}

void KernelLowering::lower(func::FuncOp body) {
  Block &entry = body.getBody().front();
  SmallVector<Operation *> ops;
  body.walk([&](Operation *op) {
    // Sums of products, lookups and powers of two ask for nothing: they are instructions.
    if (llvm::isa_and_present<vxk::VXKDialect>(op->getDialect()) &&
        !llvm::isa<vxk::DotOp, vxk::LookupOp, vxk::ScaleOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    Value replacement = interface.lowerRead(op, entry);
    OpBuilder builder(op);
    Location location = op->getLoc();
    if (llvm::isa<vxk::ThreadIdOp>(op)) {
      replacement = arith::ConstantIndexOp::create(builder, location, 0);
    } else if (auto report = llvm::dyn_cast<vxk::ReportFaultOp>(op)) {
      auto branch = scf::IfOp::create(builder, location, report.getCondition(), /*withElseRegion=*/false);
      OpBuilder inner = branch.getThenBodyBuilder();
      Value site = arith::ConstantIntOp::create(inner, location, inner.getI64Type(), report.getSite());
      SmallVector<Value> arguments = {entry.getArgument(0), site, report.getValue(), report.getLower(),
                                      report.getUpper()};
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
  Type i64 = builder.getI64Type();
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
  auto word = [&](int64_t index, Type type) -> Value {
    Value address = LLVM::GEPOp::create(builder, location, pointer, builder.getI8Type(), entry->getArgument(0),
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index * sizeof(uint64_t))});
    return LLVM::LoadOp::create(builder, location, type, address);
  };
  Value record = word(VX_BLOCK_FAULT, pointer);
  LLVM::CondBrOp::create(builder, location, countFault(builder, location, record), first, done);

  builder.setInsertionPointToStart(first);
  Value site = LLVM::AddOp::create(builder, location, word(VX_BLOCK_FAULT_SITE, i64), entry->getArgument(1));
  storeFault(builder, location, record, site, entry->getArgument(2), entry->getArgument(3), entry->getArgument(4),
             static_cast<int64_t>(rank), entry->getArguments().drop_front(5));
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
      if (!function->hasAttr(vxk::kKernelAttr))
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
