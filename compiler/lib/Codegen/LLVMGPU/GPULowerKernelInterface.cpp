// vx-gpu-lower-kernel-interface: vxk ops become reads of the parameter block (vx/abi/kernel.h) and gpu ops.
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/Common/Passes.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/abi/kernel.h"
#include <map>

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_GPULOWERKERNELINTERFACEPASS
#include "vx/Codegen/LLVMGPU/Passes.h.inc"

namespace {

/// Workgroup memory is read in vectors of up to this many bytes.
constexpr int64_t workgroupMemoryAlignment = 16;

/// A buffer of the parameter block and how the kernel uses it.
struct BufferUse {
  bool written = false;
};

class KernelLowering {
public:
  KernelLowering(func::FuncOp kernel, bool keepStepsRolled)
      : kernel(kernel), keepStepsRolled(keepStepsRolled), context(kernel.getContext()), converter(context),
        generic(LLVM::LLVMPointerType::get(context)), global(LLVM::LLVMPointerType::get(context, kGlobalAddressSpace)) {
  }

  LogicalResult run() {
    if (kernel.getNumArguments() != 0 || kernel.getNumResults() != 0)
      return kernel.emitOpError() << "is a kernel: want no arguments and no results, got " << kernel.getFunctionType();
    collect();
    if (failed(placeWorkgroupMemory()))
      return failure();
    func::FuncOp body = createBody();
    keepRolled(body);
    lower(body);
    createEntry(body);
    return success();
  }

private:
  void collect() {
    kernel.walk(
        [&](vxk::BufferOp buffer) { buffers[buffer.getIndex()].written |= buffer.getAccess() != vxk::Access::read; });
    // An operand that nothing reads has lost its op, but not its word of the block. Results come last, and are written.
    int64_t count = buffers.empty() ? 0 : buffers.rbegin()->first + 1;
    if (auto stated = kernel->getAttrOfType<IntegerAttr>("vxk.buffers"))
      count = std::max(count, stated.getInt());
    for (int64_t index = 0; index < count; ++index)
      buffers.try_emplace(index);
  }

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
      alloc.replaceAllUsesWith(describe(builder, location, type, address, {}));
      alloc.erase();
    }
    return success();
  }

  /// The 64-bit word `index` of the block, which never changes during a call.
  Value loadWord(OpBuilder &builder, Location location, Value block, int64_t index, Type type) {
    Value address = LLVM::GEPOp::create(builder, location, global, builder.getI64Type(), block,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    auto load = LLVM::LoadOp::create(builder, location, type, address, /*alignment=*/8);
    load.setInvariant(true);
    return load;
  }

  Value countWorkgroups(OpBuilder &builder, Location location, Value block) {
    Value count = loadWord(builder, location, block, VX_BLOCK_WORKGROUPS, builder.getI64Type());
    if (!kernel->hasAttr(vxk::kGuardedAttr))
      return count;
    Value record = loadWord(builder, location, block, VX_BLOCK_FAULT, global);
    Value faults = LLVM::LoadOp::create(builder, location, builder.getI32Type(), record); // the record begins with them
    Value none = arith::ConstantIntOp::create(builder, location, 0, 32);
    Value isRight = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, faults, none);
    return arith::SelectOp::create(builder, location, isRight, count,
                                   arith::ConstantIntOp::create(builder, location, 0, 64));
  }

  Value toIndex(OpBuilder &builder, Location location, Value value) {
    return arith::IndexCastOp::create(builder, location, builder.getIndexType(), value);
  }

  func::FuncOp createBody() {
    OpBuilder builder(kernel);
    // (block, workgroup number, buffers...)
    SmallVector<Type> types = {global, builder.getIndexType()};
    types.append(buffers.size(), global);
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

  void createEntry(func::FuncOp body) {
    OpBuilder builder(kernel);
    Location location = kernel.getLoc();
    auto entry = func::FuncOp::create(builder, location, kernel.getName(), builder.getFunctionType({Type(global)}, {}));
    int64_t threads = 1;
    if (auto attribute = kernel->getAttrOfType<IntegerAttr>(vxk::kThreadsAttr))
      threads = attribute.getInt();
    entry->setAttr(kGPUEntryAttr, builder.getI64IntegerAttr(threads));
    Block *block = entry.addEntryBlock();
    builder.setInsertionPointToStart(block);
    IntegerAttr limit = builder.getIndexAttr(VX_GRID_X);
    Value x = gpu::BlockIdOp::create(builder, location, builder.getIndexType(), gpu::Dimension::x, limit);
    Value y = gpu::BlockIdOp::create(builder, location, builder.getIndexType(), gpu::Dimension::y, limit);
    Value width = arith::ConstantIndexOp::create(builder, location, VX_GRID_X);
    Value id = arith::AddIOp::create(builder, location, x, arith::MulIOp::create(builder, location, y, width));
    SmallVector<Value> arguments = {block->getArgument(0), id};
    for (const auto &entry : buffers)
      arguments.push_back(
          loadWord(builder, location, block->getArgument(0), VX_BLOCK_FIRST_BUFFER + entry.first, global));
    func::CallOp::create(builder, location, body, arguments);
    func::ReturnOp::create(builder, location);
    kernel.erase();
  }

  /// A memref of the identity layout at `address`.
  Value describe(OpBuilder &builder, Location location, MemRefType type, Value address, ValueRange sizes) {
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
    // The descriptor's type says where the memory is.
    auto pointer = cast<LLVM::LLVMPointerType>(address.getType());
    MemRefType placed = pointer.getAddressSpace() == 0
                            ? type
                            : MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(),
                                              builder.getI64IntegerAttr(pointer.getAddressSpace()));
    Value descriptor = MemRefDescriptor::pack(builder, location, converter, placed, fields);
    return UnrealizedConversionCastOp::create(builder, location, type, descriptor).getResult(0);
  }

  /// A buffer's memory in the generic address space, which is that of a memref without a memory space; LLVM finds out
  /// again that it is global.
  Value describeGlobal(OpBuilder &builder, Location location, MemRefType type, Value address, ValueRange sizes) {
    return describe(builder, location, type, LLVM::AddrSpaceCastOp::create(builder, location, generic, address), sizes);
  }

  void lowerFault(OpBuilder &builder, Value block, vxk::ReportFaultOp report) {
    Location location = report.getLoc();
    Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
    auto raised = scf::IfOp::create(builder, location, report.getCondition(), /*withElseRegion=*/false);
    builder.setInsertionPointToStart(raised.thenBlock());
    Value record = loadWord(builder, location, block, VX_BLOCK_FAULT, global);
    auto field = [&](size_t offset) -> Value {
      return LLVM::GEPOp::create(builder, location, global, builder.getI8Type(), record,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
    };
    Value one = LLVM::ConstantOp::create(builder, location, builder.getI32IntegerAttr(1));
    Value before =
        LLVM::AtomicRMWOp::create(builder, location, LLVM::AtomicBinOp::add, field(offsetof(vx_fault_record, count)),
                                  one, LLVM::AtomicOrdering::monotonic);
    Value zero = LLVM::ConstantOp::create(builder, location, builder.getI32IntegerAttr(0));
    Value first = LLVM::ICmpOp::create(builder, location, LLVM::ICmpPredicate::eq, before, zero);
    auto won = scf::IfOp::create(builder, location, first, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(won.thenBlock());
    Value site = loadWord(builder, location, block, VX_BLOCK_FAULT_SITE, i64);
    site =
        LLVM::AddOp::create(builder, location, site,
                            LLVM::ConstantOp::create(builder, location, builder.getI64IntegerAttr(report.getSite())));
    LLVM::StoreOp::create(builder, location, LLVM::TruncOp::create(builder, location, i32, site),
                          field(offsetof(vx_fault_record, site)));
    LLVM::StoreOp::create(builder, location, report.getValue(), field(offsetof(vx_fault_record, value)));
    LLVM::StoreOp::create(builder, location, report.getLower(), field(offsetof(vx_fault_record, lower)));
    LLVM::StoreOp::create(builder, location, report.getUpper(), field(offsetof(vx_fault_record, upper)));
    auto rank = static_cast<int64_t>(report.getPlace().size());
    LLVM::StoreOp::create(builder, location,
                          LLVM::ConstantOp::create(builder, location, builder.getI64IntegerAttr(rank)),
                          field(offsetof(vx_fault_record, rank)));
    for (auto [d, index] : llvm::enumerate(report.getPlace().take_front(VX_FAULT_PLACES)))
      LLVM::StoreOp::create(builder, location, index,
                            field(offsetof(vx_fault_record, place) + d * sizeof(vx_fault_record::place[0])));
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
    Value block = entry.getArgument(0);
    SmallVector<Operation *> ops;
    body.walk([&](Operation *op) {
      if (isa_and_present<vxk::VXKDialect>(op->getDialect()))
        ops.push_back(op);
    });
    int64_t threads = 1;
    if (auto attribute = kernel->getAttrOfType<IntegerAttr>(vxk::kThreadsAttr))
      threads = attribute.getInt();
    for (Operation *op : ops) {
      OpBuilder builder(op);
      Location location = op->getLoc();
      Value replacement;
      if (auto scalar = dyn_cast<vxk::ScalarOp>(op)) {
        int64_t word = VX_BLOCK_FIRST_BUFFER + buffers.size() + scalar.getIndex();
        replacement = toIndex(builder, location, loadWord(builder, location, block, word, builder.getI64Type()));
      } else if (auto buffer = dyn_cast<vxk::BufferOp>(op)) {
        replacement = describeGlobal(builder, location, cast<MemRefType>(buffer.getType()),
                                     entry.getArgument(2 + buffer.getIndex()), buffer.getSizes());
      } else if (auto workspace = dyn_cast<vxk::WorkspaceOp>(op)) {
        Value address = loadWord(builder, location, block, VX_BLOCK_WORKSPACE, global);
        auto type = cast<MemRefType>(workspace.getType());
        replacement = describeGlobal(builder, location, type, address,
                                     type.hasStaticShape() ? ValueRange() : ValueRange(workspace.getSize()));
      } else if (isa<vxk::WorkgroupIdOp>(op)) {
        replacement = entry.getArgument(1);
      } else if (isa<vxk::WorkgroupCountOp>(op)) {
        replacement = toIndex(builder, location, countWorkgroups(builder, location, block));
      } else if (isa<vxk::ThreadIdOp>(op)) {
        replacement = gpu::ThreadIdOp::create(builder, location, builder.getIndexType(), gpu::Dimension::x,
                                              builder.getIndexAttr(threads));
      } else if (isa<vxk::BarrierOp>(op)) {
        gpu::BarrierOp::create(builder, location);
      } else if (auto report = dyn_cast<vxk::ReportFaultOp>(op)) {
        lowerFault(builder, block, report);
      } else {
        continue; // the target's own conversion takes it, or names it
      }
      if (replacement)
        op->getResult(0).replaceAllUsesWith(replacement);
      op->erase();
    }
  }

  func::FuncOp kernel;
  bool keepStepsRolled;
  MLIRContext *context;
  LLVMTypeConverter converter;
  LLVM::LLVMPointerType generic, global;
  std::map<int64_t, BufferUse> buffers; // by index
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
