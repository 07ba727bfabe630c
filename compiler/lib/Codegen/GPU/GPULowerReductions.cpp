#include "Common/DeclineStrategy.h"
#include "EraseTensorOps.h"
#include "WorkgroupEmitter.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/RegionUtils.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {
#define GEN_PASS_DEF_GPULOWERREDUCTIONSPASS
#include "vx/Codegen/GPU/Passes.h.inc"
} // namespace vx

using namespace mlir;
using bufferization::MaterializeInDestinationOp;

namespace vx {
namespace {

/// The place of an element along one dimension of a tensor, in terms of the kernel's result.
constexpr int64_t kAlong = -1; // runs along the row
constexpr int64_t kZero = -2;  // the only place there is

/// One reduction of a row, and where in its tensor the row's element lies.
struct Reduction {
  linalg::GenericOp op;
  Operation *combiner; // of the body
  Value element;       // of the body: what an iteration combines with the accumulator
  SmallVector<int64_t> places;
};

class ReductionEmitter : WorkgroupEmitter {
public:
  ReductionEmitter(func::FuncOp function, RowsAttr strategy)
      : WorkgroupEmitter(function, function.getLoc()), strategy(strategy), sharing(strategy.getSharing()),
        runs(strategy.getRuns()), lanes(strategy.getLanes()), threads(strategy.getThreads()),
        tileDim(strategy.getTileDim()), tileSize(tileDim ? strategy.getTile()[*tileDim] : 1) {}

  /// True when the kernel has been lowered, false when its form is another one.
  FailureOr<bool> run() {
    results.assign(function.getOps<MaterializeInDestinationOp>().begin(),
                   function.getOps<MaterializeInDestinationOp>().end());
    if (results.empty())
      return decline("it has no result");
    auto type = cast<RankedTensorType>(results.front().getSource().getType());
    ArrayRef<int64_t> tiles = strategy.getTile();
    SmallVector<int64_t> places;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      bool isTiled = d < static_cast<int64_t>(tiles.size()) && tiles[d] != 0;
      places.push_back(isTiled ? d : kAlong);
      if (!isTiled)
        alongDims.push_back(d);
    }
    for (MaterializeInDestinationOp result : results)
      if (cast<RankedTensorType>(result.getSource().getType()).getShape() != type.getShape())
        return decline("its results have different sizes");
      else if (!plan(result.getSource(), places))
        return decline("it has a reduction of another kind, or one that is not read along whole rows");
    if (reductions.empty())
      return decline("it has no reduction");
    if (failed(emit()))
      return failure();
    for (MaterializeInDestinationOp result : results)
      result.erase();
    return true;
  }

private:
  bool decline(StringRef reason) {
    declineStrategy(function.getLoc(), strategy, reason);
    return false;
  }

  //===-- What the kernel looks like ------------------------------------------------------------------------------===//

  /// Lists the reductions that the element of `tensor` at `places` needs, each after those that it needs itself. False
  /// for a form that this pass does not know.
  bool plan(Value tensor, ArrayRef<int64_t> places) {
    Operation *op = tensor.getDefiningOp();
    if (auto cast = dyn_cast_or_null<tensor::CastOp>(op))
      return plan(cast.getSource(), places);
    auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
    if (!generic)
      return true;
    bool isReduction = generic.getNumReductionLoops() != 0;
    if (!isReduction && !needsReduction(tensor))
      return true;
    auto known = llvm::find_if(reductions, [&](const Reduction &reduction) { return reduction.op == generic; });
    if (known != reductions.end())
      return known->places == places;
    if (isReduction && llvm::is_contained(places, kAlong))
      return false;

    SmallVector<int64_t> loops(generic.getNumLoops(), kAlong);
    unsigned number = cast<OpResult>(tensor).getResultNumber();
    AffineMap outMap = generic.getMatchingIndexingMap(generic.getDpsInitOperand(number));
    for (auto [expr, place] : llvm::zip(outMap.getResults(), places)) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        return false;
      loops[dim.getPosition()] = place;
    }
    for (OpOperand *input : generic.getDpsInputOperands()) {
      if (!needsReduction(input->get()))
        continue;
      SmallVector<int64_t> at;
      for (AffineExpr expr : generic.getMatchingIndexingMap(input).getResults()) {
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          at.push_back(loops[dim.getPosition()]);
        else if (expr == getAffineConstantExpr(0, expr.getContext()))
          at.push_back(kZero);
        else
          return false;
      }
      if (!plan(input->get(), at))
        return false;
    }
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(generic.getRegion(), captured);
    for (Value value : captured)
      if (isa<RankedTensorType>(value.getType()) && needsReduction(value))
        return false;
    if (!isReduction)
      return true;
    std::optional<Reduction> reduction = match(generic);
    if (!reduction)
      return false;
    reduction->places.assign(places.begin(), places.end());
    reductions.push_back(*reduction);
    return true;
  }

  bool needsReduction(Value tensor) {
    Operation *op = tensor.getDefiningOp();
    if (!op || !isa<RankedTensorType>(tensor.getType()))
      return false;
    if (auto generic = dyn_cast<linalg::GenericOp>(op); generic && generic.getNumReductionLoops() != 0)
      return true;
    auto [known, isNew] = needs.try_emplace(op, false);
    if (!isNew)
      return known->second;
    SetVector<Value> inputs(op->operand_begin(), op->operand_end());
    for (Region &region : op->getRegions())
      getUsedValuesDefinedAbove(region, inputs);
    bool result = llvm::any_of(inputs, [&](Value input) { return needsReduction(input); });
    return needs[op] = result;
  }

  /// A reduction whose partial results one op combines.
  static std::optional<Reduction> match(linalg::GenericOp op) {
    SmallVector<Operation *> combiners;
    if (op.getNumDpsInits() != 1 || !matchReduction(op.getRegionOutputArgs(), 0, combiners) || combiners.size() != 1)
      return std::nullopt;
    Operation *combiner = combiners.front();
    Value accumulator = op.getRegionOutputArgs()[0];
    if (combiner->getNumOperands() != 2 || combiner->getNumRegions() != 0 || !arith::getNeutralElement(combiner) ||
        combiner->getOperand(0) == combiner->getOperand(1) || !accumulator.hasOneUse())
      return std::nullopt;
    Value element = combiner->getOperand(combiner->getOperand(0) == accumulator ? 1 : 0);
    unsigned bits = accumulator.getType().isIntOrFloat() ? accumulator.getType().getIntOrFloatBitWidth() : 0;
    if (bits == 0 || bits > 64)
      return std::nullopt;
    return Reduction{op, combiner, element, {}};
  }

  //===-- Code ----------------------------------------------------------------------------------------------------===//

  LogicalResult emit() {
    Value number = enter(results.back());
    Value destination = results.front().getDest();
    auto type = cast<RankedTensorType>(results.front().getSource().getType());
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < type.getRank(); ++d)
      sizes.push_back(evaluator->sizeOf(destination, d));
    WorkgroupTile tile = getWorkgroupTile(builder, loc, number, sizes, strategy.getTile());
    row = tile.lower;
    Value thread = vxk::ThreadIdOp::create(builder, loc);
    switch (sharing) {
    case RowSharing::workgroup:
      part = thread;
      parts = index(threads);
      return emitRow();
    case RowSharing::columns: {
      Value columns = index(tileSize);
      part = quotient(thread, columns);
      parts = index(threads / tileSize);
      ownColumn = remainder(thread, columns);
      if (tileDim) {
        Value place = plus(row[*tileDim], ownColumn);
        isColumnInside = compare(arith::CmpIPredicate::ult, place, sizes[*tileDim]);
        // A column too many reads the last one once more: all threads meet at the barriers.
        Value last = builder.createOrFold<arith::SubIOp>(loc, sizes[*tileDim], index(1));
        row[*tileDim] = minimum(place, last);
      }
      return emitRow();
    }
    case RowSharing::subgroup: {
      part = gpu::LaneIdOp::create(builder, loc, IntegerAttr());
      parts = gpu::SubgroupSizeOp::create(builder, loc, IntegerAttr());
      Value first = gpu::SubgroupIdOp::create(builder, loc, IntegerAttr());
      Value subgroups = gpu::NumSubgroupsOp::create(builder, loc, IntegerAttr());
      Value rows = builder.createOrFold<arith::SubIOp>(loc, tile.upper[*tileDim], tile.lower[*tileDim]);
      scf::ForOp loop = evaluator->enterLoop(loc, first, rows, subgroups);
      row[*tileDim] = plus(tile.lower[*tileDim], loop.getInductionVar());
      if (failed(emitRow()))
        return failure();
      evaluator->leaveLoop();
      return success();
    }
    }
    llvm_unreachable("all ways to share are listed");
  }

  /// The row in registers where it fits: each element is read, and what depends on it computed, once. A longer one in
  /// as many rounds as it takes.
  LogicalResult emitRow() {
    Value capacity = times(parts, index(runs * lanes));
    Value fits;
    for (const SmallVector<Value> &sizes : allExtents()) {
      Value length = product(sizes);
      Value holds = compare(arith::CmpIPredicate::ule, length, capacity);
      if (!getConstantIntValue(length)) {
        Value isAny = compare(arith::CmpIPredicate::ne, length, index(0));
        holds = builder.createOrFold<arith::AndIOp>(loc, holds, isAny);
      } else if (getConstantIntValue(length) == 0) {
        return emitRounds();
      }
      fits = fits ? builder.createOrFold<arith::AndIOp>(loc, fits, holds) : holds;
    }
    if (std::optional<int64_t> constant = getConstantIntValue(fits))
      return *constant != 0 ? emitWhole() : emitRounds();
    // The same for all threads that share the row.
    evaluator->enterIf(loc, fits);
    if (failed(emitWhole()))
      return failure();
    evaluator->leaveIf();
    Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
    Value not_ = arith::XOrIOp::create(builder, loc, fits, yes);
    evaluator->enterIf(loc, not_);
    if (failed(emitRounds()))
      return failure();
    evaluator->leaveIf();
    return success();
  }

  Value product(ArrayRef<Value> sizes) {
    Value result = index(1);
    for (Value size : sizes)
      result = times(result, size);
    return result;
  }

  /// The sizes along the row of each reduction, and of the result where it has any.
  SmallVector<SmallVector<Value>> allExtents() {
    SmallVector<SmallVector<Value>> extents;
    for (const Reduction &reduction : reductions)
      extents.push_back(extentOf(reduction));
    if (!alongDims.empty())
      extents.push_back(resultExtent());
    return extents;
  }
  SmallVector<Value> extentOf(const Reduction &reduction) {
    SmallVector<unsigned> dims;
    linalg::GenericOp op = reduction.op;
    op.getReductionDims(dims);
    SmallVector<Value> sizes;
    for (unsigned dim : dims) {
      auto [tensor, d] = shapeOfLoop(op, dim);
      sizes.push_back(evaluator->sizeOf(tensor, d));
    }
    return sizes;
  }
  SmallVector<Value> resultExtent() {
    SmallVector<Value> sizes;
    for (int64_t d : alongDims)
      sizes.push_back(evaluator->sizeOf(results.front().getDest(), d));
    return sizes;
  }

  /// The elements of a row that a thread has, or some of them: as many groups as `runs`, of `lanes` neighbours each,
  /// or as many groups as elements.
  struct Share {
    SmallVector<SmallVector<Value>> places; // of each element, along each dimension of the row
    SmallVector<Value> isInside;            // of each group; null where all are
    int64_t neighbours = 1;                 // elements of a group
  };

  /// The elements from `base` on. Those behind the end are others inside of the row, and marked.
  Share shareFrom(Value base, ArrayRef<Value> sizes) {
    Share share;
    Value length = product(sizes);
    std::optional<int64_t> knownLength = getConstantIntValue(length), knownParts = getConstantIntValue(parts);
    bool isWhole = knownLength && knownParts && *knownLength % (*knownParts * runs * lanes) == 0;
    // A group must not reach over the end of the row's last dimension: where one could, each element is a group.
    std::optional<int64_t> knownRun = getConstantIntValue(sizes.back());
    bool keepsLanes = knownLength && *knownLength % lanes == 0 && knownRun && *knownRun % lanes == 0;
    share.neighbours = keepsLanes ? lanes : 1;
    Value begin = plus(base, times(part, index(share.neighbours)));
    for (int64_t group = 0; group < runs * lanes / share.neighbours; ++group) {
      Value first = plus(begin, times(parts, index(group * share.neighbours)));
      Value inside;
      if (!isWhole) {
        inside = compare(arith::CmpIPredicate::ult, first, length);
        Value last = builder.createOrFold<arith::SubIOp>(loc, length, index(share.neighbours));
        first = minimum(first, last);
      }
      SmallVector<Value> begins(1, first);
      if (sizes.size() > 1) {
        begins.clear();
        for (const LaneIndex &place : evaluator->delinearize(loc, {first, 0, {}}, sizes))
          begins.push_back(place.base);
      }
      // Neighbours have the places along the other dimensions in common, and the numbers that are read there.
      for (int64_t lane = 0; lane < share.neighbours; ++lane) {
        share.places.push_back(begins);
        share.places.back().back() = plus(begins.back(), index(lane));
      }
      share.isInside.push_back(inside);
    }
    return share;
  }

  /// One share for all reductions and the result: the same values name the same elements, so nothing is read twice.
  LogicalResult emitWhole() {
    std::vector<std::pair<SmallVector<Value>, Share>> shares;
    auto shareOf = [&](const SmallVector<Value> &sizes) -> const Share & {
      for (auto &[known, share] : shares)
        if (known == sizes)
          return share;
      shares.emplace_back(sizes, shareFrom(index(0), sizes));
      return shares.back().second;
    };
    shares.reserve(reductions.size() + 1);
    for (auto [k, reduction] : llvm::enumerate(reductions)) {
      Value total = neutralOf(reduction);
      if (failed(accumulate(reduction, shareOf(extentOf(reduction)), total)))
        return failure();
      finish(reduction, k, total);
    }
    if (failed(alongDims.empty() ? storeRow() : storeShare(shareOf(resultExtent()))))
      return failure();
    forget();
    return success();
  }

  LogicalResult emitRounds() {
    for (auto [k, reduction] : llvm::enumerate(reductions)) {
      SmallVector<Value> sizes = extentOf(reduction);
      scf::ForOp loop = enterRounds(sizes, neutralOf(reduction));
      Value total = loop.getRegionIterArg(0);
      if (failed(accumulate(reduction, shareFrom(loop.getInductionVar(), sizes), total)))
        return failure();
      evaluator->leaveLoop(total);
      finish(reduction, k, loop.getResult(0));
    }
    if (alongDims.empty()) {
      if (failed(storeRow()))
        return failure();
    } else {
      SmallVector<Value> sizes = resultExtent();
      scf::ForOp loop = enterRounds(sizes, {});
      if (failed(storeShare(shareFrom(loop.getInductionVar(), sizes))))
        return failure();
      evaluator->leaveLoop();
    }
    forget();
    return success();
  }

  scf::ForOp enterRounds(ArrayRef<Value> sizes, Value carried) {
    Value step = times(parts, index(runs * lanes));
    return evaluator->enterLoop(loc, index(0), product(sizes), step, carried ? ValueRange(carried) : ValueRange());
  }

  void forget() {
    for (const Reduction &reduction : reductions)
      evaluator->setSource(reduction.op->getResult(0), {});
  }

  Value neutralOf(const Reduction &reduction) {
    return arith::ConstantOp::create(builder, loc, *arith::getNeutralElement(reduction.combiner));
  }

  Value combine(const Reduction &reduction, Value accumulator, Value element) {
    IRMapping mapping;
    linalg::GenericOp op = reduction.op;
    mapping.map(Value(op.getRegionOutputArgs()[0]), accumulator);
    mapping.map(reduction.element, element);
    return builder.clone(*reduction.combiner, mapping)->getResult(0);
  }

  LogicalResult accumulate(const Reduction &reduction, const Share &share, Value &total) {
    linalg::GenericOp op = reduction.op;
    SmallVector<unsigned> dims;
    op.getReductionDims(dims);
    SmallVector<LaneIndex> ivs(op.getNumLoops());
    AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    for (auto [expr, place] : llvm::zip(outMap.getResults(), reduction.places))
      ivs[cast<AffineDimExpr>(expr).getPosition()] = {place == kZero ? index(0) : row[place], 0, {}};
    // All elements first: they are on their way together.
    SmallVector<Value> elements;
    for (const SmallVector<Value> &places : share.places) {
      for (auto [dim, place] : llvm::zip(dims, places))
        ivs[dim] = {place, 0, {}};
      Value element = evaluator->evaluateInBody(op, reduction.element, ivs);
      if (!element)
        return failure();
      elements.push_back(element);
    }
    for (auto [k, element] : llvm::enumerate(elements)) {
      Value next = combine(reduction, total, element);
      if (Value inside = share.isInside[k / share.neighbours])
        next = select(inside, next, total);
      total = next;
    }
    return success();
  }

  /// Combines the threads' shares, in an order that depends on the number of threads and the subgroup's size only, and
  /// gives the result to all that share the row.
  void finish(const Reduction &reduction, size_t number, Value total) {
    linalg::GenericOp op = reduction.op;
    if (sharing != RowSharing::columns)
      total = combineInSubgroup(reduction, total);
    if (sharing != RowSharing::subgroup) {
      bool byColumns = sharing == RowSharing::columns;
      Value width = index(byColumns ? tileSize : 1);
      Value memory = memoryOf(number, total.getType());
      Value place, count, isWriter;
      if (byColumns) {
        place = vxk::ThreadIdOp::create(builder, loc);
        count = parts;
      } else {
        place = gpu::SubgroupIdOp::create(builder, loc, IntegerAttr());
        count = gpu::NumSubgroupsOp::create(builder, loc, IntegerAttr());
        Value lane = gpu::LaneIdOp::create(builder, loc, IntegerAttr());
        isWriter = compare(arith::CmpIPredicate::eq, lane, index(0));
      }
      if (isWriter)
        evaluator->enterIf(loc, isWriter);
      memref::StoreOp::create(builder, loc, total, memory, place);
      if (isWriter)
        evaluator->leaveIf();
      vxk::BarrierOp::create(builder, loc);
      scf::ForOp loop = evaluator->enterLoop(loc, index(0), count, index(1), neutralOf(reduction));
      Value at = times(loop.getInductionVar(), width);
      if (byColumns)
        at = plus(at, ownColumn);
      Value other = memref::LoadOp::create(builder, loc, memory, at);
      evaluator->leaveLoop(combine(reduction, loop.getRegionIterArg(0), other));
      total = loop.getResult(0);
    }
    SmallVector<LaneIndex> at;
    for (int64_t place : reduction.places)
      at.push_back({place == kZero ? index(0) : row[place], 0, {}});
    if (Value init = evaluator->evaluate(op.getDpsInits()[0], at))
      total = combine(reduction, init, total);
    evaluator->setSource(op->getResult(0), [total](ArrayRef<LaneIndex>) { return total; });
  }

  /// Each reduction has memory of its own, so that none waits until another one's has been read.
  Value memoryOf(size_t number, Type type) {
    memories.resize(std::max(memories.size(), number + 1));
    if (!memories[number])
      memories[number] = workgroupMemory(type, threads); // enough for subgroups of any size
    return memories[number];
  }

  Value combineInSubgroup(const Reduction &reduction, Value value) {
    Value size = gpu::SubgroupSizeOp::create(builder, loc, IntegerAttr());
    Value width = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), size);
    for (int64_t distance = 1; distance < 128; distance *= 2) {
      Value other = shuffle(value, distance, width);
      Value next = combine(reduction, value, other);
      Value isThere = compare(arith::CmpIPredicate::ult, index(distance), size);
      value = select(isThere, next, value);
    }
    return value;
  }

  /// The value of the lane whose number differs in the bit `distance`. Only 32-bit values are exchanged.
  Value shuffle(Value value, int64_t distance, Value width) {
    Type type = value.getType(), i32 = builder.getI32Type(), i64 = builder.getI64Type();
    auto exchange = [&](Value word) -> Value {
      Value offset = arith::ConstantIntOp::create(builder, loc, distance, 32);
      return gpu::ShuffleOp::create(builder, loc, word, offset, width, gpu::ShuffleMode::XOR).getShuffleResult();
    };
    unsigned bits = type.getIntOrFloatBitWidth();
    if (bits == 32)
      return exchange(value);
    Value whole = value;
    if (isa<FloatType>(type))
      whole = arith::BitcastOp::create(builder, loc, builder.getIntegerType(bits), value);
    if (bits < 32) {
      whole = exchange(arith::ExtUIOp::create(builder, loc, i32, whole));
      whole = arith::TruncIOp::create(builder, loc, builder.getIntegerType(bits), whole);
    } else {
      Value half = arith::ConstantIntOp::create(builder, loc, 32, 64);
      Value low = exchange(arith::TruncIOp::create(builder, loc, i32, whole));
      Value high = arith::ShRUIOp::create(builder, loc, whole, half);
      high = arith::ExtUIOp::create(builder, loc, i64, exchange(arith::TruncIOp::create(builder, loc, i32, high)));
      whole = arith::OrIOp::create(builder, loc, arith::ShLIOp::create(builder, loc, high, half),
                                   arith::ExtUIOp::create(builder, loc, i64, low));
    }
    return isa<FloatType>(type) ? Value(arith::BitcastOp::create(builder, loc, type, whole)) : whole;
  }

  /// The result of a row that is one element.
  LogicalResult storeRow() {
    SmallVector<LaneIndex> at;
    for (Value place : row)
      at.push_back({place, 0, {}});
    Value isWriter = compare(arith::CmpIPredicate::eq, part, index(0));
    isWriter = both(isWriter, isColumnInside);
    evaluator->enterIf(loc, isWriter);
    if (failed(evaluator->store(results, at)))
      return failure();
    evaluator->leaveIf();
    return success();
  }

  LogicalResult storeShare(const Share &share) {
    // All are computed before the first one is stored: they may read where it is stored.
    SmallVector<SmallVector<Value>> at, values(results.size());
    for (const SmallVector<Value> &places : share.places) {
      SmallVector<Value> &here = at.emplace_back(row);
      for (auto [d, place] : llvm::zip(alongDims, places))
        here[d] = place;
      SmallVector<LaneIndex> indices;
      for (Value place : here)
        indices.push_back({place, 0, {}});
      for (auto [result, list] : llvm::zip(results, values)) {
        list.push_back(evaluator->evaluate(result.getSource(), indices));
        if (!list.back())
          return failure();
      }
    }
    for (size_t group = 0; group < share.isInside.size(); ++group) {
      Value inside = both(share.isInside[group], isColumnInside);
      if (inside)
        evaluator->enterIf(loc, inside);
      for (auto [result, list] : llvm::zip(results, values))
        for (int64_t lane = 0; lane < share.neighbours; ++lane)
          memref::StoreOp::create(builder, loc, list[group * share.neighbours + lane], result.getDest(),
                                  at[group * share.neighbours + lane]);
      if (inside)
        evaluator->leaveIf();
    }
    return success();
  }

  RowsAttr strategy;
  RowSharing sharing;
  int64_t runs, lanes, threads;
  std::optional<unsigned> tileDim;
  int64_t tileSize;
  SmallVector<MaterializeInDestinationOp> results;
  DenseMap<Operation *, bool> needs;
  SmallVector<Reduction> reductions;
  SmallVector<int64_t> alongDims; // of the result: those that run along a row
  SmallVector<Value> row;         // the place of the row; what lies along it is of no meaning
  Value part, parts;              // this thread's number among those that share a row, and how many they are
  Value ownColumn, isColumnInside;
  SmallVector<Value> memories;
};

struct GPULowerReductions : impl::GPULowerReductionsPassBase<GPULowerReductions> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<RowsAttr>(vxk::kStrategyAttr);
    if (!strategy)
      return;
    FailureOr<bool> lowered = ReductionEmitter(function, strategy).run();
    if (failed(lowered))
      return signalPassFailure();
    if (!*lowered)
      return;
    eraseTensorOps(function);
  }
};

} // namespace
} // namespace vx
