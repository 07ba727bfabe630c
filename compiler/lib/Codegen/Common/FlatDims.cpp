#include "FlatDims.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {
namespace {

/// The results' dimension that a dimension of a tensor is; nothing where it is none of them.
using Dims = SmallVector<std::optional<unsigned>>;

/// Finds the least first dimension from which on all that is read is flat.
class FlatDims {
public:
  explicit FlatDims(unsigned rank) : rank(rank) {}

  unsigned first = 0;

  void visit(Value tensor, const Dims &dims) {
    Operation *op = tensor.getDefiningOp();
    if (auto cast = dyn_cast_or_null<tensor::CastOp>(op))
      return visit(cast.getSource(), dims);
    if (isa_and_nonnull<linalg::FillOp, tensor::EmptyOp>(op))
      return;
    if (isa_and_nonnull<bufferization::ToTensorOp>(op))
      return readInOrder(dims);
    auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
    if (!generic || generic.getNumReductionLoops() != 0 || !isPointwise(generic))
      return readOutside(dims); // computed element by element, or once for all of these dimensions
    Dims loops(generic.getNumLoops());
    AffineMap out = generic.getMatchingIndexingMap(generic.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber()));
    for (auto [expr, dim] : llvm::zip(out.getResults(), dims))
      loops[cast<AffineDimExpr>(expr).getPosition()] = dim;
    for (OpOperand *input : generic.getDpsInputOperands()) {
      Dims read;
      for (AffineExpr expr : generic.getMatchingIndexingMap(input).getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        if (!dim && !isa<AffineConstantExpr>(expr))
          return require(rank);
        read.push_back(dim ? loops[dim.getPosition()] : std::nullopt);
      }
      visit(input->get(), read);
    }
  }

private:
  void require(unsigned least) { first = std::max(first, least); }

  /// True when an iteration reads its operands and nothing else: no position, no other tensor.
  static bool isPointwise(linalg::GenericOp op) {
    return llvm::none_of(op.getBody()->without_terminator(), [](Operation &inner) {
      return inner.getNumRegions() != 0 || isa<linalg::IndexOp, tensor::ExtractOp>(inner) ||
             isa_and_present<vxk::VXKDialect>(inner.getDialect());
    });
  }

  void readOutside(const Dims &dims) {
    for (std::optional<unsigned> dim : dims)
      if (dim)
        require(*dim + 1);
  }

  /// Of a tensor in memory: the last dimensions in order, or none of them.
  void readInOrder(const Dims &dims) {
    unsigned expected = rank;
    size_t ordered = dims.size();
    while (ordered > 0 && dims[ordered - 1] && *dims[ordered - 1] + 1 == expected) {
      --ordered;
      --expected;
    }
    for (std::optional<unsigned> dim : ArrayRef(dims).take_front(ordered))
      if (dim)
        require(*dim + 1);
    // Without the dimension before those in order: it belongs to none of the flat ones, or all are absent.
    if (expected > 0 && !llvm::is_contained(dims, std::optional<unsigned>(expected - 1)) && expected != rank)
      require(expected);
    if (expected == rank)
      readOutside(dims);
  }

  unsigned rank;
};

} // namespace

unsigned findFlatDims(ArrayRef<bufferization::MaterializeInDestinationOp> results, ArrayRef<int64_t> tiles) {
  bufferization::MaterializeInDestinationOp front = results.front();
  auto type = cast<RankedTensorType>(Value(front.getSource()).getType());
  const unsigned rank = type.getRank();
  FlatDims flat(rank);
  Dims own;
  for (unsigned d = 0; d < rank; ++d) {
    own.push_back(d);
    if ((d < tiles.size() && tiles[d] > 0) || type.isDynamicDim(d))
      flat.first = d;
  }
  for (bufferization::MaterializeInDestinationOp result : results) {
    if (result.getDest().getDefiningOp<vxk::PlacesOp>())
      return rank;
    flat.visit(result.getSource(), own);
  }
  return flat.first + 1 < rank ? flat.first : rank;
}

} // namespace vx
