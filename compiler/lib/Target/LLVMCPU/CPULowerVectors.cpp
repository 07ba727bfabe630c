// vx-cpu-lower-vectors: vectors of any shape become one-dimensional vectors of at most the native width.
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "vx/Target/LLVMCPU/Passes.h"
#include <numeric>

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CPULOWERVECTORSPASS
#include "vx/Target/LLVMCPU/Passes.h.inc"

namespace {

/// The piece of `shape` that one register holds: 1 x ... x 1 x lanes, where `lanes` divides the last dimension.
SmallVector<int64_t> nativeShape(ArrayRef<int64_t> shape, int64_t lanes) {
  SmallVector<int64_t> native(shape.size(), 1);
  if (!shape.empty())
    native.back() = shape.back() <= lanes ? shape.back() : std::gcd(shape.back(), lanes);
  return native;
}

int64_t elementBits(Type element) {
  if (element.isIndex())
    return 64;
  return element.isIntOrFloat() ? std::max<int64_t>(element.getIntOrFloatBitWidth(), 1) : 64;
}

/// The widest element among an op's vectors, so that all of them have as many lanes. Masks do not count: their width in
/// a register follows the data's.
int64_t widestElement(Operation *op) {
  int64_t bits = 1;
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (auto vectorType = llvm::dyn_cast<VectorType>(type))
      bits = std::max(bits, elementBits(vectorType.getElementType()));
  return bits == 1 ? 32 : bits;
}

std::optional<SmallVector<int64_t>> nativeShapeOf(Operation *op, int64_t vectorBits) {
  if (!llvm::isa<VectorUnrollOpInterface>(op))
    return std::nullopt;
  VectorUnrollOpInterface unroll = llvm::cast<VectorUnrollOpInterface>(op);
  int64_t lanes = std::max<int64_t>(vectorBits / widestElement(op), 1);
  std::optional<SmallVector<int64_t, 4>> shape = unroll.getShapeForUnroll();
  if (!shape || shape->empty())
    return std::nullopt;
  SmallVector<int64_t> native;
  if (auto contract = llvm::dyn_cast<vector::ContractionOp>(op)) {
    // Only the result's last dimension lies in lanes; a step of 1 along the others makes a chain of multiply-adds in
    // order.
    native.assign(shape->size(), 1);
    AffineMap accMap = contract.getIndexingMapsArray()[2];
    if (accMap.getNumResults() == 0)
      return std::nullopt;
    unsigned last = accMap.getDimPosition(accMap.getNumResults() - 1);
    native[last] = nativeShape({(*shape)[last]}, lanes)[0];
  } else if (llvm::isa<vector::ReductionOp, vector::MultiDimReductionOp>(op)) {
    return std::nullopt;
  } else {
    native = nativeShape(*shape, lanes);
  }
  if (llvm::equal(native, *shape))
    return std::nullopt;
  return native;
}

/// A sum or product over lanes as a tree: the upper half joins the lower half.
struct TreeReduction : OpRewritePattern<vector::ReductionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::ReductionOp op, PatternRewriter &rewriter) const override {
    vector::CombiningKind kind = op.getKind();
    VectorType type = op.getSourceVectorType();
    if (!llvm::isa<FloatType>(type.getElementType()))
      return rewriter.notifyMatchFailure(op, "integer reductions have no order to keep");
    if (kind != vector::CombiningKind::ADD && kind != vector::CombiningKind::MUL)
      return rewriter.notifyMatchFailure(op, "minimum and maximum have no order to keep");
    if (type.isScalable())
      return rewriter.notifyMatchFailure(op, "the number of lanes is not known");
    Location location = op.getLoc();
    auto combine = [&](Value a, Value b) -> Value {
      if (kind == vector::CombiningKind::ADD)
        return arith::AddFOp::create(rewriter, location, a, b, op.getFastmath());
      return arith::MulFOp::create(rewriter, location, a, b, op.getFastmath());
    };
    Value value = op.getVector();
    int64_t lanes = type.getNumElements();
    SmallVector<Value> odd; // lanes that had no partner
    while (lanes > 1) {
      if (lanes % 2) {
        odd.push_back(vector::ExtractOp::create(rewriter, location, value, lanes - 1));
        --lanes;
      }
      SmallVector<int64_t> lower, upper;
      for (int64_t i = 0; i < lanes / 2; ++i) {
        lower.push_back(i);
        upper.push_back(i + lanes / 2);
      }
      value = combine(vector::ShuffleOp::create(rewriter, location, value, value, lower),
                      vector::ShuffleOp::create(rewriter, location, value, value, upper));
      lanes /= 2;
    }
    Value result = vector::ExtractOp::create(rewriter, location, value, 0);
    for (Value lane : odd)
      result = combine(result, lane);
    if (op.getAcc())
      result = combine(op.getAcc(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

class CPULowerVectorsPass : public impl::CPULowerVectorsPassBase<CPULowerVectorsPass> {
public:
  using CPULowerVectorsPassBase::CPULowerVectorsPassBase;

  void runOnOperation() override {
    auto apply = [&](llvm::function_ref<void(RewritePatternSet &)> populate) {
      RewritePatternSet patterns(&getContext());
      populate(patterns);
      return applyPatternsGreedily(getOperation(), std::move(patterns));
    };
    LogicalResult result = success();
    // Steps of few patterns each: a later step's patterns would take apart what an earlier one still has to see whole.
    auto step = [&](llvm::function_ref<void(RewritePatternSet &)> populate) {
      if (succeeded(result))
        result = apply(populate);
    };
    step([&](RewritePatternSet &patterns) {
      vector::populateVectorTransferPermutationMapLoweringPatterns(patterns);
      vector::populateVectorMultiReductionLoweringPatterns(patterns,
                                                           vector::VectorMultiReductionLowering::InnerReduction);
    });
    step([&](RewritePatternSet &patterns) {
      vector::UnrollVectorOptions options;
      int64_t bits = vectorBits;
      options.setNativeShapeFn([bits](Operation *op) { return nativeShapeOf(op, bits); });
      vector::populateVectorUnrollPatterns(patterns, options);
      vector::populateVectorToVectorCanonicalizationPatterns(patterns);
    });
    step([&](RewritePatternSet &patterns) {
      vector::populateVectorContractLoweringPatterns(patterns, vector::VectorContractLowering::OuterProduct);
      vector::populateVectorMaskOpLoweringPatterns(patterns);
      vector::populateVectorMaskLoweringPatternsForSideEffectingOps(patterns);
      vector::populateVectorScanLoweringPatterns(patterns);
      vector::populateVectorGatherLoweringPatterns(patterns);
      vector::populateVectorStepLoweringPatterns(patterns);
      vector::populateVectorInterleaveLoweringPatterns(patterns);
      vector::populateVectorInterleaveToShufflePatterns(patterns);
      vector::populateVectorBitCastLoweringPatterns(patterns);
      vector::populateVectorToVectorCanonicalizationPatterns(patterns);
    });
    step([&](RewritePatternSet &patterns) {
      vector::populateVectorOuterProductLoweringPatterns(patterns);
      vector::populateVectorTransposeLoweringPatterns(patterns, vector::VectorTransposeLowering::Shuffle1D);
      vector::populateVectorMultiReductionLoweringPatterns(patterns,
                                                           vector::VectorMultiReductionLowering::InnerReduction);
      vector::populateVectorBroadcastLoweringPatterns(patterns);
      vector::populateVectorRankReducingFMAPattern(patterns);
      patterns.add<TreeReduction>(&getContext());
    });
    step([&](RewritePatternSet &patterns) {
      populateVectorToSCFConversionPatterns(patterns, VectorTransferToSCFOptions().enableFullUnroll());
    });
    step([&](RewritePatternSet &patterns) {
      vector::populateVectorTransferLoweringPatterns(patterns, /*maxTransferRank=*/1);
      vector::populateScalarVectorTransferLoweringPatterns(patterns, /*benefit=*/1, /*allowMultipleUses=*/true);
    });
    step([&](RewritePatternSet &patterns) {
      // A transfer that may leave its buffer gets a mask, and with a mask it can become a load or store.
      vector::populateVectorMaskMaterializationPatterns(patterns, /*force32BitVectorIndices=*/false);
      vector::populateVectorTransferLoweringPatterns(patterns, /*maxTransferRank=*/1);
    });
    step([&](RewritePatternSet &patterns) {
      vector::populateVectorShapeCastLoweringPatterns(patterns);
      vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
      vector::populateVectorToFromElementsToShuffleTreePatterns(patterns);
      vector::populateVectorToVectorCanonicalizationPatterns(patterns);
      vector::populateVectorFromElementsUnrollPatterns(patterns);
      vector::populateVectorToElementsUnrollPatterns(patterns);
    });
    if (failed(result))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
