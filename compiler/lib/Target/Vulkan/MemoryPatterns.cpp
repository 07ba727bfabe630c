#include "SPIRVPatterns.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/abi/kernel.h"

using namespace mlir;

namespace vx::vulkan {

unsigned getElementBytes(Type element) {
  if (auto vector = dyn_cast<VectorType>(element))
    return static_cast<unsigned>(vector.getNumElements()) * getElementBytes(vector.getElementType());
  return std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

spirv::PointerType getBufferType(Type element) {
  Type array = spirv::RuntimeArrayType::get(element, getElementBytes(element));
  return spirv::PointerType::get(spirv::StructType::get({array}, {0}), spirv::StorageClass::PhysicalStorageBuffer);
}

Value integerConstant(OpBuilder &builder, Location loc, unsigned bits, int64_t value) {
  Type type = builder.getIntegerType(bits);
  return spirv::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
}

/// A pointer to element `index` of what a memref became, with its storage class; with `lanes` above 1, to a vector of
/// as many elements that begins there.
static std::pair<Value, spirv::StorageClass> elementPointer(OpBuilder &builder, Location loc, Value pointer,
                                                            Value index, int64_t lanes = 1) {
  auto type = cast<spirv::PointerType>(pointer.getType());
  SmallVector<Value> path;
  if (isa<spirv::StructType>(type.getPointeeType()))
    path.push_back(integerConstant(builder, loc, 32, 0));
  // Workgroup and thread memory is small: 32 bits are enough, and cheaper.
  if (type.getStorageClass() != spirv::StorageClass::PhysicalStorageBuffer)
    index = spirv::UConvertOp::create(builder, loc, builder.getI32Type(), index);
  auto array = dyn_cast<spirv::ArrayType>(type.getPointeeType());
  if (auto vector = array ? dyn_cast<VectorType>(array.getElementType()) : VectorType()) {
    // Memory of vectors: such an index is a multiple of their length.
    int64_t width = vector.getNumElements();
    path.push_back(spirv::UDivOp::create(builder, loc, index, integerConstant(builder, loc, 32, width)));
    if (lanes == 1)
      path.push_back(spirv::UModOp::create(builder, loc, index, integerConstant(builder, loc, 32, width)));
    return {spirv::AccessChainOp::create(builder, loc, pointer, path), type.getStorageClass()};
  }
  path.push_back(index);
  if (lanes > 1) {
    Value element = spirv::AccessChainOp::create(builder, loc, pointer, path);
    Type elementType = cast<spirv::PointerType>(element.getType()).getPointeeType();
    Value address = spirv::ConvertPtrToUOp::create(builder, loc, builder.getI64Type(), element);
    Type vectorPointer = spirv::PointerType::get(VectorType::get(lanes, elementType), type.getStorageClass());
    return {spirv::ConvertUToPtrOp::create(builder, loc, vectorPointer, address), type.getStorageClass()};
  }
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
      return op.emitOpError() << "expects elements that a Vulkan shader can store, got " << op.getType();
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
    Location loc = op.getLoc();
    Value count = word(rewriter, loc, VX_BLOCK_WORKGROUPS);
    if (entry.isGuarded) {
      // The fault record begins with the number of faults.
      Value record = buffer(rewriter, loc, VX_BLOCK_FAULT, getBufferType(rewriter.getI32Type()));
      Value faults = loadElement(rewriter, loc, record, integerConstant(rewriter, loc, 64, 0));
      Value isRight = spirv::IEqualOp::create(rewriter, loc, faults, integerConstant(rewriter, loc, 32, 0));
      count = spirv::SelectOp::create(rewriter, loc, isRight, count, integerConstant(rewriter, loc, 64, 0));
    }
    rewriter.replaceOp(op, count);
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

/// An op for a number that the entry block has.
template <typename Op, Value KernelEntry::*member>
struct EntryValuePattern : KernelPattern<Op> {
  using KernelPattern<Op>::KernelPattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, this->entry.*member);
    return success();
  }
};

/// Exchanges a 32-bit value with the lane whose number differs in the bits of the offset. The width is that of the
/// subgroup, whatever it is.
struct ShufflePattern : OpConversionPattern<gpu::ShuffleOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(gpu::ShuffleOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getMode() != gpu::ShuffleMode::XOR || op.getValue().getType().getIntOrFloatBitWidth() != 32)
      return op.emitOpError() << "expects 32 bits to be exchanged by 'xor', got " << op.getValue().getType();
    Value result = spirv::GroupNonUniformShuffleXorOp::create(rewriter, op.getLoc(), spirv::Scope::Subgroup,
                                                              adaptor.getValue(), adaptor.getOffset());
    Value valid = spirv::ConstantOp::getOne(rewriter.getI1Type(), op.getLoc(), rewriter);
    rewriter.replaceOp(op, {result, valid});
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

/// The memory that a vector is read from or written to must be one that takes it: a buffer, or workgroup memory that
/// became an array of vectors of this length.
static bool takesVectors(Value pointer, VectorType vector) {
  auto type = cast<spirv::PointerType>(pointer.getType());
  auto array = dyn_cast<spirv::ArrayType>(type.getPointeeType());
  return type.getStorageClass() == spirv::StorageClass::PhysicalStorageBuffer ||
         (array && array.getElementType() == vector);
}

struct VectorLoadPattern : OpConversionPattern<vector::LoadOp> {
  VectorLoadPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(vector::LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    VectorType type = op.getVectorType();
    if (!takesVectors(adaptor.getBase(), type))
      return rewriter.notifyMatchFailure(op, "the memory holds no vectors of this length");
    auto [address, storage] =
        elementPointer(rewriter, op.getLoc(), adaptor.getBase(), adaptor.getIndices()[0], type.getNumElements());
    auto [access, align] = alignment(rewriter, storage, type);
    rewriter.replaceOpWithNewOp<spirv::LoadOp>(op, type, address, access, align);
    return success();
  }
};

struct VectorStorePattern : OpConversionPattern<vector::StoreOp> {
  VectorStorePattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(vector::StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    VectorType type = op.getVectorType();
    if (!takesVectors(adaptor.getBase(), type))
      return rewriter.notifyMatchFailure(op, "the memory holds no vectors of this length");
    auto [address, storage] =
        elementPointer(rewriter, op.getLoc(), adaptor.getBase(), adaptor.getIndices()[0], type.getNumElements());
    auto [access, align] = alignment(rewriter, storage, type);
    rewriter.replaceOpWithNewOp<spirv::StoreOp>(op, address, adaptor.getValueToStore(), access, align);
    return success();
  }
};

/// Memory of one thread. Workgroup memory has become global variables before the conversion.
struct AllocaPattern : OpConversionPattern<memref::AllocaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(memref::AllocaOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    Type element = getTypeConverter()->convertType(op.getType().getElementType());
    if (!element || !op.getType().hasStaticShape())
      return op.emitOpError() << "expects a static shape for memory of a thread, got " << op.getType();
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
  patterns.add<EntryValuePattern<gpu::LaneIdOp, &KernelEntry::lane>,
               EntryValuePattern<gpu::SubgroupIdOp, &KernelEntry::subgroup>,
               EntryValuePattern<gpu::NumSubgroupsOp, &KernelEntry::subgroupCount>,
               EntryValuePattern<gpu::SubgroupSizeOp, &KernelEntry::subgroupSize>>(converter, context, entry);
  patterns.add<BarrierPattern, ShufflePattern, LoadPattern, StorePattern, VectorLoadPattern, VectorStorePattern,
               AllocaPattern>(converter, context);
}

} // namespace vx::vulkan
