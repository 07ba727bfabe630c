// vx-gpu-lower-kernel-interface: vxk ops become reads of the parameter block (vx/abi/kernel.h) and gpu ops.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/Common/KernelInterface.h"
#include "vx/Codegen/Common/Passes.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/abi/kernel.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_GPULOWERKERNELINTERFACEPASS
#include "vx/Codegen/LLVMGPU/Passes.h.inc"

namespace {

/// Workgroup memory is read in vectors of up to this many bytes.
constexpr int64_t workgroupMemoryAlignment = 16;

class KernelLowering {
public:
  KernelLowering(func::FuncOp kernel, bool keepStepsRolled)
      : kernel(kernel), keepStepsRolled(keepStepsRolled), context(kernel.getContext()),
        interface(kernel, kGlobalAddressSpace, IndexType::get(context)) {
    if (auto attribute = kernel->getAttrOfType<IntegerAttr>(vxk::kThreadsAttr))
      threads = attribute.getInt();
  }

  LogicalResult run() {
    if (failed(interface.check()) || failed(placeWorkgroupMemory()))
      return failure();
    func::FuncOp body = interface.createBody();
    keepRolled(body);
    lower(body);
    createEntry(body);
    return success();
  }

private:
  LogicalResult placeWorkgroupMemory() {
    SmallVector<memref::AllocOp> allocs;
    kernel.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    for (auto [number, alloc] : llvm::enumerate(allocs)) {
      MemRefType type = alloc.getType();
      auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
      if (!space || space.getValue() != gpu::AddressSpace::Workgroup || !type.hasStaticShape())
        return alloc.emitOpError() << "expects workgroup memory of a static shape, got " << type;
      OpBuilder builder(kernel);
      Location location = alloc.getLoc();
      Type array = LLVM::LLVMArrayType::get(type.getElementType(), std::max<int64_t>(1, type.getNumElements()));
      std::string name = (kernel.getName() + ".workgroup_memory_" + std::to_string(number)).str();
      auto variable = LLVM::GlobalOp::create(builder, location, array, /*isConstant=*/false, LLVM::Linkage::Internal,
                                             name, Attribute(), workgroupMemoryAlignment, kWorkgroupAddressSpace);
      builder.setInsertionPoint(alloc);
      Value address = LLVM::AddressOfOp::create(
          builder, location, LLVM::LLVMPointerType::get(context, kWorkgroupAddressSpace), variable.getSymName());
      alloc.replaceAllUsesWith(interface.describe(builder, location, type, address, {}));
      alloc.erase();
    }
    return success();
  }

  void createEntry(func::FuncOp body) {
    OpBuilder builder(kernel);
    Location location = kernel.getLoc();
    auto entry = func::FuncOp::create(builder, location, kernel.getName(),
                                      builder.getFunctionType({Type(interface.pointer())}, {}));
    entry->setAttr(kGPUEntryAttr, builder.getI64IntegerAttr(threads));
    Block *block = entry.addEntryBlock();
    builder.setInsertionPointToStart(block);
    IntegerAttr limit = builder.getIndexAttr(VX_GRID_X);
    Value x = gpu::BlockIdOp::create(builder, location, builder.getIndexType(), gpu::Dimension::x, limit);
    Value y = gpu::BlockIdOp::create(builder, location, builder.getIndexType(), gpu::Dimension::y, limit);
    Value width = arith::ConstantIndexOp::create(builder, location, VX_GRID_X);
    Value number = arith::AddIOp::create(builder, location, x, arith::MulIOp::create(builder, location, y, width));
    interface.callBody(builder, body, block->getArgument(0), number);
  }

  void lowerFault(OpBuilder &builder, Value block, vxk::ReportFaultOp report) {
    Location location = report.getLoc();
    auto raised = scf::IfOp::create(builder, location, report.getCondition(), /*withElseRegion=*/false);
    builder.setInsertionPointToStart(raised.thenBlock());
    Value record = interface.loadWord(builder, location, block, VX_BLOCK_FAULT, interface.pointer());
    auto won = scf::IfOp::create(builder, location, countFault(builder, location, record), /*withElseRegion=*/false);
    builder.setInsertionPointToStart(won.thenBlock());
    Value site = interface.loadWord(builder, location, block, VX_BLOCK_FAULT_SITE, builder.getI64Type());
    site =
        LLVM::AddOp::create(builder, location, site,
                            LLVM::ConstantOp::create(builder, location, builder.getI64IntegerAttr(report.getSite())));
    storeFault(builder, location, record, site, report.getValue(), report.getLower(), report.getUpper(),
               static_cast<int64_t>(report.getPlace().size()), report.getPlace());
  }

  /// A step of a product by fragments is long already: unrolled whole, it takes more registers than there are.
  /// So is any step between barriers, when the loads of all of them are moved to the front.
  void keepRolled(func::FuncOp body) {
    auto unroll = LLVM::LoopUnrollAttr::get(context, /*disable=*/BoolAttr::get(context, true), {}, {}, {}, {}, {}, {});
    auto annotation = LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                                                    ArrayRef<LLVM::AccessGroupAttr>());
    body.walk([&](Operation *op) {
      if (!isa<vxk::MultiplyAccumulateOp>(op) && !(keepStepsRolled && isa<vxk::BarrierOp>(op)))
        return;
      if (auto loop = op->getParentOfType<scf::ForOp>())
        loop->setAttr(kLoopAnnotationAttr, annotation);
    });
  }

  void lower(func::FuncOp body) {
    Block &entry = body.getBody().front();
    SmallVector<Operation *> ops;
    body.walk([&](Operation *op) {
      if (isa_and_present<vxk::VXKDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      Value replacement = interface.lowerRead(op, entry);
      OpBuilder builder(op);
      Location location = op->getLoc();
      if (isa<vxk::ThreadIdOp>(op)) {
        replacement = gpu::ThreadIdOp::create(builder, location, builder.getIndexType(), gpu::Dimension::x,
                                              builder.getIndexAttr(threads));
      } else if (isa<vxk::BarrierOp>(op)) {
        gpu::BarrierOp::create(builder, location);
      } else if (auto report = dyn_cast<vxk::ReportFaultOp>(op)) {
        lowerFault(builder, entry.getArgument(0), report);
      } else if (!replacement) {
        continue; // the target's own conversion takes it, or names it
      }
      if (replacement)
        op->getResult(0).replaceAllUsesWith(replacement);
      op->erase();
    }
  }

  func::FuncOp kernel;
  bool keepStepsRolled;
  int64_t threads = 1;
  MLIRContext *context;
  KernelInterface interface;
};

class GPULowerKernelInterfacePass : public impl::GPULowerKernelInterfacePassBase<GPULowerKernelInterfacePass> {
public:
  using GPULowerKernelInterfacePassBase::GPULowerKernelInterfacePassBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(vxk::kKernelAttr))
        kernels.push_back(function);
    for (func::FuncOp kernel : kernels) {
      expandRemainders(kernel);
      if (failed(KernelLowering(kernel, keepStepsRolled).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace vx
