#include "Common/DeclineStrategy.h"
#include "Common/ElementEvaluator.h"
#include "Common/IndexFacts.h"
#include "Common/WorkgroupTile.h"
#include "MatchProduct.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/CPU/Passes.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_CPULOWERDEPTHWISEPASS
#include "vx/Codegen/CPU/Passes.h.inc"

namespace {

/// result[n, h, w, c] = sum over i, j of input[n, h*sh + i*dh - ph, w*sw + j*dw - pw, c] * filter[c, 0, i, j]
struct Depthwise : OnlySum {
  Value input, filter;
  int64_t kernel[2], strides[2], dilations[2], padsLow[2];
};

std::optional<Depthwise> matchDepthwise(func::FuncOp function) {
  std::optional<OnlySum> sum = findOnlySum(function);
  auto window = sum ? sum->op->getAttrOfType<vxk::WindowAttr>(vxk::kWindowAttr) : vxk::WindowAttr();
  if (!window)
    return std::nullopt;
  Depthwise found;
  static_cast<OnlySum &>(found) = *sum;
  auto type = cast<RankedTensorType>(found.op.getResult(0).getType());
  found.filter = found.op.getDpsInputs().front();
  auto filterType = cast<RankedTensorType>(found.filter.getType());
  int64_t groups = window.getGroups();
  if (!window.getChannelsLast() || type.getRank() != 4 || groups == 1 || filterType.getDimSize(0) != groups ||
      filterType.getDimSize(1) != 1 || filterType.isDynamicDim(2) || filterType.isDynamicDim(3))
    return std::nullopt;
  found.op.getBody()->walk([&](tensor::ExtractOp read) { found.input = read.getTensor(); });
  for (int64_t d = 0; d < 2; ++d) {
    found.kernel[d] = filterType.getDimSize(2 + d);
    found.strides[d] = window.getStrides()[d];
    found.dilations[d] = window.getDilations()[d];
    found.padsLow[d] = window.getPadsLow()[d];
  }
  Type element = type.getElementType();
  if (!element.isF32() && !element.isF64())
    return std::nullopt;
  // The sums are of the operands' own type, so that nothing is converted on the way.
  if (cast<RankedTensorType>(found.input.getType()).getElementType() != element ||
      filterType.getElementType() != element)
    return std::nullopt;
  return found;
}

class DepthwiseEmitter {
public:
  DepthwiseEmitter(func::FuncOp function, CPUDepthwiseAttr strategy, Depthwise conv, int64_t vectorBits,
                   int64_t registers)
      : strategy(strategy), conv(conv), builder(function.getContext()), loc(conv.op.getLoc()),
        type(cast<RankedTensorType>(conv.op.getResult(0).getType())), lanes(vectorBits / type.getElementTypeBitWidth()),
        places(registers >= 32 ? 8 : 4) {}

  LogicalResult run();

private:
  LogicalResult forEach(Value lower, Value upper, int64_t step, function_ref<LogicalResult(Value)> body) {
    scf::ForOp loop = evaluator->enterLoop(loc, lower, upper, index(step));
    if (failed(body(loop.getInductionVar())))
      return failure();
    evaluator->leaveLoop();
    return success();
  }
  /// The iterations [first, last) of the window in dimension `d` that lie inside of the input for the output's place.
  std::pair<Value, Value> getWindowBounds(int64_t d, Value place);
  LogicalResult emitRow(Value n, Value h, Value widthLower, Value widthUpper, Value column);
  /// `count` neighbours in a row from place `w` on. With `isInterior`, their windows lie inside of the row.
  LogicalResult emitPlaces(Value n, Value h, Value w, Value column, int64_t count, bool isInterior);

  Value plus(Value lhs, Value rhs) { return evaluator->addIndices(loc, {lhs, 0, {}}, {rhs, 0, {}}).base; }
  Value plus(Value lhs, int64_t rhs) { return plus(lhs, index(rhs)); }
  Value times(Value lhs, int64_t rhs) {
    return evaluator->multiplyIndices(loc, {lhs, 0, {}}, {index(rhs), 0, {}}).base;
  }
  Value index(int64_t value) { return evaluator->constantIndex(value).base; }
  Value clamp(Value value, Value least, Value most) {
    return arith::MinSIOp::create(builder, loc, arith::MaxSIOp::create(builder, loc, value, least), most);
  }

  CPUDepthwiseAttr strategy;
  Depthwise conv;
  OpBuilder builder;
  Location loc;
  RankedTensorType type;
  int64_t lanes, places;
  std::optional<ElementEvaluator> evaluator;
};

std::pair<Value, Value> DepthwiseEmitter::getWindowBounds(int64_t d, Value place) {
  // i * dilation - pad + place * stride in [0, size)
  Value zero = index(0), kernel = index(conv.kernel[d]), dilation = index(conv.dilations[d]);
  Value origin = plus(times(place, conv.strides[d]), -conv.padsLow[d]);
  Value size = evaluator->sizeOf(conv.input, 1 + d);
  Value first = arith::CeilDivSIOp::create(builder, loc, times(origin, -1), dilation);
  Value last = arith::CeilDivSIOp::create(builder, loc, plus(size, times(origin, -1)), dilation);
  return {clamp(first, zero, kernel), clamp(last, zero, kernel)};
}

LogicalResult DepthwiseEmitter::run() {
  Value destination = conv.results.front().getDest();
  builder.setInsertionPoint(conv.results.back());
  Value number = enterWorkgroup(builder, loc);
  evaluator.emplace(builder, lanes);
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    sizes.push_back(evaluator->sizeOf(destination, d));
  WorkgroupTile tile = getWorkgroupTile(builder, loc, number, sizes, strategy.getTile());
  bool isWhole = isMultipleOf(sizes[3], lanes);

  LogicalResult done = forEach(tile.lower[0], tile.upper[0], 1, [&](Value n) {
    return forEach(tile.lower[1], tile.upper[1], 1, [&](Value h) {
      return forEach(tile.lower[3], tile.upper[3], lanes, [&](Value column) {
        if (!isWhole) {
          Value left = arith::SubIOp::create(builder, loc, tile.upper[3], column);
          evaluator->setMask(
              vector::CreateMaskOp::create(builder, loc, VectorType::get(lanes, builder.getI1Type()), left));
        }
        LogicalResult row = emitRow(n, h, tile.lower[2], tile.upper[2], column);
        evaluator->setMask({});
        return row;
      });
    });
  });
  if (failed(done))
    return failure();
  conv.eraseResults();
  return success();
}

LogicalResult DepthwiseEmitter::emitRow(Value n, Value h, Value lower, Value upper, Value column) {
  // The first place whose window begins inside of the row, and the first whose window ends outside of it.
  int64_t stride = conv.strides[1], reach = (conv.kernel[1] - 1) * conv.dilations[1];
  Value size = evaluator->sizeOf(conv.input, 2);
  Value first = index(llvm::divideCeilSigned(conv.padsLow[1], stride));
  Value room = plus(size, conv.padsLow[1] - reach);
  Value last = arith::CeilDivSIOp::create(builder, loc, room, index(stride));
  first = clamp(first, lower, upper);
  last = clamp(last, first, upper);
  Value whole = arith::SubIOp::create(builder, loc, last, first);
  Value rest = arith::RemUIOp::create(builder, loc, whole, index(places));
  Value wholeEnd = arith::SubIOp::create(builder, loc, last, rest);
  auto section = [&](Value from, Value to, int64_t count, bool isInterior) {
    return forEach(from, to, count, [&](Value w) { return emitPlaces(n, h, w, column, count, isInterior); });
  };
  return failure(failed(section(lower, first, 1, false)) || failed(section(first, wholeEnd, places, true)) ||
                 failed(section(wholeEnd, last, 1, true)) || failed(section(last, upper, 1, false)));
}

LogicalResult DepthwiseEmitter::emitPlaces(Value n, Value h, Value w, Value column, int64_t count, bool isInterior) {
  auto vector = VectorType::get(lanes, type.getElementType());
  SmallVector<Value> sums(count, arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vector)));
  LaneIndex channels = {column, 1, {}};
  auto [rowFirst, rowLast] = getWindowBounds(0, h);
  scf::ForOp rows = evaluator->enterLoop(loc, rowFirst, rowLast, index(1), sums);
  sums.assign(rows.getRegionIterArgs().begin(), rows.getRegionIterArgs().end());
  Value i = rows.getInductionVar();
  Value y = plus(plus(times(h, conv.strides[0]), times(i, conv.dilations[0])), -conv.padsLow[0]);
  bool failedInside = false;
  auto addColumn = [&](Value j) {
    Value factor = evaluator->evaluate(conv.filter, {channels, evaluator->constantIndex(0), {i, 0, {}}, {j, 0, {}}});
    for (int64_t r = 0; r < count; ++r) {
      Value x = plus(plus(times(plus(w, r), conv.strides[1]), times(j, conv.dilations[1])), -conv.padsLow[1]);
      Value element = evaluator->evaluate(conv.input, {{n, 0, {}}, {y, 0, {}}, {x, 0, {}}, channels});
      if (!element || !factor) {
        failedInside = true;
        return;
      }
      auto contract = arith::FastMathFlags::contract;
      Value term = arith::MulFOp::create(builder, loc, evaluator->toVector(loc, element),
                                         evaluator->toVector(loc, factor), contract);
      sums[r] = arith::AddFOp::create(builder, loc, sums[r], term, contract);
    }
  };
  if (isInterior) {
    for (int64_t j = 0; j < conv.kernel[1]; ++j)
      addColumn(index(j));
  } else {
    auto [columnFirst, columnLast] = getWindowBounds(1, w);
    scf::ForOp columns = evaluator->enterLoop(loc, columnFirst, columnLast, index(1), sums);
    sums.assign(columns.getRegionIterArgs().begin(), columns.getRegionIterArgs().end());
    addColumn(columns.getInductionVar());
    evaluator->leaveLoop(sums);
    sums.assign(columns.result_begin(), columns.result_end());
  }
  evaluator->leaveLoop(sums);
  if (failedInside)
    return failure();

  for (int64_t r = 0; r < count; ++r) {
    Value sum = rows.getResult(r), place = plus(w, r);
    evaluator->setSource(conv.op.getResult(0), [&](ArrayRef<LaneIndex>) { return sum; });
    LogicalResult stored = evaluator->store(conv.results, {{n, 0, {}}, {h, 0, {}}, {place, 0, {}}, channels});
    evaluator->setSource(conv.op.getResult(0), nullptr);
    if (failed(stored))
      return failure();
  }
  return success();
}

struct CPULowerDepthwisePass : impl::CPULowerDepthwisePassBase<CPULowerDepthwisePass> {
  using CPULowerDepthwisePassBase::CPULowerDepthwisePassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<CPUDepthwiseAttr>(vxk::kStrategyAttr);
    if (!strategy)
      return;
    std::optional<Depthwise> conv = matchDepthwise(function);
    if (!conv)
      return declineStrategy(function.getLoc(), strategy,
                             "it is no convolution of f32 or f64 of one channel for each group, channels last, whose "
                             "window is known and whose result is read in place");
    if (failed(DepthwiseEmitter(function, strategy, *conv, vectorBits, registers).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
