#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

using Complaint = function_ref<InFlightDiagnostic()>;

DimAttr countBoxes(MLIRContext *context, ArrayRef<DimAttr> sizes, ArrayRef<int64_t> tile) {
  DimAttr count = DimAttr::constant(context, 1);
  for (auto [size, part] : llvm::zip(sizes, tile)) {
    if (part == 0)
      continue;
    if (!size)
      return {};
    count = count * DimAttr::ceilDiv(size, DimAttr::constant(context, part));
  }
  return count;
}

DimAttr StrategyAttrInterface::getGrid(unsigned result, ArrayRef<DimAttr> sizes) const {
  return cast_or_null<DimAttr>(getGridExpression(result, sizes));
}

// A strategy that cannot be carried out must not reach code that divides by a size of it.

static LogicalResult verifyTile(Complaint emitError, ArrayRef<int64_t> tile, int64_t least) {
  for (auto [d, size] : llvm::enumerate(tile))
    if (size < least)
      return emitError() << "expects tile sizes of at least " << least << ", got " << size << " for dimension " << d;
  return success();
}

static LogicalResult verifyCount(Complaint emitError, StringRef name, int64_t count, int64_t least = 1) {
  if (count >= least)
    return success();
  return emitError() << "expects '" << name << "' of at least " << least << ", got " << count;
}

LogicalResult LoopsAttr::verify(Complaint emitError, ArrayRef<int64_t> tile, int64_t threads) {
  return success(succeeded(verifyTile(emitError, tile, 0)) && succeeded(verifyCount(emitError, "threads", threads)));
}

LogicalResult ElementwiseAttr::verify(Complaint emitError, ArrayRef<int64_t> tile, int64_t lanes, int64_t threads) {
  if (failed(verifyTile(emitError, tile, 1)) || failed(verifyCount(emitError, "lanes", lanes)) ||
      failed(verifyCount(emitError, "threads", threads))) // C1
    return failure();
  if (!tile.empty() && tile.back() % lanes != 0) // C2
    return emitError() << "expects a last tile size that is a multiple of " << lanes << " lanes, got " << tile.back();
  return success();
}

LogicalResult ThreadRowsAttr::verify(Complaint emitError, ArrayRef<int64_t> tile, int64_t threads) {
  return success(succeeded(verifyTile(emitError, tile, 0)) && succeeded(verifyCount(emitError, "threads", threads)));
}

static SmallVector<unsigned> getDimsOfSeveral(ArrayRef<int64_t> tile) {
  SmallVector<unsigned> dims;
  for (auto [d, size] : llvm::enumerate(tile))
    if (size > 1)
      dims.push_back(d);
  return dims;
}

std::optional<unsigned> RowsAttr::getTileDim() const {
  SmallVector<unsigned> dims = getDimsOfSeveral(getTile());
  return dims.empty() ? std::nullopt : std::optional<unsigned>(dims.front());
}

LogicalResult RowsAttr::verify(Complaint emitError, ArrayRef<int64_t> tile, RowSharing sharing, int64_t runs,
                               int64_t lanes, int64_t threads) {
  constexpr int64_t kWidestSubgroup = 128;
  if (failed(verifyTile(emitError, tile, 0)) || failed(verifyCount(emitError, "runs", runs)) ||
      failed(verifyCount(emitError, "lanes", lanes))) // C1
    return failure();
  if (threads < 1 || threads % kWidestSubgroup != 0) // C2
    return emitError() << "expects a multiple of " << kWidestSubgroup << " threads, got " << threads;
  SmallVector<unsigned> dims = getDimsOfSeveral(tile);
  if (dims.size() > 1) // C3
    return emitError() << "expects at most one dimension with several rows, got " << tile[dims[0]] << " for dimension "
                       << dims[0] << " and " << tile[dims[1]] << " for dimension " << dims[1];
  int64_t rows = dims.empty() ? 1 : tile[dims[0]];
  if (sharing == RowSharing::workgroup && rows > 1) // C3
    return emitError() << "expects one row for each workgroup that shares it, got " << rows;
  if (sharing == RowSharing::subgroup && rows == 1) // C3
    return emitError() << "expects several rows for each workgroup whose subgroups share them, got 1";
  if (sharing == RowSharing::columns && threads % rows != 0) // C4
    return emitError() << "expects columns that divide the " << threads << " threads, got " << rows;
  return success();
}

/// The elements of a tile; nothing where 64 bits do not hold their number.
static std::optional<int64_t> countElements(ArrayRef<int64_t> tile) {
  int64_t count = 1;
  for (int64_t size : tile)
    if (llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

int64_t TiledProductAttr::getThreads() const {
  return *countElements(getTile()) / (getBlockRows() * getBlockColumns()) * getSlices();
}

LogicalResult TiledProductAttr::verify(Complaint emitError, ArrayRef<int64_t> tile, int64_t blockRows,
                                       int64_t blockColumns, int64_t step, int64_t slices) {
  constexpr int64_t kMostThreads = 1024, kMostBlock = 128;
  if (failed(verifyTile(emitError, tile, 1)) || failed(verifyCount(emitError, "step", step)) ||
      failed(verifyCount(emitError, "slices", slices))) // C1
    return failure();
  for (int64_t block : {blockRows, blockColumns})
    if (block < 1 || block > kMostBlock || (block > 2 && block % 4 != 0)) // C2
      return emitError() << "expects blocks of 1, 2 or a multiple of 4 rows and columns up to " << kMostBlock
                         << ", got " << blockRows << " x " << blockColumns;
  std::optional<int64_t> elements = countElements(tile);
  if (elements && *elements % (blockRows * blockColumns) != 0) // C3
    return emitError() << "expects a tile of whole blocks: a multiple of " << blockRows << " x " << blockColumns
                       << " elements, got " << *elements;
  if (!elements || slices > kMostThreads || *elements / (blockRows * blockColumns) > kMostThreads / slices) // C4
    return emitError() << "expects at most " << kMostThreads << " blocks and slices, got "
                       << (elements ? std::to_string(*elements / (blockRows * blockColumns)) : "too many") << " x "
                       << slices;
  return success();
}

LogicalResult MmaAttr::verify(Complaint emitError, ArrayRef<int64_t> tile, int64_t step, int64_t stages,
                              int64_t threads) {
  return success(succeeded(verifyTile(emitError, tile, 1)) && succeeded(verifyCount(emitError, "step", step)) &&
                 succeeded(verifyCount(emitError, "stages", stages, /*least=*/2)) && // C2
                 succeeded(verifyCount(emitError, "threads", threads)));
}

LogicalResult FlashAttr::verify(Complaint emitError, ArrayRef<int64_t> tile, int64_t keys, int64_t threads) {
  return success(succeeded(verifyTile(emitError, tile, 0)) && succeeded(verifyCount(emitError, "keys", keys)) &&
                 succeeded(verifyCount(emitError, "threads", threads)));
}

LogicalResult SortAttr::verify(Complaint emitError, ArrayRef<int64_t> tile, int64_t threads) {
  for (auto [d, size] : llvm::enumerate(tile))
    if (int64_t want = d + 1 < tile.size(); size != want) // C1
      return emitError() << "expects a workgroup for each row: a tile size of " << want << " for dimension " << d
                         << ", got " << size;
  if (threads < 1 || !llvm::isPowerOf2_64(threads)) // C2
    return emitError() << "expects a power of two of threads, got " << threads;
  return success();
}

LogicalResult CPUSortAttr::verify(Complaint emitError, ArrayRef<int64_t> tile) {
  return verifyTile(emitError, tile, 0);
}

LogicalResult CPUProductAttr::verify(Complaint emitError, ArrayRef<int64_t> tile) {
  return verifyTile(emitError, tile, 0);
}
LogicalResult CPUDepthwiseAttr::verify(Complaint emitError, ArrayRef<int64_t> tile) {
  return verifyTile(emitError, tile, 0);
}
LogicalResult CPUFlashAttr::verify(Complaint emitError, ArrayRef<int64_t> tile) {
  return verifyTile(emitError, tile, 0);
}

ProductAttr getProduct(Operation *op) { return op->getAttrOfType<ProductAttr>(kProductAttr); }

LogicalResult ProductAttr::verify(Complaint emitError, ProductFamily family, LoopsReason reason, bool, bool,
                                  int64_t neighbours, int64_t prologue) {
  if (failed(verifyCount(emitError, "neighbours", neighbours))) // C1
    return failure();
  if ((family == ProductFamily::loops) != (reason != LoopsReason::none)) // C2
    return emitError() << "expects a reason for a product in plain loops and for no other one, got family '"
                       << stringifyProductFamily(family) << "' with reason '" << stringifyLoopsReason(reason) << "'";
  if (prologue < -1 || prologue > 1) // C3
    return emitError() << "expects 0 or 1 as the operand of 'prologue', or -1 for none, got " << prologue;
  return success();
}

} // namespace vx
