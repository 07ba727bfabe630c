#include "../Common/ElementEvaluator.h"
#include "../Common/WorkgroupTile.h"
#include "Common/DeclineStrategy.h"
#include "EraseTensorOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/RegionUtils.h"
#include "vx/Analysis/TargetSpec.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {
#define GEN_PASS_DEF_GPULOWERCONTRACTIONPASS
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
  /// The buffer that the factor is, by the contraction's loops; null where its elements are computed.
  Value buffer;
  AffineMap bufferMap;
  /// Where the factor is what a convolution reads of the buffer, with the channels last: along each spatial dimension.
  struct Window {
    int64_t stride, dilation, padLow, padHigh;
  };
  SmallVector<Window> windows;
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

// Why a kernel is left to plain loops.
constexpr StringLiteral kNoProduct = "it is no product of two factors that give rows and columns";
constexpr StringLiteral kReadElsewhere = "a result reads the sum at another place than its own";

class ContractionEmitter {
public:
  /// `strategy` is a TiledProductAttr or an MmaAttr.
  ContractionEmitter(func::FuncOp function, StrategyAttrInterface strategy, const TargetSpec &spec)
      : function(function), strategy(strategy), mma(dyn_cast<MmaAttr>(strategy)), spec(spec),
        matrixUnit(spec.matrixUnit), builder(function.getContext()) {}

  /// True when the kernel has been lowered, false when its form is another one.
  FailureOr<bool> run() {
    results.assign(function.getOps<MaterializeInDestinationOp>().begin(),
                   function.getOps<MaterializeInDestinationOp>().end());
    if (!findContraction() || !classifyLoops()) {
      declineStrategy(function.getLoc(), strategy, declined);
      return false;
    }
    if (mma) {
      findProduct();
      if (!product)
        declineStrategy(function.getLoc(), strategy, TiledProductAttr::getMnemonic(),
                        "the variant has no matrix unit for its factors");
    }
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

  /// False, with the reason why the form of the kernel is another one.
  bool decline(StringRef reason) {
    declined = reason;
    return false;
  }

  bool findContraction() {
    if (results.empty())
      return decline(kNoProduct);
    if (auto anchor = dyn_cast_or_null<linalg::GenericOp>(vxk::getAnchor(function)))
      contraction = Contraction::match(anchor);
    if (!contraction)
      return decline(kNoProduct);
    for (auto op : function.getOps<linalg::GenericOp>())
      if (op != contraction->op && Contraction::match(op))
        return decline("it has more than one sum of products");
    loc = contraction->op.getLoc();
    auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
    ArrayRef<int64_t> shape = shapeOf(results.front().getSource());
    for (MaterializeInDestinationOp result : results)
      if (shapeOf(result.getSource()) != shape || !readsInPlace(result.getSource()))
        return decline(kReadElsewhere);
    if (shape.size() != shapeOf(sum()).size())
      return decline(kReadElsewhere);
    return true;
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
        return decline(kNoProduct);
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
      else if (d < strategy.getWorkgroupTile().size() && strategy.getWorkgroupTile()[d] == 1)
        batchDims.push_back(d); // a batch of one, whose place is a constant
      else
        return decline(kNoProduct);
    }
    // The factor with the last of the result's dimensions gives the columns, which neighbouring threads share out. One
    // of size 1 may be no factor's.
    unsigned last = outMap.getNumResults();
    while (last > 1 && llvm::is_contained(batchDims, last - 1))
      --last;
    if (!rowDims.empty() && rowDims.back() + 1 == last) {
      std::swap(factors[0], factors[1]);
      std::swap(rowDims, columnDims);
      isSwapped = true;
    }
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      if (!llvm::is_contained(resultLoops, loop))
        sumLoops.push_back(loop);
    return true;
  }

  /// A product of two fragments, where the kernel's is one that the target has.
  struct Product {
    Type element; // f16, bf16 or tf32
    int64_t depth;
  };

  /// A factor as it is stored, before the product widens it.
  static Value unwidened(Value factor) {
    Operation *extend = factor.getDefiningOp();
    return isa_and_present<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(extend) ? extend->getOperand(0) : factor;
  }

  void findProduct() {
    Value lhs = unwidened(contraction->multiply->getOperand(0)), rhs = unwidened(contraction->multiply->getOperand(1));
    Type element = lhs.getType();
    if (rhs.getType() != element || !contraction->init.getType().isF32())
      return;
    if (element.isF32() && contraction->op->hasAttr(vxk::kTF32Attr))
      element = FloatTF32Type::get(builder.getContext());
    if (int64_t depth = matrixUnit.depthOf(element))
      product = Product{element, depth};
  }

  /// Bytes whose products the target adds up four at a time: four neighbours along the sum are one element of workgroup
  /// memory then.
  void findByteDots() {
    Value lhs = contraction->multiply->getOperand(0), rhs = contraction->multiply->getOperand(1);
    auto isByte = [](Value factor) {
      return isa_and_present<arith::ExtSIOp, arith::ExtUIOp>(factor.getDefiningOp()) &&
             unwidened(factor).getType().isInteger(8);
    };
    if (!spec.hasByteDots || !contraction->init.getType().isInteger(32) || !isByte(lhs) || !isByte(rhs))
      return;
    constexpr int64_t kBytes = 4;
    depth = kBytes;
    areSigned[0] = isa<arith::ExtSIOp>(lhs.getDefiningOp());
    areSigned[1] = isa<arith::ExtSIOp>(rhs.getDefiningOp());
    if (isSwapped)
      std::swap(areSigned[0], areSigned[1]);
  }

  LogicalResult checkStrategy() {
    auto type = cast<RankedTensorType>(sum().getType());
    ArrayRef<int64_t> workgroup = strategy.getWorkgroupTile();
    auto error = [&] {
      return function.emitError() << "of " << describeSource(loc) << " expects a strategy that fits its contraction: ";
    };
    if (static_cast<int64_t>(workgroup.size()) != type.getRank())
      return error() << "a tile size for each of " << type.getRank() << " dimensions, got " << strategy;
    tileSizes.assign(workgroup.begin(), workgroup.end());
    for (unsigned d : batchDims)
      if (tileSizes[d] != 1)
        return error() << "a tile size of 1 for dimension " << d << ", got " << tileSizes[d];
    for (unsigned d : rowDims)
      rows *= tileSizes[d];
    for (unsigned d : columnDims)
      columns *= tileSizes[d];
    threads = strategy.getThreads();
    if (auto tiled = dyn_cast<TiledProductAttr>(strategy)) {
      blockRows = tiled.getBlockRows();
      blockColumns = tiled.getBlockColumns();
      step = tiled.getStep();
      slices = tiled.getSlices();
      return checkBlockShape(error);
    }
    if (product)
      return checkFragments(error);
    // A GPU without the instructions has the same tile, in blocks.
    constexpr int64_t kThreadColumns = 16;
    blockRows = rows * kThreadColumns / std::max(threads, kThreadColumns);
    blockColumns = columns / kThreadColumns;
    step = 8;
    return checkBlockShape(error);
  }

  using Complaint = function_ref<InFlightDiagnostic()>;

  LogicalResult checkBlockShape(Complaint error) {
    if (blockRows < 1 || blockColumns < 1 || step < 1 || slices < 1 || rows % blockRows != 0 ||
        columns % blockColumns != 0 || rows / blockRows * (columns / blockColumns) * slices != threads)
      return error() << "one block for each of " << threads << " threads, got a tile of " << rows << " x " << columns
                     << " in " << strategy;
    for (int64_t block : {blockRows, blockColumns})
      if (block != 1 && block != 2 && block % 4 != 0)
        return error() << "blocks of 1, 2 or a multiple of 4, got " << strategy;
    return success();
  }

  /// Cuts the tile into one part for each subgroup, as square as it can be.
  LogicalResult checkFragments(Complaint error) {
    step = mma.getStep();
    stages = mma.getStages();
    if (step % product->depth != 0)
      return error() << "steps of a multiple of " << product->depth << ", got " << strategy;
    int64_t subgroups = threads / matrixUnit.subgroup;
    std::optional<int64_t> across; // subgroups that share the columns
    for (int64_t count = 1; count <= subgroups; ++count) {
      int64_t down = subgroups / count;
      if (subgroups % count != 0 || rows % (down * MatrixUnit::rows) != 0 ||
          columns % (count * MatrixUnit::columns) != 0)
        continue;
      auto edge = [&](int64_t wide) { return rows * wide / subgroups + columns / wide; };
      if (!across || edge(count) < edge(*across))
        across = count;
    }
    if (threads % matrixUnit.subgroup != 0 || !across)
      return error() << "fragments of " << MatrixUnit::rows << " x " << MatrixUnit::columns << " for each subgroup of "
                     << matrixUnit.subgroup << " threads, got a tile of " << rows << " x " << columns << " in "
                     << strategy;
    subgroupColumns = *across;
    blockRows = rows / (subgroups / *across);
    blockColumns = columns / *across;
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
      AffineMap inMemory = map;
      if (value == op.getMatchingBlockArgument(input) && findBuffer(input->get(), inMemory, factor.buffer))
        factor.bufferMap = inMemory;
      if (isUsed && inMemory.getNumResults() != 0)
        if (auto last = dyn_cast<AffineDimExpr>(inMemory.getResults().back()))
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
    if (!isa<BlockArgument>(value))
      findWindows(factor, ops);
  }

  /// The buffer that a tensor is, and how the contraction's loops index it; `map` is how they index the tensor.
  static bool findBuffer(Value tensor, AffineMap &map, Value &buffer) {
    if (auto generic = tensor.getDefiningOp<linalg::GenericOp>()) {
      auto unpacking = generic->getAttrOfType<vxk::UnpackingAttr>(vxk::kUnpackingAttr);
      auto read = unpacking ? generic.getBody()->getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>()
                            : tensor::ExtractOp();
      auto type = read ? cast<RankedTensorType>(read.getTensor().getType()) : RankedTensorType();
      // Tiles of one element: another order of the dimensions.
      if (!type || type.getShape().back() != 1)
        return false;
      SmallVector<AffineExpr> results;
      for (int64_t from : unpacking.getPermutation())
        results.push_back(map.getResult(from));
      map = AffineMap::get(map.getNumDims(), 0, results, map.getContext());
      tensor = read.getTensor();
    }
    auto source = tensor.getDefiningOp<bufferization::ToTensorOp>();
    if (!source || !source.getBuffer().getDefiningOp<vxk::BufferOp>())
      return false;
    buffer = source.getBuffer();
    return true;
  }

  /// Finds what of a buffer the factor is, when it is the elements under a convolution's window.
  void findWindows(Factor &factor, const SetVector<Operation *> &ops) {
    auto window = contraction->op->getAttrOfType<vxk::WindowAttr>(vxk::kWindowAttr);
    if (!window || !window.getChannelsLast() || window.getGroups() != 1)
      return;
    factor.isContiguousAlongSum = true;
    SmallVector<tensor::ExtractOp> reads;
    for (Operation *op : ops)
      op->walk([&](tensor::ExtractOp read) { reads.push_back(read); });
    auto source = reads.size() == 1 ? reads[0].getTensor().getDefiningOp<bufferization::ToTensorOp>()
                                    : bufferization::ToTensorOp();
    if (!source || !source.getBuffer().getDefiningOp<vxk::BufferOp>())
      return;
    factor.buffer = source.getBuffer();
    for (auto [stride, dilation, low, high] :
         llvm::zip(window.getStrides(), window.getDilations(), window.getPadsLow(), window.getPadsHigh()))
      factor.windows.push_back({stride, dilation, low, high});
  }

  /// A factor in workgroup memory: [slice][buffer][step][stride] with the rows or columns of the tile last, or the
  /// other way round.
  struct Staged {
    int64_t width = 0;       // rows or columns of the tile
    int64_t stride = 0;      // elements from one place of the sum to the next, or from one row or column to the next
    int64_t lanes = 1;       // neighbours that each access takes
    bool isAlongSum = false; // neighbours in workgroup memory are neighbours along the sum
    bool isUnitAlongSum = false; // so are those that a thread brings at once
    bool isSumWhole = false;     // these are inside of the sum or outside, and neighbours in memory too
    bool isAsync = false;        // brought by asynchronous copies
    bool isWordWhole = false;    // the bytes of an element are neighbours in memory, inside of the sum or outside
    Value memory;
  };

  int64_t bufferSize(const Staged &part) { return part.stride * (part.isAlongSum ? part.width : step); }

  Value placeOf(const Staged &part, Value along, Value across) {
    return part.isAlongSum ? plus(times(across, part.stride), along) : plus(times(along, part.stride), across);
  }

  Value workgroupMemory(Type element, int64_t size) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
    return memref::AllocOp::create(builder, loc, MemRefType::get({size}, element, MemRefLayoutAttrInterface(), space));
  }

  void layOutBlocks(Type element) {
    for (int which : {0, 1}) {
      Staged &part = staged[which];
      part.width = which == 0 ? rows : columns;
      part.lanes = std::min<int64_t>(4, which == 0 ? blockRows : blockColumns);
      // Where neighbouring threads hold neighbours along the sum, a gap keeps their stores off each other's banks.
      part.stride = part.width + (factors[which].isContiguousAlongSum ? part.lanes : 0);
      part.memory = workgroupMemory(element, slices * 2 * bufferSize(part));
      part.isWordWhole = depth > 1 && factors[which].isContiguousAlongSum && isAligned(which, depth, /*alongSum=*/true);
    }
    if (slices > 1)
      // One more than needed: a type of its own, for memory that no vectors are read from.
      partialSums = workgroupMemory(element, (slices - 1) * rows * columns + 1);
  }

  void layOutFragments(Type element) {
    constexpr int64_t kAccessBytes = 16;
    int64_t bytes = element.getIntOrFloatBitWidth() / 8, wide = kAccessBytes / bytes;
    for (int which : {0, 1}) {
      Staged &part = staged[which];
      part.width = which == 0 ? rows : columns;
      part.isUnitAlongSum = factors[which].isContiguousAlongSum;
      part.isAlongSum = part.isUnitAlongSum || !matrixUnit.readsAcross;
      part.lanes = factors[which].buffer ? wide : 4;
      if (std::optional<int64_t> last = getConstantIntValue(loopSizes[sumLoops.back()]))
        part.isSumWhole = part.isUnitAlongSum && *last % part.lanes == 0;
      part.isAsync = isAligned(which, wide, part.isUnitAlongSum) && spec.asyncCopyBytes >= kAccessBytes;
      // The gap makes the stride an odd number of accesses, so that rows below each other are in other banks. Single
      // elements of 32 bits across the sum are read by 4 threads below and 8 beside each other.
      part.stride = part.isAlongSum ? step + wide : part.width + (bytes == 4 ? 8 : wide);
      part.memory = workgroupMemory(element, stages * bufferSize(part));
    }
  }

  /// True when `wide` neighbours, along the sum or across it, are neighbours in a buffer, at a multiple of their size.
  bool isAligned(int which, int64_t wide, bool alongSum) {
    const Factor &factor = factors[which];
    ArrayRef<unsigned> dims = which == 0 ? rowDims : columnDims;
    if (!factor.buffer || (factor.windows.empty() && factor.bufferMap.getNumResults() == 0))
      return false;
    auto type = cast<MemRefType>(factor.buffer.getType());
    if (!factor.windows.empty())
      return !type.isDynamicDim(type.getRank() - 1) && type.getDimSize(type.getRank() - 1) % wide == 0;
    auto loopOf = [&](int64_t result) -> std::optional<unsigned> {
      auto dim = dyn_cast<AffineDimExpr>(factor.bufferMap.getResult(result));
      return dim ? std::optional(dim.getPosition()) : std::nullopt;
    };
    for (unsigned result = 0; result < factor.bufferMap.getNumResults(); ++result)
      if (!loopOf(result))
        return false;
    int64_t last = static_cast<int64_t>(factor.bufferMap.getNumResults()) - 1;
    if (!alongSum)
      return !dims.empty() && loopOf(last) == resultLoops[dims.back()] && !type.isDynamicDim(last) &&
             type.getDimSize(last) % wide == 0 && tileSizes[dims.back()] % wide == 0;
    // Loops of the sum that the buffer has in the same order are one run of memory.
    int64_t run = 1;
    for (unsigned loop : llvm::reverse(sumLoops)) {
      if (last < 0 || loopOf(last) != loop || type.isDynamicDim(last))
        break;
      run *= type.getDimSize(last--);
    }
    return run % wide == 0 && run != 0;
  }

  LogicalResult emit() {
    builder.setInsertionPoint(results.back());
    Value number = enterWorkgroup(builder, loc);
    ElementEvaluator elements(builder, /*lanes=*/1);
    evaluator = &elements;
    findLoopSizes();
    Value operands[2] = {contraction->multiply->getOperand(0), contraction->multiply->getOperand(1)};
    if (!product)
      findByteDots();
    if (product || depth > 1)
      for (Value &operand : operands)
        operand = unwidened(operand);
    if (isSwapped)
      std::swap(operands[0], operands[1]);
    buildFactor(factors[0], operands[0]);
    buildFactor(factors[1], operands[1]);
    if (product)
      layOutFragments(operands[0].getType());
    else
      layOutBlocks(depth > 1 ? builder.getI32Type() : operands[0].getType());

    SmallVector<Value> sizes;
    for (unsigned loop : resultLoops)
      sizes.push_back(loopSizes[loop]);
    tile = getWorkgroupTile(builder, loc, number, sizes, strategy.getWorkgroupTile());
    own = vxk::ThreadIdOp::create(builder, loc);
    Value length = index(1);
    for (unsigned loop : sumLoops) {
      sumSizes.push_back(loopSizes[loop]);
      length = builder.createOrFold<arith::MulIOp>(loc, length, loopSizes[loop]);
    }
    sumLength = length;
    std::optional<int64_t> known = getConstantIntValue(length);
    needsZeros = !known || *known % (step * depth * slices) != 0;

    return product ? emitFragments() : emitBlocks();
  }

  /// Code that a thread runs only where there is something to sum.
  template <typename Body>
  LogicalResult emitUnlessEmpty(Body body) {
    std::optional<int64_t> known = getConstantIntValue(sumLength);
    if (known == 0)
      return success();
    if (!known) {
      Value isAny = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, sumLength, index(0));
      evaluator->enterIf(loc, isAny);
    }
    if (failed(body()))
      return failure();
    if (!known)
      evaluator->leaveIf();
    return success();
  }

  //===-- Blocks of each thread -----------------------------------------------------------------------------------===//

  LogicalResult emitBlocks() {
    int64_t threadsOfSlice = threads / slices, threadColumns = columns / blockColumns;
    slice = index(0);
    if (slices > 1) {
      slice = arith::DivUIOp::create(builder, loc, own, index(threadsOfSlice));
      own = arith::RemUIOp::create(builder, loc, own, index(threadsOfSlice));
    }
    threadRow = builder.createOrFold<arith::DivUIOp>(loc, own, index(threadColumns));
    threadColumn = builder.createOrFold<arith::RemUIOp>(loc, own, index(threadColumns));

    // While the products of one slice of the factors are added, the next one is on its way from memory.
    auto bringFirst = [&]() -> LogicalResult {
      SmallVector<Value> first;
      if (failed(loadNext(index(0), first)))
        return failure();
      storeNext(first, index(0));
      return success();
    };
    if (failed(emitUnlessEmpty(bringFirst)))
      return failure();
    vxk::BarrierOp::create(builder, loc);
    SmallVector<Value> carried(blockRows * blockColumns, contraction->init);
    carried.push_back(index(0));
    scf::ForOp steps = evaluator->enterLoop(loc, index(0), sumLength, index(step * depth * slices), carried);
    Value buffer = steps.getRegionIterArgs().back();
    Value otherBuffer = arith::SubIOp::create(builder, loc, index(1), buffer);
    SmallVector<Value> next;
    if (failed(loadNext(plus(steps.getInductionVar(), index(step * depth * slices)), next)))
      return failure();
    SmallVector<Value> sums = addProducts(steps.getRegionIterArgs().drop_back(), buffer);
    storeNext(next, otherBuffer);
    vxk::BarrierOp::create(builder, loc);
    sums.push_back(otherBuffer);
    evaluator->leaveLoop(sums);
    sums.assign(steps.getResults().begin(), std::prev(steps.getResults().end()));
    return storeSums(sums);
  }

  //===-- Fragments of each subgroup ------------------------------------------------------------------------------===//

  vxk::FragmentType fragmentType(vxk::FragmentRole role) {
    Type element = role == vxk::FragmentRole::accumulator ? builder.getF32Type() : product->element;
    return vxk::FragmentType::get(builder.getContext(), role, MatrixUnit::rows, MatrixUnit::columns, product->depth,
                                  element);
  }

  /// A ring of `stages` buffers. While the products of one are added, the others are on their way: by asynchronous
  /// copies where a factor lies in memory as it is staged, else through registers.
  LogicalResult emitFragments() {
    Value subgroup = arith::DivUIOp::create(builder, loc, own, index(matrixUnit.subgroup));
    subgroupRow = times(builder.createOrFold<arith::DivUIOp>(loc, subgroup, index(subgroupColumns)), blockRows);
    subgroupColumn = times(builder.createOrFold<arith::RemUIOp>(loc, subgroup, index(subgroupColumns)), blockColumns);
    bool isAsync = staged[0].isAsync || staged[1].isAsync;

    auto bringFirst = [&]() -> LogicalResult {
      for (int64_t stage = 0; stage + 1 < stages; ++stage) {
        SmallVector<Value> values;
        copyNext(index(stage * step), index(stage));
        if (failed(loadNext(index(stage * step), values)))
          return failure();
        storeNext(values, index(stage));
      }
      return success();
    };
    if (failed(emitUnlessEmpty(bringFirst)))
      return failure();

    int64_t blocks = blockRows / MatrixUnit::rows * (blockColumns / MatrixUnit::columns);
    Value zero =
        vxk::FillFragmentOp::create(builder, loc, fragmentType(vxk::FragmentRole::accumulator), contraction->init);
    SmallVector<Value> carried(blocks, zero);
    carried.push_back(index(0));
    scf::ForOp steps = evaluator->enterLoop(loc, index(0), sumLength, index(step), carried);
    Value buffer = steps.getRegionIterArgs().back();
    auto isBuffer = [&](int64_t number) -> Value {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, buffer, index(number));
    };
    // The buffer that was read last is free behind the barrier, which also shows what the others brought.
    Value last = arith::SelectOp::create(builder, loc, isBuffer(0), index(stages - 1),
                                         arith::SubIOp::create(builder, loc, buffer, index(1)).getResult());
    if (isAsync)
      vxk::AsyncWaitOp::create(builder, loc, stages - 2);
    vxk::BarrierOp::create(builder, loc);
    Value from = plus(steps.getInductionVar(), index((stages - 1) * step));
    copyNext(from, last);
    SmallVector<Value> values;
    if (failed(loadNext(from, values)))
      return failure();
    SmallVector<Value> sums = addFragments(steps.getRegionIterArgs().drop_back(), buffer);
    storeNext(values, last);
    sums.push_back(arith::SelectOp::create(builder, loc, isBuffer(stages - 1), index(0), plus(buffer, index(1))));
    evaluator->leaveLoop(sums);
    if (isAsync)
      vxk::AsyncWaitOp::create(builder, loc, 0); // nothing arrives in memory that is another workgroup's by then
    return storeFragments(steps.getResults().drop_back());
  }

  /// Starts the copies of the factors that asynchronous ones bring, as one stage.
  void copyNext(Value from, Value buffer) {
    for (int which : {0, 1}) {
      const Staged &part = staged[which];
      if (!part.isAsync)
        continue;
      Value begin = bufferBegin(which, buffer);
      for (auto [along, across] : unitsOfThread(which)) {
        SmallVector<Value> indices;
        Value isInside = findUnit(which, plus(from, along), across, 0, indices);
        if (!isInside)
          isInside = arith::ConstantIntOp::create(builder, loc, 1, 1);
        Value at = plus(placeOf(part, along, across), begin);
        vxk::AsyncCopyOp::create(builder, loc, factors[which].buffer, indices, part.memory, at, part.lanes, isInside);
      }
    }
    if (staged[0].isAsync || staged[1].isAsync)
      vxk::AsyncCommitOp::create(builder, loc);
  }

  /// Where in its buffer lane `lane` of the unit at `number` and `across` lies, and whether its elements are read: else
  /// they are zeros. Null where they always are.
  Value findUnit(int which, Value number, Value across, int64_t lane, SmallVectorImpl<Value> &indices) {
    const Factor &factor = factors[which];
    DenseMap<unsigned, Value> positions = findPositions(which, number, across, lane);
    Value isInside = isInSum(which, number, lane);
    auto type = cast<MemRefType>(factor.buffer.getType());
    if (factor.windows.empty()) {
      for (AffineExpr expr : factor.bufferMap.getResults())
        indices.push_back(positions[cast<AffineDimExpr>(expr).getPosition()]);
      indices.resize(type.getRank(), index(0)); // tiles of one element
      return isInside;
    }
    // As one number: what depends on the place of the result alone leaves the loop over the sum.
    unsigned rank = type.getRank(), spatial = factor.windows.size();
    SmallVector<Value> strides(rank, index(1)), sizes(rank);
    for (unsigned d = rank; d-- > 0;) {
      sizes[d] = type.isDynamicDim(d) ? memref::DimOp::create(builder, loc, factor.buffer, d).getResult()
                                      : index(type.getDimSize(d));
      if (d != 0)
        strides[d - 1] = builder.createOrFold<arith::MulIOp>(loc, strides[d], sizes[d]);
    }
    Value outer = builder.createOrFold<arith::MulIOp>(loc, positions[0], strides[0]);
    Value inner = positions[rank + spatial];
    for (auto [d, window] : llvm::enumerate(factor.windows)) {
      Value corner = times(positions[1 + d], window.stride), within = times(positions[rank + d], window.dilation);
      if (window.padLow != 0)
        corner = arith::SubIOp::create(builder, loc, corner, index(window.padLow));
      outer = plus(outer, builder.createOrFold<arith::MulIOp>(loc, corner, strides[1 + d]));
      inner = plus(inner, builder.createOrFold<arith::MulIOp>(loc, within, strides[1 + d]));
      if (window.padLow == 0 && window.padHigh == 0)
        continue;
      // A place before the first one is a large number.
      Value below = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, plus(corner, within), sizes[1 + d]);
      isInside = isInside ? Value(arith::AndIOp::create(builder, loc, isInside, below)) : below;
    }
    indices.assign(rank, index(0));
    indices.back() = plus(outer, inner);
    if (isInside)
      indices.back() = arith::SelectOp::create(builder, loc, isInside, indices.back(), index(0));
    return isInside;
  }

  SmallVector<Value> addFragments(ValueRange sums, Value buffer) {
    SmallVector<Value> next(sums);
    Value begins[2] = {bufferBegin(0, buffer), bufferBegin(1, buffer)}, firsts[2] = {subgroupRow, subgroupColumn};
    for (int64_t place = 0; place < step; place += product->depth) {
      SmallVector<Value> fragments[2];
      for (int which : {0, 1}) {
        const Staged &part = staged[which];
        auto type = fragmentType(which == 0 ? vxk::FragmentRole::lhs : vxk::FragmentRole::rhs);
        int64_t edge = which == 0 ? MatrixUnit::rows : MatrixUnit::columns;
        for (int64_t k = 0; k < (which == 0 ? blockRows : blockColumns); k += edge) {
          Value at = plus(placeOf(part, index(place), plus(firsts[which], index(k))), begins[which]);
          fragments[which].push_back(
              vxk::LoadFragmentOp::create(builder, loc, type, part.memory, at, part.stride, part.isAlongSum));
        }
      }
      auto sum = next.begin();
      for (Value lhs : fragments[0])
        for (Value rhs : fragments[1]) {
          *sum = vxk::MultiplyAccumulateOp::create(builder, loc, sum->getType(), lhs, rhs, *sum);
          ++sum;
        }
    }
    return next;
  }

  /// Computes and stores the kernel's results from the elements of the accumulators that each thread holds.
  LogicalResult storeFragments(ValueRange sums) {
    Value lane = builder.createOrFold<arith::RemUIOp>(loc, own, index(matrixUnit.subgroup));
    Value laneRow =
        times(builder.createOrFold<arith::DivUIOp>(loc, lane, index(matrixUnit.laneColumns)), matrixUnit.rowStep);
    Value laneColumn =
        times(builder.createOrFold<arith::RemUIOp>(loc, lane, index(matrixUnit.laneColumns)), matrixUnit.columnStep);
    laneRow = plus(subgroupRow, laneRow);
    laneColumn = plus(subgroupColumn, laneColumn);
    SmallVector<Type> types(matrixUnit.elements.size(), builder.getF32Type());
    auto sum = sums.begin();
    for (int64_t i = 0; i < blockRows; i += MatrixUnit::rows)
      for (int64_t j = 0; j < blockColumns; j += MatrixUnit::columns, ++sum) {
        SmallVector<Value> elements = vxk::FragmentElementsOp::create(builder, loc, types, *sum)->getResults();
        for (size_t e = 0, count; e < elements.size(); e += count) {
          auto [row, column] = matrixUnit.elements[e];
          for (count = 1; e + count < elements.size(); ++count)
            if (matrixUnit.elements[e + count] != std::pair(row, column + static_cast<int64_t>(count)))
              break;
          if (failed(storeLanes(plus(laneRow, index(i + row)), plus(laneColumn, index(j + column)),
                                ArrayRef(elements).slice(e, count))))
            return failure();
        }
      }
    return success();
  }

  //===-- Staging -------------------------------------------------------------------------------------------------===//

  /// The first element of the memory that holds `which` factor of a buffer, for this thread's slice.
  Value bufferBegin(int which, Value buffer) {
    const Staged &part = staged[which];
    int64_t size = bufferSize(part);
    Value begin = times(buffer, size);
    return slices == 1 ? begin : plus(begin, times(slice, 2 * size));
  }

  /// The units of `lanes` neighbours of a factor that one thread brings: place along the sum, first place across.
  SmallVector<std::pair<Value, Value>> unitsOfThread(int which) {
    const Staged &part = staged[which];
    int64_t lanesAlong = part.isUnitAlongSum ? part.lanes : 1, lanesAcross = part.lanes / lanesAlong;
    int64_t along = step / lanesAlong, across = part.width / lanesAcross, all = along * across;
    int64_t perSlice = threads / slices;
    SmallVector<std::pair<Value, Value>> units;
    for (int64_t first = 0; first < all; first += perSlice) {
      Value unit = plus(own, index(first));
      // A thread too many brings the last unit once more, and does not store it.
      if (first + perSlice > all)
        unit = builder.createOrFold<arith::MinUIOp>(loc, unit, index(all - 1));
      bool alongSum = factors[which].isContiguousAlongSum;
      Value fastest = index(alongSum ? along : across);
      Value fast = builder.createOrFold<arith::RemUIOp>(loc, unit, fastest);
      Value slow = builder.createOrFold<arith::DivUIOp>(loc, unit, fastest);
      units.emplace_back(times(alongSum ? fast : slow, lanesAlong), times(alongSum ? slow : fast, lanesAcross));
    }
    return units;
  }

  /// Reads what this thread stages through registers for the slice of the sum that begins at `from`.
  LogicalResult loadNext(Value from, SmallVectorImpl<Value> &values) {
    if (slices > 1)
      from = plus(from, times(slice, step * depth));
    for (int which : {0, 1}) {
      if (staged[which].isAsync)
        continue;
      for (auto [along, across] : unitsOfThread(which))
        if (failed(loadUnit(which, plus(from, times(along, depth)), across, values)))
          return failure();
    }
    return success();
  }

  LogicalResult loadUnit(int which, Value number, Value across, SmallVectorImpl<Value> &values) {
    Factor &factor = factors[which];
    if (!factor.windows.empty() && staged[which].isSumWhole &&
        isAligned(which, staged[which].lanes, staged[which].isUnitAlongSum)) {
      loadWindow(which, number, across, values);
      return success();
    }
    for (int64_t lane = 0; lane < staged[which].lanes; ++lane) {
      Value value = depth > 1 ? loadWord(which, number, across, lane) : loadElement(which, number, across, lane);
      if (!value)
        return failure();
      values.push_back(value);
    }
    return success();
  }

  Value loadElement(int which, Value number, Value across, int64_t lane) {
    Factor &factor = factors[which];
    DenseMap<unsigned, Value> positions = findPositions(which, number, across, lane);
    SmallVector<LaneIndex> indices;
    for (unsigned used : factor.loops)
      indices.push_back({positions[used], 0, {}});
    Value value = evaluator->evaluate(factor.tensor, indices);
    Value isInside = value ? isInSum(which, number, lane) : Value();
    return isInside ? selectOrZero(isInside, value) : value;
  }

  Value selectOrZero(Value condition, Value value) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(value.getType()));
    return arith::SelectOp::create(builder, loc, condition, value, zero);
  }

  /// Four bytes along the sum as one number, the first of them lowest.
  Value loadWord(int which, Value number, Value across, int64_t lane) {
    auto type = VectorType::get(depth, builder.getI8Type());
    Value bytes;
    if (staged[which].isWordWhole) {
      SmallVector<Value> indices;
      Value isInside = findUnit(which, number, across, lane, indices);
      bytes = vector::LoadOp::create(builder, loc, type, factors[which].buffer, indices);
      if (isInside)
        bytes = selectOrZero(isInside, bytes);
    } else {
      SmallVector<Value> elements;
      for (int64_t place = 0; place < depth; ++place)
        elements.push_back(loadElement(which, plus(number, index(place)), across, lane));
      if (llvm::is_contained(elements, Value()))
        return {};
      bytes = vector::FromElementsOp::create(builder, loc, type, elements);
    }
    Value word = vector::BitCastOp::create(builder, loc, VectorType::get(1, builder.getI32Type()), bytes);
    return vector::ExtractOp::create(builder, loc, word, ArrayRef<int64_t>{0});
  }

  /// Neighbouring channels under a convolution's window.
  void loadWindow(int which, Value number, Value across, SmallVectorImpl<Value> &values) {
    SmallVector<Value> indices;
    Value isInside = findUnit(which, number, across, 0, indices);
    Value buffer = factors[which].buffer;
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    auto type = VectorType::get(staged[which].lanes, element);
    Value unit = vector::LoadOp::create(builder, loc, type, buffer, indices);
    if (isInside)
      unit = selectOrZero(isInside, unit);
    for (int64_t lane = 0; lane < staged[which].lanes; ++lane)
      values.push_back(vector::ExtractOp::create(builder, loc, unit, ArrayRef<int64_t>{lane}));
  }

  /// The place of the sum of a lane of the unit that begins at `number`.
  Value laneInSum(const Staged &part, Value number, int64_t lane) {
    return part.isUnitAlongSum && !part.isSumWhole ? plus(number, index(lane)) : number;
  }

  /// Whether that place is inside of the sum; null where it always is. Behind the end of the sum zeros are added.
  Value isInSum(int which, Value number, int64_t lane) {
    if (!needsZeros)
      return {};
    Value place = laneInSum(staged[which], number, lane);
    return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, place, sumLength);
  }

  /// Where a lane of the unit at `number` and `across` lies along each loop. What lies outside of the result is not
  /// stored, so any element inside will do for it.
  DenseMap<unsigned, Value> findPositions(int which, Value number, Value across, int64_t lane) {
    const Staged &part = staged[which];
    ArrayRef<unsigned> dims = which == 0 ? rowDims : columnDims;
    DenseMap<unsigned, Value> positions;
    int64_t atOnce = part.isWordWhole                                           ? depth
                     : part.isSumWhole || (part.isAsync && part.isUnitAlongSum) ? part.lanes
                                                                                : 1;
    Value last = builder.createOrFold<arith::SubIOp>(loc, sumLength, index(atOnce));
    number = builder.createOrFold<arith::MinUIOp>(loc, laneInSum(part, number, lane), last);
    for (auto [sumLoop, position] : llvm::zip(sumLoops, takeApart(number, sumSizes)))
      positions[sumLoop] = position;
    if (part.isSumWhole)
      positions[sumLoops.back()] = plus(positions[sumLoops.back()], index(lane));
    for (unsigned d : batchDims)
      positions[resultLoops[d]] = tile.lower[d];
    int64_t lanes = part.isUnitAlongSum ? 1 : part.lanes, offset = part.isUnitAlongSum ? 0 : lane;
    bool inOneRow = !dims.empty() && tileSizes[dims.back()] % lanes == 0;
    Value at = inOneRow ? across : plus(across, index(offset));
    for (auto [d, local] : llvm::zip(dims, takeApart(at, constants(dims)))) {
      // Neighbours lie along the last dimension; along another one each place stands alone.
      bool hasLanes = inOneRow && d == dims.back();
      positions[resultLoops[d]] = clampedPosition(d, local, hasLanes ? offset : 0, hasLanes ? lanes : 1);
    }
    return positions;
  }

  /// The place `local` + `offset` of the tile along dimension `d`, or another one inside of the result. Neighbours stay
  /// neighbours where the dimension is a multiple of `lanes`.
  Value clampedPosition(unsigned d, Value local, int64_t offset, int64_t lanes) {
    Value position = plus(tile.lower[d], local);
    if (isWhole(d))
      return plus(position, index(offset));
    Value size = loopSizes[resultLoops[d]];
    std::optional<int64_t> known = getConstantIntValue(size);
    if (known && *known % lanes == 0) {
      position = builder.createOrFold<arith::MinUIOp>(loc, position, index(*known - lanes));
      return plus(position, index(offset));
    }
    Value last = builder.createOrFold<arith::SubIOp>(loc, size, index(1));
    return builder.createOrFold<arith::MinUIOp>(loc, plus(position, index(offset)), last);
  }

  /// Puts what `loadNext` read into workgroup memory.
  void storeNext(ArrayRef<Value> values, Value buffer) {
    int64_t perSlice = threads / slices;
    for (int which : {0, 1}) {
      const Staged &part = staged[which];
      if (part.isAsync)
        continue;
      Value begin = bufferBegin(which, buffer);
      int64_t all = part.width * step / part.lanes;
      for (auto [k, unit] : llvm::enumerate(unitsOfThread(which))) {
        Value at = plus(placeOf(part, unit.first, unit.second), begin);
        ArrayRef<Value> lanes = values.take_front(part.lanes);
        values = values.drop_front(part.lanes);
        int64_t first = static_cast<int64_t>(k) * perSlice;
        bool someIdle = first + perSlice > all;
        if (someIdle) {
          Value hasUnit = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, own, index(all - first));
          evaluator->enterIf(loc, hasUnit);
        }
        storeUnit(part, lanes, at);
        if (someIdle)
          evaluator->leaveIf();
      }
    }
  }

  void storeUnit(const Staged &part, ArrayRef<Value> lanes, Value at) {
    if (lanes.size() == 1 || part.isAlongSum != part.isUnitAlongSum) {
      for (auto [lane, value] : llvm::enumerate(lanes))
        memref::StoreOp::create(builder, loc, value, part.memory,
                                plus(at, index(static_cast<int64_t>(lane) * part.stride)));
      return;
    }
    auto type = VectorType::get(part.lanes, lanes.front().getType());
    Value packed = vector::FromElementsOp::create(builder, loc, type, lanes);
    vector::StoreOp::create(builder, loc, packed, part.memory, at);
  }

  /// The place of row or column `k` of this thread's block: groups of neighbours, as far apart as the threads need.
  int64_t blockOffset(int which, int64_t k) {
    const Staged &part = staged[which];
    int64_t groups = (which == 0 ? blockRows : blockColumns) / part.lanes;
    return k / part.lanes * (part.width / groups) + k % part.lanes;
  }
  Value blockBegin(int which) { return times(which == 0 ? threadRow : threadColumn, staged[which].lanes); }

  SmallVector<Value> addProducts(ValueRange sums, Value buffer) {
    SmallVector<Value> next(sums);
    Value begins[2];
    for (int which : {0, 1})
      begins[which] = plus(bufferBegin(which, buffer), blockBegin(which));
    for (int64_t place = 0; place < step; ++place) {
      SmallVector<Value> values[2];
      for (int which : {0, 1}) {
        const Staged &part = staged[which];
        int64_t count = which == 0 ? blockRows : blockColumns;
        for (int64_t k = 0; k < count; k += part.lanes) {
          Value at = plus(begins[which], index(place * part.stride + blockOffset(which, k)));
          if (part.lanes == 1) {
            values[which].push_back(memref::LoadOp::create(builder, loc, part.memory, at));
            continue;
          }
          auto type = VectorType::get(part.lanes, cast<MemRefType>(part.memory.getType()).getElementType());
          Value packed = vector::LoadOp::create(builder, loc, type, part.memory, at);
          for (int64_t lane = 0; lane < part.lanes; ++lane)
            values[which].push_back(vector::ExtractOp::create(builder, loc, packed, ArrayRef<int64_t>{lane}));
        }
      }
      for (int64_t i = 0; i < blockRows; ++i)
        for (int64_t j = 0; j < blockColumns; ++j) {
          Value &sum = next[i * blockColumns + j];
          sum = addProduct(values[0][i], values[1][j], sum);
        }
    }
    return next;
  }

  /// sum + a * b by the ops of the contraction's body.
  Value addProduct(Value a, Value b, Value accumulator) {
    if (depth > 1)
      return addBytes(a, b, accumulator);
    IRMapping mapping;
    mapping.map(contraction->multiply->getOperand(isSwapped ? 1 : 0), a);
    mapping.map(contraction->multiply->getOperand(isSwapped ? 0 : 1), b);
    mapping.map(Value(contraction->op.getRegionOutputArgs()[0]), accumulator);
    Operation *product = builder.clone(*contraction->multiply, mapping);
    if (isa<arith::MulIOp>(product) && llvm::all_of(contraction->multiply->getOperands(), isOfFewBits))
      product->setDiscardableAttr(vxk::kFewBitsAttr, builder.getUnitAttr());
    return builder.clone(*contraction->add, mapping)->getResult(0);
  }

  /// sum + a * b of the four bytes of words.
  Value addBytes(Value a, Value b, Value accumulator) {
    auto one = VectorType::get(1, builder.getI32Type()), bytes = VectorType::get(depth, builder.getI8Type());
    auto toVector = [&](Value word) { return vector::FromElementsOp::create(builder, loc, one, word).getResult(); };
    auto toBytes = [&](Value word) {
      return vector::BitCastOp::create(builder, loc, bytes, toVector(word)).getResult();
    };
    Value sum =
        vxk::DotOp::create(builder, loc, toVector(accumulator), toBytes(a), toBytes(b), areSigned[0], areSigned[1]);
    return vector::ExtractOp::create(builder, loc, sum, ArrayRef<int64_t>{0});
  }

  /// True of a factor that was widened from at most 16 bits.
  static bool isOfFewBits(Value factor) {
    Operation *op = factor.getDefiningOp();
    return isa_and_present<arith::ExtSIOp, arith::ExtUIOp>(op) &&
           op->getOperand(0).getType().getIntOrFloatBitWidth() <= 16;
  }

  /// Adds up the slices' sums in order, and computes and stores the kernel's results from them.
  LogicalResult storeSums(SmallVector<Value> sums) {
    int64_t perSlice = threads / slices;
    if (slices > 1) {
      Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, slice, index(0));
      Value isLater = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, slice, index(0));
      evaluator->enterIf(loc, isLater);
      Value before = arith::SubIOp::create(builder, loc, slice, index(1));
      Value begin = plus(times(before, rows * columns), own);
      for (auto [k, sum] : llvm::enumerate(sums))
        memref::StoreOp::create(builder, loc, sum, partialSums, plus(begin, index(static_cast<int64_t>(k) * perSlice)));
      evaluator->leaveIf();
      vxk::BarrierOp::create(builder, loc);
      evaluator->enterIf(loc, isFirst);
      for (auto [k, sum] : llvm::enumerate(sums))
        for (int64_t other = 0; other + 1 < slices; ++other) {
          Value at = plus(own, index(other * rows * columns + static_cast<int64_t>(k) * perSlice));
          Value part = memref::LoadOp::create(builder, loc, partialSums, at);
          IRMapping mapping;
          Operation *add = contraction->add;
          Value accumulator = contraction->op.getRegionOutputArgs()[0];
          for (Value operand : add->getOperands())
            mapping.map(operand, operand == accumulator ? sum : part);
          sum = builder.clone(*add, mapping)->getResult(0);
        }
    }
    int64_t lanes = staged[1].lanes;
    for (int64_t i = 0; i < blockRows; ++i)
      for (int64_t j = 0; j < blockColumns; j += lanes)
        if (failed(storeLanes(plus(blockBegin(0), index(blockOffset(0, i))),
                              plus(blockBegin(1), index(blockOffset(1, j))),
                              ArrayRef<Value>(sums).slice(i * blockColumns + j, lanes))))
          return failure();
    if (slices > 1)
      evaluator->leaveIf();
    return success();
  }

  //===-- Results -------------------------------------------------------------------------------------------------===//

  /// The results for neighbouring columns of one row of the tile.
  LogicalResult storeLanes(Value row, Value column, ArrayRef<Value> sums) {
    int64_t lanes = static_cast<int64_t>(sums.size());
    bool inOneRow = !columnDims.empty() && tileSizes[columnDims.back()] % lanes == 0;
    std::optional<int64_t> width;
    if (inOneRow)
      width = getConstantIntValue(loopSizes[resultLoops[columnDims.back()]]);
    // All of them are inside or none, where that is known; else each is asked for.
    int64_t together = width && *width % lanes == 0 ? lanes : 1;
    for (int64_t first = 0; first < lanes; first += together) {
      SmallVector<Value> at(tileSizes.size());
      auto place = [&](ArrayRef<unsigned> dims, Value local) {
        for (auto [d, part] : llvm::zip(dims, takeApart(local, constants(dims))))
          at[d] = plus(tile.lower[d], part);
      };
      place(rowDims, row);
      place(columnDims, plus(column, index(inOneRow ? 0 : first)));
      for (unsigned d : batchDims)
        at[d] = tile.lower[d];
      if (inOneRow && first != 0)
        at[columnDims.back()] = plus(at[columnDims.back()], index(first));
      Value isInside;
      for (unsigned d = 0; d < at.size(); ++d) {
        if (isWhole(d) || tileSizes[d] == 1)
          continue;
        Value below = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at[d], tile.upper[d]);
        isInside = isInside ? Value(arith::AndIOp::create(builder, loc, isInside, below)) : below;
      }
      if (isInside)
        evaluator->enterIf(loc, isInside);
      if (failed(storeInside(at, sums.slice(first, together))))
        return failure();
      if (isInside)
        evaluator->leaveIf();
    }
    return success();
  }

  /// Computes all results of neighbouring elements before it stores the first one: they may read where it is stored.
  LogicalResult storeInside(ArrayRef<Value> first, ArrayRef<Value> sums) {
    SmallVector<SmallVector<Value>> values(results.size()), places;
    for (auto [lane, total] : llvm::enumerate(sums)) {
      SmallVector<Value> at(first);
      if (lane != 0)
        at[columnDims.back()] = plus(at[columnDims.back()], index(static_cast<int64_t>(lane)));
      evaluator->setSource(sum(), [total = total](ArrayRef<LaneIndex>) { return total; });
      SmallVector<LaneIndex> indices;
      for (Value position : at)
        indices.push_back({position, 0, {}});
      for (auto [result, list] : llvm::zip(results, values)) {
        list.push_back(evaluator->evaluate(result.getSource(), indices));
        if (!list.back())
          return failure();
      }
      places.push_back(at);
    }
    evaluator->setSource(sum(), {});
    for (auto [result, list] : llvm::zip(results, values))
      for (auto [value, at] : llvm::zip(list, places))
        memref::StoreOp::create(builder, result.getLoc(), value, result.getDest(), at);
    return success();
  }

  func::FuncOp function;
  StrategyAttrInterface strategy;
  MmaAttr mma; // null for blocks
  const TargetSpec &spec;
  const MatrixUnit &matrixUnit;
  OpBuilder builder;
  Location loc = UnknownLoc::get(builder.getContext());
  SmallVector<MaterializeInDestinationOp> results;
  std::optional<Contraction> contraction;
  DenseMap<Operation *, bool> dependence;
  StringRef declined;
  /// The factors that the rows and the columns of the tile index; swapped against the order of the body or not.
  Factor factors[2];
  bool isSwapped = false;
  /// The loop of each result dimension, and the dimensions by the factors that depend on them.
  SmallVector<unsigned> resultLoops, batchDims, rowDims, columnDims, sumLoops;
  SmallVector<int64_t> tileSizes;
  /// The block is a thread's, or with fragments a subgroup's.
  int64_t rows = 1, columns = 1, blockRows = 1, blockColumns = 1, step = 1, slices = 1, threads = 1;
  int64_t depth = 1;      // places of the sum in an element of workgroup memory; a step has as many elements as it says
  bool areSigned[2] = {}; // of bytes, by factor
  std::optional<Product> product;
  int64_t stages = 2, subgroupColumns = 1;
  ElementEvaluator *evaluator = nullptr;
  Staged staged[2];
  Value partialSums, own, slice, threadRow, threadColumn, subgroupRow, subgroupColumn, sumLength;
  SmallVector<Value> sumSizes;
  /// The steps reach over the end of the sum.
  bool needsZeros = false;
  SmallVector<Value> loopSizes;
  WorkgroupTile tile;
};

struct GPULowerContraction : impl::GPULowerContractionPassBase<GPULowerContraction> {
  GPULowerContraction() = default;
  explicit GPULowerContraction(const TargetSpec &spec) : spec(spec) {}

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<StrategyAttrInterface>(vxk::kStrategyAttr);
    if (!isa_and_nonnull<TiledProductAttr, MmaAttr>(strategy))
      return;
    FailureOr<bool> lowered = ContractionEmitter(function, strategy, spec).run();
    if (failed(lowered))
      return signalPassFailure();
    if (!*lowered)
      return;
    eraseTensorOps(function);
  }

  TargetSpec spec; // without one: no fragments
};

} // namespace

std::unique_ptr<Pass> createGPULowerContractionPass(const TargetSpec &spec) {
  return std::make_unique<GPULowerContraction>(spec);
}

} // namespace vx
