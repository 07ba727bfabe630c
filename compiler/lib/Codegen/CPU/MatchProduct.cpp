#include "MatchProduct.h"

#include "Common/ElementEvaluator.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {

/// The operand of `op` that a value of its body is an element of, or null.
static OpOperand *findOperand(linalg::GenericOp op, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == op.getBody() ? &op->getOpOperand(argument.getArgNumber()) : nullptr;
}

/// The loops of `op` that a value of its body depends on.
static llvm::SmallBitVector getLoops(linalg::GenericOp op, Value value) {
  llvm::SmallBitVector loops(op.getNumLoops());
  auto addArgument = [&](Value operand) {
    OpOperand *read = findOperand(op, operand);
    if (!read)
      return;
    AffineMap map = op.getMatchingIndexingMap(read);
    for (unsigned loop = 0; loop < loops.size(); ++loop)
      if (map.isFunctionOfDim(loop))
        loops.set(loop);
  };
  addArgument(value);
  for (Operation *needed : getBodySlice(*op.getBody(), value))
    needed->walk([&](Operation *inner) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        loops.set(index.getDim());
      for (Value operand : inner->getOperands())
        addArgument(operand);
    });
  return loops;
}

Operation *findWidening(Value factor) {
  Operation *op = factor.getDefiningOp();
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op) ? op : nullptr;
}

/// The op that unpacks what `tensor` is made of, element for element, or null.
static linalg::GenericOp findUnpacking(Value tensor) {
  llvm::SetVector<Operation *> found;
  found.insert(tensor.getDefiningOp());
  for (size_t next = 0; next < found.size(); ++next) {
    auto generic = dyn_cast_or_null<linalg::GenericOp>(found[next]);
    if (!generic)
      continue;
    const bool isUnpacking = generic->hasAttr(vxk::kUnpackingAttr);
    if (isUnpacking && (found[next] == found.front() || isElementwiseOf(tensor, generic)))
      return generic;
    if (isUnpacking) // of numbers that are repeated
      continue;
    for (Value input : generic.getDpsInputs())
      found.insert(input.getDefiningOp());
  }
  return {};
}

/// True where `tensor` is `source`, or is computed of it alone, element for element.
static bool dependsOnOne(Value tensor, Value source) {
  while (tensor != source) {
    auto op = tensor.getDefiningOp<linalg::GenericOp>();
    if (!op || op.getNumDpsInputs() != 1 || op.getNumReductionLoops() != 0 ||
        !llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }) ||
        op.getBody()
            ->walk([](Operation *inner) {
              return isa<linalg::IndexOp, tensor::ExtractOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted())
      return false;
    tensor = op.getDpsInputs().front();
  }
  return true;
}

/// True where the elements of `tensor` do not differ along a dimension.
static bool isInvariantAlong(Value tensor, unsigned dim) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op)
    return isa_and_nonnull<linalg::FillOp>(tensor.getDefiningOp());
  if (op.getNumReductionLoops() != 0 || op.getBody()
                                            ->walk([](Operation *inner) {
                                              return isa<linalg::IndexOp>(inner) ? WalkResult::interrupt()
                                                                                 : WalkResult::advance();
                                            })
                                            .wasInterrupted())
    return false;
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = op.getMatchingIndexingMap(input);
    std::optional<unsigned> place = map.getResultPosition(getAffineDimExpr(dim, op.getContext()));
    return place ? isInvariantAlong(input->get(), *place) : !map.isFunctionOfDim(dim);
  });
}

/// Finds the numbers of blocks that B is computed with, where these only scale and shift what the packed B decides.
static void matchBlockSteps(Product &product, OpOperand *operand) {
  AffineMap map = product.op.getMatchingIndexingMap(operand);
  std::optional<unsigned> inner = map.getResultPosition(getAffineDimExpr(product.k.back(), product.op.getContext()));
  SmallVector<Product::BlockStep> steps;
  Value tensor = operand->get();
  auto unpack = product.unpackedB.getDefiningOp<linalg::GenericOp>();
  while (inner && !dependsOnOne(tensor, product.unpackedB)) {
    auto op = tensor.getDefiningOp<linalg::GenericOp>();
    if (!op || op.getNumDpsInputs() != 2 || op.getNumReductionLoops() != 0 ||
        op.getBody()->getOperations().size() != 2 ||
        !llvm::all_of(op.getIndexingMapsArray(), [](AffineMap own) { return own.isIdentity(); }))
      return;
    Operation *step = &op.getBody()->front();
    auto left = dyn_cast<BlockArgument>(step->getOperand(0)),
         right = step->getNumOperands() == 2 ? dyn_cast<BlockArgument>(step->getOperand(1)) : BlockArgument();
    if (!left || !right || !isa<arith::MulFOp, arith::AddFOp, arith::SubFOp>(step))
      return;
    auto isCore = [&](BlockArgument argument) {
      Value input = op->getOperand(argument.getArgNumber());
      return input == product.unpackedB || isElementwiseOf(input, unpack);
    };
    if (isCore(left) == isCore(right) || (isa<arith::SubFOp>(step) && !isCore(left)))
      return;
    auto ofArgument = [&](BlockArgument argument) { return op->getOperand(argument.getArgNumber()); };
    Value numbers = ofArgument(isCore(left) ? right : left);
    if (!isInvariantAlong(numbers, *inner))
      return;
    using enum Product::BlockStep::Kind;
    steps.push_back({isa<arith::MulFOp>(step) ? Scale : isa<arith::AddFOp>(step) ? Add : Subtract, numbers});
    tensor = ofArgument(isCore(left) ? left : right);
  }
  if (!inner || steps.empty())
    return;
  product.steps.assign(steps.rbegin(), steps.rend());
  product.core = tensor;
  product.ofB = map;
}

/// Finds the packed form of B: tiles of the columns, and inside of a tile the k dimensions in the order of the loops.
static void matchPackedB(Product &product) {
  Operation *widening = findWidening(product.b);
  OpOperand *operand = findOperand(product.op, widening ? widening->getOperand(0) : product.b);
  if (!operand)
    return;
  linalg::GenericOp unpack = findUnpacking(operand->get());
  auto unpacking = unpack ? unpack->getAttrOfType<vxk::UnpackingAttr>(vxk::kUnpackingAttr) : vxk::UnpackingAttr();
  if (!unpacking)
    return;
  AffineMap map = product.op.getMatchingIndexingMap(operand);
  auto loopOf = [&](int64_t dim) { return cast<AffineDimExpr>(map.getResult(dim)).getPosition(); };
  ArrayRef<int64_t> permutation = unpacking.getPermutation();
  int64_t dim = unpacking.getDim();
  bool isDecoded = widening || operand->get() != unpack->getResult(0);
  if (!map.isProjectedPermutation() || permutation.front() != dim || loopOf(dim) != product.n ||
      permutation.size() != product.k.size() + 1 || unpacking.getInner() != product.neighbours ||
      (isDecoded && product.neighbours > 1))
    return;
  for (auto [k, from] : llvm::zip(product.k, permutation.drop_front()))
    if (loopOf(from) != k)
      return;
  auto getRead = [](linalg::GenericOp op) {
    tensor::ExtractOp read;
    op.getBody()->walk([&](tensor::ExtractOp extract) { read = extract; });
    return read.getTensor();
  };
  Value packed = getRead(unpack), bytes = packed;
  product.subByte = dyn_cast_or_null<IntegerType>(unpacking.getOf());
  if (unpacking.getOf()) {
    auto ofBytes = packed.getDefiningOp<linalg::GenericOp>();
    if (!ofBytes || !product.subByte || product.subByte.getWidth() != 4)
      return;
    bytes = getRead(ofBytes);
  }
  auto stored = bytes.getDefiningOp<bufferization::ToTensorOp>();
  if (!stored)
    return;
  product.packedB = stored.getBuffer();
  product.unpackedB = unpack->getResult(0);
  product.isDecoded = isDecoded;
  product.decodesAlone = isDecoded && dependsOnOne(operand->get(), product.unpackedB);
  product.tile = cast<RankedTensorType>(packed.getType()).getDimSize(permutation.size());
  if (isDecoded && !widening && product.k.size() > 1 && product.op->hasAttr(vxk::kBlockSumsAttr))
    matchBlockSteps(product, operand);
}

/// Finds A where its elements are those of a buffer, in the order of the loops.
static void matchPlainA(Product &product) {
  OpOperand *operand = findOperand(product.op, product.a);
  if (!operand)
    return;
  auto read = operand->get().getDefiningOp<bufferization::ToTensorOp>();
  SmallVector<AffineExpr> places;
  for (ArrayRef<unsigned> loops : {ArrayRef<unsigned>(product.outer), ArrayRef(product.m), ArrayRef(product.k)})
    for (unsigned loop : loops)
      places.push_back(getAffineDimExpr(loop, product.op.getContext()));
  if (read && cast<MemRefType>(read.getBuffer().getType()).getLayout().isIdentity() &&
      product.op.getMatchingIndexingMap(operand).getResults() == ArrayRef(places))
    product.plainA = read.getBuffer();
}

/// Finds factors that are bytes, of which a step along k takes several.
static void matchBytes(Product &product) {
  auto getBytes = [](Value factor) -> Operation * {
    Operation *widening = findWidening(factor);
    return widening && widening->getOperand(0).getType().isInteger(8) ? widening : nullptr;
  };
  Operation *a = getBytes(product.a), *b = getBytes(product.b);
  if (!a || !b || !product.a.getType().isInteger(32))
    return;
  product.a = a->getOperand(0);
  product.b = b->getOperand(0);
  product.isASigned = isa<arith::ExtSIOp>(a);
  product.isBSigned = isa<arith::ExtSIOp>(b);
  product.neighbours = 4;
}

/// True when all that `value` reads from memory has neighbours along `loop`.
static bool liesAlong(linalg::GenericOp op, Value value, unsigned loop) {
  bool readsAny = false, isAlong = true;
  auto add = [&](bool isSo) {
    readsAny = true;
    isAlong &= isSo;
  };
  auto addArgument = [&](Value operand) {
    OpOperand *read = findOperand(op, operand);
    if (!read)
      return;
    AffineMap map = op.getMatchingIndexingMap(read);
    if (map.getNumResults() > 0)
      add(map.getResults().back() == getAffineDimExpr(loop, op.getContext()));
  };
  addArgument(value);
  for (Operation *needed : getBodySlice(*op.getBody(), value))
    needed->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        addArgument(operand);
      if (auto extract = dyn_cast<tensor::ExtractOp>(inner); extract && !extract.getIndices().empty()) {
        auto index = extract.getIndices().back().getDefiningOp<linalg::IndexOp>();
        add(index && index.getDim() == loop);
      }
    });
  return readsAny && isAlong;
}

void OnlySum::eraseResults() {
  for (bufferization::MaterializeInDestinationOp result : results)
    result.erase();
}

std::optional<OnlySum> findOnlySum(func::FuncOp function) {
  OnlySum sum;
  sum.results = SmallVector<bufferization::MaterializeInDestinationOp>(
      function.getOps<bufferization::MaterializeInDestinationOp>());
  sum.op = dyn_cast_or_null<linalg::GenericOp>(vxk::getAnchor(function));
  if (!sum.op || sum.op.getNumReductionLoops() == 0 || sum.op.getNumDpsInits() != 1 || sum.results.empty())
    return std::nullopt;
  for (auto generic : function.getOps<linalg::GenericOp>())
    if (generic != sum.op && generic.getNumReductionLoops() != 0)
      return std::nullopt;
  for (bufferization::MaterializeInDestinationOp result : sum.results)
    if (!isElementwiseOrIndependentOf(result.getSource(), sum.op))
      return std::nullopt;
  return sum;
}

/// The filters of each group of a convolution with groups, where their number is known; else 0.
static int64_t getFiltersOfGroup(linalg::GenericOp op) {
  auto window = op->getAttrOfType<vxk::WindowAttr>(vxk::kWindowAttr);
  if (!window || window.getGroups() <= 1)
    return 0;
  auto filter = cast<RankedTensorType>(op.getDpsInputs().front().getType());
  return filter.isDynamicDim(0) ? 0 : filter.getDimSize(0) / static_cast<int64_t>(window.getGroups());
}

static constexpr StringLiteral kNoProduct =
    "it sums no products, does not begin with a constant, or may fail at an index";

std::optional<Product> matchProduct(func::FuncOp function, StringRef &declined) {
  auto decline = [&](StringRef reason) {
    declined = reason;
    return std::nullopt;
  };
  std::optional<OnlySum> only = findOnlySum(function);
  if (!only)
    return decline("it has not one result and one sum, or the result reads the sum at another place than its own");
  Product product;
  static_cast<OnlySum &>(product) = *only;
  linalg::GenericOp op = product.op;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  unsigned rank = type.getRank();
  if ((!isa<FloatType>(type.getElementType()) && !type.getElementType().isInteger(32)) || rank < 2)
    return decline("its sum is neither of floats nor of integers of 32 bits, or has fewer than two dimensions");
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (unsigned d = 0; d < rank; ++d)
    if (outMap.getResult(d) != getAffineDimExpr(d, op.getContext()))
      return decline(kNoProduct);

  // acc + x * y
  Operation *sum = op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(sum) || sum->getOperand(0) != op.getRegionOutputArgs().front())
    return decline(kNoProduct);
  Operation *times = sum->getOperand(1).getDefiningOp();
  auto *init = op.getDpsInitOperand(0)->get().getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(times) || !isa_and_nonnull<linalg::FillOp>(init) ||
      op.getBody()->walk([](vxk::ReportFaultOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return decline(kNoProduct);
  product.a = times->getOperand(0);
  product.b = times->getOperand(1);
  llvm::SmallBitVector aLoops = getLoops(op, product.a), bLoops = getLoops(op, product.b);
  if (!bLoops.test(rank - 1)) {
    std::swap(product.a, product.b);
    std::swap(aLoops, bLoops);
  }
  product.n = rank - 1;
  unsigned d = rank - 1;
  product.group = aLoops.test(product.n) ? getFiltersOfGroup(op) : 0;
  if (!bLoops.test(product.n) || (aLoops.test(product.n) && product.group == 0))
    return decline("the last dimension is not that of one factor alone");
  while (d > 0 && aLoops.test(d - 1) && !bLoops.test(d - 1))
    --d;
  if (d == rank - 1)
    return decline("it has one row: no dimension before the last is that of the other factor alone");
  for (unsigned m = d; m < product.n; ++m)
    product.m.push_back(m);
  for (unsigned outer = 0; outer < d; ++outer)
    product.outer.push_back(outer);
  for (unsigned k = rank; k < op.getNumLoops(); ++k)
    product.k.push_back(k);
  matchBytes(product);
  product.hasColumnsInA = product.neighbours == 1 && liesAlong(op, product.a, product.m.back());
  product.hasRowsInB = product.neighbours == 1 && liesAlong(op, product.b, product.n);
  product.hasColumnsInB =
      product.neighbours == 1 && product.k.size() == 1 && liesAlong(op, product.b, product.k.back());
  matchPlainA(product);
  matchPackedB(product);
  return product;
}

} // namespace vx
