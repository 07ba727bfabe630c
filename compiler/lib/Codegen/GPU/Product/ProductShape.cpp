#include "ProductShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;
using bufferization::MaterializeInDestinationOp;

namespace vx {

namespace {

/// Visits the tensors that an op reads: operands, and values that its body captures (without an operand).
void visitInputs(Operation *op, function_ref<void(Value, OpOperand *)> visit) {
  for (OpOperand &operand : op->getOpOperands())
    visit(operand.get(), &operand);
  SetVector<Value> captured;
  for (Region &region : op->getRegions())
    getUsedValuesDefinedAbove(region, captured);
  for (Value value : captured)
    visit(value, nullptr);
}

/// Finds the sum of products of `op`. False when the op is none.
bool matchSum(linalg::GenericOp op, ProductShape &shape) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1)
    return false;
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  Value accumulator = op.getRegionOutputArgs()[0];
  Operation *add = op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  if (!fill || !isa_and_nonnull<arith::AddFOp, arith::AddIOp>(add) || !accumulator.hasOneUse())
    return false;
  Value product = add->getOperand(0) == accumulator ? add->getOperand(1) : add->getOperand(0);
  Operation *multiply = product.getDefiningOp();
  if (!llvm::is_contained(add->getOperands(), accumulator) ||
      !isa_and_nonnull<arith::MulFOp, arith::MulIOp>(multiply) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isProjectedPermutation())
    return false;
  shape.op = op;
  shape.add = add;
  shape.multiply = multiply;
  shape.init = fill.getInputs()[0];
  return true;
}

class ProductMatcher {
public:
  ProductMatcher(ProductShape &shape, StringRef &reason) : shape(shape), reason(reason) {}

  bool findSum(func::FuncOp function);
  bool classifyLoops(ArrayRef<int64_t> tile);

private:
  void findGroups();
  bool readsFilter(Value factor);
  /// False, with the reason why the form of the kernel is another one.
  bool decline(StringRef why) {
    reason = why;
    return false;
  }
  bool dependsOnSum(Value value);
  bool readsInPlace(Value tensor);

  static constexpr StringLiteral kNoProduct = "it is no product of two factors that give rows and columns";
  static constexpr StringLiteral kReadElsewhere = "a result reads the sum at another place than its own";

  ProductShape &shape;
  StringRef &reason;
  DenseMap<Operation *, bool> dependence;
};

bool ProductMatcher::dependsOnSum(Value value) {
  if (value == shape.sum())
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

/// Whether each element of `tensor` reads the sum at its own position only.
bool ProductMatcher::readsInPlace(Value tensor) {
  if (tensor == shape.sum() || !dependsOnSum(tensor))
    return tensor == shape.sum() || tensor.getDefiningOp();
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

bool ProductMatcher::findSum(func::FuncOp function) {
  shape.results.assign(function.getOps<MaterializeInDestinationOp>().begin(),
                       function.getOps<MaterializeInDestinationOp>().end());
  auto anchor = dyn_cast_or_null<linalg::GenericOp>(vxk::getAnchor(function));
  if (shape.results.empty() || !anchor || !matchSum(anchor, shape))
    return decline(kNoProduct);
  ProductShape other;
  for (auto op : function.getOps<linalg::GenericOp>())
    if (op != shape.op && matchSum(op, other))
      return decline("it has more than one sum of products");
  auto sizesOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  ArrayRef<int64_t> sizes = sizesOf(shape.results.front().getSource());
  for (MaterializeInDestinationOp result : shape.results)
    if (sizesOf(result.getSource()) != sizes || !readsInPlace(result.getSource()))
      return decline(kReadElsewhere);
  return sizes.size() == sizesOf(shape.sum()).size() || decline(kReadElsewhere);
}

/// Finds the filters' dimension of a convolution with groups of a known number of filters, if a group has more than
/// one.
void ProductMatcher::findGroups() {
  auto window = shape.op->getAttrOfType<vxk::WindowAttr>(vxk::kWindowAttr);
  auto filter = cast<RankedTensorType>(shape.op.getDpsInputs().front().getType());
  if (!window || window.getGroups() == 1 || filter.isDynamicDim(0))
    return;
  shape.filtersOfGroup = filter.getDimSize(0) / static_cast<int64_t>(window.getGroups());
  if (shape.filtersOfGroup > 1)
    shape.groupDim = window.getChannelsLast() ? filter.getRank() - 1 : 1;
}

/// Whether a factor of a convolution is made of its filter: the operand of the op, where the input is captured.
bool ProductMatcher::readsFilter(Value factor) {
  SetVector<Operation *> producers;
  llvm::SmallSetVector<unsigned, 8> loops;
  collectProducers(shape.op, factor, producers, loops);
  Value filter = shape.op.getMatchingBlockArgument(shape.op.getDpsInputOperand(0));
  return factor == filter || llvm::any_of(producers, [&](Operation *producer) {
           return llvm::is_contained(producer->getOperands(), filter);
         });
}

bool ProductMatcher::classifyLoops(ArrayRef<int64_t> tile) {
  linalg::GenericOp op = shape.op;
  for (auto [factor, value] : llvm::zip(shape.factors, shape.multiply->getOperands())) {
    SetVector<Operation *> producers;
    llvm::SmallSetVector<unsigned, 8> loops;
    if (!collectProducers(op, value, producers, loops))
      return decline(kNoProduct);
    factor.value = value;
    factor.loops.assign(loops.begin(), loops.end());
    llvm::sort(factor.loops);
  }
  findGroups();
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (unsigned d = 0; d < outMap.getNumResults(); ++d) {
    unsigned loop = cast<AffineDimExpr>(outMap.getResult(d)).getPosition();
    shape.resultLoops.push_back(loop);
    bool first = llvm::is_contained(shape.factors[0].loops, loop);
    bool second = llvm::is_contained(shape.factors[1].loops, loop);
    if (d == shape.groupDim)
      (readsFilter(shape.factors[0].value) ? second : first) = false;
    if (first && second)
      shape.batchDims.push_back(d);
    else if (first)
      shape.rowDims.push_back(d);
    else if (second)
      shape.columnDims.push_back(d);
    else if (d < tile.size() && tile[d] == 1)
      shape.batchDims.push_back(d); // a batch of one, whose place is a constant
    else
      return decline(kNoProduct);
  }
  // The factor with the last of the result's dimensions gives the columns, which neighbouring threads share out. One
  // of size 1 may be no factor's.
  unsigned last = outMap.getNumResults();
  while (last > 1 && llvm::is_contained(shape.batchDims, last - 1))
    --last;
  if (!shape.rowDims.empty() && shape.rowDims.back() + 1 == last) {
    std::swap(shape.factors[0], shape.factors[1]);
    std::swap(shape.rowDims, shape.columnDims);
    shape.isSwapped = true;
  }
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (!llvm::is_contained(shape.resultLoops, loop))
      shape.sumLoops.push_back(loop);
  return true;
}

} // namespace

bool collectProducers(linalg::GenericOp op, Value value, SetVector<Operation *> &producers,
                      llvm::SmallSetVector<unsigned, 8> &loops) {
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
  if (!producer || producer->getBlock() != op.getBody() || producers.contains(producer))
    return true;
  producer->walk([&](linalg::IndexOp index) { loops.insert(index.getDim()); });
  bool good = true;
  visitInputs(producer, [&](Value input, OpOperand *) { good &= collectProducers(op, input, producers, loops); });
  producers.insert(producer);
  return good;
}

Value getUnwidened(Value factor) {
  Operation *extend = factor.getDefiningOp();
  return isa_and_present<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(extend) ? extend->getOperand(0) : factor;
}

std::optional<ProductShape> ProductShape::match(func::FuncOp function, ArrayRef<int64_t> tile, StringRef &reason) {
  ProductShape shape;
  ProductMatcher matcher(shape, reason);
  if (!matcher.findSum(function) || !matcher.classifyLoops(tile))
    return std::nullopt;
  return shape;
}

} // namespace vx
