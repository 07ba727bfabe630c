#include "ProductBlocking.h"

#include "BlockEmitter.h"
#include "Common/IndexFacts.h"
#include "Common/WorkgroupTile.h"

#include <numeric>

using namespace mlir;

namespace vx {

/// The most rows, columns and k of a block, for elements of 4 bytes: what the stack of a kernel may hold, and a good
/// part of a second-level cache. A packed B leaves more for the others.
struct BlockLimits {
  int64_t rows, columns, depth;
};
constexpr BlockLimits kBlockLimits = {128, 128, 128}, kPackedBlockLimits = {132, 192, 256};

/// The product of sizes, or nothing when one of them is known at run time only.
static std::optional<int64_t> multiplySizes(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(result, size, result))
      return std::nullopt;
  return result;
}

Blocking chooseBlocking(Product &product, CPUProductAttr strategy, int64_t vectorBits, int64_t registers,
                        bool hasByteDots) {
  linalg::GenericOp op = product.op;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  Blocking blocking;
  blocking.lanes = vectorBits / type.getElementTypeBitWidth();
  if (product.packedB) {
    // Vectors begin with a group, and are not to reach beyond a tile.
    int64_t columns = type.getDimSize(product.n);
    bool fitsGroups = product.group == 0 || product.group % product.tile == 0 ||
                      (!ShapedType::isDynamic(columns) && columns + blocking.lanes <= product.tile);
    if (product.tile % blocking.lanes != 0 || !fitsGroups)
      product.packedB = {};
  }
  ArrayRef<int64_t> tiles = strategy.getTile();
  auto sizeOfTile = [&](unsigned dim) {
    int64_t size = type.getDimSize(dim), tile = dim < tiles.size() ? tiles[dim] : 0;
    return tile == 0 ? size : ShapedType::isDynamic(size) ? tile : std::min(tile, size);
  };
  SmallVector<int64_t> rowSizes;
  bool areCounted = true; // the rows of a tile are known
  for (unsigned m : llvm::reverse(product.m)) {
    rowSizes.push_back(sizeOfTile(m));
    areCounted &= !type.isDynamicDim(m);
    if (m < tiles.size() && tiles[m] > 0)
      break;
  }
  std::optional<int64_t> knownRows = multiplySizes(rowSizes);
  blocking.decodesBlocks =
      product.packedB && product.isDecoded && !(areCounted && knownRows && *knownRows <= mostDecodedRows);
  // A few rows read B as often as its packing would. Rows of B are few streams then.
  constexpr int64_t mostPlainRows = 4, plainDepth = 16;
  blocking.readsRowsOfB =
      product.hasRowsInB && !product.packedB && areCounted && knownRows && *knownRows <= mostPlainRows;
  BlockLimits limits = product.packedB && !blocking.decodesBlocks ? kPackedBlockLimits : kBlockLimits;
  if (type.getElementTypeBitWidth() > 32)
    limits = {limits.rows, limits.columns / 2, limits.depth / 2};
  if (blocking.readsRowsOfB)
    limits = {limits.rows, kPackedBlockLimits.columns, plainDepth};

  // The widest register tile that the columns fill.
  int64_t columns = product.group > 0 ? product.group : sizeOfTile(product.n);
  ArrayRef<std::pair<int64_t, int64_t>> choices =
      getRegisterTiles(registers, product.neighbours > 1 && !(hasByteDots && product.isASigned != product.isBSigned));
  int64_t vectors = ShapedType::isDynamic(columns) ? choices.front().second : llvm::divideCeil(columns, blocking.lanes);
  std::tie(blocking.rows, blocking.vectors) = *llvm::find_if(choices, [&](std::pair<int64_t, int64_t> choice) {
    return choice.second == 1 || vectors % choice.second == 0 || vectors > 2 * choices.front().second;
  });

  int64_t rowCount = std::max<int64_t>(knownRows.value_or(limits.rows), 1);
  blocking.rows = std::min(blocking.rows, rowCount);
  // Blocks of whole vectors, where those of a column are stored.
  blocking.hasColumnsInA = product.hasColumnsInA && rowCount >= blocking.lanes;
  int64_t rowUnit = blocking.hasColumnsInA ? std::lcm(blocking.rows, blocking.lanes) : blocking.rows;
  blocking.rowBlock = getEvenBlock(rowCount, limits.rows, rowUnit);
  blocking.columnBlock =
      getEvenBlock(ShapedType::isDynamic(columns) ? limits.columns : columns, limits.columns, blocking.columns());

  SmallVector<int64_t> depthSizes;
  for (unsigned k : product.k) {
    auto [tensor, dimension] = shapeOfLoop(op, k);
    depthSizes.push_back(cast<ShapedType>(tensor.getType()).getDimSize(dimension));
  }
  // A row is packed in vectors of its elements, of which a short run fills a part.
  int64_t innerLength = depthSizes.back(), neighbours = product.neighbours;
  blocking.packLanes = blocking.lanes;
  while (blocking.packLanes < blocking.lanes * neighbours &&
         (ShapedType::isDynamic(innerLength) || blocking.packLanes < innerLength))
    blocking.packLanes *= 2;
  bool hasWholeSteps = !ShapedType::isDynamic(innerLength) && innerLength % neighbours == 0;
  if (!ShapedType::isDynamic(innerLength))
    depthSizes.back() = llvm::divideCeil(innerLength, neighbours);
  std::optional<int64_t> depth = multiplySizes(depthSizes);
  // Rows whose elements all fall into one set of the cache are packed all the same.
  constexpr int64_t setBytes = 4096;
  if (product.plainA && hasWholeSteps && depth && *depth > 0 &&
      *depth * type.getElementTypeBitWidth() / 8 % setBytes != 0)
    blocking.plainStride = *depth;
  blocking.depthBlock =
      blocking.plainStride > 0 && product.packedB && !blocking.decodesBlocks ? 2 * limits.depth : limits.depth;
  blocking.isOneDepthBlock = depth && *depth <= blocking.depthBlock;
  int64_t unit = blocking.lanes;
  // Blocks of whole runs, of which each is decoded with numbers of its own; of whole vectors too where few runs are.
  if (product.isDecoded && product.k.size() > 1 && depth && *depth > 0 && depthSizes.back() <= blocking.depthBlock) {
    const int64_t run = depthSizes.back(), runs = std::lcm(unit, run);
    unit = runs <= blocking.depthBlock ? runs : run;
  }
  blocking.depthBlock =
      depth ? getEvenBlock(*depth, blocking.depthBlock, unit) : llvm::alignTo(blocking.depthBlock, unit);
  return blocking;
}

} // namespace vx
