// The schedule config of a fusion region on the CPU.
#include "CPUTargetImpl.h"
#include "vx/Analysis/LowBitWeights.h"
#include "vx/Analysis/PlannedSize.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace vx::cpu {

namespace {

/// Scalar operations of one workgroup: enough to hide what a task costs (about a microsecond), few enough that a small
/// model still has work for each thread.
constexpr int64_t workgroupOperations = 32768;

/// The product of the first `rank` dimensions.
int64_t plannedElements(const SymbolRanges &ranges, RankedTensorType type, int64_t rank) {
  int64_t elements = 1;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t size = getPlannedSize(ranges, type, d);
    if (elements > std::numeric_limits<int64_t>::max() / size)
      return std::numeric_limits<int64_t>::max();
    elements *= size;
  }
  return elements;
}

/// Tiles of a matrix product. Columns are cut at multiples of every variant's panel, rows at multiples of the rows that
/// registers hold.
StrategyAttrInterface cutContraction(const SymbolRanges &ranges, ContractOp op, RankedTensorType result) {
  constexpr int64_t rowTile = 132, columnTile = 192, leastWorkgroups = 4, guessedRows = 128, guessedBatch = 16;
  constexpr double leastOperations = 4e6; // of a workgroup
  int64_t rank = result.getRank();
  auto rhs = llvm::cast<RankedTensorType>(op.getRhs().getType());
  // Rows are counted along several dimensions where the last ones are known to be short: whole ones, behind a cut one.
  int64_t row = rank - 2, inner = 1, firstRow = static_cast<int64_t>(op.getLhsBatch().size());
  while (row > firstRow && !result.isDynamicDim(row) && inner * result.getDimSize(row) <= rowTile / 4)
    inner *= std::max<int64_t>(result.getDimSize(row--), 1);
  int64_t guess = isProductOfSymbols(result, row) ? guessedBatch * guessedRows : guessedRows;
  int64_t outerRows = getPlannedSize(ranges, result, row, guess), rows = outerRows * inner;
  int64_t columns = getPlannedSize(ranges, result, rank - 1);
  double depth = 1;
  for (int64_t k : op.getRhsContracting())
    depth *= getPlannedSize(ranges, rhs, k);
  SmallVector<int64_t> tile(rank, 1);
  std::fill(tile.begin() + row + 1, tile.end(), 0);
  tile[row] = rowTile / inner;
  tile[rank - 1] = columnTile;
  double items = static_cast<double>(plannedElements(ranges, result, row));
  auto workgroups = [&] {
    return items *
           static_cast<double>(llvm::divideCeil(outerRows, tile[row]) * llvm::divideCeil(columns, tile[rank - 1]));
  };
  while (tile[rank - 1] > 48 && workgroups() < leastWorkgroups &&
         double(rows) * columns * depth / std::max<double>(workgroups(), 1) > leastOperations)
    tile[rank - 1] /= 2;
  return CPUProductAttr::get(op.getContext(), tile);
}

/// Tiles of a convolution whose vectors run along its filters: whole rows, so that their ends are few.
StrategyAttrInterface cutDepthwise(const SymbolRanges &ranges, ConvOp op, RankedTensorType result) {
  RankedTensorType filter = op.getFilter().getType();
  int64_t rank = result.getRank();
  int64_t ofFilter = filter.getNumElements() / std::max<int64_t>(filter.getDimSize(0), 1);
  int64_t ofRow = std::max<int64_t>(ofFilter, 1);
  for (int64_t d = 2; d < rank; ++d)
    ofRow *= getPlannedSize(ranges, result, d);
  SmallVector<int64_t> tile(rank, 0);
  tile[0] = 1;
  tile[1] = std::max<int64_t>(4 * workgroupOperations / std::max<int64_t>(ofRow, 1), 1);
  return CPUDepthwiseAttr::get(op.getContext(), tile);
}

/// Tiles of a convolution with its channels last: whole rows of the output, so that their places are one range of the
/// product's rows, and few enough channels that each thread has work.
StrategyAttrInterface cutConvolution(const SymbolRanges &ranges, ConvOp op, RankedTensorType result) {
  RankedTensorType filter = op.getFilter().getType();
  int64_t rank = result.getRank();
  constexpr int64_t places = 128, leastWorkgroups = 8, leastColumns = 64;
  int64_t groups = static_cast<int64_t>(op.getGroups());
  // Columns are cut between groups.
  int64_t unit = groups == 1 ? leastColumns : filter.getDimSize(0) / groups;
  int64_t inner = 1;
  for (int64_t d = 2; d + 1 < rank; ++d)
    inner *= getPlannedSize(ranges, result, d);
  SmallVector<int64_t> tile(rank, 0);
  tile[0] = 1;
  int64_t outer = getPlannedSize(ranges, result, 1), channels = getPlannedSize(ranges, result, rank - 1);
  // Tiles of equal height, so that none is left with a row or two.
  int64_t rows = llvm::divideCeil(outer, llvm::divideCeil(outer, std::max<int64_t>(places / inner, 1)));
  int64_t rowTiles = llvm::divideCeil(outer, rows);
  if (rows < outer || result.isDynamicDim(1)) {
    tile[1] = rows;
  } else {
    // Small images share the filter that their tile reads.
    int64_t samples = std::max<int64_t>(getPlannedSize(ranges, result, 0), 1);
    tile[0] = std::clamp<int64_t>(places / std::max<int64_t>(outer * inner, 1), 1, samples);
    rowTiles = llvm::divideCeil(samples, tile[0]);
  }
  int64_t columns = channels;
  while (columns > std::max(leastColumns, unit) && rowTiles * llvm::divideCeil(channels, columns) < leastWorkgroups)
    columns = llvm::alignTo(llvm::divideCeil(columns, 2), unit);
  if (columns < channels)
    tile[rank - 1] = columns;
  return CPUProductAttr::get(op.getContext(), tile);
}

/// Tiles of a filter's gradient: some of the places of the kernel and of the channels by filters, as many as repay the
/// packing of both operands, while each thread has work.
StrategyAttrInterface cutConvFilter(const SymbolRanges &ranges, ConvFilterOp op, RankedTensorType result) {
  constexpr int64_t mostRows = 192, rowUnit = 48, columnUnit = 48, leastWorkgroups = 8;
  int64_t rank = result.getRank();
  SmallVector<int64_t> tile(rank, 1);
  int64_t channels = getPlannedSize(ranges, result, rank - 2), filters = getPlannedSize(ranges, result, rank - 1);
  auto even = [](int64_t size, int64_t most, int64_t unit) {
    return llvm::alignTo(llvm::divideCeil(size, llvm::divideCeil(size, most)), unit);
  };
  int64_t rows = std::max<int64_t>(channels, 1), row = rank - 2;
  while (row > 0 && rows * getPlannedSize(ranges, result, row - 1) <= mostRows && !result.isDynamicDim(row))
    rows *= getPlannedSize(ranges, result, --row);
  std::fill(tile.begin() + row + 1, tile.end(), 0);
  tile[row] = row == rank - 2 && channels > mostRows ? even(channels, mostRows, rowUnit) : 0;
  tile[rank - 1] = filters > mostRows ? even(filters, mostRows, columnUnit) : 0;
  auto count = [&](int64_t dim) {
    int64_t size = std::max<int64_t>(getPlannedSize(ranges, result, dim), 1);
    return tile[dim] == 0 ? 1 : llvm::divideCeil(size, tile[dim]);
  };
  auto workgroups = [&] {
    int64_t product = 1;
    for (int64_t d = 0; d < rank; ++d)
      product *= count(d);
    return product;
  };
  while (workgroups() < leastWorkgroups) {
    int64_t columns = tile[rank - 1] ? tile[rank - 1] : filters;
    if (columns <= columnUnit)
      break;
    tile[rank - 1] = llvm::alignTo(llvm::divideCeil(columns, 2), columnUnit);
    if (tile[rank - 1] >= columns)
      break;
  }
  return CPUProductAttr::get(op.getContext(), tile);
}

/// The tile of a product of a family for CPUs.
StrategyAttrInterface cutProduct(const SymbolRanges &ranges, Operation *product, ProductFamily family,
                                 RankedTensorType result) {
  if (family == ProductFamily::cpu_depthwise)
    return cutDepthwise(ranges, llvm::cast<ConvOp>(product), result);
  return llvm::TypeSwitch<Operation *, StrategyAttrInterface>(product)
      .Case([&](ContractOp op) { return cutContraction(ranges, op, result); })
      .Case([&](ConvOp op) { return cutConvolution(ranges, op, result); })
      .Case([&](ConvFilterOp op) { return cutConvFilter(ranges, op, result); });
}

/// Tiles of attention: one head and as many queries as repay the packing of its keys, while each thread has work.
StrategyAttrInterface chooseAttention(const SymbolRanges &ranges, AttentionOp op, RankedTensorType result) {
  constexpr int64_t mostQueries = 128, leastQueries = 32, leastWorkgroups = 8;
  constexpr int64_t mostElements = 128 * 128; // of queries and results
  ArrayRef<int64_t> dims = op.getResultDims();
  auto sizeOf = [&](AttentionOp::Role role) { return getPlannedSize(ranges, result, dims[role]); };
  int64_t depths =
      sizeOf(AttentionOp::Depth) +
      std::max<int64_t>(getPlannedSize(ranges, op.getQuery().getType(), op.getQueryDims()[AttentionOp::Depth]), 1);
  int64_t outer = sizeOf(AttentionOp::Batch) * sizeOf(AttentionOp::Heads), length = sizeOf(AttentionOp::Length);
  int64_t queries = mostQueries;
  while (queries > leastQueries &&
         (queries * depths > mostElements || outer * llvm::divideCeil(length, queries) < leastWorkgroups))
    queries /= 2;
  SmallVector<int64_t> tile(4, 0);
  tile[dims[AttentionOp::Batch]] = tile[dims[AttentionOp::Heads]] = 1;
  // A few queries read each key once: heads that share keys read them in sequence.
  constexpr int64_t fewQueries = 4, mostShared = 16;
  int64_t ofKeys = getPlannedSize(ranges, op.getKey().getType(), op.getKeyDims()[AttentionOp::Heads]);
  int64_t heads = sizeOf(AttentionOp::Heads), sharing = heads / std::max<int64_t>(ofKeys, 1);
  if (!result.isDynamicDim(dims[AttentionOp::Length]) && length <= fewQueries && sharing <= mostShared &&
      heads == sharing * ofKeys)
    tile[dims[AttentionOp::Heads]] = std::max<int64_t>(sharing, 1);
  tile[dims[AttentionOp::Length]] = queries;
  return CPUFlashAttr::get(op.getContext(), tile);
}

/// Tiles of about the operations of one workgroup, over the dimensions from `firstDim` on: the innermost stay whole
/// while they fit; the one that does not is cut, and all outer ones go one by one. The last dimension has at least
/// `leastLast` places in a tile.
SmallVector<int64_t> cutIntoTiles(const SymbolRanges &ranges, RankedTensorType type, int64_t firstDim,
                                  int64_t perElement, std::optional<int64_t> column = std::nullopt,
                                  int64_t leastLast = 1) {
  int64_t rank = type.getRank(), budget = std::max<int64_t>(workgroupOperations / perElement, 1);
  SmallVector<int64_t> tile(rank, 0);
  if (column) {
    // What is read along `column` is read by whole lines of the cache.
    constexpr int64_t line = 16;
    tile[*column] = line;
    budget = std::max<int64_t>(budget / std::min(line, getPlannedSize(ranges, type, *column)), 1);
  }
  for (int64_t d = rank - 1; d >= firstDim; --d) {
    if (column == d)
      continue;
    int64_t size = getPlannedSize(ranges, type, d);
    if (size <= budget && !type.isDynamicDim(d)) {
      budget /= size;
      continue;
    }
    // A multiple of the widest vector keeps full vectors full.
    tile[d] = budget >= 16 && d == rank - 1 ? budget / 16 * 16 : budget;
    if (d == rank - 1)
      tile[d] = std::max(tile[d], leastLast);
    budget = 1;
  }
  return tile;
}

/// As above, where rows along `axes` stay whole: something of a whole row is needed for each of its elements.
SmallVector<int64_t> cutBesideRows(const SymbolRanges &ranges, RankedTensorType type, ArrayRef<int64_t> axes,
                                   int64_t perElement) {
  SmallVector<int64_t> tile(type.getRank(), 0);
  int64_t budget = std::max<int64_t>(workgroupOperations / perElement, 1);
  for (int64_t d : axes)
    budget = std::max<int64_t>(budget / std::max<int64_t>(getPlannedSize(ranges, type, d), 1), 1);
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    if (llvm::is_contained(axes, d))
      continue;
    int64_t size = getPlannedSize(ranges, type, d);
    if (size <= budget && !type.isDynamicDim(d)) {
      budget /= std::max<int64_t>(size, 1);
      continue;
    }
    // A multiple of the widest vector keeps full vectors full.
    constexpr int64_t widest = 16;
    tile[d] = d == type.getRank() - 1 ? llvm::alignTo(budget, widest) : budget;
    budget = 1;
  }
  return tile;
}

/// One worker goes along the dimensions whose order counts.
StrategyAttrInterface chooseUpdate(const SymbolRanges &ranges, UpdateOpInterface update) {
  RankedTensorType updates = update.getUpdates().getType();
  int64_t ordered = update.getNumOrderedDims(), perElement = 2;
  for (int64_t d = 0; d < ordered && perElement < workgroupOperations; ++d)
    perElement *= std::min(getPlannedSize(ranges, updates, d), workgroupOperations);
  return LoopsAttr::get(update.getContext(), cutIntoTiles(ranges, updates, ordered, perElement), /*threads=*/1);
}

/// The dimension of the result along which what a transposition reads lies in memory, where that is not the last one.
std::optional<int64_t> findColumn(Block &body, RankedTensorType result) {
  for (auto transpose : body.getOps<TransposeOp>()) {
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    auto own = llvm::cast<RankedTensorType>(transpose.getResult().getType());
    if (own.getShape() != result.getShape() || permutation.empty())
      continue;
    const auto *last = llvm::find(permutation, static_cast<int64_t>(permutation.size()) - 1);
    if (last + 1 != permutation.end())
      return last - permutation.begin();
  }
  return std::nullopt;
}

} // namespace

bool isDepthwise(ConvOp conv) {
  constexpr int64_t mostFilters = 8;
  RankedTensorType filter = conv.getFilter().getType();
  int64_t groups = static_cast<int64_t>(conv.getGroups());
  if (groups == 1 || !filter.hasStaticShape() || filter.getDimSize(0) == 0)
    return false;
  int64_t filters = filter.getDimSize(0) / groups, channels = filter.getDimSize(1);
  if (filters <= mostFilters && llvm::isPowerOf2_64(filters) && channels >= 1 && channels <= 2 * filters)
    return true;
  // With another number of filters a vector has filters of several groups, and each lane looks its channel up. A
  // product of each group would leave lanes empty.
  constexpr int64_t lanes = 16;
  return channels == 1 && filters > 1 && filters < 2 * lanes && filters % lanes != 0 &&
         getElementTypeOrSelf(conv.getInput().getType()).isF32();
}

bool hasByteFactors(Operation *product) {
  auto isBytes = [](Value factor) { return getElementTypeOrSelf(factor.getType()).isInteger(8); };
  return llvm::isa<ContractOp, ConvOp>(product) && llvm::all_of(product->getOperands(), isBytes) &&
         getElementTypeOrSelf(product->getResult(0).getType()).isInteger(32);
}

bool multipliesBytes(Operation *product) {
  auto conv = llvm::dyn_cast<ConvOp>(product);
  return hasByteFactors(product) && (!conv || (conv.getChannelsLast() && !isDepthwise(conv)));
}

bool hasKernelFor(AttentionOp op) {
  constexpr int64_t mostDepth = 256; // the stack holds blocks of whole rows
  for (DimAttr size : {op.getQuerySizes()[AttentionOp::Depth], op.getValueSizes()[AttentionOp::Depth]}) {
    std::optional<int64_t> depth = size ? size.asConstant() : std::nullopt;
    if (!depth || *depth < 1 || *depth > mostDepth)
      return false;
  }
  return true;
}

StrategyAttrInterface chooseStrategy(FusionOp region) {
  MLIRContext *context = region.getContext();
  Block &body = region.getBody().front();
  RankedTensorType result = getVisitedType(body);
  Operation *anchor = region.getAnchor();
  const SymbolRanges ranges(region->getParentOfType<ModuleOp>());
  int64_t operandElements = 1;
  region.getBody().walk([&](Operation *op) {
    // An op that reads far more than it writes (a contraction, a reduction) does that much work for each result. What
    // takes elements out of a table does not.
    if (op->hasTrait<vx::OpTrait::Moves>())
      return;
    for (Type type : op->getOperandTypes())
      if (auto tensor = llvm::dyn_cast<RankedTensorType>(type))
        operandElements = std::max(operandElements, plannedElements(ranges, tensor, tensor.getRank()));
  });
  if (anchor && anchor->hasTrait<vx::OpTrait::Serial>())
    return SerialAttr::get(context);
  if (UpdateOpInterface update = getUpdate(body, 0))
    return chooseUpdate(ranges, update);

  if (llvm::isa_and_nonnull<MergeRunsOp>(anchor))
    return LoopsAttr::get(context, cutIntoTiles(ranges, result, /*firstDim=*/0, /*perElement=*/8), /*threads=*/1);
  if (llvm::isa_and_nonnull<PagedAttentionOp>(anchor))
    return LoopsAttr::get(context, {1, 1, 0}, /*threads=*/1);
  if (llvm::isa_and_nonnull<SelectBoxesOp>(anchor))
    return CPUSortAttr::get(context, {1, 1, 0});
  if (llvm::isa_and_nonnull<CumulativeSumOp>(anchor)) {
    // Lines are whole; of neighbours as many as are vectors in a few lines of the cache.
    constexpr int64_t most = 256;
    int64_t length = std::max<int64_t>(getPlannedSize(ranges, result, 1), 1);
    int64_t inner = getPlannedSize(ranges, result, 2), columns = std::min(inner, most);
    int64_t outer = std::max<int64_t>(workgroupOperations / std::max<int64_t>(length * columns, 1), 1);
    return LoopsAttr::get(context, {outer, 0, inner > most || result.isDynamicDim(2) ? most : 0}, /*threads=*/1);
  }
  if (auto top = llvm::dyn_cast_or_null<TopPlacesOp>(anchor)) {
    int64_t ofRow = std::max<int64_t>(4 * getPlannedSize(ranges, top.getKeys().getType(), 1), 1);
    return CPUSortAttr::get(context, {std::max<int64_t>(workgroupOperations / ofRow, 1), 0});
  }

  // The strategies of anchors cut the result's own dimensions, not packed bytes.
  bool isCut = !isPacked(getElementTypeOrSelf(region.getResult(0).getType()));
  if (auto attention = llvm::dyn_cast_or_null<AttentionOp>(anchor); attention && isCut)
    return chooseAttention(ranges, attention, result);

  if (anchor && anchor->hasTrait<vx::OpTrait::Product>())
    if (ProductAttr product = getProduct(anchor); product.getFamily() != ProductFamily::loops)
      return cutProduct(ranges, anchor, product.getFamily(), result);

  int64_t elements = std::max<int64_t>(plannedElements(ranges, result, result.getRank()), 1);
  int64_t perElement = std::max<int64_t>(body.getOperations().size(), operandElements / elements);
  if (auto rows = llvm::dyn_cast_or_null<RowsOpInterface>(anchor); rows && isCut && rows.keepsRows()) {
    bool movesRows = llvm::any_of(body, [](Operation &op) { return llvm::isa<TransposeOp>(op); });
    if (!movesRows && llvm::cast<RankedTensorType>(anchor->getResult(0).getType()).getShape() == result.getShape())
      return LoopsAttr::get(context, cutBesideRows(ranges, result, rows.getRowAxes(), perElement), /*threads=*/1);
  }
  // Sums whose neighbours are neighbours in memory, too, fill a vector.
  constexpr int64_t widest = 16;
  auto reduce = llvm::dyn_cast_or_null<ReduceOp>(anchor);
  bool sumsColumns = reduce && !llvm::is_contained(reduce.getAxes(), typeOf(reduce.getInput()).getRank() - 1);
  SmallVector<int64_t> tile =
      cutIntoTiles(ranges, result, /*firstDim=*/0, perElement, findColumn(body, result), sumsColumns ? widest : 1);
  return LoopsAttr::get(context, tile, /*threads=*/1);
}

} // namespace vx::cpu
