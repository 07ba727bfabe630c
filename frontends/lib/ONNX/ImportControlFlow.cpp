// Loop, Scan and SequenceMap: subgraphs become regions.
#include "DimMath.h"
#include "OpFunctions.h"
#include "Subgraph.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace vx::onnx {

//===-- Loops ---------------------------------------------------------------------------------===//

namespace {
/// A carried value: its type in the region, and which of its dimensions change from one iteration to the next.
struct Carried {
  std::string name;
  Value init;
  Type type;
  SmallVector<bool> changes;
  /// A sequence that is empty before the loop: the body decides its element type.
  bool isEmptySequence = false;
};

/// The results of an iteration: whether there is another one, the carried values, and the collected values.
struct Iteration {
  Value next;
  SmallVector<Value> carried, collected;
};

/// A value that a loop collects over its iterations: a sequence, or a tensor with a leading dimension for the
/// iterations.
struct Collection {
  std::string name;
  bool isSequence = false;
  bool isReverse = false;
  /// The collected values have the sizes of the first iteration's.
  bool takesSizes = false;
};
} // namespace

static Carried carry(StringRef name, Value init, Type type) {
  Carried carried{name.str(), init, type, {}, false};
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    carried.changes.assign(tensor.getRank(), false);
  return carried;
}

/// Widens the type of a carried value until the region's own result fits; false when it fits already.
static bool widen(NodeImporter &n, Carried &carried, Type yielded,
                  SmallVectorImpl<std::pair<Carried *, size_t>> &fresh) {
  if (Type joined = joinHostTypes(carried.type, yielded)) {
    if (std::exchange(carried.isEmptySequence, false) && isa<SequenceType>(yielded)) {
      // What the body made of the argument counted on nothing in it.
      carried.init = Value();
      carried.type = joinHostTypes(yielded, yielded);
      return true;
    }
    carried.changes.clear(); // the type of an optional of tensors states no sizes
    return joined != std::exchange(carried.type, joined);
  }
  auto have = dyn_cast<RankedTensorType>(carried.type), want = dyn_cast<RankedTensorType>(yielded);
  if (!have || !want || have.getElementType() != want.getElementType())
    throwInvalid("expects carried value '" + carried.name + "' to keep its type: " + describe(carried.type) + ", got " +
                 describe(yielded));
  if (have.getRank() != want.getRank())
    throwUnsupported(Advice::FixSizes, "expects carried value '" + carried.name +
                                           "' to keep its rank: " + describe(have) + ", got " + describe(want));
  bool changed = false;
  for (int64_t i = 0; i < have.getRank(); ++i)
    if (!carried.changes[i] && getDim(have, i) != getDim(want, i)) {
      carried.changes[i] = changed = true;
      fresh.push_back({&carried, i});
    }
  return changed;
}

static void replaceDim(NodeImporter &n, Carried &carried, size_t index) {
  auto type = cast<RankedTensorType>(carried.type);
  SmallVector<DimAttr> dims = vx::getDims(type);
  dims[index] = n.model.declareSize(carried.name, index);
  carried.type = makeTensorType(dims, type.getElementType());
}

namespace {

/// Builds a loop with a body whose types are known only after it is built.
class LoopBuilder {
public:
  /// Makes an iteration in the region, where `carried` are the arguments.
  using Body = llvm::function_ref<Iteration(Subgraph &loop, DimAttr iteration, ArrayRef<Entry> carried)>;

  LoopBuilder(NodeImporter &n, std::vector<Carried> values, SmallVector<Collection> collections)
      : n(n), carried(std::move(values)), count(carried.size()), collections(std::move(collections)) {
    carried.reserve(count + this->collections.size()); // `fresh` points at its members
  }

  Value tripCount, condition; // null: none
  std::string iterationName = "iteration";
  /// The places of collected tensors; null where iterations add them, which is then asked for once it is known that
  /// nothing but the trip count ends the loop.
  DimAttr rows;
  llvm::function_ref<DimAttr()> countRows;

  /// Returns the carried values after the loop, and the collected ones.
  SmallVector<Value> build(Body body) {
    // The region's types depend on what it yields, which depends on its types: repeat until nothing changes. Every
    // round but the last turns a dimension into a symbol, or a sequence's element type into a wider one, or finds the
    // types of collected values.
    std::unique_ptr<Region> region;
    mark = n.model.markSymbols();
    while (!region)
      region = buildRegion(body);

    SmallVector<Value> inits;
    SmallVector<Type> results;
    for (Carried &value : carried) {
      inits.push_back(wrapOptional(n.builder, n.location, value.init, value.type));
      // The dimensions that change have symbols of their own after the loop.
      for (auto [index, changes] : llvm::enumerate(value.changes))
        if (changes)
          replaceDim(n, value, index);
      results.push_back(value.type);
    }
    if (rowsAreTrips)
      tripCount = n.emitDim(rows, n.builder.getI64Type());
    OperationState state(n.location, LoopOp::getOperationName());
    LoopOp::build(n.builder, state, TypeRange(results), tripCount, condition, inits, iteration.getSymbol().getValue());
    state.regions[0]->takeBody(*region);
    return SmallVector<Value>(n.finish(state)->getResults());
  }

private:
  /// Null where the types have changed.
  std::unique_ptr<Region> buildRegion(Body body) {
    n.model.withdrawSymbols(mark);
    if (runsAll && !rows) {
      rows = countRows();
      rowsAreTrips = rows != DimAttr();
    }
    for (auto [value, index] : fresh) {
      replaceDim(n, *value, index);
      argumentSymbols.insert(getDim(cast<RankedTensorType>(value->type), index).getSymbol().getValue());
    }
    fresh.clear();
    // Collected values start empty, and so does a sequence of unknown type.
    for (Carried &value : carried) {
      if (value.init)
        continue;
      value.init = isa<SequenceType>(value.type) ? n.emitAs<SequenceConstructOp>(value.type, ValueRange())
                                                 : n.splat(0, cast<RankedTensorType>(value.type));
    }
    mark = n.model.markSymbols();
    Subgraph loop(n.model, /*isInline=*/false);
    iteration = n.model.declareSymbol(iterationName, true);
    std::vector<Entry> entries;
    for (const Carried &value : carried) {
      entries.emplace_back(value.type, n.location);
      entries.back().value = loop.block->addArgument(value.type, n.location);
      entries.back().isEmptySequence = value.isEmptySequence;
    }
    Iteration given = body(loop, iteration, ArrayRef<Entry>(entries).take_front(count));

    bool changed = false;
    if (!collections.empty() && countRows && tripCount && !condition && !runsAll && isTrue(given.next))
      changed = runsAll = true;
    SmallVector<Value> values = {given.next};
    for (size_t i = 0; i < count; ++i) {
      values.push_back(given.carried[i]);
      changed |= widen(n, carried[i], values.back().getType(), fresh);
    }
    llvm::StringSet<> inner = n.model.getSymbolsAfter(mark);
    for (StringRef symbol : argumentSymbols.keys())
      inner.insert(symbol);
    for (auto [index, collected] : llvm::enumerate(given.collected)) {
      Collection &collection = collections[index];
      Type start = collection.isSequence ? getSequenceType(collected) : getStackType(collection, collected, inner);
      if (changed)
        continue;
      if (carried.size() < count + collections.size()) {
        carried.push_back(carry(collection.name, Value(), start));
        continue;
      }
      values.push_back(collect(collection, loop.block->getArgument(count + index), collected));
      changed |= widen(n, carried[count + index], values.back().getType(), fresh);
    }
    changed |= values.size() < 1 + count + collections.size();
    if (changed)
      return {};
    for (auto [value, type] : llvm::zip(MutableArrayRef<Value>(values).drop_front(), carried))
      value = wrapOptional(n.builder, n.location, value, type.type);
    loop.yield(n, values);
    return std::move(loop.region);
  }

  static bool isTrue(Value value) {
    Attribute constant;
    auto dense = matchPattern(value, m_Constant(&constant)) ? dyn_cast<DenseElementsAttr>(constant) : nullptr;
    return dense && dense.isSplat() && dense.getSplatValue<bool>();
  }

  Type getSequenceType(Value collected) {
    RankedTensorType type = typeOf(collected);
    return SequenceType::get(n.context, joinElementTypes(type, type));
  }

  Type getStackType(Collection &collection, Value collected, const llvm::StringSet<> &inner) {
    auto type = dyn_cast<RankedTensorType>(collected.getType());
    if (!type)
      throwInvalid("expects tensors as scan outputs, got " + describe(collected.getType()));
    // It is a carried tensor: of a place for each iteration, or each iteration makes it one longer.
    Dims dims = vx::getDims(type);
    collection.takesSizes |= llvm::any_of(dims, [&](DimAttr dim) { return namesAnyOf(dim, inner); });
    if (collection.takesSizes)
      for (DimAttr &dim : dims)
        dim = namesAnyOf(dim, inner) ? n.dim(0) : dim;
    dims.insert(dims.begin(), rows && !collection.takesSizes ? rows : n.dim(0));
    return makeTensorType(dims, type.getElementType());
  }

  Value collect(const Collection &collection, Value before, Value collected) {
    if (collection.isSequence)
      return n.emitAs<SequenceInsertOp>(before.getType(), before, collected, Value());
    Dims dims = vx::getDims(typeOf(collected));
    dims.insert(dims.begin(), n.dim(1));
    collected = n.reshape(collected, dims);
    if (rows && !collection.takesSizes) {
      DimAttr place = collection.isReverse ? subDims(subDims(rows, n.dim(1)), iteration) : iteration;
      return n.emit<UpdateSliceOp>(before, n.emitList({place}), collected, ArrayRef<int64_t>(0));
    }
    if (collection.takesSizes) {
      // Before the first iteration there are no rows, of whatever sizes.
      Dims have = vx::getDims(typeOf(before));
      dims[0] = have[0];
      for (size_t d = 1; d < dims.size(); ++d)
        n.require(ConstraintKind::equal, mulDims(have[0], have[d]), mulDims(have[0], dims[d]));
      before = n.reshape(before, dims);
    }
    SmallVector<Value> parts = {before, collected};
    if (collection.isReverse)
      std::swap(parts[0], parts[1]);
    return n.emit<ConcatOp>(ValueRange(parts), 0);
  }

  NodeImporter &n;
  std::vector<Carried> carried; // with the collected values, once they are known
  const size_t count;
  SmallVector<Collection> collections;
  SmallVector<std::pair<Carried *, size_t>> fresh;
  llvm::StringSet<> argumentSymbols;
  DimAttr iteration;
  bool runsAll = false, rowsAreTrips = false;
  size_t mark = 0;
};

} // namespace

//===-- Loop ----------------------------------------------------------------------------------===//

static bool isTrue(Entry &entry) {
  std::optional<Dims> contents = NodeImporter::getContents(entry);
  return contents && contents->size() == 1 && (*contents)[0].asConstant() == 1;
}

/// Returns the number of iterations; null if it is known to be 0.
static DimAttr countIterations(NodeImporter &n, Value tripCount) {
  std::optional<Dims> known = n.getContents(0);
  if (known && known->size() == 1) {
    DimAttr count = maxDims((*known)[0], n.dim(0));
    return count.asConstant() == 0 ? DimAttr() : count;
  }
  return n.bindSymbol(n.emit<MaxOp>(tripCount, n.splatLike(0, tripCount)), n.proto.input(0));
}

static Value emitTrue(NodeImporter &n) { return n.emitScalar(1, n.builder.getI1Type()); }

/// A number that the iterations know as an expression.
static Entry makeKnownScalar(NodeImporter &n, DimAttr value, Type type) {
  Entry entry{RankedTensorType::get({}, type), n.location};
  entry.contents = Dims{value};
  return entry;
}

static void importLoop(NodeImporter &n) {
  const GraphProto &body = n.getGraph("body");
  if (n.getNumInputs() < 2)
    throwInvalid("expects at least 2 inputs, got " + Twine(n.getNumInputs()));
  int count = n.getNumInputs() - 2, scans = body.output_size() - 1 - count;
  if (body.input_size() != count + 2 || scans < 0 || n.proto.output_size() > count + scans)
    throwInvalid("expects a body with " + Twine(count + 2) + " inputs and at least " + Twine(count + 1) +
                 " outputs, got " + Twine(body.input_size()) + " and " + Twine(body.output_size()));
  Type i64 = n.builder.getI64Type(), i1 = n.builder.getI1Type();
  auto scalar = [&](unsigned index, Type type) {
    return n.hasInput(index) ? n.cast(n.reshape(n.getTensor(index), {}), type) : Value();
  };

  std::vector<Carried> carried;
  for (int i = 0; i < count; ++i) {
    Entry &entry = n.getEntry(i + 2);
    StringRef name = body.input(i + 2).name();
    Carried value = carry(name, n.getInput(i + 2), entry.type);
    const TypeProto &declared = body.input(i + 2).type();
    if (entry.isEmptySequence && declared.has_sequence_type() &&
        declared.sequence_type().elem_type().tensor_type().has_shape()) {
      // The sequence is empty: the body decides its element type.
      value.type = n.model.importType(declared, name);
      value.init = n.emitAs<SequenceConstructOp>(value.type, ValueRange());
    } else {
      value.isEmptySequence = entry.isEmptySequence;
    }
    carried.push_back(std::move(value));
  }
  SmallVector<Collection> collections;
  for (int i = 0; i < scans; ++i)
    collections.push_back({body.output(1 + count + i).name()});

  bool startsTrue = n.hasInput(1) && isTrue(n.getEntry(1));
  LoopBuilder loop(n, std::move(carried), std::move(collections));
  loop.tripCount = scalar(0, i64);
  loop.condition = startsTrue ? Value() : scalar(1, i1);
  auto countRows = [&] { return countIterations(n, loop.tripCount); };
  loop.countRows = countRows;
  if (!body.input(0).name().empty())
    loop.iterationName = body.input(0).name();
  auto iterate = [&](Subgraph &graph, DimAttr iteration, ArrayRef<Entry> values) {
    graph.define(body.input(0), makeKnownScalar(n, iteration, i64));
    // Inside of the body the condition that led there was true.
    graph.define(body.input(1), makeKnownScalar(n, n.dim(1), i1));
    for (auto [index, entry] : llvm::enumerate(values))
      graph.define(body.input(index + 2), entry);
    graph.import(body);
    Iteration given;
    given.next = isTrue(n.model.lookup(body.output(0).name())) ? emitTrue(n) : n.reshape(graph.getOutput(body, 0), {});
    if (!elementOf(given.next).isInteger(1))
      throwInvalid("expects a bool as output 0 of the body, got " + describe(given.next.getType()));
    for (int i = 0; i < count; ++i)
      given.carried.push_back(graph.getOutput(body, i + 1));
    for (int i = 0; i < scans; ++i)
      given.collected.push_back(graph.getOutput(body, 1 + count + i));
    return given;
  };
  for (auto [index, result] : llvm::enumerate(loop.build(iterate)))
    n.setOutput(index, result);
}

//===-- Scan ----------------------------------------------------------------------------------===//

namespace {

struct Scanned {
  Value value;
  int64_t axis = 0;
  bool isReverse = false;
};

class Scan {
public:
  explicit Scan(NodeImporter &n) : n(n), body(n.getGraph("body")) {}

  void import() {
    // Up to version 8 the first input are the lengths of sequences, and all others have a first dimension of a batch.
    isBatched = n.version < 9;
    int64_t first = isBatched ? 1 : 0, total = int64_t(n.getNumInputs()) - first;
    int64_t scannedCount = n.getInt("num_scan_inputs");
    if (scannedCount < 1 || scannedCount > total)
      throwInvalid("expects 'num_scan_inputs' from 1 to the node's " + Twine(total) +
                   " states and scanned inputs, got " + Twine(scannedCount));
    count = total - scannedCount;
    if (body.input_size() != total || body.output_size() < count || n.proto.output_size() > body.output_size())
      throwInvalid("expects a body with " + Twine(total) + " inputs and at least " +
                   Twine(std::max<int64_t>(count, n.proto.output_size())) + " outputs, got " +
                   Twine(body.input_size()) + " and " + Twine(body.output_size()));
    SmallVector<Value> states;
    for (int64_t i = 0; i < count; ++i)
      states.push_back(n.getTensor(first + i));
    SmallVector<int64_t> axes = getList("scan_input_axes", scannedCount);
    SmallVector<int64_t> directions = getList(isBatched ? "directions" : "scan_input_directions", scannedCount);
    SmallVector<Scanned> scanned;
    for (int64_t i = 0; i < scannedCount; ++i) {
      Value value = n.getTensor(first + count + i);
      int64_t rank = typeOf(value).getRank(), axis = isBatched ? 1 : n.normalizeAxis(axes[i], rank, "scan_input_axes");
      if (axis >= rank)
        throwInvalid("expects scanned inputs of 2 or more dimensions, got " + describe(value.getType()));
      DimAttr size = getDim(typeOf(value), axis);
      if (i == 0)
        length = size;
      if (!mayBeEqual(size, length))
        throwInvalid("expects scanned inputs of one length, got " + length.str() + " and " + size.str());
      n.require(ConstraintKind::equal, size, length);
      scanned.push_back({value, axis, directions[i] != 0});
    }
    size_t collectedCount = body.output_size() - count;
    outputDirections = getList("scan_output_directions", collectedCount);
    SmallVector<int64_t> outputAxes = getList("scan_output_axes", collectedCount);
    SmallVector<Value> results = isBatched ? scanBatch(states, scanned) : scan(states, scanned, length);
    for (auto [index, result] : llvm::enumerate(results)) {
      int64_t rank = typeOf(result).getRank();
      if (!isBatched && int64_t(index) >= count) {
        auto order = llvm::to_vector(llvm::seq<int64_t>(1, rank));
        order.insert(order.begin() + n.normalizeAxis(outputAxes[index - count], rank, "scan_output_axes"), 0);
        result = n.transpose(result, order);
      }
      n.setOutput(index, result);
    }
  }

private:
  SmallVector<int64_t> getList(StringRef name, size_t size) {
    std::optional<SmallVector<int64_t>> list = n.getInts(name);
    if (list && list->size() != size)
      throwInvalid("expects " + Twine(size) + " numbers in '" + name + "', got " + Twine(list->size()));
    return list.value_or(SmallVector<int64_t>(size, 0));
  }

  std::vector<Carried> carryAll(ArrayRef<Value> states) {
    std::vector<Carried> carried;
    for (auto [index, state] : llvm::enumerate(states))
      carried.push_back(carry(body.input(index).name(), state, state.getType()));
    return carried;
  }

  /// Scans `trips` elements of each scanned input.
  SmallVector<Value> scan(ArrayRef<Value> states, ArrayRef<Scanned> scanned, DimAttr trips) {
    SmallVector<Collection> collections;
    for (auto [index, direction] : llvm::enumerate(outputDirections))
      collections.push_back({body.output(count + index).name(), false, direction != 0});
    LoopBuilder loop(n, carryAll(states), std::move(collections));
    loop.tripCount = n.emitDim(trips, n.builder.getI64Type());
    if (length.asConstant() != 0) // no place is written of what has none
      loop.rows = length;
    auto iterate = [&](Subgraph &graph, DimAttr iteration, ArrayRef<Entry> values) {
      for (auto [index, entry] : llvm::enumerate(values))
        graph.define(body.input(index), entry);
      for (auto [index, input] : llvm::enumerate(scanned)) {
        DimAttr place = input.isReverse ? subDims(subDims(trips, n.dim(1)), iteration) : iteration;
        Entry entry{Type(), n.location};
        entry.value = takePlace(input.value, input.axis, place);
        entry.type = entry.value.getType();
        graph.define(body.input(count + index), std::move(entry));
      }
      graph.import(body);
      Iteration given{emitTrue(n), {}, {}};
      for (int i = 0; i < body.output_size(); ++i) {
        Value output = graph.getOutput(body, i);
        if (i < count)
          given.carried.push_back(keepShape(output, values[i].type));
        else
          given.collected.push_back(output);
      }
      return given;
    };
    return loop.build(iterate);
  }

  /// A state is to have one shape in all iterations.
  Value keepShape(Value state, Type type) {
    auto have = dyn_cast<RankedTensorType>(state.getType());
    auto want = cast<RankedTensorType>(type);
    bool fits = have && have.getRank() == want.getRank() && have.getElementType() == want.getElementType();
    for (int64_t d = 0; fits && d < want.getRank(); ++d)
      fits = mayBeEqual(getDim(have, d), getDim(want, d));
    if (!fits)
      throwInvalid("expects states that keep their types: " + describe(want) + ", got " + describe(state.getType()));
    for (int64_t d = 0; d < want.getRank(); ++d)
      n.require(ConstraintKind::equal, getDim(have, d), getDim(want, d));
    return n.reshape(state, vx::getDims(want));
  }

  /// An element of the batch after the other.
  SmallVector<Value> scanBatch(ArrayRef<Value> states, ArrayRef<Scanned> scanned) {
    DimAttr batch = getDim(typeOf(scanned.front().value), 0);
    auto checkBatch = [&](Value value) {
      Dims dims = vx::getDims(typeOf(value));
      if (dims.empty() || !mayBeEqual(dims[0], batch))
        throwInvalid("expects a first dimension of " + batch.str() + ", got " + describe(value.getType()));
      n.require(ConstraintKind::equal, dims[0], batch);
    };
    llvm::for_each(states, checkBatch);
    for (const Scanned &input : scanned)
      checkBatch(input.value);
    Value lengths;
    if (n.hasInput(0)) {
      lengths = n.getTensor(0);
      if (typeOf(lengths).getRank() != 1 || !isa<IntegerType>(elementOf(lengths)))
        throwInvalid("expects a length for each of the batch as input 0, got " + describe(lengths.getType()));
      checkBatch(lengths);
    }
    SmallVector<Collection> collections;
    for (const ValueInfoProto &output : body.output())
      collections.push_back({output.name()});
    LoopBuilder loop(n, {}, std::move(collections));
    loop.tripCount = n.emitDim(batch, n.builder.getI64Type());
    if (batch.asConstant() != 0)
      loop.rows = batch;
    loop.iterationName = "batch";
    auto iterate = [&](Subgraph &, DimAttr iteration, ArrayRef<Entry>) {
      SmallVector<Value> own;
      for (Value state : states)
        own.push_back(takePlace(state, 0, iteration));
      SmallVector<Scanned> ownScanned(scanned);
      for (Scanned &input : ownScanned)
        input = {takePlace(input.value, 0, iteration), 0, input.isReverse};
      DimAttr trips = length;
      if (lengths)
        trips = minDims(n.bindSymbol(takePlace(lengths, 0, iteration), n.proto.input(0)), length);
      return Iteration{emitTrue(n), {}, scan(own, ownScanned, trips)};
    };
    return loop.build(iterate);
  }

  Value takePlace(Value value, int64_t axis, DimAttr place) {
    Dims starts(typeOf(value).getRank(), n.dim(0)), sizes = vx::getDims(typeOf(value));
    if (sizes[axis].asConstant() == 0) { // no iteration takes one
      sizes.erase(sizes.begin() + axis);
      Type type = elementOf(value);
      return n.broadcastInDim(isString(type) ? emitStrings(n, {""}, {}) : n.emitScalar(0, type), sizes, {});
    }
    starts[axis] = place;
    sizes[axis] = n.dim(1);
    Value row = n.slice(value, starts, sizes, SmallVector<int64_t>(sizes.size(), 1));
    sizes.erase(sizes.begin() + axis);
    return n.reshape(row, sizes);
  }

  NodeImporter &n;
  const GraphProto &body;
  bool isBatched = false;
  int64_t count = 0; // of states
  DimAttr length;
  SmallVector<int64_t> outputDirections;
};

} // namespace

static void importScan(NodeImporter &n) { Scan(n).import(); }

//===-- SequenceMap ---------------------------------------------------------------------------===//

static void importSequenceMap(NodeImporter &n) {
  const GraphProto &body = n.getGraph("body");
  int count = n.getNumInputs();
  if (body.input_size() != count || body.output_size() < n.proto.output_size())
    throwInvalid("expects a body with " + Twine(count) + " inputs and at least " + Twine(n.proto.output_size()) +
                 " outputs, got " + Twine(body.input_size()) + " and " + Twine(body.output_size()));
  DimAttr length;
  for (int i = 0; i < count; ++i) {
    if (!isa<SequenceType>(n.getEntry(i).type)) {
      if (i == 0)
        throwInvalid("expects a sequence as input 0, got " + describe(n.getEntry(0).type));
      continue;
    }
    Value size = n.emitAs<SequenceLengthOp>(RankedTensorType::get({}, n.builder.getI64Type()), n.getInput(i));
    DimAttr symbol = n.bindSymbol(size, n.proto.input(i) + ".length");
    if (length)
      n.require(ConstraintKind::equal, length, symbol);
    else
      length = symbol;
  }
  SmallVector<Collection> collections;
  for (const ValueInfoProto &output : body.output())
    collections.push_back({output.name(), /*isSequence=*/true});
  LoopBuilder loop(n, {}, std::move(collections));
  loop.tripCount = n.emitDim(length, n.builder.getI64Type());
  auto iterate = [&](Subgraph &graph, DimAttr iteration, ArrayRef<Entry>) {
    for (int i = 0; i < count; ++i) {
      Entry entry = n.getEntry(i);
      if (isa<SequenceType>(entry.type)) {
        Value position = n.emitDim(iteration, n.builder.getI64Type());
        entry = Entry{Type(), n.location};
        entry.value = emitSequenceAt(n, n.getInput(i), position, body.input(i).name());
        entry.type = entry.value.getType();
      }
      graph.define(body.input(i), std::move(entry));
    }
    graph.import(body);
    Iteration given{emitTrue(n), {}, {}};
    for (int i = 0; i < body.output_size(); ++i)
      given.collected.push_back(graph.getOutput(body, i));
    return given;
  };
  for (auto [index, result] : llvm::enumerate(loop.build(iterate)))
    n.setOutput(index, result);
}

SmallVector<Value> emitCountedLoop(NodeImporter &n, DimAttr trips, ArrayRef<Value> inits,
                                   llvm::function_ref<SmallVector<Value>(DimAttr, ValueRange)> body) {
  if (trips.asConstant() == 0)
    return SmallVector<Value>(inits);
  if (trips.asConstant() == 1)
    return body(n.dim(0), inits);
  SmallVector<Type> types(TypeRange{ValueRange(inits)});
  DimAttr iteration = n.model.declareSymbol("iteration", true);
  Value count = n.emitDim(trips, n.builder.getI64Type());
  Region region;
  {
    OpBuilder::InsertionGuard guard(n.builder);
    Block *block = n.builder.createBlock(&region, {}, types, SmallVector<Location>(types.size(), n.location));
    SmallVector<Value> next = {emitTrue(n)};
    llvm::append_range(next, body(iteration, block->getArguments()));
    YieldOp::create(n.builder, n.location, next);
  }
  OperationState state(n.location, LoopOp::getOperationName());
  LoopOp::build(n.builder, state, TypeRange(types), count, Value(), inits, iteration.getSymbol().getValue());
  state.regions[0]->takeBody(region);
  return SmallVector<Value>(n.finish(state)->getResults());
}

static constexpr OpTableEntry controlFlowTable[] = {
    {"Loop", 1, newestOpset, importLoop},
    {"Scan", 8, newestOpset, importScan},
    {"SequenceMap", 17, newestOpset, importSequenceMap},
};
const llvm::ArrayRef<OpTableEntry> controlFlowOps = controlFlowTable;

} // namespace vx::onnx
