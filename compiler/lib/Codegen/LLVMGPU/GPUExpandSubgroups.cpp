// vx-gpu-expand-subgroups: subgroups of a known size, as parts of the thread's number and as shuffles.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_GPUEXPANDSUBGROUPSPASS
#include "vx/Codegen/LLVMGPU/Passes.h.inc"

namespace {

Value combine(OpBuilder &builder, Location loc, gpu::AllReduceOperation kind, Value a, Value b) {
  using Kind = gpu::AllReduceOperation;
  bool isFloat = isa<FloatType>(a.getType());
  switch (kind) {
  case Kind::ADD:
    return isFloat ? arith::AddFOp::create(builder, loc, a, b).getResult()
                   : arith::AddIOp::create(builder, loc, a, b).getResult();
  case Kind::MUL:
    return isFloat ? arith::MulFOp::create(builder, loc, a, b).getResult()
                   : arith::MulIOp::create(builder, loc, a, b).getResult();
  case Kind::MINUI:
    return arith::MinUIOp::create(builder, loc, a, b);
  case Kind::MINSI:
    return arith::MinSIOp::create(builder, loc, a, b);
  case Kind::MINNUMF:
    return arith::MinNumFOp::create(builder, loc, a, b);
  case Kind::MINIMUMF:
    return arith::MinimumFOp::create(builder, loc, a, b);
  case Kind::MAXUI:
    return arith::MaxUIOp::create(builder, loc, a, b);
  case Kind::MAXSI:
    return arith::MaxSIOp::create(builder, loc, a, b);
  case Kind::MAXNUMF:
    return arith::MaxNumFOp::create(builder, loc, a, b);
  case Kind::MAXIMUMF:
    return arith::MaximumFOp::create(builder, loc, a, b);
  case Kind::AND:
    return arith::AndIOp::create(builder, loc, a, b);
  case Kind::OR:
    return arith::OrIOp::create(builder, loc, a, b);
  case Kind::XOR:
    return arith::XOrIOp::create(builder, loc, a, b);
  }
  return {};
}

class GPUExpandSubgroupsPass : public impl::GPUExpandSubgroupsPassBase<GPUExpandSubgroupsPass> {
public:
  using GPUExpandSubgroupsPassBase::GPUExpandSubgroupsPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<gpu::SubgroupSizeOp, gpu::SubgroupIdOp, gpu::NumSubgroupsOp, gpu::LaneIdOp, gpu::SubgroupReduceOp>(op))
        ops.push_back(op);
    });
    int64_t threads = 1;
    if (auto attribute = getOperation()->getAttrOfType<IntegerAttr>(vxk::kThreadsAttr))
      threads = attribute.getInt();
    for (Operation *op : ops) {
      OpBuilder builder(op);
      Location loc = op->getLoc();
      auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
      auto thread = [&]() -> Value { return vxk::ThreadIdOp::create(builder, loc, builder.getIndexType()); };
      Value result;
      if (isa<gpu::SubgroupSizeOp>(op)) {
        result = constant(subgroupSize);
      } else if (isa<gpu::NumSubgroupsOp>(op)) {
        result = constant(llvm::divideCeil(threads, subgroupSize));
      } else if (isa<gpu::SubgroupIdOp>(op)) {
        result = arith::DivUIOp::create(builder, loc, thread(), constant(subgroupSize));
      } else if (isa<gpu::LaneIdOp>(op)) {
        result = arith::RemUIOp::create(builder, loc, thread(), constant(subgroupSize));
      } else {
        auto reduce = cast<gpu::SubgroupReduceOp>(op);
        if (reduce.getClusterSize() || !isa<IntegerType, FloatType>(reduce.getType())) {
          reduce.emitOpError() << "expects a number reduced over the whole subgroup, got " << reduce.getType();
          return signalPassFailure();
        }
        result = reduce.getValue();
        for (int64_t offset = 1; offset < subgroupSize; offset *= 2)
          result = combine(builder, loc, reduce.getOp(), result, shuffle(builder, loc, result, offset));
      }
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
  }

private:
  /// `value` of the thread whose number differs in the bit `offset`.
  Value shuffle(OpBuilder &builder, Location loc, Value value, int64_t offset) {
    auto shuffleWord = [&](Value word) -> Value {
      return gpu::ShuffleOp::create(builder, loc, word, static_cast<int32_t>(offset),
                                    static_cast<int32_t>(subgroupSize), gpu::ShuffleMode::XOR)
          .getShuffleResult();
    };
    Type type = value.getType();
    unsigned bits = type.getIntOrFloatBitWidth();
    IntegerType i32 = builder.getI32Type(), integer = builder.getIntegerType(bits);
    if (isa<FloatType>(type))
      value = arith::BitcastOp::create(builder, loc, integer, value);
    if (bits < 32) {
      Value word = shuffleWord(arith::ExtUIOp::create(builder, loc, i32, value));
      value = arith::TruncIOp::create(builder, loc, integer, word);
    } else if (bits == 32) {
      value = shuffleWord(value);
    } else {
      Value shift = arith::ConstantIntOp::create(builder, loc, integer, 32);
      Value low = shuffleWord(arith::TruncIOp::create(builder, loc, i32, value));
      Value high = shuffleWord(
          arith::TruncIOp::create(builder, loc, i32, arith::ShRUIOp::create(builder, loc, value, shift).getResult()));
      high =
          arith::ShLIOp::create(builder, loc, arith::ExtUIOp::create(builder, loc, integer, high).getResult(), shift);
      value = arith::OrIOp::create(builder, loc, arith::ExtUIOp::create(builder, loc, integer, low).getResult(), high);
    }
    return isa<FloatType>(type) ? arith::BitcastOp::create(builder, loc, type, value).getResult() : value;
  }
};

} // namespace

} // namespace vx
