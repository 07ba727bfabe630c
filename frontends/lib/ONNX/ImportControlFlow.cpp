// If and Loop: subgraphs become regions.
#include "DimMath.h"
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

namespace {

/// A subgraph in the making: a detached block, or the current one, with a scope inside of the current scope. Leaves the
/// importer as it was when it goes, also by an exception.
class Subgraph {
public:
  /// `isInline`: the nodes go to the insertion point.
  Subgraph(ModelImporter &model, bool isInline)
      : model(model), guard(model.builder), outer(model.scope), region(std::make_unique<Region>()) {
    if (isInline) {
      scope.block = model.builder.getInsertionBlock();
    } else {
      block = new Block();
      region->push_back(block);
      scope.block = block;
      model.builder.setInsertionPointToStart(block);
    }
    scope.parent = outer;
    scope.functionAttributes = outer->functionAttributes;
    scope.opsets = outer->opsets;
    scope.depth = outer->depth + 1;
    model.scope = &scope;
  }
  ~Subgraph() {
    model.scope = outer;
    if (block)
      model.forgetBlock(block); // no scope names its values any more, and what takes the region may erase it
  }
  Subgraph(const Subgraph &) = delete;
  Subgraph &operator=(const Subgraph &) = delete;

  void import(const GraphProto &graph) {
    size_t issues = model.countIssues();
    model.importInitializers(graph);
    bool succeeded = model.importNodes(graph.node());
    if (!succeeded || model.countIssues() != issues)
      throw PoisonedInput();
  }
  Value getOutput(const GraphProto &graph, int index) {
    return model.materialize(model.lookup(graph.output(index).name()));
  }
  void define(const ValueInfoProto &input, Entry entry) { model.define(input.name(), std::move(entry)); }
  void yield(NodeImporter &n, ValueRange values) {
    OperationState state(n.location, YieldOp::getOperationName());
    YieldOp::build(model.builder, state, values);
    n.finish(state);
  }

  ModelImporter &model;
  OpBuilder::InsertionGuard guard;
  Scope *outer;
  Scope scope;
  std::unique_ptr<Region> region;
  Block *block = nullptr;
};

} // namespace

static bool namesSymbolAfter(DimAttr dim, const llvm::StringSet<> &inner) {
  SetVector<StringAttr> symbols;
  dim.collectSymbols(symbols);
  return llvm::any_of(symbols, [&](StringAttr symbol) { return inner.contains(symbol.getValue()); });
}

/// A type for what two branches give: sizes that differ, or that only a branch knows, become new symbols.
static Type joinBranchTypes(NodeImporter &n, unsigned output, Type lhs, Type rhs, const llvm::StringSet<> &inner) {
  std::string name = static_cast<int>(output) < n.proto.output_size() ? n.proto.output(output) : n.label.str();
  auto leftSequence = dyn_cast<SequenceType>(lhs), rightSequence = dyn_cast<SequenceType>(rhs);
  auto left = dyn_cast<RankedTensorType>(lhs), right = dyn_cast<RankedTensorType>(rhs);
  if (leftSequence && rightSequence &&
      leftSequence.getElementType().getElementType() == rightSequence.getElementType().getElementType())
    return SequenceType::get(n.context,
                             joinElementTypes(leftSequence.getElementType(), rightSequence.getElementType()));
  if (!left || !right || left.getElementType() != right.getElementType())
    throwInvalid("expects branches that give the same types, got " + describe(lhs) + " and " + describe(rhs));
  if (left.getRank() != right.getRank())
    throwUnsupported("expects branches that give tensors of one rank, got " + describe(lhs) + " and " + describe(rhs));
  Dims dims;
  for (auto [l, r] : llvm::zip(vx::getDims(left), vx::getDims(right)))
    dims.push_back(l == r && !namesSymbolAfter(l, inner) ? l : n.model.declareSize(name, dims.size()));
  return makeTensorType(dims, left.getElementType());
}

static void importBranchInline(NodeImporter &n, const GraphProto &graph) {
  SmallVector<Entry> results;
  OpBuilder::InsertPoint end;
  {
    Subgraph branch(n.model, /*isInline=*/true);
    branch.import(graph);
    for (const ValueInfoProto &output : graph.output())
      results.push_back(n.model.lookup(output.name()));
    end = n.builder.saveInsertionPoint();
  }
  n.builder.restoreInsertionPoint(end);
  for (auto [index, result] : llvm::enumerate(results))
    n.setEntry(index, std::move(result));
}

static void importIf(NodeImporter &n) {
  const GraphProto &thenGraph = n.getGraph("then_branch"), &elseGraph = n.getGraph("else_branch");
  for (const GraphProto *graph : {&thenGraph, &elseGraph}) {
    if (graph->input_size() > 0)
      throwInvalid("expects branches without inputs, got " + Twine(graph->input_size()));
    if (graph->output_size() != n.proto.output_size())
      throwInvalid("expects one output of each branch for each of the node's " + Twine(n.proto.output_size()) +
                   ", got " + Twine(graph->output_size()));
  }
  std::optional<Dims> known = n.getContents(0);
  if (known && known->size() == 1)
    return importBranchInline(n, (*known)[0].asConstant() == 0 ? elseGraph : thenGraph);

  Value condition = n.reshape(n.getTensor(0), {});
  if (!elementOf(condition).isInteger(1))
    throwInvalid("expects a bool as input 0, got " + describe(condition.getType()));
  size_t mark = n.model.markSymbols();
  SmallVector<std::unique_ptr<Region>> regions;
  SmallVector<SmallVector<Type>> types;
  for (const GraphProto *graph : {&thenGraph, &elseGraph}) {
    Subgraph branch(n.model, /*isInline=*/false);
    branch.import(*graph);
    SmallVector<Value> values;
    for (int i = 0; i < graph->output_size(); ++i)
      values.push_back(branch.getOutput(*graph, i));
    branch.yield(n, values);
    types.emplace_back(ValueRange(values).getTypes());
    regions.push_back(std::move(branch.region));
  }
  llvm::StringSet<> inner = n.model.getSymbolsAfter(mark);
  SmallVector<Type> results;
  for (auto [index, thenType] : llvm::enumerate(types[0]))
    results.push_back(joinBranchTypes(n, index, thenType, types[1][index], inner));
  OperationState state(n.location, IfOp::getOperationName());
  IfOp::build(n.builder, state, TypeRange(results), condition);
  for (auto [region, body] : llvm::zip(state.regions, regions))
    region->takeBody(*body);
  for (auto [index, result] : llvm::enumerate(n.finish(state)->getResults()))
    n.setOutput(index, result);
}

//===-- Loop ----------------------------------------------------------------------------------===//

namespace {
/// A carried value: its type in the region, and which of its dimensions change from one iteration to the next.
struct Carried {
  std::string name;
  Value init;
  Type type;
  SmallVector<bool> changes;
};
} // namespace

/// Widens the type of a carried value until the region's own result fits; false when it fits already.
static bool widen(NodeImporter &n, Carried &carried, Type yielded,
                  SmallVectorImpl<std::pair<Carried *, size_t>> &fresh) {
  if (auto sequence = dyn_cast<SequenceType>(carried.type)) {
    auto other = dyn_cast<SequenceType>(yielded);
    if (!other || other.getElementType().getElementType() != sequence.getElementType().getElementType())
      throwInvalid("expects carried value '" + carried.name + "' to keep its type: want " + describe(carried.type) +
                   ", got " + describe(yielded));
    Type joined = SequenceType::get(n.context, joinElementTypes(sequence.getElementType(), other.getElementType()));
    return joined != std::exchange(carried.type, joined);
  }
  auto have = cast<RankedTensorType>(carried.type);
  auto want = dyn_cast<RankedTensorType>(yielded);
  if (!want || have.getElementType() != want.getElementType())
    throwInvalid("expects carried value '" + carried.name + "' to keep its type: want " + describe(have) + ", got " +
                 describe(yielded));
  if (have.getRank() != want.getRank())
    throwUnsupported("expects carried value '" + carried.name + "' to keep its rank: want " + describe(have) +
                     ", got " + describe(want));
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

static bool isTrue(Entry &entry) {
  std::optional<Dims> contents = NodeImporter::getContents(entry);
  return contents && contents->size() == 1 && (*contents)[0].asConstant() == 1;
}

/// Null for none: no place is written of what has none.
static DimAttr countIterations(NodeImporter &n, Value tripCount) {
  std::optional<Dims> known = n.getContents(0);
  if (known && known->size() == 1) {
    DimAttr count = maxDims((*known)[0], n.dim(0));
    return count.asConstant() == 0 ? DimAttr() : count;
  }
  return n.bindSymbol(n.emit<MaxOp>(tripCount, n.splatLike(0, tripCount)), n.proto.input(0));
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
  bool startsTrue = n.hasInput(1) && isTrue(n.getEntry(1));
  Value tripCount = scalar(0, i64), condition = startsTrue ? Value() : scalar(1, i1);

  std::vector<Carried> carried;
  carried.reserve(count + scans); // `fresh` points at its members
  for (int i = 0; i < count; ++i) {
    Entry &entry = n.getEntry(i + 2);
    Carried value{body.input(i + 2).name(), n.getInput(i + 2), entry.type, {}};
    const TypeProto &declared = body.input(i + 2).type();
    if (entry.isEmptySequence && declared.has_sequence_type() &&
        declared.sequence_type().elem_type().tensor_type().has_shape()) {
      // Nothing is in the sequence yet: the body says what it holds.
      value.type = n.model.importType(declared, body.input(i + 2).name());
      value.init = n.emitAs<SequenceConstructOp>(value.type, ValueRange());
    }
    if (auto tensor = dyn_cast<RankedTensorType>(value.type))
      value.changes.assign(tensor.getRank(), false);
    carried.push_back(std::move(value));
  }

  // The region's types depend on what it yields, which depends on its types: repeat until nothing changes. Every round
  // but the last turns a dimension into a symbol or a sequence's element type into a wider one, or finds the scan
  // outputs.
  SmallVector<std::pair<Carried *, size_t>> fresh;
  std::unique_ptr<Region> region;
  DimAttr iteration;
  DimAttr rows; // of scan outputs: the number of iterations, where nothing ends the loop before
  bool runsAll = false;
  size_t mark = n.model.markSymbols();
  for (bool changed = true; changed;) {
    n.model.withdrawSymbols(mark);
    if (runsAll && !rows)
      rows = countIterations(n, tripCount);
    for (auto [value, index] : fresh)
      replaceDim(n, *value, index);
    fresh.clear();
    // Scan outputs start with no element; they are not inputs of the node.
    for (Carried &value : carried)
      if (!value.init)
        value.init = n.splat(0, cast<RankedTensorType>(value.type));
    mark = n.model.markSymbols();
    changed = false;
    Subgraph loop(n.model, /*isInline=*/false);
    iteration = n.model.declareSymbol(body.input(0).name().empty() ? "iteration" : body.input(0).name(), true);
    Entry number{RankedTensorType::get({}, i64), n.location};
    number.contents = Dims{iteration};
    loop.define(body.input(0), std::move(number));
    // Inside of the body the condition that led there was true.
    Entry runs{RankedTensorType::get({}, i1), n.location};
    runs.contents = Dims{n.dim(1)};
    loop.define(body.input(1), std::move(runs));
    for (auto [index, value] : llvm::enumerate(carried)) {
      Entry entry{value.type, n.location};
      entry.value = loop.block->addArgument(value.type, n.location);
      if (static_cast<int>(index) < count)
        loop.define(body.input(index + 2), std::move(entry));
    }
    loop.import(body);

    if (scans > 0 && tripCount && !condition && !runsAll && isTrue(n.model.lookup(body.output(0).name())))
      changed = runsAll = true;
    Value next = n.reshape(loop.getOutput(body, 0), {});
    SmallVector<Value> values = {next};
    if (!elementOf(next).isInteger(1))
      throwInvalid("expects a bool as output 0 of the body, got " + describe(next.getType()));
    for (int i = 0; i < count; ++i) {
      values.push_back(loop.getOutput(body, i + 1));
      changed |= widen(n, carried[i], values.back().getType(), fresh);
    }
    llvm::StringSet<> inner = n.model.getSymbolsAfter(mark);
    for (int i = 0; i < scans; ++i) {
      Value slice = loop.getOutput(body, 1 + count + i);
      auto type = dyn_cast<RankedTensorType>(slice.getType());
      if (!type)
        throwInvalid("expects tensors as scan outputs, got " + describe(slice.getType()));
      // It is a carried tensor: of a place for each iteration, or each iteration makes it one longer.
      Dims dims = {rows ? rows : n.dim(0)};
      dims.append(vx::getDims(type));
      if (llvm::any_of(dims, [&](DimAttr dim) { return namesSymbolAfter(dim, inner); }))
        throwUnsupported("expects scan outputs of one size in every iteration, got " + describe(type));
      if (changed)
        continue;
      if (static_cast<int>(carried.size()) < count + scans) {
        Carried value{body.output(1 + count + i).name(), Value(), makeTensorType(dims, type.getElementType()), {}};
        value.changes.assign(dims.size(), false);
        carried.push_back(std::move(value));
        continue;
      }
      dims[0] = n.dim(1);
      Value stack = loop.block->getArgument(count + i);
      slice = n.reshape(slice, dims);
      values.push_back(rows ? n.emit<UpdateSliceOp>(stack, n.emitList({iteration}), slice, ArrayRef<int64_t>(0))
                            : n.emit<ConcatOp>(ValueRange{stack, slice}, 0));
      changed |= widen(n, carried[count + i], values.back().getType(), fresh);
    }
    changed |= static_cast<int>(values.size()) < 1 + count + scans;
    if (!changed) {
      loop.yield(n, values);
      region = std::move(loop.region);
    }
  }

  SmallVector<Value> inits;
  SmallVector<Type> results;
  for (Carried &value : carried) {
    inits.push_back(value.init);
    // The dimensions that change have a symbol of their own behind the loop.
    for (auto [index, changes] : llvm::enumerate(value.changes))
      if (changes)
        replaceDim(n, value, index);
    results.push_back(value.type);
  }
  if (rows)
    tripCount = n.emitDim(rows, i64);
  OperationState state(n.location, LoopOp::getOperationName());
  LoopOp::build(n.builder, state, TypeRange(results), tripCount, condition, inits, iteration.getSymbol().getValue());
  state.regions[0]->takeBody(*region);
  for (auto [index, result] : llvm::enumerate(n.finish(state)->getResults()))
    n.setOutput(index, result);
}

static constexpr OpTableEntry controlFlowTable[] = {
    {"If", 1, newestOpset, importIf, "else_branch then_branch"},
    {"Loop", 1, newestOpset, importLoop, "body"},
};
const llvm::ArrayRef<OpTableEntry> controlFlowOps = controlFlowTable;

} // namespace vx::onnx
