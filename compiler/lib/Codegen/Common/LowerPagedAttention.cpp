#include "ElementEvaluator.h"
#include "WorkgroupTile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "vx/Codegen/Common/Passes.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_LOWERPAGEDATTENTIONPASS
#include "vx/Codegen/Common/Passes.h.inc"

namespace {

/// A worker has a token and a head. It goes through the pages with the greatest score and the sum of the weights so far
/// in registers, and the values by their weights in fast memory. Without threads, vectors lie along the depth. Threads
/// have parts of a key each, and then an element of the depth for some of the page's values.
class PagedAttentionEmitter {
public:
  PagedAttentionEmitter(vxk::PagedAttentionOp op, StrategyAttrInterface strategy, int64_t mostLanes)
      : op(op), strategy(strategy), threads(strategy.getThreads()), builder(op), loc(op.getLoc()),
        depth(op.getQuery().getType().getDimSize(2)), places(op.getKeys().getType().getDimSize(2)),
        parts(std::max<int64_t>(threads / places, 1)), groups(threads > 1 ? std::max<int64_t>(threads / depth, 1) : 1),
        lanes(findLanes(depth, threads > 1 ? 1 : mostLanes)),
        placeLanes(findLanes(places, threads > 1 ? 1 : mostLanes)), f32(builder.getF32Type()) {}

  LogicalResult run() {
    scores = allocate(places);
    weights = allocate(places);
    sums = allocate(groups * depth);
    if (threads > 1)
      products = allocate(parts * places);
    Value number = enterWorkgroup(builder, loc);
    evaluator.emplace(builder, lanes);
    thread = threads > 1 ? vxk::ThreadIdOp::create(builder, loc).getResult() : index(0);
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < 3; ++d)
      sizes.push_back(evaluator->sizeOf(op.getResult(), d));
    WorkgroupTile tile = getWorkgroupTile(builder, loc, number, sizes, strategy.getWorkgroupTile());
    scf::ForOp tokens = evaluator->enterLoop(loc, tile.lower[0], tile.upper[0], index(1));
    token = tokens.getInductionVar();
    scf::ForOp heads = evaluator->enterLoop(loc, tile.lower[1], tile.upper[1], index(1));
    head = heads.getInductionVar();
    if (failed(emitRow()))
      return failure();
    evaluator->leaveLoop();
    evaluator->leaveLoop();
    op.erase();
    return success();
  }

private:
  /// Vectors that divide a row.
  static int64_t findLanes(int64_t size, int64_t most) {
    int64_t count = llvm::bit_floor(static_cast<uint64_t>(std::max<int64_t>(most, 1)));
    while (count > 1 && size % count != 0)
      count /= 2;
    return count;
  }

  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value integer(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); }
  Value number(double value) { return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value)); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
  Value least(Value a, Value b) { return arith::MinSIOp::create(builder, loc, a, b); }
  Value most(Value a, Value b) { return arith::MaxSIOp::create(builder, loc, a, b); }
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, loc, condition, a, b); }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, loc, a, b); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value toIndex(Value value) { return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), value); }
  Value toInteger(Value value) { return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value); }
  Value multiplyAdd(Value a, Value b, Value sum) {
    const auto flags = arith::FastMathFlags::contract;
    return arith::AddFOp::create(builder, loc, sum, arith::MulFOp::create(builder, loc, a, b, flags), flags);
  }
  Value minusInfinity() { return number(-std::numeric_limits<double>::infinity()); }
  void waitForThreads() {
    if (threads > 1)
      vxk::BarrierOp::create(builder, loc);
  }

  /// Memory of the worker: the stack, or that of the workgroup.
  Value allocate(int64_t size) {
    if (threads == 1)
      return memref::AllocaOp::create(builder, loc, MemRefType::get({size}, f32), ValueRange(),
                                      builder.getI64IntegerAttr(64));
    auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
    return memref::AllocOp::create(builder, loc, MemRefType::get({size}, f32, MemRefLayoutAttrInterface(), space));
  }
  Type vectorOf(int64_t count) { return count == 1 ? Type(f32) : Type(VectorType::get(count, f32)); }
  Value load(Value memory, Value place, int64_t count) {
    if (count == 1)
      return memref::LoadOp::create(builder, loc, memory, place);
    return vector::LoadOp::create(builder, loc, cast<VectorType>(vectorOf(count)), memory, place);
  }
  void store(Value value, Value memory, Value place) {
    if (isa<VectorType>(value.getType()))
      vector::StoreOp::create(builder, loc, value, memory, place);
    else
      memref::StoreOp::create(builder, loc, value, memory, place);
  }
  Value spread(Value value, int64_t count) {
    return count == 1 ? value : vector::BroadcastOp::create(builder, loc, vectorOf(count), value).getResult();
  }
  Value combine(vector::CombiningKind kind, Value value) {
    if (!isa<VectorType>(value.getType()))
      return value;
    return vector::ReductionOp::create(builder, loc, kind, value, arith::FastMathFlags::reassoc);
  }

  /// The vector of a tensor's row at element `d`; null after an error.
  Value read(Value tensor, ArrayRef<Value> row, Value d) {
    SmallVector<LaneIndex> at;
    for (Value outer : row)
      at.push_back({outer, 0, {}});
    at.push_back({d, lanes > 1 ? 1 : 0, {}});
    Value value = evaluator->evaluate(tensor, at);
    return !value || lanes == 1 ? value : evaluator->toVector(loc, value);
  }
  Value readNumber(Value tensor, ArrayRef<Value> at) {
    SmallVector<LaneIndex> places;
    for (Value place : at)
      places.push_back({place, 0, {}});
    return evaluator->evaluate(tensor, places);
  }

  /// Finds the token's sequence, and the positions [first, end) that it sees.
  LogicalResult findSequence() {
    Value no = arith::ConstantIntOp::create(builder, loc, 0, 1), position = toInteger(token);
    Value sequences = evaluator->sizeOf(op.getTable(), 0);
    scf::ForOp loop = evaluator->enterLoop(loc, index(0), sequences, index(1), {no, index(0), integer(-1)});
    Value s = loop.getInductionVar(), isFound = loop.getRegionIterArg(0);
    Value begin = readNumber(op.getStarts(), s), behind = readNumber(op.getStarts(), add(s, index(1)));
    Value length = readNumber(op.getLengths(), s);
    if (!begin || !behind || !length)
      return failure();
    Value isInside =
        both(compare(arith::CmpIPredicate::sge, position, begin), compare(arith::CmpIPredicate::slt, position, behind));
    Value isFirst = both(isInside, compare(arith::CmpIPredicate::eq, isFound, no));
    Value own = add(sub(length, behind), position);
    evaluator->leaveLoop({arith::OrIOp::create(builder, loc, isFound, isInside),
                          select(isFirst, s, loop.getRegionIterArg(1)),
                          select(isFirst, own, loop.getRegionIterArg(2))});
    sequence = loop.getResult(1);
    Value last = loop.getResult(2), all = toInteger(evaluator->sizeOf(op.getTable(), 1));
    all = arith::MulIOp::create(builder, loc, all, integer(places));
    end = toIndex(most(add(least(last, sub(all, integer(1))), integer(1)), integer(0)));
    Value hasPages = compare(arith::CmpIPredicate::ne, evaluator->sizeOf(op.getKeys(), 0), index(0));
    end = select(hasPages, end, index(0));
    first = index(0);
    if (op.getWindow())
      first = toIndex(most(sub(last, integer(static_cast<int64_t>(*op.getWindow()) - 1)), integer(0)));
    return success();
  }

  LogicalResult emitRow() {
    if (failed(findSequence()))
      return failure();
    forElements(groups * depth, [&](Value d) { store(spread(number(0), lanes), sums, d); });
    const int64_t sharing = op.getQuery().getType().getDimSize(1) / op.getKeys().getType().getDimSize(1);
    // Heads are few. A driver of NVIDIA's got a 64-bit division wrong.
    Value narrow = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), head);
    narrow = arith::DivUIOp::create(builder, loc, narrow, arith::ConstantIntOp::create(builder, loc, sharing, 32));
    keyHead = toIndex(narrow);
    Value firstPage = arith::DivUIOp::create(builder, loc, first, index(places));
    Value endPage = arith::CeilDivUIOp::create(builder, loc, end, index(places));
    scf::ForOp pages = evaluator->enterLoop(loc, firstPage, endPage, index(1), {minusInfinity(), number(0), index(0)});
    SmallVector<Value> carried(pages.getRegionIterArgs());
    if (failed(emitPage(pages.getInductionVar(), carried)))
      return failure();
    evaluator->leaveLoop(carried);
    Value sum = spread(pages.getResult(1), lanes);
    Value isNone = compare(arith::CmpIPredicate::eq, pages.getResult(2), index(0));
    Type element = op.getResult().getType().getElementType();
    waitForThreads();
    forElements(depth, [&](Value d) {
      Value total = load(sums, d, lanes);
      for (int64_t group = 1; group < groups; ++group)
        total = arith::AddFOp::create(builder, loc, total, load(sums, add(d, index(group * depth)), lanes));
      Value value = arith::DivFOp::create(builder, loc, total, sum);
      value = select(isNone, spread(number(0), lanes), value);
      if (element != f32)
        value =
            arith::TruncFOp::create(builder, loc, lanes == 1 ? element : Type(VectorType::get(lanes, element)), value);
      evaluator->store(loc, value, op.getResult(), {{token, 0, {}}, {head, 0, {}}, {d, lanes > 1 ? 1 : 0, {}}});
    });
    return success();
  }

  /// Vectors of `count` elements: those of this thread.
  void forElements(int64_t count, llvm::function_ref<void(Value)> body) {
    scf::ForOp loop = evaluator->enterLoop(loc, arith::MulIOp::create(builder, loc, thread, index(lanes)), index(count),
                                           index(threads * lanes));
    body(loop.getInductionVar());
    evaluator->leaveLoop();
  }

  /// `carried`: the greatest score, the sum of weights, and how many positions were seen.
  LogicalResult emitPage(Value number, SmallVectorImpl<Value> &carried) {
    Value page = readNumber(op.getTable(), {sequence, number});
    if (!page)
      return failure();
    Value begin = arith::MulIOp::create(builder, loc, number, index(places));
    Value isThere = compare(arith::CmpIPredicate::ult, page, toInteger(evaluator->sizeOf(op.getKeys(), 0)));
    page = select(isThere, toIndex(page), index(0));
    Value lower = most(sub(first, begin), index(0)), upper = least(sub(end, begin), index(places));
    upper = select(isThere, upper, lower);
    if (failed(emitScores(page, lower, upper)))
      return failure();
    waitForThreads();
    auto greater = [&](Value a, Value b) -> Value { return arith::MaximumFOp::create(builder, loc, a, b); };
    Value greatest = overPlaces(scores, spread(carried[0], placeLanes), greater);
    greatest = combine(vector::CombiningKind::MAXIMUMF, greatest);
    Value isNone = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, greatest, minusInfinity());
    Value shift = select(isNone, this->number(0), greatest);
    Value factor = math::ExpOp::create(builder, loc, arith::SubFOp::create(builder, loc, carried[0], shift));
    scf::ForOp own = evaluator->enterLoop(loc, arith::MulIOp::create(builder, loc, thread, index(placeLanes)),
                                          index(places), index(threads * placeLanes));
    Value difference =
        arith::SubFOp::create(builder, loc, load(scores, own.getInductionVar(), placeLanes), spread(shift, placeLanes));
    store(math::ExpOp::create(builder, loc, difference), weights, own.getInductionVar());
    evaluator->leaveLoop();
    waitForThreads();
    auto added = [&](Value a, Value b) -> Value { return arith::AddFOp::create(builder, loc, a, b); };
    Value sum = overPlaces(weights, spread(this->number(0), placeLanes), added);
    sum = combine(vector::CombiningKind::ADD, sum);
    if (failed(addValues(page, lower, upper, factor)))
      return failure();
    carried[0] = greatest;
    carried[1] = multiplyAdd(carried[1], factor, sum);
    carried[2] = add(carried[2], sub(upper, lower));
    return success();
  }

  /// All places of a page, whichever thread's. A few are combined in pairs, so that their loads wait together.
  Value overPlaces(Value memory, Value start, llvm::function_ref<Value(Value, Value)> body) {
    if (places / placeLanes > mostUnrolled) {
      scf::ForOp loop = evaluator->enterLoop(loc, index(0), index(places), index(placeLanes), start);
      Value next = body(loop.getRegionIterArg(0), load(memory, loop.getInductionVar(), placeLanes));
      evaluator->leaveLoop(next);
      return loop.getResult(0);
    }
    SmallVector<Value> all;
    for (int64_t place = 0; place < places; place += placeLanes)
      all.push_back(load(memory, index(place), placeLanes));
    for (; all.size() > 1; all.truncate(llvm::divideCeil(all.size(), 2)))
      for (size_t i = 0; i < all.size(); i += 2)
        all[i / 2] = i + 1 < all.size() ? body(all[i], all[i + 1]) : all[i];
    return body(start, all[0]);
  }

  Value isSeen(Value place, Value lower, Value upper) {
    return both(compare(arith::CmpIPredicate::sge, place, lower), compare(arith::CmpIPredicate::slt, place, upper));
  }

  /// The products of the query with the keys of [lower, upper), in `parts` along the depth: each slot is a part of a
  /// place.
  LogicalResult emitProducts(Value page, Value lower, Value upper) {
    const int64_t share = llvm::divideCeil(depth, parts);
    scf::ForOp slots = evaluator->enterLoop(loc, thread, index(parts * places), index(threads));
    Value slot = slots.getInductionVar(), place = arith::RemUIOp::create(builder, loc, slot, index(places));
    Value begin =
        arith::MulIOp::create(builder, loc, arith::DivUIOp::create(builder, loc, slot, index(places)), index(share));
    evaluator->enterIf(loc, isSeen(place, lower, upper));
    Value sum = number(0);
    if (depth % parts == 0 && share <= mostUnrolled) {
      for (int64_t d = 0; sum && d < share; ++d)
        sum = addProduct(page, place, add(begin, index(d)), sum);
    } else {
      scf::ForOp along = evaluator->enterLoop(loc, begin, least(add(begin, index(share)), index(depth)), index(1), sum);
      Value next = addProduct(page, place, along.getInductionVar(), along.getRegionIterArg(0));
      if (!next)
        return failure();
      evaluator->leaveLoop(next);
      sum = along.getResult(0);
    }
    if (!sum)
      return failure();
    store(sum, products, slot);
    evaluator->leaveIf();
    evaluator->leaveLoop();
    waitForThreads();
    return success();
  }

  /// The product of the query with a key: of vectors, or of the parts that threads have computed.
  Value emitDot(Value page, Value place) {
    if (threads > 1) {
      Value dot = load(products, place, 1);
      for (int64_t part = 1; part < parts; ++part)
        dot = arith::AddFOp::create(builder, loc, dot, load(products, add(place, index(part * places)), 1));
      return dot;
    }
    Value dot = spread(number(0), lanes);
    if (depth / lanes > mostUnrolled / 4) {
      scf::ForOp along = evaluator->enterLoop(loc, index(0), index(depth), index(lanes), dot);
      Value next = addProduct(page, place, along.getInductionVar(), along.getRegionIterArg(0));
      if (!next)
        return {};
      evaluator->leaveLoop(next);
      return combine(vector::CombiningKind::ADD, along.getResult(0));
    }
    // Sums that do not wait for each other.
    SmallVector<Value> chains(std::min<int64_t>(depth / lanes, 4), dot);
    for (int64_t d = 0; d < depth; d += lanes) {
      Value &chain = chains[static_cast<size_t>(d / lanes) % chains.size()];
      chain = addProduct(page, place, index(d), chain);
      if (!chain)
        return {};
    }
    for (Value chain : chains)
      dot = arith::AddFOp::create(builder, loc, dot, chain);
    return combine(vector::CombiningKind::ADD, dot);
  }

  /// Of places outside of [lower, upper) the score is -inf.
  LogicalResult emitScores(Value page, Value lower, Value upper) {
    if (threads > 1 && failed(emitProducts(page, lower, upper)))
      return failure();
    scf::ForOp loop = evaluator->enterLoop(loc, thread, index(places), index(threads));
    Value place = loop.getInductionVar();
    store(minusInfinity(), scores, place);
    evaluator->enterIf(loc, isSeen(place, lower, upper));
    Value dot = emitDot(page, place);
    if (!dot)
      return failure();
    Value score = arith::MulFOp::create(builder, loc, dot, number(op.getScale().convertToDouble()));
    if (op.getSoftcap()) {
      Value cap = number(op.getSoftcap()->convertToDouble());
      Value bent = math::TanhOp::create(builder, loc, arith::DivFOp::create(builder, loc, score, cap));
      score = arith::MulFOp::create(builder, loc, bent, cap);
    }
    store(score, scores, place);
    evaluator->leaveIf();
    evaluator->leaveLoop();
    return success();
  }

  Value addProduct(Value page, Value place, Value d, Value sum) {
    Value query = read(op.getQuery(), {token, head}, d), key = read(op.getKeys(), {page, keyHead, place}, d);
    return query && key ? multiplyAdd(query, key, sum) : Value();
  }

  /// Each slot is an element of the depth, for a group of the places.
  LogicalResult addValuesOfThreads(Value page, Value lower, Value upper, Value factor) {
    scf::ForOp slots = evaluator->enterLoop(loc, thread, index(groups * depth), index(threads));
    Value slot = slots.getInductionVar(), d = arith::RemUIOp::create(builder, loc, slot, index(depth));
    Value group = arith::DivUIOp::create(builder, loc, slot, index(depth));
    Value sum = arith::MulFOp::create(builder, loc, load(sums, slot, 1), factor);
    auto addValue = [&](Value place, bool isKnown) {
      Value value = read(op.getValues(), {page, keyHead, place}, d);
      if (value && !isKnown) // a place that is not seen may hold anything
        value = select(isSeen(place, lower, upper), value, number(0));
      sum = value ? multiplyAdd(load(weights, place, 1), value, sum) : Value();
      return static_cast<bool>(sum);
    };
    if (places % groups == 0 && places / groups <= mostUnrolled) {
      for (int64_t place = 0; place < places; place += groups)
        if (!addValue(add(group, index(place)), /*isKnown=*/false))
          return failure();
    } else {
      scf::ForOp loop = evaluator->enterLoop(loc, add(lower, group), upper, index(groups), sum);
      sum = loop.getRegionIterArg(0);
      if (!addValue(loop.getInductionVar(), /*isKnown=*/true))
        return failure();
      evaluator->leaveLoop(sum);
      sum = loop.getResult(0);
    }
    store(sum, sums, slot);
    evaluator->leaveLoop();
    return success();
  }

  /// The sums of a few vectors of the depth are in registers at a time.
  LogicalResult addValues(Value page, Value lower, Value upper, Value factor) {
    if (threads > 1)
      return addValuesOfThreads(page, lower, upper, factor);
    const int64_t count = findLanes(depth / lanes, 8);
    scf::ForOp blocks = evaluator->enterLoop(loc, index(0), index(depth), index(count * lanes));
    SmallVector<Value> at, before;
    for (int64_t i = 0; i < count; ++i) {
      at.push_back(add(blocks.getInductionVar(), index(i * lanes)));
      before.push_back(arith::MulFOp::create(builder, loc, load(sums, at.back(), lanes), spread(factor, lanes)));
    }
    scf::ForOp loop = evaluator->enterLoop(loc, lower, upper, index(1), before);
    Value place = loop.getInductionVar(), weight = spread(load(weights, place, 1), lanes);
    SmallVector<Value> next;
    for (int64_t i = 0; i < count; ++i) {
      Value value = read(op.getValues(), {page, keyHead, place}, at[i]);
      if (!value)
        return failure();
      next.push_back(multiplyAdd(weight, value, loop.getRegionIterArg(static_cast<unsigned>(i))));
    }
    evaluator->leaveLoop(next);
    for (int64_t i = 0; i < count; ++i)
      store(loop.getResult(static_cast<unsigned>(i)), sums, at[i]);
    evaluator->leaveLoop();
    return success();
  }

  static constexpr int64_t mostUnrolled = 64;
  vxk::PagedAttentionOp op;
  StrategyAttrInterface strategy;
  int64_t threads;
  OpBuilder builder;
  Location loc;
  std::optional<ElementEvaluator> evaluator;
  int64_t depth, places;
  /// With threads: parts of a key's depth, and groups of a page's values.
  int64_t parts, groups;
  int64_t lanes, placeLanes;
  Type f32;
  Value thread, token, head, keyHead, sequence, first, end;
  /// Of the page's places the products [part, place], the scores and the weights; and the sums [group, depth].
  Value products, scores, weights, sums;
};

struct LowerPagedAttentionPass : impl::LowerPagedAttentionPassBase<LowerPagedAttentionPass> {
  using LowerPagedAttentionPassBase::LowerPagedAttentionPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<vxk::PagedAttentionOp> found(function.getOps<vxk::PagedAttentionOp>());
    for (vxk::PagedAttentionOp op : found)
      if (failed(PagedAttentionEmitter(op, function->getAttrOfType<StrategyAttrInterface>(vxk::kStrategyAttr), lanes)
                     .run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx
