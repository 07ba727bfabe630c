#include "KernelLowering.h"

using namespace mlir;

namespace vx {
namespace {

/// One index of the data as i64, its range [lower, upper), and the place in its dimension that it means: one below 0
/// counts from the end, unless all count from the start.
struct WrappedIndex {
  Value index, lower, upper, isWrong, place;
};

WrappedIndex wrapIndex(OpBuilder &b, Location l, Value index, Value size, bool fromStart = false) {
  WrappedIndex wrapped;
  Type i64 = b.getI64Type();
  wrapped.index = index.getType() == i64 ? index : Value(arith::ExtSIOp::create(b, l, i64, index));
  wrapped.upper = arith::IndexCastOp::create(b, l, i64, size);
  Value zero = arith::ConstantIntOp::create(b, l, 0, 64);
  wrapped.lower = fromStart ? zero : Value(arith::SubIOp::create(b, l, zero, wrapped.upper));
  Value isLow = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, wrapped.index, wrapped.lower);
  Value isHigh = arith::CmpIOp::create(b, l, arith::CmpIPredicate::sge, wrapped.index, wrapped.upper);
  wrapped.isWrong = arith::OrIOp::create(b, l, isLow, isHigh);
  Value place = wrapped.index;
  if (!fromStart) {
    Value isNegative = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, wrapped.index, zero);
    Value fromEnd = arith::AddIOp::create(b, l, wrapped.index, wrapped.upper);
    place = arith::SelectOp::create(b, l, isNegative, fromEnd, wrapped.index);
  }
  wrapped.place = arith::IndexCastOp::create(b, l, b.getIndexType(), place);
  return wrapped;
}

Value lowerGather(KernelLowering &lowering, GatherOp op) {
  auto type = typeOf(op.getResult());
  auto indicesType = typeOf(op.getIndices());
  int64_t axis = op.getAxis(), members = op.getMembers().value_or(1), rank = type.getRank();
  int64_t placeRank = indicesType.getRank() - (op.getMembers() ? 1 : 0);
  Location loc = op.getLoc();
  Value input = lowering.get(op.getInput()), indices = lowering.get(op.getIndices());
  SmallVector<Value> sizes;
  for (int64_t d = axis; d < axis + members; ++d)
    sizes.push_back(lowering.size(loc, op.getInput(), d));
  int64_t site = op.getInRange() ? -1 : lowering.takeFaultSite();
  Type element = getBodyType(type.getElementType());
  auto body = [&](OpBuilder &b, Location l, ValueRange args) -> Value {
    auto dimIndex = [&](int64_t d) -> Value { return linalg::IndexOp::create(b, l, d); };
    SmallVector<Value> at, isRight;
    for (int64_t d = 0; d < axis; ++d)
      at.push_back(dimIndex(d));
    for (int64_t member = 0; member < members; ++member) {
      SmallVector<Value> place;
      for (int64_t d = 0; d < placeRank; ++d)
        place.push_back(dimIndex(axis + d));
      if (op.getMembers())
        place.push_back(arith::ConstantIndexOp::create(b, l, member));
      Value index = args.empty() ? Value(tensor::ExtractOp::create(b, l, indices, place)) : args[0];
      if (op.getInRange()) {
        at.push_back(arith::IndexCastOp::create(b, l, b.getIndexType(), index));
      } else {
        WrappedIndex wrapped = wrapIndex(b, l, index, sizes[member]);
        SmallVector<Value> words;
        for (Value word : place)
          words.push_back(arith::IndexCastOp::create(b, l, b.getI64Type(), word));
        vxk::ReportFaultOp::create(b, l, wrapped.isWrong, wrapped.index, wrapped.lower, wrapped.upper, words,
                                   b.getI64IntegerAttr(site));
        at.push_back(wrapped.place);
      }
      isRight.push_back(isInside(b, l, at.back(), sizes[member]));
    }
    for (int64_t d = axis + placeRank; d < rank; ++d)
      at.push_back(dimIndex(d));
    return guardedRead(
        b, l, isRight, [&](OpBuilder &inner) { return tensor::ExtractOp::create(inner, l, input, at); },
        [&](OpBuilder &inner) -> Value { return arith::ConstantOp::create(inner, l, inner.getZeroAttr(element)); },
        element);
  };
  // Single indices are an operand that strategies can see.
  if (op.getMembers())
    return lowering.parallel(loc, type, element, {}, {}, body);
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < placeRank; ++d)
    exprs.push_back(getAffineDimExpr(axis + d, op.getContext()));
  return lowering.parallel(loc, type, element, indices, AffineMap::get(rank, 0, exprs, op.getContext()), body);
}

Value lowerCheckIndices(KernelLowering &lowering, CheckIndicesOp op) {
  auto type = typeOf(op.getResult());
  Location loc = op.getLoc();
  int64_t rank = type.getRank(), site = lowering.takeFaultSite();
  SmallVector<Value> sizes;
  for (DimAttr size : op.getSizes().getAsRange<DimAttr>())
    sizes.push_back(lowering.dim(loc, size));
  return lowering.elementwise(
      loc, type, getBodyType(type.getElementType()), lowering.get(op.getIndices()),
      [&](OpBuilder &b, Location l, ValueRange args) -> Value {
        SmallVector<Value> words;
        for (int64_t d = 0; d < rank; ++d)
          words.push_back(arith::IndexCastOp::create(b, l, b.getI64Type(), linalg::IndexOp::create(b, l, d)));
        Value size = sizes.front();
        for (auto [member, other] : llvm::drop_begin(llvm::enumerate(sizes))) {
          Value number = arith::ConstantIndexOp::create(b, l, member);
          Value isOther =
              arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, linalg::IndexOp::create(b, l, rank - 1), number);
          size = arith::SelectOp::create(b, l, isOther, other, size);
        }
        WrappedIndex wrapped = wrapIndex(b, l, args[0], size, op.getFromStart());
        vxk::ReportFaultOp::create(b, l, wrapped.isWrong, wrapped.index, wrapped.lower, wrapped.upper, words,
                                   b.getI64IntegerAttr(site));
        return arith::IndexCastOp::create(b, l, getBodyType(type.getElementType()), wrapped.place);
      });
}

/// Of updates, all that the kernel writes goes to places of its buffer.
LogicalResult lowerUpdate(KernelLowering &lowering, UpdateOpInterface op, Value indices, ArrayRef<int64_t> axes,
                          bool isSlice, bool adds) {
  Location loc = op.getLoc();
  Value destination = lowering.destinations.lookup(op->getResult(0));
  if (!destination || !op->hasOneUse() || !isa<BlockArgument>(op->getOperand(0)))
    return op->emitOpError() << "expects to update an operand of its kernel, to be the result, and nothing else to use "
                                "it";
  RankedTensorType type = op.getUpdates().getType();
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(lowering.size(loc, op.getUpdates(), d));
  auto memref = MemRefType::get(type.getShape(), getStorageType(type.getElementType()));
  Value places = vxk::PlacesOp::create(lowering.builder, loc, memref, destination, lowering.get(indices), axes, isSlice,
                                       adds, sizes);
  lowering.write(loc, op.getUpdates(), places);
  return success();
}

LogicalResult lowerScatter(KernelLowering &lowering, ScatterOp op) {
  return lowerUpdate(lowering, cast<UpdateOpInterface>(*op), op.getIndices(), op.getAxes(), /*isSlice=*/false,
                     op.getKind() == ScatterKind::add);
}

LogicalResult lowerUpdateSlice(KernelLowering &lowering, UpdateSliceOp op) {
  return lowerUpdate(lowering, cast<UpdateOpInterface>(*op), op.getStarts(), op.getAxes(), /*isSlice=*/true,
                     /*adds=*/false);
}

/// A loop nest over all elements of `input`, in row-major order, that carries one index.
Value scanElements(KernelLowering &lowering, Location loc, Value input, Value init,
                   function_ref<Value(OpBuilder &, Location, ValueRange at, Value isNonzero, Value carried)> body) {
  auto type = typeOf(input);
  Type vxElement = type.getElementType();
  Value tensor = lowering.get(input);
  SmallVector<Value> lowers(type.getRank(), lowering.index(loc, 0)), steps(type.getRank(), lowering.index(loc, 1)),
      uppers;
  for (int64_t d = 0; d < type.getRank(); ++d)
    uppers.push_back(lowering.size(loc, input, d));
  auto visit = [&](OpBuilder &b, Location l, ValueRange at, ValueRange carried) -> SmallVector<Value> {
    Value element = tensor::ExtractOp::create(b, l, tensor, at);
    Value zero = constantScalar(b, l, element.getType(), 0);
    Value isNonzero = compareScalars(b, l, ComparePredicate::ne, element, zero, vxElement);
    return {body(b, l, at, isNonzero, carried.front())};
  };
  if (type.getRank() == 0)
    return visit(lowering.builder, loc, {}, init).front();
  return scf::buildLoopNest(lowering.builder, loc, lowers, uppers, steps, init, visit).results.front();
}

Value addOneIf(OpBuilder &b, Location loc, Value condition, Value number) {
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  return arith::SelectOp::create(b, loc, condition, arith::AddIOp::create(b, loc, number, one), number);
}

Value lowerCountNonzero(KernelLowering &lowering, CountNonzeroOp op) {
  Location loc = op.getLoc();
  Value total = scanElements(
      lowering, loc, op.getInput(), lowering.index(loc, 0),
      [](OpBuilder &b, Location l, ValueRange, Value isNonzero, Value sum) { return addOneIf(b, l, isNonzero, sum); });
  total = arith::IndexCastOp::create(lowering.builder, loc, lowering.builder.getI64Type(), total);
  return tensor::FromElementsOp::create(lowering.builder, loc, RankedTensorType::get({}, total.getType()), total);
}

LogicalResult lowerNonzero(KernelLowering &lowering, NonzeroOp op) {
  Location loc = op.getLoc();
  // The places are written as they are found, straight to the kernel's buffer.
  Value destination = lowering.destinations.lookup(op.getResult());
  if (!destination || !op.getResult().hasOneUse())
    return op.emitOpError() << "expects to be the result of its kernel, and nothing else to use it";
  Value columns = lowering.size(loc, op.getResult(), 1);
  scanElements(lowering, loc, op.getInput(), lowering.index(loc, 0),
               [&](OpBuilder &b, Location l, ValueRange at, Value isNonzero, Value position) {
                 Value hasRoom = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, position, columns);
                 Value writes = arith::AndIOp::create(b, l, isNonzero, hasRoom);
                 auto branch = scf::IfOp::create(b, l, writes, /*withElseRegion=*/false);
                 OpBuilder inner = branch.getThenBodyBuilder();
                 for (auto [d, index] : llvm::enumerate(at)) {
                   Value place = arith::IndexCastOp::create(inner, l, inner.getI64Type(), index);
                   Value row = arith::ConstantIndexOp::create(inner, l, d);
                   memref::StoreOp::create(inner, l, place, destination, ValueRange{row, position});
                 }
                 return addOneIf(b, l, isNonzero, position);
               });
  return success();
}

/// Compares keys of a row, and writes the ops that find a place of the result.
class RunMerger {
public:
  RunMerger(KernelLowering &lowering, MergeRunsOp op)
      : op(op), keys(lowering.get(op.getKeys())), places(lowering.get(op.getPlaces())), loc(op.getLoc()),
        length(lowering.size(loc, op.getPlaces(), 1)), members(lowering.size(loc, op.getKeys(), 2)) {}

  /// What stands at `place` of `row`, where runs are of 2^`level` places.
  Value build(OpBuilder &b, Value row, Value place, Value level) {
    auto add = [&](Value x, Value y) -> Value { return arith::AddIOp::create(b, loc, x, y); };
    auto sub = [&](Value x, Value y) -> Value { return arith::SubIOp::create(b, loc, x, y); };
    auto least = [&](Value x, Value y) -> Value { return arith::MinSIOp::create(b, loc, x, y); };
    auto most = [&](Value x, Value y) -> Value { return arith::MaxSIOp::create(b, loc, x, y); };
    auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
    auto select = [&](Value condition, Value x, Value y) -> Value {
      return arith::SelectOp::create(b, loc, condition, x, y);
    };
    auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, loc, predicate, x, y);
    };
    Value one = number(1), zero = number(0);
    Value run = arith::ShLIOp::create(b, loc, one, level), pair = add(run, run);
    Value first = sub(place, arith::RemSIOp::create(b, loc, place, pair));
    Value middle = least(add(first, run), length), end = least(add(first, pair), length);
    Value leftSize = sub(middle, first), rightSize = sub(end, middle), before = sub(place, first);

    // How many of those before stand in the left run: halved until it is found.
    Value low = most(zero, sub(before, rightSize)), high = least(before, leftSize);
    auto search =
        scf::ForOp::create(b, loc, zero, add(level, one), one, ValueRange{low, high},
                           [&](OpBuilder &inner, Location, Value, ValueRange range) {
                             scf::YieldOp::create(inner, loc, halve(inner, row, first, middle, before, range));
                           });
    Value taken = search.getResult(0), others = sub(before, taken);
    Value left = add(first, taken), right = add(middle, others);
    Value isRightFirst = isBefore(b, row, readPlace(b, row, right), readPlace(b, row, left));
    Value hasLeft = compare(arith::CmpIPredicate::slt, taken, leftSize);
    Value hasRight = compare(arith::CmpIPredicate::slt, others, rightSize);
    Value takesRight = arith::AndIOp::create(b, loc, hasRight, isRightFirst);
    Value chosen = select(hasLeft, select(takesRight, right, left), right);
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), readPlace(b, row, chosen));
  }

private:
  SmallVector<Value> halve(OpBuilder &b, Value row, Value first, Value middle, Value before, ValueRange range) {
    Value one = arith::ConstantIndexOp::create(b, loc, 1), low = range[0], high = range[1];
    Value half = arith::ShRUIOp::create(b, loc, arith::AddIOp::create(b, loc, low, high), one);
    Value left = arith::AddIOp::create(b, loc, first, half);
    Value right = arith::AddIOp::create(b, loc, middle, before);
    right = arith::SubIOp::create(b, loc, arith::SubIOp::create(b, loc, right, half), one);
    Value isRightFirst = isBefore(b, row, readPlace(b, row, right), readPlace(b, row, left));
    Value isOpen = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, low, high);
    Value above = arith::AddIOp::create(b, loc, half, one);
    Value nextLow = arith::SelectOp::create(b, loc, isRightFirst, low, above);
    Value nextHigh = arith::SelectOp::create(b, loc, isRightFirst, half, high);
    return {arith::SelectOp::create(b, loc, isOpen, nextLow, low),
            arith::SelectOp::create(b, loc, isOpen, nextHigh, high)};
  }

  /// An index inside of the row.
  Value bound(OpBuilder &b, Value index) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0), one = arith::ConstantIndexOp::create(b, loc, 1);
    Value last = arith::SubIOp::create(b, loc, length, one);
    return arith::MaxSIOp::create(b, loc, zero, arith::MinSIOp::create(b, loc, index, last));
  }

  Value readPlace(OpBuilder &b, Value row, Value index) {
    Value place = tensor::ExtractOp::create(b, loc, places, ValueRange{row, bound(b, index)});
    return bound(b, arith::IndexCastOp::create(b, loc, b.getIndexType(), place));
  }

  /// Whether the key at place `x` comes first, and is not equal to that at `y`.
  Value isBefore(OpBuilder &b, Value row, Value x, Value y) {
    if (typeOf(op.getKeys()).getDimSize(2) == 1) {
      Value member = arith::ConstantIndexOp::create(b, loc, 0);
      return isMemberBefore(b, readKey(b, row, x, member), readKey(b, row, y, member));
    }
    Value zero = arith::ConstantIndexOp::create(b, loc, 0), one = arith::ConstantIndexOp::create(b, loc, 1);
    Value no = arith::ConstantIntOp::create(b, loc, 0, 1);
    auto each = [&](OpBuilder &inner, Location, Value member, ValueRange known) {
      Value left = readKey(inner, row, x, member), right = readKey(inner, row, y, member);
      Value isFirst = isMemberBefore(inner, left, right), isLast = isMemberBefore(inner, right, left);
      Value result = arith::SelectOp::create(inner, loc, known[1], known[0], isFirst);
      Value isDecided = arith::OrIOp::create(inner, loc, known[1], arith::OrIOp::create(inner, loc, isFirst, isLast));
      scf::YieldOp::create(inner, loc, ValueRange{result, isDecided});
    };
    return scf::ForOp::create(b, loc, zero, members, one, ValueRange{no, no}, each).getResult(0);
  }

  Value readKey(OpBuilder &b, Value row, Value place, Value member) {
    return tensor::ExtractOp::create(b, loc, keys, ValueRange{row, place, member});
  }

  Value isMemberBefore(OpBuilder &b, Value x, Value y) {
    Type element = typeOf(op.getKeys()).getElementType();
    auto predicate = op.getDescending() ? ComparePredicate::gt : ComparePredicate::lt;
    Value result = compareScalars(b, loc, predicate, x, y, element);
    if (!isa<FloatType>(element))
      return result;
    // A NaN is the greatest.
    if (op.getDescending())
      std::swap(x, y);
    auto isNan = [&](arith::CmpFPredicate test, Value value) -> Value {
      return arith::CmpFOp::create(b, loc, test, value, value);
    };
    Value isGreatest =
        arith::AndIOp::create(b, loc, isNan(arith::CmpFPredicate::ORD, x), isNan(arith::CmpFPredicate::UNO, y));
    return arith::OrIOp::create(b, loc, result, isGreatest);
  }

  MergeRunsOp op;
  Value keys, places;
  Location loc;
  Value length, members;
};

Value lowerMergeRuns(KernelLowering &lowering, MergeRunsOp op) {
  auto type = typeOf(op.getResult());
  RunMerger merger(lowering, op);
  return lowering.parallel(
      op.getLoc(), type, type.getElementType(), lowering.get(op.getLevel()), AffineMap::get(2, 0, {}, op.getContext()),
      [&](OpBuilder &b, Location l, ValueRange args) -> Value {
        // Longer runs than there are places are no runs.
        Value zero = arith::ConstantIntOp::create(b, l, 0, 64), most = arith::ConstantIntOp::create(b, l, 48, 64);
        Value level = arith::MaxSIOp::create(b, l, zero, arith::MinSIOp::create(b, l, args[0], most));
        level = arith::IndexCastOp::create(b, l, b.getIndexType(), level);
        Value row = linalg::IndexOp::create(b, l, 0), place = linalg::IndexOp::create(b, l, 1);
        return merger.build(b, row, place, level);
      });
}

} // namespace

void addIndexingLowerings(LoweringTable &table) {
  table.add<GatherOp, lowerGather>();
  table.add<CheckIndicesOp, lowerCheckIndices>();
  table.add<ScatterOp, lowerScatter>();
  table.add<UpdateSliceOp, lowerUpdateSlice>();
  table.add<CountNonzeroOp, lowerCountNonzero>();
  table.add<NonzeroOp, lowerNonzero>();
  table.add<MergeRunsOp, lowerMergeRuns>();
}

} // namespace vx
