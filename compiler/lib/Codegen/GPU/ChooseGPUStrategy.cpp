// Which strategy a fusion region gets on a GPU.
//
// What a region may hold (the `fused` phase forms them so):
// - No intermediate tensor is stored by any strategy: producers are computed where an element of them is read,
// reductions
//   once for each place that the loops around know. So any region that the conversion to linalg takes is right; a
//   region whose reduction is read along a dimension that it does not reduce over (a contraction behind a softmax) is
//   right too, but computes the reduction once for each element that reads it. The fusion pass keeps one anchor for
//   each region, which avoids that.
// - `tiled_product` and `mma` (by matrix fragments) want the anchor to be a contraction or convolution and an epilogue
//   that reads its result in place; other regions with these strategies are computed by loops over the same tile.
#include "AttentionTile.h"
#include "ProductShapes.h"
#include "vx/Analysis/PlannedSize.h"
#include "vx/Analysis/TargetSpec.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace vx {
namespace {

/// The tile of a contraction's result and how threads share it.
struct Tile {
  int64_t rows = 0, columns = 0, blockRows = 0, blockColumns = 0, slices = 1, step = 8;
  int64_t threads() const { return rows / blockRows * (columns / blockColumns) * slices; }
  /// Two buffers of both factors, with gaps, and the slices' sums.
  int64_t memory(int64_t elementBytes) const {
    return elementBytes * (slices * 2 * step * (rows + columns + 8) + (slices - 1) * rows * columns);
  }
};

/// Items of a batch of unknown size, where there are many.
constexpr int64_t kGuessedBatch = 16;

/// The factors by which a leading dimension of unknown size, a batch, multiplies the work: a tile must not be bad for a
/// single item nor for many.
SmallVector<int64_t> guessBatch(const SymbolRanges &ranges, RankedTensorType result) {
  if (result.getRank() == 0 || !result.isDynamicDim(0))
    return {1};
  return {getPlannedSize(ranges, result, 0, 1), getPlannedSize(ranges, result, 0, kGuessedBatch)};
}

/// Clock cycles, roughly, that a GPU takes with `kProcessors` groups of `kUnits` multiply-adders and a cache that gives
/// them `kCacheBytes` a cycle.
double estimateCycles(const Tile &tile, int64_t length, int64_t elementBytes, int64_t workgroups) {
  constexpr int64_t kProcessors = 128, kUnits = 128, kResident = 4;
  constexpr double kLatency = 500, kCacheBytes = 2500;
  // Products for each element read from workgroup memory decide how busy the multiply-adders are.
  double block = static_cast<double>(tile.blockRows * tile.blockColumns);
  double efficiency = block / (block + 6.0 * static_cast<double>(tile.blockRows + tile.blockColumns) / 4);
  int64_t waves = llvm::divideCeil(workgroups, kProcessors);
  double resident = static_cast<double>(std::min(waves, kResident));
  double steps = static_cast<double>(llvm::divideCeil(length, tile.step * tile.slices)) + 2;
  double products = static_cast<double>(tile.rows * tile.columns * tile.step * tile.slices) / kUnits / efficiency;
  double ends = 200.0 * static_cast<double>(tile.slices - 1);
  // Of two tiles that only wait, the one with less to do.
  double step = std::max(products, kLatency / resident) + products / 16;
  double traffic = static_cast<double>(workgroups * (tile.rows + tile.columns) * length * elementBytes);
  return std::max(static_cast<double>(waves) * (steps * step + ends), traffic / kCacheBytes);
}

/// The tile with the least product of the estimates for all guessed batches, for sums of `length` products.
/// `countWorkgroups` knows how one item of the result is cut by it.
class TileChooser {
public:
  TileChooser(int64_t length, ArrayRef<int64_t> batches, int64_t elementBytes, const TargetSpec &spec,
              function_ref<int64_t(const Tile &)> countWorkgroups)
      : length(length), batches(batches), elementBytes(elementBytes), spec(spec), countWorkgroups(countWorkgroups) {}

  Tile choose() {
    for (int64_t rows : {128, 64, 32, 16, 8, 4})
      for (int64_t columns : {128, 64, 32, 16})
        for (int64_t slices : {1, 2, 4, 8})
          consider({rows, columns, rows >= 64 ? 8 : rows >= 8 ? 4 : 1, columns >= 128 ? 8 : 4, slices});
    return *best;
  }

  /// With rows or columns of which a tile has a divisor of `group`, which is a multiple of kGroupTile.
  Tile chooseOfGroup(int64_t group, bool isRows) {
    constexpr int64_t kMost = 128, kSubgroup = 32;
    for (int64_t narrow = std::min(group, kMost); narrow > 0; narrow -= kGroupTile)
      for (int64_t wide : {512, 256, 128, 64, 32, 16})
        for (int64_t block : {8, 4})
          for (int64_t step : {8, 4})
            for (int64_t slices : {1, 2, 4, 8}) {
              Tile tile{wide, narrow, block, narrow % 8 == 0 && narrow >= 24 ? 8 : 4, slices, step};
              if (group % narrow != 0 || tile.threads() % kSubgroup != 0)
                continue;
              if (isRows) {
                std::swap(tile.rows, tile.columns);
                std::swap(tile.blockRows, tile.blockColumns);
              }
              consider(tile);
            }
    return *best;
  }

private:
  void consider(const Tile &tile) {
    int64_t threads = tile.threads();
    // Of both factors, what a thread holds in registers on their way to workgroup memory.
    constexpr int64_t kMostStaged = 16;
    int64_t staged = (tile.rows + tile.columns) * tile.step * tile.slices / std::max<int64_t>(1, threads);
    if (threads < 64 || threads > std::min<int64_t>(spec.maxThreads, 256) || staged > kMostStaged ||
        tile.memory(elementBytes) > spec.workgroupMemory)
      return;
    int64_t workgroups = countWorkgroups(tile);
    double cycles = 1;
    for (int64_t batch : batches)
      cycles *= estimateCycles(tile, length, elementBytes, batch * workgroups);
    if (best && cycles >= bestCycles)
      return;
    best = tile;
    bestCycles = cycles;
  }

  int64_t length;
  ArrayRef<int64_t> batches;
  int64_t elementBytes;
  const TargetSpec &spec;
  function_ref<int64_t(const Tile &)> countWorkgroups;
  std::optional<Tile> best;
  double bestCycles = 0;
};

/// The tile of a contraction by matrix fragments.
struct FragmentTile {
  int64_t rows = 0, columns = 0, threads = 0, step = 0, stages = 2;
  double unitCycles = 0; // to find and to bring 16 bytes
  /// Of all buffers, with their gaps.
  int64_t memory(int64_t elementBytes) const {
    return stages * (rows + columns) * (step + 16 / elementBytes) * elementBytes;
  }
};

/// As above, for subgroups that multiply fragments.
double estimateCycles(const FragmentTile &tile, int64_t length, int64_t elementBytes, int64_t workgroups) {
  constexpr int64_t kProcessors = 128, kResidentThreads = 1024, kWorkgroupMemory = 160 << 10;
  // A processor has four parts, which each issue an instruction of one of their subgroups in a cycle.
  constexpr int64_t kParts = 4, kSubgroup = 32, kAccessBytes = 16;
  constexpr double kLatency = 800, kCacheBytes = 2500, kLoop = 40;
  int64_t subgroups = tile.threads / kSubgroup;
  double area = static_cast<double>(tile.rows * tile.columns) / static_cast<double>(subgroups);
  // Cycles of a subgroup in a step: its products, its fragments from workgroup memory, and what its threads bring.
  double products = area * static_cast<double>(tile.step) / (elementBytes == 2 ? 256 : 128);
  double fragments = 2 * std::sqrt(area) * static_cast<double>(tile.step * elementBytes) / 128;
  double units = static_cast<double>((tile.rows + tile.columns) * tile.step * elementBytes / kAccessBytes) /
                 static_cast<double>(tile.threads);
  double busy = products + fragments + units * tile.unitCycles + kLoop;
  int64_t waves = llvm::divideCeil(workgroups, kProcessors);
  int64_t fitting = std::min(kResidentThreads / tile.threads, kWorkgroupMemory / tile.memory(elementBytes));
  int64_t resident = std::clamp<int64_t>(fitting, 1, waves);
  double steps = static_cast<double>(llvm::divideCeil(length, tile.step)) + 2;
  double step = std::max(busy * static_cast<double>(llvm::divideCeil(subgroups * resident, kParts)),
                         kLatency / static_cast<double>(tile.stages - 1)) /
                    static_cast<double>(resident) +
                busy / 16;
  double traffic = static_cast<double>(workgroups * (tile.rows + tile.columns) * length * elementBytes);
  return std::max(static_cast<double>(waves) * steps * step, traffic / kCacheBytes);
}

/// `fits` says which tiles a convolution with groups can have.
std::optional<FragmentTile> chooseFragmentTile(int64_t length, ArrayRef<int64_t> batches, int64_t elementBytes,
                                               int64_t mostStages, double unitCycles, const TargetSpec &spec,
                                               function_ref<int64_t(int64_t rows, int64_t columns)> countWorkgroups,
                                               function_ref<bool(int64_t rows, int64_t columns)> fits) {
  // A workgroup of the narrowest subgroups must have a fragment for each.
  constexpr int64_t kSubgroup = 32, kFragment = MatrixUnit::rows * MatrixUnit::columns, kStepBytes = 64;
  // Of the accumulators, what a thread holds in registers.
  constexpr int64_t kMostSums = 64;
  std::optional<FragmentTile> best;
  double bestCycles = 0;
  for (int64_t rows : {128, 64, 32, 16})
    for (int64_t columns : {128, 64, 32, 16})
      for (int64_t threads : {256, 128, 64}) {
        FragmentTile tile{rows, columns, threads, kStepBytes / elementBytes};
        tile.unitCycles = unitCycles;
        if (!fits(rows, columns) || threads > spec.maxThreads || rows * columns < threads / kSubgroup * kFragment ||
            rows * columns > kMostSums * threads || tile.memory(elementBytes) > spec.workgroupMemory)
          continue;
        while (tile.stages < mostStages) {
          ++tile.stages;
          if (tile.memory(elementBytes) > spec.workgroupMemory) {
            --tile.stages;
            break;
          }
        }
        double cycles = 1;
        for (int64_t batch : batches)
          cycles *= estimateCycles(tile, length, elementBytes, batch * countWorkgroups(rows, columns));
        if (best && cycles >= bestCycles)
          continue;
        best = tile;
        bestCycles = cycles;
      }
  return best;
}

StrategyAttrInterface fragmentStrategy(MLIRContext *context, ArrayRef<int64_t> workgroup, const FragmentTile &tile) {
  return MmaAttr::get(context, workgroup, tile.step, tile.stages, tile.threads);
}

int64_t bytesOf(Value tensor) { return getElementTypeOrSelf(tensor.getType()).getIntOrFloatBitWidth() / 8; }

StrategyAttrInterface tiledStrategy(MLIRContext *context, ArrayRef<int64_t> workgroup, const Tile &tile) {
  return TiledProductAttr::get(context, workgroup, tile.blockRows, tile.blockColumns, tile.step, tile.slices);
}

/// Bytes of an element as it is staged: narrow floats are widened.
int64_t stagedBytes(RankedTensorType type) {
  return std::max<int64_t>(4, type.getElementType().getIntOrFloatBitWidth() / 8);
}

/// Products for each staged element of both factors: bytes are staged four at a time where one instruction adds their
/// products up.
int64_t stagedProducts(Value lhs, Value rhs, const TargetSpec &spec) {
  auto isByte = [](Value factor) { return getElementTypeOrSelf(factor.getType()).isInteger(8); };
  return spec.hasByteDots && isByte(lhs) && isByte(rhs) ? 4 : 1;
}

/// The tile of a contraction whose family is `mma` or `tiled_product`.
StrategyAttrInterface contractStrategy(const SymbolRanges &ranges, ContractOp op, ProductFamily family,
                                       RankedTensorType result, const TargetSpec &spec) {
  int64_t batch = op.getLhsBatch().size(), rank = result.getRank();
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  int64_t lhsFree = lhs.getRank() - batch - op.getLhsContracting().size();
  int64_t row = batch + lhsFree - 1, column = rank - 1;
  SmallVector<int64_t> batches = {1};
  if (row > 0)
    batches = guessBatch(ranges, result);
  else if (isProductOfSymbols(result, row))
    batches.push_back(kGuessedBatch);
  int64_t count = 1, length = 1;
  for (int64_t d = row > 0 && batches.size() > 1 ? 1 : 0; d < rank; ++d)
    if (d != row && d != column)
      count *= getPlannedSize(ranges, result, d);
  for (int64_t d : op.getLhsContracting())
    length *= getPlannedSize(ranges, lhs, d);
  auto countWorkgroups = [&](int64_t rows, int64_t columns) {
    return count * llvm::divideCeil(getPlannedSize(ranges, result, row), rows) *
           llvm::divideCeil(getPlannedSize(ranges, result, column), columns);
  };
  SmallVector<int64_t> workgroup(rank, 1);
  auto setWorkgroup = [&](const auto &tile) {
    workgroup[row] = tile.rows;
    workgroup[column] = tile.columns;
  };
  if (family == ProductFamily::mma) {
    constexpr int64_t kMostStages = 4;
    constexpr double kUnitCycles = 12;
    FragmentTile tile = *chooseFragmentTile(length, batches, bytesOf(op.getLhs()), kMostStages, kUnitCycles, spec,
                                            countWorkgroups, [](int64_t, int64_t) { return true; });
    setWorkgroup(tile);
    return fragmentStrategy(op.getContext(), workgroup, tile);
  }
  length = llvm::divideCeil(length, stagedProducts(op.getLhs(), op.getRhs(), spec));
  auto ofTile = [&](const Tile &candidate) { return countWorkgroups(candidate.rows, candidate.columns); };
  Tile tile = TileChooser(length, batches, stagedBytes(typeOf(op.getResult())), spec, ofTile).choose();
  setWorkgroup(tile);
  return tiledStrategy(op.getContext(), workgroup, tile);
}

/// A tile of so many filters and a box of so many places: as wide as the rows are, then high.
SmallVector<int64_t> convWorkgroup(const SymbolRanges &ranges, ConvOp op, RankedTensorType result, int64_t filters,
                                   int64_t places) {
  SmallVector<int64_t> workgroup(result.getRank(), 1);
  workgroup[op.getChannelDim()] = filters;
  int64_t left = places;
  for (int64_t d = result.getRank() - 2; d-- > 0;) {
    int64_t dim = op.getSpatialDim(d);
    workgroup[dim] = d == 0 ? left : std::min<int64_t>(left, llvm::PowerOf2Ceil(getPlannedSize(ranges, result, dim)));
    left /= workgroup[dim];
  }
  return workgroup;
}

/// The tile of a convolution whose family is `mma` or `tiled_product`.
StrategyAttrInterface convStrategy(const SymbolRanges &ranges, ConvOp op, ProductFamily family, RankedTensorType result,
                                   const TargetSpec &spec) {
  int64_t rank = result.getRank();
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  SmallVector<int64_t> batches = guessBatch(ranges, result);
  int64_t length = 1;
  for (int64_t d = 1; d < rank; ++d)
    length *= getPlannedSize(ranges, filter, d);
  // The result's last dimension gives the columns of a tile.
  bool channelsLast = op.getChannelsLast();
  auto cut = [&](int64_t rows, int64_t columns) {
    return channelsLast ? convWorkgroup(ranges, op, result, columns, rows)
                        : convWorkgroup(ranges, op, result, rows, columns);
  };
  auto countWorkgroups = [&](int64_t rows, int64_t columns) {
    SmallVector<int64_t> workgroup = cut(rows, columns);
    int64_t count = batches.size() > 1 ? 1 : getPlannedSize(ranges, result, 0);
    for (int64_t d = 1; d < rank; ++d)
      count *= llvm::divideCeil(getPlannedSize(ranges, result, d), workgroup[d]);
    return count;
  };
  if (family == ProductFamily::mma) {
    // What comes through registers is one part ahead, asynchronous copies are more.
    constexpr int64_t kAccessBytes = 16;
    const int64_t bytes = bytesOf(op.getInput());
    bool isAsync =
        channelsLast && spec.asyncCopyBytes >= kAccessBytes && filter.getDimSize(1) * bytes % kAccessBytes == 0;
    auto fits = [&](int64_t rows, int64_t columns) {
      return op.getGroups() == 1 || getFiltersOfGroup(op) % (channelsLast ? columns : rows) == 0;
    };
    FragmentTile tile = *chooseFragmentTile(length, batches, bytes, isAsync ? 4 : 2, /*unitCycles=*/isAsync ? 20 : 100,
                                            spec, countWorkgroups, fits);
    return fragmentStrategy(op.getContext(), cut(tile.rows, tile.columns), tile);
  }
  length = llvm::divideCeil(length, stagedProducts(op.getInput(), op.getFilter(), spec));
  auto ofTile = [&](const Tile &candidate) { return countWorkgroups(candidate.rows, candidate.columns); };
  TileChooser chooser(length, batches, stagedBytes(typeOf(op.getResult())), spec, ofTile);
  Tile tile = op.getGroups() == 1 ? chooser.choose() : chooser.chooseOfGroup(getFiltersOfGroup(op), !channelsLast);
  return tiledStrategy(op.getContext(), cut(tile.rows, tile.columns), tile);
}

/// A reduction, or an op of rows such as softmax, in terms of the kernel's result.
struct Rows {
  SmallVector<int64_t> alongDims;       // dimensions of the result that run along a row
  int64_t length = 1;                   // elements of a row
  int64_t neighbours = 1;               // in memory, into which the row's last dimension divides
  bool isDecoded = false;               // of integers of 8 bits or fewer
  std::optional<int64_t> contiguousDim; // of the result, when neighbours in memory belong to neighbouring rows
  int64_t inputs = 1;                   // tensors that the kernel reads
};

StrategyAttrInterface rowsStrategy(const SymbolRanges &ranges, MLIRContext *context, RankedTensorType result,
                                   const Rows &rows) {
  int64_t rank = result.getRank(), count = 1;
  SmallVector<int64_t> tile(rank, 1);
  std::optional<int64_t> lastRowDim;
  for (int64_t d = 0; d < rank; ++d) {
    if (llvm::is_contained(rows.alongDims, d)) {
      tile[d] = 0;
      continue;
    }
    count *= getPlannedSize(ranges, result, d);
    if (getPlannedSize(ranges, result, d) > 1)
      lastRowDim = d;
  }
  auto roundsFor = [&](int64_t parts, int64_t most) {
    return std::clamp<int64_t>(llvm::divideCeil(rows.length, parts), 1, most);
  };
  constexpr int64_t kThreads = 256, kBusy = 256;
  if (rows.contiguousDim) {
    // Neighbouring threads read neighbouring rows; the fewer rows there are, the more threads share each.
    int64_t d = *rows.contiguousDim, size = getPlannedSize(ranges, result, d), columns = 64;
    while (columns > 8 && (columns / 2 >= size || count / size * llvm::divideCeil(size, columns) < kBusy))
      columns /= 2;
    tile[d] = columns;
    // The elements of all rounds are read before the first sum: so many are in registers.
    constexpr int64_t kElements = 64;
    const int64_t most = std::clamp<int64_t>(kElements / std::max<int64_t>(rows.inputs, 1), 1, 8);
    return RowsAttr::get(context, tile, RowSharing::columns, roundsFor(kThreads / columns, most), /*lanes=*/1,
                         kThreads);
  }
  // A load of 4 bytes, or of 16.
  int64_t lanes = rows.length < 128                            ? 1
                  : rows.isDecoded && rows.neighbours % 8 == 0 ? 8
                  : rows.neighbours % 4 == 0                   ? 4
                                                               : 1;
  if (lastRowDim && rows.length <= 16 && count >= 1024) {
    tile[*lastRowDim] = 64;
    return ThreadRowsAttr::get(context, tile, /*threads=*/64);
  }
  // A subgroup needs no barrier, but takes longer for its row: for many rows only.
  constexpr int64_t kSubgroup = 32;
  const int64_t mostOfSubgroup = rows.isDecoded ? 1 << 14 : 1 << 10;
  if (lastRowDim && rows.length <= mostOfSubgroup && count >= 1024) {
    tile[*lastRowDim] = 4;
    return RowsAttr::get(context, tile, RowSharing::subgroup, roundsFor(kSubgroup * lanes, 32 / lanes), lanes,
                         kThreads / 2);
  }
  int64_t threads = rows.length <= 512 ? kThreads / 2 : kThreads;
  return RowsAttr::get(context, tile, RowSharing::workgroup, roundsFor(threads * lanes, 16 / lanes), lanes, threads);
}

/// Rows of `input`, which is reduced over `axes`; `isKept` when the result has these dimensions too.
StrategyAttrInterface reductionStrategy(const SymbolRanges &ranges, MLIRContext *context, RankedTensorType result,
                                        RankedTensorType input, ArrayRef<int64_t> axes, bool isKept, int64_t inputs) {
  Rows rows;
  rows.inputs = inputs;
  int64_t rank = input.getRank();
  if (rank == 0 || axes.empty())
    return {};
  for (int64_t d : axes)
    rows.length *= getPlannedSize(ranges, input, d);
  if (isKept)
    rows.alongDims.assign(axes.begin(), axes.end());
  // Dimensions of one element do not part neighbours.
  int64_t last = rank - 1;
  while (last > 0 && !input.isDynamicDim(last) && input.getDimSize(last) == 1)
    --last;
  if (llvm::is_contained(axes, last)) {
    if (axes.size() == 1 && last == rank - 1 && !input.isDynamicDim(last))
      rows.neighbours = std::max<int64_t>(input.getDimSize(last), 1);
  } else {
    int64_t place = 0;
    for (int64_t d = 0; d < last; ++d)
      place += isKept || !llvm::is_contained(axes, d);
    rows.contiguousDim = place;
  }
  return rowsStrategy(ranges, context, result, rows);
}

/// True for floats that are computed, element for element, from integers of 8 bits or fewer.
bool isDecoded(Value tensor) {
  llvm::SetVector<Operation *> visited;
  visited.insert(tensor.getDefiningOp());
  for (size_t next = 0; next < visited.size(); ++next) {
    Operation *op = visited[next];
    if (!op || !op->hasTrait<OpTrait::Elementwise>())
      continue;
    if (isa<CastOp>(op))
      if (auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(op->getOperand(0).getType())))
        if (integer.getWidth() <= 8)
          return true;
    for (Value operand : op->getOperands())
      visited.insert(operand.getDefiningOp());
  }
  return false;
}

/// A product of a matrix and a vector: each element of the result is the sum of a row or a column of the matrix.
StrategyAttrInterface vectorStrategy(const SymbolRanges &ranges, ContractOp op, RankedTensorType result) {
  int64_t batch = op.getLhsBatch().size();
  SmallVector<int64_t> lhsFree = getFreeDims(op, 0), rhsFree = getFreeDims(op, 1);
  const bool isRhs = *findMatrix(op) == 1;
  RankedTensorType lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs());
  RankedTensorType matrix = isRhs ? rhs : lhs;
  ArrayRef<int64_t> contracting = isRhs ? op.getRhsContracting() : op.getLhsContracting();
  ArrayRef<int64_t> batchDims = isRhs ? op.getRhsBatch() : op.getLhsBatch();
  const SmallVector<int64_t> &own = isRhs ? rhsFree : lhsFree;
  int64_t before = batch + (isRhs ? static_cast<int64_t>(lhsFree.size()) : 0);
  Rows rows;
  for (int64_t d : contracting)
    rows.length *= getPlannedSize(ranges, matrix, d);
  int64_t last = matrix.getRank() - 1;
  if (llvm::is_contained(contracting, last)) {
    rows.neighbours = matrix.isDynamicDim(last) ? 1 : std::max<int64_t>(matrix.getDimSize(last), 1);
    rows.isDecoded = isDecoded(isRhs ? op.getRhs() : op.getLhs());
  } else if (const int64_t *place = llvm::find(own, last); place != own.end()) {
    rows.contiguousDim = before + (place - own.begin());
  } else {
    rows.contiguousDim = llvm::find(batchDims, last) - batchDims.begin();
  }
  return rowsStrategy(ranges, op.getContext(), result, rows);
}

/// The tile of attention for which there is a kernel, or nothing: both depths must be known, and so small that
/// workgroup memory holds some rows of each factor.
std::optional<AttentionTile> chooseAttentionTile(const SymbolRanges &ranges, AttentionOp op, const TargetSpec &spec) {
  constexpr int64_t kThreads = AttentionTile::kThreadRows * AttentionTile::kThreadColumns;
  // Of one query and the like, the products are those of a matrix and a vector.
  constexpr int64_t kFewQueries = 4, kBusy = 96;
  RankedTensorType query = typeOf(op.getQuery()), value = typeOf(op.getValue());
  ArrayRef<int64_t> dims = op.getQueryDims();
  int64_t depth = query.getDimSize(dims[AttentionOp::Depth]);
  int64_t valueDepth = value.getDimSize(op.getValueDims()[AttentionOp::Depth]);
  int64_t length = query.getDimSize(dims[AttentionOp::Length]);
  if (ShapedType::isDynamic(depth) || ShapedType::isDynamic(valueDepth) || depth == 0 || valueDepth == 0 ||
      (!ShapedType::isDynamic(length) && length < kFewQueries) || spec.maxThreads < kThreads)
    return std::nullopt;
  int64_t outer =
      getPlannedSize(ranges, query, dims[AttentionOp::Batch]) * getPlannedSize(ranges, query, dims[AttentionOp::Heads]);
  length = getPlannedSize(ranges, query, dims[AttentionOp::Length]);
  for (int64_t queries : {32, 16})
    for (int64_t keys : {32, 16, 8}) {
      AttentionTile tile{queries, keys, depth, valueDepth, stagedBytes(query)};
      bool isBusy = queries == AttentionTile::kThreadRows || outer * llvm::divideCeil(length, queries) >= kBusy;
      // A block of few keys waits at as many barriers; rather fewer queries.
      bool isWide = queries == AttentionTile::kThreadRows || keys > AttentionTile::kThreadColumns;
      if (isBusy && isWide && tile.memory() <= spec.workgroupMemory)
        return tile;
    }
  return std::nullopt;
}

StrategyAttrInterface attentionStrategy(const SymbolRanges &ranges, AttentionOp op, const TargetSpec &spec) {
  std::optional<AttentionTile> tile = chooseAttentionTile(ranges, op, spec);
  if (!tile)
    return {};
  ArrayRef<int64_t> dims = op.getResultDims();
  SmallVector<int64_t> workgroup(4, 1);
  workgroup[dims[AttentionOp::Length]] = tile->queries;
  workgroup[dims[AttentionOp::Depth]] = 0;
  return FlashAttr::get(op.getContext(), workgroup, tile->keys,
                        AttentionTile::kThreadRows * AttentionTile::kThreadColumns);
}

/// The elements of a tile are shared out to threads.
StrategyAttrInterface loopsStrategy(MLIRContext *context, RankedTensorType result, const TargetSpec &spec) {
  int64_t threads = std::min<int64_t>(spec.maxThreads, 128);
  SmallVector<int64_t> tile(result.getRank(), 1);
  int64_t left = threads;
  for (int64_t d = result.getRank(); d-- > 0 && left > 1;) {
    int64_t size = result.isDynamicDim(d) ? left : std::max<int64_t>(1, result.getDimSize(d));
    tile[d] = std::min(size, left);
    left /= tile[d];
  }
  return LoopsAttr::get(context, tile, threads);
}

/// Updates are shared out to threads, but for the dimensions whose order counts: a thread goes along these.
StrategyAttrInterface updateStrategy(UpdateOpInterface update, const TargetSpec &spec) {
  RankedTensorType updates = update.getUpdates().getType();
  int64_t ordered = update.getNumOrderedDims();
  if (ordered == 0)
    return loopsStrategy(update.getContext(), updates, spec);
  int64_t threads = std::min<int64_t>(spec.maxThreads, 64), left = threads;
  SmallVector<int64_t> tile(updates.getRank(), 1);
  std::fill_n(tile.begin(), ordered, 0);
  for (int64_t d = updates.getRank(); d-- > ordered && left > 1;) {
    int64_t size = updates.isDynamicDim(d) ? left : std::max<int64_t>(1, updates.getDimSize(d));
    tile[d] = std::min(size, left);
    left /= tile[d];
  }
  return ThreadRowsAttr::get(update.getContext(), tile, threads);
}

/// Each thread computes neighbours along the last dimension, which it reads and writes together where it can.
StrategyAttrInterface elementwiseStrategy(const SymbolRanges &ranges, MLIRContext *context, RankedTensorType result,
                                          const TargetSpec &spec) {
  int64_t rank = result.getRank(), count = 1;
  for (int64_t d = 0; d < rank; ++d)
    count *= getPlannedSize(ranges, result, d);
  // A small result is better spread over many threads.
  constexpr int64_t kSmall = 1 << 16;
  bool isWide = result.isDynamicDim(rank - 1) || result.getDimSize(rank - 1) % 4 == 0 ||
                getPlannedSize(ranges, result, rank - 1) >= 64;
  int64_t lanes = count >= kSmall && isWide ? 4 : 1;
  int64_t threads = std::min<int64_t>(spec.maxThreads, count >= kSmall ? 256 : 128), left = threads * lanes;
  SmallVector<int64_t> tile(rank, 1);
  for (int64_t d = rank; d-- > 0 && left > 1;) {
    int64_t size = result.isDynamicDim(d) ? left : std::max<int64_t>(1, result.getDimSize(d));
    tile[d] = std::min(size, left);
    if (d == rank - 1)
      tile[d] = llvm::alignTo(tile[d], lanes);
    left /= tile[d];
  }
  return ElementwiseAttr::get(context, tile, lanes, threads);
}

/// The strategy that knows the anchor, or null.
StrategyAttrInterface anchorStrategy(const SymbolRanges &ranges, Operation *anchor, RankedTensorType result,
                                     const TargetSpec &spec) {
  int64_t rank = result.getRank();
  if (auto attention = dyn_cast<AttentionOp>(anchor))
    return attentionStrategy(ranges, attention, spec);
  if (ProductAttr product = getProduct(anchor)) {
    const ProductFamily family = product.getFamily();
    if (family == ProductFamily::loops)
      return {};
    auto contract = dyn_cast<ContractOp>(anchor);
    if (family == ProductFamily::rows)
      return vectorStrategy(ranges, contract, result);
    return contract ? contractStrategy(ranges, contract, family, result, spec)
                    : convStrategy(ranges, cast<ConvOp>(anchor), family, result, spec);
  }
  auto rows = dyn_cast<RowsOpInterface>(anchor);
  if (!rows || rows.carriesPlaces() || typeOf(anchor->getResult(0)).getRank() != rank)
    return {};
  // Threads that share a row combine what they found of it, which is one number each.
  return reductionStrategy(ranges, anchor->getContext(), result, typeOf(anchor->getOperand(0)), rows.getRowAxes(),
                           rows.keepsRows(), anchor->getParentOp()->getNumOperands());
}

/// True when each element of the region's result takes few elements of its operands.
bool isElementwise(FusionOp region) {
  return llvm::all_of(region.getBody().front(), [](Operation &op) {
    return op.hasTrait<OpTrait::Elementwise>() || op.hasTrait<OpTrait::Moves>() || op.hasTrait<OpTrait::Expands>() ||
           isa<ConstantOp, YieldOp>(op);
  });
}

} // namespace

bool decomposesOnGPU(Operation *composite, const TargetSpec &spec) {
  if (isa<ConvFilterOp, CumulativeSumOp, DecodeBlocksOp>(composite))
    return true;
  auto attention = dyn_cast<AttentionOp>(composite);
  return attention && !chooseAttentionTile(SymbolRanges(composite->getParentOfType<ModuleOp>()), attention, spec);
}

StrategyAttrInterface chooseGPUStrategy(FusionOp region, const TargetSpec &spec) {
  MLIRContext *context = region.getContext();
  const SymbolRanges ranges(region->getParentOfType<ModuleOp>());
  Operation *anchor = region.getAnchor();
  RankedTensorType result = getVisitedType(region.getBody().front());
  if (anchor && anchor->hasTrait<OpTrait::Serial>())
    return SerialAttr::get(context);
  if (UpdateOpInterface update = getUpdate(region.getBody().front(), 0))
    return updateStrategy(update, spec);
  if (isa_and_nonnull<MergeRunsOp>(anchor)) {
    constexpr int64_t ofThread = 8; // places, so that a search serves several
    int64_t threads = std::min<int64_t>(spec.maxThreads, 128);
    return LoopsAttr::get(context, {1, threads * ofThread}, threads);
  }
  if (auto attention = dyn_cast_or_null<PagedAttentionOp>(anchor)) {
    // A part of a key for each thread, short enough that all of its loads wait together.
    int64_t threads = attention.getQuery().getType().getDimSize(2) > 128 ? 256 : 128;
    return LoopsAttr::get(context, {1, 1, 0}, std::min<int64_t>(spec.maxThreads, threads));
  }
  if (isa_and_nonnull<SelectBoxesOp>(anchor))
    return SortAttr::get(context, {1, 1, 0}, std::min<int64_t>(128, llvm::bit_floor(uint64_t(spec.maxThreads))));
  if (auto top = dyn_cast_or_null<TopPlacesOp>(anchor)) {
    // Half as many threads as are compared with one another at a time.
    int64_t threads = 256, length = getPlannedSize(ranges, top.getKeys().getType(), 1);
    while (threads > 64 && threads >= length)
      threads /= 2;
    return SortAttr::get(context, {1, 0}, std::min<int64_t>(threads, llvm::bit_floor(uint64_t(spec.maxThreads))));
  }
  // The strategies of anchors cut the result's own dimensions, not packed bytes.
  if (anchor && !isPacked(getElementTypeOrSelf(region.getResult(0).getType())))
    if (StrategyAttrInterface strategy = anchorStrategy(ranges, anchor, result, spec))
      return strategy;
  if (result.getRank() > 0 && isElementwise(region))
    return elementwiseStrategy(ranges, context, result, spec);
  return loopsStrategy(context, result, spec);
}

} // namespace vx
