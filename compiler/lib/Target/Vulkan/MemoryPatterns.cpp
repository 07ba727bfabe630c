#include "SPIRVPatterns.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/abi/kernel.h"

using namespace mlir;

namespace vx::vulkan {

unsigned getElementBytes(Type element) { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }

spirv::PointerType getBufferType(Type element) {
  Type array = spirv::RuntimeArrayType::get(element, getElementBytes(element));
  return spirv::PointerType::get(spirv::StructType::get({array}, {0}), spirv::StorageClass::PhysicalStorageBuffer);
}

Value integerConstant(OpBuilder &builder, Location loc, unsigned bits, int64_t value) {
  Type type = builder.getIntegerType(bits);
  return spirv::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
}

/// A pointer to element `index` of what a memref became, with its storage class.
static std::pair<Value, spirv::StorageClass> elementPointer(OpBuilder &builder, Location loc, Value pointer,
                                                            Value index) {
  auto type = cast<spirv::PointerType>(pointer.getType());
  SmallVector<Value> path;
  if (isa<spirv::StructType>(type.getPointeeType()))
    path.push_back(integerConstant(builder, loc, 32, 0));
  // Workgroup and thread memory is small: 32 bits are enough, and cheaper.
  if (type.getStorageClass() != spirv::StorageClass::PhysicalStorageBuffer)
    index = spirv::UConvertOp::create(builder, loc, builder.getI32Type(), index);
  path.push_back(index);
  return {spirv::AccessChainOp::create(builder, loc, pointer, path), type.getStorageClass()};
}

/// Physical pointers carry no alignment of their own: each access states it.
static std::pair<spirv::MemoryAccessAttr, IntegerAttr> alignment(OpBuilder &builder, spirv::StorageClass storage,
                                                                 Type element) {
  if (storage != spirv::StorageClass::PhysicalStorageBuffer)
    return {};
  return {spirv::MemoryAccessAttr::get(builder.getContext(), spirv::MemoryAccess::Aligned),
          builder.getI32IntegerAttr(static_cast<int32_t>(getElementBytes(element)))};
}

Value loadElement(OpBuilder &builder, Location loc, Value pointer, Value index) {
  auto [address, storage] = elementPointer(builder, loc, pointer, index);
  Type element = cast<spirv::PointerType>(address.getType()).getPointeeType();
  auto [access, align] = alignment(builder, storage, element);
  return spirv::LoadOp::create(builder, loc, element, address, access, align);
}

namespace {

template <typename Op>
struct KernelPattern : OpConversionPattern<Op> {
  KernelPattern(const TypeConverter &converter, MLIRContext *context, const KernelEntry &entry)
      : OpConversionPattern<Op>(converter, context), entry(entry) {}
  const KernelEntry &entry;

  Value word(OpBuilder &builder, Location loc, int64_t number) const {
    return loadElement(builder, loc, entry.block, integerConstant(builder, loc, 64, number));
  }
  /// The buffer whose address is word `number`.
  Value buffer(OpBuilder &builder, Location loc, int64_t number, Type type) const {
    return spirv::ConvertUToPtrOp::create(builder, loc, type, word(builder, loc, number));
  }
};

struct ScalarPattern : KernelPattern<vxk::ScalarOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(vxk::ScalarOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    int64_t number = VX_BLOCK_FIRST_BUFFER + entry.bufferCount + static_cast<int64_t>(op.getIndex());
    rewriter.replaceOp(op, word(rewriter, op.getLoc(), number));
    return success();
  }
};

struct BufferPattern : KernelPattern<vxk::BufferOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(vxk::BufferOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    if (!type)
      return op.emitOpError() << "expects elements that a Vulkan shader can store, got '" << op.getType() << "'";
    rewriter.replaceOp(
        op, buffer(rewriter, op.getLoc(), VX_BLOCK_FIRST_BUFFER + static_cast<int64_t>(op.getIndex()), type));
    return success();
  }
};

struct WorkspacePattern : KernelPattern<vxk::WorkspaceOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(vxk::WorkspaceOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, buffer(rewriter, op.getLoc(), VX_BLOCK_WORKSPACE, getBufferType(rewriter.getI8Type())));
    return success();
  }
};

struct WorkgroupIdPattern : KernelPattern<vxk::WorkgroupIdOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(vxk::WorkgroupIdOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, entry.linearGroup);
    return success();
  }
};

struct WorkgroupCountPattern : KernelPattern<vxk::WorkgroupCountOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(vxk::WorkgroupCountOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, word(rewriter, op.getLoc(), VX_BLOCK_WORKGROUPS));
    return success();
  }
};

struct ThreadIdPattern : KernelPattern<vxk::ThreadIdOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(vxk::ThreadIdOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, entry.thread);
    return success();
  }
};

struct BarrierPattern : OpConversionPattern<vxk::BarrierOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(vxk::BarrierOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<spirv::ControlBarrierOp>(op, spirv::Scope::Workgroup, spirv::Scope::Workgroup,
                                                         spirv::MemorySemantics::AcquireRelease |
                                                             spirv::MemorySemantics::WorkgroupMemory |
                                                             spirv::MemorySemantics::UniformMemory);
    return success();
  }
};

struct LoadPattern : OpConversionPattern<memref::LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, loadElement(rewriter, op.getLoc(), adaptor.getMemref(), adaptor.getIndices()[0]));
    return success();
  }
};

struct StorePattern : OpConversionPattern<memref::StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(memref::StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto [address, storage] = elementPointer(rewriter, op.getLoc(), adaptor.getMemref(), adaptor.getIndices()[0]);
    auto [access, align] = alignment(rewriter, storage, adaptor.getValue().getType());
    rewriter.replaceOpWithNewOp<spirv::StoreOp>(op, address, adaptor.getValue(), access, align);
    return success();
  }
};

/// Memory of one thread. Workgroup memory has become global variables before the conversion.
struct AllocaPattern : OpConversionPattern<memref::AllocaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(memref::AllocaOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    Type element = getTypeConverter()->convertType(op.getType().getElementType());
    if (!element || !op.getType().hasStaticShape())
      return op.emitOpError() << "expects a static shape for memory of a thread, got '" << op.getType() << "'";
    Type array = spirv::ArrayType::get(element, std::max<int64_t>(1, op.getType().getNumElements()));
    rewriter.replaceOpWithNewOp<spirv::VariableOp>(op, spirv::PointerType::get(array, spirv::StorageClass::Function),
                                                   spirv::StorageClass::Function, nullptr);
    return success();
  }
};

} // namespace

void populateMemoryPatterns(const SPIRVTypeConverter &converter, const KernelEntry &entry,
                            RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns
      .add<ScalarPattern, BufferPattern, WorkspacePattern, WorkgroupIdPattern, WorkgroupCountPattern, ThreadIdPattern>(
          converter, context, entry);
  patterns.add<BarrierPattern, LoadPattern, StorePattern, AllocaPattern>(converter, context);
}

} // namespace vx::vulkan
