// Weights in the order in which kernels read them.

#include "vx/Analysis/LowBitWeights.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

struct PackWeightsPass : impl::PackWeightsPassBase<PackWeightsPass> {
  using PackWeightsPassBase::PackWeightsPassBase;
  void runOnOperation() override {
    const DerivableVariables variables(getOperation());
    getOperation().walk([&](ContractOp op) {
      if (!isPacked(op))
        return;
      ArrayRef<int64_t> summed = op.getRhsContracting();
      int64_t column = 0;
      while (llvm::is_contained(summed, column))
        ++column;
      SmallVector<int64_t> permutation = {column};
      permutation.append(summed.begin(), summed.end());
      if (!packLowBits(op.getRhsMutable(), variables, column, permutation))
        pack(op.getRhsMutable(), column, permutation);
    });
    // Of a weight in blocks a gather picks rows in the layout of products, which read the same memory.
    getOperation().walk([&](GatherOp op) {
      int64_t rank = op.getInput().getType().getRank();
      if (tileBytes != 0 && op.getAxis() == 0 && !op.getMembers() && rank > 2)
        packLowBits(op.getInputMutable(), variables, 0, llvm::to_vector(llvm::seq<int64_t>(0, rank)));
    });
    getOperation().walk([&](ConvOp op) {
      if (!isPacked(op))
        return;
      SmallVector<int64_t> permutation = {0};
      for (int64_t d = 2; d < op.getFilter().getType().getRank(); ++d)
        permutation.push_back(d);
      permutation.push_back(1);
      if (op.getGroups() != 1 || !packLowBits(op.getFilterMutable(), variables, 0, permutation))
        pack(op.getFilterMutable(), 0, permutation, op.getGroups());
    });
  }

private:
  static bool isPacked(Operation *product) {
    ProductAttr choice = getProduct(product);
    return choice && choice.getPacked();
  }

  /// Packs the integers that the factor is computed from, so that the product decodes what it reads; false where the
  /// factor is not computed so.
  bool packLowBits(OpOperand &factor, const DerivableVariables &variables, int64_t dim, ArrayRef<int64_t> permutation) {
    std::optional<LowBitWeight> weight = LowBitWeight::find(factor.get(), variables);
    if (!weight || weight->findBlock(permutation.back()) != 0)
      return false;
    OpBuilder builder(factor.getOwner());
    GraphBuilder g(builder, factor.getOwner()->getLoc());
    Value packed = packTensor(factor, weight->getIntegers(), dim, permutation, /*groups=*/1);
    llvm::DenseMap<Value, Value> known;
    auto repeat = [&](const LowBitWeight::Repeated &numbers) -> Value {
      ArrayRef<int64_t> dims = BroadcastOp(numbers.broadcast).getDimensions();
      const auto *column = llvm::find(dims, dim);
      if (numbers.isJoined || column == dims.end())
        return numbers.value;
      Value own = packNumbers(g, factor, BroadcastOp(numbers.broadcast).getInput(), column - dims.begin(), known);
      return g.emitAs<BroadcastOp>(numbers.value.getType(), own, dims);
    };
    factor.set(weight->decode(g, packed, repeat));
    return true;
  }

  /// The numbers that are repeated along a weight, computed from what is packed as the weight's columns are: a vector
  /// of neighbours is one load. Of products and floats of few bits the factors are packed, which are smaller.
  /// `known` are those that were packed before.
  Value packNumbers(GraphBuilder &g, OpOperand &factor, Value numbers, int64_t column,
                    llvm::DenseMap<Value, Value> &known) {
    if (Value packed = known.lookup(numbers))
      return packed;
    Value packed = packNewNumbers(g, factor, numbers, column, known);
    known[numbers] = packed;
    return packed;
  }

  Value packNewNumbers(GraphBuilder &g, OpOperand &factor, Value numbers, int64_t column,
                       llvm::DenseMap<Value, Value> &known) {
    auto type = cast<RankedTensorType>(numbers.getType());
    const int64_t columns = type.getDimSize(column);
    if (columns == 1 || type.getNumElements() == columns)
      return numbers;
    auto beginsWithColumns = [&](Value value) {
      auto own = cast<RankedTensorType>(value.getType());
      return column == 0 && own.getRank() > 0 && own.getDimSize(0) == columns;
    };
    Operation *op = numbers.getDefiningOp();
    if (auto broadcast = dyn_cast_if_present<BroadcastOp>(op);
        broadcast && beginsWithColumns(broadcast.getInput()) && broadcast.getDimensions().front() == 0)
      return g.emitAs<BroadcastOp>(type, packNumbers(g, factor, broadcast.getInput(), 0, known),
                                   broadcast.getDimensions());
    if (auto product = dyn_cast_if_present<MulOp>(op); product && decodesLowBits(numbers))
      return g.emit<MulOp>(packNumbers(g, factor, product.getLhs(), column, known),
                           packNumbers(g, factor, product.getRhs(), column, known));
    SmallVector<int64_t> permutation = {column};
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (d != column)
        permutation.push_back(d);
    if (auto widening = dyn_cast_if_present<CastOp>(op); widening && decodesLowBits(numbers))
      return g.cast(packTensor(factor, widening.getInput(), column, permutation, /*groups=*/1), type.getElementType());
    return packTensor(factor, numbers, column, permutation, /*groups=*/1);
  }

  /// Packs a weight whose columns, along `dim`, belong to `groups` of equal size.
  void pack(OpOperand &operand, int64_t dim, ArrayRef<int64_t> permutation, int64_t groups = 1) {
    operand.set(packTensor(operand, operand.get(), dim, permutation, groups));
  }

  /// `tensor`, of the shape of a factor, unpacked from tiles of as many columns as vectors of the factor have.
  Value packTensor(OpOperand &factor, Value tensor, int64_t dim, ArrayRef<int64_t> permutation, int64_t groups) {
    auto type = cast<RankedTensorType>(tensor.getType()), factorType = cast<RankedTensorType>(factor.get().getType());
    ProductAttr product = getProduct(factor.getOwner());
    int64_t neighbours = product ? product.getNeighbours() : 1;
    int64_t tile = std::max<int64_t>(1, tileBytes * 8 / factorType.getElementTypeBitWidth() / neighbours);
    // Of integers of few bits a vector is a part of a line of the cache: as many vectors as a product reads at once lie
    // together.
    constexpr int64_t mostVectors = 4;
    int64_t vectors =
        neighbours == 1 && tileBytes != 0 ? factorType.getElementTypeBitWidth() / type.getElementTypeBitWidth() : 1;
    vectors = std::min(vectors, mostVectors);
    while (vectors > 1 && type.getDimSize(dim) % (tile * vectors) != 0)
      vectors /= 2;
    tile *= vectors;
    // A product's vectors begin with a group. Where some would reach into a second tile, one tile has all columns, and
    // so many more that the last vector ends inside of it.
    int64_t columns = type.getDimSize(dim), ofGroup = columns / groups;
    bool isDepthwise = ofGroup == 1 && type.getDimSize(1) == 1;
    if (groups > 1 && ofGroup % tile != 0 && !isDepthwise)
      tile = llvm::alignTo(columns, tile) + tile;
    // Used by several ops: packed once, since the copies are equal and CSE finds them.
    OpBuilder builder(factor.getOwner());
    Location loc = factor.getOwner()->getLoc();
    Value packed = PackOp::create(builder, loc, tensor, dim, tile, permutation, neighbours);
    return UnpackOp::create(builder, loc, type, packed, dim, permutation, neighbours);
  }
};

} // namespace
} // namespace vx
