#include "../Common/ElementEvaluator.h"
#include "../Common/WorkgroupTile.h"
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
#define GEN_PASS_DEF_LOWERCONTRACTIONPASS
#include "vx/Codegen/GPU/Passes.h.inc"
} // namespace vx

using namespace mlir;
using bufferization::MaterializeInDestinationOp;

namespace vx {
namespace {

/// One factor of the products, as a tensor over some of the contraction's loops.
struct Factor {
  Value tensor;
  SmallVector<unsigned> loops;
  /// Neighbours in memory are neighbours along a summed loop.
  bool isContiguousAlongSum = false;
};

/// A `linalg.generic` that sums products.
struct Contraction {
  linalg::GenericOp op;
  Operation *add = nullptr, *multiply = nullptr;
  Value init; // scalar

  /// Null when the op is none.
  static std::optional<Contraction> match(linalg::GenericOp op) {
    if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1)
      return std::nullopt;
    auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
    Value accumulator = op.getRegionOutputArgs()[0];
    Operation *add = op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
    if (!fill || !isa_and_nonnull<arith::AddFOp, arith::AddIOp>(add) || !accumulator.hasOneUse())
      return std::nullopt;
    Value product = add->getOperand(0) == accumulator ? add->getOperand(1) : add->getOperand(0);
    Operation *multiply = product.getDefiningOp();
    if (!llvm::is_contained(add->getOperands(), accumulator) ||
        !isa_and_nonnull<arith::MulFOp, arith::MulIOp>(multiply))
      return std::nullopt;
    if (!op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isProjectedPermutation())
      return std::nullopt;
    return Contraction{op, add, multiply, fill.getInputs()[0]};
  }
};

class ContractionEmitter {
public:
  ContractionEmitter(func::FuncOp function, StrategyAttr strategy)
      : function(function), strategy(strategy), builder(function.getContext()) {}

  /// True when the kernel has been lowered, false when its form is another one.
  FailureOr<bool> run() {
    results.assign(function.getOps<MaterializeInDestinationOp>().begin(),
                   function.getOps<MaterializeInDestinationOp>().end());
    if (results.empty() || !findContraction() || !classifyLoops())
      return false;
    if (failed(checkStrategy()))
      return failure();
    if (failed(emit()))
      return failure();
    for (MaterializeInDestinationOp result : results)
      result.erase();
    return true;
  }

private:
  //===-- What the kernel looks like ------------------------------------------------------------------------------===//

  bool findContraction() {
    for (auto op : function.getOps<linalg::GenericOp>())
      if (std::optional<Contraction> found = Contraction::match(op)) {
        if (contraction)
          return false;
        contraction = found;
      }
    if (!contraction)
      return false;
    loc = contraction->op.getLoc();
    Type type = results.front().getSource().getType();
    for (MaterializeInDestinationOp result : results)
      if (result.getSource().getType() != type || !readsInPlace(result.getSource()))
        return false;
    return cast<RankedTensorType>(type).getRank() == cast<RankedTensorType>(sum().getType()).getRank();
  }

  Value sum() { return contraction->op.getResult(0); }

  bool dependsOnSum(Value value) {
    if (value == sum())
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || !isa<RankedTensorType>(value.getType()))
      return false;
    auto [known, isNew] = dependence.try_emplace(op, false);
    if (!isNew)
      return known->second;
    bool result = false;
    visitInputs(op, [&](Value input, OpOperand *) { result |= dependsOnSum(input); });
    return dependence[op] = result;
  }

  /// The tensors that an op reads: operands, and values that its body captures (without an operand).
  void visitInputs(Operation *op, function_ref<void(Value, OpOperand *)> visit) {
    for (OpOperand &operand : op->getOpOperands())
      visit(operand.get(), &operand);
    SetVector<Value> captured;
    for (Region &region : op->getRegions())
      getUsedValuesDefinedAbove(region, captured);
    for (Value value : captured)
      visit(value, nullptr);
  }

  /// Each element of `tensor` reads the sum at its own place only.
  bool readsInPlace(Value tensor) {
    if (tensor == sum() || !dependsOnSum(tensor))
      return tensor == sum() || tensor.getDefiningOp();
    Operation *op = tensor.getDefiningOp();
    if (auto cast = dyn_cast<tensor::CastOp>(op))
      return readsInPlace(cast.getSource());
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || generic.getNumReductionLoops() != 0)
      return false;
    AffineMap own = generic.getMatchingIndexingMap(generic.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber()));
    bool inPlace = true;
    visitInputs(op, [&](Value input, OpOperand *operand) {
      if (!dependsOnSum(input))
        return;
      inPlace &= operand && generic.getMatchingIndexingMap(operand) == own && readsInPlace(input);
    });
    return inPlace;
  }

  /// What the value of the body `value` needs, in order, and the loops that it depends on. False when the accumulator
  /// is among it.
  bool collect(Value value, SetVector<Operation *> &ops, llvm::SmallSetVector<unsigned, 8> &loops) {
    linalg::GenericOp op = contraction->op;
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == op.getBody()) {
      OpOperand &operand = op->getOpOperand(argument.getArgNumber());
      if (op.isDpsInit(&operand))
        return false;
      for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
        expr.walk([&](AffineExpr part) {
          if (auto dim = dyn_cast<AffineDimExpr>(part))
            loops.insert(dim.getPosition());
        });
      return true;
    }
    Operation *producer = value.getDefiningOp();
    if (!producer || producer->getBlock() != op.getBody() || ops.contains(producer))
      return true;
    producer->walk([&](linalg::IndexOp index) { loops.insert(index.getDim()); });
    bool good = true;
    visitInputs(producer, [&](Value input, OpOperand *) { good &= collect(input, ops, loops); });
    ops.insert(producer);
    return good;
  }

  bool classifyLoops() {
    for (auto [factor, value] : llvm::zip(factors, contraction->multiply->getOperands())) {
      SetVector<Operation *> ops;
      llvm::SmallSetVector<unsigned, 8> loops;
      if (!collect(value, ops, loops))
        return false;
      factor.loops.assign(loops.begin(), loops.end());
      llvm::sort(factor.loops);
    }
    linalg::GenericOp op = contraction->op;
    AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    auto uses = [](const Factor &factor, unsigned loop) { return llvm::is_contained(factor.loops, loop); };
    for (unsigned d = 0; d < outMap.getNumResults(); ++d) {
      unsigned loop = cast<AffineDimExpr>(outMap.getResult(d)).getPosition();
      resultLoops.push_back(loop);
      bool first = uses(factors[0], loop), second = uses(factors[1], loop);
      if (first && second)
        batchDims.push_back(d);
      else if (first)
        rowDims.push_back(d);
      else if (second)
        columnDims.push_back(d);
      else
        return false;
    }
    // The factor whose dimension is the result's last one gives the columns, which neighbouring threads share out.
    if (!rowDims.empty() && rowDims.back() + 1 == outMap.getNumResults()) {
      std::swap(factors[0], factors[1]);
      std::swap(rowDims, columnDims);
      isSwapped = true;
    }
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      if (!llvm::is_contained(resultLoops, loop))
        sumLoops.push_back(loop);
    return true;
  }

  LogicalResult checkStrategy() {
    auto type = cast<RankedTensorType>(sum().getType());
    ArrayRef<int64_t> workgroup = strategy.getWorkgroup();
    auto error = [&] {
      return function.emitError() << "of " << describeSource(loc) << " expects a strategy that fits its contraction: ";
    };
    if (strategy.getVector().size() != 2 || strategy.getReduction().size() != 1)
      return error() << "want 2 sizes in 'vector' and 1 in 'reduction', got " << strategy;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      int64_t size = d < static_cast<int64_t>(workgroup.size()) ? workgroup[d] : 0;
      if (size == 0 && type.isDynamicDim(d))
        return error() << "want a workgroup size for dimension " << d << ", got " << strategy;
      tileSizes.push_back(size == 0 ? type.getDimSize(d) : size);
    }
    for (unsigned d : batchDims)
      if (tileSizes[d] != 1)
        return error() << "want a workgroup size of 1 for dimension " << d << ", got " << tileSizes[d];
    for (unsigned d : rowDims)
      rows *= tileSizes[d];
    for (unsigned d : columnDims)
      columns *= tileSizes[d];
    blockRows = strategy.getVector()[0];
    blockColumns = strategy.getVector()[1];
    step = strategy.getReduction()[0];
    threads = strategy.getThreads();
    if (blockRows < 1 || blockColumns < 1 || step < 1 || rows % blockRows != 0 || columns % blockColumns != 0 ||
        rows / blockRows * (columns / blockColumns) != threads)
      return error() << "want one block for each of " << threads << " threads, got a tile of " << rows << " x "
                     << columns << " in " << strategy;
    return success();
  }

  //===-- Code ----------------------------------------------------------------------------------------------------===//

  Value index(int64_t value) { return evaluator->constantIndex(value).base; }
  Value plus(Value lhs, Value rhs) { return builder.createOrFold<arith::AddIOp>(loc, lhs, rhs); }
  Value times(Value lhs, int64_t rhs) { return builder.createOrFold<arith::MulIOp>(loc, lhs, index(rhs)); }

  /// `value` as a place in a box of these sizes, the last one fastest.
  SmallVector<Value> takeApart(Value value, ArrayRef<Value> sizes) {
    SmallVector<Value> places(sizes.size());
    for (size_t d = sizes.size(); d-- > 0;) {
      if (d == 0) {
        places[d] = value;
        break;
      }
      places[d] = builder.createOrFold<arith::RemUIOp>(loc, value, sizes[d]);
      value = builder.createOrFold<arith::DivUIOp>(loc, value, sizes[d]);
    }
    return places;
  }

  SmallVector<Value> constants(ArrayRef<unsigned> dims) {
    SmallVector<Value> sizes;
    for (unsigned d : dims)
      sizes.push_back(index(tileSizes[d]));
    return sizes;
  }

  /// True when no tile reaches over the end of result dimension `d`.
  bool isWhole(unsigned d) {
    std::optional<int64_t> size = getConstantIntValue(loopSizes[resultLoops[d]]);
    return size && *size % tileSizes[d] == 0;
  }

  void findLoopSizes() {
    linalg::GenericOp op = contraction->op;
    loopSizes.resize(op.getNumLoops());
    for (OpOperand &operand : op->getOpOperands())
      for (auto [d, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && !loopSizes[dim.getPosition()])
          loopSizes[dim.getPosition()] = evaluator->sizeOf(operand.get(), d);
  }

  /// Makes the factor's tensor: an elementwise op over the loops that it depends on.
  void buildFactor(Factor &factor, Value value) {
    linalg::GenericOp op = contraction->op;
    SetVector<Operation *> ops;
    llvm::SmallSetVector<unsigned, 8> loops;
    collect(value, ops, loops);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    SmallVector<AffineExpr> dims(op.getNumLoops(), builder.getAffineConstantExpr(0));
    for (auto [place, loop] : llvm::enumerate(factor.loops))
      dims[loop] = builder.getAffineDimExpr(place);
    unsigned rank = factor.loops.size();
    SmallVector<AffineMap> maps;
    SmallVector<Value> inputs(op.getDpsInputs());
    for (OpOperand *input : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(input);
      bool isUsed = llvm::any_of(ops, [&](Operation *user) {
        return llvm::is_contained(user->getOperands(), op.getMatchingBlockArgument(input));
      });
      isUsed |= value == op.getMatchingBlockArgument(input);
      if (isUsed && map.getNumResults() != 0)
        if (auto last = dyn_cast<AffineDimExpr>(map.getResults().back()))
          factor.isContiguousAlongSum = llvm::is_contained(sumLoops, last.getPosition());
      maps.push_back(map.replaceDimsAndSymbols(dims, {}, rank, 0));
    }
    maps.push_back(builder.getMultiDimIdentityMap(rank));
    SmallVector<OpFoldResult> sizes(rank, builder.getIndexAttr(0));
    // Nobody asks for the size of this tensor: its elements are computed where they are wanted.
    Value empty = tensor::EmptyOp::create(builder, loc, sizes, value.getType());
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    auto generic = linalg::GenericOp::create(builder, loc, empty.getType(), inputs, empty, maps, iterators,
                                             [&](OpBuilder &inner, Location, ValueRange arguments) {
                                               IRMapping mapping;
                                               mapping.map(op.getBody()->getArguments(), arguments);
                                               for (Operation &producer : *op.getBody())
                                                 if (ops.contains(&producer))
                                                   inner.clone(producer, mapping);
                                               linalg::YieldOp::create(inner, loc, mapping.lookup(value));
                                             });
    generic.walk([&](linalg::IndexOp position) {
      position.setDim(llvm::find(factor.loops, position.getDim()) - factor.loops.begin());
    });
    factor.tensor = generic.getResult(0);
  }

  Value workgroupMemory(Type element, int64_t width) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
    auto type = MemRefType::get({step, width}, element, MemRefLayoutAttrInterface(), space);
    return memref::AllocOp::create(builder, loc, type);
  }

  LogicalResult emit() {
    builder.setInsertionPoint(results.front());
    Value number = vxk::WorkgroupIdOp::create(builder, loc);
    Value count = vxk::WorkgroupCountOp::create(builder, loc);
    Value isInGrid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, count);
    auto guard = scf::IfOp::create(builder, loc, isInGrid, /*withElseRegion=*/false);
    builder.setInsertionPoint(guard.thenBlock()->getTerminator());
    ElementEvaluator elements(builder, /*lanes=*/1);
    evaluator = &elements;
    findLoopSizes();
    Value operands[2] = {contraction->multiply->getOperand(0), contraction->multiply->getOperand(1)};
    if (isSwapped)
      std::swap(operands[0], operands[1]);
    buildFactor(factors[0], operands[0]);
    buildFactor(factors[1], operands[1]);
    Value memories[2] = {workgroupMemory(operands[0].getType(), rows), workgroupMemory(operands[1].getType(), columns)};

    SmallVector<Value> sizes;
    for (unsigned loop : resultLoops)
      sizes.push_back(loopSizes[loop]);
    tile = getWorkgroupTile(builder, loc, number, sizes, strategy.getWorkgroup());
    Value thread = vxk::ThreadIdOp::create(builder, loc);
    Value threadRow = builder.createOrFold<arith::DivUIOp>(loc, thread, index(columns / blockColumns));
    Value threadColumn = builder.createOrFold<arith::RemUIOp>(loc, thread, index(columns / blockColumns));
    // A thread has neighbouring rows, and columns that are apart: then neighbouring threads store neighbours.
    SmallVector<Value> ownRows, ownColumns;
    for (int64_t i = 0; i < blockRows; ++i)
      ownRows.push_back(plus(times(threadRow, blockRows), index(i)));
    for (int64_t j = 0; j < blockColumns; ++j)
      ownColumns.push_back(plus(threadColumn, index(j * (columns / blockColumns))));

    SmallVector<Value> sumSizes;
    Value length = index(1);
    for (unsigned loop : sumLoops) {
      sumSizes.push_back(loopSizes[loop]);
      length = builder.createOrFold<arith::MulIOp>(loc, length, loopSizes[loop]);
    }
    SmallVector<Value> sums(blockRows * blockColumns, contraction->init);
    scf::ForOp steps = elements.enterLoop(loc, index(0), length, index(step), sums);
    for (int which : {0, 1})
      if (failed(stage(which, memories[which], thread, steps.getInductionVar(), length, sumSizes)))
        return failure();
    vxk::BarrierOp::create(builder, loc);
    scf::ForOp products = elements.enterLoop(loc, index(0), index(step), index(1), steps.getRegionIterArgs());
    SmallVector<Value> left, right, next;
    for (Value row : ownRows)
      left.push_back(memref::LoadOp::create(builder, loc, memories[0], ValueRange{products.getInductionVar(), row}));
    for (Value column : ownColumns)
      right.push_back(
          memref::LoadOp::create(builder, loc, memories[1], ValueRange{products.getInductionVar(), column}));
    for (int64_t i = 0; i < blockRows; ++i)
      for (int64_t j = 0; j < blockColumns; ++j)
        next.push_back(addProduct(left[i], right[j], products.getRegionIterArg(i * blockColumns + j)));
    elements.leaveLoop(next);
    vxk::BarrierOp::create(builder, loc);
    elements.leaveLoop(products.getResults());

    for (int64_t i = 0; i < blockRows; ++i)
      for (int64_t j = 0; j < blockColumns; ++j)
        if (failed(storeElement(ownRows[i], ownColumns[j], steps.getResult(i * blockColumns + j))))
          return failure();
    return success();
  }

  /// sum + a * b by the ops of the contraction's body.
  Value addProduct(Value a, Value b, Value accumulator) {
    IRMapping mapping;
    mapping.map(contraction->multiply->getOperand(isSwapped ? 1 : 0), a);
    mapping.map(contraction->multiply->getOperand(isSwapped ? 0 : 1), b);
    mapping.map(Value(contraction->op.getRegionOutputArgs()[0]), accumulator);
    builder.clone(*contraction->multiply, mapping);
    return builder.clone(*contraction->add, mapping)->getResult(0);
  }

  /// Brings a slice of a factor into workgroup memory, each thread every `threads`th element of it.
  LogicalResult stage(int which, Value memory, Value thread, Value from, Value length, ArrayRef<Value> sumSizes) {
    Factor &factor = factors[which];
    ArrayRef<unsigned> dims = which == 0 ? rowDims : columnDims;
    int64_t width = which == 0 ? rows : columns;
    scf::ForOp loop = evaluator->enterLoop(loc, thread, index(width * step), index(threads));
    Value place = loop.getInductionVar();
    // Neighbouring threads read neighbours in memory.
    int64_t fastest = factor.isContiguousAlongSum ? step : width;
    Value fast = builder.createOrFold<arith::RemUIOp>(loc, place, index(fastest));
    Value slow = builder.createOrFold<arith::DivUIOp>(loc, place, index(fastest));
    Value along = factor.isContiguousAlongSum ? fast : slow;
    Value across = factor.isContiguousAlongSum ? slow : fast;

    // What lies outside of the result is not stored, so any element inside will do for it; behind the end of the sum
    // zeros are added.
    DenseMap<unsigned, Value> positions;
    Value number = plus(from, along), isInside;
    std::optional<int64_t> known = getConstantIntValue(length);
    if (!known || *known % step != 0) {
      isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, length);
      number =
          builder.createOrFold<arith::MinUIOp>(loc, number, builder.createOrFold<arith::SubIOp>(loc, length, index(1)));
    }
    for (auto [sumLoop, position] : llvm::zip(sumLoops, takeApart(number, sumSizes)))
      positions[sumLoop] = position;
    for (auto [d, local] : llvm::zip(dims, takeApart(across, constants(dims)))) {
      Value position = plus(tile.lower[d], local);
      if (!isWhole(d)) {
        Value last = builder.createOrFold<arith::SubIOp>(loc, loopSizes[resultLoops[d]], index(1));
        position = builder.createOrFold<arith::MinUIOp>(loc, position, last);
      }
      positions[resultLoops[d]] = position;
    }
    for (unsigned d : batchDims)
      positions[resultLoops[d]] = tile.lower[d];

    SmallVector<LaneIndex> indices;
    for (unsigned used : factor.loops)
      indices.push_back({positions[used], 0, {}});
    Value value = evaluator->evaluate(factor.tensor, indices);
    if (!value)
      return failure();
    if (isInside) {
      Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(value.getType()));
      value = arith::SelectOp::create(builder, loc, isInside, value, zero);
    }
    memref::StoreOp::create(builder, loc, value, memory, ValueRange{along, across});
    evaluator->leaveLoop();
    return success();
  }

  LogicalResult storeElement(Value row, Value column, Value total) {
    SmallVector<Value> at(tileSizes.size());
    for (auto [d, local] : llvm::zip(rowDims, takeApart(row, constants(rowDims))))
      at[d] = plus(tile.lower[d], local);
    for (auto [d, local] : llvm::zip(columnDims, takeApart(column, constants(columnDims))))
      at[d] = plus(tile.lower[d], local);
    for (unsigned d : batchDims)
      at[d] = tile.lower[d];
    Value isInside;
    for (unsigned d = 0; d < at.size(); ++d) {
      if (isWhole(d) || tileSizes[d] == 1)
        continue;
      Value below = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at[d], tile.upper[d]);
      isInside = isInside ? Value(arith::AndIOp::create(builder, loc, isInside, below)) : below;
    }
    if (isInside)
      evaluator->enterIf(loc, isInside);
    evaluator->setSource(sum(), [&](ArrayRef<LaneIndex>) { return total; });
    SmallVector<LaneIndex> indices;
    for (Value position : at)
      indices.push_back({position, 0, {}});
    for (MaterializeInDestinationOp result : results) {
      Value value = evaluator->evaluate(result.getSource(), indices);
      if (!value)
        return failure();
      memref::StoreOp::create(builder, result.getLoc(), value, result.getDest(), at);
    }
    evaluator->setSource(sum(), {});
    if (isInside)
      evaluator->leaveIf();
    return success();
  }

  func::FuncOp function;
  StrategyAttr strategy;
  OpBuilder builder;
  Location loc = UnknownLoc::get(builder.getContext());
  SmallVector<MaterializeInDestinationOp> results;
  std::optional<Contraction> contraction;
  DenseMap<Operation *, bool> dependence;
  /// The factors that the rows and the columns of the tile index; swapped against the order of the body or not.
  Factor factors[2];
  bool isSwapped = false;
  /// The loop of each result dimension, and the dimensions by the factors that depend on them.
  SmallVector<unsigned> resultLoops, batchDims, rowDims, columnDims, sumLoops;
  SmallVector<int64_t> tileSizes;
  int64_t rows = 1, columns = 1, blockRows = 1, blockColumns = 1, step = 1, threads = 1;
  ElementEvaluator *evaluator = nullptr;
  SmallVector<Value> loopSizes;
  WorkgroupTile tile;
};

struct LowerContraction : impl::LowerContractionPassBase<LowerContraction> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<StrategyAttr>(vxk::kStrategyAttr);
    if (!strategy || (strategy.getName() != "matmul" && strategy.getName() != "conv"))
      return;
    FailureOr<bool> lowered = ContractionEmitter(function, strategy).run();
    if (failed(lowered))
      return signalPassFailure();
    if (!*lowered)
      return;
    // The tensor ops have no user left.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (op.use_empty() && op.getNumResults() != 0 && isa<TensorType>(op.getResult(0).getType()))
        op.erase();
  }
};

} // namespace
} // namespace vx
