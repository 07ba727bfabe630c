#include "BlockEmitter.h"
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

/// A convolution over any number of spatial dimensions whose lanes are filters: with F filters and C channels a group,
///   result[n, s..., f] = sum over c < C and the window of input[n, s * stride + i * dilation - pad, f / F * C + c] *
///   filter[f, c, i...]
struct Depthwise : OnlySum {
  Value input, filter;
  Operation *inputWidening, *filterWidening; // what converts an element to the type of the sums; null for nothing
  int64_t filters, channels;                 // of a group
  SmallVector<int64_t> kernel, strides, dilations, padsLow;
  int64_t spatial() const { return kernel.size(); }
};

/// True when the lanes of a vector belong to whole groups, or all to one.
bool areLanesOfGroups(int64_t lanes, int64_t filters) { return lanes % filters == 0 || filters % lanes == 0; }

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
  if (!window.getChannelsLast() || groups == 1 || !filterType.hasStaticShape() || filterType.getDimSize(0) == 0)
    return std::nullopt;
  found.filters = filterType.getDimSize(0) / groups;
  found.channels = filterType.getDimSize(1);
  found.op.getBody()->walk([&](tensor::ExtractOp read) { found.input = read.getTensor(); });
  llvm::append_range(found.kernel, filterType.getShape().drop_front(2));
  llvm::append_range(found.strides, window.getStrides());
  llvm::append_range(found.dilations, window.getDilations());
  llvm::append_range(found.padsLow, window.getPadsLow());
  Type element = type.getElementType();
  if (!element.isF32() && !element.isF64() && !element.isInteger(32))
    return std::nullopt;
  // Elements are those of the sums, or are converted to that type.
  Operation *sumOp = found.op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  Operation *times = sumOp && sumOp->getNumOperands() == 2 ? sumOp->getOperand(1).getDefiningOp() : nullptr;
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(times))
    return std::nullopt;
  found.inputWidening = findWidening(times->getOperand(0));
  found.filterWidening = findWidening(times->getOperand(1));
  auto isOfSums = [&](Value operand, Operation *widening) {
    return widening || cast<RankedTensorType>(operand.getType()).getElementType() == element;
  };
  if (!isOfSums(found.input, found.inputWidening) || !isOfSums(found.filter, found.filterWidening))
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
  int64_t getLanes() const { return lanes; }

private:
  LogicalResult forEach(Value lower, Value upper, int64_t step, function_ref<LogicalResult(Value)> body) {
    scf::ForOp loop = evaluator->enterLoop(loc, lower, upper, index(step));
    if (failed(body(loop.getInductionVar())))
      return failure();
    evaluator->leaveLoop();
    return success();
  }
  /// Calls `body` in a loop that carries `sums`.
  LogicalResult forWindow(std::pair<Value, Value> bounds, SmallVector<Value> &sums,
                          function_ref<LogicalResult(Value)> body);
  /// The iterations [first, last) of the window in spatial dimension `d` that lie inside of the input for the output's
  /// place.
  std::pair<Value, Value> getWindowBounds(int64_t d, Value place);
  /// The place in the input of iteration `i` of the window at the output's place.
  Value getInputPlace(int64_t d, Value place, Value i) {
    return plus(plus(times(place, conv.strides[d]), times(i, conv.dilations[d])), -conv.padsLow[d]);
  }
  /// The rows of the output from spatial dimension `d` on, whose dimensions before are those of `at`.
  LogicalResult forEachRow(int64_t d, const WorkgroupTile &tile, SmallVector<Value> &at,
                           function_ref<LogicalResult()> body);
  LogicalResult emitRow(ArrayRef<Value> at, Value widthLower, Value widthUpper, Value column);
  /// `count` neighbours in a row from place `w` on. With `isInterior`, their windows lie inside of the row.
  LogicalResult emitPlaces(ArrayRef<Value> at, Value w, Value column, int64_t count, bool isInterior);
  /// Adds the window's places in the dimensions from `d` on; `input` and `window` have those of the dimensions before.
  LogicalResult addWindow(int64_t d, ArrayRef<Value> at, Value w, Value column, int64_t count, bool isInterior,
                          SmallVector<LaneIndex> &input, SmallVector<LaneIndex> &window, SmallVector<Value> &sums);
  /// Adds one place of the window.
  LogicalResult addPlace(Value w, Value j, Value column, SmallVector<LaneIndex> input, ArrayRef<LaneIndex> window,
                         SmallVector<Value> &sums);
  /// For each channel of a group the elements of the input that the lanes read.
  LogicalResult readChannels(SmallVector<LaneIndex> &input, Value column, SmallVector<Value> &elements);
  /// Finds which of the channels from that of `column` on each lane reads, where a vector begins anywhere in a group.
  void findLaneChannels(Value column);
  LogicalResult lookUpChannel(SmallVector<LaneIndex> &input, Value firstChannel, SmallVector<Value> &elements);
  Value widen(Value value, Operation *widening) {
    return widening ? applyWidening(builder, loc, widening, value) : value;
  }

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
  Value laneChannels; // of the vector of filters, where lanes look their channel up; else null
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

  int64_t row = conv.spatial(), filter = row + 1;
  Value lower = tile.lower[filter], upper = tile.upper[filter], wholeEnd = upper;
  if (!isMultipleOf(sizes.back(), lanes)) {
    Value rest = arith::RemUIOp::create(builder, loc, arith::SubIOp::create(builder, loc, upper, lower), index(lanes));
    wholeEnd = arith::SubIOp::create(builder, loc, upper, rest);
  }
  SmallVector<Value> at;
  LogicalResult done = forEachRow(0, tile, at, [&] {
    LogicalResult whole = forEach(lower, wholeEnd, lanes,
                                  [&](Value column) { return emitRow(at, tile.lower[row], tile.upper[row], column); });
    if (failed(whole) || wholeEnd == upper)
      return whole;
    return forEach(wholeEnd, upper, lanes, [&](Value column) {
      Value left = arith::SubIOp::create(builder, loc, upper, column);
      evaluator->setMask(vector::CreateMaskOp::create(builder, loc, VectorType::get(lanes, builder.getI1Type()), left));
      LogicalResult emitted = emitRow(at, tile.lower[row], tile.upper[row], column);
      evaluator->setMask({});
      return emitted;
    });
  });
  if (failed(done))
    return failure();
  conv.eraseResults();
  return success();
}

LogicalResult DepthwiseEmitter::forEachRow(int64_t d, const WorkgroupTile &tile, SmallVector<Value> &at,
                                           function_ref<LogicalResult()> body) {
  if (d == conv.spatial())
    return body();
  return forEach(tile.lower[d], tile.upper[d], 1, [&](Value place) {
    at.push_back(place);
    LogicalResult done = forEachRow(d + 1, tile, at, body);
    at.pop_back();
    return done;
  });
}

void DepthwiseEmitter::findLaneChannels(Value column) {
  laneChannels = {};
  if (areLanesOfGroups(lanes, conv.filters))
    return;
  // Where `column` is filter f of its group, lane l reads the channel after (f + l) / filters others.
  auto words = VectorType::get(lanes, builder.getI32Type());
  auto splat = [&](int64_t value) -> Value {
    auto element = builder.getI32IntegerAttr(static_cast<int32_t>(value));
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(words, element));
  };
  Value filter = arith::RemUIOp::create(builder, loc, column, index(conv.filters));
  filter = arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), filter);
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(lanes)));
  Value all = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(words, ArrayRef(numbers)));
  all = arith::AddIOp::create(builder, loc, all, vector::BroadcastOp::create(builder, loc, words, filter));
  laneChannels = arith::DivUIOp::create(builder, loc, all, splat(conv.filters));
}

LogicalResult DepthwiseEmitter::lookUpChannel(SmallVector<LaneIndex> &input, Value firstChannel,
                                              SmallVector<Value> &elements) {
  constexpr int64_t registerLanes[] = {8, 16}; // of vxk.lookup
  const bool isOfFloats = cast<RankedTensorType>(conv.input.getType()).getElementType().isF32();
  if (!isOfFloats || !llvm::is_contained(registerLanes, lanes)) {
    auto indices = VectorType::get(lanes, builder.getIndexType());
    Value channels = arith::IndexCastUIOp::create(builder, loc, indices, laneChannels);
    channels =
        arith::AddIOp::create(builder, loc, channels, vector::BroadcastOp::create(builder, loc, indices, firstChannel));
    input.back() = {{}, 0, channels};
    Value element = evaluator->evaluate(conv.input, input);
    elements.push_back(element ? evaluator->toVector(loc, element) : Value());
    return success(element != nullptr);
  }
  Value columnMask = evaluator->getMask(), channels = evaluator->sizeOf(conv.input, 1 + conv.spatial());
  Value left = arith::SubIOp::create(builder, loc, channels, firstChannel);
  evaluator->setMask(vector::CreateMaskOp::create(builder, loc, VectorType::get(lanes, builder.getI1Type()), left));
  input.back() = {firstChannel, 1, {}};
  Value loaded = evaluator->evaluate(conv.input, input);
  evaluator->setMask(columnMask);
  if (!loaded)
    return failure();
  Value table = evaluator->toVector(loc, loaded);
  elements.push_back(vxk::LookupOp::create(builder, loc, table.getType(), table, laneChannels));
  return success();
}

LogicalResult DepthwiseEmitter::emitRow(ArrayRef<Value> at, Value lower, Value upper, Value column) {
  findLaneChannels(column);
  // The first place whose window begins inside of the row, and the first whose window ends outside of it.
  int64_t d = conv.spatial() - 1, stride = conv.strides[d], reach = (conv.kernel[d] - 1) * conv.dilations[d];
  Value size = evaluator->sizeOf(conv.input, 1 + d);
  Value first = index(llvm::divideCeilSigned(conv.padsLow[d], stride));
  Value room = plus(size, conv.padsLow[d] - reach);
  Value last = arith::CeilDivSIOp::create(builder, loc, room, index(stride));
  first = clamp(first, lower, upper);
  last = clamp(last, first, upper);
  Value whole = arith::SubIOp::create(builder, loc, last, first);
  Value rest = arith::RemUIOp::create(builder, loc, whole, index(places));
  Value wholeEnd = arith::SubIOp::create(builder, loc, last, rest);
  auto section = [&](Value from, Value to, int64_t count, bool isInterior) {
    return forEach(from, to, count, [&](Value w) { return emitPlaces(at, w, column, count, isInterior); });
  };
  return failure(failed(section(lower, first, 1, false)) || failed(section(first, wholeEnd, places, true)) ||
                 failed(section(wholeEnd, last, 1, true)) || failed(section(last, upper, 1, false)));
}

LogicalResult DepthwiseEmitter::forWindow(std::pair<Value, Value> bounds, SmallVector<Value> &sums,
                                          function_ref<LogicalResult(Value)> body) {
  scf::ForOp loop = evaluator->enterLoop(loc, bounds.first, bounds.second, index(1), sums);
  sums.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  if (failed(body(loop.getInductionVar())))
    return failure();
  evaluator->leaveLoop(sums);
  sums.assign(loop.result_begin(), loop.result_end());
  return success();
}

LogicalResult DepthwiseEmitter::readChannels(SmallVector<LaneIndex> &input, Value column,
                                             SmallVector<Value> &elements) {
  // The lanes' first channel: vectors of filters begin with a group, or lie in one.
  Value group = column;
  if (conv.filters > 1)
    group = builder.createOrFold<arith::DivUIOp>(loc, column, index(conv.filters));
  Value base = times(group, conv.channels);
  if (laneChannels)
    return lookUpChannel(input, base, elements);
  if (lanes % conv.filters != 0 || lanes == 1) {
    for (int64_t c = 0; c < conv.channels; ++c) {
      input.back() = {plus(base, c), 0, {}};
      Value element = evaluator->evaluate(conv.input, input);
      if (!element)
        return failure();
      elements.push_back(evaluator->toVector(loc, element));
    }
    return success();
  }
  // Neighbouring channels are loaded once, and each lane takes its own of them.
  int64_t needed = lanes / conv.filters * conv.channels;
  Value columnMask = evaluator->getMask();
  bool isWhole = !columnMask && needed % lanes == 0;
  Value channels = evaluator->sizeOf(conv.input, 1 + conv.spatial());
  SmallVector<Value> loaded;
  for (int64_t from = 0; from < needed; from += lanes) {
    Value first = plus(base, from);
    Value mask;
    if (!isWhole && !(conv.filters == 1 && conv.channels == 1))
      mask = vector::CreateMaskOp::create(builder, loc, VectorType::get(lanes, builder.getI1Type()),
                                          arith::SubIOp::create(builder, loc, channels, first).getResult());
    else if (!isWhole)
      mask = columnMask;
    evaluator->setMask(mask);
    input.back() = {first, 1, {}};
    Value element = evaluator->evaluate(conv.input, input);
    evaluator->setMask(columnMask);
    if (!element)
      return failure();
    loaded.push_back(evaluator->toVector(loc, element));
  }
  for (int64_t c = 0; c < conv.channels; ++c) {
    if (conv.filters == 1 && conv.channels == 1) {
      elements.push_back(loaded.front());
      continue;
    }
    // Two vectors at a time: the lanes of each pair whose channels lie in it.
    Value value;
    for (size_t pair = 0; pair < loaded.size(); pair += 2) {
      SmallVector<int64_t> order;
      bool takesAny = false, takesAll = true;
      SmallVector<bool> isOfPair;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        int64_t place = lane / conv.filters * conv.channels + c - static_cast<int64_t>(pair) * lanes;
        bool isInside = place >= 0 && place < 2 * lanes;
        takesAny |= isInside;
        takesAll &= isInside;
        isOfPair.push_back(isInside);
        order.push_back(isInside ? place : 0);
      }
      if (!takesAny)
        continue;
      Value second = loaded[std::min(pair + 1, loaded.size() - 1)];
      Value part = vector::ShuffleOp::create(builder, loc, loaded[pair], second, order);
      if (value && !takesAll) {
        auto maskType = VectorType::get(lanes, builder.getI1Type());
        Value takes = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(maskType, ArrayRef(isOfPair)));
        part = arith::SelectOp::create(builder, loc, takes, part, value);
      }
      value = part;
    }
    elements.push_back(value);
  }
  return success();
}

LogicalResult DepthwiseEmitter::addPlace(Value w, Value j, Value column, SmallVector<LaneIndex> input,
                                         ArrayRef<LaneIndex> window, SmallVector<Value> &sums) {
  SmallVector<Value> factors;
  for (int64_t c = 0; c < conv.channels; ++c) {
    SmallVector<LaneIndex> place = {{column, 1, {}}, evaluator->constantIndex(c)};
    place.append(window.begin(), window.end());
    place.push_back({j, 0, {}});
    Value factor = evaluator->evaluate(conv.filter, place);
    if (!factor)
      return failure();
    factors.push_back(widen(evaluator->toVector(loc, factor), conv.filterWidening));
  }
  input.push_back({});
  input.push_back({});
  for (auto [r, sum] : llvm::enumerate(sums)) {
    int64_t d = conv.spatial() - 1;
    input[input.size() - 2] = {getInputPlace(d, plus(w, r), j), 0, {}};
    SmallVector<Value> elements;
    if (failed(readChannels(input, column, elements)))
      return failure();
    for (auto [element, factor] : llvm::zip(elements, factors))
      sum = multiplyAdd(builder, loc, widen(element, conv.inputWidening), factor, sum);
  }
  return success();
}

LogicalResult DepthwiseEmitter::addWindow(int64_t d, ArrayRef<Value> at, Value w, Value column, int64_t count,
                                          bool isInterior, SmallVector<LaneIndex> &input,
                                          SmallVector<LaneIndex> &window, SmallVector<Value> &sums) {
  if (d + 1 < conv.spatial()) {
    Value place = at[1 + d];
    return forWindow(getWindowBounds(d, place), sums, [&](Value i) {
      input.push_back({getInputPlace(d, place, i), 0, {}});
      window.push_back({i, 0, {}});
      LogicalResult done = addWindow(d + 1, at, w, column, count, isInterior, input, window, sums);
      input.pop_back();
      window.pop_back();
      return done;
    });
  }
  auto add = [&](Value j) { return addPlace(w, j, column, input, window, sums); };
  if (!isInterior)
    return forWindow(getWindowBounds(d, w), sums, add);
  // Beyond so many multiplications the window is a loop, too.
  constexpr int64_t mostUnrolled = 512;
  if (conv.kernel[d] * conv.channels * count > mostUnrolled)
    return forWindow({index(0), index(conv.kernel[d])}, sums, add);
  for (int64_t j = 0; j < conv.kernel[d]; ++j)
    if (failed(add(index(j))))
      return failure();
  return success();
}

LogicalResult DepthwiseEmitter::emitPlaces(ArrayRef<Value> at, Value w, Value column, int64_t count, bool isInterior) {
  auto vector = VectorType::get(lanes, type.getElementType());
  SmallVector<Value> sums(count, arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vector)));
  SmallVector<LaneIndex> input = {{at.front(), 0, {}}}, window;
  if (failed(addWindow(0, at, w, column, count, isInterior, input, window, sums)))
    return failure();
  SmallVector<LaneIndex> place;
  for (Value outer : at)
    place.push_back({outer, 0, {}});
  place.append({{}, {column, 1, {}}});
  for (auto [r, sum] : llvm::enumerate(sums)) {
    place[at.size()] = {plus(w, r), 0, {}};
    evaluator->setSource(conv.op.getResult(0), [&](ArrayRef<LaneIndex>) { return sum; });
    LogicalResult stored = evaluator->store(conv.results, place);
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
      return declineStrategy(
          function.getLoc(), strategy,
          "it is no convolution with groups, sums of f32, f64 or i32, channels last, whose filter's sizes are "
          "known and whose result is read in place");
    DepthwiseEmitter emitter(function, strategy, *conv, vectorBits, registers);
    if (!areLanesOfGroups(emitter.getLanes(), conv->filters) && conv->channels != 1)
      return declineStrategy(function.getLoc(), strategy, "the filters of its groups do not fill vectors");
    if (failed(emitter.run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
