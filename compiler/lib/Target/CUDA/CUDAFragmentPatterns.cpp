// Fragments are those of mma.sync with 8 columns, two side by side. The names of PTX's tables: a thread's group is its
// number in the subgroup divided by 4, its place in the group what remains.
//
// A factor is four registers of 32 bits, of 8 rows (columns) each and of 16 bytes along the sum:
//
//   lhs   register  0  1  2  3      rhs   register  0  1  2  3
//         rows from 0  8  0  8            columns   0  0  8  8
//         half of k 0  0  1  1            half of k 0  1  0  1
//
// where thread t has the element (or the pair) t % 4 of row (column) t / 4. That is what ldmatrix gives: thread t tells
// it the place of row t % 8 of the part that is register t / 8, and with `trans` the part lies in memory the other way
// round. An accumulator is the registers c0 to c3 of the left half, then those of the right one.
#include "CUDAFragmentPatterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx::cuda {

namespace {

constexpr int64_t kRegisters = 4, kPart = 8, kPartBytes = 16;

Value constant(OpBuilder &builder, Location loc, Type type, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
}

Value pack(OpBuilder &builder, Location loc, VectorType type, ArrayRef<Value> elements) {
  Value packed = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [k, element] : llvm::enumerate(elements))
    packed = LLVM::InsertElementOp::create(builder, loc, packed, element,
                                           constant(builder, loc, builder.getI32Type(), static_cast<int64_t>(k)));
  return packed;
}

SmallVector<Value> unpack(OpBuilder &builder, Location loc, Value packed) {
  SmallVector<Value> elements;
  for (int64_t k = 0; k < cast<VectorType>(packed.getType()).getNumElements(); ++k)
    elements.push_back(
        LLVM::ExtractElementOp::create(builder, loc, packed, constant(builder, loc, builder.getI32Type(), k)));
  return elements;
}

struct FillFragment : ConvertOpToLLVMPattern<vxk::FillFragmentOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::FillFragmentOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    rewriter.replaceOp(
        op, pack(rewriter, op.getLoc(), type, SmallVector<Value>(type.getNumElements(), adaptor.getValue())));
    return success();
  }
};

struct LoadFragment : ConvertOpToLLVMPattern<vxk::LoadFragmentOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::LoadFragmentOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto memory = cast<MemRefType>(op.getMemory().getType());
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    bool isLhs = op.getType().getRole() == vxk::FragmentRole::lhs;
    bool is32Bit = memory.getElementType().isF32();
    Type i64 = rewriter.getI64Type(), i32 = rewriter.getI32Type();
    // Index arithmetic of a subgroup's threads.
    Value lane = NVVM::ThreadIdXOp::create(rewriter, loc, i32);
    lane = LLVM::AndOp::create(rewriter, loc, lane, constant(rewriter, loc, i32, 31));
    lane = LLVM::ZExtOp::create(rewriter, loc, i64, lane);
    auto bits = [&](int64_t shift, int64_t mask) -> Value {
      Value value = LLVM::LShrOp::create(rewriter, loc, lane, constant(rewriter, loc, i64, shift));
      return LLVM::AndOp::create(rewriter, loc, value, constant(rewriter, loc, i64, mask));
    };
    auto times = [&](Value value, int64_t factor) -> Value {
      return LLVM::MulOp::create(rewriter, loc, value, constant(rewriter, loc, i64, factor));
    };
    auto plus = [&](Value a, Value b) -> Value { return LLVM::AddOp::create(rewriter, loc, a, b); };
    int64_t stride = op.getStride(), half = kPartBytes * 8 / memory.getElementType().getIntOrFloatBitWidth();
    // The element `along` the sum of row or column `across`.
    auto address = [&](Value along, Value across) -> Value {
      Value place = op.getAlongSum() ? plus(times(across, stride), along) : plus(times(along, stride), across);
      return getStridedElementPtr(rewriter, loc, memory, adaptor.getMemory(), plus(adaptor.getAt(), place));
    };

    SmallVector<Value> registers;
    if (is32Bit && !op.getAlongSum()) {
      for (int64_t k = 0; k < kRegisters; ++k) {
        int64_t low = k % 2, high = k / 2;
        Value along = plus(bits(0, 3), constant(rewriter, loc, i64, (isLhs ? high : low) * half));
        Value across = plus(bits(2, 7), constant(rewriter, loc, i64, (isLhs ? low : high) * kPart));
        registers.push_back(LLVM::LoadOp::create(rewriter, loc, rewriter.getF32Type(), address(along, across), 4));
      }
    } else {
      // Bits 3 and 4 of the thread's number are the register; the rest is a line of its part.
      Value low = bits(3, 1), high = bits(4, 1), line = bits(0, 7);
      Value along = times(isLhs ? high : low, half), across = times(isLhs ? low : high, kPart);
      if (op.getAlongSum())
        across = plus(across, line);
      else
        along = plus(along, line);
      Type result = LLVM::LLVMStructType::getLiteral(rewriter.getContext(), SmallVector<Type>(kRegisters, i32));
      Value loaded = NVVM::LdMatrixOp::create(rewriter, loc, result, address(along, across), kRegisters,
                                              op.getAlongSum() ? NVVM::MMALayout::row : NVVM::MMALayout::col,
                                              NVVM::LdStMatrixShapeAttr::get(rewriter.getContext(), kPart, kPart),
                                              NVVM::LdStMatrixEltType::B16);
      for (int64_t k = 0; k < kRegisters; ++k) {
        Value word = LLVM::ExtractValueOp::create(rewriter, loc, loaded, k);
        registers.push_back(is32Bit ? LLVM::BitcastOp::create(rewriter, loc, rewriter.getF32Type(), word).getResult()
                                    : word);
      }
    }
    if (is32Bit)
      for (Value &word : registers)
        word = NVVM::ConvertFloatToTF32Op::create(rewriter, loc, i32, word, NVVM::FPRoundingMode::RNA,
                                                  NVVM::SaturationMode::NONE, /*relu=*/false);
    rewriter.replaceOp(op, pack(rewriter, loc, type, registers));
    return success();
  }
};

struct MultiplyAccumulate : ConvertOpToLLVMPattern<vxk::MultiplyAccumulateOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::MultiplyAccumulateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = op.getLhs().getType().getElementType();
    NVVM::MMATypes kind = element.isF16()    ? NVVM::MMATypes::f16
                          : element.isBF16() ? NVVM::MMATypes::bf16
                                             : NVVM::MMATypes::tf32;
    // The op takes pairs of f16 as such, other factors as words.
    auto operands = [&](Value fragment) {
      SmallVector<Value> words = unpack(rewriter, loc, fragment);
      if (element.isF16())
        for (Value &word : words)
          word = LLVM::BitcastOp::create(rewriter, loc, VectorType::get(2, element), word);
      return words;
    };
    SmallVector<Value> lhs = operands(adaptor.getLhs()), rhs = operands(adaptor.getRhs());
    SmallVector<Value> sums = unpack(rewriter, loc, adaptor.getAccumulator());
    Type f32 = rewriter.getF32Type();
    Type result = LLVM::LLVMStructType::getLiteral(rewriter.getContext(), {f32, f32, f32, f32});
    constexpr int64_t kRows = 16, kColumns = 8;
    for (int64_t right : {0, 1}) {
      MutableArrayRef<Value> part = MutableArrayRef<Value>(sums).slice(4 * right, 4);
      Value product = NVVM::MmaOp::create(rewriter, loc, result, lhs, ArrayRef(rhs).slice(2 * right, 2), part,
                                          {kRows, kColumns, op.getLhs().getType().getDepth()},
                                          /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
                                          std::array<NVVM::MMATypes, 2>{kind, kind},
                                          std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
      for (auto [k, sum] : llvm::enumerate(part))
        sum = LLVM::ExtractValueOp::create(rewriter, loc, product, static_cast<int64_t>(k));
    }
    rewriter.replaceOp(op, pack(rewriter, loc, cast<VectorType>(adaptor.getAccumulator().getType()), sums));
    return success();
  }
};

struct FragmentElements : ConvertOpToLLVMPattern<vxk::FragmentElementsOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::FragmentElementsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, unpack(rewriter, op.getLoc(), adaptor.getFragment()));
    return success();
  }
};

struct AsyncCopy : ConvertOpToLLVMPattern<vxk::AsyncCopyOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::AsyncCopyOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto source = cast<MemRefType>(op.getSource().getType()), target = cast<MemRefType>(op.getTarget().getType());
    Value from = getStridedElementPtr(rewriter, loc, source, adaptor.getSource(), adaptor.getIndices());
    Value to = getStridedElementPtr(rewriter, loc, target, adaptor.getTarget(), adaptor.getAt());
    auto global = LLVM::LLVMPointerType::get(rewriter.getContext(), kGlobalAddressSpace);
    from = LLVM::AddrSpaceCastOp::create(rewriter, loc, global, from);
    int64_t bytes = op.getCount() * target.getElementType().getIntOrFloatBitWidth() / 8;
    Type i32 = rewriter.getI32Type();
    // What is beyond the bytes that are read is filled with zeros.
    Value read = LLVM::SelectOp::create(rewriter, loc, adaptor.getValid(), constant(rewriter, loc, i32, bytes),
                                        constant(rewriter, loc, i32, 0));
    // Only whole lines of 16 bytes can pass by the first cache.
    auto modifier = bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
    NVVM::CpAsyncOp::create(rewriter, loc, to, from, static_cast<uint32_t>(bytes), modifier, read);
    rewriter.eraseOp(op);
    return success();
  }
};

struct AsyncCommit : ConvertOpToLLVMPattern<vxk::AsyncCommitOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::AsyncCommitOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncCommitGroupOp>(op);
    return success();
  }
};

struct AsyncWait : ConvertOpToLLVMPattern<vxk::AsyncWaitOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::AsyncWaitOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(op, static_cast<uint32_t>(op.getStages()));
    return success();
  }
};

} // namespace

void populateFragmentConversion(LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  converter.addConversion([](vxk::FragmentType type) -> Type {
    MLIRContext *context = type.getContext();
    if (type.getRole() == vxk::FragmentRole::accumulator)
      return VectorType::get(2 * kRegisters, Float32Type::get(context));
    return VectorType::get(kRegisters, IntegerType::get(context, 32));
  });
  patterns.add<FillFragment, LoadFragment, MultiplyAccumulate, FragmentElements, AsyncCopy, AsyncCommit, AsyncWait>(
      converter);
}

} // namespace vx::cuda
