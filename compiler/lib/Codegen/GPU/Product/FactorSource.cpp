#include "FactorSource.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace vx {

namespace {

/// The kernel's buffer that `tensor` is; null where it is none.
Value getKernelBuffer(Value tensor) {
  auto source = tensor.getDefiningOp<bufferization::ToTensorOp>();
  return source && source.getBuffer().getDefiningOp<vxk::BufferOp>() ? source.getBuffer() : Value();
}

/// The buffer that a tensor is, and how the product's loops index it; `map` is how they index the tensor.
Value findBuffer(Value tensor, AffineMap &map) {
  if (auto generic = tensor.getDefiningOp<linalg::GenericOp>()) {
    auto unpacking = generic->getAttrOfType<vxk::UnpackingAttr>(vxk::kUnpackingAttr);
    auto read = unpacking ? generic.getBody()->getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>()
                          : tensor::ExtractOp();
    auto type = read ? cast<RankedTensorType>(read.getTensor().getType()) : RankedTensorType();
    // Tiles of one element: another order of the dimensions.
    if (!type || type.getShape().back() != 1)
      return {};
    SmallVector<AffineExpr> results;
    for (int64_t from : unpacking.getPermutation())
      results.push_back(map.getResult(from));
    map = AffineMap::get(map.getNumDims(), 0, results, map.getContext());
    tensor = read.getTensor();
  }
  return getKernelBuffer(tensor);
}

} // namespace

FactorSource FactorSource::find(WorkgroupProduct &emitter, int which, bool isStored) {
  linalg::GenericOp op = emitter.shape.op;
  const ProductShape::Factor &factor = emitter.shape.factors[which];
  Value value = isStored ? getUnwidened(factor.value) : factor.value;
  FactorSource source;
  source.loops = factor.loops;
  source.dims.assign(emitter.shape.dimsOf(which).begin(), emitter.shape.dimsOf(which).end());
  SetVector<Operation *> producers;
  llvm::SmallSetVector<unsigned, 8> ignored;
  collectProducers(op, value, producers, ignored);

  // An elementwise op over the factor's loops.
  OpBuilder &builder = emitter.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  SmallVector<AffineExpr> dims(op.getNumLoops(), builder.getAffineConstantExpr(0));
  for (auto [place, loop] : llvm::enumerate(source.loops))
    dims[loop] = builder.getAffineDimExpr(place);
  unsigned rank = source.loops.size();
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs(op.getDpsInputs());
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input), inMemory = map;
    Value argument = op.getMatchingBlockArgument(input);
    bool isUsed = value == argument || llvm::any_of(producers, [&](Operation *user) {
                    return llvm::is_contained(user->getOperands(), argument);
                  });
    if (value == argument)
      if (Value buffer = findBuffer(input->get(), inMemory)) {
        source.buffer = buffer;
        source.bufferMap = inMemory;
      }
    if (isUsed && inMemory.getNumResults() != 0)
      if (auto last = dyn_cast<AffineDimExpr>(inMemory.getResults().back()))
        source.isContiguousAlongSum = llvm::is_contained(emitter.shape.sumLoops, last.getPosition());
    maps.push_back(map.replaceDimsAndSymbols(dims, {}, rank, 0));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  // No op asks for the size of this tensor: its elements are computed where they are read.
  SmallVector<OpFoldResult> sizes(rank, builder.getIndexAttr(0));
  Value empty = tensor::EmptyOp::create(builder, emitter.loc, sizes, value.getType());
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(builder, emitter.loc, empty.getType(), inputs, empty, maps, iterators,
                                           [&](OpBuilder &inner, Location at, ValueRange arguments) {
                                             IRMapping mapping;
                                             mapping.map(op.getBody()->getArguments(), arguments);
                                             for (Operation &producer : *op.getBody())
                                               if (producers.contains(&producer))
                                                 inner.clone(producer, mapping);
                                             linalg::YieldOp::create(inner, at, mapping.lookup(value));
                                           });
  generic.walk([&](linalg::IndexOp position) {
    position.setDim(llvm::find(source.loops, position.getDim()) - source.loops.begin());
  });
  source.tensor = generic.getResult(0);
  if (!isa<BlockArgument>(value))
    source.findWindows(emitter.shape, producers);
  return source;
}

void FactorSource::findWindows(const ProductShape &shape, const SetVector<Operation *> &producers) {
  auto window = shape.op->getAttrOfType<vxk::WindowAttr>(vxk::kWindowAttr);
  auto filter = cast<RankedTensorType>(linalg::GenericOp(shape.op).getDpsInputs().front().getType());
  if (!window || !window.getChannelsLast() || (window.getGroups() != 1 && (!shape.groupDim || filter.isDynamicDim(1))))
    return;
  if (shape.groupDim)
    channelsOfGroup = filter.getDimSize(1);
  isContiguousAlongSum = true;
  SmallVector<tensor::ExtractOp> reads;
  for (Operation *producer : producers)
    producer->walk([&](tensor::ExtractOp read) { reads.push_back(read); });
  buffer = reads.size() == 1 ? getKernelBuffer(reads[0].getTensor()) : Value();
  if (!buffer)
    return;
  for (auto [stride, dilation, low, high] :
       llvm::zip(window.getStrides(), window.getDilations(), window.getPadsLow(), window.getPadsHigh()))
    windows.push_back({stride, dilation, low, high});
}

bool FactorSource::isAligned(const WorkgroupProduct &emitter, int64_t wide, bool alongSum) const {
  const ProductShape &shape = emitter.shape;
  if (!buffer || (windows.empty() && bufferMap.getNumResults() == 0))
    return false;
  auto type = cast<MemRefType>(buffer.getType());
  if (!windows.empty())
    return !type.isDynamicDim(type.getRank() - 1) && type.getDimSize(type.getRank() - 1) % wide == 0 &&
           channelsOfGroup % wide == 0;
  auto loopOf = [&](int64_t result) -> std::optional<unsigned> {
    auto dim = dyn_cast<AffineDimExpr>(bufferMap.getResult(result));
    return dim ? std::optional(dim.getPosition()) : std::nullopt;
  };
  for (unsigned result = 0; result < bufferMap.getNumResults(); ++result)
    if (!loopOf(result))
      return false;
  int64_t last = static_cast<int64_t>(bufferMap.getNumResults()) - 1;
  if (!alongSum)
    return emitter.areInOneRow(dims, wide) && loopOf(last) == shape.resultLoops[dims.back()] &&
           !type.isDynamicDim(last) && type.getDimSize(last) % wide == 0;
  // Loops of the sum that the buffer has in the same order are one run of memory.
  int64_t run = 1;
  for (unsigned loop : llvm::reverse(shape.sumLoops)) {
    if (last < 0 || loopOf(last) != loop || type.isDynamicDim(last))
      break;
    run *= type.getDimSize(last--);
  }
  return run % wide == 0 && run != 0;
}

} // namespace vx
